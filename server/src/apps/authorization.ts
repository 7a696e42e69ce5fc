/** The authorization request (RFC 6749 4.1.1 with RFC 7636): who asks, where the answer goes, and for what. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Db } from '../db/db.ts'
import { idDigits } from '../kit/ids.ts'
import type { Scope } from '../kit/scopes.ts'
import { findApp } from './app-queries.ts'
import { isUsable, parseScope } from './apps.ts'
import type { App } from './apps.ts'
import { OAuthError, required } from './oauth-error.ts'
import type { Params } from './oauth-error.ts'

/** Where the answer may be sent: an app that exists and an address it registered. */
export interface Target {
  app: App
  redirect_uri: string
  state: string | null
}

/** What the app asks for. */
export interface Asked {
  scopes: Scope[]
  code_challenge: string
}

/** The base64url of a SHA-256. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

/**
 * Who asks, and where to. Nothing is ever sent to an address that this did not find.
 * @throws OAuthError, which is shown to the person and not redirected.
 */
export async function readTarget(db: Db, params: Params): Promise<Target> {
  const id = idDigits('app', required(params, 'client_id'))
  const app = id === null ? null : await findApp(db, id)
  if (!app || !isUsable(app))
    throw new OAuthError('invalid_client', 'No app that can be used has this client_id.')
  const redirect_uri = required(params, 'redirect_uri')
  // Compared as text: addresses that only mean the same are different ones.
  if (!app.redirect_uris.includes(redirect_uri))
    throw new OAuthError('invalid_request', 'The app did not register this redirect_uri.')
  return { app, redirect_uri, state: params.get('state') ?? null }
}

/** What is asked for. @throws OAuthError, which the app is told by redirect. */
export function readAsked({ app }: Target, params: Params): Asked {
  if (params.get('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code.')
  if (!app.grant_types.includes('authorization_code'))
    throw new OAuthError('unauthorized_client', 'The app did not register authorization_code.')
  // Without a method RFC 7636 means plain, which a stolen code and request would satisfy.
  if (params.get('code_challenge_method') !== 'S256')
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256.')
  const code_challenge = required(params, 'code_challenge')
  if (!CHALLENGE.test(code_challenge))
    throw new OAuthError('invalid_request', 'code_challenge must be the base64url of a SHA-256.')
  return { scopes: readScope(params, app.scopes), code_challenge }
}

/** The scope parameter within what is allowed; all of that when it is left out. */
export function readScope(params: Params, allowed: readonly Scope[]): Scope[] {
  const text = params.get('scope')
  if (text === undefined) return [...allowed]
  const scopes = parseScope(text)
  if (scopes && scopes.length > 0 && scopes.every((scope) => allowed.includes(scope))) return scopes
  throw new OAuthError('invalid_scope', `scope may name ${allowed.join(' ')}.`)
}

/** Whether the verifier is the one whose hash was sent with the authorization request. */
export function provesChallenge(verifier: string, challenge: string): boolean {
  if (!VERIFIER.test(verifier)) return false
  const hash = createHash('sha256').update(verifier).digest()
  const expected = Buffer.from(challenge, 'base64url')
  return hash.length === expected.length && timingSafeEqual(hash, expected)
}

/** The address to send the person back to, as registered, with the answer appended and who answers (RFC 9207). */
export function answerUrl(
  { redirect_uri, state }: Target,
  issuer: string,
  answer: Record<string, string>,
): string {
  const query = new URLSearchParams({
    ...answer,
    ...(state === null ? {} : { state }),
    iss: issuer,
  })
  return `${redirect_uri}${redirect_uri.includes('?') ? '&' : '?'}${query.toString()}`
}

/** The same for a refusal. */
export function refusalUrl(target: Target, issuer: string, error: OAuthError): string {
  return answerUrl(target, issuer, { error: error.code, error_description: error.message })
}
