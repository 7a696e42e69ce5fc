/** What a key may give to others: no more than it holds itself. */
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { isNetwork, isWithin } from '../kit/networks.ts'
import { planIncludes } from '../kit/plans.ts'
import { PLAN_SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Caller } from '../kit/types.ts'

/** Limits of a key; one that is left out stays as it is. */
export interface KeyLimits {
  expires_at?: Date | null
  allowed_ips?: readonly string[] | null
}

/** @throws 403 naming the first scope that the caller, or its plan, does not have. */
export function requireScopes(caller: Caller, scopes: readonly Scope[]): void {
  for (const scope of scopes) {
    if (!planIncludes(caller.plan, scope)) {
      const plan_required = PLAN_SCOPES[scope]
      const detail = `${scope} is part of the ${plan_required} plan.`
      throw new ApiError('plan_required', detail, { plan_required, required_scope: scope })
    }
    if (caller.scopes.has(scope)) continue
    const granted_scopes = [...caller.scopes].sort()
    throw new ApiError(
      'insufficient_scope',
      `Your key does not hold ${scope}, so it cannot grant it.`,
      {
        required_scope: scope,
        granted_scopes,
      },
    )
  }
}

/** @throws 403 when a key would live longer, or be used from more addresses, than the caller's. */
export function requireWithin(caller: Caller, { expires_at, allowed_ips }: KeyLimits): void {
  const ends = caller.expires_at
  if (ends !== null && expires_at !== undefined && (expires_at?.getTime() ?? Infinity) > ends) {
    const detail = `Your key ends at ${new Date(ends).toISOString()}; it cannot make one that lasts longer.`
    throw new ApiError('exceeds_key', detail, { field: 'expires_at' })
  }
  const own = caller.allowed_ips
  const stays = allowed_ips?.every((network) => isWithin(network, own ?? []))
  if (own && allowed_ips !== undefined && !stays) {
    const detail = `Your key may be used from ${own.join(', ')}; it cannot make one for other addresses.`
    throw new ApiError('exceeds_key', detail, { field: 'allowed_ips', allowed: own })
  }
}

/** @throws 422 naming networks that are none, and an end that is past. */
export function requireSound({ expires_at, allowed_ips }: KeyLimits, now = Date.now()): void {
  const issues: Issue[] = (allowed_ips ?? []).flatMap((network, i) => {
    const message = `must be an address or a network such as 203.0.113.0/24, got '${network}'`
    const field = `allowed_ips[${i}]`
    return isNetwork(network) ? [] : [{ field, code: 'invalid_format', message }]
  })
  if (expires_at && expires_at.getTime() <= now)
    issues.push({ field: 'expires_at', code: 'in_the_past', message: 'must be in the future' })
  if (issues.length > 0) throw invalid(issues)
}
