/** What a deployed field promises, seen through the interface. */
import { expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { deployed, newLease } from './schema-fixture.ts'

it('a field that is deployed is at once in answers, filters, sorts, facts, documents and events', async () => {
  const client = await newOrganization()
  const before = await newLease(client)
  expect(before).toMatchObject({ status: 201, body: { ext: {} } })
  await deployed(client, 'add a percent field green share to leases, 0 to 100')

  const lease = await newLease(client, { ext: { green_share: 12.5 } })
  expect(lease).toMatchObject({ status: 201, body: { ext: { green_share: 12.5 } } })
  const { id } = lease.body
  const one = await client.get(`/leases/${id}`)
  expect(one.body.ext).toEqual({ green_share: 12.5 })
  expect((await client.get(`/leases/${before.body.id}`)).body.ext).toEqual({ green_share: null })
  const list = await client.get('/leases?ext.green_share[gte]=10&fields=id,ext.green_share')
  expect(list.body.data).toEqual([{ id, ext: { green_share: 12.5 } }])
  const sorted = await client.get('/leases?sort=-ext.green_share&limit=1')
  expect(sorted.body.data[0].id).toBe(id)
  const second = await client.get(
    `/leases?sort=-ext.green_share&limit=1&cursor=${sorted.body.next_cursor}`,
  )
  expect(second.body.data[0].id).toBe(before.body.id)

  const patched = await client.patch(`/leases/${id}`, { ext: { green_share: 40 } })
  expect(patched).toMatchObject({ status: 200, body: { version: 2, ext: { green_share: 40 } } })
  const facts = await client.get(`/grid/v2/objects/${id}/facts?field=ext.green_share`)
  expect(
    facts.body.data.map((fact: { field: string; value: unknown }) => [fact.field, fact.value]),
  ).toEqual([
    ['ext.green_share', 12.5],
    ['ext.green_share', 40],
  ])
  const provenance = await client.get(`/grid/v2/objects/${id}/provenance`)
  expect(provenance.body.fields['ext.green_share']).toMatchObject({ value: 40 })
  const schema = await client.get('/grid/v2/schema')
  const type = schema.body.types.find(({ name }: { name: string }) => name === 'lease')
  expect(type.ext).toMatchObject([{ name: 'ext.green_share', kind: 'percent' }])
})

it('names every field that fails, those of the product too', async () => {
  const client = await newOrganization()
  await deployed(client, 'select fit-out: shell, warm, turnkey, required on spaces')
  const answer = await client.post('/spaces', {
    ext: { fitout: 'shell', fit_out: 'warmm' },
    nonsense: 1,
  })
  const errors = answer.body.errors.map(({ field, code }: { field: string; code: string }) => [
    field,
    code,
  ])
  expect(answer.status).toBe(422)
  expect(errors).toEqual(
    expect.arrayContaining([
      ['nonsense', 'unknown_field'],
      ['ext.fitout', 'unknown_field'],
      ['ext.fit_out', 'invalid_enum'],
    ]),
  )
})
