/** SQL of replays: what they cover, how far they are, and the deliveries they make. */
import type { Db } from '../db/db.ts'
import { patternSql } from '../events/feed.ts'
import type { OrgDb, Tx } from '../kit/types.ts'

export const REPLAY_STATUSES = ['all', 'failed', 'held'] as const

/** What a replay covers. */
export interface ReplayRequest {
  /** Events by their transaction and place; null when a range of time is covered. */
  events: [tx_id: number, n: number][] | null
  status: (typeof REPLAY_STATUSES)[number]
  since: string | null
  until: string
  /** Patterns of event types. */
  types: string[]
  /** Deliveries a second; null for as many as the webhook takes. */
  rate: number | null
  in_order: boolean
}

export interface Replay {
  id: number
  webhook_id: number
  state: 'running' | 'completed' | 'cancelled'
  request: ReplayRequest
  position: number
  total: number
  queued: number
  created_at: Date
  finished_at: Date | null
}

export interface Progress {
  waiting: number
  succeeded: number
  failed: number
  cancelled: number
}

type ReplayRow = Omit<Replay, 'id' | 'webhook_id' | 'position'> &
  Record<'id' | 'webhook_id' | 'position', string>

const COLUMNS = 'id, webhook_id, state, request, position, total, queued, created_at, finished_at'

function replayOf(row: ReplayRow): Replay {
  const [id, webhook_id, position] = [row.id, row.webhook_id, row.position].map(Number)
  return { ...row, id, webhook_id, position } as Replay
}

/** Events covered, each with where it stands: in the list, in the feed, or among the ended deliveries. */
const ITEMS = {
  listed: `select i.ord as position, e.tx_id, e.n, e.type, e.object_id
    from jsonb_array_elements($3::jsonb -> 'events') with ordinality as i(item, ord)
    join tx t on t.org_id = $1 and t.tx_id = (i.item ->> 0)::bigint
    join event e on e.org_id = $1 and e.tx_id = t.tx_id and e.at = t.at and e.n = (i.item ->> 1)::integer
    where $2::bigint > 0 and i.ord > $4 and cardinality($5::text[]) > 0`,
  all: `select t.first_seq + e.n as position, e.tx_id, e.n, e.type, e.object_id
    from tx t join event e on e.org_id = t.org_id and e.tx_id = t.tx_id and e.at = t.at
    where t.org_id = $1 and $2::bigint > 0
      and t.first_seq >= coalesce((select max(b.first_seq) from tx b where b.org_id = $1 and b.first_seq <= $4), 0)
      and t.first_seq + e.n > $4 and e.type like any($5)
      and t.at >= coalesce(($3::jsonb ->> 'since')::timestamptz, '-infinity') and t.at < ($3::jsonb ->> 'until')::timestamptz`,
  ended: `select l.id as position, l.tx_id, l.n, l.type, l.object_id
    from delivery_log l
    where l.org_id = $1 and l.webhook_id = $2 and l.id > $4 and l.trigger = 'event' and l.type like any($5)
      and case $3::jsonb ->> 'status' when 'failed' then l.state = 'failed' else l.state = 'cancelled' and l.reason = 'dropped' end
      and l.at >= coalesce(($3::jsonb ->> 'since')::timestamptz, '-infinity') and l.at < ($3::jsonb ->> 'until')::timestamptz
      and not exists (
        select from delivery_log a where a.org_id = l.org_id and a.webhook_id = l.webhook_id and a.tx_id = l.tx_id and a.n = l.n
          and a.trigger = 'replay' and a.state = 'succeeded')`,
}

function itemsSql({ events, status }: ReplayRequest): string {
  if (events) return ITEMS.listed
  return status === 'all' ? ITEMS.all : ITEMS.ended
}

function itemsParams(
  org_id: number,
  webhook_id: number,
  request: ReplayRequest,
  position: number,
): unknown[] {
  return [org_id, webhook_id, JSON.stringify(request), position, patternSql(request.types)]
}

/** How many events a replay covers. */
export async function countItems(
  db: OrgDb,
  org_id: number,
  webhook_id: number,
  request: ReplayRequest,
): Promise<number> {
  const [row] = await db.query<{ count: string }>(
    org_id,
    `select count(*) from (${itemsSql(request)}) i`,
    itemsParams(org_id, webhook_id, request, 0),
  )
  return Number(row?.count)
}

export async function insertReplay(tx: Tx, org_id: number, replay: Replay): Promise<void> {
  await tx.query(
    `insert into replay (org_id, id, webhook_id, state, request, position, total, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      org_id,
      replay.id,
      replay.webhook_id,
      replay.state,
      JSON.stringify(replay.request),
      replay.position,
      replay.total,
      replay.created_at,
    ],
  )
}

export async function findReplay(
  db: OrgDb,
  org_id: number,
  webhook_id: number,
  id: number,
): Promise<Replay | undefined> {
  const rows = await db.query<ReplayRow>(
    org_id,
    `select ${COLUMNS} from replay where org_id = $1 and webhook_id = $2 and id = $3`,
    [org_id, webhook_id, id],
  )
  return rows.map(replayOf)[0]
}

/** The replay for as long as the transaction lasts; undefined when it does not run or another worker has it. */
export async function lockReplay(tx: Tx, org_id: number, id: number): Promise<Replay | undefined> {
  const rows = await tx.query<ReplayRow>(
    `select ${COLUMNS} from replay where org_id = $1 and id = $2 and state = 'running' for update skip locked`,
    [org_id, id],
  )
  return rows.map(replayOf)[0]
}

/** Makes the next deliveries of a replay, and moves it on. @returns how many were made. */
export async function queueItems(
  tx: Tx,
  org_id: number,
  replay: Replay,
  most: number,
): Promise<number> {
  const { id, webhook_id, request, position, queued, created_at } = replay
  const [row] = await tx.query<{ made: string; position: string | null }>(
    `with items as materialized (select * from (${itemsSql(request)}) i order by position limit $6), made as (
       insert into delivery (org_id, webhook_id, id, tx_id, n, type, object_id, created_at, state, trigger, replay_id, next_at, ordering_key)
       select $1, $2, nextval('app.delivery_seq'), o.tx_id, o.n, o.type, o.object_id, now(),
         case (select w.state from webhook w where w.org_id = $1 and w.id = $2) when 'active' then 'pending' else 'held' end,
         'replay', $7,
         greatest(now(), case when $8::double precision is null then now()
           else $9::timestamptz + make_interval(secs => ($10::integer + o.place) / $8::double precision) end),
         case when $11 then o.object_id end
       from (select i.*, row_number() over (order by i.position) - 1 as place from items i order by i.position) o
     )
     select count(*) as made, max(position) as position from items`,
    [
      ...itemsParams(org_id, webhook_id, request, position),
      most,
      id,
      request.rate,
      created_at,
      queued,
      request.in_order,
    ],
  )
  const made = Number(row?.made)
  await tx.query(
    `update replay set queued = queued + $3, position = greatest(position, $4), state = case when $5 then 'completed' else state end,
       finished_at = case when $5 then now() end where org_id = $1 and id = $2`,
    [org_id, id, made, row?.position ?? position, made < most],
  )
  return made
}

/** Ends a replay before it is done. @returns false when it had ended. */
export async function cancelReplay(tx: Tx, org_id: number, id: number): Promise<boolean> {
  const rows = await tx.query(
    `update replay set state = 'cancelled', finished_at = now() where org_id = $1 and id = $2 and state <> 'cancelled' returning 1`,
    [org_id, id],
  )
  await tx.query(
    `with gone as (
       delete from delivery d where d.org_id = $1 and d.replay_id = $2 and d.state in ('pending', 'held') returning d.*
     )
     insert into delivery_log (org_id, webhook_id, id, at, tx_id, n, type, object_id, created_at, state, reason, trigger, replay_id,
       attempt, attempts, coalesced)
     select g.org_id, g.webhook_id, g.id, now(), g.tx_id, g.n, g.type, g.object_id, g.created_at, 'cancelled', 'replay_cancelled',
       g.trigger, g.replay_id, g.attempt, g.attempts, g.coalesced from gone g`,
    [org_id, id],
  )
  return rows.length > 0
}

/** What became of the deliveries of a replay so far. */
export async function progressOf(db: OrgDb, org_id: number, id: number): Promise<Progress> {
  const [row] = await db.query<Progress>(
    org_id,
    `select (select count(*)::integer from delivery d where d.org_id = $1 and d.replay_id = $2) as waiting,
       (count(*) filter (where l.state = 'succeeded'))::integer as succeeded,
       (count(*) filter (where l.state = 'failed'))::integer as failed,
       (count(*) filter (where l.state in ('cancelled', 'expired')))::integer as cancelled
     from delivery_log l where l.org_id = $1 and l.replay_id = $2`,
    [org_id, id],
  )
  return row as Progress
}

/** Replays of all organizations that are not done. */
export async function openReplays(
  db: Pick<Db, 'control'>,
): Promise<{ org_id: number; id: number }[]> {
  const rows = await db.control(async (tx) =>
    tx.query<{ org_id: string; id: string }>('select org_id, id from app.open_replays()'),
  )
  return rows.map((row) => ({ org_id: Number(row.org_id), id: Number(row.id) }))
}
