/** SQL of usage: counting, and the sums of a time. */
import type { Db } from '../db/db.ts'
import type { OrgDb } from '../kit/types.ts'

/** Adds to meters. */
export async function writeCounts(
  db: Db,
  counts: readonly { org_id: number; at: string; meter: string; amount: number }[],
): Promise<void> {
  await db.flyControl('select app.count_usage($1::json)', [JSON.stringify(counts)])
}

export const GROUPS = ['key', 'route_group', 'status_class', 'day', 'hour'] as const

export type Group = (typeof GROUPS)[number]

/** Whole hours: from the first to before the second. */
export interface Span {
  from: string
  to: string
}

export interface UsageRow {
  meter: string
  amount: number
  key_id: string | null
  key_name: string | null
  route_group: string | null
  status_class: string | null
  at: Date | null
}

const TIME_GROUPS: Partial<Record<Group, string>> = {
  day: `date_trunc('day', hour, 'UTC')`,
  hour: 'hour',
}

/** Requests of the span, by group; one row when there is none. */
export async function requestsOf(
  db: OrgDb,
  org_id: number,
  { from, to }: Span,
  groups: readonly Group[],
  limit: number,
): Promise<UsageRow[]> {
  const by = (group: Group, sql: string): string => (groups.includes(group) ? sql : 'null')
  const rows = await db.query<UsageRow>(
    org_id,
    `with counted as (
       select ${by('key', 'nullif(key_id, 0)')}::bigint as key_id, ${by('route_group', 'route_group')}::text as route_group,
         ${by('status_class', `status_class || 'xx'`)}::text as status_class, ${timeSql(groups)} as at, sum(requests) as amount
       from usage_request where org_id = $1 and hour >= $2 and hour < $3 group by 1, 2, 3, 4
     )
     select 'requests' as meter, c.amount::float8 as amount, c.key_id, k.name as key_name, c.route_group, c.status_class, c.at
     from counted c left join api_key k on k.org_id = $1 and k.id = c.key_id
     order by c.at, c.key_id, c.route_group, c.status_class limit $4`,
    [org_id, from, to, limit],
  )
  return rows
}

/** What else was counted, by time only: a job or a delivery has no key. */
export async function countsOf(
  db: OrgDb,
  org_id: number,
  { from, to }: Span,
  groups: readonly Group[],
): Promise<UsageRow[]> {
  return await db.query<UsageRow>(
    org_id,
    `with counted as (
       select meter, hour, amount from usage_meter where org_id = $1 and hour >= $2 and hour < $3
       union all
       select 'job_rows', date_trunc('hour', coalesce(finished_at, started_at), 'UTC'), (counts ->> 'rows_read')::bigint
       from job where org_id = $1 and counts ? 'rows_read' and coalesce(finished_at, started_at) >= $2
         and coalesce(finished_at, started_at) < $3
     )
     select meter, sum(amount)::float8 as amount, null as key_id, null as key_name, null as route_group, null as status_class,
       ${timeSql(groups)} as at
     from counted group by meter, 7 order by 7, meter`,
    [org_id, from, to],
  )
}

function timeSql(groups: readonly Group[]): string {
  const sql = groups.flatMap((group) => TIME_GROUPS[group] ?? [])[0]
  return `${sql ?? 'null'}::timestamptz`
}

/** Bytes of all versions of the documents that are not deleted, now. */
export async function storedBytes(db: OrgDb, org_id: number): Promise<number> {
  const [row] = await db.query<{ bytes: number | null }>(
    org_id,
    `select sum((v ->> 'byte_size')::bigint)::float8 as bytes
     from document d cross join lateral jsonb_array_elements(d.body::jsonb -> 'versions') v
     where d.org_id = $1 and d.deleted_at is null`,
    [org_id],
  )
  return row?.bytes ?? 0
}
