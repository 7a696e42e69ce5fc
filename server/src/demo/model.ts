/** What the generators hand to each other: the portfolio as plain objects, before it is written as resource bodies. */
import type { Row } from '../kit/resource.ts'
import type { Industry } from './names.ts'
import type { Random } from './random.ts'
import type { Site } from './sites.ts'

/**
 * A body whose references are local keys: `@le:LFX-1200-01` stands for the id of the lease that is made under that key.
 */
export interface Draft {
  key: string
  body: Row
  /** From when the body holds, in epoch milliseconds. */
  valid_from: number
  /** What changed since, oldest first. */
  later?: readonly { valid_from: number; values: Row }[]
  /** Pages of lines for the few documents that have a file. */
  pages?: readonly (readonly string[])[]
}

/** The day that everything is relative to. */
export interface Calendar {
  start: string
  /** 24 months before: leases that ended earlier are not told of. */
  base: string
}

export interface BuildingPlan {
  key: string
  site: Site
  name: string
  code: string
  area: number
  floors: readonly FloorPlan[]
}

export interface FloorPlan {
  key: string
  building: BuildingPlan
  label: string
  level: number
  type: 'standard' | 'ground' | 'basement' | 'mezzanine' | 'roof' | 'parking' | 'mechanical'
  /** Rentable area; 0 where nothing can be let. */
  area: number
}

export interface SpacePlan {
  key: string
  building: BuildingPlan
  floors: readonly FloorPlan[]
  suite: string
  type: string
  area: number
  isAnchor: boolean
  /** What the market would pay, per area unit and year. */
  market: number
}

/** How a rent rises. `value` is percent a year, percent each `months`, or money per area and year. */
export interface Growth {
  method: 'fixed_pct' | 'cpi' | 'per_area_step' | 'none'
  value: number
  months: number
}

/** One stretch of a lease: the original term, an extension, a time at another rent, or what follows the end. */
export interface TermPlan {
  type: 'new' | 'extension' | 'modification' | 'holdover'
  /** The day from which the lease holds this stretch; what comes later than it cuts the stretch before short. */
  known: string
  from: string
  /** Null from month to month. */
  to: string | null
  executed: string
  /** Rent per area unit and year on the first day. */
  rate: number
  growth: Growth
  free_months: number
}

export interface AmendmentPlan {
  kind: 'extension' | 'expansion' | 'rent_modification' | 'other'
  effective: string
  executed: string
  title: string
}

export interface Premises {
  space: SpacePlan
  area: number
  from: string
  to: string | null
}

export interface TenantPlan {
  key: string
  legal_name: string
  industry: Industry
  status: 'active' | 'former' | 'prospect'
}

export type LeaseStatus =
  | 'draft'
  | 'in_review'
  | 'out_for_signature'
  | 'executed'
  | 'active'
  | 'holdover'
  | 'expired'
  | 'terminated'
  | 'void'

export interface LeasePlan {
  key: string
  number: string
  site: Site
  building: BuildingPlan
  premises: Premises[]
  tenant: TenantPlan
  status: LeaseStatus
  /** The original term first. */
  terms: TermPlan[]
  amendments: AmendmentPlan[]
  /** The last day of a lease that was ended before its term. */
  terminated?: string
  is_month_to_month?: boolean
  /** A new tenant has signed for the premises, so the present one will not stay. */
  isFollowed?: boolean
  /** Draws what the lease is written with; forks of it give the same at every state of the lease. */
  random: Random
  /** Set where the record is wrong on purpose. */
  flaw?: 'rent_gap' | 'area'
  /** The lease whose term ends next year at a stroke. */
  isCliff?: boolean
}

/** What is leased out now: status active or holdover. */
export function isRunning(lease: LeasePlan): boolean {
  return lease.status === 'active' || lease.status === 'holdover'
}

export function lastTerm(lease: LeasePlan): TermPlan {
  return lease.terms.at(-1) as TermPlan
}

export function areaOf(lease: LeasePlan): number {
  return lease.premises.reduce((total, { area }) => total + area, 0)
}

/** The local key as it stands in a body in place of the id. */
export function ref(key: string): string {
  return `@${key}`
}
