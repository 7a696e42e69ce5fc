/** Paging of lists that are no resources: logs, feeds, jobs. */
import { decodeCursor, encodeCursor, queryHash } from './page.ts'
import type { Row } from './resource.ts'
import type { Store } from './store.ts'

export interface Paging {
  /** The number the cursor stands at. */
  after: number | null
  values: string | null
  of: (
    rows: Row[],
    limit: number,
    position: (row: Row, i: number) => string,
  ) => {
    data: Row[]
    has_more: boolean
    next_cursor: string | null
    total_count: null
  }
  /** A page that says itself where the next one goes on; null at the end. */
  from: (
    data: Row[],
    next: string | null,
  ) => { data: Row[]; has_more: boolean; next_cursor: string | null; total_count: null }
}

/** One signed position in a list that the cursor is bound to. */
export function paging(
  store: Pick<Store, 'secret'>,
  org_id: number,
  list: readonly string[],
  cursor: string | undefined,
): Paging {
  const { secret } = store
  const hash = queryHash(org_id, list)
  const [values = null] = cursor ? decodeCursor(secret, hash, cursor, Date.now()) : []
  return {
    after: values === null ? null : Number(values),
    values,
    from: (data, next) => {
      const next_cursor = next === null ? null : encodeCursor(secret, hash, [next], Date.now())
      return { data, has_more: next !== null, next_cursor, total_count: null }
    },
    of: (rows, limit, position) => {
      const has_more = rows.length > limit
      const data = rows.slice(0, limit)
      const last = data.at(-1)
      const next_cursor =
        has_more && last
          ? encodeCursor(secret, hash, [position(last, limit - 1)], Date.now())
          : null
      return { data, has_more, next_cursor, total_count: null }
    },
  }
}
