/** Accepting, reading, approving and cancelling jobs. */
import { join } from 'node:path'
import { DatabaseError } from 'pg'
import { Spool } from '../documents/spool.ts'
import type { FileKey } from '../documents/files.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { isDate } from '../kit/dates.ts'
import { earlierAnswer } from '../kit/idempotency.ts'
import { publicId } from '../kit/ids.ts'
import { startOfDay } from '../kit/query.ts'
import type { Store } from '../kit/store.ts'
import type { Caller, OrgDb } from '../kit/types.ts'
import type { Outcome, WriteRequest } from '../kit/write.ts'
import type { Adapter } from './adapter.ts'
import { adapterHash } from './adapter.ts'
import { findJob, jobView } from './jobs.ts'
import type { Job } from './jobs.ts'

/** Where files of jobs wait and stay until a day after the job ended. */
export function importSpool(data_dir: string): Spool {
  return new Spool(join(data_dir, 'imports'))
}

/** The place of a job's file: the job stands where a document would. */
export function jobFileKey(org_id: number, job_id: number): FileKey {
  return { org_id, document_id: job_id, version_id: 0 }
}

/** Jobs an organization may have waiting. */
const QUEUED_MAX = 100

export interface JobRequest {
  id: number
  adapter: Adapter
  as_of: string
  file: { name: string; path: string; byte_size: number; sha256: string }
}

/** The day the file was true: as the job says, else the adapter, else today. @throws 422 for no date or a future one. */
export function effectiveDate(given: string | undefined, adapter: Adapter, caller: Caller): string {
  const zone = adapter.locale.timezone ?? caller.time_zone
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(new Date())
  const date = given ?? adapter.effective.date ?? today
  if (!isDate(date)) {
    throw invalid([
      {
        field: 'as_of',
        code: 'invalid_format',
        message: `must be a date such as 2025-05-23, got '${date}'`,
      },
    ])
  }
  if (date > today) {
    throw invalid([
      {
        field: 'as_of',
        code: 'in_the_future',
        message: `must not be after today (${today}), got ${date}`,
      },
    ])
  }
  return date
}

/** Queues a job; the row and the answer to a repeated request are written together. */
export async function enqueue(
  store: Store,
  request: WriteRequest,
  caller: Caller,
  wanted: JobRequest,
): Promise<Outcome> {
  const { org_id, actor } = request
  const { adapter, as_of, file } = wanted
  const zone = adapter.locale.timezone ?? caller.time_zone
  const valid_from = new Date(startOfDay(as_of, zone))
  const created_at = new Date()
  try {
    return await store.db.transaction(org_id, async (tx) => {
      const [queued] = await tx.query<{ count: string }>(
        `select count(*) from job where org_id = $1 and state = 'queued'`,
        [org_id],
      )
      if (Number(queued?.count) >= QUEUED_MAX) {
        throw new ApiError(
          'conflict',
          `${QUEUED_MAX} jobs are waiting already; try again when some have ended.`,
        )
      }
      await tx.query(
        `insert into job (id, org_id, state, adapter, adapter_hash, source_name, as_of, valid_from, file_name, file_key, file_bytes, file_sha256,
           actor_type, actor_id, actor_name, request_id, created_at)
         values ($1, $2, 'queued', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
        [
          wanted.id,
          org_id,
          JSON.stringify(adapter),
          adapterHash(adapter),
          adapter.source.name,
          as_of,
          valid_from,
          file.name,
          file.path.slice(file.path.lastIndexOf('/') + 1),
          file.byte_size,
          file.sha256,
          actor.type,
          actor.id,
          actor.name,
          actor.request_id,
          created_at,
        ],
      )
      const job = newJob(wanted, org_id, valid_from, created_at, actor.name)
      const body = JSON.stringify(jobView(job))
      const { idempotency } = request
      if (idempotency) {
        await tx.query(
          `insert into idempotency (org_id, key, route, fingerprint, status, headers, body, at) values ($1, $2, $3, $4, 202, $5, $6, $7)`,
          [
            org_id,
            idempotency.key,
            idempotency.route,
            idempotency.fingerprint,
            JSON.stringify({ location: jobPath(wanted.id) }),
            body,
            created_at,
          ],
        )
      }
      return { id: wanted.id, version: 1, body, replayed: null }
    })
  } catch (error) {
    const used = error instanceof DatabaseError && error.code === '23505' && request.idempotency
    const replayed = used ? await earlierAnswer(store, request) : null
    if (!replayed) throw error
    return { id: wanted.id, version: 1, body: replayed.body, replayed }
  }
}

export function jobPath(id: number): string {
  return `/api/v1/sdis/jobs/${publicId('job', id)}`
}

function newJob(
  wanted: JobRequest,
  org_id: number,
  valid_from: Date,
  created_at: Date,
  actor_name: string,
): Job {
  const { id, adapter, as_of, file } = wanted
  return {
    id,
    org_id,
    state: 'queued',
    phase: null,
    adapter,
    adapter_hash: adapterHash(adapter),
    source_name: adapter.source.name,
    as_of,
    valid_from,
    file_name: file.name,
    file_key: '',
    file_bytes: file.byte_size,
    file_sha256: file.sha256,
    approved: false,
    counts: {},
    error: null,
    attempts: 0,
    actor_name,
    created_at,
    started_at: null,
    finished_at: null,
  }
}

export async function getJob(db: OrgDb, org_id: number, id: number): Promise<Job> {
  const job = await findJob(db, org_id, id)
  if (!job) throw notFound(`Job job_${id}`)
  return job
}

/** A queued or waiting job is cancelled at once, a running one at its next chunk; what was written stays. */
export async function cancelJob(db: OrgDb, org_id: number, id: number): Promise<Job> {
  await move(
    db,
    org_id,
    id,
    'cancelled',
    `state = case when state in ('queued', 'awaiting_review') then 'cancelled' else 'cancelling' end,
    finished_at = case when state in ('queued', 'awaiting_review') then now() end`,
    ['queued', 'validating', 'running', 'awaiting_review', 'cancelling'],
  )
  return await getJob(db, org_id, id)
}

/** Lets a job go on that waits because too much would end. */
export async function approveJob(db: OrgDb, org_id: number, id: number): Promise<Job> {
  await move(db, org_id, id, 'queued', `state = 'queued', approved = true, error = null`, [
    'awaiting_review',
  ])
  return await getJob(db, org_id, id)
}

async function move(
  db: OrgDb,
  org_id: number,
  id: number,
  to: string,
  set: string,
  from: readonly string[],
): Promise<void> {
  const rows = await db.query(
    org_id,
    `update job set ${set} where org_id = $1 and id = $2 and state = any($3) returning id`,
    [org_id, id, from],
  )
  if (rows.length > 0) return
  const job = await getJob(db, org_id, id)
  throw invalid([
    {
      field: 'state',
      code: 'invalid_transition',
      message: `cannot change from ${job.state} to ${to}`,
      allowed: [],
    },
  ])
}
