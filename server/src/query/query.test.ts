import { describe, expect, it } from 'vitest'
import { newClient, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { askedPortfolio } from './query-fixture.ts'

const asked = await askedPortfolio()
const { client, leases, parties, properties } = asked
const [first, second, third] = leases as [string, string, string]

async function ask(body: unknown, by: TestClient = client): Promise<Answer> {
  return await by.post('/grid/v2/query', body)
}

/** Values of the first column. */
async function values(body: object): Promise<unknown[]> {
  const { status, body: answer } = await ask(body)
  expect(answer).toMatchObject({ object: 'list' })
  expect(status).toBe(200)
  return answer.data.map((row: object) => Object.values(row)[0])
}

describe('a query', () => {
  it('answers fields as every endpoint shows them, and says what they are', async () => {
    const select = [
      'id',
      'property_id',
      'rentable_area',
      'ti_allowance',
      'expiration_date',
      'is_month_to_month',
      'tags',
      'address',
      'version',
      'created_at',
    ]
    const body = {
      from: 'lease',
      select: select.filter((name) => name !== 'address'),
      where: { id: first },
    }
    const { body: answer } = await ask(body)
    const { body: lease } = await client.get(`/leases/${first}`)
    const shown = Object.fromEntries(body.select.map((name) => [name, lease[name]]))
    expect(answer.data).toEqual([shown])
    expect(answer.columns[3]).toEqual({
      name: 'ti_allowance',
      kind: 'money',
      path: 'ti_allowance',
      aggregate: null,
    })
    expect(answer).toMatchObject({ has_more: false, next_cursor: null, plan: null, warnings: [] })
  })

  it('answers values of the row that have no column, whole and in part', async () => {
    const select = [
      'name',
      'address',
      'address.city',
      'external_ids',
      'ext',
      'object',
      'organization_id',
    ]
    const { body } = await ask({ from: 'property', select, where: { 'address.country': 'DE' } })
    const { body: property } = await client.get(`/properties/${properties[1]}`)
    const { name, address, external_ids, ext, object, organization_id } = property
    expect(body.data).toEqual([
      { name, address, 'address.city': 'Berlin', external_ids, ext, object, organization_id },
    ])
  })

  it('shows every field that has a column where none is chosen', async () => {
    const { body } = await ask({ from: 'lease', limit: 1 })
    expect(Object.keys(body.data[0])).toContain('status')
    expect(Object.keys(body.data[0])).not.toContain('rent_schedule')
  })

  it('follows relations, three of them one behind the other', async () => {
    const building = await client.post('/buildings', samples.building(properties[1] as string))
    const floor = await client.post('/floors', samples.floor(building.body.id))
    const space = await client.post('/spaces', samples.space(building.body.id, floor.body.id))
    const order = await client.post('/work_orders', {
      ...samples.work_order(properties[1] as string),
      building_id: building.body.id,
      space_id: space.body.id,
    })
    expect(order.status).toBe(201)
    const path = 'space.building.property.name'
    expect(
      await values({ from: 'work_order', select: [path], where: { [path]: 'Spreeufer' } }),
    ).toEqual(['Spreeufer'])
    expect(
      await values({ from: 'lease', select: ['tenant.display_name'], where: { id: third } }),
    ).toEqual([(await client.get(`/parties/${parties[1]}`)).body.display_name])
    expect(await values({ from: 'work_order', select: ['lease.tenant.legal_name'] })).toEqual([
      null,
    ])
  })

  const FILTERS: [string, object, number[]][] = [
    ['equal', { property_id: 0 }, [0, 1]],
    ['in a list', { id: [0, 2] }, [0, 2]],
    ['not', { not: { id: { eq: 0 } } }, [1, 2]],
    ['not of what is null', { not: { ti_allowance: { gt: 1 } } }, [2]],
    ['null', { ti_allowance: null }, [2]],
    ['not null', { ti_allowance: { is_null: false } }, [0, 1]],
    ['a range', { rentable_area: { gt: 300, lte: 7000.5 } }, [0, 1]],
    ['or', { or: [{ currency: 'EUR' }, { ti_allowance: { gte: '250000.20' } }] }, [1, 2]],
    [
      'and in or',
      {
        or: [
          { and: [{ currency: 'USD' }, { rentable_area: 5000 }] },
          { expiration_date: { lt: '2027-12-31' } },
        ],
      },
      [0, 2],
    ],
    ['over a relation', { 'tenant.industry_code': '33', 'property.address.country': 'US' }, [1]],
    ['a label', { tags: { contains: 'core' } }, [0]],
    ['a date', { expiration_date: '2028-06-30' }, [1]],
    ['several operators', { currency: { ne: 'USD', in: ['EUR', 'GBP'] } }, [2]],
    ['text within', { 'tenant.legal_name': { contains: 'zen' } }, [1, 2]],
    ['nothing', {}, [0, 1, 2]],
  ]
  it.each(FILTERS)('finds by %s', async (_, where, expected) => {
    const text = JSON.stringify(where)
      .replace('"property_id":0', `"property_id":"${properties[0]}"`)
      .replace('"eq":0', `"eq":"${first}"`)
      .replace('[0,2]', `["${first}","${third}"]`)
    const found = await values({ from: 'lease', select: ['id'], where: JSON.parse(text) })
    expect(found).toEqual(expected.map((i) => leases[i]))
  })

  it('leaves out what is deleted, and what is archived unless asked', async () => {
    const own = await newOrganization()
    const [kept, gone, archived] = await Promise.all(
      ['A', 'B', 'C'].map(
        async (legal_name) => (await own.post('/parties', { kind: 'company', legal_name })).body.id,
      ),
    )
    await own.delete(`/parties/${gone}`)
    const sql = await owner()
    await sql.query('update party set archived_at = now() where org_id = $1 and id = $2', [
      own.org_id,
      archived.slice(4),
    ])
    await sql.end()
    const ids = async (where: object): Promise<unknown[]> =>
      (await ask({ from: 'party', select: ['id'], where }, own)).body.data.map(
        (row: { id: string }) => row.id,
      )
    expect(await ids({})).toEqual([kept])
    expect(await ids({ archived_at: { is_null: false } })).toEqual([archived])
  })

  it('pages by any order, each row once, and the cursor belongs to the query', async () => {
    const order_by = [
      ['property.name', 'desc'],
      ['rentable_area', 'asc'],
    ]
    const seen: unknown[] = []
    let cursor: string | undefined
    for (let page = 0; page < 3; page++) {
      const { body } = await ask({
        from: 'lease',
        select: ['id'],
        order_by,
        limit: 1,
        ...(cursor ? { cursor } : {}),
      })
      seen.push(body.data[0].id)
      cursor = body.next_cursor ?? undefined
      expect(body.has_more).toBe(page < 2)
    }
    expect(seen).toEqual([third, first, second])
    const { body } = await ask({ from: 'lease', order_by, limit: 1 })
    const other = await ask({
      from: 'lease',
      order_by,
      where: { currency: 'USD' },
      cursor: body.next_cursor,
    })
    expect(other).toMatchObject({ status: 422, body: { code: 'cursor_mismatch' } })
  })

  it('aggregates groups, money exactly, and says when currencies are mixed', async () => {
    const select = [
      'property.name',
      { count: '*' },
      { sum: 'ti_allowance', as: 'ti' },
      { avg: 'rentable_area' },
      { count_distinct: 'tenant_party_id', as: 'tenants' },
      { max: 'expiration_date', as: 'last' },
    ]
    const { body } = await ask({
      from: 'lease',
      select,
      group_by: ['property.name'],
      order_by: [['count', 'desc']],
    })
    expect(body.data).toEqual([
      {
        'property.name': 'Harbor Point',
        count: 2,
        ti: '251000.30',
        avg_rentable_area: 6000.25,
        tenants: 2,
        last: '2030-12-31',
      },
      {
        'property.name': 'Spreeufer',
        count: 1,
        ti: null,
        avg_rentable_area: 300,
        tenants: 1,
        last: '2027-03-31',
      },
    ])
    expect(body.warnings).toEqual([expect.stringContaining('every currency')])
    const apart = await ask({
      from: 'lease',
      select: ['currency', { sum: 'ti_allowance' }],
      group_by: ['currency'],
    })
    expect(apart.body.warnings).toEqual([])
    const many = await ask({
      from: 'lease',
      select: ['property_id', { count: '*', as: 'n' }],
      group_by: ['property_id'],
      having: { n: { gt: 1 } },
    })
    expect(many.body.data).toEqual([{ property_id: properties[0], n: 2 }])
    const capped = await ask({ from: 'lease', group_by: ['id'], limit: 2 })
    expect(capped.body).toMatchObject({
      has_more: true,
      next_cursor: null,
      warnings: ['Only the first 2 groups are shown.'],
    })
    expect(await values({ from: 'lease', select: [{ count: '*' }] })).toEqual([3])
  })

  it('is answered as a table', async () => {
    const body = {
      from: 'lease',
      select: ['id', 'tenant.legal_name', 'rentable_area', 'tags'],
      where: { id: first },
    }
    const text = `id,tenant.legal_name,rentable_area,tags\r\n${first},Acme Legal LLP,5000,"[""core""]"\r\n`
    for (const answer of [
      await client.post('/grid/v2/query', { ...body, format: 'csv' }),
      await client.post('/grid/v2/query', body, { accept: 'text/csv' }),
    ]) {
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(answer.headers.get('x-has-more')).toBe('false')
      expect(answer.body).toBe(text)
    }
  })

  it('tells its plan without SQL and without reading', async () => {
    const { body } = await ask({ from: 'lease', where: { id: first }, explain: true })
    expect(body).toMatchObject({
      data: [],
      plan: { allowed: true, max_cost: 1_000_000, scans: [{ type: 'lease' }] },
    })
    expect(JSON.stringify(body)).not.toMatch(/select|org_id/i)
  })
})

describe('facts', () => {
  it('are found by object, field and time, whoever claims them', async () => {
    const { body } = await ask({
      from: 'fact',
      select: [
        'object_id',
        'object_type',
        'value',
        'source',
        'source_id',
        'confidence_pct',
        'transaction_id',
        'row',
      ],
      where: { object_id: first, field: 'rentable_area' },
    })
    expect(body.data).toEqual([
      {
        object_id: first,
        object_type: 'lease',
        value: 5000,
        source: 'API',
        source_id: 'src_1',
        confidence_pct: 100,
        transaction_id: expect.stringMatching(/^tx_/),
        row: null,
      },
    ])
    const grouped = await ask({
      from: 'fact',
      select: ['object_type', { count: '*' }],
      group_by: ['object_type'],
      where: { field: 'property_id' },
    })
    expect(grouped.body.data).toContainEqual({ object_type: 'lease', count: 3 })
    expect(
      await values({
        from: 'fact',
        select: ['object_id'],
        where: { field: 'rentable_area', value: { gt: 5000 }, object_type: 'lease' },
      }),
    ).toEqual([second])
    expect(
      await values({
        from: 'fact',
        select: ['field'],
        where: { object_id: first },
        as_of: { known_at: '2020-01-01T00:00:00Z' },
      }),
    ).toEqual([])
  })

  it('of types that the key may not read are left out', async () => {
    const some = await newClient(client.org_id, ['read:facts', 'read:parties'])
    const { body } = await ask(
      { from: 'fact', select: ['object_type', { count: '*' }], group_by: ['object_type'] },
      some,
    )
    expect(body.data.map((row: { object_type: string }) => row.object_type)).toEqual(['party'])
  })
})

describe('the schema', () => {
  it('is asked like any type', async () => {
    const { body } = await ask({
      from: 'schema',
      select: ['name', 'kind', 'operators'],
      where: { type: 'lease', name: ['status', 'ti_allowance'] },
    })
    expect(body.data).toEqual([
      { name: 'status', kind: 'choice', operators: expect.arrayContaining(['eq']) },
      { name: 'ti_allowance', kind: 'money', operators: expect.arrayContaining(['gte']) },
    ])
  })
})

describe('another time', () => {
  it('is answered from the facts, over relations and in groups', async () => {
    const own = await askedPortfolio()
    const [lease] = own.leases as [string]
    const before = new Date().toISOString()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await own.client.patch(`/leases/${lease}`, { rentable_area: 9999 })
    await own.client.patch(`/properties/${own.properties[0]}`, { name: 'Renamed' })
    const body = { from: 'lease', select: ['rentable_area', 'property.name'], where: { id: lease } }
    const now = await ask(body, own.client)
    expect(now.body.data).toEqual([{ rentable_area: 9999, 'property.name': 'Renamed' }])
    const then = await ask({ ...body, as_of: { known_at: before } }, own.client)
    expect(then.body.data).toEqual([{ rentable_area: 5000, 'property.name': 'Harbor Point' }])
    const valid = await ask({ ...body, as_of: { valid_at: before } }, own.client)
    expect(valid.body.data).toEqual(then.body.data)
    const groups = await ask(
      {
        from: 'lease',
        select: ['property.name', { sum: 'rentable_area', as: 'area' }],
        group_by: ['property.name'],
        order_by: [['area', 'desc']],
        as_of: { known_at: before },
      },
      own.client,
    )
    expect(groups.body.data).toEqual([
      { 'property.name': 'Harbor Point', area: 12000.5 },
      { 'property.name': 'Spreeufer', area: 300 },
    ])
    const early = await ask({ ...body, where: {}, as_of: { valid_at: '2001-01-01' } }, own.client)
    expect(early.body.data).toEqual([])
  })
  it('has what was deleted since, whether it is named or not', async () => {
    const own = await askedPortfolio()
    const [lease] = own.leases as [string]
    const as_of = { known_at: new Date().toISOString() }
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect((await own.client.delete(`/leases/${lease}`)).status).toBe(204)
    for (const where of [{ id: lease }, { rentable_area: 5000 }]) {
      const { body } = await ask({ from: 'lease', select: ['id'], where, as_of }, own.client)
      expect(body.data).toEqual([{ id: lease }])
    }
  })
})
