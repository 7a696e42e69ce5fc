/** The audit log in tests: sealed by this very process, as background work does it. */
import { setTimeout } from 'node:timers/promises'
import { auditKey } from '../src/audit/key.ts'
import { sealAudit } from '../src/audit/sealer.ts'
import { placeTransactions } from '../src/events/sequencer.ts'
import { grid, owner } from './grid.ts'
import type { TestClient } from './grid.ts'

/** Places and seals all that the organization has written so far. Transactions still open elsewhere hold it up. */
export async function sealAll({ org_id }: Pick<TestClient, 'org_id'>): Promise<void> {
  const { app, db } = await grid()
  const key = await auditKey(app.config)
  const sql = `select count(*)::int as open from tx where org_id = $1 and first_seq is null`
  while (true) {
    await placeTransactions(db)
    const [row] = await db.query<{ open: number }>(org_id, sql, [org_id])
    if (row?.open === 0) break
    await setTimeout(5)
  }
  while ((await sealAudit(db, key, org_id)) > 0);
}

/** Statements of someone who has the database in hand: no trigger stops them. */
export async function tamper(...statements: [sql: string, params: unknown[]][]): Promise<void> {
  const client = await owner()
  try {
    await client.query('set session_replication_role = replica')
    for (const [sql, params] of statements) await client.query(sql, params)
  } finally {
    await client.end()
  }
}
