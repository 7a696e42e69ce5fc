/** What tests of deliveries need: a worker of their own, and receivers that behave as told. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inject } from 'vitest'
import { grid, owner } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { readConfig } from '../config.ts'
import type { Config } from '../config.ts'
import { loop } from '../queue/loop.ts'
import { webhookWork } from './work.ts'

/** How long a test waits for what should happen soon. */
const PATIENCE_MS = 20_000

/** Settings of a worker that tries again at once and may reach loopback. */
export function workerConfig(settings: Record<string, string> = {}): Config {
  return readConfig({
    GRID_LOG: 'error',
    GRID_DATA_DIR: inject('files'),
    GRID_WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32',
    GRID_WEBHOOK_RETRY_S: '0.01,0.01,0.01,0.01',
    GRID_WEBHOOK_TIMEOUT_S: '1',
    ...settings,
  })
}

/** Runs the sequencer and the work of webhooks. @returns a function that ends them. */
export async function startWorker(
  settings: Record<string, string> = {},
): Promise<{ stop: () => Promise<void>; said: string[] }> {
  const { db } = await grid()
  const said: string[] = []
  const log = (message: string): void => void said.push(message)
  const work = webhookWork(workerConfig(settings), db, log)
  const loops = work.steps.map(([name, step]) => loop(name, log, step))
  const stop = async (): Promise<void> => {
    await Promise.all(loops.map(async (end) => await end()))
    await work.end()
  }
  return { stop, said }
}

export interface Arrived {
  headers: Record<string, string>
  // Tests look into events of every type.
  // oxlint-disable-next-line typescript/no-explicit-any
  event: any
  text: string
}

export interface Receiver {
  url: string
  arrived: Arrived[]
  close: () => Promise<void>
}

type Answer = (
  response: ServerResponse,
  arrived: Arrived,
  count: number,
  request: IncomingMessage,
) => void

/** A receiver on loopback that keeps what arrives and answers as told; with 204 when told nothing. */
export async function receiver(
  answer: Answer = (response) => void response.writeHead(204).end(),
): Promise<Receiver> {
  const arrived: Arrived[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const headers = request.headers as Record<string, string>
      const one = { headers, text, event: JSON.parse(text) as unknown }
      arrived.push(one)
      answer(response, one, arrived.length, request)
    })
  }
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${port}/hook`, arrived, close }
}

/** Waits until something is there. @throws what was last found when it does not come. */
export async function until<T>(
  find: () => T | Promise<T>,
  fine: (found: T) => boolean = Boolean,
): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const found = await find()
    if (fine(found)) return found
    if (performance.now() > end)
      throw new Error(`waited in vain; last found ${JSON.stringify(found)}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A webhook to the URL, of parties unless told otherwise. @returns the answer's body. */
export async function subscribe(
  client: TestClient,
  url: string,
  choices: Record<string, unknown> = {},
  // oxlint-disable-next-line typescript/no-explicit-any
): Promise<any> {
  const answer = await client.post('/webhooks', { url, events: ['party.*'], ...choices })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

/** Makes as many parties, each an event. @returns their ids. */
export async function makeParties(client: TestClient, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++)
    ids.push((await client.post('/parties', samples.party())).body.id as string)
  return ids
}

/** The deliveries of a webhook, oldest first, once there are as many in a state that will do. */
export async function deliveries(
  client: TestClient,
  id: string,
  count: number,
  states: readonly string[],
  // oxlint-disable-next-line typescript/no-explicit-any
): Promise<any[]> {
  const found = await until(
    async () => (await client.get(`/webhooks/${id}/deliveries?limit=200`)).body.data as Row[],
    (rows) => rows.filter(({ state }) => states.includes(state)).length >= count,
  )
  return found.toReversed()
}

interface Row {
  state: string
}

/** Runs SQL behind the API, as the owner of the tables. */
export async function behind(sql: string, params: unknown[] = []): Promise<unknown[]> {
  const client = await owner()
  try {
    return (await client.query(sql, params)).rows
  } finally {
    await client.end()
  }
}
