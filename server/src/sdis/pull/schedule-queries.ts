/** SQL of schedules. */
import type { Db } from '../../db/db.ts'
import type { OrgDb, OrgRows, Tx } from '../../kit/types.ts'
import type { Schedule } from './schedules.ts'

const COLUMNS = `org_id, id, adapter, cron, time_zone, state, next_run_at, last_run_at, last_job_id, last_error, actor_name, version,
  created_at, updated_at`

/** bigint columns arrive as text. */
function scheduleOf(row: Schedule): Schedule {
  const [org_id, id] = [row.org_id, row.id].map(Number)
  const last_job_id = row.last_job_id === null ? null : [row.last_job_id].map(Number)[0]
  return { ...row, org_id, id, last_job_id } as Schedule
}

export async function findSchedule(
  db: OrgRows,
  org_id: number,
  id: number,
): Promise<Schedule | undefined> {
  const rows = await db.query<Schedule>(
    org_id,
    `select ${COLUMNS} from schedule where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(scheduleOf)[0]
}

/** The schedule, which nobody else may change or run before the transaction ends. */
export async function lockSchedule(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<Schedule | undefined> {
  const rows = await tx.query<Schedule>(
    `select ${COLUMNS} from schedule where org_id = $1 and id = $2 for update`,
    [org_id, id],
  )
  return rows.map(scheduleOf)[0]
}

/** The schedule if it is due still: of several workers one gets it, the others nothing. */
export async function lockDue(tx: Tx, org_id: number, id: number): Promise<Schedule | undefined> {
  const rows = await tx.query<Schedule>(
    `select ${COLUMNS} from schedule where org_id = $1 and id = $2 and next_run_at <= now() for update skip locked`,
    [org_id, id],
  )
  return rows.map(scheduleOf)[0]
}

export async function listSchedules(
  db: OrgDb,
  org_id: number,
  filter: { before: number | null; limit: number },
): Promise<Schedule[]> {
  const rows = await db.query<Schedule>(
    org_id,
    `select ${COLUMNS} from schedule where org_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [org_id, filter.before, filter.limit],
  )
  return rows.map(scheduleOf)
}

export async function countSchedules(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    'select count(*) from schedule where org_id = $1',
    [org_id],
  )
  return Number(row?.count)
}

export async function saveSchedule(tx: Tx, schedule: Schedule): Promise<void> {
  await tx.query(
    `insert into schedule (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     on conflict on constraint schedule_pkey do update set adapter = excluded.adapter, cron = excluded.cron,
       time_zone = excluded.time_zone, state = excluded.state, next_run_at = excluded.next_run_at,
       last_run_at = excluded.last_run_at, last_job_id = excluded.last_job_id, last_error = excluded.last_error,
       version = excluded.version, updated_at = excluded.updated_at`,
    [
      schedule.org_id,
      schedule.id,
      JSON.stringify(schedule.adapter),
      schedule.cron,
      schedule.time_zone,
      schedule.state,
      schedule.next_run_at,
      schedule.last_run_at,
      schedule.last_job_id,
      schedule.last_error,
      schedule.actor_name,
      schedule.version,
      schedule.created_at,
      schedule.updated_at,
    ],
  )
}

export async function deleteSchedule(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query('delete from schedule where org_id = $1 and id = $2', [org_id, id])
}

/** Whether a job that the schedule started has not ended yet. */
export async function runsStill(tx: Tx, org_id: number, job_id: number | null): Promise<boolean> {
  if (job_id === null) return false
  const rows = await tx.query(
    `select id from job where org_id = $1 and id = $2 and finished_at is null`,
    [org_id, job_id],
  )
  return rows.length > 0
}

/** Schedules of any organization that are due. */
export async function schedulesDue(
  db: Db,
  most: number,
): Promise<{ org_id: number; id: number }[]> {
  const rows = await db.flyControl('select org_id, id from app.schedules_due($1::integer)', [most])
  return rows.map(([org_id, id]) => ({ org_id: Number(String(org_id)), id: Number(String(id)) }))
}
