/** The end of a full snapshot: what it lacks has ended, unless that would be more than the adapter allows. */
import type { KeyCounts } from './keys.ts'
import { ChunkConflict, prepare, write } from './load.ts'
import type { LoadItem } from './load.ts'
import { addCounts, saveChunk, saveProgress } from './jobs.ts'
import type { JobCounts } from './jobs.ts'
import { liveRecords, recordsAfter } from './queries.ts'
import { GuardTripped } from './running.ts'
import type { Running } from './running.ts'

/** Chunk numbers of endings follow those of the file at a distance no file reaches. */
const FIRST_CHUNK = 1_000_000

const BATCH = 5_000

const TRIES = 10

export async function endMissing(running: Running, seen: KeyCounts): Promise<void> {
  const { load, counts, job, done } = running
  const ended = [...done].filter(([no]) => no >= FIRST_CHUNK)
  for (const [, part] of ended) addCounts(counts, part)
  const missing = await missingRecords(running, seen)
  if (missing.length === 0) return
  const { max_retract_pct } = job.adapter.guards
  const live = await liveRecords(load.store.db, load.org_id, load.source_id, load.stream)
  const pct = (100 * missing.length) / Math.max(1, live)
  // A load between earlier ones ends things only until the next run; it takes nothing from the present.
  if (pct > max_retract_pct && !job.approved && load.next === null) {
    const message = `${missing.length} of ${live} objects are not in the file and would end (${pct.toFixed(1)} %, at most ${max_retract_pct} % without approval)`
    throw new GuardTripped(
      'too_many_ended',
      message,
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
    const batch = await recordsAfter(
      load.store.db,
      load.org_id,
      load.source_id,
      load.stream,
      after,
      BATCH,
    )
    for (const { ext_key, object_id, gone } of batch) {
      if ((gone && load.next === null) || seen.count(ext_key) > 0) continue
      missing.push({ key: ext_key, row: null, hash: '0', object_id, stated: null })
    }
    if (batch.length < BATCH) return missing
    after = batch.at(-1)?.ext_key ?? ''
  }
}

async function endBatch(running: Running, items: readonly LoadItem[], no: number): Promise<void> {
  const { load, session, job, lease_id, counts } = running
  for (let attempt = 1; ; attempt++) {
    const prepared = await prepare(load, items)
    const part: Partial<JobCounts> = { ...prepared.counts, unchanged: 0 }
    const total = structuredClone(counts)
    addCounts(total, part)
    try {
      await session.transaction(job.org_id, async (tx) => {
        await write(load, tx, prepared)
        await saveChunk(tx, job, no, part)
        await saveProgress(tx, job, lease_id, 'ending', total)
      })
      Object.assign(counts, total)
      return
    } catch (error) {
      if (!(error instanceof ChunkConflict) || attempt === TRIES) throw error
    }
  }
}
