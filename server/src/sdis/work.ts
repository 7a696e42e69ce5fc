/** The worker's side of jobs: take one, run it, let go of it. */
import { join } from 'node:path'
import type { Db } from '../db/db.ts'
import { bareStore } from '../organizations/service.ts'
import { claimJob, findJob, letGo } from './job-queries.ts'
import { runJob } from './run.ts'
import { Stopped } from './running.ts'

/** How long a worker rests when there is nothing to do, in milliseconds. */
const IDLE_MS = 300

/** Longest pause before a job that the platform failed is tried again, in seconds; other jobs go first. */
const PAUSE_MAX_S = 60

/**
 * Runs the oldest waiting job, if any.
 * @param stopping ends the work at the next chunk; another worker then goes on with it.
 * @returns how long to wait before looking again.
 */
export async function workOnJob(
  db: Db,
  data_dir: string,
  log: (message: string) => void,
  stopping: AbortSignal = new AbortController().signal,
): Promise<number> {
  const session = await db.session()
  try {
    const [lease_id] = (await db.ids(1)) as [number]
    const claimed = await claimJob(db, lease_id, session.pid)
    if (!claimed) return IDLE_MS
    const { org_id, id } = claimed
    const job = await findJob(db, org_id, id)
    if (!job) return 0
    try {
      const file = join(data_dir, 'imports', job.file_key)
      await runJob({ store: bareStore(db), session, job, lease_id, stopping }, file)
    } catch (error) {
      const stopped = error instanceof Stopped
      const pause_s = stopped ? 0 : Math.min(2 ** job.attempts, PAUSE_MAX_S)
      if (!stopped) log(`job_${id} is tried again in ${pause_s} s: ${(error as Error).message}`)
      await letGo(db, job, lease_id, pause_s)
    }
    return 0
  } finally {
    session.release()
  }
}
