/** The ledger of quotas that all processes share: one row per subject. */
import { randomInt } from 'node:crypto'
import type { Db } from '../db/db.ts'
import type { Ledger } from './limiter.ts'

/** @param clock_ms time of the server, for tests; its own clock when left out. */
export function ledgerOf(db: Pick<Db, 'flyControl'>, clock_ms?: () => number): Ledger {
  const holder = randomInt(2 ** 47)
  return async (subject, quota, wanted, ages, counts) => {
    const rows = await db.flyControl(
      'select granted, remaining, wait_ms, shared from app.take_quota($1, $2::integer, $3::integer, $4::bigint, $5::integer[], $6::integer[], $7::bigint)',
      [
        subject,
        quota,
        wanted,
        holder,
        `{${ages.join(',')}}`,
        `{${counts.join(',')}}`,
        clock_ms ? clock_ms() : null,
      ],
    )
    const [granted, remaining, wait_ms, shared] = (rows[0] ?? []).map(String)
    return {
      granted: Number(granted),
      remaining: Number(remaining),
      wait_ms: Number(wait_ms),
      shared: shared === 't',
    }
  }
}
