/** A job under way, as its steps share it. */
import type { Session } from '../db/db.ts'
import type { Store } from '../kit/store.ts'
import type { Stream } from './adapter.ts'
import { saveProgress } from './job-queries.ts'
import type { Job, JobCounts, JobState, Phase } from './jobs.ts'
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
}

/** Saves progress apart from any chunk. */
export async function announce(running: Running, phase: Phase): Promise<void> {
  const { session, job, lease_id, counts } = running
  const state = await session.transaction(job.org_id, (tx) =>
    saveProgress(tx, job, lease_id, phase, counts),
  )
  goOn(running, state)
}

/** @throws Cancelled when a client asked for it, Stopped when the process is about to end. */
export function goOn({ stopping }: Running, state: JobState): void {
  if (state === 'cancelling') throw new Cancelled()
  if (stopping.aborted) throw new Stopped('the worker is about to end')
}
