/** Deliveries as their owners see them. */
import { eventId, findEvent } from '../events/feed.ts'
import { renderEvents, thinEvent } from '../events/payload.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { bodiesOf } from './delivery-queries.ts'
import type { DeliveryRow } from './delivery-queries.ts'
import { plainHeaders } from './request.ts'
import type { Webhook } from './types.ts'

export function deliveryView(row: DeliveryRow): Row {
  const last = row.attempts.at(-1)
  return {
    id: publicId('del', row.id),
    object: 'delivery',
    webhook_id: publicId('wh', row.webhook_id),
    event_id: eventIdOf(row),
    type: row.type,
    trigger: row.trigger,
    state: row.state,
    reason: row.reason,
    attempts: row.attempt,
    next_attempt_at: row.next_at?.toISOString() ?? null,
    last_status: last?.status ?? null,
    last_error: last?.error ?? null,
    coalesced: row.coalesced,
    replay_id: row.replay_id === null ? null : publicId('replay', row.replay_id),
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}

/** A test has an event of its own, which is in no feed. */
function eventIdOf({ id, tx_id, n }: DeliveryRow): string {
  return tx_id === null || n === null ? `evt_test_${id}` : eventId({ tx_id, n })
}

/** A delivery with its attempts and what was sent. The body is rendered again: it is the same every time. */
export async function deliveryDetail(
  store: Store,
  webhook: Webhook,
  row: DeliveryRow,
  base_url: string,
): Promise<Row> {
  const answers = await bodiesOf(store.db, webhook.org_id, Number(row.id))
  const attempt_log = row.attempts.map((attempt, i) => {
    const answer = answers.get(i + 1)
    return {
      number: i + 1,
      ...attempt,
      opening: attempt.opening ?? null,
      answer: answer
        ? { headers: answer.headers, body: answer.body, body_base64: answer.base64 }
        : null,
    }
  })
  const headers = plainHeaders({
    event_id: eventIdOf(row),
    delivery_id: publicId('del', row.id),
    type: row.type,
    trigger: row.trigger,
    attempt: Math.max(1, row.attempts.length),
    coalesced: row.coalesced,
  })
  const body = await bodyOf(store, webhook, eventIdOf(row), base_url)
  return { ...deliveryView(row), attempt_log, request: { headers, body } }
}

async function bodyOf(
  store: Store,
  { org_id, payload }: Webhook,
  event_id: string,
  base_url: string,
): Promise<string | null> {
  const event = await findEvent(store.db, org_id, event_id)
  if (!event) return null
  if (payload === 'thin') return thinEvent(event, base_url)
  const [text = null] = await renderEvents(store, org_id, [event], base_url)
  return text
}
