/** Lists ordered by a filterable field of the organization's own: read in the order of the index, not sorted. */
import type { ExtensionColumn } from './extension-column.ts'
import type { SortKey } from './filter.ts'
import type { ListQuery } from './query.ts'
import type { Resource } from './resource.ts'

const TYPES = { v_num: 'numeric', v_text: 'text', v_time: 'timestamptz' } as const

/** A sort by one indexed field and the id. */
export interface IndexedSort {
  own: ExtensionColumn & { index: keyof typeof TYPES }
  value: SortKey
  id: SortKey
}

/** The sort, when the index can give its order. */
export function indexedSort({ sort }: ListQuery): IndexedSort | null {
  const [value, id, more] = sort
  const own = value?.own
  if (!value || !own?.index || !own.extension.indexed || id?.column !== 'id' || more) return null
  return { own: own as IndexedSort['own'], value, id }
}

/**
 * SQL of a page: objects with a value first, in its order, then those without, which are read only when the page has room.
 * @param where conditions on the table `t`; values are appended to `params`.
 */
export function indexedListSql(
  { name }: Resource,
  { own, value, id }: IndexedSort,
  { after, limit }: ListQuery,
  where: readonly string[],
  params: string[],
): string {
  const bind = (text: string, type: string): string => `$${params.push(text)}::${type}`
  const field = bind(String(own.extension.id), 'bigint')
  const most = bind(String(limit + 1), 'integer')
  const column = `e.${own.index}`
  const [last = null, lastId = null] = after ?? []
  const beyond =
    lastId === null ? null : `t.id ${id.descending ? '<' : '>'} ${bind(lastId, 'bigint')}`
  const valued = [
    `e.org_id = $1::bigint`,
    `e.field_id = ${field}`,
    `${column} is not null`,
    ...where,
  ]
  const blank = [
    `not exists (select from ext_index e where e.org_id = $1::bigint and e.field_id = ${field} and e.object_id = t.id)`,
    ...where,
  ]
  if (beyond !== null && last !== null) {
    const bound = bind(last, TYPES[own.index])
    const past = `${column} ${value.descending ? '<' : '>'} ${bound}`
    valued.push(`(${past} or (${column} = ${bound} and ${beyond}))`)
  } else if (beyond !== null) {
    valued.push('false')
    blank.push(beyond)
  }
  const byValue = value.descending ? 'desc' : 'asc'
  const byId = id.descending ? 'desc' : 'asc'
  return `with valued as materialized (
      select t.body, ${column} as v, t.id from ext_index e join ${name} t on t.org_id = e.org_id and t.id = e.object_id
      where ${valued.join(' and ')} order by ${column} ${byValue}, t.id ${byId} limit ${most}
    ), blank as (
      select t.body, null::${TYPES[own.index]} as v, t.id from ${name} t
      where (select count(*) from valued) < ${most} and ${blank.join(' and ')} order by t.id ${byId} limit ${most}
    )
    select body, v, id from (select * from valued union all select * from blank) page
    order by v ${byValue} nulls last, id ${byId} limit ${most}`
}
