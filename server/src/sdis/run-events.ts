/** Run events of jobs: written in the transaction of what they tell, listed, and sent where the operator wants them. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import type { Egress } from '../egress.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Job } from './jobs.ts'
import { runEvent } from './lineage.ts'
import type { RunType } from './lineage.ts'

/** Each type of event has its place, so that a job that starts over tells nothing twice. */
const PLACES: Readonly<Record<RunType, number>> = {
  START: 1,
  RUNNING: 2,
  COMPLETE: 3,
  FAIL: 3,
  ABORT: 3,
}

/** The event that an end state comes to. */
const ENDS: Readonly<Record<string, RunType>> = {
  completed: 'COMPLETE',
  completed_with_errors: 'COMPLETE',
  failed: 'FAIL',
  cancelled: 'ABORT',
}

/** Times an event is sent before it is only kept. */
const ATTEMPTS_MAX = 5

const BATCH = 50
const IDLE_MS = 5_000

/** The pause after the first failure, in seconds; each further one is four times as long. */
const RETRY_S = 10

/** A collector that is silent for longer has not answered, in milliseconds. */
const TIMEOUT_MS = 10_000

async function insert(tx: Tx, job: Job, type: RunType): Promise<boolean> {
  const at = new Date()
  const rows = await tx.query(
    `insert into job_run_event (org_id, job_id, n, type, at, body, next_at) values ($1, $2, $3, $4, $5, $6, $5)
     on conflict do nothing returning n`,
    [job.org_id, job.id, PLACES[type], type, at, JSON.stringify(runEvent(job, type, at))],
  )
  return rows.length > 0
}

/** @returns false when the start of the job was told before. */
export async function startRun(tx: Tx, job: Job): Promise<boolean> {
  return await insert(tx, job, 'START')
}

/** Tells that the job has read its file and goes on to write. */
export async function noteWriting(tx: Tx, job: Job): Promise<void> {
  await insert(tx, job, 'RUNNING')
}

/** Tells how the job ended, if it did. */
export async function tellRun(tx: Tx, job: Job): Promise<void> {
  const type = ENDS[job.state]
  if (type) await insert(tx, job, type)
}

/** The run events of a job, in order. */
export async function runEventsOf(db: OrgDb, org_id: number, job_id: number): Promise<Row[]> {
  const rows = await db.query<{ body: Row }>(
    org_id,
    'select body from job_run_event where org_id = $1 and job_id = $2 order by n',
    [org_id, job_id],
  )
  return rows.map(({ body }) => body)
}

/**
 * Sends run events that are due to the operator's collector. A collector that does not answer costs the event a bounded
 * number of tries and the jobs nothing.
 * @returns how long to wait before the next step, in milliseconds.
 */
export async function sendRunEvents(
  config: Pick<Config, 'GRID_OPENLINEAGE_URL'>,
  db: Db,
  egress: Egress,
): Promise<number> {
  const url = config.GRID_OPENLINEAGE_URL
  if (url === null) return 60_000
  const retry_at = new Date(Date.now() + 60_000).toISOString()
  const rows = await db.flyControl(
    'select org_id, job_id, n, attempts, body from app.claim_run_events($1::timestamptz, $2::integer)',
    [retry_at, BATCH],
  )
  for (const [org_id, job_id, n, attempts, body] of rows.map((row) => row.map(String))) {
    const sent = await send(egress, url, body as string)
    const tried = Number(attempts)
    const next =
      sent || tried >= ATTEMPTS_MAX
        ? null
        : new Date(Date.now() + RETRY_S * 4 ** (tried - 1) * 1_000)
    await db.query(
      Number(org_id),
      'update job_run_event set next_at = $4 where org_id = $1 and job_id = $2 and n = $3',
      [org_id, job_id, n, next],
    )
  }
  return rows.length === BATCH ? 0 : IDLE_MS
}

async function send(egress: Egress, url: string, body: string): Promise<boolean> {
  try {
    const answer = await egress.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      allow_private: true,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await answer.body.dump()
    return answer.status < 300
  } catch {
    return false
  }
}
