/** SQL of sandboxes: their tasks, their clocks, what they hold. */
import type { Db } from '../db/db.ts'
import type { FileKey } from '../documents/index.ts'
import { idDigits } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgRows, Tx } from '../kit/types.ts'
import type { Held, Release } from '../queue/held.ts'
import type { Task } from './tasks.ts'

const COLUMNS = `org_id, id, kind, args, state, result, error, attempts, actor_type, actor_id, actor_name, request_id,
  created_at, started_at, finished_at`

/** Bigints come as text. */
type TaskRow = Omit<Task, 'org_id' | 'id'> & { org_id: string; id: string }

function taskOf(row: TaskRow): Task {
  return { ...row, org_id: Number(row.org_id), id: Number(row.id) }
}

/** Writes a new task, unless one is open. @returns whether it was written. */
export async function insertTask(tx: Tx, task: Task): Promise<boolean> {
  const rows = await tx.query(
    `insert into sandbox_task (org_id, id, kind, args, state, actor_type, actor_id, actor_name, request_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (org_id) where state in ('queued', 'running') do nothing returning id`,
    [
      task.org_id,
      task.id,
      task.kind,
      JSON.stringify(task.args),
      task.state,
      task.actor_type,
      task.actor_id,
      task.actor_name,
      task.request_id,
      task.created_at,
    ],
  )
  return rows.length > 0
}

export async function findTask(db: OrgRows, org_id: number, id: number): Promise<Task | undefined> {
  const rows = await db.query<TaskRow>(
    org_id,
    `select ${COLUMNS} from sandbox_task where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(taskOf)[0]
}

/** Tasks of a sandbox, newest first. */
export async function listTasks(
  db: OrgRows,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<Task[]> {
  const rows = await db.query<TaskRow>(
    org_id,
    `select ${COLUMNS} from sandbox_task where org_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [org_id, before, limit],
  )
  return rows.map(taskOf)
}

/** Takes the oldest task that nobody works on. */
export async function claimTask(
  db: Db,
  lease_id: number,
  pid: number,
): Promise<{ org_id: number; id: number } | undefined> {
  const [row] = await db.control(async (tx) =>
    tx.query<{ org_id: string; id: string }>(
      'select org_id, id from app.claim_sandbox_task($1, $2)',
      [lease_id, pid],
    ),
  )
  return row && { org_id: Number(row.org_id), id: Number(row.id) }
}

const HELD = `org_id = $1 and id = $2 and lease_id = $3 and state = 'running'`

/** Keeps a task for another minute. @returns false when another worker has taken it. */
export async function renewTask(db: OrgRows, { org_id, id, lease_id }: Held): Promise<boolean> {
  const rows = await db.query(
    org_id,
    `update sandbox_task set locked_until = now() + interval '60 seconds' where ${HELD} returning id`,
    [org_id, id, lease_id],
  )
  return rows.length > 0
}

/** Gives a task back, to be begun again. */
export async function releaseTask(
  db: OrgRows,
  { org_id, id, lease_id }: Held,
  { pause_s, tried }: Release,
): Promise<void> {
  await db.query(
    org_id,
    `update sandbox_task set state = 'queued', lease_id = null, backend_pid = null,
       locked_until = now() + make_interval(secs => $4), attempts = attempts - $5
     where ${HELD}`,
    [org_id, id, lease_id, pause_s, tried ? 0 : 1],
  )
}

/** Ends a task in a transaction that may do more. @returns it, or undefined when another worker has taken it. */
export async function endTask(
  tx: Tx,
  { org_id, id, lease_id }: Held,
  end: { state: 'completed' | 'failed'; result: Row | null; error: Task['error'] },
): Promise<Task | undefined> {
  const rows = await tx.query<TaskRow>(
    `update sandbox_task set state = $4, result = $5, error = $6, finished_at = now(), lease_id = null, backend_pid = null
     where ${HELD} returning ${COLUMNS}`,
    [org_id, id, lease_id, end.state, jsonOf(end.result), jsonOf(end.error)],
  )
  return rows.map(taskOf)[0]
}

function jsonOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** How many days the clock of a sandbox is ahead. */
export async function aheadDays(db: OrgRows, org_id: number): Promise<number> {
  const [row] = await db.query<{ ahead_days: number }>(
    org_id,
    'select ahead_days from sandbox_clock where org_id = $1',
    [org_id],
  )
  return row?.ahead_days ?? 0
}

export async function setAheadDays(tx: Tx, org_id: number, days: number): Promise<void> {
  await tx.query(
    `insert into sandbox_clock (org_id, ahead_days, moved_at) values ($1, $2, now())
     on conflict (org_id) do update set ahead_days = excluded.ahead_days, moved_at = excluded.moved_at`,
    [org_id, days],
  )
}

/** Makes the deliveries due that are to be tried again within so many days. @returns how many. */
export async function hurryRetries(tx: Tx, org_id: number, days: number): Promise<number> {
  await tx.query(
    `update webhook_health set open_until = now()
     where org_id = $1 and open_until > now() and open_until <= now() + make_interval(days => $2)`,
    [org_id, days],
  )
  const rows = await tx.query(
    `update delivery set next_at = now()
     where org_id = $1 and state = 'pending' and next_at > now() and next_at <= now() + make_interval(days => $2) returning id`,
    [org_id, days],
  )
  return rows.length
}

/** How many events of each type the platform itself has told since a time. */
export async function firedSince(
  db: OrgRows,
  org_id: number,
  since: Date,
): Promise<Record<string, number>> {
  const rows = await db.query<{ type: string; count: string }>(
    org_id,
    `select e.type, count(*) from tx t join event e on e.org_id = t.org_id and e.tx_id = t.tx_id and e.at = t.at
     where t.org_id = $1 and t.at >= $2 and e.at >= $2 and t.actor_type = 'system' and e.object_type in ('lease', 'work_order')
     group by e.type order by e.type`,
    [org_id, since],
  )
  return Object.fromEntries(rows.map(({ type, count }) => [type, Number(count)]))
}

/** Deletes what the organization of the transaction holds, which must be a sandbox. @returns how many objects. */
export async function emptySandbox(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ gone: number }>('select app.empty_sandbox() as gone')
  return row?.gone ?? 0
}

/** Places of the files of documents with ids above `after`, and the last of these ids; null when there are no more. */
export async function filesAfter(
  db: OrgRows,
  org_id: number,
  after: number,
  limit: number,
): Promise<{ last: number; files: FileKey[] } | null> {
  const rows = await db.query<{ id: string; versions: string[] | null }>(
    org_id,
    `select id, (select array_agg(v ->> 'id') from json_array_elements(body::json -> 'versions') v) as versions
     from document where org_id = $1 and id > $2 order by id limit $3`,
    [org_id, after, limit],
  )
  if (rows.length === 0) return null
  const files = rows.flatMap(({ id, versions }) =>
    (versions ?? []).map((version) => ({
      org_id,
      document_id: Number(id),
      version_id: idDigits('ver', version) as number,
    })),
  )
  return { last: Number(rows.at(-1)?.id), files }
}

/** How many objects of each type there are, tombstones left out. */
export async function objectCounts(
  db: OrgRows,
  org_id: number,
  types: readonly string[],
): Promise<Record<string, number>> {
  const counts = types.map(
    (type) =>
      `(select count(*)::integer from ${type} t where t.org_id = $1 and t.deleted_at is null) as ${type}`,
  )
  const [row] = await db.query<Record<string, number>>(org_id, `select ${counts.join(', ')}`, [
    org_id,
  ])
  return row ?? {}
}

/** Whether a sandbox holds any object, tombstones included. */
export async function holdsObjects(
  db: OrgRows,
  org_id: number,
  types: readonly string[],
): Promise<boolean> {
  const some = types.map((type) => `exists (select from ${type} where org_id = $1)`)
  const [row] = await db.query<{ some: boolean }>(org_id, `select ${some.join(' or ')} as some`, [
    org_id,
  ])
  return row?.some ?? false
}

/** The time zone in which the organization counts days. */
export async function timeZoneOf(db: OrgRows, org_id: number): Promise<string> {
  const [row] = await db.query<{ time_zone: string }>(
    org_id,
    'select time_zone from organization where org_id = $1 and id = $1',
    [org_id],
  )
  return row?.time_zone ?? 'UTC'
}

/** Sandboxes of an organization, as JSON text, oldest first. */
export async function listSandboxes(
  db: OrgRows,
  org_id: number,
  after: number,
  limit: number,
): Promise<{ id: number; body: string }[]> {
  const rows = await db.query<{ id: string; body: string }>(
    org_id,
    `select id, body from organization where parent_organization_id = $1 and environment = 'sandbox' and deleted_at is null
       and id > $2 order by id limit $3`,
    [org_id, after, limit],
  )
  return rows.map(({ id, body }) => ({ id: Number(id), body }))
}

export async function countSandboxes(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    `select count(*)::integer as n from organization
     where parent_organization_id = $1 and environment = 'sandbox' and deleted_at is null`,
    [org_id],
  )
  return row?.n ?? 0
}

/** One sandbox is made at a time, so that no two take the last place. */
export async function lockSandboxes(tx: Tx, org_id: number): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 7016))', [
    `sandboxes ${org_id}`,
  ])
}

/** One difference is applied at a time, so that the next one is worked out from what this one leaves. */
export async function lockSettings(tx: Tx, org_id: number): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 7016))', [
    `promotion ${org_id}`,
  ])
}

/** What follows in the transaction is done in another organization. */
export async function enterOrganization(tx: Tx, org_id: number): Promise<void> {
  await tx.query('select app.set_org($1)', [org_id])
}

/** Whether an organization has others below it; only its own context sees them. */
export async function hasOrganizations(db: OrgRows, org_id: number): Promise<boolean> {
  const rows = await db.query(
    org_id,
    'select id from organization where parent_organization_id = $1 and deleted_at is null limit 1',
    [org_id],
  )
  return rows.length > 0
}
