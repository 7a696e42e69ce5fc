/**
 * What was true when, and what was known when: the rules of the fact model, pure.
 *
 * A source's claims are append-only assertions `(valid_from, tx)`; a later tx at the same valid_from corrects an
 * earlier one. Nothing is ever closed by an update: at a time T the latest claim with `valid_from <= T` holds.
 * Reserved attributes speak of the object itself: `_present` (false: the source stopped listing it, which ends all
 * its claims so far) and `_deleted` (true: removed by a user). `_pin` marks a claim that a person pinned.
 */
import type { Row } from './resource.ts'
import { choose, PIN } from './survivorship.ts'
import type { Ranks } from './survivorship.ts'

/** One row of the assertion table, times in epoch milliseconds. */
export interface Assertion {
  source_id: number
  valid_from: number
  valid_to: number | null
  tx_id: number
  attrs: Row
  /** Attributes whose claim at this valid_from should never have been made. */
  retracts: readonly string[] | null
  confidence: number
  /** The merged object that it was claimed of; absent where that is the object itself. */
  member?: number | undefined
}

/** An assertion about to be made: its source and tx follow from the write. */
export type Claim = Pick<Assertion, 'valid_from' | 'valid_to' | 'attrs' | 'retracts'>

/** A claim as it is written; `member` is the merged object it is made of, where that is not the object itself. */
export type StatedClaim = Claim & { confidence?: number; row?: number | null; member?: number }

/** How sources rank when they disagree: a lower number wins. */
export interface SourceRank {
  rank: number
  /** Claims below this confidence (0-1000) never win. */
  min_confidence: number
  /** How far its claims are believed (0-1000); 1000 when left out. */
  trust?: number
  /** It was not heard of for so long that it comes behind all others. */
  stale?: boolean
  /** Types of objects that it is the system of record for. */
  system_of_record?: readonly string[]
  /** People speak through it. */
  manual?: boolean
  /** False: it speaks of objects that others list; what it did not make itself is not there for its sake. */
  lists?: boolean
}

export interface Folded {
  values: Row
  /** The winning assertion of each value. */
  winners: Map<string, Assertion>
  /** Some source lists the object. */
  present: boolean
  deleted: boolean
}

/** Attribute that says whether the source lists the object. */
export const PRESENT = '_present'
const DELETED = '_deleted'
const RESERVED = new Set([PRESENT, DELETED, PIN])

/** Orders assertions as they took effect. */
export function byTime(a: Assertion, b: Assertion): number {
  return a.valid_from - b.valid_from || a.tx_id - b.tx_id
}

/**
 * The values of one object at valid time `at`, all its sources considered.
 * @param assertions those with `tx_id` up to the known-at bound; any order.
 * @param type of the object, by which the rules of the organization are found.
 */
export function fold(
  assertions: readonly Assertion[],
  at: number,
  ranks: Ranks,
  type: string | null = null,
): Folded {
  const past = assertions.filter((a) => a.valid_from <= at).sort(byTime)
  const live = candidates(past, at, true)
  const present = isListed(live, assertions, ranks)
  // When every source has stopped listing the object its last known values stay readable.
  const pool = present ? live : candidates(past, at, false)
  const values: Row = {}
  const winners = new Map<string, Assertion>()
  for (const [key, list] of pool) {
    const winner = choose(list, key, ranks, type)
    if (!winner) continue
    values[key] = winner.attrs[key] ?? null
    winners.set(key, winner)
  }
  const deleted = past.findLast((a) => DELETED in a.attrs)?.attrs[DELETED] === true
  return { values, winners, present, deleted }
}

/** Does a source list the object? Once one stopped, that somebody wrote to what it made keeps nothing there. */
function isListed(
  live: ReadonlyMap<string, Assertion[]>,
  assertions: readonly Assertion[],
  ranks: Ranks,
): boolean {
  if (!assertions.some(({ attrs }) => attrs[PRESENT] === false)) return live.size > 0
  const makers = new Map<number | undefined, Assertion>()
  for (const a of assertions) {
    const first = makers.get(a.member)
    if (!first || a.tx_id < first.tx_id) makers.set(a.member, a)
  }
  const lists = ({ source_id, member }: Assertion): boolean =>
    ranks.get(source_id)?.lists !== false || makers.get(member)?.source_id === source_id
  return [...live.values()].some((list) => list.some(lists))
}

/** Per attribute, the claims that hold at `at`: one per source that says anything of it. */
export function liveClaims<A extends Assertion>(
  assertions: readonly A[],
  at: number,
): Map<string, A[]> {
  const past = assertions.filter((a) => a.valid_from <= at).sort(byTime)
  return candidates(past, at, true) as Map<string, A[]>
}

/** Per attribute, the claim of each source on each member that holds at `at`. */
function candidates(
  past: readonly Assertion[],
  at: number,
  heedPresence: boolean,
): Map<string, Assertion[]> {
  // What a source says of one record ends nothing of what it says of another, though both be one object.
  const bySource = Map.groupBy(past, (a) =>
    a.member === undefined ? a.source_id : `${a.source_id} ${a.member}`,
  )
  const found = new Map<string, Assertion[]>()
  for (const list of bySource.values()) {
    for (const [key, claim] of held(list, at, heedPresence)) {
      const others = found.get(key)
      if (others) others.push(claim)
      else found.set(key, [claim])
    }
  }
  return found
}

/** One source's claim per attribute at `at`; `list` is sorted by time. */
function held(
  list: readonly Assertion[],
  at: number,
  heedPresence: boolean,
): Map<string, Assertion> {
  const gone = heedPresence ? goneAt(list) : null
  const result = new Map<string, Assertion>()
  const retracted = new Map<string, Set<number>>()
  for (let i = list.length - 1; i >= 0; i--) {
    const a = list[i] as Assertion
    if (gone !== null && a.valid_from <= gone) break
    for (const key of Object.keys(a.attrs)) {
      if (RESERVED.has(key) || result.has(key)) continue
      if (retracted.get(key)?.has(a.valid_from)) continue
      if (a.valid_to !== null && a.valid_to <= at) {
        // An interval that has ended, and whatever it replaced at the same start, leaves the stage.
        note(retracted, key, a.valid_from)
        continue
      }
      result.set(key, a)
    }
    for (const key of a.retracts ?? []) note(retracted, key, a.valid_from)
  }
  return result
}

function note(map: Map<string, Set<number>>, key: string, at: number): void {
  const set = map.get(key)
  if (set) set.add(at)
  else map.set(key, new Set([at]))
}

/** The latest valid time at which the source stopped listing the object and did not take that back, or null. */
function goneAt(list: readonly Assertion[]): number | null {
  const words = new Map<number, boolean>()
  for (const a of list) if (PRESENT in a.attrs) words.set(a.valid_from, a.attrs[PRESENT] === true)
  return [...words].findLast(([, present]) => !present)?.[0] ?? null
}
