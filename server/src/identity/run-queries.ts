/** SQL of match runs. */
import type { Db } from '../db/db.ts'
import type { Actor, OrgDb, Tx } from '../kit/types.ts'

export interface Run {
  id: number
  object_type: string
  job_id: number | null
  /** Of a run after a load: which objects are looked at; null before that is known. */
  side: 'created' | 'others' | null
  state: string
  after_id: number
  counts: { compared?: number; merged?: number; review?: number }
  actor_name: string
  created_at: Date
  finished_at: Date | null
}

const COLUMNS =
  'id, object_type, job_id, side, state, after_id, counts, actor_name, created_at, finished_at'

type RunRow = Omit<Run, 'id' | 'job_id' | 'after_id'> & {
  id: string
  job_id: string | null
  after_id: string
}

function runOf(row: RunRow): Run {
  return {
    ...row,
    id: Number(row.id),
    job_id: row.job_id === null ? null : Number(row.job_id),
    after_id: Number(row.after_id),
  }
}

export async function insertRun(
  tx: Tx,
  org_id: number,
  id: number,
  object_type: string,
  actor: Actor,
): Promise<Run> {
  const [row] = await tx.query<RunRow>(
    `insert into match_run (org_id, id, object_type, state, actor_type, actor_id, actor_name, created_at)
     values ($1, $2, $3, 'queued', $4, $5, $6, $7) returning ${COLUMNS}`,
    [org_id, id, object_type, actor.type, actor.id, actor.name, new Date()],
  )
  return runOf(row as RunRow)
}

export async function findRun(db: OrgDb, org_id: number, id: number): Promise<Run | undefined> {
  const rows = await db.query<RunRow>(
    org_id,
    `select ${COLUMNS} from match_run where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(runOf)[0]
}

/** Runs below an id, latest first. */
export async function listRuns(
  db: OrgDb,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<Run[]> {
  const rows = await db.query<RunRow>(
    org_id,
    `select ${COLUMNS} from match_run where org_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [org_id, before, limit],
  )
  return rows.map(runOf)
}

/** The oldest run that is not finished, kept from other workers until the transaction ends. */
export async function takeRun(tx: Tx, org_id: number): Promise<Run | undefined> {
  const rows = await tx.query<RunRow>(
    `select ${COLUMNS} from match_run where org_id = $1 and finished_at is null order by id limit 1 for update skip locked`,
    [org_id],
  )
  return rows.map(runOf)[0]
}

export async function saveRun(tx: Tx, org_id: number, run: Run): Promise<void> {
  await tx.query(
    'update match_run set state = $3, after_id = $4, counts = $5, finished_at = $6, side = $7 where org_id = $1 and id = $2',
    [
      org_id,
      run.id,
      run.state,
      run.after_id,
      JSON.stringify(run.counts),
      run.finished_at,
      run.side,
    ],
  )
}

/** Asks for a run after every load that ended since the last call. */
export async function queueMatching(db: Db, types: readonly string[]): Promise<void> {
  await db.flyControl('select app.queue_matching($1::text[])', [`{${types.join(',')}}`])
}

/** Organizations with something to match or to follow. */
export async function organizationsToTend(db: Db, most: number): Promise<number[]> {
  const rows = await db.flyControl('select org_id from app.identity_due($1::integer)', [most])
  return rows.map(([id]) => Number(String(id)))
}
