/** The background work of truth: changes of rules, claims that begin or end by themselves, freshness, erasures. */
import { flightsIn } from '../db/db.ts'
import type { Db } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import { bareStore, SYSTEM } from '../organizations/service.ts'
import { registry } from '../resources.ts'
import { stepChange, tendFreshness } from './change.ts'
import { stepErasure } from './erasures.ts'
import { takeDue, truthDue } from './queries.ts'
import { refold } from './refold.ts'

const IDLE_MS = 500

/** Objects whose claims begin or end that are weighed by one transaction. */
const DUE = 200

/**
 * One step for every organization that has something to do.
 * @returns how long to wait before the next, in milliseconds.
 */
export async function tendTruth(
  db: Db,
  log: (message: string) => void,
  now = new Date(),
  stopping: AbortSignal = new AbortController().signal,
): Promise<number> {
  let worked = 0
  for (const org_id of await truthDue(db, now)) {
    if (stopping.aborted) break
    try {
      await tendOrganization(db, org_id, now)
      worked++
    } catch (error) {
      // One organization's trouble is not the others'.
      log(`truth in org_${org_id} failed: ${(error as Error).message}`)
    }
  }
  return worked > 0 ? 0 : IDLE_MS
}

/** One step of each kind; one that fails leaves the others to be done. @throws what the first threw that failed. */
export async function tendOrganization(db: Db, org_id: number, now: Date): Promise<void> {
  const store = bareStore(db)
  const steps = [
    () => tendFreshness(store, org_id, now),
    () => stepChange(store, org_id),
    () => refoldDue(db, org_id, now),
    () => stepErasure(store, org_id),
  ]
  const failures: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** Weighs again what begins or ends by now; what was merged since is weighed where it stands. */
async function refoldDue(db: Db, org_id: number, now: Date): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const due = await takeDue(tx, org_id, now, DUE)
    const planned = due.map(({ object_id }) => object_id)
    const heads = await headsOf(flightsIn(tx), org_id, planned)
    for (const [type, list] of Map.groupBy(due, ({ object_type }) => object_type)) {
      const resource = registry.get(type)
      const ids = [...new Set(list.map(({ object_id: id }) => heads.get(id) ?? id))]
      if (resource) await refold(tx, org_id, resource, ids, SYSTEM, now)
    }
  })
}
