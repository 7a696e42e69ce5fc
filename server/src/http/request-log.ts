/** One row per request, buffered here and written in batches after the answer. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Db } from '../db/db.ts'
import type { Caller } from '../kit/types.ts'

interface Entry {
  org_id: number
  at: string
  id: number
  request_id: string
  method: string
  route: string
  path: string
  status: number
  latency_ms: number
  key_id: number | null
  key_name: string | null
  error_code: string | null
}

/** Entries wait at most this long, so a kill -9 loses at most this much of the log. */
const FLUSH_MS = 100
const BATCH_MAX = 500
/** Beyond this many waiting entries the newest are dropped and counted: requests matter more than their log. */
const WAITING_MAX = 50_000

export class RequestLog {
  dropped = 0
  private readonly db: Db
  private readonly warn: (error: unknown) => void
  private waiting: Entry[] = []
  private timer: NodeJS.Timeout | null = null
  private writing: Promise<void> = Promise.resolve()
  // Orders entries of one millisecond and process; the start time keeps processes apart.
  private serial = Date.now() * 1_000

  constructor(db: Db, warn: (error: unknown) => void) {
    this.db = db
    this.warn = warn
  }

  add(entry: Omit<Entry, 'id'>): void {
    if (this.waiting.length >= WAITING_MAX) {
      this.dropped++
      return
    }
    this.waiting.push({ ...entry, id: this.serial++ })
    if (this.waiting.length >= BATCH_MAX) this.write()
    else this.timer ??= setTimeout(() => this.write(), FLUSH_MS)
  }

  /** Writes what waits; for shutdown and for tests that read the log. */
  async flush(): Promise<void> {
    this.write()
    await this.writing
  }

  private write(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    const batch = this.waiting
    this.waiting = []
    if (batch.length === 0) return
    const sql = 'select app.write_request_log($1::json)'
    this.writing = this.writing
      .then(async () => void (await this.db.flyControl(sql, [JSON.stringify(batch)])))
      .catch((error: unknown) => {
        this.dropped += batch.length
        this.warn(error)
      })
  }
}

export function requestLog(app: FastifyInstance, log: RequestLog): void {
  app.addHook('onResponse', (request, reply, done) => {
    add(log, request, reply)
    done()
  })
  // An answer whose connection broke never comes to onResponse: an upload cut off before it, a download during it.
  app.addHook('onSend', (request, reply, _payload, done) => {
    const { raw } = reply
    if (raw.destroyed) add(log, request, reply)
    else
      raw.once('close', () => {
        if (!raw.writableFinished && !raw.errored) add(log, request, reply)
      })
    done()
  })
}

function add(log: RequestLog, request: FastifyRequest, reply: FastifyReply): void {
  const caller = request.caller as Caller | null
  if (!caller) return
  const question = request.url.indexOf('?')
  log.add({
    org_id: caller.org_id,
    at: new Date().toISOString(),
    request_id: request.id,
    method: request.method,
    route: request.routeOptions.url ?? '(none)',
    path: (question < 0 ? request.url : request.url.slice(0, question)).slice(0, 500),
    status: reply.statusCode,
    latency_ms: Math.round(reply.elapsedTime * 1_000) / 1_000,
    key_id: caller.key_id,
    key_name: caller.key_name,
    error_code: request.problem,
  })
}
