import type { OrgDb, Tx } from '../kit/types.ts'
import type { ApiKey } from './model.ts'

const COLUMNS = `id, org_id, name, hint, scopes, created_at, created_by, updated_at, expires_at, revoked_at, rotated_at,
  old_expires_at, allowed_ips, property_ids, last_used_at, last_used_ip, scope_use`

/** Keys in the order of their making, those after `after`. */
export async function keysAfter(
  db: OrgDb,
  org_id: number,
  after: number,
  limit: number,
): Promise<ApiKey[]> {
  return await db.query<ApiKey>(
    org_id,
    `select ${COLUMNS} from api_key where org_id = $1 and kind = 'key' and id > $2 order by id limit $3`,
    [org_id, after, limit],
  )
}

export async function findKey(db: OrgDb, org_id: number, id: number): Promise<ApiKey | undefined> {
  return (
    await db.query<ApiKey>(
      org_id,
      `select ${COLUMNS} from api_key where org_id = $1 and kind = 'key' and id = $2`,
      [org_id, id],
    )
  )[0]
}

/** The key, for a change in this transaction. */
export async function lockKey(tx: Tx, org_id: number, id: number): Promise<ApiKey | undefined> {
  const rows = await tx.query<ApiKey>(
    `select ${COLUMNS} from api_key where org_id = $1 and kind = 'key' and id = $2 for update`,
    [org_id, id],
  )
  return rows[0]
}

/** Locks the keys that can administer keys, so that no two of them are taken away at once. @returns the others. */
export async function otherAdministrators(tx: Tx, org_id: number, id: number): Promise<ApiKey[]> {
  const rows = await tx.query<ApiKey>(
    `select ${COLUMNS} from api_key
     where org_id = $1 and 'admin:keys' = any(scopes) and revoked_at is null and property_ids is null
       and (expires_at is null or expires_at > now()) order by id for update`,
    [org_id],
  )
  return rows.filter((key) => Number(key.id) !== id)
}

export interface NewKey {
  id: number
  name: string
  hash: Buffer
  hint: string
  scopes: readonly string[]
  expires_at: Date | null
  allowed_ips: readonly string[] | null
  property_ids: readonly number[] | null
  created_by: string | null
}

export async function insertKey(tx: Tx, org_id: number, key: NewKey): Promise<ApiKey> {
  const rows = await tx.query<ApiKey>(
    `insert into api_key (org_id, id, name, hash, hint, scopes, expires_at, allowed_ips, property_ids, created_by, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11) returning ${COLUMNS}`,
    [
      org_id,
      key.id,
      key.name,
      key.hash,
      key.hint,
      key.scopes,
      key.expires_at,
      key.allowed_ips,
      key.property_ids,
      key.created_by,
      new Date(),
    ],
  )
  return rows[0] as ApiKey
}

/** What of a key can be changed. */
export type KeyFields = Pick<
  ApiKey,
  'name' | 'scopes' | 'expires_at' | 'allowed_ips' | 'property_ids'
>

export async function updateKey(
  tx: Tx,
  org_id: number,
  id: number,
  fields: KeyFields,
): Promise<ApiKey> {
  const rows = await tx.query<ApiKey>(
    `update api_key set name = $3, scopes = $4, expires_at = $5, allowed_ips = $6, property_ids = $7, updated_at = $8
     where org_id = $1 and id = $2 returning ${COLUMNS}`,
    [
      org_id,
      id,
      fields.name,
      fields.scopes,
      fields.expires_at,
      fields.allowed_ips,
      fields.property_ids,
      new Date(),
    ],
  )
  return rows[0] as ApiKey
}

/** Gives the key a new text; the present one stays good until `overlap_ends_at`. */
export async function rotateText(
  tx: Tx,
  org_id: number,
  id: number,
  text: { hash: Buffer; hint: string; overlap_ends_at: Date },
): Promise<ApiKey> {
  const rows = await tx.query<ApiKey>(
    `update api_key set old_hash = hash, old_hint = hint, old_expires_at = $5, hash = $3, hint = $4, rotated_at = $6, updated_at = $6
     where org_id = $1 and id = $2 returning ${COLUMNS}`,
    [org_id, id, text.hash, text.hint, text.overlap_ends_at, new Date()],
  )
  return rows[0] as ApiKey
}

export async function markRevoked(tx: Tx, org_id: number, id: number): Promise<ApiKey> {
  const rows = await tx.query<ApiKey>(
    `update api_key set revoked_at = $3, updated_at = $3 where org_id = $1 and id = $2 returning ${COLUMNS}`,
    [org_id, id, new Date()],
  )
  return rows[0] as ApiKey
}

/** Whether keys of the organization are for trying things out. */
export async function environmentOf(
  db: OrgDb,
  org_id: number,
): Promise<'production' | 'sandbox' | undefined> {
  const rows = await db.query<{ environment: 'production' | 'sandbox' }>(
    org_id,
    'select environment from organization where org_id = $1 and id = $1',
    [org_id],
  )
  return rows[0]?.environment
}

/** Notes the use of keys. @returns the addresses that are new to a key that was used before. */
export const TOUCH_KEYS = 'select row_to_json(t) from app.touch_keys($1::json) t'

export interface NewAddress {
  org_id: number
  key_id: number
  key_name: string
  address: string
}
