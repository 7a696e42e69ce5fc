/** POSTs that are no writes of a resource: done once per idempotency key, in one transaction with the answer kept. */
import type { IdempotencyRecord } from './door.ts'
import { ApiError } from './errors.ts'
import { answerIn, original, remember } from './idempotency.ts'
import type { Store } from './store.ts'
import type { OrgRows, Tx } from './types.ts'
import type { WriteRequest } from './write.ts'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
  /** What a repeat is answered instead of the body, when that holds a secret. */
  repeated?: string
}

/** The answer, and the stored one when the request is the repeat of an earlier one. */
export interface Answered {
  answer: Answer
  replayed: IdempotencyRecord | null
}

/**
 * Does what the request asks, unless an earlier one with its idempotency key did. Nothing is kept of what `run` throws.
 * @throws 409 `idempotency_conflict` when the earlier one had another body, `idempotency_in_progress` while it is under
 *   way: waiting for it would take a connection that it may need itself.
 */
export async function once(
  { db }: Pick<Store, 'db'>,
  { org_id, idempotency, actor }: WriteRequest,
  run: (tx: Tx) => Promise<Answer>,
): Promise<Answered> {
  return await db.transaction(org_id, async (tx) => {
    if (!idempotency) return { answer: await run(tx), replayed: null }
    const { key, route } = idempotency
    const [lock] = await tx.query<{ free: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 7016)) as free',
      [`${org_id} ${route} ${key}`],
    )
    if (!lock?.free) {
      const detail = 'The first request with this Idempotency-Key is still under way.'
      throw new ApiError('idempotency_in_progress', detail, { retry_after_s: 1 })
    }
    const replayed = await answerIn(tx, org_id, idempotency)
    if (replayed) return { answer: replayed, replayed }
    const answer = await run(tx)
    const { status, body, repeated = body } = answer
    const headers = { ...answer.headers, ...original(actor) }
    await remember(tx, org_id, { ...idempotency, status, headers, body: repeated }, new Date())
    return { answer, replayed: null }
  })
}

/** The database as seen from within the transaction, for what usually opens one of its own. */
export function rowsIn(tx: Tx): OrgRows {
  return {
    query: async (_org_id, sql, params) => await tx.query(sql, params),
    transaction: async (_org_id, run) => await run(tx),
  }
}
