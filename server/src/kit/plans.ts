/** What organizations can have: limits and scopes by plan. */
import { ALL_SCOPES, PLAN_SCOPES } from './scopes.ts'
import type { Scope } from './scopes.ts'

/** Requests per minute. */
export interface Limits {
  per_key: number
  per_organization: number
}

export interface Plan extends Limits {
  title: string
  description: string
}

export const PLANS = {
  community: {
    title: 'Community',
    description: 'The whole of the data model and the developer platform.',
    per_key: 600,
    per_organization: 2_400,
  },
  professional: {
    title: 'Professional',
    description: 'The same for several systems at once.',
    per_key: 3_000,
    per_organization: 12_000,
  },
  enterprise: {
    title: 'Enterprise',
    description: 'Benchmarks and health metrics beside, and the highest limits.',
    per_key: 30_000,
    per_organization: 120_000,
  },
} as const satisfies Record<string, Plan>

export type PlanName = keyof typeof PLANS

export const PLAN_NAMES = Object.keys(PLANS) as PlanName[]

/** Every sandbox has these, whatever the plan. */
export const SANDBOX: Limits = { per_key: 100, per_organization: 400 }

export function planIncludes(plan: string, scope: Scope): boolean {
  const needed = PLAN_SCOPES[scope]
  return needed === undefined || needed === plan
}

export function scopesOf(plan: PlanName): Scope[] {
  return ALL_SCOPES.filter((scope) => planIncludes(plan, scope))
}
