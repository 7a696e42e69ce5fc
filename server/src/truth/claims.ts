/** Claims made by hand: validated, weighed against all others on the object, written through the door. */
import { DatabaseError } from 'pg'
import { flightsIn, inOrder } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import { holdStatement } from '../kit/door-locks.ts'
import { writeStatement } from '../kit/door.ts'
import type { Change, Written } from '../kit/door.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { ownResource } from '../kit/extended.ts'
import { claimName, extensionKey, extensionNamed } from '../kit/extension.ts'
import { acceptValue } from '../kit/extension-input.ts'
import type { Issue } from '../kit/errors.ts'
import { assertionsOf, foldedRow, ranksOf } from '../kit/history.ts'
import type { Known } from '../kit/history.ts'
import { locksOf, neededBy, refusal } from '../kit/needs.ts'
import { civilDate } from '../kit/query.ts'
import { record } from '../kit/record.ts'
import { writableFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { changedFields, factNames, normalise, previousOf, valueOf } from '../kit/row.ts'
import type { Store } from '../kit/store.ts'
import type { Claim, StatedClaim } from '../kit/timeline.ts'
import type { Tx } from '../kit/types.ts'
import { validate } from '../kit/validate.ts'
import { difference, externalIds, pauseBefore, versionConflict } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import { holdObjects } from './object-queries.ts'
import { unknownAttribute } from './proposals.ts'
import { planRefold, saveReason } from './queries.ts'
import type { Claims } from './views.ts'

/** An object with all that was said of it, its row locked until the transaction ends. */
export interface Subject extends Claims {
  id: number
  known: Known[]
  version: number
  row: Row
}

/**
 * The object that an id stands for: itself, or the one it was merged into.
 * @throws 404 for what does not exist, was deleted, or belongs to another organization.
 */
export async function subjectOf(
  store: Store,
  tx: Tx,
  org_id: number,
  declared: Resource,
  id: number,
): Promise<Subject> {
  const resource = await ownResource(store, org_id, declared)
  const db = flightsIn(tx)
  let [held] = await holdObjects(tx, org_id, resource, [id])
  const head = held ? undefined : (await headsOf(db, org_id, [id])).get(id)
  if (head !== undefined) [held] = await holdObjects(tx, org_id, resource, [head])
  if (!held) throw notFound(`${resource.title} ${resource.prefix}_${id}`)
  const [known, sources] = await inOrder([assertionsOf(db, org_id, [held.id]), ranksOf(db, org_id)])
  return { ...held, resource, known: known.get(held.id) ?? [], sources }
}

/** Claims to make, by one source and for one reason. */
export interface Making {
  source_id: number
  /** 0 to 1000. */
  confidence: number
  claims: StatedClaim[]
  reason: string
  /** As the audit log calls it, and what it says beside the reason. */
  action: string
  details: Row
}

/** What is claimed, in the form in which facts hold it, or what is wrong with it. */
export interface Claimed {
  /** The name under which facts hold it. */
  key: string
  value: unknown
  issues: Issue[]
}

/** A value as it is claimed. @param path where the value stands in the request. */
export function valueFor(resource: Resource, name: string, value: unknown, path: string): Claimed {
  if (name.startsWith('ext.')) return extensionValue(resource, name, value, path)
  return { key: name, ...declaredValue(resource, name, value, path) }
}

function extensionValue(resource: Resource, name: string, value: unknown, path: string): Claimed {
  const extension = extensionNamed(resource.extensions, name.slice(4))
  if (!extension)
    return { key: name, value: null, issues: [unknownAttribute(path, resource, name)] }
  const key = extensionKey(extension.id)
  const refused = (issue: Omit<Issue, 'field'>): Claimed => ({
    key,
    value: null,
    issues: [{ field: path, ...issue }],
  })
  if (extension.type === 'formula')
    return refused({ code: 'read_only', message: 'is computed from other fields' })
  if (value === null && extension.required)
    return refused({ code: 'required', message: 'is required and cannot be empty' })
  const accepted = acceptValue(extension, value)
  return 'issue' in accepted ? refused(accepted.issue) : { key, value: accepted.value, issues: [] }
}

function declaredValue(
  resource: Resource,
  name: string,
  value: unknown,
  path: string,
): Omit<Claimed, 'key'> {
  const field = writableFields(resource)[name]
  if (!field || field.writeOnly || !factNames(resource).includes(name))
    return { value: null, issues: [unknownAttribute(path, resource, name)] }
  if (value === null) {
    const message = 'is required and cannot be empty'
    const issues = field.required ? [{ field: path, code: 'required', message }] : []
    return { value, issues }
  }
  const issues = validate(field.schema, value).map((issue) => ({
    ...issue,
    field: issue.field ? `${path}.${issue.field}` : path,
  }))
  return { value: issues.length > 0 ? null : normalise(field, value), issues }
}

/**
 * Writes the claims with the row that follows from them.
 * @returns the object after it, its new claims last.
 * @throws 422 when the row would break a rule of its type or name what does not exist, 409 for an external id that is taken.
 */
export async function makeClaims(
  tx: Tx,
  request: WriteRequest,
  subject: Subject,
  making: Making,
): Promise<Subject> {
  const { resource, id, sources, row: before, version } = subject
  const { org_id, actor } = request
  const at = new Date(Math.max(Date.now(), Date.parse(before['updated_at'] as string)))
  noteTransition(subject, request, making, at)
  const { row: after, folded, all, own } = weighed(subject, request, making, at)
  Object.assign(after, { version: version + 1, updated_at: at.toISOString() })
  after['archived_at'] = folded.present ? null : (before['archived_at'] ?? at.toISOString())
  const changed = changedFields(after, before)
  refuseBroken(resource, request, after, before, changed, at)
  const change: Change = {
    id,
    operation: 'updated',
    expected: version,
    after,
    previous: previousOf(before, changed),
    changed,
    claims: making.claims.map((claim) => ({ ...claim, confidence: making.confidence })),
    contested: true,
    external: difference(externalIds(before), externalIds(after)),
  }
  const needed = neededBy(resource, after, before)
  const { source_id } = making
  const { revision } = sources
  const context = { org_id, actor, source_id, at, revision, ...needed }
  for (const [table, held] of locksOf(resource, needed.needs)) {
    const hold = holdStatement(table, org_id, held)
    await tx.query(hold.sql, hold.params)
  }
  const { sql, params } = writeStatement(resource, [change], context)
  const [written] = await guarded(tx.query<Answered>(sql, params))
  const { missing, unmet } = written ?? {}
  if (Number(written?.count) !== 1)
    throw (
      refusal(resource, needed, { missing: missing ?? [], unmet: unmet ?? [] }) ??
      versionConflict(null)
    )
  const tx_id = Number(written?.tx_id)
  for (const claim of own) claim.tx_id = tx_id
  await saveReason(tx, org_id, tx_id, making.reason)
  await planLater(tx, org_id, subject, making.claims, at)
  const details = { ...making.details, reason: making.reason }
  const { action: type } = making
  const happening = { type, object_type: resource.name, object_id: id, object: null, details }
  await record(tx, org_id, actor, [{ ...happening, version: version + 1 }])
  return { ...subject, known: all, row: after, version: version + 1 }
}

/** The row and the claims with those that are to be made. */
function weighed(
  { resource, known, sources, row }: Subject,
  request: WriteRequest,
  making: Making,
  at: Date,
): ReturnType<typeof foldedRow> & { all: Known[]; own: Known[] } {
  const own = making.claims.map((claim) => knownClaim(claim, making, request, at))
  const all = [...known, ...own]
  return { ...foldedRow(resource, row, all, sources, at.getTime()), all, own }
}

/** A status that is claimed is kept in the history like one that was written. */
function noteTransition(subject: Subject, request: WriteRequest, making: Making, at: Date): void {
  const { resource, row: before } = subject
  const [claim] = making.claims
  const field = resource.lifecycle?.field
  if (field === undefined || !claim || !('status_history' in before)) return
  const { row: after } = weighed(subject, request, making, at)
  if (after[field] === before[field]) return
  const by = { type: request.actor.type, id: request.actor.id }
  const entry = { from: before[field], to: after[field], at: at.toISOString(), by }
  const moves = (before['status_history'] as Row[] | null) ?? []
  claim.attrs = { ...claim.attrs, status_history: [...moves, { ...entry, reason: making.reason }] }
}

/** Tries again when the rules changed, or another write was in the way, between reading and writing. */
export async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      const stuck = error instanceof DatabaseError && error.code === '40P01'
      await pauseBefore(stuck ? versionConflict(null) : error, attempt, null)
    }
  }
}

type Answered = Partial<Pick<Written, 'missing' | 'unmet'>> & { count: string; tx_id: string }

/** External ids are unique per type and system. */
async function guarded<T>(query: Promise<T>): Promise<T> {
  try {
    return await query
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== '23505') throw error
    const detail = 'Another object of this type has that external id.'
    throw new ApiError('duplicate_external_id', detail, {}, error)
  }
}

function knownClaim(
  claim: StatedClaim,
  { source_id, confidence, reason }: Making,
  { actor }: WriteRequest,
  at: Date,
): Known {
  return {
    ...claim,
    source_id,
    confidence,
    reason,
    tx_id: Number.MAX_SAFE_INTEGER,
    recorded_at: at.getTime(),
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    job_id: null,
    row_no: null,
  }
}

/** Refuses what the claims break; what was broken before is not their fault. */
function refuseBroken(
  resource: Resource,
  { defaults }: WriteRequest,
  after: Row,
  before: Row,
  changed: readonly string[],
  at: Date,
): void {
  if (changed.length === 0) return
  const zone = defaults['time_zone']
  const today = typeof zone === 'string' ? civilDate(at.getTime(), zone) : null
  const old = new Set(resource.check(before, before, today).map(keyOf))
  const issues = resource.check(after, before, today).filter((issue) => !old.has(keyOf(issue)))
  for (const name of changed) {
    const own = resource.extensions.find(({ id }) => extensionKey(id) === name)
    const { required } = own ?? writableFields(resource)[name] ?? { required: false }
    if (!required || valueOf(after, name) !== null) continue
    const field = claimName(resource.extensions, name)
    issues.push({ field, code: 'required', message: 'would be left without any claim' })
  }
  if (issues.length > 0) throw invalid(issues)
}

const keyOf = ({ field, code }: Issue): string => `${field} ${code}`

/** What begins or ends later is weighed again then. */
async function planLater(
  tx: Tx,
  org_id: number,
  { id, resource }: Subject,
  claims: readonly Claim[],
  at: Date,
): Promise<void> {
  const times = claims
    .flatMap(({ valid_from, valid_to }) => [valid_from, valid_to ?? 0])
    .filter((time) => time > at.getTime())
  if (times.length === 0) return
  const due = { object_id: id, object_type: resource.name }
  await planRefold(
    tx,
    org_id,
    due,
    times.map((time) => new Date(time)),
  )
}
