/** POSTs that are no writes of a resource: done once per idempotency key, in one transaction with the answer kept. */
import { earlierAnswer, rememberIn } from './idempotency.ts'
import type { Store } from './store.ts'
import type { Tx } from './types.ts'
import type { WriteRequest } from './write.ts'

export interface OnceAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** What a repeat is answered where the answer shows something once; the body itself when absent. */
  kept?: string
}

/**
 * Does what the request asks, unless an earlier one with its idempotency key did.
 * @throws 409 `idempotency_conflict` when that one had another body; nothing is kept of what `run` throws.
 */
export async function once(
  store: Store,
  request: WriteRequest,
  run: (tx: Tx) => Promise<OnceAnswer>,
): Promise<OnceAnswer & { replayed: boolean }> {
  const { org_id, idempotency } = request
  const earlier = await earlierAnswer(store, request)
  if (earlier) return { ...earlier, replayed: true }
  try {
    return await store.db.transaction(org_id, async (tx) => {
      const answer = await run(tx)
      const { status, headers, body, kept = body } = answer
      if (idempotency) {
        const record = { ...idempotency, status, headers, body: kept }
        for (const { sql, params } of rememberIn(org_id, record, new Date()))
          await tx.query(sql, params)
      }
      return { ...answer, replayed: false }
    })
  } catch (error) {
    // Of requests that come at the same time one is kept; the others fail on its key, or on what it did.
    const first = await earlierAnswer(store, request)
    if (!first) throw error
    return { ...first, replayed: true }
  }
}
