/** Clears away what uploads left behind that a crash or a lost connection cut short. */
import type { OrgDb } from '../kit/types.ts'
import { versionExists } from './queries.ts'
import type { Storage } from './storage.ts'

/** No upload takes a day from its last byte to its row. */
const UNFINISHED_MS = 24 * 60 * 60 * 1_000

/**
 * Looks at every file left in this host's spool: one whose version the database knows is only taken off the spool, any
 * other is removed from its place too. Safe to run in several processes and at any time.
 * @returns how many files were removed.
 */
export async function sweepOrphans(
  storage: Storage,
  db: Pick<OrgDb, 'fly'>,
  now = Date.now(),
): Promise<number> {
  let removed = 0
  for (const key of await storage.spool.leftovers(now - UNFINISHED_MS)) {
    if (!(await versionExists(db, key))) {
      await storage.remove(key)
      removed++
    }
    await storage.spool.drop(key)
  }
  return removed
}
