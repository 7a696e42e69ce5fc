/**
 * What a load must write so that the source's timeline reads as its releases say, in whatever order they are loaded.
 *
 * Values that did not change are not written again: a release that confirms them leaves no trace but its run. That is
 * why a load between two earlier ones must also restore, at the next run, what that run had confirmed without writing.
 * A blank cell is not stated: the value before it goes on. Which attributes a release left blank is kept beside the
 * claims, because only what it did state may be restored at it.
 */
import { sameValue } from '../kit/row.ts'
import type { Row } from '../kit/resource.ts'
import { PRESENT } from '../kit/timeline.ts'
import type { Claim } from '../kit/timeline.ts'

/** Attributes with a value that the source's row leaves blank from this run on, each until it is claimed again. */
export interface Blanks {
  valid_from: number
  fields: readonly string[]
}

/** All a source has said of one record; claims sorted by valid time, then transaction. */
export interface History {
  claims: readonly Claim[]
  blanks: readonly Blanks[]
}

export interface Plan {
  claims: Claim[]
  blanks: Blanks[]
}

/** A run of the same stream that was loaded before and lies after the one being loaded. */
export interface NextRun {
  at: number
  /** It listed every record, so one it lacked had ended. */
  complete: boolean
}

/** A record as its source gave it at one of its runs. */
export interface RunState {
  present: boolean
  values: Map<string, unknown>
  blank: ReadonlySet<string>
}

/** The state of a record at a run of time `at`. */
export function stateAt(history: History, at: number): RunState {
  let values = new Map<string, unknown>()
  let present = false
  const past = history.claims.filter((claim) => claim.valid_from <= at)
  past.forEach((claim, i) => {
    // What a later transaction said of the same valid time is the last word on it.
    const later = past.slice(i + 1).filter((other) => other.valid_from === claim.valid_from)
    if (claim.attrs[PRESENT] === false && !later.some((other) => PRESENT in other.attrs)) {
      values = new Map()
      present = false
    }
    for (const [key, value] of Object.entries(claim.attrs)) {
      if (key === PRESENT || later.some((other) => other.retracts?.includes(key))) continue
      values.set(key, value)
      present = true
    }
  })
  const blank = new Set<string>()
  for (const { valid_from, fields } of history.blanks) {
    if (valid_from > at) continue
    const since = past.filter((claim) => claim.valid_from > valid_from)
    for (const field of fields) {
      if (values.has(field) && !since.some((claim) => field in claim.attrs)) blank.add(field)
    }
  }
  return { present, values, blank }
}

/**
 * @param stated the attributes the row gives, blank cells left out; null when a full snapshot lacks the record.
 * @param next the source's next run after `at` for this stream, if one was loaded before.
 */
export function planLoad(
  history: History,
  at: number,
  stated: Row | null,
  next: NextRun | null,
): Plan {
  const plan: Plan = { claims: [], blanks: [] }
  const state = stateAt(history, at)
  const claim = stated ? statement(history, state, at, stated) : ending(state, at)
  if (claim) plan.claims.push(claim)
  if (stated) markBlanks(history, plan, at, new Set(Object.keys(stated)))
  if (next && (plan.claims.length > 0 || plan.blanks.length > 0)) {
    restore(history, plan, stated, next)
  }
  return plan
}

function statement(history: History, state: RunState, at: number, stated: Row): Claim | null {
  const attrs: Row = {}
  for (const [key, value] of Object.entries(stated)) {
    // A value stated again after a blank is claimed again: a release loaded later may change what it was carried from.
    const confirmed = state.values.has(key) && !state.blank.has(key)
    if (!confirmed || !sameValue(state.values.get(key), value)) attrs[key] = value
  }
  // A second file for the same date that leaves blank what the first one stated takes that back.
  const here = history.claims.filter((claim) => claim.valid_from === at)
  const retracts = [...state.values.keys()].filter(
    (key) => !(key in stated) && here.some((claim) => key in claim.attrs),
  )
  if (!state.present && here.some((claim) => claim.attrs[PRESENT] === false)) attrs[PRESENT] = true
  if (Object.keys(attrs).length === 0 && retracts.length === 0) return null
  return { valid_from: at, valid_to: null, attrs, retracts: retracts.length > 0 ? retracts : null }
}

function ending(state: RunState, at: number): Claim | null {
  if (!state.present) return null
  return { valid_from: at, valid_to: null, attrs: { [PRESENT]: false }, retracts: null }
}

/**
 * Makes the next run read again as it did before the insertion. What it confirms without a claim of its own must be
 * stated by the run before it, so that a later insertion between the two is noticed here again.
 */
function restore(history: History, plan: Plan, stated: Row | null, next: NextRun): void {
  const before = stateAt(history, next.at)
  const after = stateAt(extended(history, plan), next.at)
  if (!before.present) {
    if (after.present && next.complete) {
      plan.claims.push({
        valid_from: next.at,
        valid_to: null,
        attrs: { [PRESENT]: false },
        retracts: null,
      })
    }
    return
  }
  const claimed = new Set(
    history.claims.flatMap((c) => (c.valid_from === next.at ? Object.keys(c.attrs) : [])),
  )
  const attrs: Row = {}
  for (const [key, value] of before.values) {
    if (before.blank.has(key)) continue
    const carried = stated !== null && key in stated && sameValue(after.values.get(key), value)
    if (!carried && !claimed.has(key)) attrs[key] = value
  }
  if (Object.keys(attrs).length > 0) {
    plan.claims.push({ valid_from: next.at, valid_to: null, attrs, retracts: null })
  }
  const said = [...before.values.keys()].filter((key) => !before.blank.has(key))
  markBlanks(history, plan, next.at, new Set(said))
}

/** Notes what the row at `at` leaves blank and is not known to be blank already; forgets what it states after all. */
function markBlanks(history: History, plan: Plan, at: number, stated: ReadonlySet<string>): void {
  const now = stateAt(extended(history, plan), at)
  const here = history.blanks.find((blanks) => blanks.valid_from === at)?.fields ?? []
  const kept = here.filter((field) => !stated.has(field))
  const added = [...now.values.keys()].filter((key) => !stated.has(key) && !now.blank.has(key))
  if (added.length === 0 && kept.length === here.length) return
  plan.blanks.push({ valid_from: at, fields: [...kept, ...added].sort() })
}

/** The history with a plan carried out: new claims after those of the same valid time. */
export function extended(history: History, plan: Plan): History {
  const claims = [...history.claims, ...plan.claims]
    .map((claim, i) => ({ claim, i }))
    .sort((a, b) => a.claim.valid_from - b.claim.valid_from || a.i - b.i)
    .map(({ claim }) => claim)
  const replaced = new Set(plan.blanks.map((blanks) => blanks.valid_from))
  const blanks = [...history.blanks.filter((b) => !replaced.has(b.valid_from)), ...plan.blanks]
  return { claims, blanks }
}
