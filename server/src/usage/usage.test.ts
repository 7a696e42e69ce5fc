import { describe, expect, test } from 'vitest'
import { runJob } from '../../test/jobs.ts'
import { grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { form } from '../documents/upload-fixture.ts'
import { newKey } from '../http/auth.ts'
import { count, flushCounts } from './service.ts'

interface UsageRow {
  meter: string
  quantity: number
  key_id?: string | null
  route_group?: string | null
  status_class?: string | null
  day?: string
  hour?: string
}

async function usage(client: TestClient, query = ''): Promise<{ data: UsageRow[] } & Body> {
  const { status, body } = await client.get(`/usage?${query}`)
  expect(status).toBe(200)
  return body
}

// oxlint-disable-next-line typescript/no-explicit-any
type Body = Record<string, any>

/** Requests of every kind: two keys, several endpoints, every class of status. */
async function traffic(): Promise<{ first: TestClient; second: TestClient }> {
  const first = await newOrganization()
  const second = await newClient(first.org_id)
  const { body } = await first.post('/parties', samples.party())
  await Promise.all([
    ...Array.from({ length: 7 }, async () => await first.get('/parties')),
    ...Array.from({ length: 3 }, async () => await second.get(`/parties/${body.id}`)),
    second.get(`/parties/${body.id}`, { 'if-none-match': '"v1"' }),
    second.get('/leases?no_such=1'),
    first.get('/grid/v2/properties'),
    first.get('/no-such-path'),
    first.delete('/parties/pty_1'),
  ])
  return { first, second }
}

describe('usage', () => {
  test('equals the request log, line by line', async () => {
    const { first } = await traffic()
    const query = 'group_by=key,route_group,status_class,hour'
    const { data, totals } = await usage(first, query)
    const db = await owner()
    const { rows } = await db.query<{ request_id: string; group: string; key: string }>(
      `select request_id, concat_ws(' ', 'key_' || key_id, app.route_group(route), status / 100 || 'xx',
         to_char(date_trunc('hour', at, 'UTC') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00.000Z"')) as group
       from request_log where org_id = $1 and path <> '/api/v1/usage'`,
      [first.org_id],
    )
    await db.end()
    const requests = data.filter(({ meter }) => meter === 'requests')
    const told = requests.map((row): [string, number] => [
      `${row.key_id} ${row.route_group} ${row.status_class} ${row.hour}`,
      row.quantity,
    ])
    const logged = [...Map.groupBy(rows, ({ group }) => group)].map(
      ([group, lines]): [string, number] => [group, lines.length],
    )
    expect(new Map(told)).toEqual(new Map(logged))
    expect(told).toHaveLength(logged.length)
    expect(rows.length).toBeGreaterThan(15)
    expect(totals.requests).toBe(rows.length)
  })

  test('is grouped as asked', async () => {
    const { first } = await traffic()
    const byKey = (await usage(first, 'group_by=key')).data
    expect(byKey).toMatchObject([
      { meter: 'requests', key_name: 'Test key' },
      { meter: 'requests', quantity: 5 },
    ])
    const byRoute = (await usage(first, 'group_by=route_group,status_class')).data
    expect(byRoute.map((row) => `${row.route_group} ${row.status_class} ${row.quantity}`)).toEqual(
      expect.arrayContaining(['parties 2xx 11', 'parties 3xx 1', 'grid 2xx 1', 'leases 4xx 1']),
    )
    const today = new Date().toISOString().slice(0, 10)
    const byDay = (await usage(first, 'group_by=day')).data
    expect(byDay.at(-1)).toMatchObject({ meter: 'requests', day: today })
    const [whole] = (await usage(first)).data
    expect(whole).toEqual({ meter: 'requests', quantity: expect.any(Number) })
  })

  test('has totals of every meter, the limits of the plan and a forecast', async () => {
    const client = await newOrganization({ standing: { plan: 'professional' } })
    const { body } = await client.post(
      '/documents',
      form({ title: 'Plan', document_type: 'lease' }, {}),
    )
    const file = { bytes: Buffer.alloc(1_000, 'x'), name: 'more.txt' }
    await client.post(`/documents/${body.id}/versions`, form({}, file))
    const { db } = await grid()
    count(db, 'deliveries', client.org_id, 2)
    count(db, 'deliveries', client.org_id, 3)
    count(db, 'skill_runs', client.org_id, 1)
    await flushCounts(db)
    count(db, 'deliveries', client.org_id, 1)
    const found = await usage(client, 'group_by=day')
    const size = body.byte_size + 1_000
    expect(found['totals']).toEqual({
      requests: 2,
      deliveries: 6,
      job_rows: 0,
      skill_runs: 1,
      storage_bytes: size,
    })
    expect(found['limits']).toEqual({
      plan: 'professional',
      policy: 'professional',
      requests_per_minute: 3_000,
      organization_requests_per_minute: 12_000,
    })
    const { from, to, totals } = found['forecast']
    const month = new Date().toISOString().slice(0, 7)
    expect([from, Date.parse(to) > Date.now()]).toEqual([`${month}-01T00:00:00.000Z`, true])
    const factor =
      (Date.parse(to) - Date.parse(from)) / Math.max(Date.now() - Date.parse(from), 3_600_000)
    expect(Math.abs(totals.deliveries - 6 * factor)).toBeLessThanOrEqual(1)
    expect(found.data.map(({ meter, quantity }) => [meter, quantity])).toEqual([
      ['requests', 2],
      ['deliveries', 6],
      ['skill_runs', 1],
    ])
  })

  test('counts the rows that jobs read', async () => {
    const client = await newOrganization()
    const adapter = `adapter: parties
source: { name: List, kind: csv }
streams:
  - type: party
    key: row.Id
    map:
      kind: { value: company }
      legal_name: row.Name
`
    const bytes = Buffer.from('Id,Name\n1,Acme\n2,Globex\n3,Initech\n')
    const job = await runJob(client, adapter, { name: 'parties.csv', bytes })
    expect(job).toMatchObject({ state: 'completed' })
    expect((await usage(client))['totals']).toMatchObject({ job_rows: 3 })
  })

  test('keeps to the hours asked for', async () => {
    const { first } = await traffic()
    const sum = async (query: string): Promise<number> =>
      (await usage(first, query))['totals'].requests
    expect(await sum('to=2020-01-01')).toBe(0)
    expect(await sum('from=2999-01-01&to=2999-01-02')).toBe(0)
    const today = new Date().toISOString().slice(0, 10)
    const all = await sum(`from=${today}`)
    expect(all).toBeGreaterThan(10)
    const { from } = await usage(first, `from=${today}T00:00:01Z`)
    expect(from).toBe(`${today}T00:00:00.000Z`)
  })

  test.each([
    ['from=yesterday', 'from', 'invalid_format'],
    ['to=2026-13-01', 'to', 'invalid_format'],
    ['from=2026-05-02&to=2026-05-01', 'to', 'out_of_range'],
    ['group_by=colour', 'group_by', 'unknown_value'],
    ['group_by=day,hour', 'group_by', 'conflicting'],
    ['group_by=', 'group_by', 'unknown_value'],
  ])('refuses %s', async (query, field, code) => {
    const client = await newOrganization()
    expect(await client.get(`/usage?${query}`)).toMatchObject({
      status: 422,
      body: { errors: [{ field, code }] },
    })
  })

  test('is nobody else’s, and needs its scope', async () => {
    const [one, other] = [await newOrganization(), await newOrganization()]
    await one.get('/parties')
    expect((await usage(other))['totals'].requests).toBe(0)
    const without = await newClient(one.org_id, ['read:leases'])
    expect((await without.get('/usage')).status).toBe(403)
    const { base } = await grid()
    const headers = { 'x-api-key': newKey('production') }
    expect((await fetch(`${base}/usage`, { headers })).status).toBe(401)
  })

  test('is exact when many batches are written at once', async () => {
    const client = await newOrganization()
    const { db } = await grid()
    const entry = (i: number): object => ({
      org_id: client.org_id,
      at: new Date().toISOString(),
      id: i,
      request_id: `req_${i}`,
      method: 'GET',
      route: `/api/v1/${['leases', 'parties', 'spaces'][i % 3]}/:id`,
      path: '/',
      status: 200 + 100 * (i % 4),
      latency_ms: 1,
      key_id: 7 + (i % 2),
      key_name: 'k',
      error_code: null,
    })
    const batches = Array.from({ length: 12 }, (_, batch) =>
      Array.from({ length: 50 }, (__, i) => entry(batch * 50 + i)).sort(() => Math.random() - 0.5),
    )
    await Promise.all(
      batches.map(
        async (batch) =>
          await db.flyControl('select app.write_request_log($1::json)', [JSON.stringify(batch)]),
      ),
    )
    expect((await usage(client))['totals'].requests).toBe(600)
  })
})
