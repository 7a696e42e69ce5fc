/** SQL of what jobs pulled. */
import type { OrgDb, OrgRows, Tx } from '../../kit/types.ts'
import { publicId } from '../../kit/ids.ts'
import type { Job } from '../jobs.ts'
import { LeaseLost } from '../job-queries.ts'

/** The file of a job is whole. @throws LeaseLost when another worker has the job by now. */
export async function savePulled(tx: Tx, job: Job, lease_id: number): Promise<void> {
  const rows = await tx.query(
    `update job set file_bytes = $4, file_sha256 = $5, pulled = $6 where org_id = $1 and id = $2 and lease_id = $3 returning id`,
    [job.org_id, job.id, lease_id, job.file_bytes, job.file_sha256, JSON.stringify(job.pulled)],
  )
  if (rows.length === 0) throw new LeaseLost()
}

/**
 * How far the last load of this connection through this adapter came: only jobs that ended well and still stand count, so
 * what one that failed, wrote nothing or was undone had pulled is pulled again.
 */
export async function lastCursor(
  db: OrgDb,
  org_id: number,
  connection_id: number,
  adapter: string,
): Promise<string | null> {
  const [row] = await db.query<{ cursor_to: string | null }>(
    org_id,
    `select pulled ->> 'cursor_to' as cursor_to from job
     where org_id = $1 and pulled ->> 'connection_id' = $2 and adapter ->> 'adapter' = $3
       and state in ('completed', 'completed_with_errors') and not dry_run and undone_by is null
     order by id desc limit 1`,
    [org_id, publicId('cnx', connection_id), adapter],
  )
  return row?.cursor_to ?? null
}

/** What a job that nobody asked for takes from its organization; null when there is none. */
export async function settingOf(
  db: OrgRows,
  org_id: number,
): Promise<{ environment: 'production' | 'sandbox'; time_zone: string } | null> {
  const [row] = await db.query<{ environment: 'production' | 'sandbox'; time_zone: string }>(
    org_id,
    'select environment, time_zone from organization where org_id = $1 and id = $1',
    [org_id],
  )
  return row ?? null
}
