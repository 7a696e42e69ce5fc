/** Work that a deploy leaves to the background: values put into the index, values converted to another type. */
import type { Db } from '../db/db.ts'
import { ApiError } from '../kit/errors.ts'
import { forgetSchema, ownSchema } from '../kit/extended.ts'
import { settle } from '../kit/history.ts'
import { shownValue } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import type { Resource } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { COMPUTED_SOURCE, update } from '../kit/write.ts'
import { bareStore, SYSTEM } from '../organizations/service.ts'
import { convertValue } from './convert.ts'
import { indexBatch, noteConverted, noteIndexed, openTasks, unconverted } from './upkeep-queries.ts'
import type { Task } from './upkeep-queries.ts'

/** Objects of one step. Their rows are locked while they are indexed, for some milliseconds. */
const BATCH = 1_000
const IDLE_MS = 500

/** Tasks taken at once. */
const TASKS = 20

/**
 * Does what deploys left to do, of every organization. Each step can be done again: a process that ends in the middle
 * leaves the rest to the next.
 * @returns how long to wait before looking again.
 */
export async function tendSchemas(
  db: Db,
  log: (message: string) => void,
  stopping: AbortSignal,
): Promise<number> {
  let done = 0
  for (const { what, ...task } of await openTasks(db, TASKS)) {
    if (stopping.aborted) return 0
    forgetSchema(db, task.org_id)
    try {
      if (what === 'index') await indexField(db, task, stopping)
      else await convertField(bareStore(db), task, stopping)
      done++
    } catch (error) {
      // One field's trouble is not the others'.
      log(`${what} of fld_${task.id} in org_${task.org_id} failed: ${(error as Error).message}`)
    }
    forgetSchema(db, task.org_id)
  }
  return done === TASKS ? 0 : IDLE_MS
}

/**
 * Puts the values of a field into the index. Rows are read under a lock: a write that comes between waits, finds the
 * field filterable and keeps the index itself.
 */
async function indexField(db: Db, task: Task, stopping: AbortSignal): Promise<void> {
  // Writes that began before the deploy do not know of it, so they come first.
  await settle(db, task.org_id, Date.now())
  let after = 0
  while (!stopping.aborted) {
    const last = await indexBatch(db, task, after, BATCH)
    if (last.count < BATCH) break
    after = last.id
  }
  if (stopping.aborted) return
  await noteIndexed(db, task)
}

/**
 * Writes the values of the field before under the new one, as facts of the source `computed`: what others claim of the new
 * one meanwhile is weighed against them.
 */
async function convertField(store: Store, task: Task, stopping: AbortSignal): Promise<void> {
  const { org_id, id, object_type } = task
  const { registry, extensions } = await ownSchema(store, org_id)
  const field = extensions.find((extension) => extension.id === id)
  const resource = registry.get(object_type)
  const from = extensions.find((extension) => extension.id === field?.settings.converts)
  if (!field || !from || !resource) return await noteConverted(store.db, task)
  let after = 0
  while (!stopping.aborted) {
    const rows = await unconverted(store.db, task, from.id, after, BATCH)
    for (const row of rows) {
      if (stopping.aborted) return
      await convertOne(store, org_id, resource, { from, to: field }, Number(row.id), row.value)
    }
    if (rows.length < BATCH) break
    after = Number(rows.at(-1)?.id)
  }
  if (stopping.aborted) return
  await noteConverted(store.db, task)
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
