/** SQL of matching: which objects to compare, and with which others. */
import { arrayLiteral } from '../kit/filter.ts'
import { columns } from '../kit/row.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { OrgDb } from '../kit/types.ts'
import type { Identifier } from './identifiers.ts'
import type { Run } from './run-queries.ts'

/** An object that stands for itself. */
export interface Standing {
  id: number
  row: Row
}

/** The id before the first object that a job created of a type; null when it created none. */
export async function beforeFirst(db: OrgDb, org_id: number, run: Run): Promise<number | null> {
  const [row] = await db.query<{ first: string | null }>(
    org_id,
    `select min(e.object_id) - 1 as first from tx t join event e on e.org_id = t.org_id and e.tx_id = t.tx_id and e.at = t.at
     where t.org_id = $1 and t.job_id = $2 and e.object_type = $3 and e.operation = 'created'`,
    [org_id, run.job_id, run.object_type],
  )
  return row?.first ? Number(row.first) : null
}

/** The next live objects of the run, in the order of their ids. */
export async function nextObjects(
  db: OrgDb,
  org_id: number,
  run: Run,
  limit: number,
): Promise<Standing[]> {
  const made = run.job_id === null ? null : `%"created_by":{"type":"job","id":"job_${run.job_id}"}%`
  const rows = await db.query<{ id: string; body: string }>(
    org_id,
    `select id, body from ${run.object_type} where org_id = $1 and id > $2 and deleted_at is null and archived_at is null
       and ($3::text is null or body like $3) order by id limit $4`,
    [org_id, run.after_id, made, limit],
  )
  return rows.map(standing)
}

function standing({ id, body }: { id: string; body: string }): Standing {
  return { id: Number(id), row: JSON.parse(body) as Row }
}

/** SQL: `n.id` and `o.id` are not records of one stream of one source, and nobody said that they are to stay two. */
const MAY_BE_ONE = `not exists (
        select from source_record x join source_record y on y.org_id = $1 and y.source_id = x.source_id and y.stream = x.stream
          and y.object_id = o.id and y.gone_tx is null
        where x.org_id = $1 and x.object_id = n.id and x.gone_tx is null)
      and not exists (
        select from do_not_link d where d.org_id = $1 and d.low_id = least(n.id, o.id) and d.high_id = greatest(n.id, o.id))`

export interface Hit {
  id: number
  other: number
  left: string
  right: string
}

/** Other objects with the same identifier, a few for each that has any. */
export async function sameIdentifier(
  db: OrgDb,
  org_id: number,
  type: string,
  { field, within, decides }: Identifier,
  ids: readonly number[],
  shortest: number,
): Promise<Hit[]> {
  const same = decides ? 'is not distinct from' : '='
  const scope = within === null ? '' : `and o.${within} ${same} n.${within}`
  const rows = await db.query<{ id: string; other: string; left: string; right: string }>(
    org_id,
    `select n.id, o.id as other, n.${field} as left, o.${field} as right from ${type} n cross join lateral (
       select o.id, o.${field} from ${type} o
       where o.org_id = $1 and app.identifier(o.${field}) = app.identifier(n.${field}) and o.${field} is not null and o.id <> n.id
         and o.deleted_at is null and o.archived_at is null ${scope} and ${MAY_BE_ONE}
       order by o.id limit 5
     ) o
     where n.org_id = $1 and n.id = any($2::bigint[]) and n.deleted_at is null and length(app.identifier(n.${field})) >= $3`,
    [org_id, ids, shortest],
  )
  return rows.map((row) => ({ ...row, id: Number(row.id), other: Number(row.other) }))
}

export interface Near extends Standing {
  of: number
}

/** For each text, the few objects whose names or address are most like it. */
export async function alike(
  db: OrgDb,
  org_id: number,
  type: string,
  sought: readonly { id: number; text: string }[],
  most: number,
): Promise<Near[]> {
  if (sought.length === 0) return []
  const rows = await db.query<{ of: string; id: string; body: string }>(
    org_id,
    `select n.id as of, o.id, o.body from unnest($2::bigint[], $3::text[]) as n(id, text) cross join lateral (
       select o.id, o.body from ${type} o
       where o.org_id = $1 and n.text <% o.search and o.id <> n.id and o.deleted_at is null and o.archived_at is null and ${MAY_BE_ONE}
       order by word_similarity(n.text, o.search) desc, o.id limit $4
     ) o`,
    [org_id, sought.map(({ id }) => id), sought.map(({ text }) => text), most],
  )
  return rows.map((row) => ({ ...standing(row), of: Number(row.of) }))
}

/** Leases of the same property that begin or end about when each of these does. */
export async function leasesAlike(
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
  most: number,
): Promise<Near[]> {
  const rows = await db.query<{ of: string; id: string; body: string }>(
    org_id,
    `select n.id as of, o.id, o.body from lease n cross join lateral (
       select o.id, o.body from lease o
       where o.org_id = $1 and o.property_id = n.property_id and o.id <> n.id and o.deleted_at is null and o.archived_at is null
         and (abs(o.commencement_date - n.commencement_date) <= 31 or abs(o.expiration_date - n.expiration_date) <= 31)
         and ${MAY_BE_ONE}
       order by o.id limit $3
     ) o
     where n.org_id = $1 and n.id = any($2::bigint[])`,
    [org_id, ids, most],
  )
  return rows.map((row) => ({ ...standing(row), of: Number(row.of) }))
}

/**
 * The objects that have each of the values in a field, by value, without punctuation and whatever the case: none, one, or
 * several where the value does not decide. `external_ids` is looked up by `system:id`.
 * @throws when the type has no such text field.
 */
export async function findByIdentifier(
  db: OrgDb,
  org_id: number,
  resource: Resource,
  field: string,
  values: readonly string[],
): Promise<Map<string, number[]>> {
  const { name } = resource
  const known = columns(resource).some((column) => column.name === field && column.type === 'text')
  if (!known && field !== 'external_ids') throw new Error(`${name} has no text field ${field}`)
  const found =
    field === 'external_ids'
      ? `select k.object_id as id from external_key k where k.org_id = $1::bigint and k.object_type = '${name}'
           and k.system = split_part(v.value, ':', 1) and k.external_id = substr(v.value, strpos(v.value, ':') + 1)`
      : `select t.id from ${name} t where t.org_id = $1::bigint and app.identifier(t.${field}) = app.identifier(v.value)
           and t.${field} is not null and t.deleted_at is null order by t.id limit 10`
  const [rows] = await db.fly(org_id, [
    {
      sql: `select v.value, o.id from unnest($2::text[]) as v(value) cross join lateral (${found}) o`,
      params: [org_id, arrayLiteral([...new Set(values)])],
    },
  ])
  const result = new Map<string, number[]>()
  for (const [value, id] of rows ?? []) {
    const list = result.get(String(value))
    if (list) list.push(Number(String(id)))
    else result.set(String(value), [Number(String(id))])
  }
  return result
}
