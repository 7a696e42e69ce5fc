/** POSTs that are no writes of a resource: done once per idempotency key, in one transaction with the answer kept. */
import type { IdempotencyRecord } from './door.ts'
import { earlierAnswer, rememberIn } from './idempotency.ts'
import type { Store } from './store.ts'
import type { Tx } from './types.ts'
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
 * Does what the request asks, unless an earlier one with its idempotency key did.
 * @throws 409 `idempotency_conflict` when that one had another body; nothing is kept of what `run` throws.
 */
export async function once(
  store: Store,
  request: WriteRequest,
  run: (tx: Tx) => Promise<Answer>,
): Promise<Answered> {
  const { org_id, idempotency } = request
  const earlier = await earlierAnswer(store, request)
  if (earlier) return { answer: earlier, replayed: earlier }
  try {
    return await store.db.transaction(org_id, async (tx) => {
      const answer = await run(tx)
      const { status, headers, body, repeated = body } = answer
      if (idempotency) {
        const record = { ...idempotency, status, headers, body: repeated }
        for (const { sql, params } of rememberIn(org_id, record, new Date()))
          await tx.query(sql, params)
      }
      return { answer, replayed: null }
    })
  } catch (error) {
    // Of requests that come at the same time one is kept; the others fail on its key, or on what it did.
    const first = await earlierAnswer(store, request)
    if (!first) throw error
    return { answer: first, replayed: first }
  }
}
