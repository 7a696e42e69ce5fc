/** A receiver of webhooks on this machine, and what it remembers of each delivery. */
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Receipt {
  id: string
  at: number
  seq: number
  resource_seq: number
  /** The object the event tells of. */
  object: string
  /** When the event was written, epoch milliseconds. */
  created: number
  delivery: string
  trigger: string
  signature: string
  body: string
}

/** Answers a delivery that was read; whatever it does stands for the receiver's faults. */
export type Behaviour = (response: ServerResponse, receipt: Receipt) => void

export const accept: Behaviour = (response) => response.writeHead(200).end()

export class Receiver {
  readonly receipts: Receipt[] = []
  /** What it does with deliveries now. */
  behaviour: Behaviour
  /** Most deliveries that were open at once. */
  most = 0
  private open = 0
  private readonly server: Server

  private constructor(server: Server, behaviour: Behaviour) {
    this.server = server
    this.behaviour = behaviour
  }

  static async start(behaviour: Behaviour = accept): Promise<Receiver> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const receiver = new Receiver(server, behaviour)
    server.on('request', (request, response) => receiver.take(request, response))
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`
  }

  /** Ids of the events that came, each once. */
  get events(): Set<string> {
    return new Set(this.receipts.map(({ id }) => id))
  }

  async end(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    this.most = Math.max(this.most, ++this.open)
    response.once('close', () => this.open--)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const payload = JSON.parse(body)
      const header = (name: string): string => String(request.headers[name] ?? '')
      const receipt = {
        id: header('x-grid-event-id'),
        at: Date.now(),
        seq: Number(payload.seq ?? 0),
        resource_seq: Number(payload.resource_seq ?? 0),
        object: String(payload.data?.object?.id ?? ''),
        created: Date.parse(payload.created_at),
        delivery: header('x-grid-delivery-id'),
        trigger: header('x-grid-trigger'),
        signature: header('x-grid-signature'),
        body,
      }
      this.receipts.push(receipt)
      this.behaviour(response, receipt)
    })
    request.on('error', () => {})
  }
}

/** How long after its commit each event came first, in milliseconds, ascending. */
export function lags(receipts: readonly Receipt[]): number[] {
  const first = new Map<string, number>()
  for (const { id, at, created } of receipts) if (!first.has(id)) first.set(id, at - created)
  return [...first.values()].sort((a, b) => a - b)
}

/** @param share 0 to 1. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** Deliveries that came after a newer state of their object, those repeated left out. */
export function outOfOrder(receipts: readonly Receipt[]): number {
  const latest = new Map<string, number>()
  const seen = new Set<string>()
  let count = 0
  for (const { id, object, resource_seq } of receipts) {
    if (seen.has(id)) continue
    seen.add(id)
    if (resource_seq < (latest.get(object) ?? 0)) count++
    else latest.set(object, resource_seq)
  }
  return count
}
