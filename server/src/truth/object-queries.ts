/** SQL of the objects that truth is made of: which are contested, what types they have, their rows under a lock. */
import type { ExternalId } from '../kit/door.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import { resources } from '../resources.ts'

/** Objects of a type to weigh. */
export interface Search {
  resource: Resource
  /** Also objects that one source alone speaks of, other than people by the API. */
  alone: boolean
  /** Only objects with different claims on this attribute; null for all. */
  attribute: string | null
}

/**
 * Objects that several sources speak of, or that others were merged into, in the order of their ids: one source may say
 * different things of what became one. Looks at keys alone, two index lookups for each object, unless an attribute is asked
 * for.
 */
export async function contestedIds(
  db: OrgDb,
  org_id: number,
  { resource, alone, attribute }: Search,
  after: number,
  limit: number,
): Promise<number[]> {
  const claims = 'from assertion a where a.org_id = $1::bigint and a.object_id'
  const members =
    'select m.object_id from cluster_member m where m.org_id = $1::bigint and m.head_id = t.id'
  const several = alone ? 'max(a.source_id) > 1' : 'min(a.source_id) < max(a.source_id)'
  const differ = alone ? 'count(*) > 0' : `count(distinct a.attrs -> $4::text) > 1`
  const [rows = []] = await db.fly(org_id, [
    {
      sql: `select t.id from ${resource.name} t where t.org_id = $1::bigint and t.id > $2::bigint and t.contested and t.deleted_at is null
          and ((select ${several} ${claims} = t.id) or exists (${members}))
          ${attribute === null ? '' : `and (select ${differ} ${claims} = any(array(select t.id union all ${members})) and a.attrs ? $4::text)`}
        order by t.id limit $3::integer`,
      params: [org_id, after, limit, ...(attribute === null ? [] : [attribute])],
    },
  ])
  return rows.map(([id]) => Number(String(id)))
}

/** The type of each of the objects. */
export async function typesOf(
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
): Promise<Map<number, Resource>> {
  if (ids.length === 0) return new Map()
  const types = resources.map(
    ({ name }, i) =>
      `select t.id, ${i} as n from ${name} t where t.org_id = $1::bigint and t.id = any($2::bigint[])`,
  )
  const [rows = []] = await db.fly(org_id, [
    { sql: types.join(' union all '), params: [org_id, `{${ids.join(',')}}`] },
  ])
  return new Map(
    rows.map(([id, n]) => [Number(String(id)), resources[Number(String(n))] as Resource]),
  )
}

/** An object whose row nobody else changes until the transaction ends. */
export interface Held {
  id: number
  version: number
  row: Row
}

/** Takes objects of a type, those that were deleted left out. */
export async function holdObjects(
  tx: Tx,
  org_id: number,
  { name }: Resource,
  ids: readonly number[],
): Promise<Held[]> {
  const rows = await tx.query<{ id: string; version: number; body: string }>(
    `select id, version, body from ${name} where org_id = $1 and id = any($2::bigint[]) and deleted_at is null
     order by id for no key update`,
    [org_id, ids],
  )
  return rows.map(({ id, version, body }) => ({
    id: Number(id),
    version,
    row: JSON.parse(body) as Row,
  }))
}

/** Those of the external ids that an object of the type has. */
export async function takenKeys(
  tx: Tx,
  org_id: number,
  { name }: Resource,
  keys: readonly ExternalId[],
): Promise<ExternalId[]> {
  return await tx.query<ExternalId>(
    `select system, external_id as id from external_key where org_id = $1 and object_type = $2
       and (system, external_id) in (select s, i from unnest($3::text[], $4::text[]) as k(s, i))`,
    [org_id, name, keys.map(({ system }) => system), keys.map(({ id }) => id)],
  )
}
