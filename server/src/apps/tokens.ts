/** Tokens: made of a code, a refresh token or the client's own word; ended, and looked into, by the client. */
import type { Db } from '../db/db.ts'
import { newKey, newSecret } from '../http/auth.ts'
import type { Keys } from '../http/auth.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Actor, Tx } from '../kit/types.ts'
import type { Secrets } from '../secrets.ts'
import { secretOf } from '../webhooks/index.ts'
import { holdApp } from './app-queries.ts'
import { isUsable, withinPlan } from './apps.ts'
import type { App, GrantType } from './apps.ts'
import { provesChallenge, readScope } from './authorization.ts'
import { findInstallation, holdInstallation, installationsOfApp } from './installation-queries.ts'
import { OAuthError, required } from './oauth-error.ts'
import type { Params } from './oauth-error.ts'
import {
  endToken,
  endTokens,
  findGrant,
  findToken,
  insertGrant,
  insertToken,
  standingOf,
  useGrant,
} from './token-queries.ts'
import type { Grant, Token } from './token-queries.ts'

/** How long each may be used, in seconds. A refresh token is replaced with every use, so an app in use goes on. */
export const CODE_TTL_S = 60
const TOKEN_TTL_S = 60 * 60
const REFRESH_TTL_S = 30 * 24 * 60 * 60

/** RFC 6749 5.1. */
export interface TokenAnswer {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token?: string
  scope: string
  /** The webhook of the installation and its secret, for a client that keeps secrets. */
  webhook?: { id: string; secret: string }
}

/** The client that calls, and what it calls upon. */
export interface ClientCall {
  db: Db
  keys: Keys
  secrets: Secrets
  client: App
  params: Params
  request_id: string
}

/** The answer of the token endpoint. @throws OAuthError. */
export async function grantTokens(call: ClientCall): Promise<TokenAnswer> {
  const { client, params } = call
  const grant_type = required(params, 'grant_type')
  const flow = FLOWS[grant_type as GrantType] as (typeof FLOWS)[GrantType] | undefined
  if (!flow || !Object.hasOwn(FLOWS, grant_type)) {
    const known = Object.keys(FLOWS).join(', ')
    throw new OAuthError('unsupported_grant_type', `grant_type must be one of ${known}.`)
  }
  if (!client.grant_types.includes(grant_type as GrantType))
    throw new OAuthError('unauthorized_client', `The app did not register ${grant_type}.`)
  return await flow(call)
}

const FLOWS = {
  authorization_code: async (call: ClientCall): Promise<TokenAnswer> => {
    const code = required(call.params, 'code')
    const grant = await readGrant(call, code, 'code')
    const redirect_uri = call.params.get('redirect_uri') ?? grant.redirect_uri
    if (redirect_uri !== grant.redirect_uri)
      throw new OAuthError('invalid_grant', 'redirect_uri is not the one the code was sent to.')
    const verifier = required(call.params, 'code_verifier')
    if (!provesChallenge(verifier, grant.code_challenge ?? ''))
      throw new OAuthError('invalid_grant', 'code_verifier does not match the code_challenge.')
    const answer = await exchange(call, 'authorization_code', code, grant, grant.scopes)
    return { ...answer, ...(await webhookOf(call, grant.org_id, grant.installation_id)) }
  },
  refresh_token: async (call: ClientCall): Promise<TokenAnswer> => {
    const text = required(call.params, 'refresh_token')
    const grant = await readGrant(call, text, 'refresh')
    return await exchange(call, 'refresh_token', text, grant, readScope(call.params, grant.scopes))
  },
  client_credentials: async (call: ClientCall): Promise<TokenAnswer> => {
    const { db, client, params } = call
    const named = readInstallation(params)
    const [installation] = await installationsOfApp(db, client.id, named)
    if (!installation) throw new OAuthError('invalid_grant', 'The app is not installed there.')
    const { org_id, id: installation_id } = installation
    const source = { org_id, installation_id, consent_id: null, refresh: null }
    const scopes = readScope(params, installation.scopes)
    const [id] = (await db.ids(1)) as [number]
    const answer = await db.transaction(
      org_id,
      async (tx) => await issue(tx, call, 'client_credentials', id, { ...source, scopes }),
    )
    return { ...answer, ...(await webhookOf(call, org_id, installation_id)) }
  },
} satisfies Record<GrantType, (call: ClientCall) => Promise<TokenAnswer>>

/** How the app verifies what is delivered to it from an installation. */
async function webhookOf(
  { db, secrets, client }: ClientCall,
  org_id: number,
  installation_id: number,
): Promise<Pick<TokenAnswer, 'webhook'>> {
  if (client.auth_method === 'none' || !client.webhook) return {}
  const installation = await findInstallation(db, org_id, installation_id)
  const id = installation?.webhook_id
  const secret = id ? await secretOf(db, secrets, org_id, id) : null
  return id && secret ? { webhook: { id: publicId('wh', id), secret } } : {}
}

/** Where a client without a person acts: it may be installed in many organizations. */
function readInstallation(params: Params): { id: number | null; org_id: number | null } {
  const installation = params.get('installation_id')
  const organization = params.get('organization_id')
  const id = installation === undefined ? null : idDigits('inst', installation)
  const org_id = organization === undefined ? null : idDigits('org', organization)
  if (id !== null || org_id !== null) return { id: id ?? null, org_id: org_id ?? null }
  throw new OAuthError('invalid_request', 'Name installation_id or organization_id.')
}

/** A code or refresh token of this client that nobody used yet. @throws `invalid_grant`. */
async function readGrant(call: ClientCall, text: string, kind: Grant['kind']): Promise<Grant> {
  const grant = await findGrant(call.db, text)
  if (!grant || grant.kind !== kind || grant.app_id !== call.client.id) throw unusable(kind)
  if (grant.used_at) await endReused(call, grant)
  if (grant.used_at || grant.revoked_at || Date.parse(grant.expires_at) <= Date.now())
    throw unusable(kind)
  return grant
}

function unusable(kind: Grant['kind']): OAuthError {
  const what = kind === 'code' ? 'code' : 'refresh token'
  return new OAuthError('invalid_grant', `The ${what} is not known, has ended or was used before.`)
}

/** Whoever comes second may be the thief or the robbed: all that came of the consent ends (RFC 9700 4.14). */
async function endReused(
  { db, keys, client, request_id }: ClientCall,
  grant: Grant,
): Promise<void> {
  const { org_id, installation_id, consent_id, kind } = grant
  await db.transaction(org_id, async (tx) => {
    await endTokens(tx, org_id, installation_id, consent_id)
    await record(tx, org_id, actorOf(client, request_id), [
      {
        type: 'token.reused',
        object_type: 'app_installation',
        object_id: installation_id,
        object: null,
        details: { kind, consent_id },
      },
    ])
  })
  keys.forget()
}

async function exchange(
  call: ClientCall,
  grant_type: GrantType,
  text: string,
  grant: Grant,
  scopes: Scope[],
): Promise<TokenAnswer> {
  const { org_id, installation_id, consent_id, kind } = grant
  const refresh = call.client.grant_types.includes('refresh_token') ? grant.scopes : null
  const [id] = (await call.db.ids(1)) as [number]
  const use = async (tx: Tx): Promise<void> => {
    if (!(await useGrant(tx, org_id, text))) throw new LostRace()
  }
  try {
    return await call.db.transaction(
      org_id,
      async (tx) =>
        await issue(tx, call, grant_type, id, {
          org_id,
          installation_id,
          consent_id,
          scopes,
          refresh,
          use,
        }),
    )
  } catch (error) {
    if (!(error instanceof LostRace)) throw error
    // Two requests brought the same at once; one of them has its tokens by now.
    const now = await findGrant(call.db, text)
    if (now?.used_at) await endReused(call, now)
    throw unusable(kind)
  }
}

class LostRace extends Error {}

interface Source {
  org_id: number
  installation_id: number
  consent_id: number | null
  /** Asked for; the token holds what of it app, consent and plan allow at present. */
  scopes: Scope[]
  /** Scopes of the next refresh token; null when there is none. */
  refresh: Scope[] | null
  /** Uses up what is exchanged. */
  use?: (tx: Tx) => Promise<void>
}

/** Locks in the order in which uninstalling and suspending do: installation, app, grant. */
async function issue(
  tx: Tx,
  { client, request_id }: ClientCall,
  grant_type: GrantType,
  id: number,
  source: Source,
): Promise<TokenAnswer> {
  const { org_id, installation_id, consent_id, refresh } = source
  const installation = await holdInstallation(tx, org_id, installation_id)
  const app = await holdApp(tx, client.id)
  const standing = await standingOf(tx, org_id)
  if (!installation || !app || !isUsable(app) || !standing)
    throw new OAuthError('invalid_grant', 'The app is not installed there.')
  await source.use?.(tx)
  const scopes = withinPlan(source.scopes, standing.plan).filter(
    (scope) => installation.scopes.includes(scope) && app.scopes.includes(scope),
  )
  if (scopes.length === 0)
    throw new OAuthError('invalid_scope', 'Nothing of the scope is allowed there any more.')
  const access_token = newKey(standing.environment)
  const token = { id, org_id, installation_id, consent_id, scopes, name: app.client_name }
  await insertToken(tx, access_token, token, TOKEN_TTL_S)
  const answer = { access_token, token_type: 'Bearer', expires_in: TOKEN_TTL_S } as const
  const scope = scopes.join(' ')
  await record(tx, org_id, actorOf(client, request_id), [
    {
      ...audited('token.issued', token),
      details: { grant_type, scope, installation_id: publicId('inst', installation_id) },
    },
  ])
  if (!refresh || consent_id === null) return { ...answer, scope }
  const refresh_token = newSecret('grid_ref_')
  const next = { org_id, app_id: client.id, installation_id, consent_id, scopes: refresh }
  const kept = { ...next, kind: 'refresh', redirect_uri: null, code_challenge: null } as const
  await insertGrant(tx, refresh_token, kept, REFRESH_TTL_S)
  return { ...answer, refresh_token, scope }
}

/** Ends a token of the client; a refresh token with all that came of its consent. Others are left alone (RFC 7009). */
export async function revokeToken({
  db,
  keys,
  client,
  params,
  request_id,
}: ClientCall): Promise<void> {
  const text = required(params, 'token')
  const actor = actorOf(client, request_id)
  const token = await findToken(db, text)
  if (token?.app_id === client.id) {
    await db.transaction(token.org_id, async (tx) => {
      if (await endToken(tx, token.org_id, token.id))
        await record(tx, token.org_id, actor, [audited('token.revoked', token)])
    })
    keys.forget()
    return
  }
  const grant = await findGrant(db, text)
  if (grant?.kind !== 'refresh' || grant.app_id !== client.id) return
  const { org_id, installation_id, consent_id } = grant
  await db.transaction(org_id, async (tx) => {
    await endTokens(tx, org_id, installation_id, consent_id)
    const happened = { type: 'token.revoked', object_type: 'app_installation', object: null }
    await record(tx, org_id, actor, [
      { ...happened, object_id: installation_id, details: { consent_id } },
    ])
  })
  keys.forget()
}

/** What a token of the client is good for (RFC 7662); a client sees no more than its own. */
export async function introspectToken(
  { db, client, params }: ClientCall,
  issuer: string,
): Promise<Record<string, unknown>> {
  const text = required(params, 'token')
  const token = (await findToken(db, text)) ?? (await refreshToken(db, text))
  const ended = !token || token.revoked_at || Date.parse(token.expires_at) <= Date.now()
  if (ended || token.app_id !== client.id) return { active: false }
  return {
    active: true,
    scope: token.scopes.join(' '),
    client_id: publicId('app', client.id),
    sub: publicId('org', token.org_id),
    installation_id: publicId('inst', token.installation_id),
    iss: issuer,
    iat: Math.floor(Date.parse(token.created_at) / 1_000),
    exp: Math.floor(Date.parse(token.expires_at) / 1_000),
    ...('id' in token ? { token_type: 'Bearer', jti: publicId('key', token.id) } : {}),
  }
}

async function refreshToken(db: Db, text: string): Promise<Grant | null> {
  const grant = await findGrant(db, text)
  return grant?.kind === 'refresh' && !grant.used_at ? grant : null
}

function actorOf(client: App, request_id: string): Actor {
  return { type: 'app', id: publicId('app', client.id), name: client.client_name, request_id }
}

/** An entry about one access token, which is a key. */
function audited(
  type: string,
  { id }: Pick<Token, 'id'>,
): { type: string; object_type: string; object_id: number; object: null } {
  return { type, object_type: 'api_key', object_id: id, object: null }
}
