/** Jobs as rows: states and what may follow them, progress, errors, and the form clients see. */
import type { ApiError } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Adapter } from './adapter.ts'
import type { LoadCounts } from './load.ts'
import type { RowIssue } from './mapping.ts'

export const JOB_STATES = [
  'queued',
  'validating',
  'running',
  'awaiting_review',
  'completed',
  'completed_with_errors',
  'failed',
  'cancelling',
  'cancelled',
] as const
export type JobState = (typeof JOB_STATES)[number]

export type Phase = 'reading' | 'writing' | 'ending'

/** Everything a job counts; rows are of the file, the rest are objects. */
export interface JobCounts extends LoadCounts {
  rows_read: number
  rows_valid: number
  quarantined: number
  warnings: number
  /** Objects made in place of missing related ones. */
  stubs: number
  bytes_read: number
  bytes_total: number
}

export interface Job {
  id: number
  org_id: number
  state: JobState
  phase: Phase | null
  adapter: Adapter
  adapter_hash: string
  source_name: string
  as_of: string
  valid_from: Date
  file_name: string
  file_key: string
  file_bytes: number
  file_sha256: string
  approved: boolean
  counts: Partial<JobCounts>
  error: { code: string; message: string; details: Row } | null
  attempts: number
  actor_name: string
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
}

/** Error rows kept per job; more are counted only. */
export const ERRORS_KEPT = 10_000

const COLUMNS = `id, org_id, state, phase, adapter, adapter_hash, source_name, to_char(as_of, 'YYYY-MM-DD') as as_of, valid_from, file_name, file_key,
  file_bytes, file_sha256, approved, counts, error, attempts, actor_name, created_at, started_at, finished_at`

export async function findJob(db: OrgDb, org_id: number, id: number): Promise<Job | undefined> {
  const rows = await db.query<Job>(
    org_id,
    `select ${COLUMNS} from job where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(numeric)[0]
}

export async function listJobs(
  db: OrgDb,
  org_id: number,
  filter: { state: string | null; before: number | null; limit: number },
): Promise<Job[]> {
  const rows = await db.query<Job>(
    org_id,
    `select ${COLUMNS} from job where org_id = $1 and ($2::text is null or state = $2) and ($3::bigint is null or id < $3)
     order by id desc limit $4`,
    [org_id, filter.state, filter.before, filter.limit],
  )
  return rows.map(numeric)
}

/** bigint columns arrive as text. */
function numeric(row: Job): Job {
  return {
    ...row,
    id: Number(row.id),
    org_id: Number(row.org_id),
    file_bytes: Number(row.file_bytes),
  }
}

/** The job as clients see it. */
export function jobView(job: Job): Row {
  const { counts } = job
  const { changed_fields = {}, ...numbers } = { ...emptyCounts(), ...counts }
  return {
    id: publicId('job', job.id),
    object: 'job',
    organization_id: publicId('org', job.org_id),
    state: job.state,
    phase: job.phase,
    progress_pct: progress(job),
    adapter: job.adapter.adapter,
    adapter_version: job.adapter.version,
    mode: job.adapter.mode,
    type: job.adapter.streams[0]?.type ?? null,
    source: job.source_name,
    as_of: job.as_of,
    file: { name: job.file_name, byte_size: job.file_bytes, sha256: job.file_sha256 },
    counts: numbers,
    changed_fields,
    error: job.error,
    attempts: job.attempts,
    created_by: job.actor_name,
    created_at: job.created_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
  }
}

function progress(job: Job): number {
  if (['completed', 'completed_with_errors'].includes(job.state)) return 100
  const { bytes_read = 0, bytes_total = 0 } = job.counts
  return bytes_total > 0 ? Math.min(99, Math.floor((bytes_read / bytes_total) * 100)) : 0
}

export function emptyCounts(): JobCounts {
  return {
    rows_read: 0,
    rows_valid: 0,
    quarantined: 0,
    warnings: 0,
    created: 0,
    changed: 0,
    unchanged: 0,
    ended: 0,
    facts: 0,
    stubs: 0,
    bytes_read: 0,
    bytes_total: 0,
    changed_fields: {},
  }
}

/** Adds one chunk's counts to a sum. */
export function addCounts(sum: JobCounts, part: Partial<JobCounts>): void {
  for (const [name, value] of Object.entries(part)) {
    if (name === 'bytes_read' || name === 'bytes_total' || typeof value !== 'number') continue
    sum[name as 'created'] += value
  }
  for (const [field, count] of Object.entries(part.changed_fields ?? {})) {
    sum.changed_fields[field] = (sum.changed_fields[field] ?? 0) + count
  }
}

/** The worker no longer holds the job: another took it, or it was finished from outside. */
export class LeaseLost extends Error {}

/** Saves progress and renews the lease. @returns the state, which is `cancelling` once a client asked for it. */
export async function saveProgress(
  tx: Tx,
  job: Job,
  lease_id: number,
  phase: Phase,
  counts: JobCounts,
): Promise<JobState> {
  const [row] = await tx.query<{ state: JobState }>(
    `update job set state = case state when 'validating' then 'running' else state end, phase = $4, counts = $5,
       locked_until = now() + interval '60 seconds'
     where org_id = $1 and id = $2 and lease_id = $3 returning state`,
    [job.org_id, job.id, lease_id, phase, JSON.stringify(counts)],
  )
  if (!row) throw new LeaseLost('the job was taken by another worker')
  return row.state
}

export async function renewLease(tx: Tx, job: Job, lease_id: number): Promise<void> {
  await tx.query(
    `update job set locked_until = now() + interval '60 seconds' where org_id = $1 and id = $2 and lease_id = $3`,
    [job.org_id, job.id, lease_id],
  )
}

export async function finishJob(
  tx: Tx,
  job: Job,
  lease_id: number,
  state: JobState,
  counts: JobCounts,
  error: { code: string; message: string; details: Row } | null,
): Promise<void> {
  const rows = await tx.query(
    `update job set state = $4, phase = null, counts = $5, error = $6, lease_id = null, backend_pid = null, locked_until = null,
       finished_at = case when $4 = 'awaiting_review' then null else now() end
     where org_id = $1 and id = $2 and lease_id = $3 returning id`,
    [
      job.org_id,
      job.id,
      lease_id,
      state,
      JSON.stringify(counts),
      error ? JSON.stringify(error) : null,
    ],
  )
  if (rows.length === 0) throw new LeaseLost('the job was taken by another worker')
}

/** Chunks written so far, with what each counted. */
export async function chunksOf(db: OrgDb, job: Job): Promise<Map<number, Partial<JobCounts>>> {
  const rows = await db.query<{ chunk_no: number; counts: Partial<JobCounts> }>(
    job.org_id,
    'select chunk_no, counts from job_chunk where org_id = $1 and job_id = $2',
    [job.org_id, job.id],
  )
  return new Map(rows.map((row) => [row.chunk_no, row.counts]))
}

export async function saveChunk(
  tx: Tx,
  job: Job,
  chunk_no: number,
  counts: Partial<JobCounts>,
): Promise<void> {
  await tx.query(
    'insert into job_chunk (org_id, job_id, chunk_no, counts, at) values ($1, $2, $3, $4, $5)',
    [job.org_id, job.id, chunk_no, JSON.stringify(counts), new Date()],
  )
}

/** An issue with the row it came from. */
export interface ErrorRow extends RowIssue {
  raw: Row
}

export async function saveErrors(
  tx: Tx,
  job: Job,
  stream: string,
  from: number,
  errors: readonly ErrorRow[],
): Promise<void> {
  const rows = errors
    .slice(0, Math.max(0, ERRORS_KEPT - from))
    .map((error, i) => ({ ...error, n: from + i + 1 }))
  if (rows.length === 0) return
  await tx.query(
    `insert into job_error (org_id, job_id, n, stream, row_no, field, code, message, level, raw)
     select $1, $2, e.n, $3, e.row, e.field, e.code, e.message, e.level, e.raw
     from json_to_recordset($4::json) as e(n bigint, row integer, field text, code text, message text, level text, raw jsonb)`,
    [job.org_id, job.id, stream, JSON.stringify(rows)],
  )
}

export async function listErrors(
  db: OrgDb,
  org_id: number,
  job_id: number,
  after: number,
  limit: number,
): Promise<(Row & { n: string })[]> {
  return await db.query(
    org_id,
    `select n, stream, row_no as row, field, code, message, level, raw from job_error
     where org_id = $1 and job_id = $2 and n > $3 order by n limit $4`,
    [org_id, job_id, after, limit],
  )
}

export interface NewJob {
  adapter: Adapter
  adapter_hash: string
  as_of: string
  valid_from: Date
  file: { name: string; key: string; bytes: number; sha256: string }
}

/** Details of a refused file as a job keeps them. */
export function jobError(error: ApiError | Error): { code: string; message: string; details: Row } {
  const { code, details } = error as { code?: unknown; details?: Row }
  return {
    code: typeof code === 'string' ? code : 'internal',
    message: error.message,
    details: details ?? {},
  }
}
