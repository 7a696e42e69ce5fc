/** The progress of a job as server-sent events: the present state at once, then each change, until the job has ended. */
import { never } from '../events/wake.ts'
import { ApiError } from '../kit/errors.ts'
import type { OrgDb } from '../kit/types.ts'
import { findJob } from './job-queries.ts'
import { END_STATES, jobView } from './jobs.ts'

/** How often the job is looked at, in milliseconds. */
const LOOK_MS = 500

/** A sign of life is sent when nothing changes for so long, so that nobody between cuts the connection. */
const ALIVE_MS = 15_000

/** A stream is closed after this long; the client comes again by itself and gets the present state. */
const LIFE_MS = 10 * 60 * 1_000

/** Streams of one organization that a process keeps open at once. */
export const STREAMS_MAX = 20

export class JobStreams {
  private readonly open = new Map<number, number>()
  private readonly db: OrgDb
  private readonly stopping: AbortSignal

  /** @param stopping ends all streams: a process that is to end waits for no client. */
  constructor(db: OrgDb, stopping: AbortSignal) {
    this.db = db
    this.stopping = stopping
  }

  /** @throws 429 when the organization has as many streams open as it may. */
  take(org_id: number, id: number): AsyncGenerator<string> {
    if ((this.open.get(org_id) ?? 0) >= STREAMS_MAX)
      throw new ApiError('rate_limited', `${STREAMS_MAX} streams are open already.`, {
        retry_after_s: 5,
      })
    return this.events(org_id, id)
  }

  private async *events(org_id: number, id: number): AsyncGenerator<string> {
    this.open.set(org_id, (this.open.get(org_id) ?? 0) + 1)
    try {
      const until = Date.now() + LIFE_MS
      let last = ''
      let told = Date.now()
      let n = 0
      while (Date.now() < until && !this.stopping.aborted) {
        const job = await findJob(this.db, org_id, id)
        if (!job) return
        const data = JSON.stringify(jobView(job))
        const ended = END_STATES.has(job.state)
        if (data !== last)
          yield `id: ${++n}\nevent: ${ended ? 'end' : 'progress'}\ndata: ${data}\n\n`
        else if (Date.now() - told > ALIVE_MS) yield ': alive\n\n'
        if (data !== last || Date.now() - told > ALIVE_MS) told = Date.now()
        if (ended) return
        last = data
        await never.asleep(LOOK_MS, this.stopping)
      }
    } finally {
      const count = (this.open.get(org_id) ?? 1) - 1
      if (count > 0) this.open.set(org_id, count)
      else this.open.delete(org_id)
    }
  }
}
