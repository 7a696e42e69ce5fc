/** The row that follows from what a load claims of an object. */
import type { Change } from '../kit/door.ts'
import { foldedRow } from '../kit/history.ts'
import type { Row } from '../kit/resource.ts'
import { changedFields, previousOf, sameValue } from '../kit/row.ts'
import type { Assertion, Folded, StatedClaim } from '../kit/timeline.ts'
import { difference, externalIds } from '../kit/write.ts'
import type { Load, Said } from './load.ts'
import type { Plan } from './plan.ts'
import type { Present } from './record-queries.ts'

/** Claims that are still to be written, as the last that were. */
export function plannedClaims(load: Load, claims: readonly StatedClaim[]): Assertion[] {
  return claims.map((claim, i) => ({
    ...claim,
    source_id: load.source_id,
    tx_id: Number.MAX_SAFE_INTEGER - claims.length + i,
    confidence: load.confidence,
  }))
}

/** The row that follows when the planned claims join all claims on the object. */
export function changeOf(
  load: Load,
  { id, member }: { id: number; member: number },
  present: Present,
  before: Row,
  { known, sources }: Said,
  plan: Plan,
  row: number | null,
): { change: Change; folded: Folded } {
  const { resource } = load
  const now = new Date()
  const own = member === id ? {} : { member }
  const claims = plan.claims.map((claim) => ({
    ...claim,
    ...own,
    row,
    confidence: load.confidence,
  }))
  const all = [...known, ...plannedClaims(load, claims)]
  const { row: after, folded } = foldedRow(resource, before, all, sources, now.getTime())
  after['version'] = present.version + 1
  after['archived_at'] = folded.present ? null : (before['archived_at'] ?? now.toISOString())
  noteTransition(load, before, after, plan, now)
  return { change: updateOf(id, present, before, after, claims), folded }
}

/** The door's change of an object from one row to another. */
export function updateOf(
  id: number,
  { version }: Pick<Present, 'version'>,
  before: Row,
  after: Row,
  claims: Change['claims'],
): Change {
  const changed = changedFields(after, before)
  return {
    id,
    operation: 'updated',
    expected: version,
    after,
    previous: previousOf(before, changed),
    changed: after['archived_at'] === before['archived_at'] ? changed : [...changed, 'archived_at'],
    claims,
    contested: true,
    external: difference(externalIds(before), externalIds(after)),
  }
}

/** A status that a source moved is kept in the history like one that a person moved. */
function noteTransition(load: Load, before: Row, after: Row, plan: Plan, now: Date): void {
  const { lifecycle } = load.resource
  const [claim] = plan.claims
  if (!lifecycle || !claim || sameValue(before[lifecycle.field], after[lifecycle.field])) return
  if (!('status_history' in after)) return
  const by = { type: load.actor.type, id: load.actor.id }
  const entry = {
    from: before[lifecycle.field],
    to: after[lifecycle.field],
    at: now.toISOString(),
    by,
    reason: null,
  }
  after['status_history'] = [...((before['status_history'] as Row[] | null) ?? []), entry]
  claim.attrs['status_history'] = after['status_history']
}
