/** What must be claimed so that a source's word on an object reads as if some of its claims had never been made. Pure. */
import { byTime, PRESENT } from '../kit/timeline.ts'
import type { Assertion, Claim } from '../kit/timeline.ts'

/**
 * One claim for each valid time at which something is taken back: it repeats what else the source had said of that very
 * time, and retracts what it had not. Claims are only added, so what was known before can still be read.
 * @param own everything the source has said of the object.
 * @param gone says which of it is taken back.
 */
export function claimsWithout<A extends Assertion>(
  own: readonly A[],
  gone: (claim: A) => boolean,
): Claim[] {
  const rest = own.filter((claim) => !gone(claim)).sort(byTime)
  const taken = Map.groupBy(own.filter(gone), ({ valid_from }) => valid_from)
  return [...taken]
    .sort(([a], [b]) => a - b)
    .map(([valid_from, claims]) => {
      const fields = new Set(
        claims.flatMap(({ attrs, retracts }) => [...Object.keys(attrs), ...(retracts ?? [])]),
      )
      const here = rest.filter((claim) => claim.valid_from === valid_from)
      const attrs: Claim['attrs'] = {}
      const retracts: string[] = []
      for (const field of fields) {
        const word = lastWord(here, field)
        if (word) attrs[field] = word.value
        // Presence is not retracted: where nothing else was said, the source lists the object.
        else if (field === PRESENT) attrs[field] = true
        else retracts.push(field)
      }
      return { valid_from, valid_to: null, attrs, retracts: retracts.length > 0 ? retracts : null }
    })
}

/** What the source last said of a field, among claims of one valid time; undefined when nothing or taken back. */
function lastWord(here: readonly Assertion[], field: string): { value: unknown } | undefined {
  for (const { attrs, retracts } of here.toReversed()) {
    if (field in attrs) return { value: attrs[field] }
    if (retracts?.includes(field)) return undefined
  }
  return undefined
}
