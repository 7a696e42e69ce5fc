/** Reads at another time: objects folded from their claims instead of taken from the projection. */
import type { Cells, Statement } from '../db/pipeline.ts'
import { standIn } from './cluster-queries.ts'
import { isExtensionKey } from './extension.ts'
import { publicId } from './ids.ts'
import type { Times } from './query.ts'
import { allFields } from './resource.ts'
import type { Resource, Row } from './resource.ts'
import { emptyValue, normalise } from './row.ts'
import { unrestricted } from './restriction.ts'
import { RuleBook } from './survivorship.ts'
import type { Ranks, Rule } from './survivorship.ts'
import { fold } from './timeline.ts'
import type { Assertion, Folded, SourceRank } from './timeline.ts'
import type { Flights, OrgDb } from './types.ts'

/** An assertion with what its transaction says about it. */
export interface Known extends Assertion {
  recorded_at: number
  actor_type: string
  actor_id: string | null
  actor_name: string
  job_id: number | null
  row_no: number | null
  /** Why a person made it. */
  reason: string | null
  /** Public id of the merged object that it was claimed of; absent where that is the object itself. */
  member_id?: string
}

/** A claim with the transactions between which it was one on the object. */
export type Held = Known & { since_tx?: number; until_tx?: number }

/** A write takes its time up to this long before its transaction begins, in milliseconds. */
const SETTLE_MARGIN_MS = 100

/** How long a read waits for transactions that began before its known-at time, in milliseconds. */
const SETTLE_MAX_MS = 5_000

const CLAIM = `a.source_id, a.valid_from, a.valid_to, a.tx_id, a.attrs, a.retracts, a.confidence,
          t.at, t.actor_type, t.actor_id, t.actor_name, t.job_id, a.row_no, t.reason`

/** Members first, the rest of each by its index: that there are few is what the planner does not know. */
const CLAIMS_OF_MEMBER = `cross join lateral (
          select * from assertion a where a.org_id = $1::bigint and a.object_id = m.object_id offset 0) a
        cross join lateral (
          select * from tx t where t.org_id = $1::bigint and t.tx_id = a.tx_id limit 1) t`

/**
 * Every claim on the objects and on what was merged into them, by object id. Objects that claims name are those that stand
 * for them now. `known_at` leaves out what was recorded later; clusters are those of today.
 */
export async function assertionsOf(
  db: Flights,
  org_id: number,
  ids: readonly number[],
  known_at: number | null = null,
): Promise<Map<number, Known[]>> {
  if (ids.length === 0) return new Map()
  const params = [
    org_id,
    `{${ids.join(',')}}`,
    known_at === null ? null : new Date(known_at).toISOString(),
  ]
  const members = {
    sql: `with m as materialized (
          select object_id, head_id, public_id from cluster_member where org_id = $1::bigint and head_id = any($2::bigint[]))
        select json_build_array(m.head_id, ${CLAIM}), m.object_id, m.public_id from m ${CLAIMS_OF_MEMBER}
        where $3::timestamptz is null or t.at <= $3::timestamptz`,
    params,
  }
  const merged = {
    sql: `select exists (select from cluster_member where org_id = $1::bigint),
        (select string_agg('x' || id, ' ') from schema_field where org_id = $1::bigint and type in ('relation', 'document'))`,
    params: [org_id],
  }
  const [own = [], others = [], any] = await db.fly(org_id, [ownClaims(params), members, merged])
  const known = knownOf([...own, ...others])
  const [some, leading] = any?.[0] ?? []
  if (isTrue(some))
    await standIn(db, org_id, [...known.values()].flat(), leading ? String(leading).split(' ') : [])
  return known
}

/**
 * The claims on the objects with those of all they ever took in, each with the transactions between which it was theirs:
 * what events of imports are rendered from, the same at any time. References are as they were claimed.
 */
export async function assertionsEver(
  db: Flights,
  org_id: number,
  ids: readonly number[],
): Promise<Map<number, Held[]>> {
  if (ids.length === 0) return new Map()
  const params = [org_id, `{${ids.join(',')}}`, null]
  const members = {
    sql: `with recursive part(head_id, object_id, since_tx, until_tx) as (
          select g.winner_id, g.loser_id, g.tx_id, coalesce(g.unmerge_tx, 9e15::bigint) from object_merge g
          where g.org_id = $1::bigint and g.winner_id = any($2::bigint[])
          union all
          select p.head_id, g.loser_id, greatest(p.since_tx, g.tx_id), least(p.until_tx, coalesce(g.unmerge_tx, 9e15::bigint))
          from part p join object_merge g on g.org_id = $1::bigint and g.winner_id = p.object_id
          where greatest(p.since_tx, g.tx_id) < least(p.until_tx, coalesce(g.unmerge_tx, 9e15::bigint))
        )
        select json_build_array(m.head_id, ${CLAIM}), m.object_id, null, m.since_tx, m.until_tx
        from part m ${CLAIMS_OF_MEMBER}`,
    params: params.slice(0, 2),
  }
  const [own = [], others = []] = await db.fly(org_id, [ownClaims(params), members])
  return knownOf([...own, ...others])
}

function ownClaims(params: Statement['params']): Statement {
  return {
    sql: `select json_build_array(a.object_id, ${CLAIM})
        from assertion a join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
        where a.org_id = $1::bigint and a.object_id = any($2::bigint[]) and ($3::timestamptz is null or t.at <= $3::timestamptz)`,
    params,
  }
}

function knownOf(rows: readonly Cells[]): Map<number, Held[]> {
  const result = new Map<number, Held[]>()
  for (const row of rows) {
    const a = JSON.parse(String(row[0])) as ClaimRow
    const known: Held = {
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
      reason: a[14],
    }
    const [, member, member_id, since_tx, until_tx] = row
    if (member) known.member = Number(String(member))
    if (member_id) known.member_id = String(member_id)
    if (since_tx) known.since_tx = Number(String(since_tx))
    if (until_tx) known.until_tx = Number(String(until_tx))
    const list = result.get(a[0])
    if (list) list.push(known)
    else result.set(a[0], [known])
  }
  return result
}

function isTrue(cell: Buffer | null | undefined): boolean {
  return cell?.[0] === 0x74
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
  reason: string | null,
]

export interface Source extends SourceRank {
  id: number
  kind: string
  name: string
}

/** The organization's sources by id, with the rules that choose between their claims. */
export class Sources extends Map<number, Source> implements Ranks {
  readonly rules: RuleBook
  /** Counts the changes of rules and ranks. */
  readonly revision: number

  constructor(sources: readonly Source[], rules: readonly Rule[], revision: number) {
    super(sources.map((source) => [source.id, source]))
    this.rules = new RuleBook(rules)
    this.revision = revision
  }
}

/** Rank of the API; lower is believed before it. */
export const API_RANK = 50

/** Sources every organization has. A value pinned by a user outranks all; claims of machines that read need confidence. */
export const BUILT_IN: readonly Source[] = [
  {
    id: 1,
    kind: 'api',
    name: 'API',
    rank: API_RANK,
    min_confidence: 0,
    manual: true,
    lists: false,
  },
  { id: 2, kind: 'user', name: 'User', rank: 0, min_confidence: 0, manual: true, lists: false },
  {
    id: 3,
    kind: 'document_extraction',
    name: 'Documents',
    rank: 70,
    min_confidence: 800,
    lists: false,
  },
  { id: 4, kind: 'assistant', name: 'Assistant', rank: 80, min_confidence: 800, lists: false },
  { id: 5, kind: 'computed', name: 'Computed', rank: 60, min_confidence: 0, lists: false },
  { id: 6, kind: 'demo', name: 'Demo portfolio', rank: 50, min_confidence: 0 },
]

/** The organization's sources and rules as they are now: reads of the past weigh what was known then by them too. */
export async function ranksOf(db: Flights, org_id: number): Promise<Sources> {
  const [sources = [], rules = [], head = []] = await db.fly(org_id, [
    {
      sql: `select json_build_object('id', id, 'kind', kind, 'name', name, 'rank', rank, 'min_confidence', min_confidence,
          'trust', trust, 'stale', stale, 'system_of_record', system_of_record) from source where org_id = $1::bigint`,
      params: [org_id],
    },
    {
      sql: `select json_build_object('id', id, 'type', nullif(type, ''), 'attribute', nullif(attribute, ''), 'strategy', strategy,
          'sources', sources, 'min_confidence', min_confidence) from survivorship_rule where org_id = $1::bigint`,
      params: [org_id],
    },
    {
      sql: 'select revision from survivorship_head where org_id = $1::bigint',
      params: [org_id],
    },
  ])
  const own = sources.map(([text]) => JSON.parse(String(text)) as Source)
  const whole = (source: Source): Source => ({
    ...BUILT_IN.find(({ id }) => id === source.id),
    ...source,
  })
  return new Sources(
    [...BUILT_IN, ...own.map(whole)],
    rules.map(([text]) => JSON.parse(String(text)) as Rule),
    Number(String(head[0]?.[0] ?? 0)),
  )
}

/**
 * A row made of its claims. Bookkeeping comes from `base` (the present row, or the claims' own transactions).
 */
export function foldedRow(
  resource: Resource,
  base: Row,
  assertions: readonly Assertion[],
  ranks: Ranks,
  at: number,
): { row: Row; folded: Folded } {
  const folded = fold(assertions, at, ranks, resource.name)
  const row: Row = {}
  const derived = new Set(resource.derived)
  for (const [name, field] of Object.entries(allFields(resource))) {
    if (field.writeOnly) continue
    const value = folded.values[name]
    if (name in folded.values) row[name] = normalise(field, value) ?? emptyValue(field)
    else if (name in resource.fields && !derived.has(name)) row[name] = field.initial
    else row[name] = base[name] ?? field.initial
  }
  const merged = assertions.some(({ member }) => member !== undefined)
  if (merged) row['external_ids'] = externalIdsOf(assertions, ranks, at)
  else if (!('external_ids' in folded.values)) row['external_ids'] = []
  row['tags'] = folded.values['tags'] ?? []
  row['ext'] = extensionsIn(folded.values)
  for (const [name, value] of Object.entries(resource.derive(row))) {
    const field = resource.fields[name]
    if (field) row[name] = normalise(field, value)
  }
  return { row, folded }
}

/** Stored values of fields of the organization's own; those that were cleared are left out. */
function extensionsIn(values: Row): Row {
  const found: Row = {}
  for (const name in values)
    if (isExtensionKey(name) && values[name] !== null) found[name] = values[name]
  return found
}

/** Keys of every member: by each of them other systems know the one object. */
function externalIdsOf(
  assertions: readonly Assertion[],
  ranks: ReadonlyMap<number, SourceRank>,
  at: number,
): Row[] {
  const keys = new Map<string, Row>()
  const members = [...Map.groupBy(assertions, ({ member = 0 }) => member)]
  for (const [, own] of members.sort(([a], [b]) => a - b)) {
    for (const key of (fold(own, at, ranks).values['external_ids'] as Row[] | null) ?? []) {
      const name = JSON.stringify([key['system'], key['id']])
      if (!keys.has(name)) keys.set(name, key)
    }
  }
  return [...keys.values()]
}

/** The object as it was at the times asked for, or null when it did not exist then. */
export function rowAt(
  resource: Resource,
  org_id: number,
  id: number,
  known: readonly Known[],
  ranks: Ranks,
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
    if (!isTrue(rows?.[0]?.[0])) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
