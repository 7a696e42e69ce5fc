/** The end of a full snapshot: what it lacks has ended, unless that would be more than the adapter allows. */
import { saveChunk, saveProgress } from './job-queries.ts'
import { saveDiffRows } from './diff-queries.ts'
import type { Diff } from './diff.ts'
import { withCounts } from './jobs.ts'
import type { JobCounts, JobError } from './jobs.ts'
import type { KeyCounts } from './keys.ts'
import { doorWrites, prepare, write } from './load.ts'
import type { LoadItem } from './load.ts'
import { isConflict } from './pass.ts'
import { liveRecords, lockRows, recordsAfter } from './record-queries.ts'
import { announce, goOn, GuardTripped } from './running.ts'
import type { Running } from './running.ts'
import type { Tx } from '../kit/types.ts'

/** Chunk numbers of endings follow those of the file at a distance no file reaches. */
const FIRST_CHUNK = 1_000_000_000

/** Records that end in one transaction. */
const BATCH = 1_000

/** Keys read at once. */
const KEYS = 5_000

const TRIES = 10

/** @throws GuardTripped when more would end than the adapter allows without approval. */
export async function endMissing(running: Running, seen: KeyCounts): Promise<void> {
  const { load, job, done } = running
  const ended = [...done].filter(([no]) => no >= FIRST_CHUNK)
  for (const [, part] of ended) running.counts = withCounts(running.counts, part)
  const missing = await missingRecords(running, seen)
  if (missing.length === 0) return
  // A load between earlier ones ends things only until the next run; it takes nothing from the present.
  if (!job.approved && ended.length === 0 && load.next === null) {
    const tripped = await endingGuard(running, missing.length)
    if (tripped && running.diff) running.diff.guards.push(tripped)
    else if (tripped) throw new GuardTripped(tripped.code, tripped.message, tripped.details, true)
  }
  let no = FIRST_CHUNK + ended.length
  for (let i = 0; i < missing.length; i += BATCH)
    await endBatch(running, missing.slice(i, i + BATCH), no++)
}

/** The guard on the share of records that would end, if it trips. */
async function endingGuard(running: Running, ended: number): Promise<JobError | null> {
  const { load, job, counts } = running
  const { max_retract_pct } = job.adapter.guards
  const known = await liveRecords(load.store.db, load)
  const live = load.unseen ? known + counts.created : known
  const pct = (100 * ended) / Math.max(1, live)
  if (pct <= max_retract_pct) return null
  return {
    code: 'too_many_ended',
    message: `${ended} of ${live} objects are not in the file and would end (${pct.toFixed(1)} %, at most ${max_retract_pct} % without approval)`,
    details: { ended, live, max_retract_pct },
  }
}

async function missingRecords({ load }: Running, seen: KeyCounts): Promise<LoadItem[]> {
  const missing: LoadItem[] = []
  let after = ''
  while (true) {
    const batch = await recordsAfter(load.store.db, load, after, KEYS)
    for (const { ext_key, object_id, gone } of batch) {
      if ((gone && load.next === null) || seen.count(ext_key) > 0) continue
      missing.push({ key: ext_key, row: null, hash: '0', object_id, stated: null })
    }
    if (batch.length < KEYS) return missing
    after = batch.at(-1)?.ext_key ?? ''
  }
}

async function endBatch(running: Running, items: readonly LoadItem[], no: number): Promise<void> {
  const { load, session, job, lease_id, diff, whole } = running
  if (diff) return await noteBatch(running, items, diff)
  if (whole) return await endInWhole(running, items, whole)
  for (let attempt = 1; ; attempt++) {
    try {
      let part: Partial<JobCounts> = {}
      const state = await session.transaction(job.org_id, async (tx) => {
        const state = await saveProgress(tx, job, lease_id, 'ending', running.counts)
        const ids = items.map(({ object_id }) => object_id as number)
        if (attempt > 1) await lockRows(tx, load.org_id, load.resource.name, ids)
        const prepared = await prepare(load, items)
        part = { ...prepared.counts, unchanged: 0 }
        await write(load, tx, prepared, doorWrites(load, prepared, []))
        await saveChunk(tx, job, no, part)
        return state
      })
      running.counts = withCounts(running.counts, part)
      goOn(running, state)
      return
    } catch (error) {
      if (!isConflict(error) || attempt === TRIES) throw error
    }
  }
}

async function noteBatch(running: Running, items: readonly LoadItem[], diff: Diff): Promise<void> {
  const { load, session, job, lease_id } = running
  const prepared = await prepare(load, items)
  const rows = diff.note(prepared.effects, [], new Map())
  running.counts = withCounts(running.counts, { ...prepared.counts, unchanged: 0 })
  const state = await session.transaction(job.org_id, async (tx) => {
    await saveDiffRows(tx, job, rows)
    return await saveProgress(tx, job, lease_id, 'checking', running.counts)
  })
  goOn(running, state)
}

async function endInWhole(running: Running, items: readonly LoadItem[], tx: Tx): Promise<void> {
  const { load } = running
  const ids = items.map(({ object_id }) => object_id as number)
  await lockRows(tx, load.org_id, load.resource.name, ids)
  const prepared = await prepare(load, items)
  await write(load, tx, prepared, doorWrites(load, prepared, []))
  running.counts = withCounts(running.counts, { ...prepared.counts, unchanged: 0 })
  await announce(running, 'ending')
}
