/** A job under way, as its steps share it. */
import type { Session } from '../db/db.ts'
import type { Resource } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Stream } from './adapter.ts'
import type { Job, JobCounts } from './jobs.ts'
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

export interface Running {
  store: Store
  session: Session
  job: Job
  lease_id: number
  stream: Stream
  resource: Resource
  load: Load
  counts: JobCounts
  done: ReadonlyMap<number, Partial<JobCounts>>
  errors: number
}
