/** Requests that are repeated: one effect, one answer. */
import { describe, expect, it } from 'vitest'
import { buildApp } from '../src/app.ts'
import { once } from '../src/kit/once.ts'
import { SYSTEM } from '../src/organizations/service.ts'
import { blocked } from '../src/sdis/load-fixture.ts'
import { grid, newClient, newOrganization, owner } from './grid.ts'
import type { Answer, TestClient } from './grid.ts'
import { leaseParents, samples } from './samples.ts'

const KEY = { 'idempotency-key': 'same' }

async function count(client: TestClient, path: string): Promise<number> {
  return (await client.get(`${path}?include=total_count`)).body.total_count as number
}

/** The answer is the first one again, and says so. */
function expectRepeat(answer: Answer, first: Answer): void {
  expect(answer.status).toBe(first.status)
  expect(answer.body).toEqual(first.body)
  expect(answer.headers.get('idempotent-replayed')).toBe('true')
  expect(answer.headers.get('x-original-request-id')).toBe(first.headers.get('x-request-id'))
  expect(answer.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
}

const CHILD = {
  name: 'Child',
  slug: 'child',
  kind: 'owner',
  default_currency: 'USD',
  default_area_unit: 'sqft',
  time_zone: 'America/New_York',
  locale: 'en-US',
}

const form = (text = 'file'): FormData => {
  const data = new FormData()
  data.append('file', new Blob([text], { type: 'text/plain' }), 'file.txt')
  data.append('document_type', 'lease')
  return data
}

const ADAPTER = `
adapter: parties
source: { name: Test, kind: csv }
mode: upsert
streams:
  - type: party
    key: row.Code
    map: { kind: "'company'", legal_name: row.Name }
`

const jobForm = (): FormData => {
  const data = new FormData()
  data.set('adapter', ADAPTER)
  data.set('file', new Blob(['Code,Name\nA,Acme\n']), 'parties.csv')
  return data
}

describe('a hundred identical requests at once', () => {
  it.each([
    ['/parties', () => samples.party()],
    ['/organizations', () => CHILD],
  ] as const)('to %s have one effect', async (path, body) => {
    const client = await newOrganization()
    const before = await count(client, path)
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => await client.post(path, body(), KEY)),
    )
    expect(await count(client, path)).toBe(before + 1)
    const first = answers.find(({ headers }) => !headers.has('idempotent-replayed'))
    expect(answers.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
    for (const answer of answers) if (answer !== first) expectRepeat(answer, first as Answer)
  })

  it('with files have one effect', async () => {
    const client = await newOrganization()
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => await client.post('/documents', form(), KEY)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(await count(client, '/documents')).toBe(1)
  })

  it('for jobs have one effect', async () => {
    // No test beside this one may run the job before it is cancelled.
    const { client, release } = await blocked()
    const jobs = async (): Promise<number> => (await client.get('/sdis/jobs')).body.data.length
    const before = await jobs()
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => await client.post('/sdis/jobs', jobForm(), KEY)),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(await jobs()).toBe(before + 1)
    const first = answers.find(({ headers }) => !headers.has('idempotent-replayed')) as Answer
    expectRepeat(await client.post('/sdis/jobs', jobForm(), KEY), first)
    const cancel = `/sdis/jobs/${first.body.id}/cancel`
    const cancelled = await client.post(cancel, undefined, KEY)
    expect(cancelled).toMatchObject({ status: 200, body: { state: 'cancelled' } })
    expectRepeat(await client.post(cancel, undefined, KEY), cancelled)
    expect((await client.post(cancel, undefined)).status).toBe(422)
    await release()
  })
})

describe('the same key', () => {
  it('with another body, in another order of its fields, and quoted', async () => {
    const client = await newOrganization()
    const first = await client.post('/parties', samples.party(), KEY)
    const other = { ...samples.party(), legal_name: 'Other LLP' }
    const refused = await client.post('/parties', other, KEY)
    expect(refused).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
    const turned = Object.fromEntries(Object.entries(samples.party()).toReversed())
    expectRepeat(await client.post('/parties', turned, KEY), first)
    const quoted = { 'idempotency-key': '"same"' }
    expectRepeat(await client.post('/parties', samples.party(), quoted), first)
    expect(await count(client, '/parties')).toBe(1)
  })

  it('is good for one endpoint and one organization', async () => {
    const [client, other] = await Promise.all([newOrganization(), newOrganization()])
    await client.post('/parties', samples.party(), KEY)
    expect((await other.post('/parties', samples.party(), KEY)).status).toBe(201)
    const property = await client.post('/properties', samples.property(), KEY)
    expect(property.headers.has('idempotent-replayed')).toBe(false)
    const colleague = await newClient(client.org_id)
    const again = await colleague.post('/parties', samples.party(), KEY)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  it('is not used up by a request that was refused', async () => {
    const client = await newOrganization()
    const { property_id, tenant_party_id } = await leaseParents(client)
    const lease = samples.lease(property_id, tenant_party_id)
    const wrong = [
      { ...lease, lease_type: 'none' },
      { ...lease, expiration_date: '2020-01-01' },
      { ...lease, property_id: 'prop_999999999' },
    ]
    for (const body of wrong) expect((await client.post('/leases', body, KEY)).status).toBe(422)
    expect((await client.post('/leases', lease, KEY)).status).toBe(201)
  })

  it('answers as at first, whatever has changed since', async () => {
    const client = await newOrganization()
    const { property_id } = await leaseParents(client)
    const parent = await client.post('/buildings', samples.building(property_id))
    const path = `/buildings/${parent.body.id}/floors`
    const first = await client.post(path, { label: '1', level_number: 1 }, KEY)
    expect(first.status).toBe(201)
    expect((await client.delete(`/floors/${first.body.id}`)).status).toBe(204)
    expect((await client.delete(`/buildings/${parent.body.id}`)).status).toBe(204)
    expectRepeat(await client.post(path, { label: '1', level_number: 1 }, KEY), first)
  })

  it('answers again when the first answer was lost', async () => {
    const { app, db } = await grid()
    const client = await newOrganization()
    const other = await buildApp(app.config, db)
    // The process is gone between its write and its answer.
    other.addHook('onSend', (_request, reply) => {
      reply.raw.destroy()
    })
    const headers = { 'x-api-key': client.key, ...KEY }
    const request = { url: '/api/v1/parties', method: 'POST', headers } as const
    await other.inject({ ...request, payload: samples.party() }).catch(() => null)
    await other.close()
    const again = await client.post('/parties', samples.party(), KEY)
    expect(again.status).toBe(201)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await count(client, '/parties')).toBe(1)
  })

  it('is told to wait while the first request is under way, and then gets its answer', async () => {
    const { app } = await grid()
    const { org_id } = await newOrganization()
    const idempotency = { key: 'slow', route: 'POST /slow', fingerprint: 'same' }
    const actor = { ...SYSTEM, request_id: 'req_first' }
    const request = { org_id, actor, defaults: {}, idempotency }
    const started = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const first = once(app.store, request, async () => {
      started.resolve()
      await ended.promise
      return { status: 200, headers: {}, body: '{"done":true}' }
    })
    await started.promise
    const never = async (): Promise<never> => await Promise.reject(new Error('was done twice'))
    await expect(once(app.store, request, never)).rejects.toMatchObject({
      code: 'idempotency_in_progress',
      status: 409,
      extra: { retry_after_s: 1 },
    })
    ended.resolve()
    expect((await first).replayed).toBe(null)
    const { replayed } = await once(app.store, request, never)
    expect(replayed).toMatchObject({
      body: '{"done":true}',
      headers: { 'x-original-request-id': 'req_first' },
    })
  })

  it('is not used up by what fails', async () => {
    const { app } = await grid()
    const { org_id } = await newOrganization()
    const idempotency = { key: 'failing', route: 'POST /failing', fingerprint: 'same' }
    const request = { org_id, actor: SYSTEM, defaults: {}, idempotency }
    const failing = async (): Promise<never> => await Promise.reject(new Error('no'))
    await expect(once(app.store, request, failing)).rejects.toThrow('no')
    const answer = { status: 200, headers: {}, body: '{}' }
    expect((await once(app.store, request, () => Promise.resolve(answer))).replayed).toBe(null)
  })

  it('is forgotten after a day', async () => {
    const client = await newOrganization()
    const { db } = await grid()
    await client.post('/parties', samples.party(), KEY)
    const behind = await owner()
    await behind.query(`update idempotency set at = at - interval '25 hours' where org_id = $1`, [
      client.org_id,
    ])
    await behind.end()
    await db.flyControl('select app.forget_answers(24)', [])
    await client.post('/parties', samples.party(), KEY)
    expect(await count(client, '/parties')).toBe(2)
  })
})
