/** What a body makes of a row: a new one, or the stored one after a merge patch. Pure. */
import { invalid } from './errors.ts'
import type { Issue } from './errors.ts'
import { isExtensionKey } from './extension.ts'
import type { Field } from './field.ts'
import { publicId } from './ids.ts'
import { allFields, writableFields } from './resource.ts'
import type { Resource, Row } from './resource.ts'
import { emptyValue, normalise, sameValue } from './row.ts'
import { validate } from './validate.ts'
import type { WriteRequest } from './write.ts'

const blankCache = new WeakMap<Resource, Row>()

/** Every field with its initial value; loads copy it for each row. */
function blankRow(resource: Resource): Row {
  let row = blankCache.get(resource)
  if (!row) {
    const stored = Object.entries(allFields(resource)).filter(([, field]) => !field.writeOnly)
    row = Object.fromEntries(stored.map(([name, field]) => [name, normalise(field, field.initial)]))
    blankCache.set(resource, row)
  }
  return row
}

/** A row made of a create body, the resource's initial values and the organization's defaults. */
export function newRow(
  resource: Resource,
  request: WriteRequest,
  id: number,
  at: Date,
  input: Row,
): Row {
  const fields = allFields(resource)
  const row: Row = { ...blankRow(resource) }
  for (const [name, value] of Object.entries(request.defaults)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field && !field.readOnly && !field.writeOnly && field.initial === null)
      row[name] = normalise(field, value)
  }
  for (const name of Object.keys(input)) {
    const value = input[name]
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field && !field.writeOnly && value !== undefined && value !== null)
      row[name] = normalise(field, value)
  }
  row['ext'] = withExtensions({}, input)
  const now = at.toISOString()
  const by = { type: request.actor.type, id: request.actor.id }
  Object.assign(row, {
    id: publicId(resource.prefix, id),
    object: resource.name,
    organization_id: publicId('org', request.org_id),
    version: 1,
    created_at: now,
    updated_at: now,
    created_by: by,
  })
  const { lifecycle } = resource
  if (lifecycle) {
    row[lifecycle.field] ??= lifecycle.initial
    const entry = {
      from: null,
      to: row[lifecycle.field],
      at: now,
      by,
      reason: row['status_reason'] ?? null,
    }
    if ('status_history' in row) row['status_history'] = [entry]
    if ('status_changed_at' in row) row['status_changed_at'] = now
  }
  return derive(resource, row, input)
}

/** Stored values of the organization's own fields, those among the input put in; null takes out. */
function withExtensions(stored: Row, input: Row): Row {
  const given = Object.keys(input).filter(isExtensionKey)
  if (given.length === 0) return stored
  const values = { ...stored }
  for (const key of given) {
    if (input[key] === null) delete values[key]
    else values[key] = input[key]
  }
  return values
}

/** Adds what the resource computes from its own fields; write-only input is seen here and nowhere else. */
function derive(resource: Resource, row: Row, input: Row): Row {
  let seen = row
  for (const name of Object.keys(input)) {
    const field = Object.hasOwn(resource.fields, name) ? resource.fields[name] : undefined
    if (field?.writeOnly) seen = { ...seen, [name]: input[name] }
  }
  const derived = resource.derive(seen)
  for (const [name, value] of Object.entries(derived)) {
    row[name] = normalise(resource.fields[name] as Field, value)
  }
  return row
}

/** Completes the fields among `names` that a client may give in part. */
export function fillIn(resource: Resource, row: Row, names: readonly string[]): void {
  for (const name of names) {
    const fill = Object.hasOwn(resource.fills, name) ? resource.fills[name] : undefined
    if (fill) row[name] = normalise(resource.fields[name] as Field, fill(row))
  }
}

/** The row after a patch, checked: merged, in stored form, its status moved only along the lifecycle. */
export function patched(
  resource: Resource,
  before: Row,
  patch: Row,
  {
    extra = {},
    today = null,
    issues: given = [],
  }: { extra?: Row; today?: string | null; issues?: readonly Issue[] },
  request: WriteRequest,
  at: Date,
): Row {
  const after: Row = { ...before }
  after['ext'] = withExtensions((before['ext'] ?? {}) as Row, patch)
  for (const [name, value] of Object.entries({ ...patch, ...extra })) {
    if (isExtensionKey(name)) continue
    const field = allFields(resource)[name] as Field
    if (field.writeOnly) continue
    after[name] = normalise(field, mergePatch(before[name], value)) ?? emptyValue(field)
  }
  const issues = [
    ...given,
    ...transitionIssues(resource, before, after),
    ...finalIssues(resource, before, after, Object.keys(patch)),
    ...wholeIssues(resource, after, patch),
  ]
  const { lifecycle } = resource
  if (lifecycle && after[lifecycle.field] !== before[lifecycle.field]) {
    const by = { type: request.actor.type, id: request.actor.id }
    // Moves on the way there are given by those who tell of the past; clients cannot write them.
    const moves = (after['status_history'] ?? []) as Row[]
    const entry = {
      from: patch['status_history'] ? moves.at(-1)?.['to'] : before[lifecycle.field],
      to: after[lifecycle.field],
      at: at.toISOString(),
      by,
      reason: after['status_reason'] ?? null,
    }
    if ('status_history' in after) after['status_history'] = [...moves, entry]
    if ('status_changed_at' in after) after['status_changed_at'] = at.toISOString()
  }
  fillIn(resource, after, Object.keys(patch))
  derive(resource, after, patch)
  issues.push(...resource.check(after, before, today))
  if (issues.length > 0) throw invalid(issues)
  return after
}

function transitionIssues(resource: Resource, before: Row, after: Row): Issue[] {
  const { lifecycle } = resource
  if (!lifecycle) return []
  const from = before[lifecycle.field] as string
  const to = after[lifecycle.field] as string
  const allowed = lifecycle.transitions[from] ?? []
  if (from === to || allowed.includes(to)) return []
  const message = `cannot change from ${from} to ${to}`
  return [{ field: lifecycle.field, code: 'invalid_transition', message, allowed }]
}

/** What may change whatever state an object is in. */
const ALWAYS_EDITABLE = ['tags', 'external_ids', 'ext']

/** What is over for good stays as it was, but for what is said about it. */
function finalIssues(
  { lifecycle }: Resource,
  before: Row,
  after: Row,
  names: readonly string[],
): Issue[] {
  const state = String(lifecycle && before[lifecycle.field])
  if (!lifecycle?.final.includes(state)) return []
  const editable = [lifecycle.field, ...ALWAYS_EDITABLE, ...(lifecycle.editable ?? [])]
  return names
    .filter((name) => !editable.includes(name) && !sameValue(after[name], before[name]))
    .map((field) => ({
      field,
      code: 'read_only_state',
      message: `cannot be changed once the ${lifecycle.field} is ${state}`,
    }))
}

/** Fields required on create may not be cleared; objects merged from parts must be whole. */
export function wholeIssues(resource: Resource, row: Row, patch: Row | null = null): Issue[] {
  const issues: Issue[] = []
  for (const [name, field] of Object.entries(writableFields(resource))) {
    if (patch && !(name in patch)) continue
    const value = row[name]
    if (patch && field.required && (value === null || value === undefined) && !field.writeOnly) {
      issues.push({ field: name, code: 'required', message: 'is required and cannot be cleared' })
    }
    if (name === 'external_ids') issues.push(...repeatedIds((value ?? []) as Row[]))
    if (field.kind === 'object' && field.items && value) {
      for (const issue of validate(field.schema, value)) {
        issues.push({ ...issue, field: issue.field ? `${name}.${issue.field}` : name })
      }
    }
  }
  return issues
}

function repeatedIds(list: readonly Row[]): Issue[] {
  const keys = list.map((item) => `${String(item['system'])}\0${String(item['id'])}`)
  return keys.flatMap((key, i) =>
    keys.indexOf(key) < i
      ? [{ field: `external_ids[${i}]`, code: 'duplicate', message: 'is given twice' }]
      : [],
  )
}

/** RFC 7396: objects merge, null removes, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {}
  const merged: Row = { ...(base as Row) }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = mergePatch(merged[name], value)
  }
  return merged
}
