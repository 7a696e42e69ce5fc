/** What became of the claims on an object: which hold, which lost, and what decided. Pure. */
import type { Known, Sources } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import { claimView } from '../kit/shape.ts'
import { decisionOf, PIN } from '../kit/survivorship.ts'
import { fold, liveClaims } from '../kit/timeline.ts'

/** All that was said of one object, and who ranks how. */
export interface Claims {
  resource: Resource
  known: readonly Known[]
  sources: Sources
}

export const STATUSES = ['current', 'conflicting', 'superseded', 'retracted'] as const

export type Status = (typeof STATUSES)[number]

/** Every claim ever made, in the order given, each with what became of it. */
export function factViews(claims: Claims, at: number, field: string | null): Row[] {
  const statusOf = statuses(claims, at)
  return claims.known.flatMap((claim) =>
    Object.keys(claim.attrs)
      .filter((name) => name !== PIN && (field === null || name === field))
      .map((name) => ({
        field: name,
        status: statusOf(claim, name),
        ...claimView(claim, name, claims.sources),
      })),
  )
}

/** What became of each claim on an object, by the time `at`. */
export function statuses(
  { resource, known, sources }: Claims,
  at: number,
): (claim: Known, name: string) => Status {
  const { values, winners } = fold(known, at, sources, resource.name)
  const live = liveClaims(known, at)
  return (claim, name) => {
    if (winners.get(name) === claim) return 'current'
    if (isRetracted(claim, name, known)) return 'retracted'
    if (!live.get(name)?.includes(claim)) return 'superseded'
    return sameValue(claim.attrs[name] ?? null, values[name] ?? null) ? 'current' : 'conflicting'
  }
}

/** A later transaction of the same source says of the same member that it should not have been made. */
export function isRetracted(claim: Known, name: string, known: readonly Known[]): boolean {
  return known.some(
    (other) =>
      other.source_id === claim.source_id &&
      other.member === claim.member &&
      other.valid_from === claim.valid_from &&
      other.tx_id > claim.tx_id &&
      other.retracts?.includes(name),
  )
}

/** Fields on which live claims of several sources differ: the winner, the losers and what decided. */
export function conflictViews({ resource, known, sources }: Claims, at: number): Row[] {
  const { winners } = fold(known, at, sources, resource.name)
  return [...liveClaims(known, at)].flatMap(([field, claims]) => {
    const winner = winners.get(field) as Known | undefined
    const losers = claims.filter(
      (claim) =>
        claim !== winner && !sameValue(claim.attrs[field] ?? null, winner?.attrs[field] ?? null),
    )
    if (!winner || losers.length === 0) return []
    const { by, rule } = decisionOf(winner, claims, field, sources, resource.name)
    return [
      {
        field,
        winner: claimView(winner, field, sources),
        others: losers.map((claim) => claimView(claim, field, sources)),
        rule: by,
        rule_id: rule && publicId('sur', rule.id),
        strategy: rule?.strategy ?? 'source_priority',
      },
    ]
  })
}
