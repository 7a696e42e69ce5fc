/**
 * What was true when, and what was known when: the rules of the fact model, pure.
 *
 * A source's claims are append-only assertions `(valid_from, tx)`; a later tx at the same valid_from corrects an
 * earlier one. Nothing is ever closed by an update: at a time T the latest claim with `valid_from <= T` holds.
 * Two reserved attributes speak of the object itself: `_present` (false: the source stopped listing it, which ends all
 * its claims so far) and `_deleted` (true: removed by a user).
 */
import { sameValue } from './row.ts'
import type { Row } from './resource.ts'

/** One row of the assertion table, times in epoch milliseconds. */
export interface Assertion {
  source_id: number
  valid_from: number
  valid_to: number | null
  tx_id: number
  attrs: Row
  /** Attributes whose claim at this valid_from should never have been made. */
  retracts: readonly string[] | null
  /** Attributes that the source had stated and left blank from here on: the value stays, the statement ends. */
  unstated: readonly string[] | null
  confidence: number
}

/** What planning a load yields: assertions without source and tx. */
export type Claim = Pick<Assertion, 'valid_from' | 'valid_to' | 'attrs' | 'retracts' | 'unstated'>

/** How sources rank when they disagree: a lower number wins. */
export interface SourceRank {
  rank: number
  /** Claims below this confidence (0-1000) never win. */
  min_confidence: number
}

export interface Folded {
  values: Row
  /** The winning assertion of each value. */
  winners: Map<string, Assertion>
  /** Some source lists the object. */
  present: boolean
  deleted: boolean
}

const PRESENT = '_present'
const DELETED = '_deleted'

/** Orders assertions as they took effect. */
export function byTime(a: Assertion, b: Assertion): number {
  return a.valid_from - b.valid_from || a.tx_id - b.tx_id
}

/**
 * The values of one object at valid time `at`, all its sources considered.
 * @param assertions those with `tx_id` up to the known-at bound; any order.
 */
export function fold(
  assertions: readonly Assertion[],
  at: number,
  ranks: ReadonlyMap<number, SourceRank>,
): Folded {
  const past = assertions.filter((a) => a.valid_from <= at).sort(byTime)
  const live = candidates(past, at, true)
  const present = [...live.values()].some((list) => list.length > 0)
  // When every source has stopped listing the object its last known values stay readable.
  const pool = present ? live : candidates(past, at, false)
  const values: Row = {}
  const winners = new Map<string, Assertion>()
  for (const [key, list] of pool) {
    const winner = list.reduce<Assertion | null>((best, next) => better(best, next, ranks), null)
    if (!winner) continue
    values[key] = winner.attrs[key] ?? null
    winners.set(key, winner)
  }
  const deleted = past.findLast((a) => DELETED in a.attrs)?.attrs[DELETED] === true
  return { values, winners, present, deleted }
}

/** Per attribute, the claim of each source that holds at `at`. */
function candidates(
  past: readonly Assertion[],
  at: number,
  heedPresence: boolean,
): Map<string, Assertion[]> {
  const bySource = Map.groupBy(past, (a) => a.source_id)
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
      if (key === PRESENT || key === DELETED || result.has(key)) continue
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

function better(
  a: Assertion | null,
  b: Assertion,
  ranks: ReadonlyMap<number, SourceRank>,
): Assertion | null {
  const rank = ranks.get(b.source_id)
  if (rank && b.confidence < rank.min_confidence) return a
  if (!a) return b
  const order =
    (ranks.get(a.source_id)?.rank ?? 0) - (rank?.rank ?? 0) ||
    b.valid_from - a.valid_from ||
    b.tx_id - a.tx_id ||
    a.source_id - b.source_id
  return order <= 0 ? a : b
}

/** What one source said of one record at one of its runs. */
export interface RunState {
  present: boolean
  values: Map<string, { value: unknown; stated: boolean }>
}

/** The state of a record as its source gave it at `at`; `history` is that source's assertions sorted by time. */
export function stateAt(history: readonly Claim[], at: number): RunState {
  const state: RunState = { present: false, values: new Map() }
  const past = history.filter((a) => a.valid_from <= at)
  past.forEach((a, i) => {
    // Only the last word on presence at one valid time counts.
    const overruled = past
      .slice(i + 1)
      .some((later) => later.valid_from === a.valid_from && PRESENT in later.attrs)
    if (a.attrs[PRESENT] === false && !overruled) {
      state.values.clear()
      state.present = false
    }
    for (const [key, value] of Object.entries(a.attrs)) {
      if (key === PRESENT) continue
      const takenBack = past
        .slice(i + 1)
        .some((later) => later.valid_from === a.valid_from && later.retracts?.includes(key))
      if (takenBack) continue
      state.values.set(key, { value, stated: true })
      state.present = true
    }
    for (const key of a.unstated ?? []) {
      const known = state.values.get(key)
      if (known) state.values.set(key, { value: known.value, stated: false })
    }
  })
  return state
}

/**
 * The claims to write so that the record, at its source's run of time `at`, reads as `stated`.
 *
 * Values that did not change are not written again. That is why a load between two earlier ones must also restore, at
 * the next run, what that run had confirmed without writing: so releases loaded in any order give one timeline.
 * @param history the source's claims on the record, sorted by time.
 * @param stated the attributes the row gives (blank cells left out), or null when a full snapshot lacks the record.
 * @param next the source's next run after `at` for this stream, if one was loaded before; `complete` when that run
 *   listed every record, so that one it lacked had ended.
 */
export function planClaims(
  history: readonly Claim[],
  at: number,
  stated: Row | null,
  next: { at: number; complete: boolean } | null,
): Claim[] {
  const claims: Claim[] = []
  const claim = stated ? statement(history, at, stated) : ending(history, at)
  if (!claim) return []
  claims.push(claim)
  if (!next) return claims
  const before = stateAt(history, next.at)
  const after = stateAt(inOrder([...history, claim]), next.at)
  const restored = restore(before, after, next)
  if (restored) claims.push(restored)
  return claims
}

function statement(history: readonly Claim[], at: number, stated: Row): Claim | null {
  const state = stateAt(history, at)
  const attrs: Row = {}
  for (const [key, value] of Object.entries(stated)) {
    const known = state.values.get(key)
    if (!known?.stated || !sameValue(known.value, value)) attrs[key] = value
  }
  const blank = [...state.values.keys()].filter(
    (key) => !(key in stated) && state.values.get(key)?.stated,
  )
  const retracts = blank.filter((key) => history.some((c) => c.valid_from === at && key in c.attrs))
  const unstated = blank
  if (!state.present && history.some((c) => c.valid_from === at && c.attrs[PRESENT] === false)) {
    attrs[PRESENT] = true
  }
  if (Object.keys(attrs).length === 0 && unstated.length === 0) return null
  return {
    valid_from: at,
    valid_to: null,
    attrs,
    retracts: orNull(retracts),
    unstated: orNull(unstated),
  }
}

function ending(history: readonly Claim[], at: number): Claim | null {
  if (!stateAt(history, at).present) return null
  return {
    valid_from: at,
    valid_to: null,
    attrs: { [PRESENT]: false },
    retracts: null,
    unstated: null,
  }
}

/** What to write at the next run so that it reads again as it did before the insertion. */
function restore(
  before: RunState,
  after: RunState,
  next: { at: number; complete: boolean },
): Claim | null {
  const claim: Claim = {
    valid_from: next.at,
    valid_to: null,
    attrs: {},
    retracts: null,
    unstated: null,
  }
  if (!before.present) {
    if (!after.present || !next.complete) return null
    claim.attrs[PRESENT] = false
    return claim
  }
  for (const [key, { value, stated }] of before.values) {
    const now = after.values.get(key)
    if (stated && (!now?.stated || !sameValue(now.value, value))) claim.attrs[key] = value
  }
  const unstated = [...after.values]
    .filter(([key, now]) => now.stated && !before.values.get(key)?.stated)
    .map(([key]) => key)
  claim.unstated = orNull(unstated)
  return Object.keys(claim.attrs).length > 0 || claim.unstated ? claim : null
}

/** History with a new claim in its place: after those of the same valid time. */
function inOrder(claims: readonly Claim[]): Claim[] {
  return claims
    .map((claim, i) => ({ claim, i }))
    .sort((a, b) => a.claim.valid_from - b.claim.valid_from || a.i - b.i)
    .map(({ claim }) => claim)
}

function orNull(list: string[]): string[] | null {
  return list.length > 0 ? list : null
}
