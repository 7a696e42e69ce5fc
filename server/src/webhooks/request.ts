/** The request of a delivery: its headers, signed anew for every attempt. */
import type { KeyObject } from 'node:crypto'
import type { Secrets } from '../secrets.ts'
import { keyOf, signatureHeaders } from './signature.ts'
import { liveSecrets, secretContext } from './types.ts'
import type { StoredSecret, Trigger } from './types.ts'

export const USER_AGENT = 'PortfolioGrid-Webhooks/1'

export interface Sent {
  event_id: string
  delivery_id: string
  type: string
  trigger: Trigger
  /** 1 to 5. */
  attempt: number
  coalesced: number
}

/** Headers of a delivery but for its signature. */
export function plainHeaders(sent: Sent): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    'x-grid-event-id': sent.event_id,
    'x-grid-event-type': sent.type,
    'x-grid-delivery-id': sent.delivery_id,
    'x-grid-attempt': String(sent.attempt),
    'x-grid-trigger': sent.trigger,
    ...(sent.coalesced > 1 ? { 'x-grid-coalesced': String(sent.coalesced) } : {}),
  }
}

/** All headers of an attempt made now. */
export function signedHeaders(
  sent: Sent,
  keys: readonly KeyObject[],
  body: Buffer,
  now = Date.now(),
): Record<string, string> {
  const signed = signatureHeaders(keys, sent.event_id, Math.floor(now / 1_000), body)
  return { ...plainHeaders(sent), ...signed }
}

/** Keys remembered at most; beyond, all are opened again. */
const KEYS_MAX = 10_000

/** Opens secrets of webhooks, each once. */
export class SigningKeys {
  private readonly secrets: Secrets
  private readonly opened = new Map<string, KeyObject>()

  constructor(secrets: Secrets) {
    this.secrets = secrets
  }

  /** The keys a webhook signs with now, newest first. */
  of(webhook: { org_id: number; id: number; secrets: readonly StoredSecret[] }): KeyObject[] {
    const context = secretContext(webhook.org_id, webhook.id)
    return liveSecrets(webhook.secrets).map(({ sealed }) => {
      let key = this.opened.get(sealed)
      if (!key) {
        if (this.opened.size >= KEYS_MAX) this.opened.clear()
        key = keyOf(this.secrets.open(sealed, context))
        this.opened.set(sealed, key)
      }
      return key
    })
  }
}
