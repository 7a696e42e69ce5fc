/** Whose statement runs: written for the length of it. */
import type { OrgDb } from '../../kit/types.ts'

/** A token opens the organization's rows for this long; statements end before. */
const OPEN_S = 30

/** @param hash of the token, in hexadecimal digits. */
export async function openContext(db: OrgDb, org_id: number, hash: string): Promise<void> {
  const sql = `insert into console_context (token_hash, org_id, expires_at)
    values (decode($1, 'hex'), $2::bigint, clock_timestamp() + interval '${OPEN_S} seconds')`
  await db.fly(org_id, [{ sql, params: [hash, org_id] }])
}

/** Takes the token back, and with it what a process that ended left behind. */
export async function closeContext(db: OrgDb, org_id: number, hash: string): Promise<void> {
  const sql = `delete from console_context where org_id = $2::bigint and (token_hash = decode($1, 'hex') or expires_at < clock_timestamp())`
  await db.fly(org_id, [{ sql, params: [hash, org_id] }])
}
