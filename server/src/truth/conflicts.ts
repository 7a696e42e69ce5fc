/** Conflicts of all objects: every value on which sources differ now, in the order of types and objects. */
import { ownSchema } from '../kit/extended.ts'
import { factKey, shownView } from '../kit/extension.ts'
import { assertionsOf, ranksOf } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { contestedIds } from './object-queries.ts'
import { conflictViews } from './views.ts'

/** Objects looked at by one read, and for one page: where few conflict, a page may hold less than was asked for. */
const BATCH = 500
const SCAN_MAX = 20_000

export interface ConflictFilter {
  type: string | null
  attribute: string | null
}

export interface ConflictPage {
  data: Row[]
  /** Where the next page goes on: `type:object:field`; null at the end. */
  next: string | null
}

/** @param after position of the page before, or null. */
export async function conflictsWhere(
  store: Store,
  org_id: number,
  filter: ConflictFilter,
  after: string | null,
  limit: number,
): Promise<ConflictPage> {
  const data: Row[] = []
  let last = after
  let scanned = 0
  for await (const { row, position } of conflictsBehind(store, org_id, filter, after)) {
    if (row && data.length === limit) return { data, next: last }
    if (row) data.push(row)
    else if (++scanned === SCAN_MAX) return { data, next: position }
    last = position
  }
  return { data, next: null }
}

/** Each conflict behind a position, and null behind each object that was looked at. */
async function* conflictsBehind(
  store: Store,
  org_id: number,
  { type, attribute }: ConflictFilter,
  after: string | null,
): AsyncGenerator<{ row: Row | null; position: string }> {
  const sources = await ranksOf(store.db, org_id)
  const [first, object, field = ''] = (after ?? '').split(':')
  const { registry } = await ownSchema(store, org_id)
  const types = [...registry.values()].filter(({ name }) => type === null || name === type)
  const start = types.findIndex(({ name }) => name === first)
  for (const resource of types.slice(Math.max(0, start))) {
    // An object that was shown in part is looked at again.
    let last = resource.name === first ? Number(object) - (field ? 1 : 0) : 0
    for (;;) {
      const key = attribute === null ? null : factKey(resource.extensions, attribute)
      // A type without that field of the organization's own has no conflict on it.
      if (attribute !== null && key === null) break
      const search = { resource, alone: false, attribute: key }
      const ids = await contestedIds(store.db, org_id, search, last, BATCH)
      const known = await assertionsOf(store.db, org_id, ids)
      for (const id of ids) {
        const place = `${resource.name}:${id}:`
        const views = conflictViews({ resource, known: known.get(id) ?? [], sources }, Date.now())
        const found = views.filter((view) => key === null || view['field'] === key)
        for (const view of id === Number(object) ? behind(found, field) : found)
          yield { row: conflictRow(resource, id, view), position: place + String(view['field']) }
        yield { row: null, position: place }
      }
      if (ids.length < BATCH) break
      last = ids.at(-1) as number
    }
  }
}

/** What follows the conflict that the page before ended with. */
function behind(found: Row[], field: string): Row[] {
  return found.slice(found.findIndex((view) => view['field'] === field) + 1)
}

function conflictRow({ name, prefix, extensions }: Resource, id: number, shown: Row): Row {
  const { field, ...view } = shownView(extensions, shown)
  return { object_id: publicId(prefix, id), type: name, field, ...view }
}
