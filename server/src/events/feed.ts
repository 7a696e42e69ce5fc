/** The feed of an organization's events: those of placed transactions, in the order of their numbers. */
import { idDigits, publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb } from '../kit/types.ts'

export interface FeedEvent {
  org_id: number
  /** Number in the feed of the organization, without gaps. */
  seq: number
  tx_id: number
  /** Place in its transaction. */
  n: number
  at: Date
  type: string
  object_type: string
  object_id: number
  /** What it did to the object; null when it tells of the object without being a change of it. */
  operation: string | null
  /** Version of the object. */
  version: number
  changed: string[]
  /** Old values of the changed fields. */
  previous: Row
  /** What it says beside the object. */
  about: Row | null
  /** JSON of the object as it was then; null after an import, when it is rendered from its facts. */
  body: string | null
  actor_type: string
  actor_id: string | null
  actor_name: string
  request_id: string | null
  job_id: number | null
  environment: string
}

/** What else narrows a read of the feed. */
export interface FeedFilter {
  object_id?: number | null
  /** From this time on. */
  since?: string | null
  /** Before this time. */
  until?: string | null
}

/** Events of one transaction have numbers below this; an event's id is made of both. */
const EVENTS_MAX = 100_000

/** Public id of an event, the same in the feed, the change feed and deliveries. */
export function eventId({ tx_id, n }: { tx_id: number | string; n: number }): string {
  return publicId('evt', Number(tx_id) * EVENTS_MAX + n)
}

/** Does the type fit one of the patterns: exact names, `lease.*`, `*`? Null fits all. */
export function matchesType(patterns: readonly string[] | null, type: string): boolean {
  if (patterns === null) return true
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern,
  )
}

/** The same patterns for SQL: `type like any(...)`. */
export function patternSql(patterns: readonly string[]): string[] {
  return patterns.map((pattern) => pattern.replace(/[\\%_]/g, '\\$&').replace(/\*$/, '%'))
}

/** For reads of their own of `tx t` and `event e`, with the organization as $1; rows pass `feedEvent`. */
export const FEED_COLUMNS = `e.org_id, t.first_seq + e.n as seq, e.tx_id, e.n, e.at, e.type, e.object_type, e.object_id, e.operation, e.version,
  e.changed, e.previous, e.about, e.body, t.actor_type, t.actor_id, t.actor_name, t.request_id, t.job_id,
  (select o.environment from organization o where o.org_id = $1 and o.id = $1) as environment`

/** As the database gives it: bigints are text. */
export type FeedRow = Omit<FeedEvent, BigintName | 'job_id'> &
  Record<BigintName, string> & { job_id: string | null }

type BigintName = 'org_id' | 'seq' | 'tx_id' | 'object_id'

/**
 * Events numbered above `after`, at most `limit`, of the types that fit `patterns`. Only transactions that the sequencer has
 * placed are seen, so none that was still open is passed by. The inner bound finds the transaction the position lies in,
 * and the transactions come in order, so a page costs what it shows.
 */
export async function eventsAfter(
  db: OrgDb,
  org_id: number,
  after: number,
  limit: number,
  patterns: readonly string[] | null = null,
  filter: FeedFilter = {},
): Promise<FeedEvent[]> {
  const { object_id = null, since = null, until = null } = filter
  const rows = await db.query<FeedRow>(
    org_id,
    `select ${FEED_COLUMNS}
     from (
       select * from tx where org_id = $1 and events > 0 and first_seq is not null
         and first_seq >= (select coalesce(max(b.first_seq), 0) from tx b where b.org_id = $1 and b.first_seq <= $2)
         and ($5::timestamptz is null or at >= $5) and ($6::timestamptz is null or at < $6)
       order by first_seq offset 0
     ) t join event e on e.org_id = t.org_id and e.tx_id = t.tx_id and e.at = t.at
     where t.first_seq + e.n > $2 and ($3::text[] is null or e.type like any($3)) and ($4::bigint is null or e.object_id = $4)
     order by t.first_seq, e.n limit $7`,
    [org_id, after, patterns && patternSql(patterns), object_id, since, until, limit],
  )
  return rows.map(feedEvent)
}

/** The event with this public id; undefined when the organization has none, or it is not placed yet. */
export async function findEvent(
  db: OrgDb,
  org_id: number,
  id: string,
): Promise<FeedEvent | undefined> {
  const [event] = await findEvents(db, org_id, [id])
  return event
}

/** The events with these public ids, in the order of the feed; absent ones are left out. */
export async function findEvents(
  db: OrgDb,
  org_id: number,
  ids: readonly string[],
): Promise<FeedEvent[]> {
  const places = ids.map((id) => idDigits('evt', id)).filter((place) => place !== null)
  const rows = await db.query<FeedRow>(
    org_id,
    `select ${FEED_COLUMNS}
     from unnest($2::bigint[], $3::integer[]) as i(tx_id, n)
     join tx t on t.org_id = $1 and t.tx_id = i.tx_id and t.first_seq is not null
     join event e on e.org_id = t.org_id and e.tx_id = t.tx_id and e.n = i.n and e.at = t.at
     order by t.first_seq, e.n`,
    [
      org_id,
      places.map((place) => Math.floor(place / EVENTS_MAX)),
      places.map((place) => place % EVENTS_MAX),
    ],
  )
  return rows.map(feedEvent)
}

export function feedEvent(row: FeedRow): FeedEvent {
  return {
    ...row,
    org_id: Number(row.org_id),
    seq: Number(row.seq),
    tx_id: Number(row.tx_id),
    object_id: Number(row.object_id),
    job_id: row.job_id === null ? null : Number(row.job_id),
  }
}

/** Number of the last event placed so far. */
export async function lastSeq(db: OrgDb, org_id: number): Promise<number> {
  const rows = await db.query<{ last: string | null }>(
    org_id,
    `select first_seq + events - 1 as last from tx where org_id = $1 and first_seq is not null
     order by first_seq desc, events desc limit 1`,
    [org_id],
  )
  return Number(rows[0]?.last ?? 0)
}
