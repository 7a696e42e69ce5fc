import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { grid, newOrganization } from '../test/grid.ts'
import { buildApp } from './app.ts'
import { readConfig } from './config.ts'
import type { Db } from './db/db.ts'
import { readiness } from './http/health.ts'
import { metric, renderMetrics } from './http/metrics.ts'
import { startOps } from './ops.ts'

const { db } = await grid()
// Requests are counted where an operator's port is set; here it only has to be another than 0.
const config = readConfig({ GRID_LOG: 'error', GRID_OPS_PORT: '1' })
const app = await buildApp(config, db)
app.get(
  '/slow',
  {
    config: { scope: 'public' },
    schema: { operationId: 'slow', summary: 's', description: 'd', response: { 200: {} } },
  },
  async () => await new Promise(() => {}),
)
await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = app.server.address() as AddressInfo
const ops = await startOps(
  { ...config, GRID_OPS_PORT: 0 },
  { db, requests: app.requestCounts, requestLog: app.requestLog },
)
afterAll(async () => {
  await ops.close()
  await app.close()
})

const fromApi = async (path: string): Promise<Response> =>
  await fetch(`http://127.0.0.1:${port}${path}`)
const fromOps = async (path: string): Promise<Response> =>
  await fetch(`http://127.0.0.1:${ops.port}${path}`)

/** Samples by name and labels. */
async function samples(): Promise<Map<string, number>> {
  const answer = await fromOps('/health/metrics')
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const lines = (await answer.text()).trimEnd().split('\n')
  const pattern = /^(?:# (?:HELP|TYPE) [a-z_]+ .+|([a-z_]+(?:\{[a-z]+="[^"]*"\})?) ([-+.e\d]+))$/
  expect(lines.filter((line) => !pattern.test(line))).toEqual([])
  return new Map(
    lines.flatMap((line) => {
      const [, name, value] = pattern.exec(line) ?? []
      return name ? [[name, Number(value)] as const] : []
    }),
  )
}

describe('health', () => {
  it('needs no key', async () => {
    for (const get of [fromApi, fromOps]) {
      expect((await get('/health/live')).status).toBe(200)
      expect((await get('/health/ready')).status).toBe(200)
    }
    expect(await (await fromApi('/health/ready')).json()).toEqual({ status: 'ready' })
  })

  it('shows the networks that webhooks may reach beside the public ones', async () => {
    const { base } = await grid()
    const answer = await fetch(base.replace('/api/v1', '/health/ready'))
    expect(await answer.json()).toEqual({ status: 'ready', webhook_networks: ['127.0.0.1/32'] })
  })

  it.each([
    ['refuses', async () => await Promise.reject(new Error('down'))],
    ['says nothing', async () => await new Promise<never>(() => {})],
  ])('is not ready when the database %s, and does not ask twice at once', async (_, flyControl) => {
    let asked = 0
    const broken = { flyControl: async () => (asked++, await flyControl()) } as unknown as Db
    const ready = readiness(broken)
    expect(await Promise.all([ready(), ready(), ready()])).toEqual([false, false, false])
    expect(asked).toBe(1)
  })

  it('answers 503 with a problem while the database is gone', async () => {
    const gone = { flyControl: async () => [] } as unknown as Db
    const lonely = await buildApp(config, gone)
    gone.flyControl = async () =>
      await Promise.reject(new Error('the database closed the connection'))
    await lonely.listen({ port: 0, host: '127.0.0.1' })
    const { port } = lonely.server.address() as AddressInfo
    const get = async (path: string): Promise<Response> =>
      await fetch(`http://127.0.0.1:${port}${path}`)
    expect((await get('/health/live')).status).toBe(200)
    const answer = await get('/health/ready')
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'unavailable', status: 503 })
    await lonely.close()
  })

  it('logs that the database is gone, and that it is back, once each', async () => {
    const changing = { flyControl: async () => [] } as unknown as Db
    const watched = await buildApp(config, changing)
    const lines: string[] = []
    for (const level of ['error', 'warn'] as const)
      vi.spyOn(watched.log, level).mockImplementation(
        (line: unknown) => void lines.push(String(line)),
      )
    const answers: number[] = []
    for (const answers_now of [true, false, false, false, true, true]) {
      changing.flyControl = async () => (answers_now ? [] : await Promise.reject(new Error('gone')))
      answers.push((await watched.inject('/health/ready')).statusCode)
    }
    await watched.close()
    expect(answers).toEqual([200, 503, 503, 503, 200, 200])
    expect(lines).toEqual([
      'not ready: the database does not answer',
      'ready again: the database answers',
    ])
  })

  it('has nothing at other paths, for which no key is asked', async () => {
    for (const path of ['/favicon.ico', '/healthy', '/apis'])
      expect((await fromApi(path)).status, path).toBe(404)
    for (const path of ['/api', '/api/v1', '/api/v1/nothing', '/api?x'])
      expect((await fromApi(path)).status, path).toBe(401)
  })
})

describe('metrics', () => {
  it('stand on the operator port only', async () => {
    const { key } = await newOrganization()
    const answer = await fetch(`http://127.0.0.1:${port}/health/metrics`, {
      headers: { 'x-api-key': key },
    })
    expect(answer.status).toBe(404)
    expect((await fromOps('/')).status).toBe(404)
    const posted = await fetch(`http://127.0.0.1:${ops.port}/health/metrics`, { method: 'POST' })
    expect(posted.status).toBe(404)
  })

  it('count every request by how it ended', async () => {
    const before = await samples()
    const client = await newOrganization()
    const headers = { 'x-api-key': client.key }
    await fetch(`http://127.0.0.1:${port}/api/v1/leases`, { headers })
    await fromApi('/api/v1/leases')
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
    await expect.poll(async () => (await samples()).get('grid_http_requests_in_flight')).toBe(1)
    socket.destroy()
    await once(socket, 'close')
    await expect.poll(async () => (await samples()).get('grid_http_requests_in_flight')).toBe(0)
    const after = await samples()
    const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    const classes = ['2xx', '4xx', '5xx', 'aborted'].map((name) =>
      grown(`grid_http_requests_total{class="${name}"}`),
    )
    expect(classes).toEqual([1, 1, 0, 1])
    expect(grown('grid_http_request_seconds_count')).toBe(3)
    expect(grown('grid_http_request_seconds_bucket{le="+Inf"}')).toBe(3)
  })

  it('tell of database, jobs and process', async () => {
    const found = await samples()
    expect(found.get('grid_db_up')).toBe(1)
    expect(found.get('grid_db_pipeline_connections')).toBeGreaterThan(0)
    expect(found.get('grid_request_log_dropped_total')).toBe(0)
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(1e7)
    expect(found.get('nodejs_eventloop_delay_seconds{quantile="0.99"}')).toBeLessThan(5)
  })

  it('are written as Prometheus reads them', () => {
    const text = renderMetrics([
      metric('a_total', 'counter', 'All of a.', 2),
      metric('b', 'gauge', 'Some b.', [[{ state: 'x"y' }, 0.5]]),
    ])
    expect(text).toBe(
      '# HELP a_total All of a.\n# TYPE a_total counter\na_total 2\n# HELP b Some b.\n# TYPE b gauge\nb{state="x\\"y"} 0.5\n',
    )
  })
})
