/**
 * Signatures of deliveries: HMAC-SHA-256 over `<event id>.<unix seconds>.<raw body>`, sent in two notations. The id and
 * the time are signed with the body, so that neither can be changed on the way and an old request cannot be sent again.
 */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

export const SECRET_PREFIX = 'whsec_'

const SECRET_BYTES = 32

/** How far a signature's time may lie from the receiver's clock, in seconds. */
export const TOLERANCE_S = 300

/** A new secret as its owner sees it, once. */
export function newSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** Secrets a client may bring along: the prefix and 24 to 64 bytes in base64. */
export const SECRET_PATTERN = '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$'

/** The key of a secret: what its base64 says. */
export function keyOf(secret: string): KeyObject {
  return createSecretKey(secret.slice(SECRET_PREFIX.length), 'base64')
}

/** The MAC by each key, in the order given. */
export function macsOf(
  keys: readonly KeyObject[],
  id: string,
  t: number,
  body: string | Buffer,
): Buffer[] {
  const head = `${id}.${t}.`
  return keys.map((key) => createHmac('sha256', key).update(head).update(body).digest())
}

/**
 * The headers that let a receiver verify a request.
 * @param keys newest first; each valid one signs, so a receiver may know any of them.
 * @param t time of the attempt in unix seconds.
 */
export function signatureHeaders(
  keys: readonly KeyObject[],
  id: string,
  t: number,
  body: string | Buffer,
): Record<string, string> {
  const macs = macsOf(keys, id, t, body)
  return {
    'x-grid-signature': [`t=${t}`, ...macs.map((mac) => `v1=${mac.toString('hex')}`)].join(','),
    'webhook-id': id,
    'webhook-timestamp': String(t),
    'webhook-signature': macs.map((mac) => `v1,${mac.toString('base64')}`).join(' '),
  }
}

/**
 * Verifies the header `X-GRID-Signature` of a request.
 * @param now in unix seconds.
 * @returns the place of the key that made one of the signatures, or null: a header that is missing or malformed, a time
 *   too far away, an id or a body that was changed. Unknown schemes in the header are passed over.
 */
export function verify(
  keys: readonly KeyObject[],
  header: string | undefined,
  id: string | undefined,
  body: Buffer,
  now: number,
): number | null {
  const parts = (header ?? '').split(',').map((part) => part.trim().split('='))
  const t = Number(parts.find(([name]) => name === 't')?.[1] ?? Number.NaN)
  if (id === undefined || !Number.isSafeInteger(t) || Math.abs(now - t) > TOLERANCE_S) return null
  const given = parts
    .filter(([name, value]) => name === 'v1' && /^[0-9a-f]{64}$/.test(value ?? ''))
    .map(([, value]) => Buffer.from(value as string, 'hex'))
  let found: number | null = null
  // Every pair is compared, so that the time taken tells nothing.
  for (const [place, mac] of macsOf(keys, id, t, body).entries())
    for (const signature of given) if (timingSafeEqual(mac, signature)) found ??= place
  return found
}
