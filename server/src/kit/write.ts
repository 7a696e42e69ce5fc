/** Creates, changes and deletes of one object: from a request's body to the door and back. */
import { createHash } from 'node:crypto'
import { DatabaseError } from 'pg'
import { readWritten, writeStatement } from './door.ts'
import type { Change, ExternalId, IdempotencyRecord, WriteContext, Written } from './door.ts'
import { ApiError, invalid } from './errors.ts'
import type { Issue } from './errors.ts'
import { nullable } from './field.ts'
import type { Field, JsonSchema } from './field.ts'
import { assertionsOf, foldedRow, ranksOf } from './history.ts'
import { idDigits, publicId } from './ids.ts'
import { allFields, writableFields } from './resource.ts'
import type { Resource, Row } from './resource.ts'
import { changedFacts, changedFields, normalise, referencesOf, render, sameValue } from './row.ts'
import { get, parseBody } from './store.ts'
import type { Store } from './store.ts'
import type { Assertion, Claim } from './timeline.ts'
import type { Actor, Caller } from './types.ts'
import { validate } from './validate.ts'

/** Built-in source of everything written through the API; the key stands in the transaction. */
export const API_SOURCE = 1

/** Times a change is tried again when another write came between its read and its write. */
const UPDATE_TRIES = 5

/** For whom and why a write is done. */
export interface WriteRequest {
  org_id: number
  actor: Actor
  /** Organization defaults for fields the client left out. */
  defaults: Row
  source_id?: number
  /** Valid time of the claims; now unless the data itself says when it became true. */
  valid_from?: number
  /** Sent with a POST: the answer is stored with the write and given again to a repeat. */
  idempotency?: { key: string; route: string; fingerprint: string } | undefined
}

export interface Outcome {
  id: number
  version: number
  body: string
  /** The answer of an earlier identical request. */
  replayed: IdempotencyRecord | null
}

export function requestOf(caller: Caller, request_id: string): WriteRequest {
  return {
    org_id: caller.org_id,
    actor: {
      type: 'api_key',
      id: publicId('key', caller.key_id),
      name: caller.key_name,
      request_id,
    },
    defaults: {
      currency: caller.currency,
      area_unit: caller.area_unit,
      time_zone: caller.time_zone,
    },
  }
}

/** Schema of a create body: closed, required fields required. */
export function createSchema(resource: Resource): JsonSchema {
  return bodySchema(resource, (field) => field.required)
}

/** Schema of a merge patch: closed, nothing required, null clears. */
export function patchSchema(resource: Resource): JsonSchema {
  return bodySchema(resource, () => false)
}

function bodySchema(resource: Resource, required: (field: Field) => boolean): JsonSchema {
  const writable = Object.entries(writableFields(resource))
  const readOnly = Object.keys(allFields(resource)).filter(
    (name) => allFields(resource)[name]?.readOnly,
  )
  return {
    type: 'object',
    additionalProperties: false,
    'x-read-only': readOnly,
    properties: Object.fromEntries(
      writable.map(([name, field]) => [
        name,
        required(field) ? field.schema : nullable(partial(field)),
      ]),
    ),
    required: writable.filter(([, field]) => required(field)).map(([name]) => name),
  }
}

/** Objects inside a merge patch may be partial; the merged whole is checked again. */
function partial(field: Field): JsonSchema {
  if (field.kind !== 'object' || !field.items) return field.schema
  const { required: _, ...open } = field.schema
  const properties = Object.fromEntries(
    Object.entries(field.items).map(([name, item]) => [name, nullable(item.schema)]),
  )
  return { ...open, properties }
}

/** Creates one object. @param input a body that is valid against `createSchema`. */
export async function create(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  input: Row,
  fixed: { id?: number; extra?: Row } = {},
): Promise<Outcome> {
  const at = new Date()
  const id = fixed.id ?? ((await store.db.ids(1))[0] as number)
  const row = newRow(resource, request, id, at, { ...input, ...fixed.extra })
  const issues = [...wholeIssues(resource, row), ...resource.check(row, null)]
  if (issues.length > 0) throw invalid(issues)
  const change: Change = {
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: changedFields(row, emptied(row)),
    claims: [claimOf(changedFacts(resource, row, null), request.valid_from ?? at.getTime())],
    contested: (request.source_id ?? API_SOURCE) !== API_SOURCE,
    external: { add: externalIds(row), remove: [] },
  }
  const body = render(row)
  const answer = {
    status: 201,
    headers: { etag: '"v1"', location: locationOf(resource, id) },
    body,
  }
  const references = referencesOf(writableFields(resource), row)
  return await passDoor(store, resource, request, change, at, references, answer)
}

/** Path of an object below the base URL. */
export function locationOf(resource: Resource, id: number): string {
  return `/api/v1/${resource.path}/${publicId(resource.prefix, id)}`
}

function newRow(resource: Resource, request: WriteRequest, id: number, at: Date, input: Row): Row {
  const row: Row = {}
  for (const [name, field] of Object.entries(allFields(resource))) {
    if (field.writeOnly) continue
    const given = input[name]
    const fallback = field.initial ?? (field.readOnly ? null : (request.defaults[name] ?? null))
    row[name] = normalise(field, given === undefined || given === null ? fallback : given)
  }
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

/** Adds what the resource computes from its own fields; write-only input is seen here and nowhere else. */
function derive(resource: Resource, row: Row, input: Row): Row {
  const seen = { ...row }
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.writeOnly && name in input) seen[name] = input[name]
  }
  const derived = resource.derive(seen)
  for (const [name, value] of Object.entries(derived)) {
    row[name] = normalise(resource.fields[name] as Field, value)
  }
  return row
}

/**
 * Applies a merge patch (RFC 7396). A version moved on by another write is read again unless `expected` pins it.
 * @throws 412 `version_conflict` when `expected` is not the present version.
 */
export async function update(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  id: number,
  patch: Row,
  expected: number | null,
  extra: Row = {},
): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    const stored = await get(store, request.org_id, resource, id)
    if (expected !== null && stored.version !== expected) throw versionConflict(stored.version)
    const before = parseBody(stored.body)
    const at = new Date()
    const after = patched(resource, before, patch, extra, request, at)
    const facts = changedFacts(resource, after, before)
    const unchanged = Object.keys(after).every((name) => sameValue(after[name], before[name]))
    if (unchanged)
      return { id, version: stored.version, body: stored.body.toString(), replayed: null }
    const claim = claimOf(facts, request.valid_from ?? at.getTime())
    const final = stored.contested
      ? await weighed(store, resource, request, id, after, claim)
      : after
    final['version'] = stored.version + 1
    final['updated_at'] = at.toISOString()
    const change = changeOf(id, stored, before, final, claim)
    const references = newReferences(resource, before, after)
    try {
      return await passDoor(store, resource, request, change, at, references, null)
    } catch (error) {
      const moved = error instanceof ApiError && error.code === 'version_conflict'
      if (!moved || expected !== null || attempt === UPDATE_TRIES) throw error
    }
  }
}

function changeOf(
  id: number,
  stored: { version: number; contested: boolean },
  before: Row,
  after: Row,
  claim: Claim,
): Change {
  const changed = changedFields(after, before)
  return {
    id,
    operation: 'updated',
    expected: stored.version,
    after,
    previous: Object.fromEntries(changed.map((name) => [name, before[name] ?? null])),
    changed,
    claims: Object.keys(claim.attrs).length > 0 ? [claim] : [],
    contested: stored.contested,
    external: difference(externalIds(before), externalIds(after)),
  }
}

/** The row after a patch, checked: merged, in stored form, its status moved only along the lifecycle. */
function patched(
  resource: Resource,
  before: Row,
  patch: Row,
  extra: Row,
  request: WriteRequest,
  at: Date,
): Row {
  const after: Row = { ...before }
  for (const [name, value] of Object.entries({ ...patch, ...extra })) {
    const field = allFields(resource)[name] as Field
    if (field.writeOnly) continue
    after[name] = normalise(field, mergePatch(before[name], value)) ?? emptyValue(field)
  }
  const issues = [
    ...transitionIssues(resource, before, after),
    ...wholeIssues(resource, after, patch),
  ]
  const { lifecycle } = resource
  if (lifecycle && after[lifecycle.field] !== before[lifecycle.field]) {
    const by = { type: request.actor.type, id: request.actor.id }
    const entry = {
      from: before[lifecycle.field],
      to: after[lifecycle.field],
      at: at.toISOString(),
      by,
      reason: after['status_reason'] ?? null,
    }
    if ('status_history' in after)
      after['status_history'] = [...(before['status_history'] as Row[]), entry]
    if ('status_changed_at' in after) after['status_changed_at'] = at.toISOString()
  }
  derive(resource, after, patch)
  issues.push(...resource.check(after, before))
  if (issues.length > 0) throw invalid(issues)
  return after
}

/** Lists are never null: clearing one empties it. */
function emptyValue(field: Field): unknown {
  return Array.isArray(field.initial) ? field.initial : null
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

/** Fields required on create may not be cleared; objects merged from parts must be whole. */
function wholeIssues(resource: Resource, row: Row, patch: Row | null = null): Issue[] {
  const issues: Issue[] = []
  for (const [name, field] of Object.entries(writableFields(resource))) {
    if (patch && !(name in patch)) continue
    const value = row[name]
    if (patch && field.required && (value === null || value === undefined) && !field.writeOnly) {
      issues.push({ field: name, code: 'required', message: 'is required and cannot be cleared' })
    }
    if (field.kind === 'object' && field.items && value) {
      for (const issue of validate(field.schema, value)) {
        issues.push({ ...issue, field: issue.field ? `${name}.${issue.field}` : name })
      }
    }
  }
  return issues
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

/** The row when other sources' claims may outrank this one: all claims weighed together. */
async function weighed(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  id: number,
  after: Row,
  claim: Claim,
): Promise<Row> {
  const [assertions, ranks] = await Promise.all([
    assertionsOf(store.db, request.org_id, [id]),
    ranksOf(store.db, request.org_id),
  ])
  const own: Assertion = {
    ...claim,
    source_id: request.source_id ?? API_SOURCE,
    tx_id: Number.MAX_SAFE_INTEGER,
    confidence: 1_000,
  }
  return foldedRow(resource, after, [...(assertions.get(id) ?? []), own], ranks, Date.now()).row
}

/** Deletes softly: the row stays as a tombstone for feeds and history. */
export async function remove(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  id: number,
  expected: number | null,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const stored = await get(store, request.org_id, resource, id)
    if (expected !== null && stored.version !== expected) throw versionConflict(stored.version)
    const before = parseBody(stored.body)
    const at = new Date()
    const after: Row = {
      ...before,
      version: stored.version + 1,
      updated_at: at.toISOString(),
      deleted_at: at.toISOString(),
    }
    const change: Change = {
      ...changeOf(id, stored, before, after, claimOf({ _deleted: true }, at.getTime())),
      operation: 'deleted',
      external: { add: [], remove: externalIds(before) },
    }
    try {
      await passDoor(store, resource, request, change, at, [], null)
      return
    } catch (error) {
      const moved = error instanceof ApiError && error.code === 'version_conflict'
      if (!moved || expected !== null || attempt === UPDATE_TRIES) throw error
    }
  }
}

async function passDoor(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  change: Change,
  at: Date,
  references: { target: string; id: string; field: string }[],
  answer: Pick<IdempotencyRecord, 'status' | 'headers' | 'body'> | null,
): Promise<Outcome> {
  const ids = references.map(({ target, id }) => ({
    target,
    id: idDigits(id.slice(0, id.indexOf('_')), id) ?? 0,
  }))
  const context: WriteContext = {
    org_id: request.org_id,
    actor: request.actor,
    source_id: request.source_id ?? API_SOURCE,
    at,
    references: ids,
    idempotency: request.idempotency && answer ? { ...request.idempotency, ...answer } : undefined,
  }
  let written: Written
  try {
    const [rows] = await store.db.fly(request.org_id, [writeStatement(resource, [change], context)])
    written = readWritten(rows ?? [])
  } catch (error) {
    const replayed = await knownConflict(store, request, error)
    return { id: change.id, version: 1, body: replayed.body, replayed }
  }
  if (written.count === 0) throw notWritten(references, written)
  return {
    id: change.id,
    version: change.expected + 1,
    body: answer?.body ?? render(change.after),
    replayed: null,
  }
}

function notWritten(
  references: { target: string; id: string; field: string }[],
  written: Written,
): ApiError {
  const missing = new Set(written.missing.map(({ target, id }) => `${target} ${id}`))
  const issues = references
    .filter(({ target, id }) => missing.has(`${target} ${id.slice(id.indexOf('_') + 1)}`))
    .map(({ field, id, target }) => ({
      field,
      code: 'not_found',
      message: `no ${target.replaceAll('_', ' ')} has the id ${id}`,
    }))
  return issues.length > 0 ? invalid(issues) : versionConflict(null)
}

/** A unique key spoke: an external id that is taken, or a request that was answered before. */
async function knownConflict(
  store: Store,
  request: WriteRequest,
  error: unknown,
): Promise<IdempotencyRecord> {
  if (!(error instanceof DatabaseError) || error.code !== '23505') throw error
  const constraint = error.constraint ?? error.message
  if (constraint.includes('external_key')) {
    throw new ApiError(
      'duplicate_external_id',
      'Another object of this type has that external id.',
      {},
      error,
    )
  }
  if (!constraint.includes('idempotency') || !request.idempotency) throw error
  const { key, route, fingerprint } = request.idempotency
  const record = await rememberedAnswer(store, request.org_id, key, route)
  if (!record) throw error
  if (record.fingerprint !== fingerprint) {
    throw new ApiError(
      'idempotency_conflict',
      `Idempotency-Key ${key} was used with another body within 24 hours.`,
    )
  }
  return record
}

/** The stored answer of an idempotency key, if there is one. */
export async function rememberedAnswer(
  store: Store,
  org_id: number,
  key: string,
  route: string,
): Promise<IdempotencyRecord | undefined> {
  const [rows] = await store.db.fly(org_id, [
    {
      sql: 'select fingerprint, status, headers, body from idempotency where org_id = $1::bigint and key = $2 and route = $3',
      params: [org_id, key, route],
    },
  ])
  const row = rows?.[0]
  if (!row) return undefined
  const [fingerprint, status, headers, body] = row.map((cell) => cell?.toString() ?? '') as [
    string,
    string,
    string,
    string,
  ]
  return {
    key,
    route,
    fingerprint,
    status: Number(status),
    headers: JSON.parse(headers) as Record<string, string>,
    body,
  }
}

/** SHA-256 of what makes two requests the same: the body with its keys in order. */
export function fingerprintOf(body: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(body)))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  )
}

export function versionConflict(version: number | null): ApiError {
  const detail =
    version === null
      ? 'Another write came first; read the object again.'
      : `The present version is v${version}.`
  return new ApiError('version_conflict', detail, version === null ? {} : { version })
}

function claimOf(attrs: Row, valid_from: number): Claim {
  return { valid_from, valid_to: null, attrs, retracts: null, unstated: null }
}

function newReferences(
  resource: Resource,
  before: Row,
  after: Row,
): { target: string; id: string; field: string }[] {
  const known = new Set(referencesOf(writableFields(resource), before).map(({ id }) => id))
  return referencesOf(writableFields(resource), after).filter(({ id }) => !known.has(id))
}

function externalIds(row: Row): ExternalId[] {
  return ((row['external_ids'] as ExternalId[] | null) ?? []).map(({ system, id }) => ({
    system,
    id,
  }))
}

function difference(
  before: ExternalId[],
  after: ExternalId[],
): { add: ExternalId[]; remove: ExternalId[] } {
  const key = (e: ExternalId): string => `${e.system}\0${e.id}`
  const old = new Set(before.map(key))
  const now = new Set(after.map(key))
  return {
    add: after.filter((e) => !old.has(key(e))),
    remove: before.filter((e) => !now.has(key(e))),
  }
}

function emptied(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Array.isArray(value) ? [] : null]),
  )
}
