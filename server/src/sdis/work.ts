/** The worker's side of jobs: take one, run it, let go of it. */
import { join } from 'node:path'
import { Db } from '../db/db.ts'
import { ownStore } from '../kit/extended.ts'
import { bareStore } from '../organizations/service.ts'
import { claimJob, findJob, letGo } from './job-queries.ts'
import { STANDARD_LIMITS } from './limits.ts'
import type { JobLimits } from './limits.ts'
import { pullFile, pullingOf } from './pull/fetch.ts'
import type { Pulling } from './pull/fetch.ts'
import { runJob } from './run.ts'
import { Stopped } from './running.ts'
import type { Held } from './running.ts'

/** How long a worker rests when there is nothing to do, in milliseconds. */
const IDLE_MS = 300

/** Longest pause before a job that the platform failed is tried again, in seconds; other jobs go first. */
const PAUSE_MAX_S = 60

/** A job that this process has taken. */
export interface Claim {
  org_id: number
  id: number
  lease_id: number
}

/** @throws Stopped when the process is about to end, anything else when the platform failed. */
export type Runner = (claim: Claim, stopping: AbortSignal) => Promise<void>

/**
 * Takes the oldest waiting job, if any, and has it run. While it runs, the session by which others see that this process
 * lives stays open.
 * @returns how long to wait before looking again.
 */
export async function takeJob(
  db: Db,
  run: Runner,
  log: (message: string) => void,
  stopping: AbortSignal,
  limits: JobLimits = STANDARD_LIMITS,
): Promise<number> {
  const session = await db.session()
  try {
    const [lease_id] = (await db.ids(1)) as [number]
    const claimed = await claimJob(db, lease_id, session.pid, limits.running)
    if (!claimed) return IDLE_MS
    const { org_id, id, attempts } = claimed
    try {
      await run({ org_id, id, lease_id }, stopping)
    } catch (error) {
      const stopped = error instanceof Stopped
      const pause_s = stopped ? 0 : Math.min(2 ** attempts, PAUSE_MAX_S)
      if (!stopped) log(`job_${id} is tried again in ${pause_s} s: ${(error as Error).message}`)
      await letGo(db, claimed, lease_id, pause_s)
    }
    return 0
  } finally {
    session.release()
  }
}

/** Takes the oldest waiting job, if any, and runs it in this thread. @returns how long to wait before looking again. */
export async function workOnJob(
  db: Db,
  data_dir: string,
  log: (message: string) => void,
  stopping: AbortSignal = new AbortController().signal,
  limits: JobLimits = STANDARD_LIMITS,
  pulling: Pulling = pullingOf({
    GRID_SOURCE_ALLOW_CIDRS: [],
    GRID_MASTER_KEY: null,
    GRID_DATA_DIR: data_dir,
  }),
): Promise<number> {
  const own = new Db(db.config, CONNECTIONS)
  try {
    return await takeJob(db, runner(own, data_dir, limits, pulling), log, stopping, limits)
  } finally {
    await own.close()
  }
}

/** One that reads, three that write: two the chunks in turn, one the lease now and then. */
export const CONNECTIONS = { pipelined: 1, pooled: 3 }

/**
 * Runs jobs in this thread.
 * @param db for jobs alone: a load reads while it holds locks, and requests that wait for these must not stand before it
 *   on the same connection.
 * @param data_dir where the files are.
 * @param pulling for jobs that ask a source.
 */
export function runner(db: Db, data_dir: string, limits: JobLimits, pulling: Pulling): Runner {
  const fetch: Held['fetch'] = async (running, file) => await pullFile(running, pulling, file)
  return async ({ org_id, id, lease_id }, stopping) => {
    const job = await findJob(db, org_id, id)
    if (!job) return
    const session = await db.session()
    const spare = await db.session()
    try {
      const file = join(data_dir, 'imports', job.file_key)
      const store = await ownStore(bareStore(db), org_id)
      const held = { store, session, spare, job, lease_id, limits, stopping, fetch }
      await runJob(held, file)
    } finally {
      session.release()
      spare.release()
    }
  }
}
