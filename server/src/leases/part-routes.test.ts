import { beforeAll, describe, expect, test } from 'vitest'
import { grid, newClient, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import type { Row } from '../kit/resource.ts'
import { leaseFields } from './fields.ts'

/** Path below a lease, and the field it shows. */
const PARTS: [path: string, field: keyof typeof leaseFields][] = [
  ['rent_schedule', 'rent_schedule'],
  ['charges', 'charges'],
  ['recoveries', 'recoveries'],
  ['options', 'options'],
  ['deposits', 'security_deposits'],
  ['critical_dates', 'critical_dates'],
  ['amendments', 'amendments'],
  ['terms', 'terms'],
  ['escalations', 'escalations'],
  ['premises', 'premises'],
  ['parties', 'parties'],
  ['insurance_requirements', 'insurance_requirements'],
]

/** Fields that name objects, which examples cannot: their lists are tested without them. */
const IDS = /_ids?$/

function exampleOf(field: keyof typeof leaseFields): Row[] {
  const [items] = leaseFields[field].schema['examples'] as Row[][]
  return (items as Row[]).map((item) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => !IDS.test(name))),
  )
}

describe('the parts of a lease', () => {
  let client: TestClient
  let created: Row
  let path: string

  beforeAll(async () => {
    client = await newOrganization()
    const { property_id, tenant_party_id } = await leaseParents(client)
    const parts = PARTS.filter(([, field]) => field !== 'parties').map(([, field]) => [
      field,
      exampleOf(field),
    ])
    const answer = await client.post('/leases', {
      ...samples.lease(property_id, tenant_party_id),
      ...Object.fromEntries(parts),
      parties: [{ party_id: tenant_party_id, role: 'tenant' }],
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    created = answer.body
    path = `/leases/${answer.body.id}`
  })

  test.each(PARTS)('%s shows %s as the lease does', async (part, field) => {
    const answer = await client.get(`${path}/${part}`)
    expect(answer).toMatchObject({
      status: 200,
      body: { object: 'list', data: created[field], has_more: false, next_cursor: null },
    })
    expect(answer.body.data.length).toBeGreaterThan(0)
    expect(answer.headers.get('etag')).toBe('"v1"')
    const again = await client.get(`${path}/${part}`, { 'if-none-match': '"v1"' })
    expect(again.status).toBe(304)
  })

  test('a list that was never given is empty', async () => {
    const { property_id, tenant_party_id } = await leaseParents(client)
    const bare = await client.post('/leases', samples.lease(property_id, tenant_party_id))
    for (const [part] of PARTS) {
      const { status, body } = await client.get(`/leases/${bare.body.id}/${part}`)
      expect([status, body.data], part).toEqual([200, []])
    }
  })

  test('as it was known before a change', async () => {
    const known_at = String(created['updated_at'])
    const charges = [{ category: 'tax', amount: '1.00' }]
    expect((await client.patch(path, { charges })).status).toBe(200)
    const now = await client.get(`${path}/charges`)
    expect(now.body.data).toMatchObject(charges)
    const then = await client.get(`${path}/charges?known_at=${known_at}`)
    expect(then).toMatchObject({ status: 200, body: { data: created['charges'] } })
    expect((await client.get(`${path}/charges?as_of=2001-01-01`)).status).toBe(404)
  })

  test.each([
    ['another parameter', '/charges?limit=5', 422, 'validation_failed'],
    ['a day that does not exist', '/charges?as_of=2026-02-30', 422, 'validation_failed'],
    ['a part that does not exist', '/furniture', 404, 'not_found'],
  ])('%s is refused', async (_, rest, status, code) => {
    expect(await client.get(path + rest)).toMatchObject({ status, body: { code } })
  })

  test('are for those who may read the lease', async () => {
    const other = await newOrganization()
    expect((await other.get(`${path}/options`)).status).toBe(404)
    const time = '?known_at=2099-01-01T00:00:00Z'
    expect((await other.get(`${path}/options${time}`)).status).toBe(404)
    const blind = await newClient(client.org_id, ['read:buildings'])
    expect((await blind.get(`${path}/options`)).status).toBe(403)
    const { property_id, tenant_party_id } = await leaseParents(client)
    const gone = await client.post('/leases', samples.lease(property_id, tenant_party_id))
    await client.delete(`/leases/${gone.body.id}`)
    expect((await client.get(`/leases/${gone.body.id}/options`)).status).toBe(404)
  })

  test('are documented, each with its items', async () => {
    const { app } = await grid()
    const document = JSON.parse(app.openapi())
    for (const [part, field] of PARTS) {
      const { get } = document.paths[`/leases/{id}/${part}`]
      const schema = get.responses['200'].content['application/json'].schema.$ref as string
      const list = document.components.schemas[schema.replace(/^.*\//, '')]
      const item = (list.properties.data.items.$ref as string).replace(/^.*\//, '')
      const names = Object.keys(document.components.schemas[item].properties)
      expect(names, part).toEqual(Object.keys(leaseFields[field].items ?? {}))
    }
  })
})
