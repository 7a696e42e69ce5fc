/** What a key may do, asked in advance. */
import { beforeAll, describe, expect, it } from 'vitest'
import { clientWith, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { faultsOf, operations } from '../../test/openapi.ts'
import { portfolio } from '../../test/samples.ts'
import type { Ids } from '../../test/samples.ts'
import { ALL_SCOPES, PLAN_SCOPES, SCOPES } from '../kit/scopes.ts'

let client: TestClient
let ids: Ids
let other: Ids
const keys: Record<string, string> = {}

beforeAll(async () => {
  client = await newOrganization({ standing: { plan: 'professional' } })
  ids = await portfolio(client)
  other = await portfolio(client)
  const scopes = ['read:leases', 'read:properties']
  const make = async (name: string, more: object): Promise<string> => {
    const { body } = await client.post('/api-keys', { name, scopes, ...more })
    keys[name] = body.id
    return body.key
  }
  await make('plain', {})
  await make('here', { allowed_ips: ['203.0.113.0/24', '2001:db8::/32'] })
  await make('revoked', {})
  await client.delete(`/api-keys/${keys['revoked']}`)
  const text = await make('one', { property_ids: [ids['property']] })
  expect((await clientWith(text, client.org_id).get('/leases')).body.data).toHaveLength(1)
})

/** The path with ids for names: `/leases/mine:lease`. */
function named(path: string): string {
  return path
    .replace(/mine:(\w+)/, (_, name: string) => ids[name] as string)
    .replace(/other:(\w+)/, (_, name: string) => other[name] as string)
}

const simulation = operations.find(({ name }) => name === 'POST /api-keys/simulate')

describe('POST /api-keys/simulate', () => {
  it.each([
    ['plain', 'GET', '/leases', 200, null],
    ['plain', 'GET', '/api/v1/leases?limit=2', 200, null],
    ['plain', 'GET', '/leases/mine:lease', 200, null],
    ['plain', 'POST', '/leases', 403, 'insufficient_scope'],
    ['plain', 'GET', '/api-keys/scopes', 403, 'insufficient_scope'],
    ['plain', 'GET', '/nothing', 404, 'not_found'],
    ['plain', 'DELETE', '/leases', 405, 'method_not_allowed'],
    ['plain', 'GET', '/plans', 200, null],
    ['revoked', 'GET', '/leases', 401, 'invalid_key'],
    ['here', 'GET', '/leases', 200, null],
    ['one', 'GET', '/leases/mine:lease', 200, null],
    ['one', 'GET', '/leases/other:lease', 404, 'not_found'],
    ['one', 'GET', '/properties/other:property', 404, 'not_found'],
  ] as const)('with the key %s answers %s %s', async (name, method, path, status, code) => {
    const question = { key_id: keys[name], method, path: named(path) }
    const answer = await client.post('/api-keys/simulate', question)
    expect(simulation && faultsOf(simulation, answer)).toEqual([])
    expect(answer.body).toMatchObject({ allowed: code === null, status, code })
  })

  it.each([
    ['203.0.113.9', null],
    ['2001:db8::9', null],
    ['198.51.100.1', 'ip_not_allowed'],
    ['2001:db9::1', 'ip_not_allowed'],
  ])('from %s tells whether the address may use the key', async (ip, code) => {
    const question = { key_id: keys['here'], method: 'GET', path: '/leases', ip }
    expect((await client.post('/api-keys/simulate', question)).body.code).toBe(code)
  })

  it('answers for scopes that no key has yet, and tells which one or which plan is missing', async () => {
    const ask = async (scopes: string[], path: string): Promise<unknown> =>
      (await client.post('/api-keys/simulate', { scopes, method: 'GET', path })).body
    expect(await ask(['read:leases'], '/leases')).toMatchObject({
      allowed: true,
      route: { path: '/leases', operation_id: 'listLeases', scope: 'read:leases' },
    })
    expect(await ask([], '/leases')).toMatchObject({ required_scope: 'read:leases', status: 403 })
  })

  it('wants a key or scopes', async () => {
    const question = { method: 'GET', path: '/leases' }
    const answer = await client.post('/api-keys/simulate', question)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field: 'key_id' }] } })
  })
})

describe('GET /api-keys/scopes', () => {
  it('names every scope with its plan and its endpoints', async () => {
    const { body } = await client.get('/api-keys/scopes')
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(ALL_SCOPES)
    const leases = body.data.find(({ name }: { name: string }) => name === 'read:leases')
    expect(leases).toMatchObject({
      description: SCOPES['read:leases'],
      plan: null,
      property_restricted: true,
      granted: true,
    })
    expect(leases.routes).toContain('GET /leases/{id}')
    const listed = body.data.flatMap(({ routes }: { routes: string[] }) => routes)
    const closed = operations.filter(({ scope }) => scope !== 'public')
    expect(listed.toSorted()).toEqual(closed.map(({ name }) => name).toSorted())
  })
})

describe('GET /plans', () => {
  it('tells limits and scopes without a key', async () => {
    const { body, status } = await clientWith('', 0).get('/plans')
    expect(status).toBe(200)
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual([
      'community',
      'professional',
      'enterprise',
    ])
    expect(body.data[1]).toMatchObject({
      requests_per_minute: { per_key: 3_000, per_organization: 12_000 },
      sandbox_requests_per_minute: { per_key: 100, per_organization: 400 },
    })
    const has = body.data.map(({ scopes }: { scopes: string[] }) =>
      scopes.some((scope) => scope in PLAN_SCOPES),
    )
    expect(has).toEqual([false, false, true])
  })
})
