/** SQL of the agenda: which objects to look at, what is due, what is done. */
import type { Db } from '../db/db.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'

export interface Organization {
  org_id: number
  time_zone: string
  /** How many days its clock is ahead, which only that of a sandbox can be. */
  ahead_days?: number
}

/** Organizations with something to do, of all there are. */
export async function organizationsDue(db: Db, now: Date): Promise<Organization[]> {
  const rows = await db.flyControl(
    'select org_id, time_zone, ahead_days from app.organizations_due($1::timestamptz)',
    [now.toISOString()],
  )
  return rows.map(([org_id, time_zone, ahead_days]) => ({
    org_id: Number(String(org_id)),
    time_zone: String(time_zone),
    ahead_days: Number(String(ahead_days)),
  }))
}

/** Up to which writes the objects of a type have been looked at; null before the first look. */
export async function scannedAt(db: OrgDb, org_id: number, type: string): Promise<Date | null> {
  const rows = await db.query<{ scanned_at: Date }>(
    org_id,
    'select scanned_at from agenda_scan where org_id = $1 and object_type = $2',
    [org_id, type],
  )
  return rows[0]?.scanned_at ?? null
}

export async function saveScan(db: OrgDb, org_id: number, type: string, at: Date): Promise<void> {
  await db.query(
    org_id,
    `insert into agenda_scan (org_id, object_type, scanned_at) values ($1, $2, $3)
     on conflict (org_id, object_type) do update set scanned_at = excluded.scanned_at`,
    [org_id, type, at],
  )
}

/** An object with its JSON. */
export interface Found {
  id: number
  version: number
  row: Row
}

/** Objects written since, by id above `after`; tombstones too. */
export async function writtenSince(
  db: OrgDb,
  org_id: number,
  { name }: Resource,
  since: Date | null,
  after: number,
  limit: number,
): Promise<Found[]> {
  const rows = await db.query<BodyRow>(
    org_id,
    `select id, version, body from ${name} where org_id = $1 and id > $2 and ($3::timestamptz is null or updated_at > $3)
     order by id limit $4`,
    [org_id, after, since, limit],
  )
  return rows.map(found)
}

export async function objectsOf(
  tx: Tx,
  org_id: number,
  { name }: Resource,
  ids: readonly number[],
): Promise<Map<number, Found>> {
  const rows = await tx.query<BodyRow>(
    `select id, version, body from ${name} where org_id = $1 and id = any($2)`,
    [org_id, ids],
  )
  return new Map(rows.map(found).map((object) => [object.id, object]))
}

interface BodyRow {
  id: string
  version: number
  body: string
}

function found({ id, version, body }: BodyRow): Found {
  return { id: Number(id), version, row: JSON.parse(body) as Row }
}

export interface Entry {
  object_id: number
  mark: string
  due_at: Date
}

/**
 * Puts what is to happen to the objects on the agenda, in place of what was there and is not done. What was due before
 * `oldest` is not put there.
 */
export async function saveAgenda(
  db: OrgDb,
  org_id: number,
  type: string,
  ids: readonly number[],
  entries: readonly Entry[],
  oldest: Date,
): Promise<void> {
  const input = `unnest($2::bigint[], $3::text[], $4::timestamptz[]) as i(object_id, mark, due_at)`
  const columns = [
    entries.map(({ object_id }) => object_id),
    entries.map(({ mark }) => mark),
    entries.map(({ due_at }) => due_at),
  ]
  await db.transaction(org_id, async (tx) => {
    await tx.query(
      `delete from agenda a where a.org_id = $1 and a.object_id = any($5) and a.done_at is null
         and not exists (select from ${input} where i.object_id = a.object_id and i.mark = a.mark and i.due_at is not null)`,
      [org_id, ...columns, ids],
    )
    await tx.query(
      `insert into agenda (org_id, object_id, mark, object_type, due_at)
       select $1, i.object_id, i.mark, $5, i.due_at from ${input} where i.due_at >= $6
       on conflict (org_id, object_id, mark) do update set due_at = excluded.due_at
         where agenda.done_at is null and agenda.due_at <> excluded.due_at`,
      [org_id, ...columns, type, oldest],
    )
  })
}

/** What is due and not done, oldest first; other workers leave it alone until the transaction ends. */
export async function takeDue(
  tx: Tx,
  org_id: number,
  type: string,
  now: Date,
  limit: number,
): Promise<Entry[]> {
  const rows = await tx.query<{ object_id: string; mark: string; due_at: Date }>(
    `select object_id, mark, due_at from agenda
     where org_id = $1 and object_type = $2 and done_at is null and due_at <= $3
     order by due_at, object_id, mark limit $4 for update skip locked`,
    [org_id, type, now, limit],
  )
  return rows.map((row) => ({ ...row, object_id: Number(row.object_id) }))
}

/** Notes entries as done; null puts them off until `due_at`. */
export async function settleDue(
  tx: Tx,
  org_id: number,
  entries: readonly Entry[],
  done_at: Date | null,
): Promise<void> {
  await tx.query(
    `update agenda a set done_at = $5, due_at = i.due_at
     from unnest($2::bigint[], $3::text[], $4::timestamptz[]) as i(object_id, mark, due_at)
     where a.org_id = $1 and a.object_id = i.object_id and a.mark = i.mark and a.done_at is null`,
    [
      org_id,
      entries.map(({ object_id }) => object_id),
      entries.map(({ mark }) => mark),
      entries.map(({ due_at }) => due_at),
      done_at,
    ],
  )
}
