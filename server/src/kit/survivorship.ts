/**
 * Which of several claims on one attribute wins. Pure: pins come first, then the rule of the attribute, else of its type,
 * else of the organization, else the order of the sources; what is still equal is decided by time, so that there always is
 * one winner and always the same.
 */
import type { Assertion, SourceRank } from './timeline.ts'
import { sameValue } from './row.ts'

export const STRATEGIES = [
  'source_priority',
  'most_recent',
  'highest_confidence',
  'most_complete',
  'min',
  'max',
  'majority',
  'manual_only',
] as const

export type Strategy = (typeof STRATEGIES)[number]

/** A rule of an organization. */
export interface Rule {
  id: number
  /** Type of objects; null for all. */
  type: string | null
  /** Attribute of the type; null for all. */
  attribute: string | null
  strategy: Strategy
  /** Sources, the best first; others come behind them in their own order. */
  sources: readonly number[]
  /** Claims below this confidence (0-1000) do not win; null leaves it to each source. */
  min_confidence: number | null
}

/** What decided between two claims, as `/conflicts` tells it. */
export const DECISIONS = [
  'pinned',
  'manual_only',
  'confidence',
  'most_complete',
  'min',
  'max',
  'majority',
  'highest_confidence',
  'freshness',
  'source_list',
  'system_of_record',
  'source_rank',
  'most_recent',
  'latest_write',
  'source_id',
  'merged',
] as const

export type Decision = (typeof DECISIONS)[number]

/** Sources with the rules that choose between them; without rules the ranks decide alone. */
export interface Ranks extends ReadonlyMap<number, SourceRank> {
  readonly rules?: RuleBook
}

/** The rules of an organization, by what they are for. */
export class RuleBook {
  private readonly byPlace: ReadonlyMap<string, Rule>

  constructor(rules: readonly Rule[]) {
    this.byPlace = new Map(rules.map((rule) => [place(rule.type, rule.attribute), rule]))
  }

  get all(): Rule[] {
    return [...this.byPlace.values()]
  }

  /** The rule for an attribute: its own, else that of the type, else that of the organization. */
  of(type: string | null, attribute: string): Rule | null {
    if (this.byPlace.size === 0) return null
    return (
      this.byPlace.get(place(type, attribute)) ??
      this.byPlace.get(place(type, null)) ??
      this.byPlace.get(place(null, null)) ??
      null
    )
  }
}

function place(type: string | null, attribute: string | null): string {
  return `${type ?? ''}.${attribute ?? ''}`
}

/** Reserved attribute of a claim that pins its values, and says until when. */
export const PIN = '_pin'
export const UNTIL_SOURCE_CHANGES = 'until_source_changes'

interface Case {
  key: string
  type: string | null
  rule: Rule | null
  ranks: Ranks
  claims: readonly Assertion[]
}

/** What one claim can have before another; the others are reasons not to be compared at all. */
type Merit = Exclude<Decision, 'confidence' | 'merged'>

/** Compares two claims: negative when the first wins. */
type Criterion = (a: Assertion, b: Assertion, of: Case) => number

const CRITERIA: Record<Merit, Criterion> = {
  pinned: (a, b) => Number(isPin(b)) - Number(isPin(a)),
  manual_only: () => 0,
  most_complete: (a, b, { key }) => parts(b.attrs[key]) - parts(a.attrs[key]),
  min: (a, b, { key }) => bySize(a.attrs[key], b.attrs[key], 1),
  max: (a, b, { key }) => bySize(a.attrs[key], b.attrs[key], -1),
  majority: (a, b, of) => votes(b, of) - votes(a, of),
  highest_confidence: (a, b, { ranks }) => surety(b, ranks) - surety(a, ranks),
  freshness: (a, b, { ranks }) => Number(isStale(a, ranks)) - Number(isStale(b, ranks)),
  source_list: (a, b, { rule }) => listed(a, rule) - listed(b, rule),
  system_of_record: (a, b, of) => Number(isOfRecord(b, of)) - Number(isOfRecord(a, of)),
  source_rank: (a, b, { ranks }) => rankOf(a, ranks) - rankOf(b, ranks),
  most_recent: (a, b) => b.valid_from - a.valid_from,
  latest_write: (a, b) => b.tx_id - a.tx_id,
  source_id: (a, b) => a.source_id - b.source_id,
}

const ORDER: readonly Merit[] = [
  'pinned',
  'freshness',
  'source_list',
  'system_of_record',
  'source_rank',
  'most_recent',
  'latest_write',
  'source_id',
]

/** What is looked at in turn, by strategy: its own criterion before the order of the sources. */
const TURNS: Record<Strategy, readonly Merit[]> = {
  source_priority: ORDER,
  manual_only: ORDER,
  most_recent: behindPins('most_recent'),
  highest_confidence: behindPins('highest_confidence'),
  most_complete: behindPins('most_complete'),
  min: behindPins('min'),
  max: behindPins('max'),
  majority: behindPins('majority'),
}

function behindPins(own: Merit): Merit[] {
  return ['pinned', own, ...ORDER.filter((name) => name !== 'pinned' && name !== own)]
}

/**
 * The winning claim on an attribute, null when none may win.
 * @param claims those that hold, at most one per source and record.
 * @param type of the object; null where only ranks are to count.
 */
export function choose<A extends Assertion>(
  claims: readonly A[],
  key: string,
  ranks: Ranks,
  type: string | null,
): A | null {
  const rule = ranks.rules?.of(type, key) ?? null
  const { speakers, of } = heard(claims, { key, type, rule, ranks, claims })
  let best: A | null = null
  for (const claim of speakers) if (best === null || compare(best, claim, of) > 0) best = claim
  return best
}

/**
 * One claim of each source: of those that may win, else of all, as a vote. Of several records of one source that are one
 * object, the one that the others were merged into speaks.
 */
function heard<A extends Assertion>(
  claims: readonly A[],
  of: Case,
): { speakers: readonly A[]; of: Case } {
  const able = claims.filter((claim) => !refusal(claim, of))
  if (claims.every(({ member }) => member === undefined)) return { speakers: able, of }
  const speakers = onePerSource(able)
  const spoken = new Set(speakers.map(({ source_id }) => source_id))
  const mute = onePerSource(claims.filter(({ source_id }) => !spoken.has(source_id)))
  return { speakers, of: { ...of, claims: [...speakers, ...mute] } }
}

function onePerSource<A extends Assertion>(list: readonly A[]): A[] {
  const bySource = Map.groupBy(list, (a) => a.source_id)
  return [...bySource.values()].map((own) =>
    own.reduce((a, b) => ((a.member ?? 0) <= (b.member ?? 0) ? a : b)),
  )
}

/** Why the winner stands before the best of the claims that say something else, and by which rule of the organization. */
export function decisionOf<A extends Assertion>(
  winner: A,
  claims: readonly A[],
  key: string,
  ranks: Ranks,
  type: string | null,
): { by: Decision; rule: Rule | null } {
  const rule = ranks.rules?.of(type, key) ?? null
  const all = { key, type, rule, ranks, claims }
  const { speakers, of } = heard(claims, all)
  const differs = (claim: A): boolean => !sameValue(claim.attrs[key], winner.attrs[key])
  const [best] = speakers.filter(differs).sort((a, b) => compare(a, b, of))
  if (!best) {
    const [reason] = claims.filter(differs).flatMap((claim) => refusal(claim, all) ?? [])
    // What is left are records of sources whose other record speaks.
    return { by: reason ?? 'merged', rule }
  }
  const by = turns(rule).find((name) => CRITERIA[name](winner, best, of) !== 0)
  return { by: by ?? 'source_id', rule }
}

function compare(a: Assertion, b: Assertion, of: Case): number {
  for (const name of turns(of.rule)) {
    const order = CRITERIA[name](a, b, of)
    if (order !== 0) return order
  }
  return 0
}

function turns(rule: Rule | null): readonly Merit[] {
  return rule ? TURNS[rule.strategy] : ORDER
}

/** Why a claim may not win, null when it may. */
function refusal(claim: Assertion, of: Case): Decision | null {
  if (isPin(claim)) return hasYielded(claim, of.claims) ? 'pinned' : null
  const source = of.ranks.get(claim.source_id)
  const least = of.rule?.min_confidence ?? source?.min_confidence ?? 0
  if (least > 0 && surety(claim, of.ranks) < least) return 'confidence'
  return of.rule?.strategy === 'manual_only' && !source?.manual ? 'manual_only' : null
}

function isPin({ attrs }: Assertion): boolean {
  return PIN in attrs
}

/** A pin until the source changes ends with the next claim of another source. */
function hasYielded(pin: Assertion, claims: readonly Assertion[]): boolean {
  return (
    pin.attrs[PIN] === UNTIL_SOURCE_CHANGES &&
    claims.some((claim) => claim.source_id !== pin.source_id && claim.tx_id > pin.tx_id)
  )
}

/** How sure a claim is, 0 to 1000: what its source says of it, as far as the source is trusted. */
function surety(claim: Assertion, ranks: Ranks): number {
  return (claim.confidence * (ranks.get(claim.source_id)?.trust ?? 1_000)) / 1_000
}

function isStale(claim: Assertion, ranks: Ranks): boolean {
  return ranks.get(claim.source_id)?.stale ?? false
}

function listed(claim: Assertion, rule: Rule | null): number {
  if (!rule || rule.sources.length === 0) return 0
  const at = rule.sources.indexOf(claim.source_id)
  return at < 0 ? rule.sources.length : at
}

function isOfRecord(claim: Assertion, { ranks, type }: Case): boolean {
  return type !== null && (ranks.get(claim.source_id)?.system_of_record?.includes(type) ?? false)
}

function rankOf(claim: Assertion, ranks: Ranks): number {
  return ranks.get(claim.source_id)?.rank ?? 0
}

/** How many claims state the same value; claims that may not win count too. */
function votes(claim: Assertion, { key, claims }: Case): number {
  return claims.filter((other) => sameValue(other.attrs[key], claim.attrs[key])).length
}

/** Values in it that say something: of a list or an object all of theirs. */
function parts(value: unknown): number {
  if (value === null || value === undefined || value === '') return 0
  if (typeof value !== 'object') return 1
  return Object.values(value).reduce<number>((sum, part) => sum + parts(part), 0)
}

/** Numbers, also those written as text, by size, other texts and dates by their order; nothing comes last. */
function bySize(a: unknown, b: unknown, sign: 1 | -1): number {
  const [left, right] = [a ?? null, b ?? null]
  if (left === null || right === null) return Number(left === null) - Number(right === null)
  const [x, y] = [Number(left), Number(right)]
  const numbers = Number(Number.isFinite(x)) - Number(Number.isFinite(y))
  if (numbers !== 0) return -numbers
  if (Number.isFinite(x)) return sign * (x - y)
  const [s, t] = [textOf(left), textOf(right)]
  return s === t ? 0 : sign * (s < t ? -1 : 1)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
