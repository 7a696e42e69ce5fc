import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../app.ts'
import { clientWith, grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { finished, sendJob } from '../../test/jobs.ts'
import { samples } from '../../test/samples.ts'
import { adapterOf, blocked, fileOf, load } from './load-fixture.ts'

const CSV = 'Code,Name,Area\nA,Alpha,100\nB,Beta,200\nC,Gamma,300\n'

let client: TestClient

beforeAll(async () => {
  client = await newOrganization()
})

/** A form with parts as given; null leaves one out. */
async function send(
  parts: Record<string, string | Blob | null>,
  to = client,
): ReturnType<TestClient['post']> {
  const form = new FormData()
  const all = { adapter: adapterOf(), file: new Blob([CSV]), ...parts }
  for (const [name, part] of Object.entries(all)) {
    if (part === null) continue
    if (typeof part === 'string') form.set(name, part)
    else form.set(name, part, 'table.csv')
  }
  return await to.post('/sdis/jobs', form)
}

describe('POST /sdis/jobs', () => {
  it('answers 202 with the job and where to follow it', async () => {
    const answer = await send({ as_of: '2025-05-23' })
    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe(`/api/v1/sdis/jobs/${answer.body.id}`)
    expect(answer.body).toMatchObject({
      object: 'job',
      state: 'queued',
      phase: null,
      progress_pct: 0,
      organization_id: client.organization_id,
      adapter: 'buildings',
      mode: 'upsert',
      type: 'building',
      source: 'Test',
      as_of: '2025-05-23',
      file: {
        name: 'table.csv',
        byte_size: CSV.length,
        sha256: createHash('sha256').update(CSV).digest('hex'),
      },
      counts: { rows_read: 0, created: 0 },
      error: null,
      attempts: 0,
      created_by: 'Test key',
      finished_at: null,
    })
    const job = await finished(client, answer.body.id)
    expect(job).toMatchObject({
      state: 'completed',
      progress_pct: 100,
      attempts: 1,
      error: null,
      counts: { rows_total: 3, rows_read: 3, rows_valid: 3, created: 3, quarantined: 0, ended: 0 },
    })
    // The area unit and the like are the organization's, not the file's.
    expect(job.counts.facts).toBe(9)
    expect(Date.parse(job.finished_at)).toBeGreaterThanOrEqual(Date.parse(job.started_at))
  })

  it('takes the adapter as a file too, and the day from it', async () => {
    const adapter = adapterOf(
      {},
      { effective: { date: '2024-02-29' }, source: { name: 'As file' } },
    )
    const answer = await send({ adapter: new Blob([adapter], { type: 'application/yaml' }) })
    expect(answer).toMatchObject({ status: 202, body: { as_of: '2024-02-29', source: 'As file' } })
  })

  const wrong = JSON.stringify({ adapter: 'a', source: { name: 'S', kind: 'docx' } })
  it.each<[string, Record<string, string | Blob | null>, string[]]>([
    ['no adapter', { adapter: null }, ['adapter']],
    ['no file', { file: null }, ['file']],
    ['an unknown part', { mode: 'fast' }, ['mode']],
    ['metadata', { metadata: '{"a":1}' }, ['metadata']],
    ['a day that is none', { as_of: '23.05.2025' }, ['as_of']],
    ['a blank day', { as_of: '' }, ['as_of']],
    ['a day to come', { as_of: '2999-01-01' }, ['as_of']],
    [
      'an unknown field',
      { adapter: adapterOf({ map: { nam: 'row.Name' } }) },
      ['adapter.streams[0].map.nam'],
    ],
    [
      'everything wrong',
      { adapter: wrong, as_of: 'soon', mode: 'x' },
      ['mode', 'adapter.streams', 'adapter.source.kind', 'as_of'],
    ],
    [
      'a day to come in the adapter',
      { adapter: adapterOf({}, { effective: { date: '2999-01-01' } }) },
      ['adapter.effective.date'],
    ],
    [
      'the id of nothing',
      { adapter: adapterOf({ map: { property_id: { value: 'prop_999999' } } }) },
      ['adapter.streams[0].map.property_id.value'],
    ],
  ])('refuses %s, naming it', async (_, parts, fields) => {
    const answer = await send(parts)
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
    const named = answer.body.errors.map(({ field }: { field: string }) => field)
    expect(named.toSorted()).toEqual(fields.toSorted())
  })

  it('refuses an object of another organization as a fixed reference', async () => {
    const other = await newOrganization()
    const { body } = await other.post('/properties', samples.property())
    const adapter = adapterOf({ map: { property_id: { value: body.id } } })
    expect(await send({ adapter })).toMatchObject({ status: 422 })
    expect(await send({ adapter }, other)).toMatchObject({ status: 202 })
  })

  it.each([
    ['a text', 'x', { 'content-type': 'text/plain' }, 415],
    ['a form that is none', 'x', { 'content-type': 'multipart/form-data; boundary=b' }, 400],
    ['no boundary', 'x', { 'content-type': 'multipart/form-data' }, 400],
  ])('refuses %s', async (_, body, headers, status) => {
    expect((await client.post('/sdis/jobs', body, headers)).status).toBe(status)
  })

  it('refuses an upload that is cut off, and keeps nothing of it', async () => {
    const boundary = 'cut'
    const body = `--${boundary}\r\ncontent-disposition: form-data; name="adapter"\r\n\r\n${adapterOf()}\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="t.csv"\r\n\r\nCode,Na`
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    expect(await client.post('/sdis/jobs', body, headers)).toMatchObject({
      status: 400,
      body: { code: 'bad_request' },
    })
  })

  it('refuses an empty file', async () => {
    expect(await send({ file: new Blob([]) })).toMatchObject({
      status: 422,
      body: { code: 'invalid_file' },
    })
  })

  it('refuses a file above the limit, which the operator sets', async () => {
    const { app: usual, db } = await grid()
    const app = await buildApp({ ...usual.config, GRID_IMPORT_MAX_MB: 1 }, db)
    await app.listen({ port: 0, host: '127.0.0.1' })
    try {
      const { port } = app.server.address() as AddressInfo
      const form = new FormData()
      form.set('adapter', adapterOf())
      form.set('file', new Blob(['x'.repeat(1_500_000)]), 'large.csv')
      const url = `http://127.0.0.1:${port}/api/v1/sdis/jobs`
      expect(await client.post(url, form)).toMatchObject({
        status: 413,
        body: { code: 'payload_too_large', max_bytes: 1_048_576 },
      })
    } finally {
      app.server.closeAllConnections()
      await app.close()
    }
  })

  it('wants a key with the scope', async () => {
    const reader = await newClient(client.org_id, ['read:jobs'])
    const writer = await newClient(client.org_id, ['write:jobs'])
    expect((await clientWith('', 0).post('/sdis/jobs', '')).status).toBe(401)
    expect(await send({}, reader)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', required_scope: 'write:jobs' },
    })
    expect((await send({ as_of: '2025-01-01' }, writer)).status).toBe(202)
    expect((await writer.get('/sdis/jobs')).status).toBe(403)
    expect((await reader.get('/sdis/jobs')).status).toBe(200)
  })

  it('gives a repeated request the first answer and queues nothing', async () => {
    const other = await newOrganization()
    const headers = { 'idempotency-key': 'once' }
    const post = (text: string, as_of?: string): ReturnType<typeof sendJob> =>
      sendJob(other, adapterOf(), fileOf(text), as_of, headers)
    const first = await post(CSV)
    const again = await Promise.all([post(CSV), post(CSV)])
    for (const answer of again) {
      expect(answer).toMatchObject({ status: 202, body: first.body })
      expect(answer.headers.get('idempotent-replayed')).toBe('true')
      expect(answer.headers.get('location')).toBe(first.headers.get('location'))
    }
    expect(await post(`${CSV}D,Delta,400\n`)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    })
    expect(await post(CSV, '2025-01-01')).toMatchObject({ status: 409 })
    expect((await other.get('/sdis/jobs')).body.data).toHaveLength(1)
  })

  it('leaves a row in the request log, whatever the answer', async () => {
    const other = await newOrganization()
    await send({}, other)
    await send({ as_of: 'soon' }, other)
    await other.post('/sdis/jobs', 'x', { 'content-type': 'text/plain' })
    const { app } = await grid()
    await app.requestLog.flush()
    const direct = await owner()
    const { rows } = await direct.query(
      `select status, error_code from request_log where org_id = $1 and method = 'POST' order by id`,
      [other.org_id],
    )
    await direct.end()
    expect(rows).toEqual([
      { status: 202, error_code: null },
      { status: 422, error_code: 'validation_failed' },
      { status: 415, error_code: 'unsupported_media_type' },
    ])
  })
})

describe('jobs', () => {
  it('are listed newest first, page by page, and by state', async () => {
    const other = await newOrganization()
    const ids: string[] = []
    for (const as_of of ['2025-01-01', '2025-02-01', '2025-03-01', '2025-04-01', '2025-05-01'])
      ids.unshift((await load(other, adapterOf(), CSV, as_of)).id)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body, headers } = await other.get(
        `/sdis/jobs?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.next_cursor
      expect(body.has_more).toBe(cursor !== null)
      expect(headers.get('link') === null).toBe(cursor === null)
    }
    expect(seen).toEqual(ids)
    expect((await other.get('/sdis/jobs?state=completed')).body.data).toHaveLength(5)
    expect((await other.get('/sdis/jobs?state=failed')).body.data).toHaveLength(0)
  })

  it.each([
    ['/sdis/jobs?limit=0', 422],
    ['/sdis/jobs?limit=201', 422],
    ['/sdis/jobs?state=done', 422],
    ['/sdis/jobs?stat=done', 422],
    ['/sdis/jobs?cursor=abc', 422],
    ['/sdis/jobs/job_1', 404],
    ['/sdis/jobs/job_1/errors', 404],
    ['/sdis/jobs/job_1/facts', 404],
    ['/sdis/jobs/le_1', 404],
    ['/sdis/jobs/one', 422],
  ])('GET %s is %i', async (path, status) => {
    expect((await client.get(path)).status).toBe(status)
  })

  it('of another organization do not exist', async () => {
    const job = await load(client, adapterOf(), CSV)
    const other = await newOrganization()
    for (const path of ['', '/errors', '/facts'])
      expect((await other.get(`/sdis/jobs/${job.id}${path}`)).status).toBe(404)
    for (const path of ['/cancel', '/approve'])
      expect((await other.post(`/sdis/jobs/${job.id}${path}`, undefined)).status).toBe(404)
    expect((await other.delete(`/sdis/jobs/${job.id}`)).status).toBe(404)
  })

  it('that ended cannot be cancelled or approved', async () => {
    const job = await load(client, adapterOf(), CSV)
    for (const path of ['/cancel', '/approve'])
      expect(await client.post(`/sdis/jobs/${job.id}${path}`, undefined)).toMatchObject({
        status: 422,
        body: { code: 'invalid_transition' },
      })
  })

  it('show their errors page by page, without loss', async () => {
    const other = await newOrganization()
    const bad = Array.from({ length: 23 }, (_, i) => `K${i},N,x${i}\n`).join('')
    const job = await load(other, adapterOf(), `Code,Name,Area\n${bad}`)
    expect(job).toMatchObject({ state: 'completed_with_errors', counts: { quarantined: 23 } })
    const rows: number[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await other.get(
        `/sdis/jobs/${job.id}/errors?limit=5${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      rows.push(...body.data.map(({ row }: { row: number }) => row))
      expect(body.data[0]).toMatchObject({
        stream: 'buildings',
        field: 'rentable_area',
        code: 'not_a_number',
        level: 'error',
        raw: { Name: 'N' },
      })
      cursor = body.next_cursor
    }
    expect(rows).toEqual(Array.from({ length: 23 }, (_, i) => i + 2))
  })

  it('show their facts page by page, without loss, and say where each comes from', async () => {
    const other = await newOrganization()
    const rows = Array.from({ length: 40 }, (_, i) => `K${i},N${i},${i + 1}\n`).join('')
    const job = await load(other, adapterOf(), `Code,Name,Area\n${rows}`, '2025-05-01')
    const seen = new Set<string>()
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await other.get(
        `/sdis/jobs/${job.id}/facts?limit=7${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      for (const fact of body.data) seen.add(`${fact.object_id} ${fact.field} ${fact.value}`)
      expect(body.data[0]).toMatchObject({
        valid_from: '2025-05-01T04:00:00.000Z',
        source: { kind: 'adapter', name: 'Test', job_id: job.id },
      })
      cursor = body.next_cursor
    }
    expect(seen.size).toBe(job.counts.facts)
    expect(seen.size).toBe(120)
  })
})

describe('a waiting job', () => {
  let wait: Awaited<ReturnType<typeof blocked>>

  beforeAll(async () => {
    wait = await blocked()
  })
  afterAll(async () => {
    await wait.release()
  })

  it('is cancelled at once and never runs', async () => {
    const { body } = await sendJob(wait.client, adapterOf(), fileOf(CSV))
    const cancelled = await wait.client.post(`/sdis/jobs/${body.id}/cancel`, undefined)
    expect(cancelled).toMatchObject({ status: 200, body: { state: 'cancelled' } })
    expect(cancelled.body.finished_at).not.toBeNull()
    const { body: second } = await sendJob(wait.client, adapterOf(), fileOf(CSV))
    expect(await wait.client.delete(`/sdis/jobs/${second.id}`)).toMatchObject({
      status: 200,
      body: { state: 'cancelled' },
    })
  })

  it('is refused beyond a hundred of them', async () => {
    const direct = await owner()
    await direct.query(
      `insert into job (id, org_id, state, adapter, adapter_hash, source_name, as_of, valid_from, file_name, file_key, file_bytes,
         file_sha256, actor_type, actor_name, created_at)
       select 8000000000 + $1 * 1000 + n, $1, 'queued', '{"streams":[{}]}', '', 'Test', current_date, now(), '', '', 0, '', 'system', '', now()
       from generate_series(1, 100) n`,
      [wait.client.org_id],
    )
    expect(await sendJob(wait.client, adapterOf(), fileOf(CSV))).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })
    await direct.query(
      `update job set state = 'cancelled' where org_id = $1 and state = 'queued'`,
      [wait.client.org_id],
    )
    await direct.end()
  })
})
