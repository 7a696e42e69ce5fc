/** Creates, changes and deletes of one object: from a request's body to the door and back. */
import { DatabaseError } from 'pg'
import { fillIn, newRow, patched, wholeIssues } from './apply.ts'
import { ownResource } from './extended.ts'
import { deployed, extensionKey } from './extension.ts'
import { shownRow } from './extension-row.ts'
import { acceptExtensions } from './extension-input.ts'
import { readWritten, writeStatement } from './door.ts'
import { holdStatement, lockStatement } from './door-locks.ts'
import type { Change, ExternalId, IdempotencyRecord, WriteContext, Written } from './door.ts'
import { ApiError, invalid } from './errors.ts'
import { assertionsOf, foldedRow, ranksOf } from './history.ts'
import { earlierAnswer, original, rememberIn } from './idempotency.ts'
import type { IdempotencyRequest } from './idempotency.ts'
import { publicId } from './ids.ts'
import { locksOf, neededBy, NOTHING, refusal } from './needs.ts'
import type { Needed } from './needs.ts'
import { civilDate } from './query.ts'
import type { Resource, Row } from './resource.ts'
import { changedFacts, changedFields, previousOf, render, sameValue } from './row.ts'
import { get, getStanding, parseBody, refuseWhenUsed, usesOf } from './store.ts'
import type { Store } from './store.ts'
import type { Assertion, Claim } from './timeline.ts'
import type { Actor, Caller } from './types.ts'

/** Built-in source of everything written through the API; the key stands in the transaction. */
export const API_SOURCE = 1

/** Built-in source of what the platform works out itself. */
export const COMPUTED_SOURCE = 5

/** Times a change is tried when other writes come between its read and its write; enough for a crowd of a hundred. */
const UPDATE_TRIES = 30
/** Longest pause before the second try, in milliseconds; it grows with every further one. */
const UPDATE_PAUSE_MS = 4

/** For whom and why a write is done. */
export interface WriteRequest {
  org_id: number
  actor: Actor
  /** Organization defaults for fields the client left out. */
  defaults: Row
  source_id?: number
  /** Valid time of the claims; now unless the data itself says when it became true. */
  valid_from?: number
  /** Sent with a POST: the answer, of a change with this status, is stored with the write and given again to a repeat. */
  idempotency?: IdempotencyRequest | undefined
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

/** Creates one object. @param input a body that is valid against `createSchema` of `body-schema.ts`. */
export async function create(
  store: Store,
  declared: Resource,
  request: WriteRequest,
  input: Row,
  fixed: { id?: number; extra?: Row } = {},
): Promise<Outcome> {
  const at = new Date()
  const resource = await ownResource(store, request.org_id, declared)
  const { ext, ...plain } = input
  const own = acceptExtensions(resource.extensions, ext as Row | null | undefined, null)
  const [id = 0] = fixed.id === undefined ? await store.db.ids(1) : [fixed.id]
  const row = newRow(resource, request, id, at, { ...plain, ...fixed.extra, ...own.changes })
  fillIn(resource, row, Object.keys(plain))
  const today = todayOf(request, at)
  const issues = [...wholeIssues(resource, row), ...resource.check(row, null, today), ...own.issues]
  if (issues.length > 0) throw invalid(issues)
  const change: Change = {
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: changedFields(row, emptied(row)),
    claims: [claimOf(changedFacts(resource, row, null), request.valid_from ?? at.getTime())],
    contested: isOfOther(request),
    external: { add: externalIds(row), remove: [] },
  }
  const needed = neededBy(resource, row, null)
  return await passDoor(store, resource, request, change, at, needed, 201)
}

/** Is it written for another source than the API, whose claims are weighed at every write? */
function isOfOther({ source_id = API_SOURCE }: WriteRequest): boolean {
  return source_id !== API_SOURCE
}

/** The day in the time zone of the organization; null when the write is not for one. */
function todayOf({ defaults }: WriteRequest, at: Date): string | null {
  const zone = defaults['time_zone']
  return typeof zone === 'string' ? civilDate(at.getTime(), zone) : null
}

/** Path of an object below the base URL. */
function locationOf(resource: Resource, id: number): string {
  return `/api/v1/${resource.path}/${publicId(resource.prefix, id)}`
}

/**
 * Applies a merge patch (RFC 7396); one of a merged object to the object it stands at. A version moved on by another write is read again unless `expected` pins it.
 * @throws 412 `version_conflict` when `expected` is not the present version.
 */
export async function update(
  store: Store,
  declared: Resource,
  request: WriteRequest,
  named: number,
  patch: Row,
  expected: number | null,
  extra: Row = {},
): Promise<Outcome> {
  const resource = await ownResource(store, request.org_id, declared)
  const { ext, ...plain } = patch
  for (let attempt = 1; ; attempt++) {
    const stored = await getStanding(store, request.org_id, resource, named)
    const { id } = stored
    if (expected !== null && stored.version !== expected) throw versionConflict(stored.version)
    const before = parseBody(stored.body)
    const at = timeAfter(before)
    const stated = (before['ext'] ?? {}) as Row
    const given = ext === undefined ? {} : (ext as Row | null)
    const own = acceptExtensions(resource.extensions, given ?? cleared(resource, stated), stated)
    const after = patched(
      resource,
      before,
      { ...plain, ...own.changes },
      { extra, today: todayOf(request, at), issues: own.issues },
      request,
      at,
    )
    const facts = changedFacts(resource, after, before)
    const unchanged = Object.keys(after).every((name) => sameValue(after[name], before[name]))
    if (unchanged)
      return {
        id,
        version: stored.version,
        body: render(shownRow(resource, before)),
        replayed: null,
      }
    const claim = claimOf(facts, request.valid_from ?? at.getTime())
    const contested = stored.contested || isOfOther(request)
    const { row: final, revision } = contested
      ? await weighed(store, resource, request, id, after, claim, at)
      : { row: after, revision: null }
    final['version'] = stored.version + 1
    final['updated_at'] = at.toISOString()
    const change = changeOf(id, { ...stored, contested }, before, final, claim)
    const needed = neededBy(resource, after, before)
    try {
      const status = request.idempotency?.status ?? 200
      return await passDoor(store, resource, request, change, at, needed, status, revision)
    } catch (error) {
      await pauseBefore(error, attempt, expected)
    }
  }
}

/** A patch that sets the whole of `ext` to null clears every field of it. */
function cleared({ extensions }: Resource, stated: Row): Row {
  const live = deployed(extensions).filter(({ id }) => extensionKey(id) in stated)
  return Object.fromEntries(live.map(({ name }) => [name, null]))
}

/** Now, but never before the last write: a clock that is behind must not put the newer claim first. */
function timeAfter(before: Row): Date {
  return new Date(Math.max(Date.now(), Date.parse(before['updated_at'] as string)))
}

/** Waits a moment when another write came first and the caller pinned no version. @throws the error otherwise. */
export async function pauseBefore(
  error: unknown,
  attempt: number,
  expected: number | null,
): Promise<void> {
  const moved = error instanceof ApiError && error.code === 'version_conflict'
  if (!moved || expected !== null || attempt === UPDATE_TRIES) throw error
  const pause_ms = Math.random() * UPDATE_PAUSE_MS * attempt
  await new Promise((resolve) => setTimeout(resolve, pause_ms))
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
    previous: previousOf(before, changed),
    changed,
    claims: Object.keys(claim.attrs).length > 0 ? [claim] : [],
    contested: stored.contested,
    external: difference(externalIds(before), externalIds(after)),
  }
}

/** The row when other sources' claims may outrank this one: all claims weighed together, by the rules of a revision. */
async function weighed(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  id: number,
  after: Row,
  claim: Claim,
  at: Date,
): Promise<{ row: Row; revision: number }> {
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
  const all = [...(assertions.get(id) ?? []), own]
  const { revision } = ranks
  return { row: foldedRow(resource, after, all, ranks, at.getTime()).row, revision }
}

/**
 * Deletes softly: the row stays as a tombstone for feeds and history.
 * @throws 409 `conflict` while other objects need it.
 */
export async function remove(
  store: Store,
  declared: Resource,
  request: WriteRequest,
  id: number,
  expected: number | null,
): Promise<void> {
  const resource = await ownResource(store, request.org_id, declared)
  for (let attempt = 1; ; attempt++) {
    const stored = await get(store, request.org_id, resource, id)
    if (expected !== null && stored.version !== expected) throw versionConflict(stored.version)
    await refuseWhenUsed(store, request.org_id, resource, id)
    const before = parseBody(stored.body)
    const at = timeAfter(before)
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
      await passDoor(store, resource, request, change, at, NOTHING, 204)
      return
    } catch (error) {
      await pauseBefore(error, attempt, expected)
    }
  }
}

async function passDoor(
  store: Store,
  resource: Resource,
  request: WriteRequest,
  change: Change,
  at: Date,
  needed: Needed,
  status: number,
  revision: number | null = null,
): Promise<Outcome> {
  const { idempotency } = request
  const body = render(shownRow(resource, change.after))
  const version = change.expected + 1
  const location = locationOf(resource, change.id)
  const headers = { etag: `"v${version}"`, location, ...original(request.actor) }
  const record = idempotency && { ...idempotency, status, headers, body }
  const sender = record?.org_id
  const users = change.operation === 'deleted' ? usesOf(store, resource) : []
  const context: WriteContext = {
    org_id: request.org_id,
    users,
    actor: request.actor,
    source_id: request.source_id ?? API_SOURCE,
    at,
    revision,
    ...needed,
    idempotency: sender === undefined ? record : undefined,
  }
  let written: Written
  try {
    const statement = writeStatement(resource, [change], context)
    const others = record && sender !== undefined ? rememberIn(sender, record, at) : []
    const locks = locksOf(resource, needed.needs).map(([table, held]) =>
      holdStatement(table, request.org_id, held),
    )
    if (users.length > 0) locks.push(lockStatement(resource, request.org_id, change.id))
    const results = await store.db.fly(request.org_id, [...locks, statement, ...others])
    written = readWritten(results[locks.length] ?? [])
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== '23505') throw error
    const replayed = await earlierAnswer(store, request)
    if (replayed) return { id: change.id, version: 1, body: replayed.body, replayed }
    throw duplicate(error)
  }
  if (written.count === 0) {
    const replayed = await earlierAnswer(store, request)
    if (replayed) return { id: change.id, version: 1, body: replayed.body, replayed }
    throw refusal(resource, needed, written) ?? versionConflict(null)
  }
  return { id: change.id, version, body, replayed: null }
}

/** A unique key spoke: an external id that is taken, unless the error is one of ours. */
function duplicate(error: DatabaseError): Error {
  if (!(error.constraint ?? error.message).includes('external_key')) return error
  const detail = 'Another object of this type has that external id.'
  return new ApiError('duplicate_external_id', detail, {}, error)
}

export function versionConflict(version: number | null): ApiError {
  const detail =
    version === null
      ? 'Another write came first; read the object again.'
      : `The present version is v${version}.`
  return new ApiError('version_conflict', detail, version === null ? {} : { version })
}

function claimOf(attrs: Row, valid_from: number): Claim {
  return { valid_from, valid_to: null, attrs, retracts: null }
}

/** System and id of each external id of a row. */
export function externalIds(row: Row): ExternalId[] {
  return ((row['external_ids'] as ExternalId[] | null) ?? []).map(({ system, id }) => ({
    system,
    id,
  }))
}

/** External ids to add and to remove. */
export function difference(
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

/** The row with nothing in it, to compare a new one with. */
export function emptied(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Array.isArray(value) ? [] : null]),
  )
}
