/** The end of a full snapshot: what it lacks has ended, unless that would be more than the adapter allows. */
import { saveChunk, saveProgress } from './job-queries.ts'
import { withCounts } from './jobs.ts'
import type { JobCounts } from './jobs.ts'
import type { KeyCounts } from './keys.ts'
import { doorWrites, prepare, write } from './load.ts'
import type { LoadItem } from './load.ts'
import { isConflict } from './pass.ts'
import { liveRecords, lockRows, recordsAfter } from './record-queries.ts'
import { goOn, GuardTripped } from './running.ts'
import type { Running } from './running.ts'

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
  const { max_retract_pct } = job.adapter.guards
  const live = await liveRecords(load.store.db, load)
  const pct = (100 * missing.length) / Math.max(1, live)
  // A load between earlier ones ends things only until the next run; it takes nothing from the present.
  if (pct > max_retract_pct && !job.approved && ended.length === 0 && load.next === null) {
    throw new GuardTripped(
      'too_many_ended',
      `${missing.length} of ${live} objects are not in the file and would end (${pct.toFixed(1)} %, at most ${max_retract_pct} % without approval)`,
      { ended: missing.length, live, max_retract_pct },
      true,
    )
  }
  let no = FIRST_CHUNK + ended.length
  for (let i = 0; i < missing.length; i += BATCH)
    await endBatch(running, missing.slice(i, i + BATCH), no++)
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
  const { load, session, job, lease_id } = running
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
