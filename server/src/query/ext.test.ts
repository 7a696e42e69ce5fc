/** What queries promise of fields that an organization added. */
import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import { deployed } from '../schema/schema-fixture.ts'

async function extended(): Promise<{ client: TestClient; ids: string[]; property_id: string }> {
  const client = await newOrganization()
  await deployed(client, 'add a percent field green share to leases, 0 to 100')
  await deployed(client, 'select fit-out: shell, warm, turnkey on leases')
  await deployed(client, 'yes/no pet friendly on properties')
  const { property_id, tenant_party_id } = await leaseParents(client)
  await client.patch(`/properties/${property_id}`, { ext: { pet_friendly: true } })
  const ids: string[] = []
  for (const ext of [
    { green_share: 12.5, fit_out: 'warm' },
    { green_share: 40, fit_out: 'shell' },
    { green_share: 7.5, fit_out: 'warm' },
    {},
  ]) {
    const body = { ...samples.lease(property_id, tenant_party_id), ext }
    const lease = await client.post('/leases', body)
    expect(lease).toMatchObject({ status: 201 })
    ids.push(lease.body.id)
  }
  return { client, ids, property_id }
}

const { client, ids, property_id } = await extended()
const [first, second, third, fourth] = ids

async function ask(body: object, by = client): Promise<Answer> {
  return await by.post('/grid/v2/query', body)
}

async function rows(body: object): Promise<unknown[][]> {
  const answer = await ask(body)
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.data.map((row: object) => Object.values(row))
}

describe('a field of the organization', () => {
  it('is shown as everywhere, alone and with all others', async () => {
    const select = ['id', 'ext.green_share', 'ext.fit_out', 'ext']
    const where = { id: [first, fourth] }
    const one = { green_share: 12.5, fit_out: 'warm' }
    const none = { green_share: null, fit_out: null }
    expect(await rows({ from: 'lease', select, where })).toEqual([
      [first, 12.5, 'warm', one],
      [fourth, null, null, none],
    ])
    const { body } = await ask({ from: 'lease', where: { id: first } })
    expect(body.data[0]).toMatchObject({ 'ext.green_share': 12.5, 'ext.fit_out': 'warm' })
  })

  it.each([
    [{ 'ext.green_share': { gte: 10 } }, [first, second]],
    [{ 'ext.green_share': 12.5 }, [first]],
    [{ 'ext.green_share': null }, [fourth]],
    [{ 'ext.fit_out': 'warm' }, [first, third]],
    [{ 'ext.fit_out': { ne: 'warm' } }, [second, fourth]],
    [{ or: [{ 'ext.fit_out': ['shell'] }, { 'ext.green_share': { lt: 10 } }] }, [second, third]],
    [{ 'property.ext.pet_friendly': true }, ids],
    [{ 'property.ext.pet_friendly': { ne: true } }, []],
  ])('chooses rows: %j', async (where, expected) => {
    for (const time of [{}, { as_of: { known_at: new Date().toISOString() } }]) {
      const found = await rows({ from: 'lease', select: ['id'], where, ...time })
      expect(found.flat()).toEqual(expected)
    }
  })

  it('makes groups, is added up and orders pages', async () => {
    const select = ['ext.fit_out', { sum: 'ext.green_share', as: 'sum' }, { count: '*' }]
    const grouped = { from: 'lease', select, group_by: ['ext.fit_out'], order_by: [['sum']] }
    expect(await rows(grouped)).toEqual([
      ['warm', 20, 2],
      ['shell', 40, 1],
      [null, null, 1],
    ])
    const having = { sum: { lt: 30 } }
    expect(await rows({ ...grouped, having })).toEqual([['warm', 20, 2]])
    const ordered = { from: 'lease', select: ['id'], order_by: [['ext.green_share', 'desc']] }
    const page = await ask({ ...ordered, limit: 2 })
    const next = await ask({ ...ordered, limit: 2, cursor: page.body.next_cursor })
    const shown = [...page.body.data, ...next.body.data].map(({ id }: { id: string }) => id)
    expect(shown).toEqual([second, first, third, fourth])
  })

  it('is answered one relation away, in a table and as it was', async () => {
    const select = ['id', 'property.ext.pet_friendly', 'ext.fit_out']
    const query = { from: 'lease', select, where: { id: second } }
    expect(await rows(query)).toEqual([[second, true, 'shell']])
    expect((await ask({ ...query, format: 'csv' })).body).toBe(
      `id,property.ext.pet_friendly,ext.fit_out\r\n${second},true,shell\r\n`,
    )
    const known_at = new Date().toISOString()
    await client.patch(`/properties/${property_id}`, { ext: { pet_friendly: null } })
    expect(await rows(query)).toEqual([[second, null, 'shell']])
    expect(await rows({ ...query, as_of: { known_at } })).toEqual([[second, true, 'shell']])
  })

  it('is part of the schema', async () => {
    const select = ['name', 'kind', 'operators']
    const where = { type: 'lease', name: { starts_with: 'ext.' } }
    expect(await rows({ from: 'schema', select, where })).toEqual([
      ['ext.fit_out', 'select', ['eq', 'ne', 'in', 'nin', 'is_null']],
      ['ext.green_share', 'percent', expect.arrayContaining(['gte'])],
    ])
  })

  it('is found by its index once it is filterable', async () => {
    await deployed(client, 'make green share on leases filterable')
    const where = { 'ext.green_share': { gte: 10 } }
    const found = await rows({ from: 'lease', select: ['id'], where })
    expect(found.flat()).toEqual([first, second])
  })

  it('can be saved and run', async () => {
    const where = { 'ext.fit_out': { $param: 'state' } }
    const query = { from: 'lease', select: ['id'], where }
    const saved = await client.post('/grid/v2/queries', { name: 'By fit-out', query })
    expect(saved).toMatchObject({ status: 201 })
    const path = `/grid/v2/queries/${saved.body.id}/run`
    const run = await client.post(path, { parameters: { state: 'shell' } })
    expect(run).toMatchObject({ status: 200, body: { data: [{ id: second }] } })
    const wrong = await client.post(path, { parameters: { state: 'shel' } })
    expect(wrong).toMatchObject({ status: 422, body: { errors: [{ field: 'where.ext.fit_out' }] } })
  })
})

it('names everything that is wrong with it', async () => {
  const { status, body } = await ask({
    from: 'lease',
    select: ['ext.green_shar', { sum: 'ext.fit_out' }],
    where: { 'ext.fit_out': 'warmm', 'ext.green_share': { contains: 'x' }, ext: null },
  })
  expect(status).toBe(422)
  expect(body.errors).toEqual([
    expect.objectContaining({ code: 'unknown_field', suggestion: 'ext.green_share' }),
    expect.objectContaining({ code: 'unsupported_aggregate' }),
    expect.objectContaining({
      field: 'where.ext.fit_out',
      code: 'invalid_value',
      allowed: ['shell', 'warm', 'turnkey'],
    }),
    expect.objectContaining({ field: 'where.ext.green_share.contains', code: 'unknown_operator' }),
    expect.objectContaining({ field: 'where.ext', code: 'unsupported' }),
  ])
})

it('is unknown to another organization, which is not told of it', async () => {
  const other = await newOrganization()
  const { status, body } = await ask({ from: 'lease', select: ['ext.green_shar'] }, other)
  expect(status).toBe(422)
  expect(body.errors).toMatchObject([{ field: 'select[0]', code: 'unknown_field' }])
  expect(JSON.stringify(body)).not.toContain('green_share')
  const where = { name: { starts_with: 'ext.' } }
  expect((await ask({ from: 'schema', where }, other)).body.data).toEqual([])
})
