import { describe, expect, test } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'

describe('leases', () => {
  test('a lease is created, read, changed and deleted', async () => {
    const client = await newOrganization()
    const { property_id, tenant_party_id } = await leaseParents(client)
    const created = await client.post('/leases', samples.lease(property_id, tenant_party_id))
    expect(created).toMatchObject({
      status: 201,
      body: { status: 'draft', version: 1, currency: 'USD' },
    })
    const { id } = created.body
    expect(created.headers.get('location')).toBe(`/api/v1/leases/${id}`)
    const patched = await client.patch(`/leases/${id}`, { rentable_area: 5100 })
    expect(patched).toMatchObject({ status: 200, body: { rentable_area: 5100, version: 2 } })
    expect((await client.get(`/leases/${id}`)).body).toEqual(patched.body)
    expect((await client.delete(`/leases/${id}`)).status).toBe(204)
    expect((await client.get(`/leases/${id}`)).status).toBe(404)
  })
})
