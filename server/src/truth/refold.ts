/** Rows made again of their claims: after a change of rules, at a time at which a claim begins or ends, after an erasure. */
import { flightsIn, inOrder } from '../db/db.ts'
import { bulkStatement } from '../kit/bulk-door.ts'
import type { Change, ExternalId } from '../kit/door.ts'
import { COMPUTED_SOURCE, difference, externalIds, versionConflict } from '../kit/write.ts'
import { ownResource } from '../kit/extended.ts'
import { assertionsOf, foldedRow, ranksOf } from '../kit/history.ts'
import type { Sources } from '../kit/history.ts'
import { record } from '../kit/record.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { changedFields, previousOf, sameValue } from '../kit/row.ts'
import type { Ranks } from '../kit/survivorship.ts'
import type { Assertion } from '../kit/timeline.ts'
import type { Actor, Tx } from '../kit/types.ts'
import { registry } from '../resources.ts'
import { holdObjects, takenKeys } from './object-queries.ts'
import type { Held } from './object-queries.ts'

export interface Refolded {
  /** Objects whose row was looked at, and those whose row changed. */
  checked: number
  changed: number
}

/**
 * Weighs the claims on objects of one type again and writes the rows that differ, through the door. The rows are locked
 * before the claims are read, so nothing comes between.
 * @throws 412 `version_conflict` when the rules changed meanwhile; the transaction must be tried again.
 */
export async function refold(
  tx: Tx,
  org_id: number,
  declared: Resource,
  ids: readonly number[],
  actor: Actor,
  now = new Date(),
): Promise<Refolded> {
  const db = flightsIn(tx)
  const resource = await ownResource({ db, registry }, org_id, declared)
  const held = await holdObjects(tx, org_id, resource, ids)
  if (held.length === 0) return { checked: 0, changed: 0 }
  const objects = held.map(({ id }) => id)
  const [known, ranks] = await inOrder([assertionsOf(db, org_id, objects), ranksOf(db, org_id)])
  const latest = held.map(({ row }) => Date.parse(row['updated_at'] as string))
  const at = new Date(latest.reduce((a, b) => Math.max(a, b), now.getTime()))
  const changes = held.flatMap(
    (object) => rewritten(resource, object, known.get(object.id) ?? [], ranks, at) ?? [],
  )
  const changed = await writeRewritten(tx, org_id, resource, changes, { actor, ranks, at })
  return { checked: held.length, changed }
}

/**
 * Writes rows that were made again. External ids that come back into force but belong to another object by now are left
 * out, which the audit log tells; those that go from one of the objects to another are given up first.
 * @returns how many rows changed.
 */
export async function writeRewritten(
  tx: Tx,
  org_id: number,
  resource: Resource,
  changes: readonly Change[],
  { actor, ranks, at }: { actor: Actor; ranks: Sources; at: Date },
): Promise<number> {
  const context = { org_id, actor, source_id: COMPUTED_SOURCE, at, bulk: true }
  const write = async (part: readonly Change[]): Promise<void> => {
    if (part.length === 0) return
    const { revision } = ranks
    const { sql, params } = bulkStatement(resource, part, { ...context, revision })
    const [written] = await tx.query<{ count: string }>(sql, params)
    if (Number(written?.count) !== part.length) throw versionConflict(null)
  }
  const [giving, taking] = [changes.filter((c) => !takes(c)), changes.filter(takes)]
  await write(giving)
  if (taking.length === 0) return giving.length
  const sought = taking.flatMap(({ external }) => external.add)
  const taken = new Set((await takenKeys(tx, org_id, resource, sought)).map(keyName))
  const left = taking.map((change) => leftOut(change, taken))
  const free = left.flatMap(({ rest }) => rest ?? [])
  await write(free)
  const refused = left.filter(({ keys }) => keys.length > 0)
  if (refused.length > 0)
    await record(
      tx,
      org_id,
      actor,
      refused.map(({ id, keys }) => ({
        type: 'external_ids.left_out',
        object_type: resource.name,
        object_id: id,
        object: null,
        details: { external_ids: keys },
      })),
    )
  return giving.length + free.length
}

function takes({ external }: Change): boolean {
  return external.add.length > 0
}

function keyName({ system, id }: ExternalId): string {
  return `${system}\0${id}`
}

/** The change without the external ids that are taken, which those it keeps are added to; null when nothing is left of it. */
function leftOut(
  change: Change,
  taken: Set<string>,
): { id: number; rest: Change | null; keys: ExternalId[] } {
  const { id, after, external, previous } = change
  const keys = external.add.filter((key) => taken.has(keyName(key)))
  const add = external.add.filter((key) => !taken.has(keyName(key)))
  for (const key of add) taken.add(keyName(key))
  if (keys.length === 0) return { id, rest: change, keys }
  const refused = new Set(keys.map(keyName))
  const listed = (after['external_ids'] as (Row & ExternalId)[]).filter(
    (key) => !refused.has(keyName(key)),
  )
  const rest = {
    ...change,
    after: { ...after, external_ids: listed },
    external: { ...external, add },
  }
  if (!sameValue(listed, previous['external_ids'])) return { id, rest, keys }
  rest.changed = change.changed.filter((name) => name !== 'external_ids')
  const { external_ids: _, ...others } = previous
  rest.previous = others
  return { id, rest: rest.changed.length > 0 ? rest : null, keys }
}

/** The change that makes a row what its claims say at a time; null when it is that already. */
export function rewritten(
  resource: Resource,
  { id, version, row: before }: Held,
  known: readonly Assertion[],
  ranks: Ranks,
  at: Date,
): Change | null {
  const { row: after, folded } = foldedRow(resource, before, known, ranks, at.getTime())
  const now = at.toISOString()
  const archived_at = folded.present ? null : (before['archived_at'] ?? now)
  const moved = archived_at !== before['archived_at']
  const changed = changedFields(after, before)
  if (changed.length === 0 && !moved) return null
  Object.assign(after, { version: version + 1, updated_at: now, archived_at })
  return {
    id,
    operation: 'updated',
    expected: version,
    after,
    previous: previousOf(before, changed),
    changed: moved ? [...changed, 'archived_at'] : changed,
    claims: [],
    contested: true,
    external: difference(externalIds(before), externalIds(after)),
  }
}
