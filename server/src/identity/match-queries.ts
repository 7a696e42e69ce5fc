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

/** Others than what a load created, beyond which they are not counted. */
const OTHERS_COUNTED = 5_000

/**
 * Which side of a load to look from: two records of one stream are never one object, so it is compared with the others,
 * from the side that has fewer. @returns null when there are no others.
 */
export async function sideOf(
  db: OrgDb,
  org_id: number,
  { job_id, object_type }: Run,
): Promise<'created' | 'others' | null> {
  const [job] = await db.query<{ source_id: string; stream: string; created: string }>(
    org_id,
    `select s.id as source_id, coalesce(j.adapter #>> '{streams,0,name}', '') as stream,
       coalesce(j.counts ->> 'created', '0') as created
     from job j join source s on s.org_id = j.org_id and s.name = j.source_name and s.kind in ('adapter', 'document_extraction')
     where j.org_id = $1 and j.id = $2 limit 1`,
    [org_id, job_id],
  )
  if (!job) return null
  const [row] = await db.query<{ others: string }>(
    org_id,
    `select count(*) as others from (
       select from ${object_type} o where o.org_id = $1 and o.deleted_at is null and o.archived_at is null
         and (select true from source_record r where r.org_id = $1 and r.object_id = o.id and r.source_id = $2
           and r.stream = $3 limit 1) is null
       limit ${OTHERS_COUNTED}) o`,
    [org_id, job.source_id, job.stream],
  )
  const others = Number(row?.others)
  if (others === 0) return null
  const few = others < Math.min(OTHERS_COUNTED, Number(job.created))
  return few ? 'others' : 'created'
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
       and ($3::text is null or (body like $3) = $5::boolean) order by id limit $4`,
    [org_id, run.after_id, made, limit, run.side !== 'others'],
  )
  return rows.map(standing)
}

function standing({ id, body }: { id: string; body: string }): Standing {
  return { id: Number(id), row: JSON.parse(body) as Row }
}

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
  { field, within }: Identifier,
  ids: readonly number[],
  shortest: number,
): Promise<Hit[]> {
  const rows = await db.query<{ id: string; other: string; mine: string; theirs: string }>(
    org_id,
    'select id, other, mine, theirs from app.same_identifier($1, $2, $3, $4, $5)',
    [type, field, within, ids, shortest],
  )
  return rows.map(({ id, other, mine, theirs }) => ({
    id: Number(id),
    other: Number(other),
    left: mine,
    right: theirs,
  }))
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
    'select sought as of, id, body from app.alike($1, $2, $3, $4)',
    [type, sought.map(({ id }) => id), sought.map(({ text }) => text), most],
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
         and app.may_be_one($1, n.id, o.id)
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
  const given = arrayLiteral([...new Set(values)])
  const [rows] = await db.fly(org_id, [
    field === 'external_ids'
      ? {
          sql: `select v.value, k.object_id from unnest($3::text[]) as v(value) join external_key k on k.org_id = $1::bigint
              and k.object_type = $2::text and k.system = split_part(v.value, ':', 1)
              and k.external_id = substr(v.value, strpos(v.value, ':') + 1)`,
          params: [org_id, name, given],
        }
      : {
          sql: 'select value, id from app.find_identifier($1::text, $2::text, $3::text[])',
          params: [name, field, given],
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
