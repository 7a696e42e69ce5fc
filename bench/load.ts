/**
 * A lean HTTP client in a process of its own: raw keep-alive connections, one request at a time on each, as pgbench does
 * with its clients. Reads a Plan from standard input and writes a Report to standard output.
 */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** Taken before the next read begins, so all connections share it. */
const READ = Buffer.from(new ArrayBuffer(1024 * 1024))

export interface Plan {
  port: number
  key: string
  connections: number
  seconds: number
  method: 'GET' | 'POST' | 'PATCH'
  /** Paths to choose from at random. */
  paths: string[]
  body: string | null
  /** Sends a new Idempotency-Key with every request. */
  idempotent: boolean
  /** Requests a second; as many as there can be unless given. */
  pace?: number
}

export interface Report {
  per_second: number
  p50_ms: number
  p95_ms: number
  p99_ms: number
  failed: number
}

function head(plan: Plan, serial: number): string {
  const path = plan.paths[Math.floor(Math.random() * plan.paths.length)] as string
  const lines = [`${plan.method} ${path} HTTP/1.1`, 'host: bench', `x-api-key: ${plan.key}`]
  if (plan.idempotent) lines.push(`idempotency-key: ${process.pid}-${serial}`)
  if (plan.body === null) return `${lines.join('\r\n')}\r\n\r\n`
  const body = plan.body.replace('$SERIAL', String(serial))
  lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Gives each request its turn: at once, or at a pace. What is late is sent as soon as a connection is free. */
class Turns {
  private readonly waiting: (() => void)[] = []
  private readonly until: number
  private given = 0

  constructor({ pace }: Plan, started: number, until: number) {
    this.until = until
    if (pace === undefined) {
      this.next = (send) => send()
      return
    }
    const timer = setInterval(() => {
      const now = performance.now()
      const over = now > until
      const due = over ? Infinity : ((now - started) / 1_000) * pace
      for (; this.given < due && this.waiting.length > 0; this.given++) this.waiting.shift()?.()
      if (over && this.waiting.length === 0) clearInterval(timer)
    }, 1)
  }

  next = (send: () => void): void => {
    if (performance.now() > this.until) send()
    else this.waiting.push(send)
  }
}

async function client(
  plan: Plan,
  until: number,
  times: number[],
  state: { serial: number; failed: number; turns: Turns },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect({
      port: plan.port,
      host: '127.0.0.1',
      // One buffer, so that large answers cost few reads and leave nothing behind.
      onread: {
        buffer: READ,
        callback: (size, buffer) => read(Buffer.from(buffer.buffer, 0, size)),
      },
    })
    let missing = -1
    let sent = 0
    const send = (): void => {
      if (performance.now() > until) {
        socket.destroy()
        resolve()
        return
      }
      missing = -1
      sent = performance.now()
      socket.write(head(plan, state.serial++))
    }
    const next = (): void => state.turns.next(send)
    socket.on('connect', next)
    socket.on('error', reject)
    const read = (chunk: Buffer): boolean => {
      if (missing < 0) {
        const end = chunk.indexOf('\r\n\r\n')
        const lines = chunk.toString('latin1', 0, end)
        if (!/^HTTP\/1.1 20\d/.test(lines)) state.failed++
        missing = end + 4 + Number(/content-length: (\d+)/i.exec(lines)?.[1] ?? 0)
      }
      missing -= chunk.length
      if (missing > 0) return true
      times.push(performance.now() - sent)
      next()
      return true
    }
  })
}

async function run(plan: Plan): Promise<Report> {
  const times: number[] = []
  const started = performance.now()
  const until = started + plan.seconds * 1_000
  const state = { serial: 0, failed: 0, turns: new Turns(plan, started, until) }
  await Promise.all(
    Array.from({ length: plan.connections }, async () => await client(plan, until, times, state)),
  )
  const seconds = (performance.now() - started) / 1_000
  times.sort((a, b) => a - b)
  const at = (share: number): number =>
    Math.round((times[Math.floor(times.length * share)] ?? 0) * 100) / 100
  return {
    per_second: Math.round(times.length / seconds),
    p50_ms: at(0.5),
    p95_ms: at(0.95),
    p99_ms: at(0.99),
    failed: state.failed,
  }
}

if (process.argv[1]?.endsWith('load.ts')) {
  const plan = JSON.parse(await text(process.stdin)) as Plan
  process.stdout.write(JSON.stringify(await run(plan)))
}
