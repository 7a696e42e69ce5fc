/** What the changes of a load come to, told object by object: facts, current values, claims of others. Pure. */
import type { Change } from '../kit/door.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import { liveClaims, PRESENT } from '../kit/timeline.ts'
import type { Folded } from '../kit/timeline.ts'
import type { Load, LoadItem, Said } from './load.ts'
import type { History } from './plan.ts'

/** `unchanged`: facts are written, but every current value stays as it is. */
export const EFFECT_ACTIONS = ['created', 'changed', 'unchanged', 'ended'] as const
export type EffectAction = (typeof EFFECT_ACTIONS)[number]

/** `corrected`: the source said something else of the same time before. `ended`: the source lists it no longer. */
export const FACT_ACTIONS = ['added', 'corrected', 'ended', 'retracted'] as const

export interface FactEffect {
  field: string
  value: unknown
  valid_from: string
  action: (typeof FACT_ACTIONS)[number]
}

/** Another source claims another value. */
export interface Conflict {
  field: string
  outcome: 'won' | 'lost'
  /** The value of the load. */
  value: unknown
  /** The value that the other source claims, and its name. */
  other_value: unknown
  other_source: string
}

/** One object of a load. */
export interface Effect {
  action: EffectAction
  type: string
  key: string
  row: number | null
  /** Null for one that does not exist yet. */
  object_id: number | null
  /** Current values that change. */
  fields: { field: string; before: unknown; after: unknown }[]
  facts: FactEffect[]
  conflicts: Conflict[]
}

/** Of an object that is made; all its values are new. */
export function effectOfNew(
  resource: Resource,
  { key, row }: Pick<LoadItem, 'key' | 'row'>,
  change: Change,
): Effect {
  return {
    action: 'created',
    type: resource.name,
    key,
    row,
    object_id: null,
    fields: [],
    facts: factsOf(change.claims, { claims: [], blanks: [] }),
    conflicts: [],
  }
}

/** Of an object that was there. */
export function effectOfChange(
  load: Load,
  { key, row }: LoadItem,
  change: Change,
  seen: { history: History; said: Said; folded: Folded; ending: boolean },
): Effect {
  const fields = change.changed.map((field) => ({
    field,
    before: change.previous[field] ?? null,
    after: field === 'archived_at' ? null : (change.after[field] ?? null),
  }))
  const named = fields.filter(({ field }) => field !== 'archived_at')
  return {
    action: seen.ending ? 'ended' : change.changed.length > 0 ? 'changed' : 'unchanged',
    type: load.resource.name,
    key,
    row,
    object_id: change.id,
    fields: named,
    facts: factsOf(change.claims, seen.history),
    conflicts: conflictsOf(load, change, seen),
  }
}

function factsOf(claims: Change['claims'], history: History): FactEffect[] {
  return claims.flatMap(({ valid_from, attrs, retracts }) => {
    const at = new Date(valid_from).toISOString()
    const here = history.claims.filter((claim) => claim.valid_from === valid_from)
    const said = Object.entries(attrs).map(([field, value]): FactEffect => {
      const ends = value === null || (field === PRESENT && value === false)
      const again = here.some((claim) => field in claim.attrs)
      const action = ends ? 'ended' : again ? 'corrected' : 'added'
      return { field, value, valid_from: at, action }
    })
    const taken = (retracts ?? []).map((field): FactEffect => ({
      field,
      value: null,
      valid_from: at,
      action: 'retracted',
    }))
    return [...said, ...taken]
  })
}

function conflictsOf(
  load: Load,
  change: Change,
  { said: { known, sources }, folded }: { said: Said; folded: Folded },
): Conflict[] {
  const others = known.filter(({ source_id }) => source_id !== load.source_id)
  if (others.length === 0) return []
  const live = liveClaims(others, Date.now())
  const stated = Object.assign({}, ...change.claims.map(({ attrs }) => attrs)) as Row
  return Object.entries(stated).flatMap(([field, value]) =>
    (live.get(field) ?? [])
      .filter((claim) => !sameValue(claim.attrs[field], value))
      .map((claim): Conflict => ({
        field,
        outcome: folded.winners.get(field)?.source_id === load.source_id ? 'won' : 'lost',
        value,
        other_value: claim.attrs[field],
        other_source: sources.get(claim.source_id)?.name ?? 'unknown',
      })),
  )
}
