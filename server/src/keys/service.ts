/** Creating, changing, rotating and revoking API keys. A key's text is seen once, when it is made. */
import { keyHash, newKey } from '../http/auth.ts'
import { ApiError, notFound } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Happening } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Actor, OrgDb, Tx } from '../kit/types.ts'
import { SYSTEM } from '../organizations/service.ts'
import { keyView, OVERLAP_MAX_H, stateOf } from './model.ts'
import type { ApiKey } from './model.ts'
import {
  environmentOf,
  findKey,
  insertKey,
  keysAfter,
  lockKey,
  markRevoked,
  otherAdministrators,
  rotateText,
  updateKey,
} from './queries.ts'
import type { KeyFields } from './queries.ts'

export { requireScopes } from './grants.ts'
export { stateOf } from './model.ts'
export { environmentOf } from './queries.ts'
export type { ApiKey } from './model.ts'

type Environment = 'production' | 'sandbox'

const HOUR_MS = 3_600_000

/** Keys an organization has at most, for what is read at once. */
const KEYS_MAX = 10_000

export interface KeyRequest {
  name: string
  scopes: readonly Scope[]
  environment: Environment
  expires_at?: Date | null
  allowed_ips?: readonly string[] | null
  property_ids?: readonly number[] | null
}

/** A key with its text, which is not kept. */
export interface MadeKey {
  key: ApiKey
  text: string
}

export async function createKey(
  db: OrgDb,
  org_id: number,
  request: KeyRequest,
  actor: Actor = SYSTEM,
): Promise<{ id: string; text: string }> {
  const [id = 0] = await db.ids(1)
  const { key, text } = await db.transaction(
    org_id,
    async (tx) => await makeKey(tx, org_id, id, request, actor),
  )
  return { id: publicId('key', key.id), text }
}

export async function makeKey(
  tx: Tx,
  org_id: number,
  id: number,
  request: KeyRequest,
  actor: Actor,
): Promise<MadeKey> {
  const { name, scopes, environment, expires_at = null } = request
  const { allowed_ips = null, property_ids = null } = request
  const text = newKey(environment)
  const created_by = actor.id ?? actor.type
  const stored = { hash: keyHash(text), hint: hintOf(text), created_by }
  const fields = { id, name, scopes, expires_at, allowed_ips, property_ids }
  const key = await insertKey(tx, org_id, { ...fields, ...stored })
  await tell(tx, key, environment, actor, { type: 'api_key.created' })
  return { key, text }
}

/** What scanners and people tell a key by. */
function hintOf(text: string): string {
  return `…${text.slice(-4)}`
}

/** Every key of the organization, oldest first. */
export async function listKeys(db: OrgDb, org_id: number): Promise<ApiKey[]> {
  return await keysAfter(db, org_id, 0, KEYS_MAX)
}

/** @throws 404 */
export async function getKey(db: OrgDb, org_id: number, id: number): Promise<ApiKey> {
  const key = await findKey(db, org_id, id)
  if (!key) throw notFound(`API key ${publicId('key', id)}`)
  return key
}

/** The key, locked for a change. @throws 404, and 409 when it was revoked. */
async function presentKey(tx: Tx, org_id: number, id: number): Promise<ApiKey> {
  const key = await lockKey(tx, org_id, id)
  if (!key) throw notFound(`API key ${publicId('key', id)}`)
  if (!key.revoked_at) return key
  const detail = `API key ${publicId('key', id)} was revoked at ${key.revoked_at.toISOString()}.`
  throw new ApiError('conflict', detail)
}

export interface KeyChange {
  environment: Environment
  actor: Actor
  /** Refuses the change; sees the key as it is, and as it would be. */
  guard: (before: ApiKey, after: ApiKey) => void
}

/** @throws 409 when no key could administer keys any more. */
export async function changeKey(
  db: OrgDb,
  org_id: number,
  id: number,
  patch: Partial<KeyFields>,
  { environment, actor, guard }: KeyChange,
): Promise<ApiKey> {
  return await db.transaction(org_id, async (tx) => {
    const others = await otherAdministrators(tx, org_id, id)
    const before = await presentKey(tx, org_id, id)
    const after = { ...before, ...patch }
    guard(before, after)
    if (administers(before) && !administers(after)) requireAdministrator(others)
    const [old, next] = [keyView(before, environment), keyView(after, environment)]
    const changed = Object.keys(next).filter((name) => !sameValue(next[name], old[name]))
    if (changed.length === 0) return before
    const key = await updateKey(tx, org_id, id, after)
    const previous = Object.fromEntries(changed.map((name) => [name, old[name]]))
    await tell(tx, key, environment, actor, { type: 'api_key.updated', changed, previous })
    return key
  })
}

function administers({ scopes, property_ids }: ApiKey): boolean {
  return scopes.includes('admin:keys') && property_ids === null
}

function requireAdministrator(others: readonly ApiKey[]): void {
  if (others.length > 0) return
  const detail = 'This is the last key that can administer keys; make another one first.'
  throw new ApiError('conflict', detail)
}

/**
 * Gives a key a new text; the present one stays good for the overlap.
 * @throws 409 while the text before the present one is still good; an overlap of 0 hours ends both.
 */
export async function rotateKey(
  tx: Tx,
  org_id: number,
  id: number,
  overlap_hours: number,
  { environment, actor, guard }: KeyChange,
): Promise<MadeKey> {
  const before = await presentKey(tx, org_id, id)
  guard(before, before)
  const state = stateOf(before)
  if (state === 'expired') throw new ApiError('conflict', 'The key has expired; extend it first.')
  if (state === 'rotating' && overlap_hours > 0) {
    const until = before.old_expires_at?.toISOString()
    const detail = `The key was rotated; its earlier text is good until ${until}. Rotate with overlap_hours 0 to end it now.`
    throw new ApiError('conflict', detail)
  }
  const hours = Math.min(Math.max(overlap_hours, 0), OVERLAP_MAX_H)
  const text = newKey(environment)
  const overlap_ends_at = new Date(Date.now() + hours * HOUR_MS)
  const stored = { hash: keyHash(text), hint: hintOf(text), overlap_ends_at }
  const key = await rotateText(tx, org_id, id, stored)
  const changed = ['hint', 'rotated_at']
  const previous = { hint: before.hint, rotated_at: before.rotated_at?.toISOString() ?? null }
  const details = { overlap_hours: hours }
  await tell(tx, key, environment, actor, { type: 'api_key.rotated', changed, previous, details })
  return { key, text }
}

/**
 * Ends a key, in this process at once if it forgets its keys, in others within a second.
 * @param keepOne refuses to end the last key that can administer keys.
 * @throws 404; 409 when it was revoked before
 */
export async function endKey(
  db: OrgDb,
  org_id: number,
  id: number,
  { environment, actor }: Pick<KeyChange, 'environment' | 'actor'>,
  keepOne: boolean,
): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const others = await otherAdministrators(tx, org_id, id)
    const before = await presentKey(tx, org_id, id)
    if (keepOne && administers(before)) requireAdministrator(others)
    const key = await markRevoked(tx, org_id, id)
    const previous = { status: stateOf(before), revoked_at: null }
    const changed = ['status', 'revoked_at']
    await tell(tx, key, environment, actor, { type: 'api_key.revoked', changed, previous })
  })
}

/** For the operator. @returns false when the organization has no such key, or it was revoked before. */
export async function revokeKey(
  db: OrgDb,
  org_id: number,
  id: number,
  actor: Actor = SYSTEM,
): Promise<boolean> {
  const environment = (await environmentOf(db, org_id)) ?? 'production'
  try {
    await endKey(db, org_id, id, { environment, actor }, false)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

/** For the operator. @returns the new text. */
export async function rotateForOperator(
  db: OrgDb,
  org_id: number,
  id: number,
  overlap_hours: number,
): Promise<string> {
  const environment = (await environmentOf(db, org_id)) ?? 'production'
  const change: KeyChange = { environment, actor: SYSTEM, guard: () => {} }
  const { text } = await db.transaction(
    org_id,
    async (tx) => await rotateKey(tx, org_id, id, overlap_hours, change),
  )
  return text
}

/** Audit entry and event of what happened to a key. */
async function tell(
  tx: Tx,
  key: ApiKey,
  environment: Environment,
  actor: Actor,
  happening: Pick<Happening, 'type' | 'changed' | 'previous' | 'details'>,
): Promise<void> {
  const object: Row = keyView(key, environment)
  const object_id = Number(key.id)
  await record(tx, Number(key.org_id), actor, [
    { ...happening, object_type: 'api_key', object_id, object },
  ])
}
