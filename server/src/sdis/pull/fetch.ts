/** The first phase of a job that pulls: its records become a file, which then is loaded like any other. */
import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { allowing } from '../../addresses.ts'
import type { Config } from '../../config.ts'
import { COMING } from '../../documents/index.ts'
import { Egress } from '../../egress.ts'
import { publicId } from '../../kit/ids.ts'
import { secretsOf } from '../../secrets.ts'
import type { Secrets } from '../../secrets.ts'
import { announce } from '../running.ts'
import type { Running } from '../running.ts'
import { Authorizer } from './authorize.ts'
import { connectionSecret, findNamed } from './connection-queries.ts'
import { lastCursor, savePulled } from './pull-queries.ts'
import { postgresRows } from './postgres-queries.ts'
import { at, restPages } from './rest.ts'
import { PULL_LIMITS, SourceError } from './types.ts'
import type { Connection, Pulled, PullLimits, PullSource, PullState } from './types.ts'

/** Progress is saved at most this often, and a request to cancel is heard then. */
const QUIET_MS = 1_000

/** Lines are written in pieces of this size. */
const PIECE_BYTES = 256 * 1024

/** Settings that pulls need. */
export type PullSettings = Pick<
  Config,
  'GRID_SOURCE_ALLOW_CIDRS' | 'GRID_MASTER_KEY' | 'GRID_DATA_DIR'
>

/** What pulls need of the process. */
export interface Pulling {
  egress: Egress
  secrets: Secrets
  config: Pick<Config, 'GRID_SOURCE_ALLOW_CIDRS'>
  limits?: PullLimits
}

/** What pulls need, made from the settings. */
export function pullingOf(settings: PullSettings): Pulling {
  const egress = new Egress({ allow_networks: settings.GRID_SOURCE_ALLOW_CIDRS })
  return { egress, secrets: secretsOf(settings), config: settings }
}

/** How a source asks for what changed: nothing before the last value less the look-back. */
interface Since {
  state: PullState
  /** Greatest value met before. */
  last: string | null
  from: string | null
}

/** The source of an adapter when its records are pulled; null for a file. */
export function pullSource(source: { kind: string }): PullSource | null {
  return source.kind === 'rest' || source.kind === 'postgres' ? (source as PullSource) : null
}

/**
 * Pulls the records of the job's source into its file, from the beginning: a job that was interrupted begins again. The
 * file appears whole or not at all.
 * @returns whether anything was pulled: not when an earlier attempt has done it.
 * @throws SourceError when the source cannot be read; nothing has been changed then.
 */
export async function pullFile(running: Running, pulling: Pulling, file: string): Promise<boolean> {
  const { job, session, lease_id } = running
  const source = pullSource(job.adapter.source)
  if (!source || job.file_bytes > 0 || job.pulled) return false
  const connection = await connectionOf(running, source)
  const since = await sinceOf(running, connection)
  const sink = await Sink.open(file + COMING)
  const count = { pages: 0, bytes: 0, waited_ms: 0 }
  const limits = pulling.limits ?? PULL_LIMITS
  const giveUp = new AbortController()
  const late = setTimeout(
    () => giveUp.abort(new SourceError('source_too_slow', 'The pull takes longer than it may.')),
    limits.max_ms,
  )
  const signal = AbortSignal.any([running.stopping, giveUp.signal])
  const progress = new Progress(running, (error) => giveUp.abort(error))
  try {
    const lines = linesOf({ connection, source, since, pulling, limits, signal, count })
    for await (const { line, cursor } of lines) {
      await sink.write(line)
      sink.meet(cursor)
      if (sink.rows > limits.max_rows)
        throw new SourceError(
          'source_too_large',
          `The source gives more than ${limits.max_rows} records.`,
        )
      if (sink.bytes > limits.max_bytes)
        throw new SourceError(
          'source_too_large',
          `The records take more than ${limits.max_bytes} bytes.`,
        )
    }
    const { sha256, bytes, rows } = await sink.close()
    await progress.end()
    signal.throwIfAborted()
    await rename(file + COMING, file)
    const pulled: Pulled = {
      connection_id: publicId('cnx', connection.id),
      cursor_from: since?.from ?? null,
      cursor_to: greater(sink.greatest, since?.last ?? null),
      rows,
      pages: count.pages,
      bytes: Math.max(count.bytes, bytes),
      waited_ms: count.waited_ms,
    }
    Object.assign(job, { file_bytes: bytes, file_sha256: sha256, pulled })
    await session.transaction(job.org_id, async (tx) => await savePulled(tx, job, lease_id))
    return true
  } catch (error) {
    await sink.abandon()
    throw signal.aborted && !(error instanceof SourceError) ? (signal.reason as Error) : error
  } finally {
    clearTimeout(late)
    await progress.end()
  }
}

/** Saves how far a pull is, now and then. The session has room for one transaction: nothing else uses it before the end. */
class Progress {
  private underWay: Promise<void> | null = null
  private readonly timer: NodeJS.Timeout

  /** @param failed hears of what keeps the job from going on. */
  constructor(running: Running, failed: (error: unknown) => void) {
    this.timer = setInterval(() => {
      this.underWay ??= announce(running, 'fetching')
        .catch(failed)
        .finally(() => (this.underWay = null))
    }, QUIET_MS)
  }

  async end(): Promise<void> {
    clearInterval(this.timer)
    await this.underWay
  }
}

async function connectionOf(
  { store, job }: Running,
  { connection }: PullSource,
): Promise<Connection> {
  const found = await findNamed(store.db, job.org_id, connection)
  if (!found) throw new SourceError('connection_missing', `There is no connection ${connection}.`)
  return found
}

async function sinceOf({ store, job }: Running, connection: Connection): Promise<Since | null> {
  const { since: state, adapter } = job.adapter
  if (!state) return null
  const last = await lastCursor(store.db, job.org_id, connection.id, adapter)
  return { state, last, from: last === null ? null : lookedBack(last, state.lookback) }
}

interface Pull {
  connection: Connection
  source: PullSource
  since: Since | null
  pulling: Pulling
  limits: PullLimits
  signal: AbortSignal
  count: { pages: number; bytes: number; waited_ms: number }
}

async function* linesOf(pull: Pull): AsyncGenerator<{ line: string; cursor: string | null }> {
  const { connection, source, since, pulling, limits, signal, count } = pull
  const secret = connectionSecret(pulling.secrets, connection)
  const field = since ? fieldOf(since.state) : null
  if (connection.kind === 'postgres' && source.kind === 'postgres') {
    const allowed = allowing(pulling.config.GRID_SOURCE_ALLOW_CIDRS)
    const from = field === null ? {} : { since: { cursor: field, from: since?.from ?? null } }
    const rows = postgresRows({
      settings: connection.settings,
      secret,
      source,
      allowed,
      signal,
      ...from,
    })
    for await (const batch of rows)
      for (const { text, cursor } of batch) yield { line: text, cursor }
    return
  }
  if (connection.kind !== 'rest' || source.kind !== 'rest')
    throw new SourceError(
      'connection_kind',
      `The connection is one to ${connection.kind}, the source is ${source.kind}.`,
    )
  const { egress } = pulling
  const { settings } = connection
  const authorizer = new Authorizer(settings.auth, secret, egress)
  const param = since?.state.param
  const asked = param && since?.from ? { since: { [param]: since.from } } : {}
  for await (const page of restPages({
    egress,
    settings,
    source,
    authorizer,
    limits,
    signal,
    count,
    ...asked,
  }))
    for (const record of page) {
      const value = field === null ? null : at(record, field)
      const plain = typeof value === 'string' || typeof value === 'number'
      yield { line: JSON.stringify(record), cursor: plain ? String(value) : null }
    }
}

/** `row.updated_at` and `updated_at` are the same field. */
function fieldOf({ cursor }: PullState): string {
  return cursor.replace(/^row\./, '')
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Where the next pull begins: a source may have changed rows while the last one went on, and may round its times. A time
 * comes back as one, a number as one; what is neither is taken as it is.
 */
export function lookedBack(last: string, lookback: string | undefined): string {
  if (lookback === undefined) return last
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)([mhd]?)$/.exec(lookback) ?? []
  if (unit === '')
    return Number.isFinite(Number(last)) ? String(Number(last) - Number(amount)) : last
  // A time of a database without a zone is one of UTC here; the look-back is longer than what that can be off.
  const time = Date.parse(/\d[+-]\d\d$/.test(last) ? `${last}:00` : last)
  if (Number.isNaN(time)) return last
  return new Date(time - Number(amount) * (UNITS[unit] ?? 0)).toISOString()
}

/** The later of two values of a cursor: as numbers or times when both are, else as texts. */
export function greater(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b
  const rank = (text: string): number =>
    text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : Date.parse(text)
  const [x, y] = [rank(a), rank(b)]
  if (Number.isNaN(x) || Number.isNaN(y) || x === y) return a > b ? a : b
  return x > y ? a : b
}

/** A file of lines that grows. */
class Sink {
  rows = 0
  bytes = 0
  greatest: string | null = null
  private readonly path: string
  private readonly handle: FileHandle
  private readonly hash = createHash('sha256')
  private waiting: string[] = []
  private held = 0

  private constructor(path: string, handle: FileHandle) {
    this.path = path
    this.handle = handle
  }

  static async open(path: string): Promise<Sink> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return new Sink(path, await open(path, 'w', 0o600))
  }

  async write(line: string): Promise<void> {
    this.rows++
    this.bytes += Buffer.byteLength(line) + 1
    this.held += line.length
    this.waiting.push(line)
    if (this.held >= PIECE_BYTES) await this.flush()
  }

  /** Remembers the greatest cursor. */
  meet(cursor: string | null): void {
    this.greatest = greater(this.greatest, cursor)
  }

  async close(): Promise<{ sha256: string; bytes: number; rows: number }> {
    await this.flush()
    await this.handle.sync()
    await this.handle.close()
    return { sha256: this.hash.digest('hex'), bytes: this.bytes, rows: this.rows }
  }

  async abandon(): Promise<void> {
    await this.handle.close().catch(() => {})
    await rm(this.path, { force: true })
  }

  private async flush(): Promise<void> {
    if (this.waiting.length === 0) return
    const piece = Buffer.from(`${this.waiting.join('\n')}\n`)
    this.waiting = []
    this.held = 0
    this.hash.update(piece)
    await this.handle.writeFile(piece)
  }
}
