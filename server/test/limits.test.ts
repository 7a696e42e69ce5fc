/** Quotas per key, and keys that no longer count. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { buildApp } from '../src/app.ts'
import { Keys, newKey } from '../src/http/auth.ts'
import { smallLimit } from '../src/http/limits.ts'
import { createKey, revokeKey } from '../src/keys/service.ts'
import { idDigits } from '../src/kit/ids.ts'
import { ALL_SCOPES } from '../src/kit/scopes.ts'
import { clientWith, grid, newClient, newOrganization } from './grid.ts'
import type { Answer, TestClient } from './grid.ts'

afterEach(() => void vi.restoreAllMocks())

const sandbox = { standing: { environment: 'sandbox' } } as const

async function times(count: number, client: TestClient): Promise<Answer[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => await client.get('/parties?limit=1')),
  )
}

describe('the quota of a sandbox', () => {
  it('admits a hundred requests within a minute and tells where the caller stands', async () => {
    const client = await newOrganization(sandbox)
    const first = await client.get('/parties')
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'ratelimit-policy': '"sandbox";q=100;w=60',
      ratelimit: '"sandbox";r=99;t=60',
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '99',
      'x-ratelimit-reset': '60',
    })
    const more = await times(99, client)
    expect(more.filter(({ status }) => status !== 200)).toEqual([])
    const left = more.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect(left.toSorted((a, b) => a - b)).toEqual(left.map((_, i) => i))
    const refused = await client.get('/parties')
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'rate_limited', 'violated-policies': ['sandbox'], title: 'Too many requests' },
    })
    expect(refused.headers.get('content-type')).toContain('application/problem+json')
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    const wait_s = Number(refused.headers.get('retry-after'))
    expect(wait_s).toBeGreaterThan(50)
    expect(wait_s).toBeLessThanOrEqual(60)
    expect(refused.body.retry_after_s).toBe(wait_s)
  })

  it('counts each key by itself, and all of them together', async () => {
    const client = await newOrganization(sandbox)
    await times(100, client)
    expect((await client.get('/parties')).status).toBe(429)
    for (let i = 0; i < 3; i++) {
      const other = await newClient(client.org_id, ALL_SCOPES, 'sandbox')
      const statuses = (await times(100, other)).map(({ status }) => status)
      expect(new Set(statuses)).toEqual(new Set([200]))
    }
    const last = await newClient(client.org_id, ALL_SCOPES, 'sandbox')
    const refused = await last.get('/parties')
    expect(refused).toMatchObject({
      status: 429,
      body: { 'violated-policies': ['sandbox_organization'] },
    })
    expect(refused.headers.get('ratelimit-policy')).toBe('"sandbox_organization";q=400;w=60')
  })

  it('is that of the plan elsewhere', async () => {
    const community = await newOrganization({ standing: { plan: 'community' } })
    const { headers } = await community.get('/parties')
    expect(headers.get('ratelimit-policy')).toBe('"community";q=600;w=60')
  })
})

describe('an endpoint with a limit of its own', () => {
  it('refuses more of an organization than that, and of no other', async () => {
    const { app: usual, db } = await grid()
    const app = await buildApp(usual.config, db)
    app.post(
      '/tried',
      {
        config: { scope: 'read:parties', ...smallLimit('tried', 2) },
        schema: {
          operationId: 'try',
          summary: 'Try',
          description: 'Tries.',
          response: { 200: { type: 'object', description: 'Tried.' } },
        },
      },
      () => ({}),
    )
    const [one, other] = await Promise.all([newOrganization(), newOrganization()])
    const colleague = await newClient(one.org_id)
    const ask = async ({ key }: TestClient): Promise<unknown> => {
      const headers = { 'x-api-key': key }
      const answer = await app.inject({ method: 'POST', url: '/tried', headers })
      const policies = answer.json<Record<string, unknown>>()['violated-policies'] ?? null
      return [answer.statusCode, policies, answer.headers['ratelimit-policy']]
    }
    expect(await ask(one)).toEqual([200, null, '"tried";q=2;w=60'])
    expect(await ask(colleague)).toEqual([200, null, '"tried";q=2;w=60'])
    expect(await ask(one)).toEqual([429, ['tried'], '"tried";q=2;w=60'])
    expect(await ask(other)).toEqual([200, null, '"tried";q=2;w=60'])
    await app.close()
  })
})

describe('what is asked of every request', () => {
  it('takes less than 20 µs: the key, its scope and its limits', async () => {
    const { app } = await grid()
    const { key } = await newOrganization()
    await app.keys.find(key, '127.0.0.1')
    const count = 20_000
    const rounds: number[] = []
    for (let round = 0; round < 5; round++) {
      const start = performance.now()
      for (let i = 0; i < count; i++) {
        const caller = app.keys.cached(key, '127.0.0.1') ?? (await app.keys.find(key, '127.0.0.1'))
        app.keys.note(key, 'read:leases', '127.0.0.1')
        for (const subject of [caller.key_id, caller.org_id]) {
          const left = app.limiter.take(subject, 10_000_000)
          if (typeof left !== 'number') await left
        }
      }
      rounds.push(((performance.now() - start) * 1_000) / count)
    }
    expect(Math.min(...rounds)).toBeLessThan(20)
  })
})

describe('a key', () => {
  it('that is revoked is refused within a second, by processes that know it and by those that do not', async () => {
    const { app, db } = await grid()
    const { org_id } = await newOrganization()
    const other = await buildApp(app.config, db)
    const { id, text } = await createKey(db, org_id, {
      name: 'K',
      scopes: ALL_SCOPES,
      environment: 'production',
    })
    const known = clientWith(text, org_id)
    const elsewhere = async (): Promise<number> =>
      (await other.inject({ url: '/api/v1/parties', headers: { 'x-api-key': text } })).statusCode
    expect((await known.get('/parties')).status).toBe(200)
    expect(await revokeKey(db, org_id, idDigits('key', id) as number)).toBe(true)
    const revoked_at = performance.now()
    expect(await elsewhere()).toBe(401)
    await new Promise((resolve) => setTimeout(resolve, revoked_at + 1_000 - performance.now()))
    const answer = await known.get('/parties')
    expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_key' } })
    expect(await revokeKey(db, org_id, idDigits('key', id) as number)).toBe(false)
    await other.close()
  })

  it('that is revoked while it is looked up is not remembered', async () => {
    const { db } = await grid()
    const { key } = await newOrganization()
    const keys: Keys = new Keys({
      flyControl: async (sql, params) => {
        const rows = await db.flyControl(sql, params)
        keys.forget()
        return rows
      },
    })
    await keys.find(key, '127.0.0.1')
    expect(keys.cached(key, '127.0.0.1')).toBe(null)
  })

  it('that has expired is refused at that moment, though it was just used', async () => {
    const { db } = await grid()
    const { org_id } = await newOrganization()
    const hour_ms = 3_600_000
    const expires_at = new Date(Date.now() + hour_ms)
    const key = { name: 'K', scopes: ALL_SCOPES, environment: 'production', expires_at } as const
    const client = clientWith((await createKey(db, org_id, key)).text, org_id)
    expect((await client.get('/parties')).status).toBe(200)
    const now = vi.spyOn(Date, 'now').mockImplementation(() => expires_at.getTime() - 1)
    expect((await client.get('/parties')).status).toBe(200)
    now.mockImplementation(() => expires_at.getTime())
    expect(await client.get('/parties')).toMatchObject({
      status: 401,
      body: { code: 'expired_key' },
    })
  })

  it.each([
    ['none', '', 'missing_key'],
    ['some text', 'secret', 'invalid_key'],
    ['one with a wrong checksum', newKey('production').slice(0, -1) + '!', 'invalid_key'],
    ['one that was never given out', newKey('sandbox'), 'invalid_key'],
  ])('%s is 401', async (_, text, code) => {
    const answer = await clientWith(text, 0).get('/parties')
    expect(answer).toMatchObject({ status: 401, body: { code, status: 401 } })
    expect(answer.headers.get('x-request-id')).toBe(answer.body.request_id)
  })

  it('of an organization whose plan lacks an endpoint is told which plan has it', async () => {
    const { allow } = await import('../src/http/auth.ts')
    const caller = { plan: 'professional', scopes: new Set(ALL_SCOPES) }
    expect(() => allow(caller as never, 'read:intelligence')).toThrow(
      expect.objectContaining({
        code: 'plan_required',
        extra: { plan_required: 'enterprise', required_scope: 'read:intelligence' },
      }),
    )
  })
})
