/** A load as one transaction: all of its file or nothing of it. */
import { withCounts } from './jobs.ts'
import { finishJob } from './job-queries.ts'
import type { Source, Survey } from './chunks.ts'
import { endMissing } from './ending.ts'
import { forgetUnfinished } from './error-queries.ts'
import { KeyCounts } from './keys.ts'
import { passAll } from './line.ts'
import { isConflict, keepErrors, writeInWhole } from './pass.ts'
import { fillPending } from './pending.ts'
import { saveRun } from './record-queries.ts'
import { GuardTripped, tellingSession } from './running.ts'
import type { Running } from './running.ts'
import { FileError } from './readers/types.ts'
import type { Tx } from '../kit/types.ts'

/** Times the whole is begun anew when other writes came between; it locks what it changes, so that few do. */
const TRIES = 5

/** @throws FileError for a file with more rows than one transaction may hold. */
export function requireWholeSize(rows: number, most: number): void {
  if (rows <= most) return
  const message = `A job with the option atomic may have ${most} rows, the file has ${rows}.`
  throw new FileError('too_many_rows', message, { rows, limit: most })
}

/** Writes the file and ends the job, in one transaction. @param open opens the file anew for each attempt. */
export async function writeWhole(
  running: Running,
  open: () => Promise<Source>,
  found: Survey,
): Promise<void> {
  const { session, job, store, counts } = running
  for (let attempt = 1; ; attempt++) {
    running.counts = { ...counts }
    running.errors = await forgetUnfinished(store.db, job)
    running.external = new KeyCounts()
    running.load = { ...running.load, unseen: true }
    const source = await open()
    try {
      await session.transaction(
        job.org_id,
        async (tx) => await writeOnce(running, source, found, tx),
      )
      return
    } catch (error) {
      if (!isConflict(error) || attempt === TRIES) throw error
    } finally {
      running.whole = null
      await source.table.close()
    }
  }
}

async function writeOnce(running: Running, source: Source, found: Survey, tx: Tx): Promise<void> {
  const { job, load, lease_id } = running
  // With an id from the start, so that who asks what was known at a time waits for the transaction.
  await tx.query('select pg_current_xact_id()')
  running.whole = tx
  const seen = new KeyCounts()
  await passAll(running, source, seen, found, (_, resolver) => async (ready, before) => {
    await before
    try {
      await writeInWhole(running, resolver, ready, tx)
    } catch (error) {
      if (error instanceof GuardTripped) await keepErrors(running, ready, tellingSession(running))
      throw error
    }
  })
  const complete = job.adapter.mode === 'full_snapshot'
  if (complete) await endMissing(running, seen)
  await fillPending(running)
  await saveRun(tx, load, { valid_from: job.valid_from, job_id: job.id, complete })
  const state = running.counts.quarantined > 0 ? 'completed_with_errors' : 'completed'
  await finishJob(tx, job, lease_id, state, withCounts(running.counts, {}), null)
}
