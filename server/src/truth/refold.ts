/** Rows made again of their claims: after a change of rules, at a time at which a claim begins or ends, after an erasure. */
import { bulkStatement } from '../kit/bulk-door.ts'
import type { Change } from '../kit/door.ts'
import { difference, externalIds, versionConflict } from '../kit/write.ts'
import { ownResource } from '../kit/extended.ts'
import { assertionsOf, foldedRow, ranksOf } from '../kit/history.ts'
import type { Resource } from '../kit/resource.ts'
import { changedFields, previousOf } from '../kit/row.ts'
import type { Ranks } from '../kit/survivorship.ts'
import type { Assertion } from '../kit/timeline.ts'
import type { Actor, OrgDb, Tx } from '../kit/types.ts'
import { registry } from '../resources.ts'
import { holdObjects } from './object-queries.ts'
import type { Held } from './object-queries.ts'

/** Source of what the platform works out itself. */
const COMPUTED_SOURCE = 5

export interface Refolded {
  /** Objects whose row was looked at, and those whose row changed. */
  checked: number
  changed: number
}

/**
 * Weighs the claims on objects of one type again and writes the rows that differ, through the door. The rows are locked
 * before the claims are read, so nothing comes between; claims that this transaction writes are not seen.
 * @throws 412 `version_conflict` when the rules changed meanwhile; the transaction must be tried again.
 */
export async function refold(
  db: OrgDb,
  tx: Tx,
  org_id: number,
  declared: Resource,
  ids: readonly number[],
  actor: Actor,
  now = new Date(),
): Promise<Refolded> {
  const resource = await ownResource({ db, registry }, org_id, declared)
  const held = await holdObjects(tx, org_id, resource, ids)
  if (held.length === 0) return { checked: 0, changed: 0 }
  const [known, ranks] = await Promise.all([
    assertionsOf(
      db,
      org_id,
      held.map(({ id }) => id),
    ),
    ranksOf(db, org_id),
  ])
  const latest = held.map(({ row }) => Date.parse(row['updated_at'] as string))
  const at = new Date(latest.reduce((a, b) => Math.max(a, b), now.getTime()))
  const changes = held.flatMap(
    (object) => rewritten(resource, object, known.get(object.id) ?? [], ranks, at) ?? [],
  )
  if (changes.length > 0) {
    const { sql, params } = bulkStatement(resource, changes, {
      org_id,
      actor,
      source_id: COMPUTED_SOURCE,
      at,
      bulk: true,
      revision: ranks.revision,
    })
    const [written] = await tx.query<{ count: string }>(sql, params)
    if (Number(written?.count) !== changes.length) throw versionConflict(null)
  }
  return { checked: held.length, changed: changes.length }
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
