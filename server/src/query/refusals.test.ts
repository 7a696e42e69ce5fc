import { describe, expect, it } from 'vitest'
import { clientWith, grid, newClient } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { askedPortfolio } from './query-fixture.ts'
import { runQuery } from './run.ts'
import { NESTING_MAX } from './types.ts'

const asked = await askedPortfolio()
const { client, leases, parties, properties } = asked
const [first, , third] = leases as [string, string, string]

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

describe('what is wrong', () => {
  const REFUSED: [string, object, object[]][] = [
    [
      'the schema of another time',
      { from: 'schema', as_of: { valid_at: '2026-01-01' } },
      [{ field: 'as_of', code: 'unsupported_with_time' }],
    ],
    ['a type', { from: 'leese' }, [{ field: 'from', code: 'unknown_value', suggestion: 'lease' }]],
    [
      'fields, each where it stands',
      {
        from: 'lease',
        select: ['id', 'rentable_aera', 'tenant.legal_nam'],
        where: { and: [{ statuss: 'x' }] },
        order_by: [['nope', 'asc']],
      },
      [
        { field: 'select[1]', code: 'unknown_field', suggestion: 'rentable_area' },
        { field: 'select[2]', code: 'unknown_field', suggestion: 'tenant.legal_name' },
        { field: 'where.and[0].statuss', code: 'unknown_field', suggestion: 'status' },
        { field: 'order_by[0]', code: 'unknown_field' },
      ],
    ],
    [
      'directions',
      {
        from: 'lease',
        order_by: [
          ['rentable_area', 'DESC'],
          ['id', 'down'],
        ],
      },
      [
        {
          field: 'order_by[0]',
          code: 'unknown_value',
          allowed: ['asc', 'desc'],
          suggestion: 'desc',
        },
        { field: 'order_by[1]', code: 'unknown_value', allowed: ['asc', 'desc'] },
      ],
    ],
    [
      'directions of groups',
      { from: 'lease', select: [{ count: '*', as: 'n' }], order_by: [['n', 'ascending']] },
      [{ field: 'order_by[0]', code: 'unknown_value' }],
    ],
    [
      'conditions on facts of another time, where they stand',
      { from: 'fact', where: { nope: 1 }, as_of: { valid_at: '2026-01-01' } },
      [{ field: 'where.nope', code: 'unknown_field' }],
    ],
    [
      'values',
      {
        from: 'lease',
        where: {
          property_id: 'le_1',
          rentable_area: 'much',
          expiration_date: '2026-13-01',
          status: 'atcive',
          is_month_to_month: 'yes',
        },
      },
      [
        { field: 'where.property_id', code: 'invalid_value' },
        { field: 'where.rentable_area', code: 'invalid_value' },
        { field: 'where.expiration_date', code: 'invalid_value' },
        { field: 'where.status', code: 'invalid_value', allowed: expect.any(Array) },
        { field: 'where.is_month_to_month', code: 'invalid_value' },
      ],
    ],
    [
      'operators',
      { from: 'lease', where: { rentable_area: { contains: '5' }, status: { equals: 'x' } } },
      [
        { field: 'where.rentable_area.contains', code: 'unknown_operator' },
        { field: 'where.status.equals', code: 'unknown_operator' },
      ],
    ],
    [
      'relations beyond the third',
      { from: 'work_order', select: ['lease.building.property.owner.legal_name'] },
      [{ field: 'select[0]', code: 'too_deep' }],
    ],
    [
      'fields beside aggregates',
      { from: 'lease', select: ['status', { count: '*' }] },
      [{ field: 'select[0]', code: 'not_grouped' }],
    ],
    [
      'aggregates',
      { from: 'lease', select: [{ sum: 'status' }, { total: 'rentable_area' }] },
      [
        { field: 'select[0].sum', code: 'unsupported_aggregate' },
        { field: 'select[1]', code: 'unknown_aggregate' },
      ],
    ],
    [
      'two columns of one name',
      { from: 'lease', select: ['id', 'id'] },
      [{ field: 'select[1]', code: 'duplicate' }],
    ],
    [
      'times',
      { from: 'lease', as_of: { valid_at: 'yesterday' } },
      [{ field: 'as_of.valid_at', code: 'invalid_format' }],
    ],
    [
      'conditions that are none',
      { from: 'lease', where: { or: [], not: 1 } },
      [
        { field: 'where.or', code: 'invalid_type' },
        { field: 'where.not', code: 'invalid_type' },
      ],
    ],
    [
      'conditions on groups where there are none',
      { from: 'lease', having: { n: 1 } },
      [{ field: 'having', code: 'unsupported' }],
    ],
    ['a limit', { from: 'lease', limit: 1001 }, [{ field: 'limit', code: 'out_of_range' }]],
    [
      'what a document has no place for',
      { from: 'lease', sql: 'x' },
      [{ field: 'sql', code: 'unknown_field' }],
    ],
  ]
  it.each(REFUSED)('is named: %s', async (_, body, errors) => {
    const answer = await ask(body)
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
    expect(answer.body.errors).toHaveLength(errors.length)
    expect(answer.body.errors).toMatchObject(errors)
  })

  it('is bounded: conditions, nesting and values', async () => {
    const many = Array.from({ length: 201 }, () => ({ status: 'active' }))
    let deep: object = { status: 'active' }
    for (let i = 0; i < 12; i++) deep = { not: deep }
    const ids = Array.from({ length: 1_001 }, (_, i) => `le_${i + 1}`)
    const codes = await Promise.all(
      [{ or: many }, deep, { id: ids }].map(async (where) =>
        (await ask({ from: 'lease', where })).body.errors.map((e: { code: string }) => e.code),
      ),
    )
    expect(codes).toEqual([['too_many'], ['too_deep'], ['out_of_range']])
    let where: object = { field: 'status' }
    for (let i = 0; i < NESTING_MAX; i++) where = { not: where }
    const as_of = { valid_at: '2026-01-01' }
    expect((await ask({ from: 'fact', where, as_of })).status).toBe(200)
  })

  it('is injection nowhere: names are looked up and values are parameters', async () => {
    const text = `x'); drop table lease; --`
    expect(await values({ from: 'party', select: ['id'], where: { legal_name: text } })).toEqual([])
    for (const path of [text, "ext.x'", 'ext.X"', '__proto__', 'constructor', 'body', 'search'])
      expect((await ask({ from: 'party', select: [path] })).status, path).toBe(422)
    expect((await ask({ from: 'party', select: [{ count: '*', as: `a"'` }] })).status).toBe(422)
  })
})

describe('who may ask', () => {
  it('needs the read scope of every type that the query touches', async () => {
    const some = await newClient(client.org_id, ['read:facts', 'read:leases'])
    expect((await ask({ from: 'lease', select: ['id', 'property_id'] }, some)).status).toBe(200)
    const body = { from: 'lease', select: ['id'], where: { 'property.name': 'x' } }
    expect(await ask(body, some)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', required_scope: 'read:properties' },
    })
    const none = await newClient(
      client.org_id,
      ALL_SCOPES.filter((scope) => scope !== 'read:facts'),
    )
    expect(await ask({ from: 'lease' }, none)).toMatchObject({
      status: 403,
      body: { required_scope: 'read:facts' },
    })
  })

  it('sees nothing of another organization', async () => {
    const other = await askedPortfolio()
    for (const from of ['lease', 'property', 'party', 'fact', 'organization']) {
      const { body } = await ask({ from, limit: 1000 }, other.client)
      const text = JSON.stringify(body.data)
      for (const id of [...leases, ...properties, ...parties]) expect(text).not.toContain(`"${id}"`)
    }
    expect(
      (
        await ask(
          { from: 'lease', select: ['id'], where: { property_id: properties[0] } },
          other.client,
        )
      ).body.data,
    ).toEqual([])
  })

  it('sees only its properties with a key of some', async () => {
    const made = await client.post('/api-keys', {
      name: 'Some',
      scopes: ['read:facts', 'read:leases', 'read:properties', 'read:parties'],
      property_ids: [properties[1]],
    })
    expect(made.status).toBe(201)
    const some = clientWith(made.body.key, client.org_id)
    const ids = async (body: object): Promise<unknown[]> =>
      (await ask(body, some)).body.data.map((row: { id: string }) => Object.values(row)[0])
    expect(await ids({ from: 'lease', select: ['id'] })).toEqual([third])
    expect(await ids({ from: 'lease', select: ['id'], as_of: { valid_at: '2099-01-01' } })).toEqual(
      [third],
    )
    expect(
      await ids({ from: 'fact', select: ['object_id'], where: { field: 'rentable_area' } }),
    ).toEqual([third])
  })

  it('sees no more of another time by naming it', async () => {
    const other = await askedPortfolio()
    const made = await client.post('/api-keys', {
      name: 'Some',
      scopes: ['read:facts', 'read:leases', 'read:properties'],
      property_ids: [properties[1]],
    })
    const some = clientWith(made.body.key, client.org_id)
    const digits = third.slice(third.indexOf('_') + 1)
    const named: [TestClient, string, string, number][] = [
      [client, 'lease', third, 1],
      [some, 'lease', third, 1],
      [some, 'lease', first, 0],
      [some, 'property', properties[0] as string, 0],
      [client, 'party', `pty_${digits}`, 0],
      [other.client, 'lease', third, 0],
      [other.client, 'organization', `org_${other.client.org_id}`, 1],
      [other.client, 'organization', `org_${client.org_id}`, 0],
    ]
    for (const [by, from, id, found] of named) {
      for (const where of [{ id }, { id: [id] }, { and: [{ id: { eq: id } }] }]) {
        const { body } = await ask({ from, where, as_of: { valid_at: '2099-01-01' } }, by)
        expect(body.data, `${from} ${id}`).toHaveLength(found)
      }
    }
  })

  it('is told what would cost too much before it runs', async () => {
    const { app } = await grid()
    const caller = {
      org_id: client.org_id,
      scopes: new Set(ALL_SCOPES),
      property_ids: null,
      time_zone: 'UTC',
    } as never
    await expect(runQuery(app.store, caller, { from: 'lease' }, 0)).rejects.toMatchObject({
      code: 'query_too_costly',
      extra: { max_cost: 0 },
    })
  })
})
