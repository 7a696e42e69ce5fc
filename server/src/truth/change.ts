/** Changes of rules on their way through the objects: a step at a time, each with its progress in one transaction. */
import { record } from '../kit/record.ts'
import type { Store } from '../kit/store.ts'
import { ranksOf } from '../kit/history.ts'
import { SYSTEM } from '../organizations/service.ts'
import { registry } from '../resources.ts'
import { contestedIds } from './object-queries.ts'
import { sourceProposal } from './proposals.ts'
import { insertChange, moveChange, nextRevision, takeChange, turnStale } from './queries.ts'
import { refold } from './refold.ts'
import { changeView, sourceHappening } from './service.ts'

/** Objects weighed by one transaction; other writers of them wait for it. */
const BATCH = 500

/** Takes the organization's oldest change one step on. @returns whether there was anything to do. */
export async function stepChange({ db }: Store, org_id: number): Promise<boolean> {
  return await db.transaction(org_id, async (tx) => {
    const change = await takeChange(tx, org_id)
    if (!change) return false
    const resource = registry.get(change.types[0] ?? '')
    if (resource) {
      const { alone, attribute, after_id } = change
      const search = { resource, alone, attribute }
      const ids = await contestedIds(db, org_id, search, after_id, BATCH)
      const { checked, changed } = await refold(tx, org_id, resource, ids, change.actor)
      const ends = ids.length < BATCH
      change.checked += checked
      change.changed += changed
      change.types = ends ? change.types.slice(1) : change.types
      change.after_id = ends ? 0 : (ids.at(-1) as number)
    }
    if (change.types.length === 0) {
      change.state = 'completed'
      change.finished_at = new Date()
    }
    await moveChange(tx, org_id, change)
    if (change.state === 'completed') {
      const [type, object_type] = ['survivorship_change.completed', 'survivorship_change']
      const object = changeView(change)
      await record(tx, org_id, change.actor, [{ type, object_type, object_id: change.id, object }])
    }
    return true
  })
}

/** Turns sources that were not heard of for too long, or are heard of again, and has their claims weighed anew. */
export async function tendFreshness({ db }: Store, org_id: number, now: Date): Promise<void> {
  const [change_id] = (await db.ids(1)) as [number]
  await db.transaction(org_id, async (tx) => {
    const turned = await turnStale(tx, org_id, now)
    if (turned.length === 0) return
    const pairs = turned.map((next) => ({ old: { ...next, stale: !next.stale }, next }))
    const { about, scope } = sourceProposal(await ranksOf(db, org_id), pairs)
    await insertChange(tx, org_id, {
      id: change_id,
      revision: await nextRevision(tx, org_id),
      about,
      types: scope.resources.map(({ name }) => name),
      attribute: scope.attribute,
      alone: scope.alone,
      predicted: null,
      actor: SYSTEM,
      created_at: now,
    })
    await record(
      tx,
      org_id,
      SYSTEM,
      pairs.map(({ old, next }) => sourceHappening(old, next)),
    )
  })
}
