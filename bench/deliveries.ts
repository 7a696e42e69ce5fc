/** Webhooks: how many deliveries a second, how soon after the commit, and what they cost those who write. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { eventId } from '../server/src/events/feed.ts'
import { load } from './clients.ts'
import type { Plan } from './load.ts'
import type { Received } from './receiver.ts'
import { owner, ownerClient, settled } from './seed.ts'
import { startServer } from './server.ts'
import type { Server } from './server.ts'
import { watchMachine } from './steady.ts'
import type { Window } from './steady.ts'

/** Parties created, each delivered to as many webhooks. */
const EVENTS = 10_000
const WEBHOOKS = 4

/** Webhooks may reach the receiver. */
export const LOOPBACK = { GRID_WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32' }

/** Paces, in events a second, at which the time to receipt is measured, and for how long. */
const PACES = [100, 200, 500]
const LATENCY_S = 10
const WRITE_S = 4
const WRITE_ROUNDS = 3

/** After the machine was slow, what has piled up is still to be done. */
const CATCH_UP_MS = 40

/** How soon after its commit an event is received. */
interface Latency {
  events_per_second: number
  /** The writes, as their client sees them. */
  write_p50_ms: number
  write_p99_ms: number
  p50_ms: number
  p99_ms: number
  /** Share of the time in which the machine itself was slow; it is so without any load too. */
  machine_slow: number
  /** Of events that neither began nor were received while it was, nor just behind. */
  steady_p50_ms: number
  steady_p99_ms: number
}

interface WriteCost {
  writes_per_second: number
  writes_per_second_with_3_webhooks: number
  write_ratio: number
}

export interface DeliveryResult {
  deliveries_per_second: number
  delivered: number
  latency: Latency[]
  /** While the same process, on the same cores, also delivers. */
  cost: WriteCost
}

/** A receiver in a process of its own. */
class Sink {
  readonly child: ChildProcess
  url = ''

  constructor() {
    this.child = spawn(process.execPath, ['bench/receiver.ts'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  }

  async open(): Promise<this> {
    const [port] = (await once(
      this.child.stdout as NonNullable<typeof this.child.stdout>,
      'data',
    )) as [Buffer]
    this.url = `http://127.0.0.1:${String(port).trim()}/hook`
    return this
  }

  async seen(method: 'GET' | 'DELETE' = 'GET'): Promise<Received> {
    return (await (await fetch(this.url, { method })).json()) as Received
  }

  /** Waits until as many came, or no more do. */
  async until(count: number): Promise<Received> {
    let before = -1
    for (;;) {
      const seen = await this.seen()
      if (seen.count >= count || (seen.count === before && seen.count > 0)) return seen
      before = seen.count
      await new Promise((resolve) => setTimeout(resolve, 2_000))
    }
  }
}

async function call(
  server: Server,
  method: string,
  path: string,
  body?: object,
): Promise<{ id: string; stats?: { held: number } }> {
  const answer = await fetch(server.base + path, {
    method,
    headers: {
      'x-api-key': server.key,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return (answer.status === 204 ? {} : await answer.json()) as {
    id: string
    stats?: { held: number }
  }
}

async function subscribe(
  server: Server,
  url: string,
  count: number,
  type: string,
): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const choices = { url, events: [type], max_concurrency: 50 }
    ids.push((await call(server, 'POST', '/webhooks', choices)).id)
  }
  return ids
}

async function unsubscribe(server: Server, ids: readonly string[]): Promise<void> {
  for (const id of ids) await call(server, 'DELETE', `/webhooks/${id}`)
}

/** @param first started with loopback allowed for webhooks. It is started anew with times of commits kept. */
export async function benchDeliveries(first: Server): Promise<DeliveryResult> {
  await owner(first, ['alter system set track_commit_timestamp = on'])
  await first.stop()
  const server = await startServer(first.data_dir, LOOPBACK)
  const sink = await new Sink().open()
  try {
    const speed = await throughput(server, sink)
    process.stdout.write(`deliveries: ${speed.deliveries_per_second}/s\n`)
    const delays: Latency[] = []
    for (const pace of PACES) delays.push(await latency(server, sink, pace))
    const cost = await writeCost(server, sink.url)
    process.stdout.write(`writes with 3 webhooks: ${cost.write_ratio} of those without\n`)
    return { ...speed, latency: delays, cost }
  } finally {
    sink.child.kill()
  }
}

/** Events of single writes, held until all are there, so that the deliveries are all there is to do. */
async function throughput(
  server: Server,
  sink: Sink,
): Promise<Pick<DeliveryResult, 'deliveries_per_second' | 'delivered'>> {
  const ids = await subscribe(server, sink.url, WEBHOOKS, 'party.created')
  for (const id of ids) await call(server, 'POST', `/webhooks/${id}/pause`, {})
  let made = 0
  const client = async (): Promise<void> => {
    while (made++ < EVENTS)
      await call(server, 'POST', '/parties', { kind: 'company', legal_name: 'Acme' })
  }
  await Promise.all(Array.from({ length: 16 }, client))
  for (const id of ids)
    for (let held = 0; held < EVENTS;) {
      const webhook = await call(server, 'GET', `/webhooks/${id}`)
      held = webhook.stats?.held ?? 0
    }
  await sink.seen('DELETE')
  await Promise.all(
    ids.map(async (id) => await call(server, 'POST', `/webhooks/${id}/enable`, { held: 'replay' })),
  )
  const { count, first_at, last_at } = await sink.until(EVENTS * WEBHOOKS)
  await unsubscribe(server, ids)
  const seconds = (last_at - first_at) / 1_000
  return { deliveries_per_second: Math.round((count - 1) / seconds), delivered: count }
}

/** Parties are created at a steady pace; the database tells when each was committed. */
async function latency(server: Server, sink: Sink, pace: number): Promise<Latency> {
  await settled(server)
  const ids = await subscribe(server, sink.url, 1, 'party.created')
  await sink.seen('DELETE')
  const slow = watchMachine()
  const started = Date.now()
  const report = await load({ ...creates(server), connections: 64, seconds: LATENCY_S, pace })
  const { receipts } = await sink.until(Math.round(report.per_second * LATENCY_S))
  const windows = await slow()
  await unsubscribe(server, ids)
  const commits = await commitTimes(server, started)
  const events = receipts.map(([id, to]) => ({ from: commits.get(id) ?? Number.NaN, to }))
  const steady = events.filter(
    ({ from, to }) => !windows.some((w) => from < w.to + CATCH_UP_MS && to > w.from),
  )
  const until = started + LATENCY_S * 1_000
  const slow_ms = windows.reduce((sum, w) => sum + Math.max(0, Math.min(w.to, until) - w.from), 0)
  const result = {
    events_per_second: Math.round(report.per_second),
    write_p50_ms: report.p50_ms,
    write_p99_ms: report.p99_ms,
    p50_ms: delayAt(events, 0.5),
    p99_ms: delayAt(events, 0.99),
    machine_slow: Math.round(slow_ms / LATENCY_S / 10) / 100,
    steady_p50_ms: delayAt(steady, 0.5),
    steady_p99_ms: delayAt(steady, 0.99),
  }
  process.stdout.write(`commit to receipt: ${JSON.stringify(result)}\n`)
  return result
}

/** Milliseconds that a share of the events take at most, to a tenth. */
function delayAt(events: readonly Window[], share: number): number {
  const delays = events.map(({ from, to }) => to - from).toSorted((a, b) => a - b)
  return Math.round((delays[Math.floor(delays.length * share)] ?? Number.NaN) * 10) / 10
}

/** When events since a time were committed, by the id of the event, in milliseconds since the epoch. */
async function commitTimes(server: Server, since: number): Promise<Map<string, number>> {
  const client = await ownerClient(server)
  const { rows } = await client.query<{ tx_id: string; at: number }>(
    `select tx_id, extract(epoch from pg_xact_commit_timestamp(xid::xid))::float8 * 1000 as at
     from tx where at >= to_timestamp($1)`,
    [since / 1_000],
  )
  await client.end()
  return new Map(rows.map(({ tx_id, at }) => [eventId({ tx_id, n: 0 }), at]))
}

/** Creates parties. */
function creates(server: Server): Omit<Plan, 'connections' | 'seconds'> {
  return {
    port: server.port,
    key: server.key,
    method: 'POST',
    paths: ['/api/v1/parties'],
    body: JSON.stringify({ kind: 'company', legal_name: 'Acme' }),
    idempotent: false,
  }
}

/** Writes with and without webhooks in turn, so that a slower minute of the machine hits both. */
async function writeCost(server: Server, url: string): Promise<WriteCost> {
  const write = async (): Promise<number> =>
    (await load({ ...creates(server), connections: 8, seconds: WRITE_S })).per_second
  await write()
  const [without, beside]: [number[], number[]] = [[], []]
  for (let i = 0; i < WRITE_ROUNDS; i++) {
    without.push(await write())
    const ids = await subscribe(server, url, 3, 'party.created')
    beside.push(await write())
    await unsubscribe(server, ids)
  }
  const [a, b] = [median(without), median(beside)]
  return {
    writes_per_second: a,
    writes_per_second_with_3_webhooks: b,
    write_ratio: Math.round((b / a) * 100) / 100,
  }
}

/** What webhooks cost the write door itself. @param server without background work: nothing is delivered. */
export async function benchDoor(server: Server): Promise<WriteCost> {
  const cost = await writeCost(server, 'http://127.0.0.1:9/hook')
  process.stdout.write(`the write door with 3 webhooks: ${cost.write_ratio} of without\n`)
  return cost
}

function median(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number)
}
