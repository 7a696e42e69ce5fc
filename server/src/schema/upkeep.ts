/** Work that a deploy leaves to the background: values put into the index, values converted to another type. */
import type { Db } from '../db/db.ts'
import { ApiError } from '../kit/errors.ts'
import { ownSchema } from '../kit/extended.ts'
import { extensionKey, shownValue } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import { INDEX_VALUES } from '../kit/extension-index.ts'
import type { Resource } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { update } from '../kit/write.ts'
import { bareStore, SYSTEM } from '../organizations/service.ts'
import { convertValue } from './convert.ts'

/** Objects of one step. Their rows are locked while they are indexed, for some milliseconds. */
const BATCH = 1_000
const IDLE_MS = 500

/** Source of values that the platform computed. */
const COMPUTED_SOURCE = 5

interface Task {
  org_id: number
  id: number
  object_type: string
}

/**
 * Does what deploys left to do, of every organization. Each step can be done again: a process that ends in the middle
 * leaves the rest to the next.
 * @returns how long to wait before looking again.
 */
export async function tendSchemas(db: Db, stopping: AbortSignal): Promise<number> {
  const rows = await db.flyControl(`select row_to_json(t) from app.schema_work(20) t`, [])
  const tasks = rows.map(([row]) => JSON.parse(String(row)) as Task & { what: string })
  for (const { what, ...task } of tasks) {
    if (stopping.aborted) return 0
    if (what === 'index') await indexField(db, task, stopping)
    else await convertField(bareStore(db), task, stopping)
  }
  return tasks.length > 0 ? 0 : IDLE_MS
}

/**
 * Puts the values of a field into the index. Rows are read under a lock: a write that comes between waits, finds the
 * field filterable and keeps the index itself.
 */
async function indexField(db: Db, task: Task, stopping: AbortSignal): Promise<void> {
  const { org_id, id, object_type } = task
  let after = 0
  while (!stopping.aborted) {
    const [last] = await db.query<{ id: string | null; count: number }>(
      org_id,
      `with rows as materialized (
         select t.id, t.ext->'${extensionKey(id)}' as v from ${object_type} t
         where t.org_id = $1 and t.id > $2 and t.ext->'${extensionKey(id)}' is not null order by t.id limit $4 for no key update
       ), indexed as (
         insert into ext_index (org_id, field_id, object_id, v_num, v_text, v_time)
         select $1, f.id, v.id, ${INDEX_VALUES} from rows v join schema_field f on f.org_id = $1 and f.id = $3
         on conflict (org_id, field_id, object_id) do update set v_num = excluded.v_num, v_text = excluded.v_text, v_time = excluded.v_time
       )
       select max(id) as id, count(*)::int as count from rows`,
      [org_id, after, id, BATCH],
    )
    if ((last?.count ?? 0) < BATCH) break
    after = Number(last?.id)
  }
  if (stopping.aborted) return
  await db.query(
    org_id,
    'update schema_field set indexed = true where org_id = $1 and id = $2 and filterable',
    [org_id, id],
  )
}

/** Writes the values of the field before under the new one, as facts of the source `computed`. */
async function convertField(
  store: Store,
  { org_id, id, object_type }: Task,
  stopping: AbortSignal,
): Promise<void> {
  const { registry, extensions } = await ownSchema(store, org_id)
  const field = extensions.find((extension) => extension.id === id)
  const resource = registry.get(object_type)
  const from = extensions.find((extension) => extension.id === field?.settings.converts)
  if (!field || !from || !resource) return
  let after = 0
  while (!stopping.aborted) {
    const rows = await store.db.query<{ id: string; value: unknown }>(
      org_id,
      `select id, ext->'${extensionKey(from.id)}' as value from ${object_type}
       where org_id = $1 and id > $2 and ext->'${extensionKey(from.id)}' is not null and ext->'${extensionKey(id)}' is null
         and deleted_at is null order by id limit $3`,
      [org_id, after, BATCH],
    )
    for (const row of rows) {
      if (stopping.aborted) return
      await convertOne(store, org_id, resource, { from, to: field }, Number(row.id), row.value)
    }
    if (rows.length < BATCH) break
    after = Number(rows.at(-1)?.id)
  }
  if (stopping.aborted) return
  await store.db.query(
    org_id,
    `update schema_field set settings = settings - 'converts' where org_id = $1 and id = $2`,
    [org_id, id],
  )
}

async function convertOne(
  store: Store,
  org_id: number,
  resource: Resource,
  { from, to }: { from: Extension; to: Extension },
  id: number,
  value: unknown,
): Promise<void> {
  const accepted = convertValue(from, to, value)
  if ('issue' in accepted) return
  const ext = { [to.name]: shownValue(to, accepted.value) }
  const request = { org_id, actor: SYSTEM, defaults: {}, source_id: COMPUTED_SOURCE }
  try {
    await update(store, resource, request, id, { ext }, null)
  } catch (error) {
    // An object that breaks a rule of its own, or was deleted meanwhile, keeps its value in the facts of the old field.
    if (!(error instanceof ApiError)) throw error
  }
}
