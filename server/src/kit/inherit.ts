import { idDigits } from './ids.ts'
import type { Resource, Row } from './resource.ts'
import type { Prepare } from './routes.ts'
import { find, parseBody } from './store.ts'

/** What children take from their parent when the client leaves it out. */
const INHERITED = ['currency', 'area_unit'] as const

/**
 * A lease counts in its property's currency and area unit unless it says otherwise. A parent that does not exist is left
 * to the write, which refuses it.
 * @param above how the parent itself inherits what it has no field for: a space has its building's property's currency.
 */
export function inherit(parent: Resource, field: string, above?: Prepare): Prepare {
  return async (store, request, input) => {
    const wanted = INHERITED.filter(
      (name) => input[name] === undefined && (above || name in parent.fields),
    )
    const id = idDigits(parent.prefix, String(input[field] ?? ''))
    if (wanted.length === 0 || id === null) return input
    const stored = await find(store, request.org_id, parent, id)
    if (!stored) return input
    const own = parseBody(stored.body)
    const row = above ? await above(store, request, own) : own
    const given: Row = Object.fromEntries(
      wanted.flatMap((name) => (row[name] ? [[name, row[name]]] : [])),
    )
    return { ...input, ...given }
  }
}
