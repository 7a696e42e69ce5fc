/** Creating, listing and revoking API keys. A key's text is seen once, when it is made. */
import type { Db } from '../db/db.ts'
import { keyHash, newKey } from '../http/auth.ts'
import { publicId } from '../kit/ids.ts'
import type { Scope } from '../kit/scopes.ts'

export interface KeyInfo {
  id: string
  name: string
  hint: string
  scopes: string[]
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
}

export async function createKey(
  db: Db,
  org_id: number,
  key: {
    name: string
    scopes: readonly Scope[]
    environment: 'production' | 'sandbox'
    expires_at?: Date | null
  },
): Promise<{ id: string; text: string }> {
  const text = newKey(key.environment)
  const [id] = await db.ids(1)
  await db.query(
    org_id,
    `insert into api_key (id, org_id, name, hash, hint, scopes, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      id,
      org_id,
      key.name,
      keyHash(text),
      `…${text.slice(-4)}`,
      key.scopes,
      new Date(),
      key.expires_at ?? null,
    ],
  )
  return { id: publicId('key', id as number), text }
}

export async function listKeys(db: Db, org_id: number): Promise<KeyInfo[]> {
  return await db.query<KeyInfo>(
    org_id,
    `select 'key_' || id as id, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at
     from api_key where org_id = $1 and kind = 'key' order by id`,
    [org_id],
  )
}

/** @returns false when the organization has no such key, or it was revoked before. */
export async function revokeKey(db: Db, org_id: number, id: number): Promise<boolean> {
  const rows = await db.query(
    org_id,
    'update api_key set revoked_at = $3 where org_id = $1 and id = $2 and revoked_at is null returning id',
    [org_id, id, new Date()],
  )
  return rows.length > 0
}
