/** Conflicts of all objects: every value on which sources differ now, in the order of types and objects. */
import { assertionsOf, ranksOf } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { resources } from '../resources.ts'
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
  { type, attribute }: ConflictFilter,
  after: string | null,
  limit: number,
): Promise<ConflictPage> {
  const sources = await ranksOf(store.db, org_id)
  const types = resources.filter(({ name }) => type === null || name === type)
  const [first, object = '0', field = ''] = (after ?? '').split(':')
  const data: Row[] = []
  let scanned = 0
  let last = Number(object)
  let skip: { id: number; field: string } | null = field ? { id: last, field } : null
  // An object shown in part is looked at again.
  if (skip) last--
  for (const resource of types.slice(
    Math.max(
      0,
      types.findIndex(({ name }) => name === first),
    ),
  )) {
    for (;;) {
      const search = { resource, alone: false, attribute }
      const ids = await contestedIds(store.db, org_id, search, last, BATCH)
      const known = await assertionsOf(store.db, org_id, ids)
      for (const id of ids) {
        const claims = { resource, known: known.get(id) ?? [], sources }
        const found = conflictViews(claims, Date.now()).filter((view) => {
          return attribute === null || view['field'] === attribute
        })
        const rest = skip?.id === id ? behind(found, skip.field) : found
        for (const view of rest) {
          data.push(conflictRow(resource, id, view))
          if (data.length === limit)
            return { data, next: `${resource.name}:${id}:${String(view['field'])}` }
        }
        if (++scanned === SCAN_MAX) return { data, next: `${resource.name}:${id}:` }
      }
      if (ids.length < BATCH) break
      last = ids.at(-1) as number
    }
    last = 0
    skip = null
  }
  return { data, next: null }
}

/** What follows the conflict that the page before ended with. */
function behind(found: Row[], field: string): Row[] {
  return found.slice(found.findIndex((view) => view['field'] === field) + 1)
}

function conflictRow({ name, prefix }: Resource, id: number, { field, ...view }: Row): Row {
  return { object_id: publicId(prefix, id), type: name, field, ...view }
}
