/** Fields of the organization's own among facts: claimed by hand, pinned and found like declared ones. */
import { expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { deployed, newLease } from '../schema/schema-fixture.ts'

async function extended(): Promise<{ client: TestClient; id: string }> {
  const client = await newOrganization()
  await deployed(client, 'add a percent field green share to leases, 0 to 100')
  await deployed(client, 'select fit-out: shell, warm, turnkey on leases')
  const { body } = await newLease(client, { ext: { green_share: 12.5 } })
  return { client, id: body.id }
}

async function extOf(client: TestClient, id: string): Promise<unknown> {
  return (await client.get(`/leases/${id}`)).body.ext
}

const shown = ({ body }: Answer): unknown[] =>
  body.data.map(({ field, value, status }: Record<string, unknown>) => [field, value, status])

it('a claim on one is made, ended, taken back and found by its name', async () => {
  const { client, id } = await extended()
  const state = async (more: object): Promise<Answer> =>
    await client.post('/grid/v2/facts', { object: id, reason: 'Survey', ...more })
  const attributes = { 'ext.green_share': 40, 'ext.fit_out': 'warm' }
  const stated = await state({ op: 'assert', attributes })
  expect(stated).toMatchObject({ status: 201 })
  expect(shown({ ...stated, body: { data: stated.body.facts } })).toEqual([
    ['ext.green_share', 40, 'current'],
    ['ext.fit_out', 'warm', 'current'],
  ])
  expect(await extOf(client, id)).toEqual({ green_share: 40, fit_out: 'warm' })
  expect(shown(await client.get('/grid/v2/facts?attribute=ext.green_share'))).toEqual([
    ['ext.green_share', 12.5, 'superseded'],
    ['ext.green_share', 40, 'current'],
  ])
  expect((await client.get('/grid/v2/facts?attribute=ext.green_shar')).body.data).toEqual([])

  const retracted = await state({ op: 'retract', attribute: 'ext.green_share' })
  expect(retracted).toMatchObject({ status: 201, body: { retracted: ['ext.green_share'] } })
  expect(await extOf(client, id)).toEqual({ green_share: 12.5, fit_out: 'warm' })
  expect((await state({ op: 'end', attribute: 'ext.fit_out' })).status).toBe(201)
  expect(await extOf(client, id)).toEqual({ green_share: 12.5, fit_out: null })

  const where = { 'ext.green_share': 12.5 }
  const found = await client.post('/grid/v2/query', { from: 'lease', select: ['id'], where })
  expect(found.body.data).toEqual([{ id }])
})

it('a pin holds one against writes until it is taken back', async () => {
  const { client, id } = await extended()
  const path = `/grid/v2/objects/${id}/pins`
  const pin = { attribute: 'ext.fit_out', value: 'turnkey', reason: 'Seen on site' }
  const pinned = await client.post(path, pin)
  const view = { attribute: 'ext.fit_out', value: 'turnkey', state: 'holds' }
  expect(pinned).toMatchObject({ status: 201, body: view })
  expect((await client.get(path)).body.data).toMatchObject([view])
  await client.patch(`/leases/${id}`, { ext: { fit_out: 'shell' } })
  expect(await extOf(client, id)).toMatchObject({ fit_out: 'turnkey' })
  const conflicts = await client.get('/grid/v2/conflicts?attribute=ext.fit_out')
  expect(conflicts.body.data).toMatchObject([
    { field: 'ext.fit_out', winner: { value: 'turnkey' }, others: [{ value: 'shell' }] },
  ])
  const own = await client.get(`/grid/v2/objects/${id}/conflicts`)
  expect(own.body.data).toMatchObject([{ field: 'ext.fit_out', winner: { value: 'turnkey' } }])
  expect((await client.delete(`${path}/ext.fit_out`)).status).toBe(204)
  expect(await extOf(client, id)).toMatchObject({ fit_out: 'shell' })
  const source = { attribute: 'ext.fit_out', source_id: 'src_1', reason: 'As written' }
  expect(await client.post(path, source)).toMatchObject({ status: 201, body: { value: 'shell' } })
})

it.each([
  ['ext.fit_ot', 'warm', { code: 'unknown_value', suggestion: 'ext.fit_out' }],
  ['ext.fit_out', 'warmm', { code: 'invalid_enum' }],
  ['ext.green_share', 101, {}],
])('refuses %s %j', async (attribute, value, expected) => {
  const { client, id } = await extended()
  const fact = { object: id, op: 'assert', attribute, value, reason: 'Survey' }
  const answer = await client.post('/grid/v2/facts', fact)
  expect(answer).toMatchObject({ status: 422, body: { errors: [{ field: 'value', ...expected }] } })
  const other = await newOrganization()
  const lease = await newLease(other)
  const foreign = await other.post('/grid/v2/facts', { ...fact, object: lease.body.id, value: 1 })
  expect(foreign).toMatchObject({ status: 422, body: { errors: [{ code: 'unknown_value' }] } })
  expect(foreign.body.errors[0]).not.toHaveProperty('suggestion', 'ext.fit_out')
})
