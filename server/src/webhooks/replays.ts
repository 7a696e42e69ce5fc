/** Replays: events delivered again, as a job that outlives the process that began it. */
import type { Db } from '../db/db.ts'
import { findEvents } from '../events/feed.ts'
import { Signal } from '../events/wake.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { OrgDb } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import type { Moved } from './delivery-queries.ts'
import { findWebhook } from './queries.ts'
import {
  cancelReplay,
  countItems,
  findReplay,
  insertReplay,
  lockReplay,
  openReplays,
  progressOf,
  queueItems,
} from './replay-queries.ts'
import type { Progress, Replay, ReplayRequest } from './replay-queries.ts'
import { getWebhook } from './service.ts'
import type { Webhook } from './types.ts'

/** A request of this process, or a circuit that closed, has begun a replay. */
export const replayAsked = new Signal()

/** Deliveries that one step of a replay makes. */
const STEP = 500

/** Deliveries a second that a webhook gets of what it missed, unless it has a rate of its own. */
const REDRIVE_RATE = 50

/** The body of a replay, checked by its schema. */
export interface ReplayBody {
  event_id?: string
  event_ids?: string[]
  since?: string
  until?: string
  status?: ReplayRequest['status']
  types?: string[]
  rate?: number
  in_order?: boolean
  dry_run?: boolean
}

/** What the body asks for. @throws 422 for events that do not exist, and for no or two ways to say which. */
export async function replayRequest(
  store: Store,
  webhook: Webhook,
  body: ReplayBody,
): Promise<ReplayRequest> {
  const { event_id, event_ids, since, until, status = 'all', types = webhook.events } = body
  const ways = [event_id, event_ids, since].filter((way) => way !== undefined)
  if (ways.length !== 1) {
    const message = 'is needed: one of event_id, event_ids and since'
    throw invalid([
      { field: 'since', code: ways.length === 0 ? 'required' : 'conflicting', message },
    ])
  }
  const ids = event_ids ?? (event_id === undefined ? null : [event_id])
  return {
    events: ids && (await placesOf(store.db, webhook.org_id, ids)),
    status,
    since: since ?? null,
    until: until ?? new Date().toISOString(),
    types,
    rate: rateOf(body.rate ?? null, webhook.rate),
    in_order: body.in_order ?? false,
  }
}

function rateOf(asked: number | null, own: number | null): number | null {
  return asked !== null && own !== null ? Math.min(asked, own) : (asked ?? own)
}

async function placesOf(
  db: OrgDb,
  org_id: number,
  ids: readonly string[],
): Promise<[number, number][]> {
  const events = await findEvents(db, org_id, ids)
  const issue = { field: 'event_ids', code: 'not_found' }
  if (events.length < new Set(ids).size)
    throw invalid([{ ...issue, message: 'names events that do not exist' }])
  return events.map(({ tx_id, n }) => [tx_id, n])
}

/** How many events the request covers. */
export async function estimate(
  store: Store,
  webhook: Webhook,
  request: ReplayRequest,
): Promise<number> {
  return await countItems(store.db, webhook.org_id, webhook.id, request)
}

/** Begins a replay. @throws 409 while the webhook takes nothing. */
export async function startReplay(
  store: Store,
  write: WriteRequest,
  webhook: Webhook,
  request: ReplayRequest,
): Promise<Row> {
  if (webhook.state !== 'active') {
    const detail = `${publicId('wh', webhook.id)} is ${webhook.state}; enable it first, then what was held goes out.`
    throw new ApiError('conflict', detail)
  }
  const replay = await newReplay(store.db, webhook, request)
  await store.db.transaction(write.org_id, async (tx) => {
    await insertReplay(tx, write.org_id, replay)
    const { total } = replay
    const { status, since, until, types } = request
    await record(tx, write.org_id, write.actor, [
      {
        type: 'webhook.replay_started',
        object_type: 'webhook',
        object_id: webhook.id,
        object: null,
        details: { replay_id: publicId('replay', replay.id), total, status, since, until, types },
      },
    ])
  })
  replayAsked.wake()
  return replayView(replay, { waiting: 0, succeeded: 0, failed: 0, cancelled: 0 })
}

async function newReplay(db: OrgDb, webhook: Webhook, request: ReplayRequest): Promise<Replay> {
  const [id] = (await db.ids(1)) as [number]
  return {
    id,
    webhook_id: webhook.id,
    state: 'running',
    request,
    position: 0,
    total: await countItems(db, webhook.org_id, webhook.id, request),
    queued: 0,
    created_at: new Date(),
    finished_at: null,
  }
}

export async function getReplay(
  db: OrgDb,
  org_id: number,
  webhook_id: number,
  id: number,
): Promise<Row> {
  await getWebhook(db, org_id, webhook_id)
  const replay = await findReplay(db, org_id, webhook_id, id)
  if (!replay) throw notFound(`Replay ${publicId('replay', id)}`)
  return replayView(replay, await progressOf(db, org_id, id))
}

/** Ends a replay; what it has delivered by then stays delivered. */
export async function stopReplay(
  db: OrgDb,
  org_id: number,
  webhook_id: number,
  id: number,
): Promise<void> {
  await getReplay(db, org_id, webhook_id, id)
  await db.transaction(org_id, async (tx) => cancelReplay(tx, org_id, id))
}

/** A replay has ended once its last delivery has. */
function replayView(replay: Replay, progress: Progress): Row {
  const { request, state, total, queued, created_at, finished_at } = replay
  const running = state === 'running' || (state === 'completed' && progress.waiting > 0)
  const { status, since, until, types, rate, in_order, events } = request
  return {
    id: publicId('replay', replay.id),
    object: 'replay',
    webhook_id: publicId('wh', replay.webhook_id),
    state: running ? 'running' : state,
    status: events ? null : status,
    since: events ? null : since,
    until: events ? null : until,
    types: events ? null : types,
    rate,
    in_order,
    total,
    queued,
    ...progress,
    created_at: created_at.toISOString(),
    finished_at: running ? null : (finished_at?.toISOString() ?? null),
  }
}

/** Goes on with every replay by one step. @returns how many deliveries were made. */
export async function stepReplays(db: Db): Promise<number> {
  let made = 0
  for (const { org_id, id } of await openReplays(db)) {
    made += await db.transaction(org_id, async (tx) => {
      const replay = await lockReplay(tx, org_id, id)
      return replay ? await queueItems(tx, org_id, replay, STEP) : 0
    })
  }
  return made
}

/** Delivers again what a webhook missed while its receiver was out of order, if its owner wishes so. */
export async function redrive(
  db: OrgDb,
  { org_id, webhook_id, failing_since }: Moved,
): Promise<void> {
  const webhook = await findWebhook(db, org_id, webhook_id)
  if (!webhook?.redrive_on_recovery || webhook.state !== 'active') return
  const replay = await newReplay(db, webhook, {
    events: null,
    status: 'failed',
    since: failing_since,
    until: new Date().toISOString(),
    types: webhook.events,
    rate: webhook.rate ?? REDRIVE_RATE,
    in_order: false,
  })
  if (replay.total === 0) return
  await db.transaction(org_id, async (tx) => insertReplay(tx, org_id, replay))
  replayAsked.wake()
}
