/** Every list as a file, over HTTP: the same rows as page by page, whole or not at all. */
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertMany } from '../../test/bulk.ts'
import { clientWith, grid, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { idWith, operations, pathOf } from '../../test/openapi.ts'
import { leaseParents, portfolio, samples } from '../../test/samples.ts'
import type { Ids } from '../../test/samples.ts'
import { buildApp } from '../app.ts'
import type { Row } from '../kit/resource.ts'
import { sendPage } from '../kit/routes.ts'
import { listSchema } from '../kit/schemas.ts'
import { PROPERTY_SCOPES } from '../kit/scopes.ts'
import { party } from '../parties/resource.ts'
import { property } from '../properties/resource.ts'
import { readAll } from '../sdis/readers/file-fixture.ts'
import { openTable } from '../sdis/readers/open.ts'
import { tables } from './tables.ts'

const folder = mkdtempSync(join(tmpdir(), 'grid-tables-'))
afterAll(() => rmSync(folder, { recursive: true }))

let client: TestClient
let ids: Ids

/** More than two pages of the largest size. */
const PARTIES = 431

beforeAll(async () => {
  client = await newOrganization()
  ids = await portfolio(client)
  const bodies = Array.from({ length: PARTIES - 1 }, (_, i) => ({
    kind: i % 2 === 0 ? 'company' : 'person',
    legal_name: `Party ${String(i).padStart(3, '0')}`,
  }))
  await insertMany(client.org_id, party, bodies)
})

const linesOf = (text: string): Row[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row)

/** Every page of a list, one after the other. */
async function walked(path: string): Promise<Row[]> {
  const rows: Row[] = []
  let cursor = ''
  for (;;) {
    const { body } = await client.get(`${path}&limit=200${cursor}`)
    rows.push(...(body.data as Row[]))
    if (!body.has_more) return rows
    cursor = `&cursor=${body.next_cursor}`
  }
}

/** Rows of a CSV text by column name, as the reader of imports reads them. */
async function csvRows(text: string): Promise<Row[]> {
  const path = join(folder, 'list.csv')
  writeFileSync(path, text)
  const table = await openTable(path, { kind: 'csv', delimiter: ',' })
  const rows = await readAll(table)
  return rows.map(({ cells }) =>
    Object.fromEntries(table.columns.map((name, i) => [name, cells[i] ?? null])),
  )
}

describe('a list as a file', () => {
  it.each([
    '/parties?sort=-legal_name',
    '/parties?kind=person&sort=legal_name',
    '/parties?q=party',
  ])('%s has the rows of all its pages, in their order', async (path) => {
    const pages = await walked(path)
    const ndjson = await client.get(`${path}&format=ndjson`)
    expect(ndjson.headers.get('content-type')).toBe('application/x-ndjson')
    expect(linesOf(ndjson.body)).toEqual(pages)
    const csv = await client.get(path, { accept: 'text/csv' })
    expect(csv.headers.get('content-type')).toMatch(/^text\/csv; charset=utf-8/)
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="parties.csv"')
    const rows = await csvRows(csv.body)
    expect(rows.map((row) => row['id'])).toEqual(pages.map((row) => row['id']))
  })

  it('has the fields asked for, in that order, with those of expanded objects', async () => {
    const query = 'fields=expiration_date,tenant.legal_name,id&expand=tenant'
    const { status, body } = await client.get(`/leases?${query}&format=csv`)
    expect(status).toBe(200)
    expect(body).toBe(
      `expiration_date,tenant.legal_name,id\r\n2030-12-31,Acme Legal LLP,${ids['lease']}\r\n`,
    )
  })

  it('has nested values by their path, lists as JSON, and money exact', async () => {
    const { body } = await client.get('/properties?format=csv')
    const [row] = await csvRows(body)
    expect(row).toMatchObject({ id: ids['property'], 'address.city': 'Boston', tags: '[]' })
    const grid2 = await client.get('/grid/v2/properties?format=csv')
    const [object] = await csvRows(grid2.body)
    expect(object).toMatchObject({
      id: ids['property'],
      type: 'property',
      'attributes.address.city': 'Boston',
      'relations.owner_party_id': null,
    })
  })

  it('is of another time when asked', async () => {
    const then = await client.get('/parties?known_at=2020-01-01T00:00:00Z&format=ndjson')
    expect([then.status, then.body]).toEqual([200, ''])
    const now = await client.get(`/parties?as_of=2099-01-01&format=ndjson`)
    expect(linesOf(now.body)).toHaveLength(PARTIES)
  })

  it('with limit is that page, and says where the next is', async () => {
    const first = await client.get('/parties?sort=legal_name&limit=3&format=ndjson')
    expect(linesOf(first.body)).toHaveLength(3)
    const next = /<\/api\/v1([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1]
    const second = await client.get(next as string)
    const page = await client.get('/parties?sort=legal_name&limit=6')
    expect([...linesOf(first.body), ...linesOf(second.body)]).toEqual(page.body.data)
  })

  it.each([
    ['/parties?format=pdf', 'format', 'unknown_value'],
    ['/parties?format=csv&sort=nonsense', 'sort', 'unknown_value'],
    ['/parties?format=csv&knd=x', 'knd', 'unknown_filter'],
    ['/request-logs?format=csv&nonsense=1', 'nonsense', 'unknown_field'],
    ['/parties?format=csv&format=xlsx', 'format', 'unknown_value'],
  ])('%s is 422', async (path, field, code) => {
    const answer = await client.get(path)
    expect(answer.status).toBe(422)
    expect(answer.body.errors).toMatchObject([{ field }])
    if (code !== 'unknown_field') expect(answer.body.errors[0].code).toBe(code)
  })

  it('that would be too long is 422 before its first row', async () => {
    const { app, db } = await grid()
    const other = await buildApp({ ...app.config, GRID_LIST_MAX_ROWS: 100 }, db)
    const headers = { 'x-api-key': client.key }
    const ask = async (query: string): Promise<number> =>
      (await other.inject({ url: `/api/v1/parties?${query}`, headers })).statusCode
    expect(await ask('format=csv')).toBe(422)
    expect(await ask('format=csv&as_of=2099-01-01')).toBe(422)
    expect(await ask('format=csv&legal_name=Party%20001')).toBe(200)
    expect(await ask('format=csv&limit=200')).toBe(200)
    const answer = await other.inject({ url: '/api/v1/parties?format=csv', headers })
    expect(answer.json()).toMatchObject({ code: 'too_many_rows', max_rows: 100 })
    // The database is the other app's.
    await other.requestLog.flush()
  })

  // Pages behind the first are read by events of the socket.
  it('shows a key of some properties those alone, on every page', async () => {
    const bodies = Array.from({ length: 850 }, () => samples.property())
    const own = await newOrganization()
    const made = await insertMany(own.org_id, property, bodies)
    const allowed = made.filter((_, i) => i % 2 === 0)
    const key = await own.post('/api-keys', {
      name: 'Some properties',
      scopes: [...PROPERTY_SCOPES],
      property_ids: allowed,
    })
    expect(key.status).toBe(201)
    const some = clientWith(key.body.key, own.org_id)
    const { body } = await some.get('/properties?format=ndjson&sort=id')
    expect(linesOf(body).map((row) => row['id'])).toEqual(allowed)
  })
})

const lists = operations.filter(
  ({ method, parameters }) =>
    method === 'GET' &&
    parameters.some(({ name, schema }) => name === 'format' && schema.enum?.includes('xlsx')),
)

describe('every list', () => {
  it('takes part', () => {
    const paged = operations.filter(({ parameters }) =>
      parameters.some(({ name }) => name === 'cursor'),
    )
    const others = paged.filter((operation) => !lists.includes(operation))
    // Its CSV has the columns of the file that the rows came from, so that they can be sent again.
    expect(others.map(({ name }) => name)).toEqual(['GET /sdis/jobs/{id}/errors'])
  })

  it.each(lists.map((operation) => [operation.name, operation] as const))(
    '%s is had in each form',
    async (_, operation) => {
      const path = pathOf(operation, (prefix) => idWith(ids, prefix))
      const json = await client.get(path)
      for (const format of ['csv', 'ndjson', 'xlsx']) {
        const answer = await client.get(`${path}?format=${format}`)
        expect(answer.status, format).toBe(json.status)
        if (json.status === 200 && format === 'csv')
          expect(answer.body.split('\r\n')[0]).toMatch(/^[a-z_0-9.]+(,[a-z_0-9.]+)*$/)
      }
    },
  )
})

describe('a list that fails halfway', () => {
  it.each(['csv', 'ndjson', 'xlsx'])('breaks the connection of %s', async (format) => {
    const app = Fastify({ logger: false })
    tables(app, 1_000)
    const item = { title: 'Thing', type: 'object', properties: { id: { type: 'string' } } }
    const parameters = ['limit', 'cursor'].map((name) => ({ name, schema: { maximum: 2 } }))
    const schema = { response: { 200: listSchema(item, 'Things') }, parameters }
    app.setSerializerCompiler(() => (data) => JSON.stringify(data))
    app.get<{ Querystring: { cursor?: string } }>(
      '/things',
      { schema: schema as never },
      async ({ query }, reply) => {
        if (query.cursor === '3') throw new Error('the database is gone')
        const data = [{ id: 'x'.repeat(100_000) }]
        const next_cursor = String(Number(query.cursor ?? 0) + 1)
        return sendPage(reply, { data, has_more: true, next_cursor, total_count: null })
      },
    )
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const answer = await fetch(`http://127.0.0.1:${port}/things?format=${format}`)
    expect(answer.status).toBe(200)
    await expect(answer.arrayBuffer()).rejects.toThrow()
    await app.close()
  })
})

describe('a lease', () => {
  it('keeps dates and numbers in a workbook', async () => {
    const own = await newOrganization()
    const { property_id, tenant_party_id } = await leaseParents(own)
    await own.post('/leases', samples.lease(property_id, tenant_party_id))
    const { base } = await grid()
    const answer = await fetch(`${base}/leases?format=xlsx&fields=expiration_date,rentable_area`, {
      headers: { 'x-api-key': own.key },
    })
    const path = join(folder, 'leases.xlsx')
    writeFileSync(path, Buffer.from(await answer.arrayBuffer()))
    const table = await openTable(path, { kind: 'xlsx' })
    expect(table.columns).toEqual(['expiration_date', 'rentable_area'])
    expect((await readAll(table)).map(({ cells }) => cells)).toEqual([['2030-12-31', 5000]])
  })
})
