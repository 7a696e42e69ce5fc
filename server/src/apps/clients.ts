/** Who calls the token endpoint: an app that proves itself the one way it registered. */
import { timingSafeEqual } from 'node:crypto'
import type { Db } from '../db/db.ts'
import { keyHash } from '../http/auth.ts'
import { idDigits } from '../kit/ids.ts'
import { findApp } from './app-queries.ts'
import { isUsable } from './apps.ts'
import type { App } from './apps.ts'
import { OAuthError } from './oauth-error.ts'
import type { Params } from './oauth-error.ts'
import { liveSecrets } from './service.ts'

interface Credentials {
  method: App['auth_method']
  client_id: string
  secret: string
}

/**
 * The app that calls.
 * @throws 401 `invalid_client` for every kind of failure in the same words, so that nothing is learnt from trying.
 */
export async function authenticateClient(
  db: Db,
  authorization: string | undefined,
  params: Params,
): Promise<App> {
  const { method, client_id, secret } = readCredentials(authorization, params)
  const id = idDigits('app', client_id)
  const app = id === null ? null : await findApp(db, id)
  const proven = provesSecret(app, secret)
  const known = app?.auth_method === 'none' || proven
  if (app && known && isUsable(app) && app.auth_method === method) return app
  throw new OAuthError(
    'invalid_client',
    'The client is not known, or did not prove itself the way it registered.',
  )
}

/** Compares with every live secret, and with one that nobody has when the app is not known. */
function provesSecret(app: App | null, secret: string): boolean {
  const given = keyHash(secret)
  const kept = app ? liveSecrets(app, Date.now()) : []
  const hashes = kept.length > 0 ? kept.map(({ hash }) => Buffer.from(hash, 'hex')) : [UNKNOWN]
  return hashes.map((hash) => timingSafeEqual(given, hash)).includes(true)
}

/** No text has this hash that anyone could name. */
const UNKNOWN = Buffer.alloc(32)

function readCredentials(authorization: string | undefined, params: Params): Credentials {
  const client_id = params.get('client_id') ?? ''
  const secret = params.get('client_secret')
  if (authorization === undefined) {
    return secret === undefined
      ? { method: 'none', client_id, secret: '' }
      : { method: 'client_secret_post', client_id, secret }
  }
  const basic = readBasic(authorization)
  if (secret !== undefined || (client_id !== '' && client_id !== basic.client_id))
    throw new OAuthError('invalid_request', 'The client proves itself in one way, not in two.')
  return { method: 'client_secret_basic', ...basic }
}

/** RFC 6749 2.3.1: both parts are form-encoded before they are joined. */
function readBasic(authorization: string): { client_id: string; secret: string } {
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization)?.[1]
  const text = Buffer.from(encoded ?? '', 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 0) throw new OAuthError('invalid_client', 'Authorization must be Basic.')
  return {
    client_id: formDecoded(text.slice(0, colon)),
    secret: formDecoded(text.slice(colon + 1)),
  }
}

function formDecoded(text: string): string {
  return new URLSearchParams(`v=${text.replaceAll('&', '%26')}`).get('v') ?? ''
}
