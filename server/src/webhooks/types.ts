/** Webhooks and deliveries as the code passes them around. */
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'

export const STATES = ['active', 'paused', 'suspended'] as const
export const DELIVERY_STATES = [
  'pending',
  'in_flight',
  'held',
  'succeeded',
  'failed',
  'cancelled',
  'expired',
] as const
export const TRIGGERS = ['event', 'replay', 'test'] as const

export type WebhookState = (typeof STATES)[number]
export type Trigger = (typeof TRIGGERS)[number]

/** One secret of a webhook as it is stored; the newest comes first. */
export interface StoredSecret {
  sealed: string
  /** Its last characters. */
  hint: string
  created_at: string
  /** When it stops to be used; null for the newest. */
  expires_at: string | null
}

/** What the owner of a webhook chooses. */
export interface Choices {
  url: string
  description: string | null
  events: string[]
  payload: 'full' | 'thin'
  ordering: 'none' | 'resource'
  coalesce_seconds: number
  property_ids: number[] | null
  max_concurrency: number
  rate: number | null
  redrive_on_recovery: boolean
  schema_version: string
}

export interface Health {
  last_success_at: Date | null
  last_failure_at: Date | null
  failures: number
  failing_since: Date | null
  circuit: 'closed' | 'open'
  open_until: Date | null
  waiting: number
  held: number
}

export interface Webhook extends Choices {
  org_id: number
  id: number
  state: WebhookState
  reason: string | null
  secrets: StoredSecret[]
  inbox_id: number | null
  version: number
  created_at: Date
  updated_at: Date
}

/** Where secrets of a webhook are sealed to. */
export function secretContext(org_id: number, id: number): string {
  return `webhook:${org_id}:${id}`
}

/** Secrets that are still used, newest first. */
export function liveSecrets(secrets: readonly StoredSecret[], now = Date.now()): StoredSecret[] {
  return secrets.filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > now)
}

/** The webhook as events tell of it: all but its figures, and nothing secret. */
export function webhookView(webhook: Webhook): Row {
  const secrets = liveSecrets(webhook.secrets).map(({ hint, created_at, expires_at }) => ({
    hint,
    created_at,
    expires_at,
  }))
  return {
    id: publicId('wh', webhook.id),
    object: 'webhook',
    organization_id: publicId('org', webhook.org_id),
    url: webhook.url,
    description: webhook.description,
    events: webhook.events,
    state: webhook.state,
    reason: webhook.reason,
    payload: webhook.payload,
    ordering: webhook.ordering,
    coalesce_seconds: webhook.coalesce_seconds,
    property_ids: webhook.property_ids?.map((id) => publicId('prop', id)) ?? null,
    max_concurrency: webhook.max_concurrency,
    rate: webhook.rate,
    redrive_on_recovery: webhook.redrive_on_recovery,
    schema_version: webhook.schema_version,
    secret: secrets[0]?.hint ?? null,
    secrets,
    version: webhook.version,
    created_at: webhook.created_at.toISOString(),
    updated_at: webhook.updated_at.toISOString(),
  }
}

/** How deliveries to it fare. */
export function statsView(health: Health): Row {
  const probing = health.circuit === 'open' && (health.open_until?.getTime() ?? 0) <= Date.now()
  return {
    last_success_at: health.last_success_at?.toISOString() ?? null,
    last_failure_at: health.last_failure_at?.toISOString() ?? null,
    consecutive_failures: health.failures,
    failing_since: health.failing_since?.toISOString() ?? null,
    circuit: probing ? 'half_open' : health.circuit,
    waiting: health.waiting,
    held: health.held,
  }
}
