/** Background work of identity: matches what loads created, lets references follow what was merged. */
import type { Db } from '../db/db.ts'
import { never, Signal } from '../events/wake.ts'
import { bareStore } from '../organizations/service.ts'
import { MATCHED_TYPES } from './identifiers.ts'
import { stepRun } from './matching.ts'
import { followAll } from './references.ts'
import { organizationsToTend, queueMatching } from './run-queries.ts'

/** A request of this process has merged, unmerged or asked for a run. */
export const identityAsked = new Signal()

/** How long loads may have ended, and other processes have asked, before it is noticed. */
const LOOK_MS = 2_000

/** Organizations tended in one step. */
const ORGANIZATIONS = 50

/**
 * Does a step of what is to be done in each organization. Several processes may do so at once, and each may be killed at any
 * point.
 */
export async function tendIdentity(
  db: Db,
  log: (message: string) => void,
  stopping: AbortSignal,
): Promise<number> {
  const seen = identityAsked.count
  await queueMatching(db, MATCHED_TYPES)
  let open = false
  for (const org_id of await organizationsToTend(db, ORGANIZATIONS)) {
    if (stopping.aborted) break
    try {
      if ((await stepOrganization(db, org_id, stopping)) !== null) open = true
    } catch (error) {
      // One organization's trouble is not the others'.
      log(`identity in org_${org_id} failed: ${(error as Error).message}`)
    }
  }
  if (!open) await identityAsked.asleep(LOOK_MS, stopping, seen)
  return 0
}

/** Does all that is to be done in one organization. */
export async function tendOrganization(
  db: Db,
  org_id: number,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted && (await stepOrganization(db, org_id, stopping)) !== null);
}

/** What others refer to is one before they are compared. @returns null when nothing is left to match. */
async function stepOrganization(
  db: Db,
  org_id: number,
  stopping: AbortSignal,
): Promise<'ended' | 'open' | null> {
  const store = bareStore(db)
  await followAll(store, org_id, stopping)
  const began = performance.now()
  const step = await stepRun(store, org_id)
  // Matching can wait: half of the time is left to what cannot.
  await never.asleep(performance.now() - began, stopping)
  return step
}
