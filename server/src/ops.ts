/** The operator's own small server: metrics of this process, apart from the API that callers reach. */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import { readiness } from './http/health.ts'
import { metric, renderMetrics } from './http/metrics.ts'
import type { Metric, RequestCounts, Sample } from './http/metrics.ts'
import { API_VERSION } from './http/openapi-document.ts'
import { jobStates } from './queue/states.ts'

type Loop = ReturnType<typeof monitorEventLoopDelay>

/** What the metrics tell of; a process that only works in the background has no requests. */
export interface Watched {
  db: Db
  requests: RequestCounts | null
  requestLog: { dropped: number } | null
}

/** The event loop is looked at this often; a reading holds the interval itself. */
const LOOP_MS = 20

const NANOSECONDS = 1e9

/** Listens on GRID_OPS_PORT. @returns the port, and a function that closes the server. */
export async function startOps(
  config: Config,
  watched: Watched,
): Promise<{ port: number; close: () => Promise<void> }> {
  const ready = readiness(watched.db)
  const loop = monitorEventLoopDelay({ resolution: LOOP_MS })
  loop.enable()
  const server = createServer((request, response) => {
    void answer(request, response, watched, loop, ready)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(config.GRID_OPS_PORT, config.GRID_HOST, resolve)
  })
  return {
    port: (server.address() as { port: number }).port,
    close: async () => {
      loop.disable()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  watched: Watched,
  loop: Loop,
  ready: () => Promise<boolean>,
): Promise<void> {
  const send = (status: number, text: string, type = 'text/plain; charset=utf-8'): void =>
    void response.writeHead(status, { 'content-type': type }).end(text)
  switch (request.method === 'GET' ? request.url : '') {
    case '/health/metrics': {
      const metrics = await metricsOf(watched, loop, await ready())
      return send(200, renderMetrics(metrics), 'text/plain; version=0.0.4; charset=utf-8')
    }
    case '/health/live':
      return send(200, 'live\n')
    case '/health/ready': {
      const answers = await ready()
      return send(answers ? 200 : 503, answers ? 'ready\n' : 'the database does not answer\n')
    }
    case undefined:
    default:
      return send(404, 'GET /health/metrics, /health/live or /health/ready\n')
  }
}

async function metricsOf(
  { db, requests, requestLog }: Watched,
  loop: Loop,
  answers: boolean,
): Promise<Metric[]> {
  const jobs = answers ? await jobStates(db).catch(() => []) : []
  return [
    metric('grid_build_info', 'gauge', 'Release of the interface.', [
      [{ version: API_VERSION }, 1],
    ]),
    ...(requests?.metrics() ?? []),
    metric(
      'grid_request_log_dropped_total',
      'counter',
      'Entries of the request log that were not written.',
      requestLog?.dropped ?? 0,
    ),
    ...databaseMetrics(db, answers),
    metric(
      'grid_jobs',
      'gauge',
      'Data-integration jobs of all organizations, by state.',
      jobs.map(([state, count]): Sample => [{ state }, count]),
    ),
    ...processMetrics(loop),
  ]
}

function databaseMetrics(db: Db, answers: boolean): Metric[] {
  const { pooled, pipelined } = db.connections()
  return [
    metric('grid_db_up', 'gauge', 'Whether the database answers.', answers ? 1 : 0),
    metric('grid_db_pool_connections', 'gauge', 'Pooled connections, by what they do.', [
      [{ state: 'busy' }, pooled.busy],
      [{ state: 'idle' }, pooled.idle],
    ]),
    metric('grid_db_pool_waiting', 'gauge', 'Who waits for a pooled connection.', pooled.waiting),
    metric('grid_db_pipeline_connections', 'gauge', 'Pipelined connections.', pipelined.open),
    metric('grid_db_pipeline_flights', 'gauge', 'Flights not yet landed.', pipelined.pending),
  ]
}

function processMetrics(loop: Loop): Metric[] {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const delay = (nanoseconds: number): number =>
    Math.max(0, nanoseconds / NANOSECONDS - LOOP_MS / 1_000)
  const delays = [0.5, 0.99].map((quantile): Sample => [
    { quantile: String(quantile) },
    delay(loop.percentile(quantile * 100)),
  ])
  const slowest = loop.count > 0 ? delay(loop.max) : 0
  loop.reset()
  return [
    metric('process_resident_memory_bytes', 'gauge', 'Memory of the process.', rss),
    metric('nodejs_heap_used_bytes', 'gauge', 'Heap in use.', heapUsed),
    metric('process_cpu_seconds_total', 'counter', 'CPU time used.', (user + system) / 1e6),
    metric('process_uptime_seconds', 'gauge', 'Time since the start.', process.uptime()),
    metric('nodejs_eventloop_delay_seconds', 'gauge', 'Delay since the last reading.', [
      ...delays,
      [{ quantile: '1' }, slowest],
    ]),
  ]
}
