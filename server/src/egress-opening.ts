/** How long it took to open the connection of a request, which is opened for one and kept for others. */
import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import type { buildConnector } from 'undici'

/** In milliseconds. */
export interface Opening {
  /** Null where the host is an address. */
  dns_ms: number | null
  connect_ms: number
  /** Null without TLS. */
  tls_ms: number | null
}

type Tell = (opening: Opening) => void

/** Connections that no request has used yet. */
const opened = new WeakMap<object, Opening>()
const listeners = new WeakMap<object, Tell>()
let listener: Tell | null = null

/**
 * Begins a request with undici.
 * @param tell hears of the connection once the request is sent, if it was opened for it.
 */
export function listening<T>(tell: Tell | undefined, begin: () => T): T {
  listener = tell ?? null
  try {
    return begin()
  } finally {
    listener = null
  }
}

subscribe('undici:request:create', (message) => {
  if (listener) listeners.set((message as { request: object }).request, listener)
})

subscribe('undici:client:sendHeaders', (message) => {
  const { request, socket } = message as { request: object; socket: object }
  const opening = opened.get(socket)
  if (!opening) return
  opened.delete(socket)
  listeners.get(request)?.(opening)
})

/** The connector, with the time of each of its steps noted. */
export function timed(connect: buildConnector.connector): buildConnector.connector {
  return (target, done) => {
    const start = performance.now()
    let resolved: number | null = null
    let connected: number | null = null
    const result: unknown = connect(target, (...[error, socket]) => {
      if (error) return done(error, null)
      const ready = performance.now()
      const from = resolved ?? start
      const to = connected ?? ready
      opened.set(socket, {
        dns_ms: resolved === null ? null : tenths(resolved - start),
        connect_ms: tenths(to - from),
        tls_ms: target.protocol === 'https:' ? tenths(ready - to) : null,
      })
      done(null, socket)
    })
    if (!(result instanceof Socket)) return
    result.once('lookup', () => (resolved = performance.now()))
    result.once('connect', () => (connected = performance.now()))
  }
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10
}
