/** Creates of many objects of one type: one statement through the write door for up to a thousand of them. */
import { newRow, patched, wholeIssues } from './apply.ts'
import { writeStatement } from './door.ts'
import type { Change, Reference, WriteContext, Written } from './door.ts'
import { ApiError, invalid } from './errors.ts'
import type { Issue } from './errors.ts'
import { digitsOf, refusal } from './needs.ts'
import type { Need } from './needs.ts'
import { writableFields } from './resource.ts'
import type { Resource, Row } from './resource.ts'
import { changedFacts, changedFields, referencesOf } from './row.ts'
import type { Store } from './store.ts'
import type { Claim } from './timeline.ts'
import { API_SOURCE, emptied, externalIds } from './write.ts'
import type { WriteRequest } from './write.ts'

/** Objects per statement. Larger statements are no faster and make others wait longer. */
const BATCH = 1_000

/** Some of the values of an object, from a time on. */
export interface Stage {
  /** Epoch milliseconds; stages of one object are given in order, and no two have the same time. */
  valid_from: number
  values: Row
}

/** An object to create, with what is known of its past. */
export interface NewObject {
  id?: number
  /** A body that is valid against `createSchema`; what the platform sets itself may be given too. */
  input: Row
  /** From when the body holds; that of the request, or now, when left out. */
  valid_from?: number
  /** Merge patches that the object has seen since: each becomes a claim of its own. */
  later?: readonly Stage[]
}

export interface BulkOptions {
  /** Says that an issue is known and the object is wanted all the same. */
  tolerates?: (issue: Issue, object: NewObject) => boolean
}

/**
 * Creates the objects, a transaction for each thousand.
 * @returns their ids, in the order of the objects.
 * @throws 422 for the first batch with an object that breaks a rule or refers to what does not exist; the path of a field
 *   begins with the object's place in the list. Batches before it are written.
 */
export async function createMany(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  objects: readonly NewObject[],
  options: BulkOptions = {},
): Promise<number[]> {
  const fresh = await store.db.ids(objects.filter(({ id }) => id === undefined).length)
  const ids = objects.map(({ id }) => id ?? (fresh.shift() as number))
  for (let from = 0; from < objects.length; from += BATCH) {
    const at = new Date()
    const issues: Issue[] = []
    const changes = objects.slice(from, from + BATCH).map((object, i) => {
      const id = ids[from + i] as number
      const { change, problems } = creation(resource, request, object, id, at, options)
      issues.push(...problems.map((p) => ({ ...p, field: `[${from + i}].${p.field}` })))
      return change
    })
    if (issues.length > 0) throw invalid(issues)
    await write(store, resource, request, changes, at)
  }
  return ids
}

function creation(
  resource: Resource,
  request: WriteRequest,
  object: NewObject,
  id: number,
  at: Date,
  { tolerates }: BulkOptions,
): { change: Change; problems: Issue[] } {
  const since = object.valid_from ?? request.valid_from ?? at.getTime()
  let row = newRow(resource, request, id, new Date(since), object.input)
  const issues = [...wholeIssues(resource, row), ...resource.check(row, null)]
  const problems = issues.filter((issue) => !tolerates?.(issue, object))
  const claims: Claim[] = [claimOf(since, changedFacts(resource, row, null))]
  for (const { valid_from, values } of object.later ?? []) {
    if (problems.length > 0) break
    const next = stage(resource, request, row, values, new Date(valid_from), problems)
    claims.push(claimOf(valid_from, changedFacts(resource, next, row)))
    row = next
  }
  // The record is as old as its write, whatever it tells of earlier times.
  row['created_at'] = at.toISOString()
  row['updated_at'] = at.toISOString()
  const change: Change = {
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: changedFields(row, emptied(row)),
    claims,
    contested: (request.source_id ?? API_SOURCE) !== API_SOURCE,
    external: { add: externalIds(row), remove: [] },
  }
  return { change, problems }
}

/** The row after a patch; what the patch breaks is added to the problems, and the row stays as it was. */
function stage(
  resource: Resource,
  request: WriteRequest,
  row: Row,
  values: Row,
  at: Date,
  problems: Issue[],
): Row {
  try {
    return patched(resource, row, values, {}, request, at)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    problems.push(...((error.extra['errors'] ?? []) as Issue[]))
    return row
  }
}

function claimOf(valid_from: number, attrs: Row): Claim {
  return { valid_from, valid_to: null, attrs, retracts: null }
}

async function write(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  changes: readonly Change[],
  at: Date,
): Promise<void> {
  const references = referencesIn(resource, changes)
  const needs = needsIn(resource, changes)
  const context: WriteContext = {
    org_id: request.org_id,
    actor: request.actor,
    source_id: request.source_id ?? API_SOURCE,
    at,
    bulk: true,
    references,
    needs,
  }
  const { sql, params } = writeStatement(resource, changes, context)
  const [written] = await store.db.query<Partial<Written> & { count: string }>(
    request.org_id,
    sql,
    params,
  )
  if (Number(written?.count) === changes.length) return
  const { missing, unmet } = written ?? {}
  const lacking = { missing: missing ?? [], unmet: unmet ?? [] }
  throw refusal(resource, { references, needs }, lacking) ?? invalid([])
}

/** What the objects refer to, each once. */
function referencesIn(
  resource: Resource,
  changes: readonly Change[],
): (Reference & { text: string; field: string })[] {
  const fields = writableFields(resource)
  const found = new Map<string, Reference & { text: string; field: string }>()
  for (const { after } of changes) {
    for (const { target, id } of referencesOf(fields, after))
      found.set(id, { target, id: digitsOf(id), text: id, field: target })
  }
  return [...found.values()]
}

/** What else they need, but nothing that they would have to hold: nobody writes beside those who create in bulk. */
function needsIn({ needs }: Resource, changes: readonly Change[]): Need[] {
  if (!needs) return []
  const held = new Set(needs.kinds.filter(({ locks }) => locks).map(({ name }) => name))
  return changes.flatMap(({ after }) => needs.of(after)).filter(({ need }) => !held.has(need))
}
