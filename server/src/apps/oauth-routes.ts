import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { REFUSED } from '../http/limiter.ts'
import { ApiError } from '../kit/errors.ts'
import { plainAddress } from '../kit/networks.ts'
import { APP_SCOPES, AUTH_METHODS, GRANT_TYPES } from './apps.ts'
import { answerUrl, readAsked, readTarget, refusalUrl } from './authorization.ts'
import type { Asked, Target } from './authorization.ts'
import { authenticateClient } from './clients.ts'
import { consentPage, faultPage, pagePolicy } from './consent-page.ts'
import { consentTo, pageFault, readConsenter } from './consent.ts'
import * as docs from './oauth-docs.ts'
import { OAuthError, readParams, required } from './oauth-error.ts'
import type { Params } from './oauth-error.ts'
import { grantTokens, introspectToken, revokeToken } from './tokens.ts'
import type { ClientCall } from './tokens.ts'

/** A form holds a few short fields. */
const FORM_MAX = 32 * 1024

/** What a client may ask of the token endpoints together, wherever it is installed. */
const CLIENT_PER_MINUTE = 600

/** The endpoints of OAuth take forms and nothing else, and refuse in its own words. */
export async function oauthRoutes(app: FastifyInstance): Promise<void> {
  await app.register((oauth) => {
    oauth.removeAllContentTypeParsers()
    oauth.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_MAX },
      (_request, body, done) => done(null, [...new URLSearchParams(String(body))]),
    )
    pageRoutes(oauth)
    clientRoutes(oauth)
  })
}

function pageRoutes(app: FastifyInstance): void {
  app.get('/oauth/authorize', docs.authorize, async (request, reply) => {
    const query = request.url.split('?').slice(1).join('?')
    const pairs = [...new URLSearchParams(query)]
    return sendPerson(reply, await answerPerson(app, request, pairs, null))
  })
  app.post('/oauth/consent', docs.consent, async (request, reply) =>
    sendPerson(reply, await answerPerson(app, request, formOf(request), decide)),
  )
}

type Pairs = [string, string][]

function formOf(request: FastifyRequest): Pairs {
  return (request.body as Pairs | undefined) ?? []
}

type Decide = (
  app: FastifyInstance,
  request: FastifyRequest,
  target: Target,
  params: Params,
) => Promise<string>

/** A page, or the way back to the app. */
type PersonAnswer =
  | {
      status: 200 | 400 | 401 | 403 | 429
      page: string
      target: Target | null
      retry_after_s?: number | null
    }
  | { location: string }

/** @param decision how the page is answered; null to show it. */
async function answerPerson(
  app: FastifyInstance,
  request: FastifyRequest,
  pairs: Pairs,
  decision: Decide | null,
): Promise<PersonAnswer> {
  let target: Target | null = null
  let asked: Asked | null = null
  try {
    const params = readParams(pairs)
    target = await readTarget(app.db, params)
    asked = readAsked(target, params)
    if (!decision) return { status: 200, page: consentPage(target, asked, null), target }
    const code = await decision(app, request, target, params)
    return { location: answerUrl(target, issuerOf(app), { code }) }
  } catch (error) {
    if (error instanceof OAuthError) {
      if (target) return { location: refusalUrl(target, issuerOf(app), error) }
      return { status: 400, page: faultPage(error.message), target }
    }
    if (!target || !asked) throw error
    const { status, message, retry_after_s } = pageFault(error)
    return { status, page: consentPage(target, asked, message), target, retry_after_s }
  }
}

/** @returns the code. @throws `access_denied` when the person says no. */
const decide: Decide = async (app, request, target, params) => {
  if (required(params, 'decision') !== 'allow')
    throw new OAuthError('access_denied', 'The person did not consent.')
  const address = plainAddress(request.ip)
  const key = params.get('api_key') ?? ''
  const caller = await app.throttle.tried(
    address,
    async () => await readConsenter(app.keys, key, address),
  )
  // From here on the request is the organization's, and stands in its log.
  request.caller = caller
  return await consentTo(app, caller, request.id, target, readAsked(target, params))
}

function sendPerson(reply: FastifyReply, answer: PersonAnswer): FastifyReply {
  reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  // 303: whatever was sent here, a key among it, is not sent on (RFC 9700 4.12).
  if ('location' in answer) return reply.header('location', answer.location).code(303).send()
  if (typeof answer.retry_after_s === 'number')
    reply.header('retry-after', String(answer.retry_after_s))
  return reply
    .headers({
      'content-security-policy': pagePolicy(answer.target),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
    .code(answer.status)
    .type('text/html; charset=utf-8')
    .send(answer.page)
}

function clientRoutes(app: FastifyInstance): void {
  app.post('/oauth/token', docs.token, async (request, reply) =>
    answerClient(app, request, reply, grantTokens),
  )
  app.post('/oauth/revoke', docs.revoke, async (request, reply) =>
    answerClient(app, request, reply, async (call) => await revokeToken(call)),
  )
  app.post('/oauth/introspect', docs.introspect, async (request, reply) =>
    answerClient(app, request, reply, async (call) => {
      if (call.client.auth_method === 'none')
        throw new OAuthError('invalid_client', 'Only an app with a secret may look into tokens.')
      return await introspectToken(call, issuerOf(app))
    }),
  )
}

async function answerClient(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  act: (call: ClientCall) => Promise<unknown>,
): Promise<FastifyReply> {
  reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
  const refusal = await callOf(app, request)
    .then(act)
    .then((body) => void reply.send(body))
    .catch((error: unknown) => {
      if (error instanceof OAuthError) return error
      throw error
    })
  if (!refusal) return reply
  const { code: error, message: error_description, status } = refusal
  if (status === 401) reply.header('www-authenticate', 'Basic realm="oauth"')
  return reply.code(status).send({ error, error_description })
}

async function callOf(app: FastifyInstance, request: FastifyRequest): Promise<ClientCall> {
  const { db, keys, secrets } = app
  const params = readParams(formOf(request))
  const client = await app.throttle.tried(
    plainAddress(request.ip),
    async () => await authenticateClient(db, request.headers.authorization, params),
  )
  await limitClient(app, client.id)
  return { db, keys, secrets, client, params, request_id: request.id }
}

/** @throws 429 for a client that asks too often. */
async function limitClient({ limiter }: FastifyInstance, id: number): Promise<void> {
  const subject = `oauth_client:${id}`
  if ((await limiter.take(subject, CLIENT_PER_MINUTE)) !== REFUSED) return
  const retry_after_s = limiter.reset_s(subject)
  const detail = `${CLIENT_PER_MINUTE} requests per minute are allowed; try again in ${retry_after_s} s.`
  throw new ApiError('rate_limited', detail, {
    'violated-policies': ['oauth_client'],
    retry_after_s,
  })
}

/** The metadata stands at the root of the host, where RFC 8414 looks for it. */
export function oauthMetadata(app: FastifyInstance): void {
  app.get('/.well-known/oauth-authorization-server', docs.metadata, (_request, reply) => {
    const issuer = issuerOf(app)
    const at = (name: string): string => `${issuer}/api/v1/oauth/${name}`
    const methods = [...AUTH_METHODS]
    return reply.send({
      issuer,
      authorization_endpoint: at('authorize'),
      token_endpoint: at('token'),
      revocation_endpoint: at('revoke'),
      introspection_endpoint: at('introspect'),
      scopes_supported: APP_SCOPES,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: GRANT_TYPES,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_methods_supported: methods.filter((m) => m !== 'none'),
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${issuer}/docs/oauth`,
    })
  })
}

/** The host as callers know it: of the public base URL, else where this process listens. */
function issuerOf({ config, server }: FastifyInstance): string {
  if (config.GRID_BASE_URL) return config.GRID_BASE_URL.replace(/\/api\/v1\/?$/, '')
  const port = (server.address() as AddressInfo | null)?.port ?? config.GRID_PORT
  return `http://${config.GRID_HOST}:${port}`
}
