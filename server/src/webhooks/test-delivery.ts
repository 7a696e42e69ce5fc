/** The test delivery: one attempt, made while its caller waits. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyObject } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Egress } from '../egress.ts'
import { SCHEMA_VERSION } from '../events/payload.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { Actor, Caller, OrgDb } from '../kit/types.ts'
import { attemptRow, send } from './attempt.ts'
import type { Attempt, Target } from './attempt.ts'
import { deliveryId, insertTest } from './delivery-queries.ts'
import { plainHeaders } from './request.ts'
import { signatureHeaders } from './signature.ts'

/** An address that cannot be reached is told after this time, however soon that was clear. */
const UNREACHED_MS = 1_000

export interface TestParts {
  db: OrgDb
  egress: Egress
  config: Pick<Config, 'GRID_WEBHOOK_TIMEOUT_S'>
}

/** Where a test goes, and which webhook it is for; null for a URL that is not saved. */
export interface Tested {
  target: Target
  keys: readonly KeyObject[]
  webhook_id: number | null
}

/** Sends a test and keeps it with the deliveries of its webhook. @returns what is told of it. */
export async function sendTest(
  { db, egress, config }: TestParts,
  caller: Caller,
  actor: Actor,
  { target, keys, webhook_id }: Tested,
): Promise<Row> {
  const id = await deliveryId(db, caller.org_id)
  const event_id = `evt_test_${id}`
  const now = new Date()
  const body = JSON.stringify(testEvent(event_id, caller, actor, now, webhook_id))
  const sent = {
    event_id,
    delivery_id: publicId('del', id),
    type: 'webhook.test',
    trigger: 'test',
    attempt: 1,
    coalesced: 1,
  } as const
  const t = Math.floor(now.getTime() / 1_000)
  const plain = plainHeaders(sent)
  const headers = { ...plain, ...signatureHeaders(keys, event_id, t, body) }
  const start = performance.now()
  const timeout_ms = config.GRID_WEBHOOK_TIMEOUT_S * 1_000
  const attempt = await send(egress, target, headers, Buffer.from(body), timeout_ms)
  if (attempt.error === 'connect' || attempt.error === 'dns')
    await sleep(Math.max(0, UNREACHED_MS - (performance.now() - start)))
  if (webhook_id !== null) await keep(db, caller.org_id, webhook_id, id, attempt)
  const { status, error, opening, first_byte_ms, total_ms, answer } = attempt
  return {
    object: 'webhook_test',
    webhook_id: webhook_id === null ? null : publicId('wh', webhook_id),
    delivery_id: webhook_id === null ? null : sent.delivery_id,
    event_id,
    url: target.url,
    succeeded: error === null,
    status,
    error,
    opening,
    first_byte_ms,
    total_ms,
    answer: answer && {
      headers: answer.headers,
      body: answer.body,
      body_base64: answer.base64,
    },
    request: { headers: plain, body },
    signed_content: `${event_id}.${t}.`,
  }
}

async function keep(
  db: OrgDb,
  org_id: number,
  webhook_id: number,
  id: number,
  attempt: Attempt,
): Promise<void> {
  await insertTest(db, org_id, {
    webhook_id,
    id,
    at: attempt.started_at,
    state: attempt.error === null ? 'succeeded' : 'failed',
    attempt: attemptRow(attempt),
    answer: attempt.answer,
  })
}

/** An event like any other, that tells of the webhook itself. */
function testEvent(
  id: string,
  { org_id, environment }: Caller,
  { type, id: actor_id, name, request_id }: Actor,
  at: Date,
  webhook_id: number | null,
): Row {
  return {
    id,
    object: 'event',
    type: 'webhook.test',
    schema_version: SCHEMA_VERSION,
    created_at: at.toISOString(),
    organization_id: publicId('org', org_id),
    environment,
    seq: null,
    resource_seq: null,
    actor: { type, id: actor_id, name },
    request_id,
    data: {
      object: {
        id: webhook_id === null ? null : publicId('wh', webhook_id),
        object: 'webhook',
        message: 'This is a test.',
      },
    },
  }
}
