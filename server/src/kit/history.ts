/** Reads at another time: objects folded from their claims instead of taken from the projection. */
import { conditionHolds } from './filter.ts'
import { invalid } from './errors.ts'
import { publicId } from './ids.ts'
import { encodeCursor } from './page.ts'
import type { ListQuery, Times } from './query.ts'
import { allFields } from './resource.ts'
import type { Resource, Row } from './resource.ts'
import { emptyValue, normalise } from './row.ts'
import { unrestricted } from './restriction.ts'
import { ownSql } from './store.ts'
import type { Page, Store } from './store.ts'
import { fold } from './timeline.ts'
import type { Assertion, Folded, SourceRank } from './timeline.ts'
import type { OrgDb } from './types.ts'

/** An assertion with what its transaction says about it. */
export interface Known extends Assertion {
  recorded_at: number
  actor_type: string
  actor_id: string | null
  actor_name: string
  job_id: number | null
  row_no: number | null
}

/** Objects folded at once, at most: a list at another time begins with a page and takes more where filters leave few. */
const STEP_MAX = 500

/** A filtered list at another time may look at this many objects for one page. */
export const SCAN_MAX = 200_000

/** A write takes its time up to this long before its transaction begins, in milliseconds. */
const SETTLE_MARGIN_MS = 100

/** How long a read waits for transactions that began before its known-at time, in milliseconds. */
const SETTLE_MAX_MS = 5_000

/** Every claim on the objects, by object id; `known_at` leaves out what was recorded later. */
export async function assertionsOf(
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
  known_at: number | null = null,
): Promise<Map<number, Known[]>> {
  const result = new Map<number, Known[]>()
  if (ids.length === 0) return result
  const [rows] = await db.fly(org_id, [
    {
      sql: `select json_build_array(a.object_id, a.source_id, a.valid_from, a.valid_to, a.tx_id, a.attrs, a.retracts, a.confidence,
          t.at, t.actor_type, t.actor_id, t.actor_name, t.job_id, a.row_no)
        from assertion a join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
        where a.org_id = $1::bigint and a.object_id = any($2::bigint[]) and ($3::timestamptz is null or t.at <= $3::timestamptz)`,
      params: [
        org_id,
        `{${ids.join(',')}}`,
        known_at === null ? null : new Date(known_at).toISOString(),
      ],
    },
  ])
  for (const row of rows ?? []) {
    const a = JSON.parse(String(row[0])) as ClaimRow
    const known: Known = {
      source_id: a[1],
      valid_from: Date.parse(a[2]),
      valid_to: a[3] === null ? null : Date.parse(a[3]),
      tx_id: a[4],
      attrs: a[5],
      retracts: a[6],
      confidence: a[7],
      recorded_at: Date.parse(a[8]),
      actor_type: a[9],
      actor_id: a[10],
      actor_name: a[11],
      job_id: a[12],
      row_no: a[13],
    }
    const list = result.get(a[0])
    if (list) list.push(known)
    else result.set(a[0], [known])
  }
  return result
}

/** Where an object's claims stand: an organization's under itself, also when its parent looks at it. */
export function ownerOf(resource: Resource, org_id: number, id: number): number {
  return resource.name === 'organization' ? id : org_id
}

/**
 * What `read` finds for objects of one type, all of them visible to the organization. A flight sees one organization, so
 * child organizations take one each.
 */
export async function byOwner<T>(
  resource: Resource,
  org_id: number,
  ids: readonly number[],
  read: (owner: number, ids: readonly number[]) => Promise<Map<number, T>>,
): Promise<Map<number, T>> {
  const owners = Map.groupBy(ids, (id) => ownerOf(resource, org_id, id))
  const found = await Promise.all([...owners].map(([owner, own]) => read(owner, own)))
  return new Map(found.flatMap((part) => [...part]))
}

/** One assertion as the query above returns it. */
type ClaimRow = [
  object_id: number,
  source_id: number,
  valid_from: string,
  valid_to: string | null,
  tx_id: number,
  attrs: Row,
  retracts: string[] | null,
  confidence: number,
  recorded_at: string,
  actor_type: string,
  actor_id: string | null,
  actor_name: string,
  job_id: number | null,
  row_no: number | null,
]

export interface Source extends SourceRank {
  id: number
  kind: string
  name: string
}

/** Sources every organization has. A value pinned by a user outranks all; claims of machines that read need confidence. */
const BUILT_IN: readonly Source[] = [
  { id: 1, kind: 'api', name: 'API', rank: 50, min_confidence: 0 },
  { id: 2, kind: 'user', name: 'User', rank: 0, min_confidence: 0 },
  { id: 3, kind: 'document_extraction', name: 'Documents', rank: 70, min_confidence: 800 },
  { id: 4, kind: 'assistant', name: 'Assistant', rank: 80, min_confidence: 800 },
  { id: 5, kind: 'computed', name: 'Computed', rank: 60, min_confidence: 0 },
  { id: 6, kind: 'demo', name: 'Demo portfolio', rank: 50, min_confidence: 0 },
]

/** The organization's sources by id. */
export async function ranksOf(db: OrgDb, org_id: number): Promise<Map<number, Source>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: 'select id, kind, name, rank, min_confidence from source where org_id = $1::bigint',
      params: [org_id],
    },
  ])
  const own = (rows ?? []).map((row) => {
    const [id, kind, name, rank, min] = row.map(String)
    return {
      id: Number(id),
      kind: kind as string,
      name: name as string,
      rank: Number(rank),
      min_confidence: Number(min),
    }
  })
  return new Map([...BUILT_IN, ...own].map((source) => [source.id, source]))
}

/**
 * A row made of its claims. Bookkeeping comes from `base` (the present row, or the claims' own transactions).
 */
export function foldedRow(
  resource: Resource,
  base: Row,
  assertions: readonly Assertion[],
  ranks: ReadonlyMap<number, SourceRank>,
  at: number,
): { row: Row; folded: Folded } {
  const folded = fold(assertions, at, ranks)
  const row: Row = {}
  const derived = new Set(resource.derived)
  for (const [name, field] of Object.entries(allFields(resource))) {
    if (field.writeOnly) continue
    const value = folded.values[name]
    if (name in folded.values) row[name] = normalise(field, value) ?? emptyValue(field)
    else if (name in resource.fields && !derived.has(name)) row[name] = field.initial
    else row[name] = base[name] ?? field.initial
  }
  row['external_ids'] = folded.values['external_ids'] ?? []
  row['tags'] = folded.values['tags'] ?? []
  for (const [name, value] of Object.entries(resource.derive(row))) {
    const field = resource.fields[name]
    if (field) row[name] = normalise(field, value)
  }
  return { row, folded }
}

/** The object as it was at the times asked for, or null when it did not exist then. */
export function rowAt(
  resource: Resource,
  org_id: number,
  id: number,
  known: readonly Known[],
  ranks: ReadonlyMap<number, SourceRank>,
  times: Times,
): Row | null {
  const at = times.as_of ?? Date.now()
  const past = known.filter((a) => a.valid_from <= at)
  if (past.length === 0) return null
  const first = past.reduce((a, b) => (a.recorded_at <= b.recorded_at ? a : b))
  const last = past.reduce((a, b) => (a.recorded_at >= b.recorded_at ? a : b))
  const base: Row = {
    id: publicId(resource.prefix, id),
    object: resource.name,
    organization_id: publicId('org', org_id),
    ext: {},
    version: new Set(past.map((a) => a.tx_id)).size,
    created_at: new Date(first.recorded_at).toISOString(),
    updated_at: new Date(last.recorded_at).toISOString(),
    created_by: { type: first.actor_type, id: first.actor_id },
    archived_at: null,
    deleted_at: null,
  }
  const { row, folded } = foldedRow(resource, base, known, ranks, at)
  return folded.deleted || !folded.present ? null : row
}

/** A page of the collection as it was: the same filters, sorted by id. */
export async function listAt(
  store: Store,
  org_id: number,
  resource: Resource,
  query: ListQuery,
): Promise<Page<Row[]>> {
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
  await settle(store.db, org_id, query.known_at)
  const ranks = await ranksOf(store.db, org_id)
  const counting = query.include.has('total_count')
  const found: Row[] = []
  let total = 0
  let after: string | null = query.after?.[0] ?? null
  let step = counting ? STEP_MAX : query.limit + 1
  for (let scanned = 0; scanned < SCAN_MAX;) {
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
    if (ids.length < step || (found.length > query.limit && !counting)) break
    after = String(ids.at(-1))
    step = Math.min(STEP_MAX, 2 * step)
  }
  const has_more = found.length > query.limit
  const data = found.slice(0, query.limit)
  const last = String(data.at(-1)?.['id'] ?? '').replace(/^.*_/, '')
  const next_cursor = has_more ? encodeCursor(store.secret, query.hash, [last], Date.now()) : null
  return { data, has_more, next_cursor, total_count: counting && !query.after ? total : null }
}

/** Ids of objects in order, those left out that were recorded after `known_at`. */
async function idsAfter(
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
      sql: `select t.id from ${resource.name} t where ${ownSql(resource, '$1::bigint')} and ($2::bigint is null or t.id ${bound} $2::bigint)
          and ($3::timestamptz is null or t.created_at <= $3::timestamptz)
        order by t.id ${descending ? 'desc' : 'asc'} limit $4::integer`,
      params: [org_id, after, known_at === null ? null : new Date(known_at).toISOString(), count],
    },
  ])
  return (rows ?? []).map((row) => Number(String(row[0])))
}

/**
 * Waits until no transaction is open that could yet add rows to what was known at `known_at`. Writes take milliseconds,
 * import chunks less than a second.
 */
export async function settle(db: OrgDb, org_id: number, known_at: number | null): Promise<void> {
  const start = Date.now()
  if (known_at === null || known_at < start - 60_000) return
  // What is to be known later than now cannot be waited for.
  const wait_ms = Math.min(known_at, start) + SETTLE_MARGIN_MS - start
  if (wait_ms > 0) await new Promise((resolve) => setTimeout(resolve, wait_ms))
  const until = new Date().toISOString()
  while (Date.now() < start + SETTLE_MAX_MS) {
    const open = {
      sql: `select exists (select from pg_stat_activity where datname = current_database() and backend_xid is not null
        and pid <> pg_backend_pid() and xact_start <= $1::timestamptz)`,
      params: [until],
    }
    // Sessions of another role would not be seen.
    const [rows] = await unrestricted(async () => await db.fly(org_id, [open]))
    if (rows?.[0]?.[0]?.[0] !== 0x74) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
