/** Lists at another time: pages of objects folded from their claims. */
import { invalid } from './errors.ts'
import { conditionHolds } from './filter.ts'
import { assertionsOf, byOwner, ownerOf, ranksOf, rowAt, settle } from './history.ts'
import { encodeCursor } from './page.ts'
import type { SortKey } from './filter.ts'
import type { ListQuery } from './query.ts'
import type { Resource, Row } from './resource.ts'
import { ownSql } from './store.ts'
import type { Page, Store } from './store.ts'
import type { OrgDb } from './types.ts'

/** Objects folded at once, at most: a list at another time begins with a page and takes more where filters leave few. */
export const STEP_MAX = 500

/** A filtered list at another time may look at this many objects for one page. */
export const SCAN_MAX = 200_000

/**
 * A page of the collection as it was: the same filters, sorted by id. One that looked at as many objects as it may goes on
 * with the next page, however few it found.
 */
export async function listAt(
  store: Store,
  org_id: number,
  resource: Resource,
  query: ListQuery,
  most = SCAN_MAX,
): Promise<Page<Row[]>> {
  const key = keyAt(query)
  await settle(store.db, org_id, query.known_at)
  const ranks = await ranksOf(store.db, org_id)
  const counting = query.include.has('total_count')
  const found: Row[] = []
  let total = 0
  let after: string | null = query.after?.[0] ?? null
  let step = counting ? STEP_MAX : query.limit + 1
  let scanned = 0
  let ended = false
  while (scanned < most && !ended) {
    const ids = await idsAfter(
      store.db,
      org_id,
      resource,
      query.known_at,
      key.descending,
      after,
      step,
    )
    const known = await byOwner(resource, org_id, ids, (owner, own) =>
      assertionsOf(store.db, owner, own, query.known_at),
    )
    for (const id of ids) {
      const owner = ownerOf(resource, org_id, id)
      const row = rowAt(resource, owner, id, known.get(id) ?? [], ranks, query)
      if (!row || !query.conditions.every((condition) => conditionHolds(condition, row))) continue
      total++
      if (found.length <= query.limit) found.push(row)
    }
    scanned += ids.length
    ended = ids.length < step
    if (found.length > query.limit && !counting) break
    after = String(ids.at(-1))
    step = Math.min(STEP_MAX, 2 * step)
  }
  const data = found.slice(0, query.limit)
  const full = found.length > query.limit
  const last = full ? String(data.at(-1)?.['id']).replace(/^.*_/, '') : after
  const has_more = full || !ended
  const next_cursor = has_more ? encodeCursor(store.secret, query.hash, [last], Date.now()) : null
  const total_count = counting && !query.after && ended ? total : null
  return { data, has_more, next_cursor, total_count }
}

/** @throws 422 for what only lists of the present can do. */
function keyAt(query: ListQuery): SortKey {
  const [key] = query.sort
  if (
    query.sort.length !== 1 ||
    key?.column !== 'id' ||
    query.q ||
    query.external ||
    query.conditions.some((c) => c.via)
  ) {
    throw invalid([
      {
        field: query.q ? 'q' : query.external ? 'external_id' : 'sort',
        code: 'unsupported_with_time',
        message: 'lists at another time take plain filters and sort=id or sort=-id',
      },
    ])
  }
  return key
}

/** Ids of objects in order, those left out that were recorded after `known_at`. */
export async function idsAfter(
  db: OrgDb,
  org_id: number,
  resource: Resource,
  known_at: number | null,
  descending: boolean,
  after: string | null,
  count: number,
): Promise<number[]> {
  const bound = descending ? '<' : '>'
  const [rows] = await db.fly(org_id, [
    {
      sql: `select t.id from ${resource.name} t where ${ownSql(resource, '$1::bigint')}
          and not exists (select from cluster_member m where m.org_id = t.org_id and m.object_id = t.id) and ($2::bigint is null or t.id ${bound} $2::bigint)
          and ($3::timestamptz is null or t.created_at <= $3::timestamptz)
        order by t.id ${descending ? 'desc' : 'asc'} limit $4::integer`,
      params: [org_id, after, known_at === null ? null : new Date(known_at).toISOString(), count],
    },
  ])
  return (rows ?? []).map((row) => Number(String(row[0])))
}
