/** SQL of undo: what a job wrote, what stands in the way, and what lies beside the facts. */
import type { Use } from '../kit/door.ts'
import { bigintArray, booleanArray } from '../kit/arrays.ts'
import type { OrgDb, OrgRows, Tx } from '../kit/types.ts'
import type { Job } from './jobs.ts'

/** The latest job after this one that loaded the same stream and still stands, if any. */
export async function laterJob(db: OrgRows, job: Job): Promise<number | null> {
  const [row] = await db.query<{ id: string }>(
    job.org_id,
    `select j.id from job j
     where j.org_id = $1 and j.source_name = $2 and j.id <> $3 and j.started_at > $4 and j.kind <> 'undo' and not j.dry_run
       and j.undone_by is null and j.adapter -> 'streams' -> 0 ->> 'name' = $5
       and (j.state in ('completed', 'completed_with_errors')
         or exists (select from tx t where t.org_id = j.org_id and t.job_id = j.id
           and exists (select from assertion a where a.org_id = t.org_id and a.tx_id = t.tx_id)))
     order by j.started_at desc limit 1`,
    [job.org_id, job.source_name, job.id, job.started_at, job.adapter.streams[0]?.name],
  )
  return row ? Number(row.id) : null
}

/** A merge that an undo would break: of something that the job made. */
export interface Merged {
  merge_id: number
  /** Public id of what was merged. */
  public_id: string
}

/** Merges that hold of objects that the job made, into or from whatever, by the ids of what was merged; at most `limit`. */
export async function mergesOfMade(db: OrgRows, job: Job, limit: number): Promise<Merged[]> {
  const made = (id: string): string =>
    `exists (select from assertion a join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
       where a.org_id = $1 and a.object_id = ${id} and t.job_id = $2
         and not exists (select from assertion b where b.org_id = $1 and b.object_id = ${id} and b.tx_id < a.tx_id))`
  const rows = await db.query<{ merge_id: string; public_id: string }>(
    job.org_id,
    `select g.id as merge_id, m.public_id from cluster_member m
     join object_merge g on g.org_id = m.org_id and g.loser_id = m.object_id and g.unmerged_at is null
     where m.org_id = $1 and (${made('m.object_id')} or ${made('m.head_id')}) order by m.object_id limit $3`,
    [job.org_id, job.id, limit],
  )
  return rows.map(({ merge_id, public_id }) => ({ merge_id: Number(merge_id), public_id }))
}

/** A transaction of a job: facts of one source on objects of one type, which need not be those of its stream. */
export interface Transaction {
  tx_id: number
  source_id: number
  object_type: string
}

/** Transactions in which the job wrote facts, the last first: what was made later may need what was made before. */
export async function transactionsOf(db: OrgDb, job: Job): Promise<Transaction[]> {
  const rows = await db.query<{ tx_id: string; source_id: string; object_type: string }>(
    job.org_id,
    `select t.tx_id, t.source_id, a.object_type from tx t
     cross join lateral (select e.object_type from audit_entry e where e.org_id = t.org_id and e.tx_id = t.tx_id and e.at = t.at limit 1) a
     where t.org_id = $1 and t.job_id = $2
       and exists (select from assertion a where a.org_id = t.org_id and a.tx_id = t.tx_id)
     order by t.tx_id desc`,
    [job.org_id, job.id],
  )
  return rows.map(({ tx_id, source_id, object_type }) => ({
    tx_id: Number(tx_id),
    source_id: Number(source_id),
    object_type,
  }))
}

export async function objectsIn(db: OrgDb, org_id: number, tx_id: number): Promise<number[]> {
  const rows = await db.query<{ object_id: string }>(
    org_id,
    'select distinct object_id from assertion where org_id = $1 and tx_id = $2 order by object_id',
    [org_id, tx_id],
  )
  return rows.map(({ object_id }) => Number(object_id))
}

/** Of objects that the job made: those about which others have said something since. */
export async function editedSince(
  db: OrgDb,
  job: Job,
  first_tx: number,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await db.query<{ id: string }>(
    job.org_id,
    `select u.id from unnest($4::bigint[]) as u(id)
     where not exists (select from assertion a where a.org_id = $1 and a.object_id = u.id and a.tx_id < $3)
       and exists (select from assertion a join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
         where a.org_id = $1 and a.object_id = u.id and t.job_id is distinct from $2 and t.actor_type <> 'system'
           and not exists (select from job j where j.org_id = $1 and j.id = t.job_id and (j.kind = 'undo' or j.undone_by is not null)))`,
    [job.org_id, job.id, first_tx, ids],
  )
  return rows.map(({ id }) => Number(id))
}

/** Of objects that the job made: those that an object needs of which it said nothing. */
export async function neededByOthers(
  db: OrgDb,
  job: Job,
  first_tx: number,
  ids: readonly number[],
  uses: readonly Use[],
): Promise<number[]> {
  if (uses.length === 0) return []
  const used = uses.map(
    ({ table, column }) =>
      `exists (select from ${table} t where t.org_id = $1 and t.${column} = u.id and t.deleted_at is null
         and not exists (select from assertion b join tx on tx.org_id = b.org_id and tx.tx_id = b.tx_id
           where b.org_id = $1 and b.object_id = t.id and tx.job_id = $2))`,
  )
  const rows = await db.query<{ id: string }>(
    job.org_id,
    `select u.id from unnest($4::bigint[]) as u(id)
     where not exists (select from assertion a where a.org_id = $1 and a.object_id = u.id and a.tx_id < $3)
       and (${used.join(' or ')})`,
    [job.org_id, job.id, first_tx, ids],
  )
  return rows.map(({ id }) => Number(id))
}

/** Whether an object among these is needed now; they must be locked, so that none begins to be. */
export async function someNeeded(
  tx: Tx,
  org_id: number,
  ids: readonly number[],
  uses: readonly Use[],
): Promise<boolean> {
  if (uses.length === 0 || ids.length === 0) return false
  const used = uses.map(
    ({ table, column }) =>
      `exists (select from ${table} t where t.org_id = $1 and t.${column} = u.id and t.deleted_at is null)`,
  )
  const rows = await tx.query(
    `select from unnest($2::bigint[]) as u(id) where ${used.join(' or ')} limit 1`,
    [org_id, bigintArray(ids)],
  )
  return rows.length > 0
}

/** Records of objects that are no more are forgotten: the same file makes new ones. */
export async function forgetRecords(
  tx: Tx,
  org_id: number,
  source_id: number,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  await tx.query(
    'delete from source_record where org_id = $1 and source_id = $2 and object_id = any($3::bigint[])',
    [org_id, source_id, bigintArray(ids)],
  )
}

/** The rows of these objects are looked at by the next load, whatever it says. */
export async function resetRecords(
  tx: Tx,
  org_id: number,
  source_id: number,
  records: readonly { id: number; gone: boolean }[],
): Promise<void> {
  if (records.length === 0) return
  await tx.query(
    `update source_record s set row_hash = 0, last_tx = currval('app.tx_seq'), gone_tx = case when u.gone then currval('app.tx_seq') end
     from unnest($3::bigint[], $4::boolean[]) as u(id, gone)
     where s.org_id = $1 and s.source_id = $2 and s.object_id = u.id`,
    [
      org_id,
      source_id,
      bigintArray(records.map(({ id }) => id)),
      booleanArray(records.map(({ gone }) => gone)),
    ],
  )
}

/** Blanks as they were before the job. */
export async function restoreBlanks(tx: Tx, job: Job, ids: readonly number[]): Promise<void> {
  await tx.query(
    `with before as (
       select * from job_blank where org_id = $1 and job_id = $2 and object_id = any($3::bigint[])
     ), dropped as (
       delete from source_blank s using before b
       where b.fields is null and s.org_id = $1 and s.object_id = b.object_id and s.source_id = b.source_id and s.valid_from = b.valid_from
     )
     update source_blank s set fields = b.fields from before b
     where b.fields is not null and s.org_id = $1 and s.object_id = b.object_id and s.source_id = b.source_id and s.valid_from = b.valid_from`,
    [job.org_id, job.id, bigintArray(ids)],
  )
}

/** The stream was not loaded by this job after all. */
export async function dropRun(tx: Tx, job: Job): Promise<void> {
  await tx.query('delete from stream_run where org_id = $1 and job_id = $2', [job.org_id, job.id])
}
