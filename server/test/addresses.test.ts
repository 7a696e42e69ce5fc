/** Where requests come from: addresses that a key allows, proxies that are believed, strangers that try keys. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../src/app.ts'
import {
  appWith as clientWithSecret,
  authorization,
  newApp,
  pkce,
} from '../src/apps/app-fixture.ts'
import { readConfig } from '../src/config.ts'
import { newKey } from '../src/http/auth.ts'
import { createKey, revokeKey } from '../src/keys/service.ts'
import { idDigits } from '../src/kit/ids.ts'
import { isNetwork, isWithin, plainAddress, subscriberOf } from '../src/kit/networks.ts'
import { grid, newOrganization, owner } from './grid.ts'

const { db } = await grid()
const apps: FastifyInstance[] = []
afterAll(async () => await Promise.all(apps.map(async (app) => await app.close())))

async function appWith(settings: Record<string, string>): Promise<FastifyInstance> {
  const app = await buildApp(readConfig({ GRID_LOG: 'error', ...settings }), db)
  apps.push(app)
  return app
}

async function ask(
  app: FastifyInstance,
  key: string,
  remoteAddress: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; code: string | null; retry: unknown }> {
  const url = '/api/v1/parties'
  const answer = await app.inject({ url, remoteAddress, headers: { 'x-api-key': key, ...headers } })
  const body = answer.json<{ code?: string }>()
  const retry = answer.headers['retry-after']
  return { status: answer.statusCode, code: body.code ?? null, retry }
}

describe('a key with addresses', () => {
  it.each([
    ['203.0.113.7', 200],
    ['::ffff:203.0.113.7', 200],
    ['2001:db8:0:1::5', 200],
    ['198.51.100.7', 403],
    ['2001:db9::5', 403],
  ])('is let in or not from %s: %i', async (address, status) => {
    const app = await appWith({})
    const { org_id } = await newOrganization()
    const allowed_ips = ['203.0.113.0/24', '2001:db8::/32']
    const key = {
      name: 'K',
      scopes: ['read:parties'],
      environment: 'production',
      allowed_ips,
    } as const
    const { text } = await createKey(db, org_id, key)
    const answer = await ask(app, text, address)
    expect(answer).toMatchObject({ status, code: status === 200 ? null : 'ip_not_allowed' })
    // The address is looked at with every request, also while the key is remembered.
    expect((await ask(app, text, '192.0.2.1')).code).toBe('ip_not_allowed')
  })
})

describe('X-Forwarded-For', () => {
  it.each([
    ['', '203.0.113.7', 403],
    ['10.0.0.0/8', '203.0.113.7', 200],
    ['10.0.0.0/8', '203.0.113.7, 10.0.0.2', 200],
    ['10.0.0.0/8', '203.0.113.7, 198.51.100.1', 403],
    ['192.0.2.0/24', '203.0.113.7', 403],
  ])('with the proxies "%s" trusted, %s is answered %i', async (trusted, forwarded, status) => {
    const app = await appWith({ GRID_TRUST_PROXY: trusted })
    const { org_id } = await newOrganization()
    const allowed_ips = ['203.0.113.7']
    const key = {
      name: 'K',
      scopes: ['read:parties'],
      environment: 'production',
      allowed_ips,
    } as const
    const { text } = await createKey(db, org_id, key)
    const headers = { 'x-forwarded-for': forwarded }
    expect((await ask(app, text, '10.0.0.1', headers)).status).toBe(status)
  })

  it('of proxies that are no addresses stops the start', () => {
    expect(() => readConfig({ GRID_TRUST_PROXY: 'proxy.example' })).toThrow(/GRID_TRUST_PROXY/)
  })
})

describe('an address that tries unknown keys', () => {
  it('is refused until a minute has passed, and its neighbours of the same IPv6 network with it', async () => {
    const app = await appWith({ GRID_LIMIT_FAILED_KEYS: '5' })
    const { key } = await newOrganization()
    expect((await ask(app, key, '2001:db8::1')).status).toBe(200)
    for (let i = 0; i < 5; i++)
      expect((await ask(app, newKey('production'), `2001:db8::${i + 1}`)).status).toBe(401)
    const refused = await ask(app, newKey('production'), '2001:db8::ffff')
    expect(refused).toMatchObject({ status: 429, code: 'rate_limited' })
    expect(Number(refused.retry)).toBeGreaterThan(50)
    expect((await ask(app, newKey('production'), '2001:db8:0:1::1')).status).toBe(401)
    // Who was let in before stays in.
    expect((await ask(app, key, '2001:db8::1')).status).toBe(200)
    const other = await newOrganization()
    expect((await ask(app, other.key, '2001:db8::1')).status).toBe(429)
    const start = performance.now()
    const now = vi.spyOn(performance, 'now').mockImplementation(() => start + 60_000)
    expect((await ask(app, other.key, '2001:db8::1')).status).toBe(200)
    now.mockRestore()
  })

  it('is refused on the consent page and as a client of OAuth too', async () => {
    const app = await appWith({ GRID_LIMIT_FAILED_KEYS: '5' })
    const client = await newOrganization()
    const registered = await newApp(client)
    const send = async (path: string, form: Record<string, string>, secret?: string) =>
      await app.inject({
        method: 'POST',
        url: `/api/v1/oauth/${path}`,
        remoteAddress: '192.0.2.7',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(secret === undefined ? {} : clientWithSecret(registered.id, secret).basic),
        },
        payload: new URLSearchParams(form).toString(),
      })
    const asked = { ...authorization(registered, pkce().challenge), decision: 'allow' }
    const consent = async (api_key: string) => await send('consent', { ...asked, api_key })
    const introspect = async (secret: string) => await send('introspect', { token: 'none' }, secret)
    for (let i = 0; i < 3; i++) expect((await consent(newKey('production'))).statusCode).toBe(401)
    for (let i = 0; i < 2; i++) expect((await introspect('guessed')).statusCode).toBe(401)
    const page = await consent(client.key)
    expect(page.statusCode).toBe(429)
    expect(Number(page.headers['retry-after'])).toBeGreaterThan(50)
    expect(page.body).toContain('try again in')
    const refused = await introspect(registered.secret)
    expect(refused.statusCode).toBe(429)
    expect(refused.json()).toMatchObject({ code: 'rate_limited' })
    expect((await ask(app, client.key, '192.0.2.7')).status).toBe(429)
    const start = performance.now()
    const now = vi.spyOn(performance, 'now').mockImplementation(() => start + 60_000)
    expect((await consent(client.key)).statusCode).toBe(303)
    expect((await introspect(registered.secret)).statusCode).toBe(200)
    now.mockRestore()
  })

  it('with a key that has ended is told to the organization, once a minute', async () => {
    const app = await appWith({})
    const { org_id } = await newOrganization()
    const key = { name: 'K', scopes: ['read:parties'], environment: 'production' } as const
    const { id, text } = await createKey(db, org_id, key)
    await revokeKey(db, org_id, idDigits('key', id) as number)
    for (let i = 0; i < 3; i++) expect((await ask(app, text, '198.51.100.1')).status).toBe(401)
    await app.keyWatch.flush()
    const client = await owner()
    const { rows } = await client.query<{ details: object }>(
      `select details from audit_entry where org_id = $1 and action = 'authentication.failed'`,
      [org_id],
    )
    await client.end()
    expect(rows).toMatchObject([{ details: { ip: '198.51.100.1', code: 'invalid_key' } }])
  })
})

describe('a key used from a new address', () => {
  it('is audited, but for its first one', async () => {
    const app = await appWith({})
    const { org_id, key } = await newOrganization()
    const entries = async (): Promise<unknown[]> => {
      await app.keyWatch.flush()
      const client = await owner()
      const { rows } = await client.query<{ ip: string }>(
        `select details ->> 'ip' as ip from audit_entry where org_id = $1 and action = 'api_key.used_from_new_address'`,
        [org_id],
      )
      await client.end()
      return rows.map(({ ip }) => ip)
    }
    await ask(app, key, '203.0.113.7')
    expect(await entries()).toEqual([])
    await ask(app, key, '203.0.113.7')
    await ask(app, key, '2001:db8::1')
    expect(await entries()).toEqual(['2001:db8::1'])
    await ask(app, key, '203.0.113.7')
    expect(await entries()).toEqual(['2001:db8::1'])
  })
})

describe('addresses', () => {
  it.each([
    ['203.0.113.7', true],
    ['203.0.113.0/24', true],
    ['2001:db8::/32', true],
    ['::1', true],
    ['203.0.113.0/33', false],
    ['2001:db8::/129', false],
    ['203.0.113', false],
    ['203.0.113.7/', false],
    ['example.com', false],
    ['', false],
  ])('%s is a network: %s', (text, expected) => {
    expect(isNetwork(text)).toBe(expected)
  })

  it('lie within networks, belong to subscribers and have one form', () => {
    expect(isWithin('10.1.0.0/16', ['192.0.2.0/24', '10.0.0.0/8'])).toBe(true)
    expect(isWithin('10.0.0.0/7', ['10.0.0.0/8'])).toBe(false)
    expect(isWithin('10.0.0.0/8', ['::/0'])).toBe(false)
    expect(subscriberOf('203.0.113.7')).toBe('203.0.113.7')
    expect(subscriberOf('2001:db8:0:1:2:3:4:5')).toBe(subscriberOf('2001:db8::1:ffff:0:0:1'))
    expect(subscriberOf('2001:db8:0:1::1')).not.toBe(subscriberOf('2001:db8:0:2::1'))
    expect(plainAddress('::ffff:203.0.113.7')).toBe('203.0.113.7')
    expect(plainAddress('fe80::1%eth0')).toBe('fe80::1')
  })
})
