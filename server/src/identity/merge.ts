/**
 * Two objects become one, and two again. Neither changes a fact: a pointer says at which object a merged one stands, and
 * both rows are made anew from the claims that are theirs.
 */
import { flightsIn, inOrder } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import { readWritten, writeStatement } from '../kit/door.ts'
import type { Change } from '../kit/door.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { assertionsOf, foldedRow, ranksOf } from '../kit/history.ts'
import type { Known, Source } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { changedFields } from '../kit/row.ts'
import type { Store } from '../kit/store.ts'
import { PRESENT } from '../kit/timeline.ts'
import type { Actor, Tx } from '../kit/types.ts'
import { API_SOURCE, difference, externalIds } from '../kit/write.ts'
import {
  askToFollow,
  endMerge,
  lockMerge,
  lockObjects,
  obstaclesTo,
  partsOf,
  saveMerge,
} from './merge-queries.ts'
import type { Merge, Present } from './merge-queries.ts'
import { keepApart } from './pair-queries.ts'
import { mergeView } from './views.ts'

/** Who does it, and where. */
export interface Doer {
  store: Store
  org_id: number
  actor: Actor
}

export interface MergeRequest {
  resource: Resource
  winner: number
  loser: number
  rule: 'manual' | 'identifier' | 'fuzzy' | 'review'
  score: number | null
  evidence: Row[]
  reason: string | null
  /** Also when one source lists both now. */
  force: boolean
}

/**
 * Merges the loser into the winner or, if that was merged itself, into the object it stands at. References to the loser
 * are still to follow: call `followAtOnce` once the transaction has ended.
 * @throws 409 `do_not_link`, `same_source` unless forced, `conflict` when the loser is merged already; 422 for objects that do
 *   not exist.
 */
export async function merge(doer: Doer, tx: Tx, request: MergeRequest): Promise<Merge> {
  const { store, org_id, actor } = doer
  const { resource, loser: loser_id } = request
  // Taken before anything is locked that those may wait for who hand out ids.
  const [id] = (await store.db.ids(1)) as [number]
  const db = flightsIn(tx)
  const standing = await headsOf(db, org_id, [request.winner, loser_id])
  const winner_id = standing.get(request.winner) ?? request.winner
  if (winner_id === (standing.get(loser_id) ?? loser_id)) throw alreadyOne()
  if (standing.has(loser_id)) throw mergedAlready(resource, loser_id, standing.get(loser_id))
  const [winner, loser] = await lockBoth(tx, org_id, resource, winner_id, loser_id)
  const [obstacles, known, ranks] = await inOrder([
    obstaclesTo(tx, org_id, winner_id, loser_id),
    assertionsOf(db, org_id, [winner_id, loser_id]),
    ranksOf(db, org_id),
  ])
  refuse(obstacles, request.force)
  const name = publicId(resource.prefix, loser_id)
  const joined = (known.get(loser_id) ?? []).map((claim) => ({
    ...claim,
    member: claim.member ?? loser_id,
    member_id: claim.member_id ?? name,
  }))
  const at = timeAfter(winner, loser)
  const claims = [...(known.get(winner_id) ?? []), ...joined]
  const change = standingChange(resource, winner, claims, ranks, at)
  const tx_id = await pass(tx, doer, resource, [leavingChange(loser, at), change], at)
  const done: Merge = {
    id,
    object_type: resource.name,
    winner_id,
    loser_id,
    rule: request.rule,
    score: request.score,
    evidence: request.evidence,
    reason: request.reason,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    tx_id,
    merged_at: at,
    unmerged_at: null,
  }
  await inOrder([
    tell(tx, doer, 'object.merged', done),
    saveMerge(tx, org_id, done, name),
    askToFollow(tx, org_id, { type: resource.name, id: loser_id }, false),
  ])
  return done
}

/**
 * Takes a merge back: both objects are as their own claims make them, and are to stay two.
 * @returns the object that referring rows are to be looked at for.
 * @throws 404, 409 `conflict` when it is undone already.
 */
export async function unmerge(
  doer: Doer,
  tx: Tx,
  merge_id: number,
): Promise<{ resource: Resource; head: number }> {
  const { store, org_id } = doer
  const [pair_id] = (await store.db.ids(1)) as [number]
  const found = await lockMerge(tx, org_id, merge_id)
  if (!found) throw notFound(`Merge ${publicId('mrg', merge_id)}`)
  if (found.unmerged_at) throw new ApiError('conflict', 'The merge is undone already.')
  const { loser_id } = found
  const resource = store.registry.get(found.object_type) as Resource
  const db = flightsIn(tx)
  const head = (await headsOf(db, org_id, [loser_id])).get(loser_id) as number
  const rows = await lockObjects(tx, org_id, resource.name, [head, loser_id])
  const [winner, loser] = [rows.get(head), rows.get(loser_id)] as [Present, Present]
  const [standing, parts, known, ranks] = await inOrder([
    headsOf(db, org_id, [loser_id]),
    partsOf(tx, org_id, loser_id),
    assertionsOf(db, org_id, [head]),
    ranksOf(db, org_id),
  ])
  if (standing.get(loser_id) !== head)
    throw new ApiError('conflict', 'Another merge came first; try again.')
  const claims = known.get(head) ?? []
  const leaving = new Set([loser_id, ...parts])
  const goes = ({ member = head }: Known): boolean => leaving.has(member)
  const at = timeAfter(winner, loser)
  const staying = claims.filter((claim) => !goes(claim))
  const own = claims.filter(goes).map((claim) => (claim.member === loser_id ? alone(claim) : claim))
  if (own.every(({ attrs }) => Object.keys(attrs).every((name) => name.startsWith('_'))))
    throw new ApiError('conflict', 'All that was said of it has been erased: it stays merged.')
  const changes = [
    ...(winner.deleted ? [] : [standingChange(resource, winner, staying, ranks, at)]),
    returningChange(resource, loser, own, ranks, at),
  ]
  const tx_id = await pass(tx, doer, resource, changes, at)
  const ended = { ...found, unmerged_at: at }
  const pair = { id: pair_id, a: found.winner_id, b: loser_id, reason: 'unmerged' }
  await inOrder([
    tell(tx, doer, 'object.unmerged', ended),
    endMerge(tx, org_id, found, parts, { tx_id, at }),
    askToFollow(tx, org_id, { type: resource.name, id: head }, true),
  ])
  await keepApart(tx, doer, resource.name, pair)
  return { resource, head }
}

async function lockBoth(
  tx: Tx,
  org_id: number,
  resource: Resource,
  winner_id: number,
  loser_id: number,
): Promise<[Present, Present]> {
  const given = [
    ['winner', publicId(resource.prefix, winner_id)],
    ['loser', publicId(resource.prefix, loser_id)],
  ] as const
  const rows = await requireBoth(tx, org_id, resource, given, [winner_id, loser_id])
  return [rows.get(winner_id) as Present, rows.get(loser_id) as Present]
}

/** Both objects, locked. @throws 422 naming those that do not exist. */
export async function requireBoth(
  tx: Tx,
  org_id: number,
  resource: Resource,
  given: readonly (readonly [field: string, id: string])[],
  ids: readonly number[],
): Promise<Map<number, Present>> {
  const rows = await lockObjects(tx, org_id, resource.name, ids)
  const issues = given.flatMap(([field, text], i) => {
    const row = rows.get(ids[i] as number)
    if (row && !row.deleted) return []
    const message = `no ${resource.name.replaceAll('_', ' ')} has the id ${text}`
    return [{ field, code: 'not_found', message }]
  })
  if (issues.length > 0) throw invalid(issues)
  return rows
}

function refuse(
  { apart, same_source }: Awaited<ReturnType<typeof obstaclesTo>>,
  force: boolean,
): void {
  if (apart !== null) {
    const pair = publicId('dnl', apart)
    throw new ApiError('do_not_link', `They are to stay two, says ${pair}.`, {
      do_not_link_id: pair,
    })
  }
  if (same_source && !force) {
    const { source, stream, keys } = same_source
    const detail = `${source} lists both now, in ${stream} as ${keys.join(' and ')}.`
    throw new ApiError('same_source', detail, { source, stream, keys })
  }
}

function alreadyOne(): ApiError {
  return new ApiError('conflict', 'Both ids lead to the same object already.')
}

function mergedAlready({ prefix }: Resource, loser: number, head: number | undefined): ApiError {
  const detail = `${publicId(prefix, loser)} is merged into ${publicId(prefix, head ?? 0)} already; merge that one, or undo the merge first.`
  return new ApiError('conflict', detail)
}

/** Now, but never before the last write of either. */
function timeAfter(...present: readonly Present[]): Date {
  const written = present.map(({ row }) => Date.parse(row['updated_at'] as string))
  return new Date(Math.max(Date.now(), ...written))
}

/** A claim as one on the object itself. */
function alone(claim: Known): Known {
  const { member_id: _, ...own } = claim
  return { ...own, member: undefined }
}

/** The object leaves lists and gives its external ids on; its claims stay as they are. */
function leavingChange({ id, version, contested, row }: Present, at: Date): Change {
  const now = at.toISOString()
  const after = { ...row, version: version + 1, updated_at: now, deleted_at: now }
  const external = { add: [], remove: externalIds(row) }
  const empty = { previous: {}, changed: [], claims: [] }
  return { id, operation: 'deleted', expected: version, after, ...empty, contested, external }
}

/** The row as the claims make it; what was claimed of several objects is weighed at every later write. */
function standingChange(
  resource: Resource,
  { id, version, row: before }: Present,
  claims: readonly Known[],
  ranks: ReadonlyMap<number, Source>,
  at: Date,
): Change {
  const { row: after, folded } = foldedRow(resource, before, claims, ranks, at.getTime())
  Object.assign(after, {
    version: version + 1,
    updated_at: at.toISOString(),
    archived_at: folded.present ? null : endedAt(claims, before),
    deleted_at: null,
  })
  const changed = changedFields(after, before)
  const moved = ['archived_at', 'deleted_at'].filter((name) => after[name] !== before[name])
  const all = [...changed, ...moved]
  return {
    id,
    operation: 'updated',
    expected: version,
    after,
    changed: all,
    claims: [],
    previous: Object.fromEntries(all.map((name) => [name, before[name] ?? null])),
    contested: true,
    external: difference(externalIds(before), externalIds(after)),
  }
}

function returningChange(
  resource: Resource,
  loser: Present,
  claims: readonly Known[],
  ranks: ReadonlyMap<number, Source>,
  at: Date,
): Change {
  const change = standingChange(resource, loser, claims, ranks, at)
  // It gave all its external ids on when it left.
  return { ...change, external: { add: externalIds(change.after), remove: [] } }
}

/** When the last source stopped listing the object, as the load that noticed wrote it. */
function endedAt(claims: readonly Known[], before: Row): unknown {
  const ends = claims.filter(({ attrs }) => attrs[PRESENT] === false).map((c) => c.recorded_at)
  return ends.length > 0 ? new Date(Math.max(...ends)).toISOString() : before['archived_at']
}

/**
 * Passes the write door with both: at once, unless external ids go from one to the other, which must be given up first.
 * @returns the transaction that the last stands in.
 */
async function pass(
  tx: Tx,
  { org_id, actor }: Doer,
  resource: Resource,
  changes: readonly Change[],
  at: Date,
): Promise<number> {
  // Versions are locked, so an object that had left its lists is brought back by no one else.
  const context = { org_id, actor, source_id: API_SOURCE, at, restore: true }
  const given = changes.some(({ external }) => external.remove.length > 0)
  let tx_id = 0
  for (const part of given ? changes.map((change) => [change]) : [changes]) {
    const written = readWritten(await tx.cells(writeStatement(resource, part, context)))
    if (written.count !== part.length)
      throw new ApiError('conflict', 'Another write came first; try again.')
    tx_id = written.tx_id ?? 0
  }
  return tx_id
}

async function tell(tx: Tx, doer: Doer, type: string, done: Merge): Promise<void> {
  const object = mergeView(doer.store.registry, done)
  const happening = { type, object_type: 'merge', object_id: done.id, object }
  await record(tx, doer.org_id, doer.actor, [happening])
}
