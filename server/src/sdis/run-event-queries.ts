/** SQL of the run events of jobs: written in the transaction of what they tell, listed, handed out to be sent. */
import type { Db } from '../db/db.ts'
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

/** A run event that is to be sent now. */
export interface DueEvent {
  org_id: number
  job_id: number
  n: number
  /** This one included. */
  attempts: number
  body: string
}

/** Takes run events that are due, of any organization. @param retry_at when they are due again if nothing is said. */
export async function claimRunEvents(db: Db, retry_at: Date, most: number): Promise<DueEvent[]> {
  const rows = await db.flyControl(
    'select org_id, job_id, n, attempts, body from app.claim_run_events($1::timestamptz, $2::integer)',
    [retry_at.toISOString(), most],
  )
  return rows.map((row) => {
    const [org_id, job_id, n, attempts] = row.map((cell) => Number(String(cell)))
    return { org_id, job_id, n, attempts, body: String(row[4]) } as DueEvent
  })
}

/** Says when an event is sent again; null when it is not. */
export async function settleRunEvent(
  db: OrgDb,
  { org_id, job_id, n }: DueEvent,
  next_at: Date | null,
): Promise<void> {
  await db.query(
    org_id,
    'update job_run_event set next_at = $4 where org_id = $1 and job_id = $2 and n = $3',
    [org_id, job_id, n, next_at],
  )
}
