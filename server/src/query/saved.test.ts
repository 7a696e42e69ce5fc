import { describe, expect, it } from 'vitest'
import { newClient, newOrganization } from '../../test/grid.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { askedPortfolio } from './query-fixture.ts'

const { client, leases } = await askedPortfolio()

const query = {
  from: 'lease',
  select: ['id'],
  where: { expiration_date: { lte: { $param: 'until' } }, currency: { $param: 'currency' } },
}

let serial = 0
const named = (): string => `Query ${++serial}`

async function save(more: object = {}): Promise<string> {
  const { status, body } = await client.post('/grid/v2/queries', { name: named(), query, ...more })
  expect(status).toBe(201)
  return body.id
}

describe('a saved query', () => {
  it('is kept with its parameters, changed and deleted', async () => {
    const name = named()
    const made = await client.post('/grid/v2/queries', {
      name,
      query,
      defaults: { currency: 'USD' },
    })
    const { id } = made.body
    expect(made).toMatchObject({
      status: 201,
      body: {
        object: 'saved_query',
        name,
        query,
        parameters: ['until', 'currency'],
        defaults: { currency: 'USD' },
        description: null,
        version: 1,
      },
    })
    expect(made.headers.get('location')).toBe(`/api/v1/grid/v2/queries/${id}`)
    expect((await client.get(`/grid/v2/queries/${id}`)).body).toEqual(made.body)
    const path = `/grid/v2/queries/${id}`
    expect(
      await client.patch(path, { description: 'For the quarter' }, { 'if-match': '"v7"' }),
    ).toMatchObject({ status: 412, body: { code: 'version_conflict' } })
    const changed = await client.patch(
      path,
      { description: 'For the quarter' },
      { 'if-match': '"v1"' },
    )
    expect(changed).toMatchObject({
      status: 200,
      body: { description: 'For the quarter', name, version: 2 },
    })
    expect(changed.headers.get('etag')).toBe('"v2"')
    expect((await client.patch(path, { description: 'For the quarter' })).body.version).toBe(2)
    const { body } = await client.get('/grid/v2/queries?limit=1')
    expect(body.data[0].id).toBe(id)
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get(path)).status).toBe(404)
  })

  it('is made once by repeated requests, and its name is its own', async () => {
    const body = { name: named(), query }
    const send = async (): Promise<unknown> =>
      await client.post('/grid/v2/queries', body, { 'idempotency-key': 'once' })
    expect(((await send()) as { body: unknown }).body).toEqual(
      ((await send()) as { body: unknown }).body,
    )
    expect(await client.post('/grid/v2/queries', body)).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })
    const other = await save()
    expect((await client.patch(`/grid/v2/queries/${other}`, { name: body.name })).status).toBe(409)
  })

  it('is run with the values of the run, in every form of an answer', async () => {
    const id = await save({ defaults: { currency: 'USD' } })
    const run = async (body: object): Promise<{ status: number; body: never }> =>
      (await client.post(`/grid/v2/queries/${id}/run`, body)) as never
    const ids = async (parameters: object): Promise<unknown> =>
      ((await run({ parameters })).body as { data: { id: string }[] }).data.map((row) => row.id)
    expect(await ids({ until: '2030-12-31' })).toEqual([leases[0], leases[1]])
    expect(await ids({ until: '2028-06-30' })).toEqual([leases[1]])
    expect(await ids({ until: '2030-12-31', currency: ['EUR', 'USD'] })).toEqual(leases)
    expect(await ids({ until: '2030-12-31', currency: null })).toEqual([])
    const page = await run({ parameters: { until: '2030-12-31' }, limit: 1 })
    const { next_cursor: cursor } = page.body as { next_cursor: string }
    expect(
      (await run({ parameters: { until: '2030-12-31' }, limit: 1, cursor })).body,
    ).toMatchObject({ data: [{ id: leases[1] }], has_more: false })
    expect((await run({ parameters: { until: '2030-12-31' }, format: 'csv' })).body).toBe(
      `id\r\n${leases[0]}\r\n${leases[1]}\r\n`,
    )
    expect((await run({ parameters: { until: '2030-12-31' }, explain: true })).body).toMatchObject({
      plan: { allowed: true },
    })
    expect(
      (await run({ parameters: { until: '2030-12-31' }, as_of: { valid_at: '2001-01-01' } })).body,
    ).toMatchObject({ data: [] })
  })

  it('names what a run lacks, what it has too much, and values that do not fit', async () => {
    const id = await save()
    const errors = async (parameters: object): Promise<unknown> =>
      (await client.post(`/grid/v2/queries/${id}/run`, { parameters })).body.errors
    expect(await errors({ untill: '2030-12-31', currency: 'USD' })).toMatchObject([
      { field: 'parameters.untill', code: 'unknown_field', suggestion: 'until' },
      { field: 'parameters.until', code: 'required' },
    ])
    expect(await errors({ until: 'soon', currency: 'USD' })).toMatchObject([
      { field: 'where.expiration_date.lte', code: 'invalid_value' },
    ])
    expect(await errors({ until: { gt: 1 }, currency: 'USD' })).toMatchObject([
      { field: 'parameters.until', code: 'invalid_type' },
    ])
  })

  it('is checked when it is saved, and its parameters are for saved queries only', async () => {
    const refused = async (body: object): Promise<unknown> =>
      (await client.post('/grid/v2/queries', { name: named(), query, ...body })).body.errors
    expect(
      await refused({
        query: {
          from: 'lease',
          where: { nope: { $param: 'a' }, rentable_area: { contains: { $param: 'b' } } },
        },
      }),
    ).toMatchObject([
      { field: 'query.where.nope', code: 'unknown_field' },
      { field: 'query.where.rentable_area.contains', code: 'unknown_operator' },
    ])
    expect(await refused({ query: { from: 'leese' } })).toMatchObject([
      { field: 'query.from', suggestion: 'lease' },
    ])
    expect(await refused({ defaults: { other: 1 } })).toMatchObject([
      { field: 'defaults.other', code: 'unknown_field' },
    ])
    expect((await client.post('/grid/v2/query', query)).body.errors).toMatchObject([
      { field: 'where.expiration_date.lte', code: 'required' },
      { field: 'where.currency', code: 'required' },
    ])
  })

  it('is run under the scopes of who runs it, and belongs to one organization', async () => {
    const id = await save({ defaults: { currency: 'USD', until: '2030-12-31' } })
    const some = await newClient(client.org_id, ['read:facts'])
    expect(await some.post(`/grid/v2/queries/${id}/run`, {})).toMatchObject({
      status: 403,
      body: { required_scope: 'read:leases' },
    })
    const reader = await newClient(
      client.org_id,
      ALL_SCOPES.filter((scope) => scope !== 'write:queries'),
    )
    expect((await reader.delete(`/grid/v2/queries/${id}`)).status).toBe(403)
    const other = await newOrganization()
    expect((await other.post(`/grid/v2/queries/${id}/run`, {})).status).toBe(404)
    expect((await other.get('/grid/v2/queries')).body.data).toEqual([])
  })
})
