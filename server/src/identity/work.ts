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

/** Does what is to be done in all organizations. Several processes may do so at once, and each may be killed at any point. */
export async function tendIdentity(
  db: Db,
  log: (message: string) => void,
  stopping: AbortSignal,
): Promise<number> {
  const seen = identityAsked.count
  await queueMatching(db, MATCHED_TYPES)
  for (const org_id of await organizationsToTend(db, ORGANIZATIONS)) {
    try {
      await tendOrganization(db, org_id, stopping)
    } catch (error) {
      // One organization's trouble is not the others'.
      log(`identity in org_${org_id} failed: ${(error as Error).message}`)
    }
  }
  await identityAsked.asleep(LOOK_MS, stopping, seen)
  return 0
}

/** Does what is to be done in one organization. What others refer to is one before they are compared. */
export async function tendOrganization(
  db: Db,
  org_id: number,
  stopping: AbortSignal,
): Promise<void> {
  const store = bareStore(db)
  for (let step: 'ended' | 'open' | null = 'ended'; step !== null && !stopping.aborted;) {
    if (step === 'ended') await followAll(store, org_id, stopping)
    const began = performance.now()
    step = await stepRun(store, org_id)
    // Matching can wait: half of the time is left to what cannot.
    await never.asleep(performance.now() - began, stopping)
  }
}
