/** Cursors: opaque, signed, bound to the organization and the query they were made for, valid for a day. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { ApiError } from './errors.ts'

/** How long a cursor may be used, in seconds. */
const CURSOR_TTL_S = 24 * 60 * 60

/** Values of the sort keys of the last row, as text; null for null. */
export type CursorValues = (string | null)[]

/** Fingerprint of everything a cursor is bound to. */
export function queryHash(org_id: number, parts: readonly string[]): string {
  return createHash('sha256')
    .update([org_id, ...parts].join('\n'))
    .digest('base64url')
    .slice(0, 16)
}

export function encodeCursor(
  secret: KeyObject,
  hash: string,
  values: CursorValues,
  now: number,
): string {
  const payload = Buffer.from(JSON.stringify([hash, Math.floor(now / 1_000), ...values])).toString(
    'base64url',
  )
  return `${payload}.${sign(secret, payload)}`
}

/** @throws 422 `cursor_mismatch` when tampered with or made for another query, `cursor_expired` after a day. */
export function decodeCursor(
  secret: KeyObject,
  hash: string,
  cursor: string,
  now: number,
  ttl_s = CURSOR_TTL_S,
): CursorValues {
  const [payload = '', signature = ''] = cursor.split('.')
  const expected = Buffer.from(sign(secret, payload))
  const given = Buffer.from(signature)
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) {
    throw new ApiError(
      'cursor_mismatch',
      'cursor is not one this service made; start again without it.',
    )
  }
  const [bound, issued, ...values] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
    string,
    number,
    ...CursorValues,
  ]
  if (bound !== hash) {
    throw new ApiError(
      'cursor_mismatch',
      'cursor belongs to another list, filter or sort; send the same query or start again without it.',
    )
  }
  if (now / 1_000 - issued > ttl_s) {
    throw new ApiError('cursor_expired', 'cursor is older than 24 hours; start again without it.')
  }
  return values
}

/** A key object: made of bytes anew, the key would take five times as long as the signature. */
function sign(secret: KeyObject, payload: string): string {
  return createHmac('sha256', secret).update(payload).digest('base64url').slice(0, 22)
}
