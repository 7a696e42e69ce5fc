/** SQL of the rows of a diff. */
import type { Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { DiffRow } from './diff.ts'
import type { EffectAction } from './effects.ts'
import type { Job } from './jobs.ts'

export async function saveDiffRows(tx: Tx, job: Job, rows: readonly DiffRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(
    `insert into job_diff_row (org_id, job_id, n, action, body)
     select $1, $2, r.n, r.action, r.body from json_to_recordset($3::json) as r(n bigint, action text, body jsonb)`,
    [job.org_id, job.id, JSON.stringify(rows)],
  )
}

/** Forgets the rows of a check that did not come to its end. */
export async function dropDiffRows(db: OrgDb, job: Job): Promise<void> {
  await db.query(job.org_id, 'delete from job_diff_row where org_id = $1 and job_id = $2', [
    job.org_id,
    job.id,
  ])
}

/** Rows of a diff in file order, those that end last. */
export async function listDiffRows(
  db: OrgDb,
  org_id: number,
  job_id: number,
  filter: { action: EffectAction | null; after: number; limit: number },
): Promise<{ view: Row; position: string }[]> {
  const rows = await db.query<{ n: string; body: Row }>(
    org_id,
    `select n, body from job_diff_row
     where org_id = $1 and job_id = $2 and n > $3 and ($4::text is null or action = $4) order by n limit $5`,
    [org_id, job_id, filter.after, filter.action, filter.limit],
  )
  return rows.map(({ n, body }) => ({ view: body, position: n }))
}
