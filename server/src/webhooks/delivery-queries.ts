/** SQL of deliveries: the worker's claims and results, and the lists that owners read. */
import type { Db } from '../db/db.ts'
import type { Opening } from '../egress.ts'
import type { Param } from '../db/pipeline.ts'
import type { FeedEvent } from '../events/feed.ts'
import type { OrgDb } from '../kit/types.ts'
import type { Kept } from './attempt.ts'
import type { StoredSecret, Trigger, Webhook } from './types.ts'

/** A delivery that a worker has taken. */
export interface Claimed {
  org_id: number
  webhook_id: number
  id: number
  tx_id: number
  n: number
  type: string
  trigger: Trigger
  /** Attempts made before. */
  attempt: number
  coalesced: number
}

/** What a worker needs to know of a webhook. */
export type ClaimedWebhook = Pick<
  Webhook,
  'org_id' | 'id' | 'url' | 'payload' | 'max_concurrency' | 'coalesce_seconds' | 'inbox_id'
> & { secrets: StoredSecret[] }

export interface Claim {
  lease_id: number
  deliveries: Claimed[]
  events: FeedEvent[]
  webhooks: ClaimedWebhook[]
}

/** How many more deliveries of a webhook a worker takes. */
export interface Room {
  webhook_id: number
  room: number
}

/** What became of a delivery. */
export interface Result {
  org_id: number
  webhook_id: number
  id: number
  lease_id: number
  outcome: 'succeeded' | 'failed' | 'cancelled' | 'retry' | 'released'
  reason: string | null
  wait_s: number
  slow: boolean
  /** The attempt as the delivery keeps it; null when none was made. */
  attempt: AttemptRow | null
  headers: Kept['headers'] | null
  body: string | null
  base64: boolean | null
}

/** A webhook whose circuit changed. */
export interface Moved {
  org_id: number
  webhook_id: number
  move: 'opens' | 'stays' | 'closes'
  failing_since: string | null
}

type Control = Pick<Db, 'control' | 'flyControl' | 'ids'>

/** Makes deliveries of events that have none yet. @returns how many. */
export async function fanOut(db: Control, most: number): Promise<number> {
  const rows = await db.flyControl('select app.fan_out($1::integer)', [most])
  return Number(rows[0]?.[0]?.toString() ?? 0)
}

/** Takes due deliveries of any organization, for a minute. */
export async function claim(db: Control, most: number, lanes: readonly Room[]): Promise<Claim> {
  const [lease_id] = (await db.ids(1)) as [number]
  const taken = await one<Omit<Claim, 'lease_id'> | null>(
    db,
    `select case when app.deliveries_due() then app.claim_deliveries($1::integer, $2::bigint, $3::json) else 'null' end`,
    [most, lease_id, JSON.stringify(lanes)],
  )
  const { deliveries, events, webhooks } = taken ?? { deliveries: [], events: [], webhooks: [] }
  return {
    lease_id,
    deliveries,
    webhooks,
    events: events.map((event) => ({ ...event, at: new Date(event.at) })),
  }
}

/** Writes results; one whose lease has gone to another worker changes nothing. */
export async function complete(db: Control, results: readonly Result[]): Promise<Moved[]> {
  return await one<Moved[]>(db, 'select app.complete_deliveries($1::json)', [
    JSON.stringify(results),
  ])
}

/** The JSON that a function answers with, in one round trip. */
async function one<T>(db: Control, sql: string, params: readonly Param[]): Promise<T> {
  const rows = await db.flyControl(sql, params)
  return JSON.parse(String(rows[0]?.[0])) as T
}

/** Takes deliveries back from workers that are gone. @param keep_days how long held deliveries are kept. */
export async function recover(db: Control, keep_days: number): Promise<void> {
  await db.control(async (tx) => tx.query('select app.recover_deliveries($1)', [keep_days]))
}

/** Webhooks that have failed for so many hours that something is to be done. */
export async function failingWebhooks(
  db: Control,
): Promise<{ org_id: number; webhook_id: number; hours: number }[]> {
  const rows = await db.control(async (tx) =>
    tx.query<{ org_id: string; webhook_id: string; hours: number }>(
      'select org_id, webhook_id, hours from app.failing_webhooks()',
    ),
  )
  return rows.map((row) => ({
    ...row,
    org_id: Number(row.org_id),
    webhook_id: Number(row.webhook_id),
  }))
}

export interface DeliveryRow {
  id: string
  webhook_id: string
  tx_id: string | null
  n: number | null
  type: string
  created_at: Date
  finished_at: Date | null
  state: string
  reason: string | null
  trigger: Trigger
  replay_id: string | null
  attempt: number
  attempts: AttemptRow[]
  next_at: Date | null
  coalesced: number
}

/** An attempt as its delivery keeps it. */
export interface AttemptRow {
  at: string
  status: number | null
  error: string | null
  opening?: Opening
  first_byte_ms: number | null
  total_ms: number
}

const OPEN = `select id, webhook_id, tx_id, n, type, created_at, null::timestamptz as finished_at, state, null as reason, trigger, replay_id,
  attempt, attempts, case state when 'pending' then next_at end as next_at, coalesced from delivery`
const ENDED = `select id, webhook_id, tx_id, n, type, created_at, at as finished_at, state, reason, trigger, replay_id,
  attempt, attempts, null::timestamptz as next_at, coalesced from delivery_log`

export interface DeliveryFilter {
  state: string | null
  type: string | null
  trigger: string | null
  since: string | null
  before: number | null
  limit: number
}

/** Deliveries of a webhook, newest first. */
export async function listDeliveries(
  db: OrgDb,
  org_id: number,
  webhook_id: number,
  filter: DeliveryFilter,
): Promise<DeliveryRow[]> {
  const where = `org_id = $1 and webhook_id = $2 and ($3::text is null or state = $3) and ($4::text is null or type like $4)
    and ($5::text is null or trigger = $5) and ($6::timestamptz is null or created_at >= $6) and ($7::bigint is null or id < $7)`
  return await db.query<DeliveryRow>(
    org_id,
    `(${OPEN} where ${where} order by id desc limit $8)
     union all
     (${ENDED} where ${where} and ($6::timestamptz is null or at >= $6) order by id desc limit $8)
     order by id desc limit $8`,
    [
      org_id,
      webhook_id,
      filter.state,
      filter.type,
      filter.trigger,
      filter.since,
      filter.before,
      filter.limit,
    ],
  )
}

export async function findDelivery(
  db: OrgDb,
  org_id: number,
  webhook_id: number,
  id: number,
): Promise<DeliveryRow | undefined> {
  const where = 'org_id = $1 and webhook_id = $2 and id = $3'
  const rows = await db.query<DeliveryRow>(
    org_id,
    `${OPEN} where ${where} union all ${ENDED} where ${where}`,
    [org_id, webhook_id, id],
  )
  return rows[0]
}

/** What receivers answered to the attempts of a delivery, as long as it is kept. */
export async function bodiesOf(db: OrgDb, org_id: number, id: number): Promise<Map<number, Kept>> {
  const rows = await db.query<Kept & { attempt: number }>(
    org_id,
    'select attempt, headers, body, base64 from delivery_body where org_id = $1 and delivery_id = $2',
    [org_id, id],
  )
  return new Map(rows.map(({ attempt, ...kept }) => [attempt, kept]))
}

/** Keeps a test, which has ended when it is written. */
export async function insertTest(
  db: OrgDb,
  org_id: number,
  test: {
    webhook_id: number
    id: number
    at: Date
    state: 'succeeded' | 'failed'
    attempt: AttemptRow
    answer: Kept | null
  },
): Promise<void> {
  const { webhook_id, id, at, state, attempt, answer } = test
  await db.transaction(org_id, async (tx) => {
    await tx.query(
      `insert into delivery_log (org_id, webhook_id, id, at, type, object_id, created_at, state, reason, trigger, attempt, attempts, coalesced)
       values ($1, $2, $3, $4, 'webhook.test', $2, $4, $5, $6, 'test', 1, $7, 1)`,
      [
        org_id,
        webhook_id,
        id,
        at,
        state,
        state === 'failed' ? 'test' : null,
        JSON.stringify([attempt]),
      ],
    )
    if (answer)
      await tx.query(
        `insert into delivery_body (org_id, delivery_id, attempt, at, headers, body, base64) values ($1, $2, 1, $3, $4, $5, $6)`,
        [org_id, id, at, JSON.stringify(answer.headers), answer.body, answer.base64],
      )
  })
}

/** A new id for a delivery that no event made. */
export async function deliveryId(db: OrgDb, org_id: number): Promise<number> {
  const [row] = await db.query<{ id: string }>(
    org_id,
    `select nextval('app.delivery_seq') as id`,
    [],
  )
  return Number(row?.id)
}
