/** The background work of truth: changes of rules, claims that begin or end by themselves, freshness, erasures. */
import type { Db } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import type { Actor } from '../kit/types.ts'
import { bareStore } from '../organizations/service.ts'
import { registry } from '../resources.ts'
import { stepChange, tendFreshness } from './change.ts'
import { stepErasure } from './erasures.ts'
import { takeDue, truthDue } from './queries.ts'
import { refold } from './refold.ts'

const IDLE_MS = 500

/** Objects whose claims begin or end that are weighed by one transaction. */
const DUE = 200

const CLOCK: Actor = { type: 'system', id: null, name: 'Portfolio Grid', request_id: null }

/**
 * One step for every organization that has something to do.
 * @returns how long to wait before the next, in milliseconds.
 */
export async function tendTruth(
  db: Db,
  now = new Date(),
  stopping: AbortSignal = new AbortController().signal,
): Promise<number> {
  const organizations = await truthDue(db, now)
  const failures: unknown[] = []
  for (const org_id of organizations) {
    if (stopping.aborted) break
    try {
      await tendOrganization(db, org_id, now)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return organizations.length > 0 ? 0 : IDLE_MS
}

/** One step of each kind. */
export async function tendOrganization(db: Db, org_id: number, now: Date): Promise<void> {
  const store = bareStore(db)
  await tendFreshness(store, org_id, now)
  await stepChange(store, org_id)
  await refoldDue(db, org_id, now)
  await stepErasure(store, org_id)
}

/** Weighs again what begins or ends by now; what was merged since is weighed where it stands. */
async function refoldDue(db: Db, org_id: number, now: Date): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const due = await takeDue(tx, org_id, now, DUE)
    const planned = due.map(({ object_id }) => object_id)
    const heads = await headsOf(db, org_id, planned)
    for (const [type, list] of Map.groupBy(due, ({ object_type }) => object_type)) {
      const resource = registry.get(type)
      const ids = [...new Set(list.map(({ object_id: id }) => heads.get(id) ?? id))]
      if (resource) await refold(db, tx, org_id, resource, ids, CLOCK, now)
    }
  })
}
