/** A key as it is stored and as its administrators see it. */
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { isScope } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'

export const KEY_STATES = ['active', 'expiring', 'rotating', 'expired', 'revoked'] as const
export type KeyState = (typeof KEY_STATES)[number]

const DAY_MS = 86_400_000

/** A key that ends within this time is expiring. */
const EXPIRING_MS = 7 * DAY_MS

/** A scope that was not asked for within this time is unused. */
const UNUSED_MS = 30 * DAY_MS

/** Longest overlap of a rotation, in hours, and the one that is used when none is given. */
export const OVERLAP_MAX_H = 168
export const OVERLAP_H = 24

/** A row of `api_key`, hashes left out. Bigints are text. */
export interface ApiKey {
  id: string
  org_id: string
  name: string
  hint: string
  scopes: string[]
  created_at: Date
  created_by: string | null
  updated_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  rotated_at: Date | null
  old_expires_at: Date | null
  allowed_ips: string[] | null
  property_ids: string[] | null
  last_used_at: Date | null
  last_used_ip: string | null
  /** Last use by scope. */
  scope_use: Record<string, string>
}

export function stateOf(key: ApiKey, now = Date.now()): KeyState {
  if (key.revoked_at) return 'revoked'
  if (key.expires_at && key.expires_at.getTime() <= now) return 'expired'
  if (key.old_expires_at && key.old_expires_at.getTime() > now) return 'rotating'
  if (key.expires_at && key.expires_at.getTime() <= now + EXPIRING_MS) return 'expiring'
  return 'active'
}

/** Scopes of the key, in the order in which they were given. */
export function scopesOf(key: Pick<ApiKey, 'scopes'>): Scope[] {
  return key.scopes.filter(isScope)
}

/** Scopes that no request of the last 30 days needed. */
export function unusedScopes(key: ApiKey, now = Date.now()): Scope[] {
  const since = now - UNUSED_MS
  return scopesOf(key).filter((scope) => !(Date.parse(key.scope_use[scope] ?? '') >= since))
}

/** The key as JSON, without its text. */
export function keyView(key: ApiKey, environment: string): Row {
  const time = (date: Date | null): string | null => date?.toISOString() ?? null
  return {
    id: publicId('key', key.id),
    object: 'api_key',
    organization_id: publicId('org', key.org_id),
    name: key.name,
    hint: key.hint,
    environment,
    status: stateOf(key),
    scopes: scopesOf(key),
    unused_scopes: unusedScopes(key),
    allowed_ips: key.allowed_ips,
    property_ids: key.property_ids?.map((id) => publicId('prop', id)) ?? null,
    expires_at: time(key.expires_at),
    created_at: time(key.created_at),
    created_by: key.created_by,
    updated_at: time(key.updated_at),
    rotated_at: time(key.rotated_at),
    overlap_ends_at: stateOf(key) === 'rotating' ? time(key.old_expires_at) : null,
    last_used_at: time(key.last_used_at),
    last_used_ip: key.last_used_ip,
    revoked_at: time(key.revoked_at),
  }
}
