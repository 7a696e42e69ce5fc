/** Receivers that do everything a receiver should not. */
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { gzipSync } from 'node:zlib'
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { lags, percentile, Receiver } from '../receiver.ts'
import type { Behaviour } from '../receiver.ts'
import { pause, until } from '../service.ts'
import type { Service } from '../service.ts'
import { committed, hook, startService } from '../webhooks.ts'
import { Writers } from '../writers.ts'

const SECONDS = 40
const MEMORY_MB = 50

/** Bytes as fast as they are taken, up to a gigabyte. */
const flood: Behaviour = (response) => {
  const block = Buffer.alloc(64 * 1024, 'x')
  let left = 2 ** 30
  response.writeHead(500)
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= block.length
      if (!response.write(block)) {
        response.once('drain', more)
        return
      }
    }
    response.end()
  }
  more()
}

/** Made once: making them takes the time that is measured. */
const BOMB = gzipSync(Buffer.alloc(50 * 1024 * 1024))
const HEADERS = Array.from({ length: 10_000 }, (_, n) => `x-${n}: ${n}`).join('\r\n')

/** A byte a second. */
const drip: Behaviour = (response) => {
  response.writeHead(200, { 'content-length': '100000' })
  const timer = setInterval(() => response.write('x'), 1_000)
  response.once('close', () => clearInterval(timer))
}

const faults: Record<string, Behaviour> = {
  'status 500': (response) => response.writeHead(500).end('no'),
  '429 with Retry-After': (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
  'redirect to itself': (response) => response.writeHead(301, { location: '/hook' }).end(),
  'reset after headers': (response) => {
    response.writeHead(200, { 'content-length': '10' })
    response.flushHeaders()
    setTimeout(() => response.destroy(), 5)
  },
  'a byte a second': drip,
  'no headers ever': () => {},
  'a gigabyte of body': flood,
  'a gzip bomb': (response) => {
    response.writeHead(500, { 'content-encoding': 'gzip' })
    response.end(BOMB)
  },
  'invalid UTF-8': (response) => response.writeHead(500).end(Buffer.from([0xff, 0xfe, 0xc3, 0x28])),
  '10,000 headers': (response) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\n${HEADERS}\r\n\r\n`)
  },
}

export const receiverFaults: Scenario = {
  row: 5,
  fault: `receivers with ${Object.keys(faults).join(', ')}, and one that speaks no TLS`,
  pass: `the worker grows by less than ${MEMORY_MB} MB; the healthy receiver is as quick as before`,
  run: async (size) => {
    const service = await startService({ GRID_WEBHOOK_TIMEOUT_S: '5' })
    const healthy = await Receiver.start()
    const bad = await Promise.all(
      Object.values(faults).map(async (one) => await Receiver.start(one)),
    )
    const silent = await plainSocket()
    try {
      await hook(service, healthy)
      const seconds = Math.max(6, SECONDS * size)
      const before = await measure(service, healthy, seconds / 2)
      const ended = await memoryOf(service)
      for (const receiver of bad) await hook(service, receiver, { max_concurrency: 10 })
      await hook(service, { url: `https://127.0.0.1:${(silent.address() as AddressInfo).port}/` })
      const during = await measure(service, healthy, seconds)
      const grown = (await memoryOf(service)) - ended
      const events = await committed(service)
      await until('the healthy one has all', () =>
        Promise.resolve(events.difference(healthy.events).size === 0),
      )
      const p99 = [before, during].map((receipts) => percentile(lags(receipts), 0.99))
      const [calm = 0, stormy = 0] = p99
      return counted(
        events.size,
        { duplicated: healthy.receipts.length - healthy.events.size },
        `healthy p99 ${calm} ms before and ${stormy} ms beside ${bad.length + 1} faulty ones; memory grew by ${grown} MB`,
        grown < MEMORY_MB &&
          stormy < Math.max(200, calm * 3) &&
          bad.every((one) => one.receipts.length > 0),
      )
    } finally {
      silent.close()
      await Promise.all([healthy, ...bad].map(async (one) => await one.end()))
      await service.end()
    }
  },
}

/** Writes at a steady pace. @returns what the receiver got meanwhile. */
async function measure(
  service: Service,
  receiver: Receiver,
  seconds: number,
): Promise<Receiver['receipts']> {
  const first = receiver.receipts.length
  const writers = new Writers(service, 2)
  await pause(seconds * 1_000)
  await writers.stop()
  await pause(500)
  return receiver.receipts.slice(first)
}

async function memoryOf(service: Service): Promise<number> {
  await pause(500)
  return await service.memory()
}

async function plainSocket(): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end('this is not TLS\r\n')
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return server
}
