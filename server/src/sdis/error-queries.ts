/** SQL of the errors of jobs: kept by chunk, listed in file order, moved by hand or by a job that replays their rows. */
import type { Row } from '../kit/resource.ts'
import type { OrgDb, OrgRows, Tx } from '../kit/types.ts'
import type { ErrorRow, Job } from './jobs.ts'

export const ERROR_STATES = ['open', 'fixed', 'ignored'] as const
export type ErrorState = (typeof ERROR_STATES)[number]

/** The number of the last error of the job that is kept; chunks that are not done will find theirs again. */
export async function forgetUnfinished(db: OrgDb, job: Job): Promise<number> {
  return await db.transaction(job.org_id, async (tx) => {
    const params = [job.org_id, job.id]
    await tx.query(
      `delete from job_error e where e.org_id = $1 and e.job_id = $2
         and not exists (select from job_chunk c where c.org_id = e.org_id and c.job_id = e.job_id and c.chunk_no = e.chunk_no)`,
      params,
    )
    const [row] = await tx.query<{ last: string }>(
      'select coalesce(max(n), 0) as last from job_error where org_id = $1 and job_id = $2',
      params,
    )
    return Number(row?.last)
  })
}

/** @param from how many errors the job has already. @param most of them that are kept. */
export async function saveErrors(
  tx: Tx,
  job: Job,
  place: { stream: string; chunk_no: number; from: number; most: number },
  errors: readonly ErrorRow[],
): Promise<void> {
  const { stream, chunk_no, from, most } = place
  // A chunk finds some of its errors by looking at its rows, others by loading them.
  const rows = [...errors]
    .sort((a, b) => a.row - b.row)
    .slice(0, Math.max(0, most - from))
    .map((error, i) => ({ ...error, n: from + i + 1 }))
  if (rows.length === 0) return
  await tx.query(
    `insert into job_error (org_id, job_id, n, stream, chunk_no, row_no, field, code, message, level, raw)
     select $1, $2, e.n, $3, $4, e.row, e.field, e.code, e.message, e.level, e.raw
     from json_to_recordset($5::json) as e(n bigint, row integer, field text, code text, message text, level text, raw jsonb)`,
    [job.org_id, job.id, stream, chunk_no, JSON.stringify(rows)],
  )
}

/** Which errors of a job: in one state, or any. */
export interface ErrorFilter {
  status: ErrorState | null
  /** Number of the one before the first. */
  after: number
  limit: number
}

const COLUMNS = `n, stream, row_no as row, field, code, message, level, status, child_id, raw`

type StoredError = Row & { n: string; child_id: string | null }

/** Errors of a job in file order. */
export async function listErrors(
  db: OrgRows,
  org_id: number,
  job_id: number,
  { status, after, limit }: ErrorFilter,
): Promise<Row[]> {
  const rows = await db.query<StoredError>(
    org_id,
    `select ${COLUMNS} from job_error
     where org_id = $1 and job_id = $2 and n > $3 and ($4::text is null or status = $4) order by n limit $5`,
    [org_id, job_id, after, status, limit],
  )
  return rows.map(errorView)
}

function errorView({ n, child_id, ...view }: StoredError): Row {
  return { n: Number(n), ...view, replayed_by: child_id === null ? null : `job_${child_id}` }
}

/** Sets the state of one error. @returns it, or null when the job has none with the number. */
export async function setErrorState(
  db: OrgRows,
  org_id: number,
  job_id: number,
  n: number,
  status: ErrorState,
): Promise<Row | null> {
  const [row] = await db.query<StoredError>(
    org_id,
    `update job_error set status = $4 where org_id = $1 and job_id = $2 and n = $3 returning ${COLUMNS}`,
    [org_id, job_id, n, status],
  )
  return row ? errorView(row) : null
}

/** Notes which row of the child's file each error row of the job became. */
export async function noteReplay(
  tx: Tx,
  parent: { org_id: number; id: number },
  child_id: number,
  places: readonly { row: number; child_row: number }[],
): Promise<void> {
  await tx.query(
    `update job_error e set child_id = $3, child_row = p.child_row
     from unnest($4::integer[], $5::integer[]) as p(row_no, child_row)
     where e.org_id = $1 and e.job_id = $2 and e.row_no = p.row_no and e.status = 'open'`,
    [
      parent.org_id,
      parent.id,
      child_id,
      places.map(({ row }) => row),
      places.map(({ child_row }) => child_row),
    ],
  )
}

/** What a replay loaded is no error of its parent any more. */
export async function fixReplayed(tx: Tx, { org_id, id, parent_id }: Job): Promise<void> {
  await tx.query(
    `update job_error e set status = 'fixed'
     where e.org_id = $1 and e.job_id = $2 and e.child_id = $3 and e.status = 'open'
       and not exists (select from job_error c where c.org_id = e.org_id and c.job_id = $3 and c.row_no = e.child_row and c.level = 'error')`,
    [org_id, parent_id, id],
  )
}
