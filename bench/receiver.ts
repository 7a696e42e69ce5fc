/**
 * A receiver of deliveries that costs next to nothing, in a process of its own: counts requests, and notes when each event
 * came. Prints its port; answers GET with its figures, and starts anew with DELETE.
 */
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** What a receiver has seen. */
export interface Received {
  count: number
  /** Times of the first and the last request, in milliseconds. */
  first_at: number
  last_at: number
  /** When each event came, by its id. */
  receipts: [event_id: string, at: number][]
}

const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')

let seen: Received = { count: 0, first_at: 0, last_at: 0, receipts: [] }

function take(head: string): void {
  const now = performance.timeOrigin + performance.now()
  if (seen.count++ === 0) seen.first_at = now
  seen.last_at = now
  seen.receipts.push([/webhook-id: (\S+)/i.exec(head)?.[1] ?? '', now])
}

function tell(socket: Socket): void {
  const text = JSON.stringify(seen)
  socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
}

const server = createServer((socket) => {
  let rest = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    for (;;) {
      const end = rest.indexOf(HEAD_END)
      if (end < 0) return
      const head = rest.toString('latin1', 0, end)
      if (head.startsWith('GET')) return tell(socket)
      if (head.startsWith('DELETE')) {
        seen = { count: 0, first_at: 0, last_at: 0, receipts: [] }
        return tell(socket)
      }
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      const next = end + HEAD_END.length + length
      if (rest.length < next) return
      take(head)
      socket.write(OK)
      rest = rest.subarray(next)
    }
  })
})

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
