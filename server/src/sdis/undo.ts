/**
 * Takes back what a job wrote. Nothing is deleted from the record: its claims are retracted by claims of the undo, what
 * the source had said before holds again, and objects that the job made are deleted as a person would delete them.
 */
import { headsOf } from '../kit/cluster-queries.ts'
import type { Change } from '../kit/door.ts'
import { bulkStatement } from '../kit/bulk-door.ts'
import { assertionsOf, foldedRow, ranksOf } from '../kit/history.ts'
import type { Known, Sources } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { usesOf } from '../kit/store.ts'
import { byTime, PRESENT } from '../kit/timeline.ts'
import type { Assertion, Claim, StatedClaim } from '../kit/timeline.ts'
import type { Tx } from '../kit/types.ts'
import { externalIds } from '../kit/write.ts'
import { findJob, finishJob, saveChunk, saveProgress, saveUndone } from './job-queries.ts'
import { withCounts } from './jobs.ts'
import type { Job, JobCounts, JobState } from './jobs.ts'
import { updateOf } from './load-change.ts'
import { ChunkConflict, passDoor } from './load.ts'
import { isConflict } from './pass.ts'
import { waitAgain } from './pending-queries.ts'
import { stateAt } from './plan.ts'
import { lockRows, presentRows } from './record-queries.ts'
import type { Present } from './record-queries.ts'
import { goOn, GuardTripped } from './running.ts'
import type { Running } from './running.ts'
import { claimsWithout } from './undo-claims.ts'
import * as queries from './undo-queries.ts'

const TRIES = 10

/** Examples of objects that stand in the way. */
const EXAMPLES = 20

/** What one transaction of the job comes to when it is taken back. */
interface Undone {
  resource: Resource
  /** Whose word it was: of a reference that had waited, the source that named it. */
  source_id: number
  updates: Change[]
  deletes: Change[]
  records: { id: number; gone: boolean }[]
  /** When the latest of the objects was last written, epoch milliseconds. */
  latest: number
}

/**
 * @throws GuardTripped when a later job stands on this one, when others need what it made, and, until somebody approves,
 *   when others have written to what it made.
 */
export async function undoJob(running: Running): Promise<void> {
  const { store, job, session, lease_id, done } = running
  const undone = await findJob(store.db, job.org_id, job.parent_id as number)
  if (!undone) throw new GuardTripped('job_missing', 'The job to undo is not there.', {})
  const transactions = await queries.transactionsOf(store.db, undone)
  running.counts.rows_total = transactions.length
  if (done.size === 0) await requireAlone(running, undone, transactions)
  for (const [no, transaction] of transactions.entries()) {
    const before = done.get(no)
    if (before) running.counts = withCounts(running.counts, before)
    else await takeBack(running, undone, transaction, no)
  }
  await session.transaction(job.org_id, async (tx) => {
    await waitAgain(tx, job.org_id, undone.id)
    await queries.dropRun(tx, undone)
    await saveUndone(tx, job)
    await finishJob(tx, job, lease_id, 'completed', running.counts, null)
  })
}

/** Everything that stands in the way is found before anything is written. */
async function requireAlone(
  { store, job }: Running,
  undone: Job,
  transactions: readonly queries.Transaction[],
): Promise<void> {
  const later = await queries.laterJob(store.db, undone)
  if (later !== null)
    throw new GuardTripped('later_job', `job_${later} loaded the stream later: undo it first`, {
      job_id: publicId('job', later),
    })
  const merges = await queries.mergesOfMade(store.db, undone, EXAMPLES)
  if (merges.length > 0) throw merged(merges)
  const first = transactions.at(-1)?.tx_id ?? 0
  const needed: number[] = []
  const edited: number[] = []
  for (const { tx_id, object_type } of transactions) {
    const ids = await queries.objectsIn(store.db, job.org_id, tx_id)
    const present = await presentRows(store.db, job.org_id, object_type, ids)
    const own = [...present].flatMap(([id, { deleted }]) => (deleted ? [] : [id]))
    if (own.length === 0) continue
    const uses = usesOf(store, store.registry.get(object_type) as Resource)
    needed.push(...(await queries.neededByOthers(store.db, undone, first, own, uses)))
    if (!job.approved) edited.push(...(await queries.editedSince(store.db, undone, first, own)))
    if (needed.length >= EXAMPLES) break
  }
  if (needed.length > 0) throw inTheWay('objects_in_use', 'other objects refer to', needed, false)
  if (edited.length > 0)
    throw inTheWay('objects_edited', 'others have written since to', edited, true)
}

function inTheWay(
  code: string,
  what: string,
  ids: readonly number[],
  review: boolean,
): GuardTripped {
  const message = `${what} ${ids.length} objects that the job made and that would be deleted`
  return new GuardTripped(code, message, { objects: ids.slice(0, EXAMPLES) }, review)
}

function merged(merges: readonly queries.Merged[]): GuardTripped {
  const message = 'what the job made was merged since: undo the merges first'
  const ids = merges.map(({ merge_id }) => publicId('mrg', merge_id))
  const object_ids = merges.map(({ public_id }) => public_id)
  return new GuardTripped('objects_merged', message, { merges: ids, object_ids })
}

/** Takes back one transaction of the job, in one transaction. */
async function takeBack(
  running: Running,
  undone: Job,
  transaction: queries.Transaction,
  no: number,
): Promise<void> {
  const { store, job, session } = running
  const ids = await queries.objectsIn(store.db, job.org_id, transaction.tx_id)
  for (let attempt = 1; ; attempt++) {
    try {
      let part: Partial<JobCounts> = {}
      const state = await session.transaction(job.org_id, async (tx): Promise<JobState> => {
        const { lease_id } = running
        const state = await saveProgress(tx, job, lease_id, 'undoing', running.counts)
        part = await takeBackOnce(running, undone, transaction, ids, tx)
        await saveChunk(tx, job, no, part)
        return state
      })
      running.counts = withCounts(running.counts, part)
      goOn(running, state)
      return
    } catch (error) {
      if (!isConflict(error)) throw error
      if (attempt < TRIES) continue
      const message = 'An external id that the job took from an object belongs to another one now.'
      throw new GuardTripped('external_id_taken', message, {})
    }
  }
}

async function takeBackOnce(
  running: Running,
  undone: Job,
  { object_type, source_id }: queries.Transaction,
  ids: readonly number[],
  tx: Tx,
): Promise<Partial<JobCounts>> {
  const { store, job, load } = running
  const counts = { rows_read: 1, changed: 0, ended: 0, facts: 0 }
  const resource = store.registry.get(object_type) as Resource
  const heads = await lockStanding(running, tx, resource, ids)
  const found = await plan(running, undone, { resource, source_id }, ids, heads)
  const gone = found.deletes.map(({ id }) => id)
  if (await queries.someNeeded(tx, job.org_id, gone, usesOf(store, resource)))
    throw inTheWay('objects_in_use', 'other objects refer to some of', gone, false)
  for (const changes of [found.updates, found.deletes]) await write(running, tx, found, changes)
  await queries.forgetRecords(tx, job.org_id, load.source_id, gone)
  await queries.resetRecords(tx, job.org_id, source_id, found.records)
  counts.changed += found.updates.length
  counts.ended += gone.length
  for (const { claims } of [...found.updates, ...found.deletes])
    for (const { attrs, retracts } of claims)
      counts.facts += Object.keys(attrs).length + (retracts?.length ?? 0)
  await queries.restoreBlanks(tx, undone, ids)
  return counts
}

/**
 * Keeps the objects, and those they were merged into, as they are until the transaction ends.
 * @returns where each of them stands that was merged.
 * @throws ChunkConflict when a merge came between.
 */
async function lockStanding(
  { store, job: { org_id } }: Running,
  tx: Tx,
  { name }: Resource,
  ids: readonly number[],
): Promise<Map<number, number>> {
  await lockRows(tx, org_id, name, ids)
  const heads = await headsOf(store.db, org_id, ids)
  if (heads.size === 0) return heads
  await lockRows(tx, org_id, name, [...new Set(heads.values())])
  const now = await headsOf(store.db, org_id, ids)
  if (ids.some((id) => heads.get(id) !== now.get(id)))
    throw new ChunkConflict('an object was merged, or taken apart, meanwhile')
  return heads
}

async function plan(
  running: Running,
  undone: Job,
  { resource, source_id }: Pick<Undone, 'resource' | 'source_id'>,
  members: readonly number[],
  heads: ReadonlyMap<number, number>,
): Promise<Undone> {
  const { store, job } = running
  const parts = Map.groupBy(members, (id) => heads.get(id) ?? id)
  const ids = [...parts.keys()]
  const [sources, rows, assertions] = await Promise.all([
    ranksOf(store.db, job.org_id),
    presentRows(store.db, job.org_id, resource.name, ids),
    assertionsOf(store.db, job.org_id, ids),
  ])
  const found: Undone = {
    resource,
    source_id,
    updates: [],
    deletes: [],
    records: [],
    latest: 0,
  }
  for (const [id, present] of rows) {
    const known = assertions.get(id) ?? []
    const saidOf = (part: number): Known[] => known.filter(({ member = id }) => member === part)
    // Of an object in several transactions all that a source said was taken back with the first.
    const open = (parts.get(id) ?? []).filter(
      (part) => !saidOf(part).some((c) => c.job_id === job.id && c.source_id === source_id),
    )
    if (present.deleted || open.length === 0) continue
    const made = open.filter((part) => firstOf(saidOf(part)).job_id === undone.id)
    const before = JSON.parse(present.body) as Row
    found.latest = Math.max(found.latest, Date.parse(before['updated_at'] as string))
    if (made.length > 0 && known.some(({ member }) => member !== undefined))
      throw merged(await queries.mergesOfMade(store.db, undone, EXAMPLES))
    if (made.length > 0) found.deletes.push(deletion(id, present, before, known, undone))
    else
      restore(found, {
        id,
        parts: open,
        present,
        before,
        said: { known, sources },
        undone,
      })
  }
  return found
}

function firstOf(known: readonly Known[]): Known {
  return known.reduce((a, b) => (a.tx_id <= b.tx_id ? a : b))
}

/** The object was never there: from the first day on that the job spoke of it. */
function deletion(
  id: number,
  present: Present,
  before: Row,
  known: readonly Known[],
  undone: Job,
): Change {
  const own = known.filter(({ job_id }) => job_id === undone.id)
  const valid_from = Math.min(...own.map((claim) => claim.valid_from))
  const claim: Claim = { valid_from, valid_to: null, attrs: { _deleted: true }, retracts: null }
  const after = { ...before, version: present.version + 1, deleted_at: '' }
  const change = updateOf(id, present, before, after, [claim])
  return {
    ...change,
    operation: 'deleted',
    external: { add: [], remove: externalIds(before) },
  }
}

/** All that was said of an object, and how it is weighed. */
interface Weighed {
  known: readonly Known[]
  sources: Sources
}

/** An object that there was before the job; `parts` are the records of it, its own or merged, that the job spoke of. */
interface Restored {
  id: number
  parts: readonly number[]
  present: Present
  before: Row
  said: Weighed
  undone: Job
}

function restore(found: Undone, object: Restored): void {
  const { id, parts, present, before, said, undone } = object
  const { known, sources } = said
  const { source_id } = found
  const all: Assertion[] = [...known]
  const claims: StatedClaim[] = []
  for (const part of parts) {
    const own = known.filter(
      (claim) => claim.source_id === source_id && (claim.member ?? id) === part,
    )
    const of = part === id ? {} : { member: part }
    const taken = claimsWithout(own, ({ job_id }) => job_id === undone.id)
    const planned = taken.map((claim, i) => ({
      ...claim,
      ...of,
      source_id,
      tx_id: Number.MAX_SAFE_INTEGER - taken.length + i,
      confidence: 1_000,
    }))
    all.push(...planned)
    claims.push(...taken.map((claim) => ({ ...claim, ...of })))
    const history = { claims: [...own, ...planned].sort(byTime), blanks: [] }
    found.records.push({ id: part, gone: !stateAt(history, Number.MAX_SAFE_INTEGER).present })
  }
  const { row: after, folded } = foldedRow(found.resource, before, all, sources, Date.now())
  after['version'] = present.version + 1
  after['archived_at'] = folded.present ? null : archivedAt(before, known, undone)
  found.updates.push(updateOf(id, present, before, after, claims))
}

/** When the object had ended before the job brought it back. */
function archivedAt(before: Row, known: readonly Known[], undone: Job): unknown {
  if (before['archived_at'] !== null) return before['archived_at']
  const ends = known.filter(({ attrs, job_id }) => attrs[PRESENT] === false && job_id !== undone.id)
  const last = Math.max(...ends.map(({ recorded_at }) => recorded_at))
  return new Date(Number.isFinite(last) ? last : Date.now()).toISOString()
}

async function write(
  { load }: Running,
  tx: Tx,
  { resource, source_id, latest }: Undone,
  changes: readonly Change[],
): Promise<void> {
  if (changes.length === 0) return
  const at = new Date(Math.max(Date.now(), latest))
  for (const { after, operation } of changes) {
    after['updated_at'] = at.toISOString()
    if (operation === 'deleted') after['deleted_at'] = at.toISOString()
  }
  const { org_id, actor, job_id } = load
  const statement = bulkStatement(resource, changes, {
    org_id,
    actor,
    source_id,
    at,
    job_id,
    bulk: true,
  })
  await passDoor(tx, { statement, count: changes.length })
}
