import { describe, expect, test } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import { lease } from '../leases/resource.ts'
import { bareStore, SYSTEM } from '../organizations/service.ts'
import { party } from '../parties/resource.ts'
import { createMany } from './bulk.ts'
import type { NewObject } from './bulk.ts'
import type { Row } from './resource.ts'
import type { WriteRequest } from './write.ts'

const day = (date: string): number => Date.parse(`${date}T00:00:00Z`)

async function setup() {
  const client = await newOrganization()
  const store = bareStore((await grid()).db)
  const request: WriteRequest = { org_id: client.org_id, actor: SYSTEM, defaults: {}, source_id: 6 }
  return { client, store, request }
}

describe('creating many objects', () => {
  test('writes them all, in more than one statement when there are many', async () => {
    const { client, store, request } = await setup()
    const objects = Array.from({ length: 1_203 }, (_, i) => {
      return { input: { ...samples.party(), legal_name: `Party ${i}` } }
    })
    const ids = await createMany(store, party, request, objects)
    expect(new Set(ids).size).toBe(1_203)
    const last = await client.get(`/parties/pty_${ids.at(-1)}`)
    expect(last.body).toMatchObject({ legal_name: 'Party 1202', version: 1, status: 'active' })
    const page = await client.get('/parties?include=total_count&limit=1')
    expect(page.body.total_count).toBe(1_203)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  test('takes ids that were given out before', async () => {
    const { client, store, request } = await setup()
    const [id] = (await store.db.ids(1)) as [number]
    expect(await createMany(store, party, request, [{ id, input: samples.party() }])).toEqual([id])
    expect((await client.get(`/parties/pty_${id}`)).status).toBe(200)
  })

  test('tells the past of an object: what it was, and since when it is what it is', async () => {
    const { client, store, request } = await setup()
    const { property_id, tenant_party_id } = await leaseParents(client)
    const input = {
      ...samples.lease(property_id, tenant_party_id),
      status: 'executed',
      currency: 'USD',
      area_unit: 'sqft',
    }
    const object: NewObject = {
      input,
      valid_from: day('2025-10-05'),
      later: [
        { valid_from: day('2026-01-01'), values: { status: 'active' } },
        { valid_from: day('2026-03-01'), values: { rentable_area: 5500 } },
      ],
    }
    const [id] = await createMany(store, lease, request, [object])
    const at = async (date: string): Promise<{ status: string; rentable_area: number }> =>
      (await client.get(`/leases/le_${id}?as_of=${date}`)).body
    expect((await client.get(`/leases/le_${id}?as_of=2025-10-01`)).status).toBe(404)
    expect(await at('2025-11-30')).toMatchObject({ status: 'executed', rentable_area: 5000 })
    expect(await at('2026-02-01')).toMatchObject({ status: 'active', rentable_area: 5000 })
    const { body } = await client.get(`/leases/le_${id}`)
    expect(body).toMatchObject({ status: 'active', rentable_area: 5500, version: 1 })
    expect(body.status_history).toMatchObject([
      { from: null, to: 'executed', at: '2025-10-05T00:00:00.000Z' },
      { from: 'executed', to: 'active', at: '2026-01-01T00:00:00.000Z' },
    ])
    expect(Date.parse(body.created_at)).toBeGreaterThan(Date.now() - 60_000)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  test.each<[what: string, wrong: Row, later: Row | null, code: string]>([
    ['a rule that is broken', { expiration_date: '2020-01-01' }, null, 'before_commencement'],
    ['a move that cannot be made', {}, { status: 'expired' }, 'invalid_transition'],
    ['an object that does not exist', { tenant_party_id: 'pty_1' }, null, 'not_found'],
  ])('refuses %s and writes none of the batch', async (_, wrong, later, code) => {
    const { client, store, request } = await setup()
    const { property_id, tenant_party_id } = await leaseParents(client)
    const input = { ...samples.lease(property_id, tenant_party_id), status: 'executed' }
    const stages = later ? [{ valid_from: Date.now(), values: later }] : []
    const bad = { input: { ...input, ...wrong }, valid_from: day('2026-01-01'), later: stages }
    const attempt = createMany(store, lease, request, [{ input }, bad])
    await expect(attempt).rejects.toMatchObject({
      status: 422,
      extra: { errors: [expect.objectContaining({ code })] },
    })
    expect((await client.get('/leases')).body.data).toEqual([])
  })

  test('lets through what the caller says is known', async () => {
    const { client, store, request } = await setup()
    const { property_id, tenant_party_id } = await leaseParents(client)
    const input = { ...samples.lease(property_id, tenant_party_id), expiration_date: '2020-01-01' }
    const tolerates = ({ code }: { code: string }): boolean => code === 'before_commencement'
    const [id] = await createMany(store, lease, request, [{ input }], { tolerates })
    expect((await client.get(`/leases/le_${id}`)).body.expiration_date).toBe('2020-01-01')
  })
})
