/** A whole list, page by page, for whoever writes it to a file. */
import { listAt } from '../past-lists.ts'
import { decodeCursor } from '../page.ts'
import type { ListQuery } from '../query.ts'
import type { Resource, Row } from '../resource.ts'
import { shapeRows } from '../shape.ts'
import { listRows } from '../store.ts'
import type { Store } from '../store.ts'

/**
 * The rows of a list in its order, `size` at a time: by keyset, so that none is lost or repeated while others write, and
 * one page is in memory.
 */
export async function* listPages(
  store: Store,
  org_id: number,
  resource: Resource,
  query: ListQuery,
  size: number,
): AsyncGenerator<Row[]> {
  const timed = query.as_of !== null || query.known_at !== null
  let after: ListQuery['after'] = null
  for (;;) {
    const part: ListQuery = { ...query, limit: size, after }
    const page = await (timed ? listAt : listRows)(store, org_id, resource, part)
    yield await shapeRows(store, org_id, resource, page.data, query)
    if (!page.next_cursor) return
    after = decodeCursor(store.secret, query.hash, page.next_cursor, Date.now())
  }
}
