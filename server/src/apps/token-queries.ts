/** SQL of tokens: codes and refresh tokens, and access tokens, which are keys of an installation. */
import type { Db } from '../db/db.ts'
import { keyHash } from '../http/auth.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Tx } from '../kit/types.ts'

/** A code or a refresh token; times as text. */
export interface Grant {
  org_id: number
  app_id: number
  installation_id: number
  consent_id: number
  kind: 'code' | 'refresh'
  scopes: Scope[]
  redirect_uri: string | null
  code_challenge: string | null
  created_at: string
  expires_at: string
  used_at: string | null
  revoked_at: string | null
}

/** An access token; times as text. */
export interface Token {
  id: number
  org_id: number
  app_id: number
  installation_id: number
  consent_id: number | null
  scopes: Scope[]
  created_at: string
  expires_at: string
  revoked_at: string | null
}

export async function findGrant(db: Db, text: string): Promise<Grant | null> {
  return await byHash<Grant>(db, 'select app.find_grant($1::bytea)', text)
}

export async function findToken(db: Db, text: string): Promise<Token | null> {
  return await byHash<Token>(db, 'select app.find_token($1::bytea)', text)
}

async function byHash<T>(db: Db, sql: string, text: string): Promise<T | null> {
  const [row] = await db.flyControl(sql, [`\\x${keyHash(text).toString('hex')}`])
  const found = row?.[0]
  return found ? (JSON.parse(found.toString()) as T) : null
}

export type NewGrant = Omit<Grant, 'created_at' | 'expires_at' | 'used_at' | 'revoked_at'>

/** @param ttl_s how long it may be used, by the clock of the database. */
export async function insertGrant(
  tx: Tx,
  text: string,
  grant: NewGrant,
  ttl_s: number,
): Promise<void> {
  await tx.query(
    `insert into app_grant (hash, org_id, app_id, installation_id, consent_id, kind, scopes, redirect_uri, code_challenge,
       created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now(), now() + make_interval(secs => $10))`,
    [
      keyHash(text),
      grant.org_id,
      grant.app_id,
      grant.installation_id,
      grant.consent_id,
      grant.kind,
      grant.scopes,
      grant.redirect_uri,
      grant.code_challenge,
      ttl_s,
    ],
  )
}

/** Marks a code or refresh token as used. @returns false when it cannot be used, or another just did. */
export async function useGrant(tx: Tx, org_id: number, text: string): Promise<boolean> {
  const rows = await tx.query(
    `update app_grant set used_at = now()
     where org_id = $1 and hash = $2 and used_at is null and revoked_at is null and expires_at > now() returning kind`,
    [org_id, keyHash(text)],
  )
  return rows.length > 0
}

/** An access token, found and limited like any key. */
export async function insertToken(
  tx: Tx,
  text: string,
  token: Pick<Token, 'id' | 'org_id' | 'installation_id' | 'consent_id' | 'scopes'> & {
    name: string
  },
  ttl_s: number,
): Promise<void> {
  await tx.query(
    `insert into api_key (id, org_id, name, hash, hint, scopes, created_at, expires_at, kind, installation_id, consent_id)
     values ($1, $2, $3, $4, $5, $6, now(), now() + make_interval(secs => $7), 'token', $8, $9)`,
    [
      token.id,
      token.org_id,
      token.name,
      keyHash(text),
      `…${text.slice(-4)}`,
      token.scopes,
      ttl_s,
      token.installation_id,
      token.consent_id,
    ],
  )
}

/** Ends one access token. @returns false when it had ended already. */
export async function endToken(tx: Tx, org_id: number, id: number): Promise<boolean> {
  const rows = await tx.query(
    `update api_key set revoked_at = now()
     where org_id = $1 and id = $2 and kind = 'token' and revoked_at is null returning id`,
    [org_id, id],
  )
  return rows.length > 0
}

/** Ends all that an installation holds, or all of it that came of one consent. */
export async function endTokens(
  tx: Tx,
  org_id: number,
  installation_id: number,
  consent_id: number | null,
): Promise<void> {
  for (const table of ['api_key', 'app_grant']) {
    await tx.query(
      `update ${table} set revoked_at = now()
       where org_id = $1 and installation_id = $2 and ($3::bigint is null or consent_id = $3) and revoked_at is null`,
      [org_id, installation_id, consent_id],
    )
  }
}

/** What an organization's tokens depend on. */
export async function standingOf(
  tx: Tx,
  org_id: number,
): Promise<{ plan: string; environment: 'production' | 'sandbox' } | null> {
  const [row] = await tx.query<{ plan: string; environment: 'production' | 'sandbox' }>(
    'select plan, environment from organization where org_id = $1 and id = $1 and deleted_at is null',
    [org_id],
  )
  return row ?? null
}
