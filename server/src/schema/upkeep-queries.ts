/** What the background reads and writes for the schemas of organizations. */
import type { Db } from '../db/db.ts'
import { extensionKey } from '../kit/extension.ts'
import { INDEX_VALUES } from '../kit/extension-index.ts'
import type { OrgRows } from '../kit/types.ts'
import type { StoredValue } from './preview-queries.ts'

/** A field that a deploy left work for. */
export interface Task {
  org_id: number
  id: number
  object_type: string
}

export async function openTasks(
  db: Pick<Db, 'flyControl'>,
  most: number,
): Promise<(Task & { what: 'index' | 'convert' })[]> {
  const sql = 'select row_to_json(t) from app.schema_work($1::integer) t'
  const rows = await db.flyControl(sql, [most])
  return rows.map(([row]) => JSON.parse(String(row)) as Task & { what: 'index' | 'convert' })
}

/**
 * Puts the values of the next objects into the index. Their rows are locked, so that a write that comes between waits; it
 * finds the field filterable and keeps the index itself.
 */
export async function indexBatch(
  db: Pick<OrgRows, 'query'>,
  { org_id, id, object_type }: Task,
  after: number,
  limit: number,
): Promise<{ id: number; count: number }> {
  const key = extensionKey(id)
  const [row] = await db.query<{ id: string | null; count: number }>(
    org_id,
    `with rows as materialized (
       select t.id, t.ext->'${key}' as v from ${object_type} t
       where t.org_id = $1 and t.id > $2 and t.ext->'${key}' is not null order by t.id limit $4 for no key update
     ), indexed as (
       insert into ext_index (org_id, field_id, object_id, v_num, v_text, v_time)
       select $1, f.id, v.id, ${INDEX_VALUES} from rows v join schema_field f on f.org_id = $1 and f.id = $3
       on conflict (org_id, field_id, object_id)
       do update set v_num = excluded.v_num, v_text = excluded.v_text, v_time = excluded.v_time
     )
     select max(id) as id, count(*)::int as count from rows`,
    [org_id, after, id, limit],
  )
  return { id: Number(row?.id ?? 0), count: row?.count ?? 0 }
}

export async function noteIndexed(db: Pick<OrgRows, 'query'>, { org_id, id }: Task): Promise<void> {
  await db.query(
    org_id,
    'update schema_field set indexed = true where org_id = $1 and id = $2 and filterable',
    [org_id, id],
  )
}

/** Values of the field before that the new one does not have yet. */
export async function unconverted(
  db: Pick<OrgRows, 'query'>,
  { org_id, id, object_type }: Task,
  from: number,
  after: number,
  limit: number,
): Promise<StoredValue[]> {
  const [old, own] = [extensionKey(from), extensionKey(id)]
  return await db.query<StoredValue>(
    org_id,
    `select id, ext->'${old}' as value from ${object_type}
     where org_id = $1 and id > $2 and ext->'${old}' is not null and ext->'${own}' is null and deleted_at is null
     order by id limit $3`,
    [org_id, after, limit],
  )
}

export async function noteConverted(
  db: Pick<OrgRows, 'query'>,
  { org_id, id }: Task,
): Promise<void> {
  await db.query(
    org_id,
    `update schema_field set settings = settings - 'converts' where org_id = $1 and id = $2`,
    [org_id, id],
  )
}
