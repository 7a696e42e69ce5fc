/** A job under way, as its steps share it. */
import type { Session } from '../db/db.ts'
import type { Store } from '../kit/store.ts'
import type { Tx } from '../kit/types.ts'
import type { Stream } from './adapter.ts'
import { saveProgress } from './job-queries.ts'
import type { Job, JobCounts, JobState, Phase } from './jobs.ts'
import type { Diff } from './diff.ts'
import type { KeyCounts } from './keys.ts'
import type { JobLimits } from './limits.ts'
import type { Load } from './load.ts'

/** The file is fine but too much of it is bad, or too much would end. */
export class GuardTripped extends Error {
  readonly code: string
  readonly details: Record<string, unknown>
  readonly review: boolean

  constructor(code: string, message: string, details: Record<string, unknown>, review = false) {
    super(message)
    this.code = code
    this.details = details
    this.review = review
  }
}

/** A client asked for the job to stop. */
export class Cancelled extends Error {}

/** The process is about to end: the job is left to be taken up again. */
export class Stopped extends Error {}

/** A job as a worker holds it. */
export interface Held {
  store: Store
  /** Each is used by one step at a time; two, so that the next chunk's transaction opens while one is written. */
  session: Session
  spare: Session
  job: Job
  lease_id: number
  limits: JobLimits
  stopping: AbortSignal
  /** Brings the records of a source that is asked, as the job's file. */
  fetch?: (running: Running, file: string) => Promise<unknown>
}

export interface Running extends Held {
  /** Done when the database has all of the chunk that is being sent: what takes the thread's time waits for it. */
  fed: Promise<void>
  stream: Stream
  load: Load
  counts: JobCounts
  /** Chunks that earlier attempts wrote, with what each counted. */
  done: ReadonlyMap<number, Partial<JobCounts>>
  /** Errors kept so far. */
  errors: number
  /** Takes what would change, in place of the database. */
  diff: Diff | null
  /** External ids that the run has given away, where its reads do not see what it makes. */
  external: KeyCounts | null
  /** The one transaction of a job that is written whole or not at all. */
  whole: Tx | null
}

/** Saves progress apart from any chunk. */
export async function announce(running: Running, phase: Phase): Promise<void> {
  const { job, lease_id, counts } = running
  const state = await tellingSession(running).transaction(job.org_id, (tx) =>
    saveProgress(tx, job, lease_id, phase, counts),
  )
  goOn(running, state)
}

/** The session for what others are to see at once: beside the transaction of a whole job, never in it. */
export function tellingSession({ whole, session, spare }: Running): Session {
  return whole ? spare : session
}

/**
 * @throws Cancelled when a client asked for it, Stopped when the process is about to end, GuardTripped when the job has
 *   run for longer than jobs may.
 */
export function goOn({ stopping, job, limits }: Held, state: JobState): void {
  if (state === 'cancelling') throw new Cancelled()
  if (stopping.aborted) throw new Stopped('the worker is about to end')
  const ran_s = (Date.now() - (job.taken_at?.getTime() ?? Date.now())) / 1_000
  if (ran_s <= limits.run_s) return
  const hours = Math.round(limits.run_s / 3_600)
  throw new GuardTripped('time_limit', `the job ran for more than ${hours} hours`, {
    run_time_s: limits.run_s,
  })
}
