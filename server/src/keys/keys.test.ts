/** Keys through the interface: made, changed, rotated, revoked, and asked about. */
import { describe, expect, it, vi } from 'vitest'
import { clientWith, grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { faultsOf, operations } from '../../test/openapi.ts'
import { buildApp } from '../app.ts'
import { keyIsWellFormed } from '../http/auth.ts'
import { ALL_SCOPES, PLAN_SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'

const READ = { name: 'Reader', scopes: ['read:leases'] }

/** Every answer is as documented. */
function checked(name: string, answer: Answer): Answer {
  const operation = operations.find((o) => o.name === name)
  expect(operation && faultsOf(operation, answer), name).toEqual([])
  return answer
}

async function made(client: TestClient, body: object = READ): Promise<Answer> {
  const answer = checked('POST /api-keys', await client.post('/api-keys', body))
  expect(answer.status).toBe(201)
  return answer
}

async function auditOf(org_id: number, action: string): Promise<{ details: object | null }[]> {
  const client = await owner()
  const { rows } = await client.query<{ details: object | null }>(
    'select details from audit_entry where org_id = $1 and action = $2 order by tx_id',
    [org_id, action],
  )
  await client.end()
  return rows
}

describe('POST /api-keys', () => {
  it('shows the text once, and the key that it made works', async () => {
    const client = await newOrganization()
    const { body, headers } = await made(client)
    expect(body).toMatchObject({
      object: 'api_key',
      status: 'active',
      environment: 'production',
      scopes: ['read:leases'],
      key_shown: true,
      expires_at: null,
      allowed_ips: null,
      property_ids: null,
    })
    expect(body.key).toMatch(/^grid_live_/)
    expect(keyIsWellFormed(body.key)).toBe(true)
    expect(headers.get('location')).toBe(`/api/v1/api-keys/${body.id}`)
    const got = checked('GET /api-keys/{id}', await client.get(`/api-keys/${body.id}`))
    expect(got.body).not.toHaveProperty('key')
    const reader = clientWith(body.key, client.org_id)
    expect((await reader.get('/leases')).status).toBe(200)
    expect((await reader.get('/parties')).status).toBe(403)
    const stored = await owner()
    const { rows } = await stored.query(
      `select 1 from event where org_id = $1 and body like '%' || $2 || '%' union all
       select 1 from idempotency where body like '%' || $2 || '%'`,
      [client.org_id, body.key],
    )
    await stored.end()
    expect(rows).toEqual([])
  })

  it('keeps no text for the repeat of a request', async () => {
    const client = await newOrganization()
    const headers = { 'idempotency-key': 'one' }
    const first = await client.post('/api-keys', READ, headers)
    const again = checked('POST /api-keys', await client.post('/api-keys', READ, headers))
    expect(again).toMatchObject({
      status: 201,
      body: { id: first.body.id, key: null, key_shown: false },
    })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('x-original-request-id')).toBe(first.headers.get('x-request-id'))
    const other = await client.post('/api-keys', { ...READ, name: 'Other' }, headers)
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
    expect((await client.get('/api-keys')).body.data).toHaveLength(2)
  })

  it('makes one key of a hundred requests at once', async () => {
    const client = await newOrganization()
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () =>
        checked('POST /api-keys', await client.post('/api-keys', READ, { 'idempotency-key': 'x' })),
      ),
    )
    const shown = answers.filter(({ body }) => body.key_shown === true)
    expect(shown).toHaveLength(1)
    for (const { status, body, headers } of answers) {
      if (status === 201) expect(body.id).toBe(shown[0]?.body.id)
      else {
        expect([status, body.code]).toEqual([409, 'idempotency_in_progress'])
        expect(headers.get('retry-after')).toBe('1')
      }
    }
    expect((await client.get('/api-keys')).body.data).toHaveLength(2)
  })

  it('of a sandbox makes keys of the sandbox', async () => {
    const client = await newOrganization({ standing: { environment: 'sandbox' } })
    const { body } = await made(client)
    expect(body.environment).toBe('sandbox')
    expect(body.key).toMatch(/^grid_sbx_/)
  })

  const past = '2020-01-01T00:00:00Z'
  it.each([
    ['no name', { scopes: ['read:leases'] }, 'name', 'required'],
    ['no scopes', { name: 'A', scopes: [] }, 'scopes', 'min_items'],
    ['an unknown scope', { name: 'A', scopes: ['read:lease'] }, 'scopes[0]', 'invalid_enum'],
    ['a past end', { ...READ, expires_at: past }, 'expires_at', 'in_the_past'],
    [
      'a wrong network',
      { ...READ, allowed_ips: ['10.0.0.0/33'] },
      'allowed_ips[0]',
      'invalid_format',
    ],
    ['no such property', { ...READ, property_ids: ['prop_9'] }, 'property_ids[0]', 'not_found'],
    ['an unknown field', { ...READ, scope: 'x' }, 'scope', 'unknown_field'],
  ])('refuses %s', async (_, body, field, code) => {
    const client = await newOrganization()
    const answer = checked(
      'POST /api-keys',
      await client.post('/api-keys', body, { 'idempotency-key': 'k' }),
    )
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } })
    // What was refused has not used the idempotency key up.
    expect((await client.post('/api-keys', READ, { 'idempotency-key': 'k' })).status).toBe(201)
  })

  it('grants no more than the key holds that asks', async () => {
    const { org_id } = await newOrganization()
    const client = await newClient(org_id, ['admin:keys', 'read:leases'])
    const wider = await client.post('/api-keys', {
      name: 'A',
      scopes: ['read:leases', 'read:logs'],
    })
    expect(checked('POST /api-keys', wider)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', required_scope: 'read:logs' },
    })
    const professional = await newOrganization({ standing: { plan: 'professional' } })
    const scopes = Object.keys(PLAN_SCOPES)
    expect(await professional.post('/api-keys', { name: 'A', scopes })).toMatchObject({
      status: 403,
      body: { code: 'plan_required', plan_required: 'enterprise' },
    })
  })

  it('grants no longer life and no more addresses than the key has that asks', async () => {
    const client = await newOrganization()
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const scopes = ['admin:keys', 'read:leases']
    const limits = { expires_at, allowed_ips: ['127.0.0.0/8', '::1'] }
    const { body } = await made(client, { name: 'A', scopes, ...limits })
    const narrow = clientWith(body.key, client.org_id)
    const ask = async (more: object): Promise<string> =>
      (await narrow.post('/api-keys', { ...READ, ...limits, ...more })).body.code
    expect(await ask({ expires_at: null })).toBe('exceeds_key')
    expect(await ask({ allowed_ips: null })).toBe('exceeds_key')
    expect(await ask({ allowed_ips: ['127.0.0.0/7'] })).toBe('exceeds_key')
    expect(await ask({ allowed_ips: ['127.1.0.0/16'] })).toBe(undefined)
    const wide = await made(client)
    const rotated = await narrow.post(`/api-keys/${wide.body.id}/rotate`, {})
    expect(rotated).toMatchObject({ status: 403, body: { code: 'exceeds_key' } })
    const freed = await narrow.patch(`/api-keys/${body.id}`, { allowed_ips: null })
    expect(freed).toMatchObject({ status: 403, body: { code: 'exceeds_key' } })
  })
})

describe('GET /api-keys', () => {
  it('pages through all keys, and knows none of other organizations', async () => {
    const [client, other] = await Promise.all([newOrganization(), newOrganization()])
    const ids = []
    for (let i = 0; i < 3; i++) ids.push((await made(client)).body.id)
    const first = checked('GET /api-keys', await client.get('/api-keys?limit=2'))
    expect(first.body).toMatchObject({ has_more: true, data: [{}, { id: ids[0] }] })
    const second = await client.get(`/api-keys?limit=2&cursor=${first.body.next_cursor}`)
    expect(second.body).toMatchObject({ has_more: false, data: [{ id: ids[1] }, { id: ids[2] }] })
    for (const answer of [
      await other.get(`/api-keys/${ids[0]}`),
      await other.patch(`/api-keys/${ids[0]}`, { name: 'B' }),
      await other.delete(`/api-keys/${ids[0]}`),
      await other.post(`/api-keys/${ids[0]}/rotate`, {}),
      await other.post('/api-keys/simulate', { key_id: ids[0], method: 'GET', path: '/leases' }),
    ])
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('PATCH /api-keys/{id}', () => {
  it('changes what a key may do from the next request on', async () => {
    const client = await newOrganization()
    const { body } = await made(client)
    const reader = clientWith(body.key, client.org_id)
    expect((await reader.get('/parties')).status).toBe(403)
    const patch = { name: 'Wider', scopes: ['read:parties'], expires_at: '2099-01-01T00:00:00Z' }
    const answer = await client.patch(`/api-keys/${body.id}`, patch)
    expect(checked('PATCH /api-keys/{id}', answer)).toMatchObject({
      status: 200,
      body: { name: 'Wider', scopes: ['read:parties'], expires_at: '2099-01-01T00:00:00.000Z' },
    })
    expect((await reader.get('/parties')).status).toBe(200)
    expect((await reader.get('/leases')).status).toBe(403)
    expect(await auditOf(client.org_id, 'api_key.updated')).toHaveLength(1)
    await client.patch(`/api-keys/${body.id}`, patch)
    expect(await auditOf(client.org_id, 'api_key.updated')).toHaveLength(1)
  })

  it('touches no key that may do more than the one that asks', async () => {
    const client = await newOrganization()
    const { body } = await made(client, { name: 'A', scopes: ['read:logs'] })
    const less = await newClient(client.org_id, ['admin:keys'])
    for (const answer of [
      await less.patch(`/api-keys/${body.id}`, { name: 'B' }),
      await less.post(`/api-keys/${body.id}/rotate`, {}),
    ])
      expect(answer).toMatchObject({ status: 403, body: { required_scope: 'read:logs' } })
    expect((await less.delete(`/api-keys/${body.id}`)).status).toBe(204)
  })
})

describe('DELETE /api-keys/{id}', () => {
  it('ends the key at once here, and within a second elsewhere', async () => {
    const { app, db } = await grid()
    const client = await newOrganization()
    const other = await buildApp(app.config, db)
    const { body } = await made(client)
    const reader = clientWith(body.key, client.org_id)
    const headers = { 'x-api-key': body.key as string }
    const elsewhere = async (): Promise<number> =>
      (await other.inject({ url: '/api/v1/leases', headers })).statusCode
    expect([(await reader.get('/leases')).status, await elsewhere()]).toEqual([200, 200])
    const answer = await client.delete(`/api-keys/${body.id}`)
    expect(checked('DELETE /api-keys/{id}', answer).status).toBe(204)
    const revoked_at = performance.now()
    expect((await reader.get('/leases')).body.code).toBe('invalid_key')
    while ((await elsewhere()) === 200) expect(performance.now() - revoked_at).toBeLessThan(1_000)
    expect((await client.get(`/api-keys/${body.id}`)).body.status).toBe('revoked')
    const again = await client.delete(`/api-keys/${body.id}`)
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await client.patch(`/api-keys/${body.id}`, { name: 'B' })).status).toBe(409)
    await other.close()
  })

  it('leaves a key that can administer keys, also of two that end each other', async () => {
    const client = await newOrganization()
    const [own] = (await client.get('/api-keys')).body.data
    const last = await client.delete(`/api-keys/${own.id}`)
    expect(last).toMatchObject({ status: 409, body: { code: 'conflict' } })
    const scopes = { scopes: ['read:leases'] }
    expect((await client.patch(`/api-keys/${own.id}`, scopes)).status).toBe(409)
    const { body } = await made(client, { name: 'Second', scopes: ALL_SCOPES })
    const second = clientWith(body.key, client.org_id)
    const answers = await Promise.all([
      client.delete(`/api-keys/${body.id}`),
      second.delete(`/api-keys/${own.id}`),
    ])
    const ended = answers.filter(({ status }) => status === 204)
    expect(ended).toHaveLength(1)
  })
})

describe('POST /api-keys/{id}/rotate', () => {
  it('gives a new text, and lets the old one be good for the overlap', async () => {
    const client = await newOrganization()
    const { body } = await made(client)
    const answer = await client.post(`/api-keys/${body.id}/rotate`, { overlap_hours: 2 })
    const rotated = checked('POST /api-keys/{id}/rotate', answer)
    expect(rotated).toMatchObject({ status: 200, body: { id: body.id, status: 'rotating' } })
    const [old, young] = [body.key, rotated.body.key].map((key) => clientWith(key, client.org_id))
    expect((await old?.get('/leases'))?.status).toBe(200)
    expect((await young?.get('/leases'))?.status).toBe(200)
    expect((await client.post(`/api-keys/${body.id}/rotate`, {})).status).toBe(409)
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.parse(rotated.body.overlap_ends_at))
    const late = await old?.get('/leases')
    now.mockRestore()
    expect(late).toMatchObject({ status: 401, body: { code: 'expired_key' } })
    const third = await client.post(`/api-keys/${body.id}/rotate`, { overlap_hours: 0 })
    expect(third).toMatchObject({ status: 200, body: { status: 'active', overlap_ends_at: null } })
    expect((await old?.get('/leases'))?.status).toBe(401)
    expect((await young?.get('/leases'))?.status).toBe(401)
    expect((await clientWith(third.body.key, client.org_id).get('/leases')).status).toBe(200)
    expect(await auditOf(client.org_id, 'api_key.rotated')).toEqual([
      { details: { overlap_hours: 2 } },
      { details: { overlap_hours: 0 } },
    ])
  })

  it('takes no body as the usual overlap, and no hours beyond a week', async () => {
    const client = await newOrganization()
    const { body } = await made(client)
    const long = await client.post(`/api-keys/${body.id}/rotate`, { overlap_hours: 169 })
    expect(long).toMatchObject({ status: 422, body: { errors: [{ field: 'overlap_hours' }] } })
    const rotated = await client.post(`/api-keys/${body.id}/rotate`, undefined)
    const ends = Date.parse(rotated.body.overlap_ends_at) - Date.now()
    expect(Math.round(ends / 3_600_000)).toBe(24)
  })
})

describe('the state of a key', () => {
  it('follows its end', async () => {
    const client = await newOrganization()
    const { body } = await made(client, { ...READ, expires_at: new Date(Date.now() + 3_600_000) })
    expect(body.status).toBe('expiring')
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 4_000_000)
    const { body: later } = await client.get(`/api-keys/${body.id}`)
    now.mockRestore()
    expect(later.status).toBe('expired')
  })
})

describe('the use of a key', () => {
  it('is noted: when, from where, and which scopes were not needed', async () => {
    const { app } = await grid()
    const client = await newOrganization()
    const scopes = ['read:leases', 'read:parties'] satisfies Scope[]
    const { body } = await made(client, { name: 'A', scopes })
    expect(body).toMatchObject({ last_used_at: null, unused_scopes: scopes })
    await clientWith(body.key, client.org_id).get('/leases')
    await app.keyWatch.flush()
    const used = (await client.get(`/api-keys/${body.id}`)).body
    expect(used).toMatchObject({ last_used_ip: '127.0.0.1', unused_scopes: ['read:parties'] })
    expect(Date.now() - Date.parse(used.last_used_at)).toBeLessThan(10_000)
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 31 * 86_400_000)
    const later = (await client.get(`/api-keys/${body.id}`)).body
    now.mockRestore()
    expect(later.unused_scopes).toEqual(scopes)
  })

  it('that is refused for a scope is audited once a minute per key and route', async () => {
    const { app } = await grid()
    const client = await newOrganization()
    const { body } = await made(client)
    const reader = clientWith(body.key, client.org_id)
    for (let i = 0; i < 3; i++) await reader.get('/parties')
    await reader.get('/parties/pty_1')
    await app.keyWatch.flush()
    const entries = await auditOf(client.org_id, 'scope.denied')
    const routes = entries.map(({ details }) => (details as { route: string }).route)
    expect(routes.toSorted()).toEqual(['/api/v1/parties', '/api/v1/parties/:id'])
    expect(entries[0]?.details).toMatchObject({ required_scope: 'read:parties', ip: '127.0.0.1' })
  })
})
