/** Reads of any resource: lists by keyset, single objects, and the rows behind both. */
import type { KeyObject } from 'node:crypto'
import { Gather } from '../db/pipeline.ts'
import type { Cells, Statement } from '../db/pipeline.ts'
import { headsOf } from './cluster-queries.ts'
import type { Use } from './door.ts'
import { ApiError, notFound } from './errors.ts'
import { indexedListSql, indexedSort } from './extension-sort.ts'
import { conditionSql, keysetSql, sortSql } from './filter.ts'
import { encodeCursor } from './page.ts'
import type { ListQuery, Registry } from './query.ts'
import type { Resource, Row } from './resource.ts'
import type { OrgDb } from './types.ts'

/** Values computed from other objects, by object id, for the ids of one page. */
export type Rollup = (
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
) => Promise<Map<number, Row>>

/** What reads and writes of resources need. */
export interface Store {
  db: OrgDb
  registry: Registry
  /** Signs cursors; shared by all processes. */
  secret: KeyObject
  rollups: ReadonlyMap<string, Rollup>
  /** Buffers of pages already sent, to gather the next ones in. */
  pages: Buffer[]
}

export interface Page<T> {
  data: T
  has_more: boolean
  next_cursor: string | null
  total_count: number | null
}

/** Lists larger than this answer their count as null: counting them would cost more than the page. */
const COUNT_MAX = 100_000

/** Room for a page of a hundred leases; grows when needed. */
const PAGE_BYTES = 512 * 1024
const POOLED_BUFFERS = 64

/** A page as bytes: rendered rows passed through. Call `release` once the bytes are sent. */
export interface RawPage {
  bytes: Buffer
  next_cursor: string | null
  release: () => void
}

/** The default list: bodies pass from PostgreSQL to the client without being parsed. */
export async function listRaw(
  store: Store,
  org_id: number,
  resource: Resource,
  query: ListQuery,
): Promise<RawPage> {
  const gather = new Gather(
    '{"object":"list","data":[',
    store.pages.pop() ?? Buffer.allocUnsafe(PAGE_BYTES),
  )
  const statement = { ...listStatement(resource, org_id, query), gather }
  const results = await store.db.fly(org_id, [
    statement,
    ...countStatements(resource, org_id, query),
  ])
  const page = pageOf(store, query, results)
  const count = query.include.has('total_count') ? `,"total_count":${page.total_count}` : ''
  const tail = `],"has_more":${page.has_more},"next_cursor":${JSON.stringify(page.next_cursor)}${count}}`
  const bytes = gather.finish(Math.min(query.limit, results[0]?.length ?? 0), tail)
  const release = (): void => {
    if (store.pages.length < POOLED_BUFFERS) store.pages.push(gather.memory)
  }
  return { bytes, next_cursor: page.next_cursor, release }
}

/** The same list as rows, for answers that are shaped. */
export async function listRows(
  store: Store,
  org_id: number,
  resource: Resource,
  query: ListQuery,
): Promise<Page<Row[]>> {
  const results = await store.db.fly(org_id, [
    listStatement(resource, org_id, query),
    ...countStatements(resource, org_id, query),
  ])
  const rows = (results[0] ?? []).slice(0, query.limit).map((cells) => parseBody(cells[0]))
  const keys = (results[0] ?? []).map((cells) => cells.slice(1))
  return { ...pageOf(store, query, [keys, ...results.slice(1)]), data: rows }
}

function pageOf(store: Store, query: ListQuery, results: Cells[][]): Omit<Page<never>, 'data'> {
  const rows = results[0] ?? []
  const has_more = rows.length > query.limit
  const last = has_more ? rows[query.limit - 1] : undefined
  const next_cursor = last
    ? encodeCursor(
        store.secret,
        query.hash,
        last.map((cell) => cell?.toString() ?? null),
        Date.now(),
      )
    : null
  const counted = results[1]?.[0]?.[0]
  const total = counted ? Number(counted.toString()) : null
  return { has_more, next_cursor, total_count: total !== null && total > COUNT_MAX ? null : total }
}

/** Body first, then the sort keys, of one more row than asked for. */
export function listStatement(resource: Resource, org_id: number, query: ListQuery): Statement {
  const params: string[] = []
  const where = whereSql(resource, org_id, query, params)
  const indexed = indexedSort(query)
  if (indexed) return { sql: indexedListSql(resource, indexed, query, where, params), params }
  const keyset = keysetSql(query.sort, query.after, params)
  if (keyset.where) where.push(keyset.where)
  const keys = query.sort.map(sortSql).join(', ')
  const limit = `$${params.push(String(query.limit + 1))}::integer`
  return {
    sql: `select t.body, ${keys} from ${resource.name} t where ${where.join(' and ')} order by ${keyset.order} limit ${limit}`,
    params,
  }
}

function countStatements(resource: Resource, org_id: number, query: ListQuery): Statement[] {
  if (!query.include.has('total_count')) return []
  const params: string[] = []
  const where = whereSql(resource, org_id, query, params)
  const sql = `select count(*) from (select from ${resource.name} t where ${where.join(' and ')} limit ${COUNT_MAX + 1}) c`
  return [{ sql, params }]
}

/** How many objects a list has, or `most` if it has more; without a query, how many there are and ever were. */
export async function countUpTo(
  { db }: Pick<Store, 'db'>,
  org_id: number,
  resource: Resource,
  query: ListQuery | null,
  most: number,
): Promise<number> {
  const params: string[] = []
  const where = query
    ? whereSql(resource, org_id, query, params)
    : [ownSql(resource, `$${params.push(String(org_id))}::bigint`)]
  const sql = `select count(*) from (select from ${resource.name} t where ${where.join(' and ')} limit ${most}) c`
  const [rows] = await db.fly(org_id, [{ sql, params }])
  return Number(String(rows?.[0]?.[0]))
}

/** SQL of what an organization sees in table `t`: its own rows; of organizations itself and its children. */
export function ownSql(resource: Resource, org: string): string {
  return resource.name === 'organization'
    ? `(t.id = ${org} or t.parent_organization_id = ${org})`
    : `t.org_id = ${org}`
}

function whereSql(
  resource: Resource,
  org_id: number,
  query: ListQuery,
  params: string[],
): string[] {
  const org = `$${params.push(String(org_id))}::bigint`
  const where = [ownSql(resource, org)]
  if (!query.include.has('deleted')) where.push('t.deleted_at is null')
  if (
    !query.include.has('archived') &&
    !query.conditions.some((c) => c.column.name === 'archived_at')
  ) {
    where.push('t.archived_at is null')
  }
  for (const condition of query.conditions) where.push(conditionSql(condition, params))
  if (query.external) {
    const { system, id } = query.external
    where.push(
      `exists (select from external_key k where k.org_id = t.org_id and k.object_type = '${resource.name}' and k.object_id = t.id and k.system = $${params.push(system)} and k.external_id = $${params.push(id)})`,
    )
  }
  if (query.q) where.push(searchSql(query.q, params))
  return where
}

/** Every word must occur, or the whole be similar enough to bear a typing mistake; both use the trigram index. */
function searchSql(q: string, params: string[]): string {
  const every = q
    .split(/\s+/)
    .map((word) => `t.search like $${params.push(`%${word.replace(/[\\%_]/g, '\\$&')}%`)}`)
  return `((${every.join(' and ')}) or $${params.push(q)}::text <% t.search)`
}

/** One object's stored state. */
export interface Stored {
  version: number
  contested: boolean
  deleted: boolean
  body: Buffer
}

export async function find(
  store: Store,
  org_id: number,
  resource: Resource,
  id: number,
): Promise<Stored | undefined> {
  const own = ownSql(resource, '$1::bigint')
  const [rows] = await store.db.fly(org_id, [
    {
      sql: `select t.version, t.contested, t.deleted_at is not null, t.body from ${resource.name} t where ${own} and t.id = $2::bigint`,
      params: [org_id, id],
    },
  ])
  const row = rows?.[0]
  if (!row) return undefined
  return {
    version: Number(String(row[0])),
    contested: row[1]?.[0] === 0x74,
    deleted: row[2]?.[0] === 0x74,
    body: row[3] as Buffer,
  }
}

/** @throws 404 for what does not exist, was deleted, or belongs to another organization. */
export async function get(
  store: Store,
  org_id: number,
  resource: Resource,
  id: number,
): Promise<Stored> {
  const stored = await find(store, org_id, resource, id)
  if (!stored || stored.deleted) throw notFound(`${resource.title} ${resource.prefix}_${id}`)
  return stored
}

/**
 * The object that an id stands for: itself, or the one it was merged into.
 * @throws 404 as `get` does.
 */
export async function getStanding(
  store: Store,
  org_id: number,
  resource: Resource,
  id: number,
): Promise<Stored & { id: number }> {
  const stored = await find(store, org_id, resource, id)
  if (stored && !stored.deleted) return { ...stored, id }
  const head = stored && (await headsOf(store.db, org_id, [id])).get(id)
  if (head === undefined) throw notFound(`${resource.title} ${resource.prefix}_${id}`)
  return { ...(await get(store, org_id, resource, head)), id: head }
}

/** Rows of several objects of one type, by id; absent and deleted ones are left out. */
export async function findMany(
  store: Store,
  org_id: number,
  resource: Resource,
  ids: readonly number[],
): Promise<Map<number, Row>> {
  if (ids.length === 0) return new Map()
  const [rows] = await store.db.fly(org_id, [
    {
      sql: `select t.id, t.body from ${resource.name} t where t.org_id = $1::bigint and t.id = any($2::bigint[]) and t.deleted_at is null`,
      params: [org_id, `{${ids.join(',')}}`],
    },
  ])
  return new Map((rows ?? []).map((row) => [Number(String(row[0])), parseBody(row[1])]))
}

/** The fields by which objects need one of this type: those that are required. */
export function usesOf(store: Store, resource: Resource): Use[] {
  return [...store.registry.values()].flatMap((other) =>
    Object.entries(other.fields)
      .filter(([, f]) => f.kind === 'reference' && f.target === resource.name && f.required)
      .map(([column]) => ({ table: other.name, column })),
  )
}

/** @throws 409 naming what still needs the object. */
export async function refuseWhenUsed(
  store: Store,
  org_id: number,
  resource: Resource,
  id: number,
): Promise<void> {
  const uses = usesOf(store, resource)
  if (uses.length === 0) return
  const results = await store.db.fly(
    org_id,
    uses.map(({ table, column }) => ({
      sql: `select id from ${table} where org_id = $1::bigint and ${column} = $2::bigint and deleted_at is null limit 1`,
      params: [org_id, id],
    })),
  )
  const used_by = uses
    .filter((_, i) => (results[i]?.length ?? 0) > 0)
    .map(({ table }) => store.registry.get(table)?.path ?? table)
  if (used_by.length === 0) return
  const what = used_by.join(', ').replaceAll('_', ' ')
  const detail = `${resource.title} ${resource.prefix}_${id} still has ${what}; delete or move them first.`
  throw new ApiError('conflict', detail, { used_by })
}

export function parseBody(bytes: Buffer | null | undefined): Row {
  return JSON.parse((bytes as Buffer).toString()) as Row
}
