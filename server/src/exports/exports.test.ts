/** Exports over HTTP, written by a worker as processes have it, their files read back by readers of each format. */
import { mkdtempSync, rmSync, writeFileSync, utimesSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertMany } from '../../test/bulk.ts'
import { eventsOf } from '../../test/feed.ts'
import { grid, newClient, newOrganization, owner, ownDatabase } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { portfolio, samples } from '../../test/samples.ts'
import { storageOf } from '../documents/storage.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { party } from '../parties/resource.ts'
import { loop } from '../queue/loop.ts'
import { readAll } from '../sdis/readers/file-fixture.ts'
import { openTable } from '../sdis/readers/open.ts'
import type { Row } from '../kit/resource.ts'
import { parquet } from './parquet.ts'
import { claimExport } from './queries.ts'
import { exportSpool } from './service.ts'
import { sweepExports, takeExport } from './work.ts'
import type { ExportWork } from './work.ts'

// Exports are taken of every organization, and the tests want to choose when.
await ownDatabase()

const folder = mkdtempSync(join(tmpdir(), 'grid-exports-'))
const problems: string[] = []
let stop: (() => Promise<void>) | null = null

async function worker(stopping: AbortSignal): Promise<ExportWork> {
  const { app, db } = await grid()
  const log = (text: string): void => void problems.push(text)
  return { config: app.config, db, storage: storageOf(app.config), log, stopping }
}

async function work(): Promise<void> {
  stop = loop(
    'exports',
    (text) => problems.push(text),
    async (stopping) => takeExport(await worker(stopping)),
  )
}

async function rest(): Promise<void> {
  await stop?.()
  stop = null
}

let client: TestClient
const PARTIES = 1_203

beforeAll(async () => {
  client = await newOrganization()
  const bodies = Array.from({ length: PARTIES }, (_, i) => ({
    kind: i % 2 === 0 ? 'company' : 'person',
    legal_name: `Party ${String(i).padStart(4, '0')}`,
  }))
  await insertMany(client.org_id, party, bodies)
  await work()
})
afterAll(async () => {
  await rest()
  rmSync(folder, { recursive: true })
})

async function ended(who: TestClient, id: string): Promise<Row> {
  const get = async (): Promise<Row> => (await who.get(`/exports/${id}`)).body
  await expect.poll(async () => (await get())['finished_at'], { timeout: 20_000 }).not.toBeNull()
  return await get()
}

/** Has a list exported. */
async function exported(who: TestClient, body: Row): Promise<Row> {
  const asked = await who.post('/exports', body)
  expect(asked.status, JSON.stringify(asked.body)).toBe(202)
  expect(asked.headers.get('location')).toBe(`/api/v1/exports/${asked.body.id}`)
  return await ended(who, asked.body.id)
}

async function content(
  who: TestClient,
  id: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const { base } = await grid()
  return await fetch(`${base}/exports/${String(id)}/content`, {
    headers: { 'x-api-key': who.key, ...headers },
  })
}

async function bytesOf(who: TestClient, id: unknown): Promise<Buffer> {
  const answer = await content(who, id)
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}

/** Ids in a file of any format. */
async function idsIn(format: string, bytes: Buffer): Promise<unknown[]> {
  if (format === 'ndjson')
    return bytes
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as Row)['id'])
  if (format === 'parquet') {
    const file = new Uint8Array(bytes).buffer
    return (await parquetReadObjects({ file, columns: ['id'] })).map((row) => row['id'])
  }
  const path = join(folder, `ids.${format}`)
  writeFileSync(path, bytes)
  const kind = format as 'csv' | 'xlsx'
  const table = await openTable(path, { kind, ...(kind === 'csv' ? { delimiter: ',' } : {}) })
  const at = table.columns.indexOf('id')
  return (await readAll(table)).map(({ cells }) => cells[at])
}

const FORMATS = ['csv', 'ndjson', 'xlsx', 'parquet']

describe('an export', () => {
  it.each(FORMATS)('as %s holds the rows of its list, in their order', async (format) => {
    const filters = { kind: 'person', legal_name: { starts_with: 'Party' } }
    const body = {
      type: 'party',
      format,
      filters,
      sort: '-legal_name',
      fields: ['legal_name', 'id'],
    }
    const one = await exported(client, body)
    const half = Math.floor(PARTIES / 2)
    expect(one).toMatchObject({
      state: 'completed',
      progress_pct: 100,
      rows_total: half,
      rows_written: half,
      query: { kind: 'person', 'legal_name[starts_with]': 'Party', sort: '-legal_name' },
      file: { name: expect.stringMatching(`^parties-.*\\.${format}$`) },
      error: null,
      attempts: 1,
    })
    const list = await client.get(
      `/parties?kind=person&sort=-legal_name&format=ndjson&legal_name[starts_with]=Party`,
    )
    const expected = String(list.body)
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as Row)['id'])
    const bytes = await bytesOf(client, one['id'])
    expect(bytes.length).toBe((one['file'] as Row)['byte_size'])
    expect(await idsIn(format, bytes)).toEqual(expected)
    const types = (await eventsOf(client.org_id, ['export.*'])).map(({ object_id, type }) => [
      `xpt_${object_id}`,
      type,
    ])
    expect(types).toContainEqual([one['id'], 'export.completed'])
  })

  it('in Parquet keeps money, dates, numbers and lists in their types', async () => {
    const own = await newOrganization()
    const owner_party_id = (await own.post('/parties', samples.party())).body.id as string
    const made = await own.post('/properties', {
      ...samples.property(),
      owner_party_id,
      acquisition_price: '1250000.10',
      acquisition_date: '2020-02-29',
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const one = await exported(own, { type: 'property', format: 'parquet', expand: ['owner'] })
    const file = new Uint8Array(await bytesOf(own, one['id'])).buffer
    const [row] = await parquetReadObjects({ file })
    expect(row).toMatchObject({
      id: made.body.id,
      'address.city': 'Boston',
      'owner.legal_name': 'Acme Legal LLP',
      acquisition_price: 1250000.1,
      acquisition_date: new Date('2020-02-29'),
      latitude: 42.36,
      version: 1n,
      tags: [],
      created_at: new Date(made.body.created_at),
    })
    const column = parquetMetadata(file).schema.find(({ name }) => name === 'acquisition_price')
    expect(column).toMatchObject({ converted_type: 'DECIMAL', scale: 2, precision: 38 })
  })

  it('without rows is a file all the same', async () => {
    const own = await newOrganization()
    for (const format of FORMATS) {
      const one = await exported(own, { type: 'lease', format })
      expect(one).toMatchObject({ state: 'completed', rows_total: 0, rows_written: 0 })
      const bytes = await bytesOf(own, one['id'])
      if (format === 'parquet')
        expect(await parquetReadObjects({ file: new Uint8Array(bytes).buffer })).toEqual([])
    }
  })

  it('can be of another time', async () => {
    const body = { type: 'party', format: 'ndjson', known_at: '2020-01-01T00:00:00Z' }
    expect(await exported(client, body)).toMatchObject({ state: 'completed', rows_written: 0 })
  })

  it('answers ranges and conditions, and is audited', async () => {
    const one = await exported(client, { type: 'party', format: 'csv', fields: ['id'] })
    const whole = await bytesOf(client, one['id'])
    const part = await content(client, one['id'], { range: 'bytes=4-13' })
    expect([part.status, await part.text()]).toEqual([206, whole.subarray(4, 14).toString()])
    const etag = part.headers.get('etag') as string
    expect((await content(client, one['id'], { 'if-none-match': etag })).status).toBe(304)
    expect((await content(client, one['id'], { range: 'bytes=99999999-' })).status).toBe(416)
    expect(part.headers.get('content-disposition')).toMatch(/^attachment; filename="parties-/)
    const db = await owner()
    const { rows } = await db.query<{ action: string }>(
      `select action from audit_entry where org_id = $1 and object_id = $2 order by tx_id`,
      [client.org_id, Number(String(one['id']).slice(4))],
    )
    await db.end()
    expect(rows.map(({ action }) => action)).toEqual([
      'export.requested',
      'export.completed',
      'export.downloaded',
      'export.downloaded',
    ])
  })
})

describe('what is refused', () => {
  const bad: [Row, string][] = [
    [{ type: 'party' }, 'format'],
    [{ type: 'ghost', format: 'csv' }, 'type'],
    [{ type: 'party', format: 'pdf' }, 'format'],
    [{ type: 'party', format: 'csv', sort: 'nonsense' }, 'sort'],
    [{ type: 'party', format: 'csv', fields: ['nonsense'] }, 'fields'],
    [{ type: 'party', format: 'csv', filters: { nonsense: 1 } }, 'filters.nonsense'],
    [{ type: 'party', format: 'csv', filters: { limit: 5 } }, 'filters.limit'],
    [{ type: 'party', format: 'csv', filters: { cursor: 'x' } }, 'filters.cursor'],
    [{ type: 'party', format: 'csv', include: ['total_count'] }, 'include[0]'],
    [{ type: 'party', format: 'csv', as_of: 'yesterday' }, 'as_of'],
  ]
  it.each(bad)('%j is 422 of %s', async (body, field) => {
    const answer = await client.post('/exports', body)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field }] } })
  })

  it('a type that the key may not read, to ask for and to download', async () => {
    const scopes = ALL_SCOPES.filter((scope) => scope !== 'read:parties')
    const blind = await newClient(client.org_id, scopes)
    const body = { type: 'party', format: 'csv' }
    const refusal = { status: 403, body: { required_scope: 'read:parties' } }
    expect(await blind.post('/exports', body)).toMatchObject(refusal)
    const one = await exported(client, body)
    expect(await blind.get(`/exports/${String(one['id'])}/content`)).toMatchObject(refusal)
  })

  it('what is of another organization', async () => {
    const other = await newOrganization()
    const one = await exported(client, { type: 'party', format: 'csv' })
    const path = `/exports/${String(one['id'])}`
    const statuses = [
      await other.get(path),
      await other.get(`${path}/content`),
      await other.delete(path),
      await other.post(`${path}/cancel`, undefined),
    ].map(({ status }) => status)
    expect(statuses).toEqual([404, 404, 404, 404])
    expect((await other.get('/exports')).body.data).toEqual([])
  })
})

describe('an export that ends otherwise', () => {
  it('is cancelled while it waits, and can be deleted', async () => {
    await rest()
    const { body } = await client.post('/exports', { type: 'party', format: 'csv' })
    const path = `/exports/${body.id}`
    expect(await client.delete(path)).toMatchObject({ status: 409 })
    expect(await client.get(`${path}/content`)).toMatchObject({ status: 404 })
    expect((await client.post(`${path}/cancel`, undefined)).body.state).toBe('cancelled')
    expect(await client.post(`${path}/cancel`, undefined)).toMatchObject({ status: 409 })
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get(path)).status).toBe(404)
    await work()
  })

  it('is begun anew when its worker is killed, and leaves nothing behind', async () => {
    const { app, db } = await grid()
    await rest()
    const { body } = await client.post('/exports', { type: 'party', format: 'csv', fields: ['id'] })
    const id = Number(String(body.id).slice(4))
    expect(await claimExport(db, 77, 999_999)).toEqual({ org_id: client.org_id, id })
    // The lost worker had put its file at its place, but not ended the export.
    const spool = exportSpool(app.config.GRID_DATA_DIR)
    const key = { org_id: client.org_id, document_id: id, version_id: 77 }
    async function* half(): AsyncGenerator<Buffer> {
      yield Buffer.from('half')
    }
    const file = await spool.take(key, half(), 100)
    await app.storage.put(key, file)
    await work()
    const one = await ended(client, body.id)
    expect(one).toMatchObject({ state: 'completed', attempts: 2 })
    expect(await idsIn('csv', await bytesOf(client, body.id))).toHaveLength(PARTIES)
    const old = (Date.now() - 2 * 86_400_000) / 1_000
    utimesSync(file.path, old, old)
    await sweepExports(await worker(new AbortController().signal))
    expect(existsSync(file.path)).toBe(false)
    await expect(app.storage.open(key, null)).rejects.toThrow()
    expect((await bytesOf(client, body.id)).length).toBeGreaterThan(0)
  })

  it('running is cancelled at its next page', async () => {
    const { db } = await grid()
    await rest()
    const { body } = await client.post('/exports', { type: 'party', format: 'xlsx' })
    await claimExport(db, 78, 999_999)
    const path = `/exports/${body.id}`
    expect((await client.post(`${path}/cancel`, undefined)).body.state).toBe('cancelling')
    await work()
    expect(await ended(client, body.id)).toMatchObject({ state: 'cancelled', file: null })
  })

  it('fails with what a caller can do where the file grows too large', async () => {
    const { app } = await grid()
    await rest()
    const own = await newOrganization()
    await portfolio(own)
    const { body } = await own.post('/exports', { type: 'lease', format: 'csv' })
    const small = await worker(new AbortController().signal)
    await takeExport({ ...small, config: { ...app.config, GRID_EXPORT_MAX_MB: 0 } })
    expect(await ended(own, body.id)).toMatchObject({
      state: 'failed',
      error: { code: 'payload_too_large' },
    })
    problems.length = 0
    await work()
  })

  it('expires with its file', async () => {
    const { app } = await grid()
    const one = await exported(client, { type: 'party', format: 'csv' })
    const id = Number(String(one['id']).slice(4))
    const db = await owner()
    const { rows } = await db.query<{ file_version: string }>(
      `update export set expires_at = now() where org_id = $1 and id = $2 returning file_version`,
      [client.org_id, id],
    )
    await db.end()
    expect((await content(client, one['id'])).status).toBe(404)
    await sweepExports(await worker(new AbortController().signal))
    const key = {
      org_id: client.org_id,
      document_id: id,
      version_id: Number(rows[0]?.file_version),
    }
    await expect(app.storage.open(key, null)).rejects.toThrow()
    expect((await client.get(`/exports/${String(one['id'])}`)).body).toMatchObject({
      state: 'expired',
      file: null,
    })
  })
})

it('a Parquet file is written group by group', async () => {
  const item = {
    type: 'object',
    properties: { n: { type: 'integer' }, at: { type: 'string', format: 'date-time' } },
  }
  const at = '2026-05-12T08:00:00.123Z'
  async function* pages(): AsyncGenerator<Row[]> {
    for (let n = 0; n < 10; n += 2)
      yield [
        { n, at },
        { n: n + 1, at: null },
      ]
  }
  const chunks: Buffer[] = []
  for await (const chunk of parquet(item, pages(), 4)) chunks.push(chunk)
  const file = new Uint8Array(Buffer.concat(chunks)).buffer
  expect(parquetMetadata(file).row_groups.map(({ num_rows }) => num_rows)).toEqual([4n, 4n, 2n])
  const rows = await parquetReadObjects({ file })
  expect(rows.map((row) => row['n'])).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n])
  expect([rows[0]?.['at'], rows[1]?.['at']]).toEqual([new Date(at), null])
})

it('no export had to be tried again that was not meant to', () => {
  expect(problems).toEqual([])
})
