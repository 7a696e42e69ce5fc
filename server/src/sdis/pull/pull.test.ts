import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { grid, newOrganization, owner, ownDatabase } from '../../../test/grid.ts'
import type { TestClient } from '../../../test/grid.ts'
import { finished } from '../../../test/jobs.ts'
import { samples } from '../../../test/samples.ts'
import { STANDARD_LIMITS } from '../limits.ts'
import { runSchedules } from './schedule-work.ts'

await ownDatabase()

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function source(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A property-management system with buildings that change. */
function pms(): {
  buildings: { Code: string; Name: string; changed: string }[]
  asked: string[]
  answer: RequestListener
} {
  const buildings = ['A', 'B', 'C'].map((Code, i) => ({
    Code,
    Name: `Building ${Code}`,
    changed: `2026-01-0${i + 1}T00:00:00Z`,
  }))
  const asked: string[] = []
  const answer: RequestListener = (request, response) => {
    asked.push(request.url ?? '')
    const query = new URL(request.url ?? '', 'http://pms').searchParams
    const since = query.get('since') ?? ''
    const found = buildings.filter(({ changed }) => Date.parse(changed) >= (Date.parse(since) || 0))
    const from = Number(query.get('offset'))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data: found.slice(from, from + 2) }))
  }
  return { buildings, asked, answer }
}

const ADAPTER = {
  adapter: 'pms-buildings',
  source: {
    name: 'PMS',
    kind: 'rest',
    connection: 'pms',
    path: '/buildings',
    records: 'data',
    paging: { kind: 'offset', param: 'offset', limit: 2 },
  },
  streams: [{ type: 'building', key: 'row.Code', map: { code: 'row.Code', name: 'row.Name' } }],
}
const CHANGES = { ...ADAPTER, state: { cursor: 'row.changed', lookback: '1h', param: 'since' } }

async function connected(base_url: string): Promise<TestClient> {
  const client = await newOrganization()
  await client.post('/sdis/connections', { name: 'pms', rest: { base_url } })
  return client
}

/** Keeps the adapter, live. @returns its id. */
async function keptAdapter(client: TestClient): Promise<string> {
  const { body } = await client.post('/sdis/adapters', { document: ADAPTER })
  const direct = await owner()
  await direct.query('update adapter set live_version = 1 where org_id = $1', [client.org_id])
  await direct.end()
  return body.id
}

async function run(
  client: TestClient,
  adapter: object,
): Promise<Awaited<ReturnType<typeof finished>>> {
  const sent = await client.post('/sdis/jobs', { adapter })
  expect([sent.status, sent.body.errors]).toEqual([202, undefined])
  return await finished(client, sent.body.id)
}

async function names(client: TestClient): Promise<string[]> {
  const { body } = await client.get('/buildings?sort=code')
  return body.data.map(({ name }: { name: string }) => name)
}

describe('a job that asks its source', () => {
  it('loads its records, and asks only for what changed the next time', async () => {
    const { buildings, asked, answer } = pms()
    const client = await connected(await source(answer))
    const first = await run(client, CHANGES)
    expect(first).toMatchObject({
      state: 'completed',
      counts: { created: 3, rows_read: 3 },
      pulled: { cursor_from: null, cursor_to: '2026-01-03T00:00:00Z', rows: 3, pages: 2 },
    })
    expect(await names(client)).toEqual(['Building A', 'Building B', 'Building C'])
    Object.assign(buildings[1] as object, { Name: 'Beta', changed: '2026-01-04T00:00:00Z' })
    asked.length = 0
    const second = await run(client, CHANGES)
    expect(asked[0]).toContain(`since=${encodeURIComponent('2026-01-02T23:00:00.000Z')}`)
    expect(second).toMatchObject({
      counts: { created: 0, changed: 1, unchanged: 1 },
      pulled: { cursor_from: '2026-01-02T23:00:00.000Z', cursor_to: '2026-01-04T00:00:00Z' },
    })
    expect(await names(client)).toEqual(['Building A', 'Beta', 'Building C'])
  })

  it('changes nothing when the source fails on the way, and goes on from there later', async () => {
    const { answer } = pms()
    let broken = true
    const client = await connected(
      await source((request, response) => {
        if (broken && request.url?.includes('offset=2')) response.writeHead(404).end()
        else answer(request, response)
      }),
    )
    const failed = await run(client, CHANGES)
    expect(failed).toMatchObject({
      state: 'failed',
      error: { code: 'source_failed' },
      pulled: null,
    })
    expect(await names(client)).toEqual([])
    const imports = await readdir(join(inject('files'), 'imports')).catch(() => [])
    expect(imports.filter((name) => name.endsWith('.pull'))).toEqual([])
    broken = false
    expect(await run(client, CHANGES)).toMatchObject({
      counts: { created: 3 },
      pulled: { cursor_from: null },
    })
  })

  it.each<[string, object]>([
    ['', {}],
    [' as a whole', { options: { atomic: true } }],
    [' to see what it would do', { mode: 'dry_run' }],
  ])('finds that nothing changed%s', async (_, more) => {
    const { buildings, answer } = pms()
    const client = await connected(await source(answer))
    const guards = { require_columns: ['Code'] }
    await run(client, { ...CHANGES, guards })
    buildings.length = 0
    const { body } = await client.post('/sdis/jobs', { adapter: { ...CHANGES, guards }, ...more })
    expect(await finished(client, body.id)).toMatchObject({
      state: 'completed',
      error: null,
      counts: { rows_total: 0, changed: 0, ended: 0 },
      pulled: { rows: 0, cursor_to: '2026-01-03T00:00:00Z' },
    })
    const { body: next } = await client.post('/sdis/jobs', {
      adapter: { ...CHANGES, guards: { min_rows: 2 } },
    })
    expect(await finished(client, next.id)).toMatchObject({ error: { code: 'too_few_rows' } })
  })

  it('keeps what it pulled while its progress is being saved', async () => {
    const { answer } = pms()
    const lock = await owner()
    const whileLocked = async (...[request, response]: Parameters<RequestListener>) => {
      await lock.query('begin')
      await lock.query('select from job where org_id = $1 for update', [client.org_id])
      const held = `select from pg_locks where not granted and pid <> pg_backend_pid()`
      while ((await lock.query(held)).rowCount === 0) await setTimeout(20)
      answer(request, response)
      await setTimeout(200)
      await lock.query('commit')
    }
    const client = await connected(await source((...asked) => void whileLocked(...asked)))
    const paging = undefined
    const job = await run(client, { ...ADAPTER, source: { ...ADAPTER.source, paging } })
    expect(job).toMatchObject({ state: 'completed', counts: { created: 2 } })
    await lock.end()
  })

  it('takes a dry run, and a job that was undone, for none', async () => {
    const { asked, answer } = pms()
    const client = await connected(await source(answer))
    const { body } = await client.post('/sdis/jobs', { adapter: CHANGES, mode: 'dry_run' })
    expect(await finished(client, body.id)).toMatchObject({ counts: { created: 3 } })
    const job = await run(client, CHANGES)
    expect(job).toMatchObject({ counts: { created: 3 }, pulled: { cursor_from: null } })
    const undo = await client.post(`/sdis/jobs/${job.id}/undo`, undefined)
    expect((await finished(client, undo.body.id)).state).toBe('completed')
    asked.length = 0
    expect(await run(client, CHANGES)).toMatchObject({ counts: { created: 3 } })
    expect(asked[0]).not.toContain('since=')
  })

  it('is refused without a connection, or through one of another kind', async () => {
    const client = await newOrganization()
    const refused = await client.post('/sdis/jobs', { adapter: ADAPTER })
    expect([refused.status, refused.body.errors[0].field]).toEqual([
      422,
      'adapter.source.connection',
    ])
    await client.post('/sdis/connections', {
      name: 'pms',
      postgres: { host: 'db.example', database: 'x', user: 'x' },
    })
    expect((await client.post('/sdis/jobs', { adapter: ADAPTER })).body.errors[0].code).toBe(
      'invalid',
    )
    const other = await connected('https://pms.example')
    const { body } = await other.get('/sdis/connections')
    const foreign = { ...ADAPTER, source: { ...ADAPTER.source, connection: body.data[0].id } }
    expect((await client.post('/sdis/jobs', { adapter: foreign })).status).toBe(422)
  })

  it.each<[string, object, string]>([
    ['no path', { source: { ...ADAPTER.source, path: undefined } }, 'adapter.source.path'],
    [
      'half a paging',
      { source: { ...ADAPTER.source, paging: { kind: 'cursor', param: 'c' } } },
      'adapter.source.paging.next',
    ],
    [
      'a table of a REST source',
      { source: { ...ADAPTER.source, table: 'x' } },
      'adapter.source.table',
    ],
    ['changes as a full snapshot', { ...CHANGES, mode: 'full_snapshot' }, 'adapter.state'],
    ['changes without a parameter', { state: { cursor: 'row.changed' } }, 'adapter.state.param'],
    [
      'a file that is asked',
      { source: { name: 'x', kind: 'csv', connection: 'pms' } },
      'adapter.source.connection',
    ],
  ])('is refused with %s', async (_, parts, field) => {
    const client = await connected('https://pms.example')
    const { status, body } = await client.post('/sdis/jobs', { adapter: { ...ADAPTER, ...parts } })
    expect([status, body.errors.map((issue: { field: string }) => issue.field)]).toEqual([
      422,
      expect.arrayContaining([field]),
    ])
  })
})

describe('a schedule', () => {
  const cron = '0 5 * * *'

  /** Makes them due, lets several workers look at once. */
  async function due(client: TestClient, ...ids: string[]): Promise<void> {
    const { db } = await grid()
    const look = await owner()
    const digits = ids.map((id) => id.replace('sch_', ''))
    await look.query(
      `update schedule set next_run_at = now() - interval '3 days' where org_id = $1 and id = any($2)`,
      [client.org_id, digits],
    )
    await look.end()
    await Promise.all([1, 2, 3].map(async () => await runSchedules(db, STANDARD_LIMITS, () => {})))
  }

  it('runs its adapter once, however many workers look and however long nobody did', async () => {
    const client = await connected(await source(pms().answer))
    const made = await client.post('/sdis/schedules', {
      adapter: ADAPTER,
      cron,
      time_zone: 'Europe/Berlin',
    })
    expect(made.status).toBe(201)
    expect(
      new Date(made.body.next_run_at).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' }),
    ).toBe('05:00:00')
    await due(client, made.body.id)
    const { body: jobs } = await client.get('/sdis/jobs')
    expect(jobs.data).toHaveLength(1)
    const read = await client.get(`/sdis/schedules/${made.body.id}`)
    expect(read.body).toMatchObject({
      last_job_id: jobs.data[0].id,
      last_error: null,
      next_run_at: made.body.next_run_at,
    })
    // The job waits still: another run would only come behind it.
    await due(client, made.body.id)
    expect((await client.get('/sdis/jobs')).body.data).toHaveLength(1)
    expect((await finished(client, jobs.data[0].id)).state).toBe('completed')
    await due(client, made.body.id)
    const again = (await client.get('/sdis/jobs')).body.data
    expect(again).toHaveLength(2)
    expect(await finished(client, again[0].id)).toMatchObject({ counts: { unchanged: 3 } })
  })

  it('rests while it is paused, and says why it started nothing', async () => {
    const client = await connected(await source(pms().answer))
    const { body } = await client.post('/sdis/schedules', { adapter: ADAPTER, cron })
    const path = `/sdis/schedules/${body.id}`
    const paused = await client.patch(path, { state: 'paused' }, { 'if-match': '"v1"' })
    expect(paused.body).toMatchObject({ state: 'paused', next_run_at: null, version: 2 })
    const active = await client.patch(path, { state: 'active' })
    expect(active.body.next_run_at).toBe(body.next_run_at)
    const { data } = (await client.get('/sdis/connections')).body
    await client.delete(`/sdis/connections/${data[0].id}`)
    await due(client, body.id)
    const { body: jobs } = await client.get('/sdis/jobs')
    expect(await finished(client, jobs.data[0].id)).toMatchObject({
      state: 'failed',
      error: { code: 'connection_missing' },
    })
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get('/sdis/schedules')).body.data).toEqual([])
  })

  it('whose adapter is no more says so, and holds up no other', async () => {
    const client = await connected(await source(pms().answer))
    const kept = await keptAdapter(client)
    const orphan = (await client.post('/sdis/schedules', { adapter: ADAPTER.adapter, cron })).body
    const other = (await client.post('/sdis/schedules', { adapter: ADAPTER, cron })).body
    expect((await client.delete(`/sdis/adapters/${kept}`)).status).toBe(204)
    await due(client, orphan.id, other.id)
    const read = await client.get(`/sdis/schedules/${orphan.id}`)
    expect(read.body).toMatchObject({
      last_error: `adapter: no adapter is called ${ADAPTER.adapter}`,
      last_job_id: null,
      next_run_at: orphan.next_run_at,
    })
    const { body: jobs } = await client.get('/sdis/jobs')
    expect(jobs.data).toHaveLength(1)
    expect((await finished(client, jobs.data[0].id)).state).toBe('completed')
  })

  it('whose adapter names what is there no more starts nothing', async () => {
    const client = await connected(await source(pms().answer))
    const property = (await client.post('/properties', samples.property())).body
    const [stream] = ADAPTER.streams
    const map = { ...stream?.map, property_id: { value: property.id } }
    const adapter = { ...ADAPTER, streams: [{ ...stream, map }] }
    const { body } = await client.post('/sdis/schedules', { adapter, cron })
    await client.delete(`/properties/${property.id}`)
    await due(client, body.id)
    const read = await client.get(`/sdis/schedules/${body.id}`)
    expect(read.body.last_error).toContain(`no property has the id ${property.id}`)
    expect((await client.get('/sdis/jobs')).body.data).toEqual([])
  })

  it('is made while many others are', async () => {
    const client = await connected('https://pms.example')
    await keptAdapter(client)
    const sent = Array.from({ length: 12 }, async () => {
      const { status } = await client.post('/sdis/schedules', { adapter: ADAPTER.adapter, cron })
      return status
    })
    expect(new Set(await Promise.all(sent))).toEqual(new Set([201]))
  })

  it.each<[string, object, string]>([
    ['no time', { cron: 'often' }, 'cron'],
    ['a time that never comes', { cron: '0 0 31 2 *' }, 'cron'],
    ['seconds', { cron: '* * * * * *' }, 'cron'],
    ['an unknown zone', { time_zone: 'Mars/Base' }, 'time_zone'],
    [
      'an adapter of files',
      { adapter: { ...ADAPTER, source: { name: 'x', kind: 'csv' } } },
      'adapter',
    ],
    ['an adapter that is not there', { adapter: 'nobody' }, 'adapter'],
  ])('is refused with %s', async (_, parts, field) => {
    const client = await connected('https://pms.example')
    const { status, body } = await client.post('/sdis/schedules', {
      adapter: ADAPTER,
      cron,
      ...parts,
    })
    expect([status, body.errors?.[0].field]).toEqual([422, field])
  })
})
