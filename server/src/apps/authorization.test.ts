/** The consent page and its answer: the list of RFC 9700 and of the RFCs below it, a row each. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { grid, newClient, newOrganization } from '../../test/grid.ts'
import type { Answer } from '../../test/grid.ts'
import {
  audited,
  authorization,
  callWith,
  checked,
  consent,
  newApp,
  party,
  pkce,
  REDIRECT,
  send,
  sentTo,
  signedIn,
} from './app-fixture.ts'
import type { TestApp } from './app-fixture.ts'

describe('GET /oauth/authorize', () => {
  const ask = async (query: Record<string, string> | string): Promise<Answer> =>
    await checked(
      'GET /oauth/authorize',
      send(`/oauth/authorize?${new URLSearchParams(query).toString()}`, null),
    )

  it('shows a page that loads, runs and frames nothing', async () => {
    const { app, client } = await party()
    const answer = await ask(authorization(app, pkce().challenge))
    expect(answer.status).toBe(200)
    const policy = answer.headers.get('content-security-policy') ?? ''
    const style = /<style>([\s\S]*?)<\/style>/.exec(answer.body)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self' https://app.example.com; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('x-frame-options')).toBe('DENY')
    expect(answer.body).not.toMatch(/<(script|img|link|iframe)\b|https?:\/\/(?!app\.example\.com)/)
    expect(answer.body).toContain('Test organization')
    expect(answer.body).not.toContain(client.key)
  })

  it('escapes what an app says of itself', async () => {
    const client = await newOrganization()
    const app = await newApp(client, { client_name: '"><script>alert(1)</script>' })
    const { body } = await ask(authorization(app, pkce().challenge, { state: '"><b>' }))
    expect(body).not.toMatch(/<script>|"><b>/)
  })

  it.each<[string, Record<string, string | undefined>]>([
    ['no client', { client_id: undefined }],
    ['an unknown client', { client_id: 'app_999999999' }],
    ['no redirect_uri', { redirect_uri: undefined }],
    ['another redirect_uri', { redirect_uri: 'https://evil.example.com/done' }],
    ['a longer path', { redirect_uri: `${REDIRECT}/more` }],
    ['another case', { redirect_uri: REDIRECT.toUpperCase() }],
    ['an added query', { redirect_uri: `${REDIRECT}?x=1` }],
    ['a dot segment', { redirect_uri: 'https://app.example.com/x/../done' }],
    ['a port', { redirect_uri: 'https://app.example.com:443/done' }],
    ['a user in the address', { redirect_uri: 'https://app.example.com@evil.example.com/done' }],
  ])('shows %s and redirects nowhere', async (_, more) => {
    const { app } = await party()
    const answer = await ask(authorization(app, pkce().challenge, more))
    expect(answer.status).toBe(400)
    expect(answer.headers.get('location')).toBeNull()
    expect(answer.headers.get('content-security-policy')).toContain("form-action 'self';")
  })

  it.each<[string, Record<string, string | undefined>, string]>([
    ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response_type', { response_type: undefined }, 'unsupported_response_type'],
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['no method, which means plain', { code_challenge_method: undefined }, 'invalid_request'],
    ['the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge that is no hash', { code_challenge: 'abc' }, 'invalid_request'],
    ['an unknown scope', { scope: 'read:everything' }, 'invalid_scope'],
    ['a scope the app did not register', { scope: 'read:leases read:logs' }, 'invalid_scope'],
  ])('tells the app of %s', async (_, more, error) => {
    const { app } = await party()
    const to = sentTo(await ask(authorization(app, pkce().challenge, more)))
    expect(to.origin + to.pathname).toBe(REDIRECT)
    expect(Object.fromEntries(to.searchParams)).toMatchObject({
      error,
      state: 'state-1',
      iss: new URL((await grid()).base).origin,
    })
  })

  it('refuses a parameter that is sent twice, and ignores one it does not know', async () => {
    const { app } = await party()
    const query = new URLSearchParams(authorization(app, pkce().challenge)).toString()
    expect((await ask(`${query}&ui_locales=de`)).status).toBe(200)
    expect((await ask(`${query}&client_id=${app.id}`)).status).toBe(400)
  })

  it('tells an app that did not register for codes', async () => {
    const client = await newOrganization()
    const app = await newApp(client, { grant_types: ['client_credentials'] })
    const to = sentTo(await ask(authorization(app, pkce().challenge)))
    expect(to.searchParams.get('error')).toBe('unauthorized_client')
  })
})

describe('POST /oauth/consent', () => {
  const answerPage = async (
    app: TestApp,
    more: Record<string, string | undefined>,
  ): Promise<Answer> =>
    await checked(
      'POST /oauth/consent',
      send('/oauth/consent', authorization(app, pkce().challenge, more)),
    )

  it('takes no for an answer, without a key', async () => {
    const { app, client } = await party()
    const to = sentTo(await answerPage(app, { decision: 'deny' }))
    expect(to.searchParams.get('error')).toBe('access_denied')
    expect(to.searchParams.get('state')).toBe('state-1')
    expect((await client.get('/apps/installations')).body.data).toEqual([])
  })

  it('checks the request again, whatever the page held', async () => {
    const { app, client } = await party()
    const given = { api_key: client.key, decision: 'allow' }
    const evil = { ...given, redirect_uri: 'https://evil.example.com/' }
    expect((await answerPage(app, evil)).status).toBe(400)
    const plain = await answerPage(app, { ...given, code_challenge_method: 'plain' })
    expect(sentTo(plain).searchParams.get('code')).toBeNull()
    const wide = await answerPage(app, { ...given, scope: 'read:logs' })
    expect(sentTo(wide).searchParams.get('error')).toBe('invalid_scope')
  })

  it('says on the page why a key is not enough', async () => {
    const { app, client } = await party()
    const stranger = await newOrganization()
    const poor = await newClient(client.org_id, ['admin:keys', 'read:leases'])
    const weak = await newClient(client.org_id, ['read:leases', 'read:parties'])
    const typo = `${client.key.slice(0, -1)}${client.key.endsWith('a') ? 'b' : 'a'}`
    const rows: [string, number, string][] = [
      ['', 401, 'not known'],
      ['no key', 401, 'not known'],
      [typo, 401, 'not known'],
      [weak.key, 403, 'admin:keys'],
      [poor.key, 403, 'does not hold read:parties itself'],
      [stranger.key, 403, 'cannot be installed in your organization'],
    ]
    for (const [api_key, status, words] of rows) {
      const answer = await answerPage(app, { api_key, decision: 'allow' })
      expect(answer.status, words).toBe(status)
      expect(answer.body).toContain('role="alert"')
      expect(answer.body).toContain(words)
      if (api_key) expect(answer.body).not.toContain(api_key)
    }
    expect((await client.get('/apps/installations')).body.data).toEqual([])
  })

  it('adds to what was allowed before, and each token holds what its own consent gave', async () => {
    const { app, client } = await party()
    const narrow = await signedIn(app, client, { scope: 'read:leases' })
    const wide = await signedIn(app, client, { scope: 'read:buildings read:leases' })
    expect([narrow.scope, wide.scope]).toEqual(['read:leases', 'read:buildings read:leases'])
    const { data } = (await client.get('/apps/installations')).body
    expect(data).toMatchObject([{ scope: 'read:leases read:buildings' }])
    expect(await callWith(narrow.access, '/buildings')).toBe(403)
    expect(await audited(client.org_id, 'app.consented')).toHaveLength(1)
  })

  it('leaves out what the plan does not include', async () => {
    const client = await newOrganization({ standing: { plan: 'community' } })
    const app = await newApp(client, { scope: 'read:intelligence read:leases' })
    expect((await signedIn(app, client, { scope: undefined })).scope).toBe('read:leases')
  })

  it('is in the request log of the organization, without the key', async () => {
    const { app, client } = await party()
    await consent(app, client, pkce().challenge)
    const { body } = await client.get('/request-logs?path=/api/v1/oauth/consent')
    expect(body.data).toMatchObject([{ status: 303, key_name: 'Test key' }])
  })
})
