/** SQL of jobs: the queue, progress under a lease, chunks, errors. */
import type { Db } from '../db/db.ts'
import type { Actor, OrgDb, OrgRows, Tx } from '../kit/types.ts'
import type { DiffSummary } from './diff.ts'
import { tellEnding, tellMove } from './events.ts'
import { startRun, tellRun } from './run-event-queries.ts'
import type { Job, JobCounts, JobError, JobState, Phase } from './jobs.ts'

/** How long a worker may be silent before its job is given to another. Also in app.claim_job. */
const LEASE = `interval '60 seconds'`

const COLUMNS = `id, org_id, state, phase, kind, dry_run, options, parent_id, undone_by, diff, diff_hash, taken_at, progress_at, waiting_since, dropped_at, adapter, adapter_hash, source_name, to_char(as_of, 'YYYY-MM-DD') as as_of, valid_from, file_name, file_key,
  file_bytes, file_sha256, approved, counts, error, attempts, actor_name, created_at, started_at, finished_at, pulled`

export async function findJob(db: OrgRows, org_id: number, id: number): Promise<Job | undefined> {
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
  const [id, org_id, file_bytes] = [row.id, row.org_id, row.file_bytes].map(Number)
  const ids = [row.parent_id, row.undone_by] as (string | number | null)[]
  const [parent_id, undone_by] = ids.map((at) => (at === null ? null : Number(at)))
  return { ...row, id, org_id, file_bytes, parent_id, undone_by } as Job
}

/** How many jobs of the organization wait for a worker. */
export async function countQueued(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    `select count(*) from job where org_id = $1 and state = 'queued'`,
    [org_id],
  )
  return Number(row?.count)
}

/** How many jobs of the organization wait for a worker, for a person, or run. */
export async function countOpen(db: OrgDb, org_id: number): Promise<Map<string, number>> {
  const rows = await db.query<{ state: string; count: string }>(
    org_id,
    `select case when state in ('queued', 'awaiting_review') then state else 'running' end as state, count(*)
     from job where org_id = $1 and state in ('queued', 'validating', 'running', 'cancelling', 'awaiting_review') group by 1`,
    [org_id],
  )
  return new Map(rows.map(({ state, count }) => [state, Number(count)]))
}

/** Writes a new job; who asked for it stands beside it. */
export async function insertJob(tx: Tx, job: Job, actor: Actor): Promise<void> {
  await tx.query(
    `insert into job (id, org_id, state, adapter, adapter_hash, source_name, as_of, valid_from, file_name, file_key, file_bytes, file_sha256,
       actor_type, actor_id, actor_name, request_id, created_at, kind, dry_run, options, parent_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
    [
      job.id,
      job.org_id,
      job.state,
      JSON.stringify(job.adapter),
      job.adapter_hash,
      job.source_name,
      job.as_of,
      job.valid_from,
      job.file_name,
      job.file_key,
      job.file_bytes,
      job.file_sha256,
      actor.type,
      actor.id,
      job.actor_name,
      actor.request_id,
      job.created_at,
      job.kind,
      job.dry_run,
      JSON.stringify(job.options),
      job.parent_id,
    ],
  )
  await tellMove(tx, job, 'created', actor)
}

/** A waiting job is cancelled at once, a running one is asked to stop. @returns false when it may not be cancelled. */
export async function requestCancel(
  db: OrgRows,
  org_id: number,
  id: number,
  actor: Actor,
): Promise<boolean> {
  return await db.transaction(org_id, async (tx) => {
    const rows = await tx.query<Job>(
      `update job set
       state = case when state in ('queued', 'awaiting_review') then 'cancelled' else 'cancelling' end,
       finished_at = case when state in ('queued', 'awaiting_review') then now() end
     where org_id = $1 and id = $2 and state in ('queued', 'validating', 'running', 'awaiting_review', 'cancelling')
     returning ${COLUMNS}`,
      [org_id, id],
    )
    for (const job of rows.map(numeric)) {
      await tellEnding(tx, job, actor)
      await tellRun(tx, job)
    }
    return rows.length > 0
  })
}

/** Queues a job that waits for review again. @returns false when it does not wait. */
export async function requestApproval(
  db: OrgRows,
  org_id: number,
  id: number,
  actor: Actor,
): Promise<boolean> {
  return await db.transaction(org_id, async (tx) => {
    const rows = await tx.query<Job>(
      `update job set state = 'queued', approved = true, error = null, waiting_since = null
       where org_id = $1 and id = $2 and state = 'awaiting_review' returning ${COLUMNS}`,
      [org_id, id],
    )
    for (const job of rows.map(numeric)) await tellMove(tx, job, 'approved', actor)
    return rows.length > 0
  })
}

/** Ends a job that waited too long for approval. */
export async function expireJob(
  db: OrgRows,
  org_id: number,
  id: number,
  error: JobError,
): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const rows = await tx.query<Job>(
      `update job set state = 'cancelled', error = $3, finished_at = now(), waiting_since = null
       where org_id = $1 and id = $2 and state = 'awaiting_review' returning ${COLUMNS}`,
      [org_id, id, JSON.stringify(error)],
    )
    for (const job of rows.map(numeric)) {
      await tellEnding(tx, job)
      await tellRun(tx, job)
    }
  })
}

/** Drops the rows that a job kept of its errors, its diff and for its undo; the job itself and its counts stay. */
export async function dropResults(db: OrgRows, org_id: number, id: number): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    for (const table of ['job_chunk', 'job_error', 'job_diff_row', 'job_run_event', 'job_blank'])
      await tx.query(`delete from ${table} where org_id = $1 and job_id = $2`, [org_id, id])
    await tx.query('delete from pending_reference where org_id = $1 and filled_by = $2', [
      org_id,
      id,
    ])
    await tx.query('update job set dropped_at = now() where org_id = $1 and id = $2', [org_id, id])
  })
}

/** Jobs that waited for a person since before a time, and those with results that ended before another. */
export async function jobsDue(
  db: Db,
  waiting_before: Date,
  ended_before: Date,
): Promise<{ org_id: number; id: number; expired: boolean }[]> {
  const rows = await db.flyControl(
    'select id, org_id, expired from app.jobs_due($1::timestamptz, $2::timestamptz, 100)',
    [waiting_before.toISOString(), ended_before.toISOString()],
  )
  return rows.map(([id, org_id, expired]) => ({
    id: Number(String(id)),
    org_id: Number(String(org_id)),
    expired: expired?.[0] === 0x74,
  }))
}

/** Notes that a load was taken back. */
export async function saveUndone(tx: Tx, { org_id, id, parent_id }: Job): Promise<void> {
  const rows = await tx.query<Job>(
    `update job set undone_by = $3 where org_id = $1 and id = $2 returning ${COLUMNS}`,
    [org_id, parent_id, id],
  )
  for (const job of rows.map(numeric)) await tellMove(tx, job, 'undone')
}

/** Notes that a worker took the job for the first time. */
export async function tellStarted(tx: Tx, job: Job): Promise<void> {
  if (await startRun(tx, job)) await tellMove(tx, job, 'started')
}

/**
 * Takes the oldest job that nobody works on, of any organization.
 * @param most jobs of one organization that may be at work at once.
 */
export async function claimJob(
  db: Db,
  lease_id: number,
  pid: number,
  most: number,
): Promise<{ id: number; org_id: number; attempts: number } | null> {
  const [row] = await db.flyControl(
    'select id, org_id, attempts from app.claim_job($1::bigint, $2::integer, $3::integer)',
    [lease_id, pid, most],
  )
  if (!row) return null
  const [id, org_id, attempts] = row.map((cell) => Number(String(cell))) as [number, number, number]
  return { id, org_id, attempts }
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
    `update job set state = case when state = 'validating' and $4 <> 'reading' then 'running' else state end, phase = $4, counts = $5,
       progress_at = now(), locked_until = now() + ${LEASE}
     where org_id = $1 and id = $2 and lease_id = $3 returning state`,
    [job.org_id, job.id, lease_id, phase, JSON.stringify(counts)],
  )
  if (!row) throw new LeaseLost('the job was taken by another worker')
  return row.state
}

export async function renewLease(tx: Tx, job: Job, lease_id: number): Promise<void> {
  await tx.query(
    `update job set locked_until = now() + ${LEASE} where org_id = $1 and id = $2 and lease_id = $3`,
    [job.org_id, job.id, lease_id],
  )
}

/** Gives the job back; it is taken up again after the pause, and others before it. */
export async function letGo(
  db: OrgDb,
  job: { org_id: number; id: number },
  lease_id: number,
  pause_s: number,
): Promise<void> {
  await db.query(
    job.org_id,
    `update job set locked_until = now() + make_interval(secs => $4), backend_pid = null
     where org_id = $1 and id = $2 and lease_id = $3`,
    [job.org_id, job.id, lease_id, pause_s],
  )
}

/** Ends the job, and tells so. */
export async function finishJob(
  tx: Tx,
  job: Job,
  lease_id: number,
  state: JobState,
  counts: JobCounts,
  error: JobError | null,
): Promise<void> {
  const rows = await tx.query<Job>(
    `update job set state = $4, phase = null, counts = $5, error = $6, lease_id = null, backend_pid = null, locked_until = null,
       finished_at = case when $4 = 'awaiting_review' then null else now() end,
       waiting_since = case when $4 = 'awaiting_review' then now() end
     where org_id = $1 and id = $2 and lease_id = $3 returning ${COLUMNS}`,
    [
      job.org_id,
      job.id,
      lease_id,
      state,
      JSON.stringify(counts),
      error ? JSON.stringify(error) : null,
    ],
  )
  const [ended] = rows.map(numeric)
  if (!ended) throw new LeaseLost('the job was taken by another worker')
  await tellEnding(tx, ended)
  await tellRun(tx, ended)
}

/** Keeps what a check found. */
export async function saveDiff(
  tx: Tx,
  job: Job,
  lease_id: number,
  diff: DiffSummary,
  hash: string,
): Promise<void> {
  const rows = await tx.query(
    `update job set diff = $4, diff_hash = $5 where org_id = $1 and id = $2 and lease_id = $3 returning id`,
    [job.org_id, job.id, lease_id, JSON.stringify(diff), hash],
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

/** Is an undo of the job under way? */
export async function openUndo(tx: Tx, org_id: number, id: number): Promise<boolean> {
  const rows = await tx.query(
    `select from job where org_id = $1 and parent_id = $2 and kind = 'undo'
       and state in ('queued', 'validating', 'running', 'awaiting_review', 'cancelling') limit 1`,
    [org_id, id],
  )
  return rows.length > 0
}

/** The file names of jobs that may still be worked on, or ended less than a day ago. */
export async function filesInUse(
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
): Promise<Set<number>> {
  const rows = await db.query<{ id: string }>(
    org_id,
    `select id from job where org_id = $1 and id = any($2)
       and (finished_at is null or finished_at > now() - interval '24 hours')`,
    [org_id, ids],
  )
  return new Set(rows.map(({ id }) => Number(id)))
}
