/** Answers kept so that a repeated POST gets the first one again. */
import { createHash } from 'node:crypto'
import type { Statement } from '../db/pipeline.ts'
import type { IdempotencyRecord } from './door.ts'
import { ApiError } from './errors.ts'
import type { Store } from './store.ts'
import type { Actor, Tx } from './types.ts'
import type { WriteRequest } from './write.ts'

/** The idempotency key of a request. */
export interface IdempotencyRequest {
  key: string
  route: string
  fingerprint: string
  status?: number
  /** Organization that sent the key, where it is not the one written to. */
  org_id?: number
}

/**
 * What an earlier request with this key was answered, or null.
 * @throws 409 `idempotency_conflict` when that request had another body.
 */
export async function earlierAnswer(
  store: Store,
  { org_id, idempotency }: Pick<WriteRequest, 'org_id' | 'idempotency'>,
): Promise<IdempotencyRecord | null> {
  if (!idempotency) return null
  const sender = idempotency.org_id ?? org_id
  const record = await rememberedAnswer(store, sender, idempotency.key, idempotency.route)
  if (record) refuseOther(idempotency, record)
  return record ?? null
}

/**
 * Statements that follow the door's in the same transaction and keep its answer in another organization: the one that
 * asked for the write. A key that is taken there undoes the write.
 */
export function rememberIn(org_id: number, record: IdempotencyRecord, at: Date): Statement[] {
  const { key, route, fingerprint, status, headers, body } = record
  return [
    { sql: 'select app.set_org($1::bigint)', params: [org_id] },
    {
      sql: `insert into idempotency (org_id, key, route, fingerprint, status, headers, body, at)
        values ($1::bigint, $2::text, $3::text, $4::text, $5::integer, $6::jsonb, $7::text, $8::timestamptz)`,
      params: [
        org_id,
        key,
        route,
        fingerprint,
        status,
        JSON.stringify(headers),
        body,
        at.toISOString(),
      ],
    },
  ]
}

/** The header by which a stored answer names the request that it was first given to. */
export function original({ request_id }: Actor): Record<string, string> {
  return request_id === null ? {} : { 'x-original-request-id': request_id }
}

/** The stored answer to a request, seen from within the transaction that would do it. @throws 409 as `earlierAnswer` does */
export async function answerIn(
  tx: Tx,
  org_id: number,
  sent: IdempotencyRequest,
): Promise<IdempotencyRecord | null> {
  const [stored] = await tx.query<IdempotencyRecord>(
    'select key, route, fingerprint, status, headers, body from idempotency where org_id = $1 and key = $2 and route = $3',
    [org_id, sent.key, sent.route],
  )
  if (stored) refuseOther(sent, stored)
  return stored ?? null
}

/** Stores an answer in the transaction of what it tells of. @throws 23505 when the key was used before. */
export async function remember(
  tx: Tx,
  org_id: number,
  { key, route, fingerprint, status, headers, body }: IdempotencyRecord,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into idempotency (org_id, key, route, fingerprint, status, headers, body, at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [org_id, key, route, fingerprint, status, JSON.stringify(headers), body, at],
  )
}

function refuseOther(sent: IdempotencyRequest, stored: IdempotencyRecord): void {
  if (stored.fingerprint === sent.fingerprint) return
  const detail = `Idempotency-Key ${sent.key} was used with another body within 24 hours.`
  throw new ApiError('idempotency_conflict', detail)
}

/** The stored answer of an idempotency key, if there is one. */
async function rememberedAnswer(
  store: Store,
  org_id: number,
  key: string,
  route: string,
): Promise<IdempotencyRecord | undefined> {
  const [rows] = await store.db.fly(org_id, [
    {
      sql: 'select fingerprint, status, headers, body from idempotency where org_id = $1::bigint and key = $2 and route = $3',
      params: [org_id, key, route],
    },
  ])
  const row = rows?.[0]
  if (!row) return undefined
  const [fingerprint, status, headers, body] = row.map((cell) => cell?.toString() ?? '') as [
    string,
    string,
    string,
    string,
  ]
  return {
    key,
    route,
    fingerprint,
    status: Number(status),
    headers: JSON.parse(headers) as Record<string, string>,
    body,
  }
}

/** SHA-256 of what makes two requests the same: the body with its keys in order. */
export function fingerprintOf(body: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(body)))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  )
}
