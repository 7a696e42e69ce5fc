/**
 * The request path's way to the database: a few connections, many requests in flight on each.
 *
 * A flight is a list of statements sent with one Sync: PostgreSQL runs them as one transaction and answers all of them
 * in one round trip, so `select app.set_org($1)` and the query it protects travel together. `pg` connects and
 * authenticates; after that this file writes and reads the protocol itself, because `pg` refuses several statements
 * per Sync in pipeline mode and decodes every column to a string, which pages of rendered JSON do not need.
 */
import { Buffer } from 'node:buffer'
import { Socket } from 'node:net'
import { Client, DatabaseError } from 'pg'
import type { ClientConfig } from 'pg'
import { cells, databaseError, Writer } from './messages.ts'

export type Param = string | number | bigint | boolean | Buffer | null

export interface Statement {
  sql: string
  params: readonly Param[]
  /** Gathers the first column of all rows in one buffer, separated by commas, for pages of rendered JSON. */
  gather?: Gather
}

/** One row: the columns' bytes as PostgreSQL's text format, null for SQL null. */
export type Cells = (Buffer | null)[]

interface Flight {
  statements: readonly Statement[]
  results: Cells[][]
  at: number
  error: DatabaseError | null
  resolve: (results: Cells[][]) => void
  reject: (error: Error) => void
}

/** Bytes of the first column of many rows, joined by commas; the row itself then starts at its second column. */
export class Gather {
  private buffer: Buffer
  private length: number
  private readonly headEnd: number
  /** Where each row's bytes end. */
  private readonly ends: number[] = []

  /**
   * @param head bytes that stand before the first row.
   * @param buffer where to gather; a larger one takes its place when it is full.
   */
  constructor(head: string, buffer: Buffer) {
    this.buffer = buffer
    this.length = buffer.write(head, 'latin1')
    this.headEnd = this.length
  }

  add(data: Buffer, start: number, end: number): void {
    const size = end - start + 1
    if (this.length + size > this.buffer.length) this.grow(size)
    if (this.ends.length > 0) this.buffer[this.length++] = 0x2c
    this.length += data.copy(this.buffer, this.length, start, end)
    this.ends.push(this.length)
  }

  /** Forgets every row, for a flight that is flown again. */
  restart(): void {
    this.length = this.headEnd
    this.ends.length = 0
  }

  /** The bytes up to row `count`, followed by `tail`. */
  finish(count: number, tail: string): Buffer {
    this.length = count > 0 ? (this.ends[count - 1] ?? this.length) : this.headEnd
    const size = Buffer.byteLength(tail)
    if (this.length + size > this.buffer.length) this.grow(size)
    this.length += this.buffer.write(tail, this.length)
    return this.buffer.subarray(0, this.length)
  }

  /** The buffer in use now, for giving it back to a pool once the bytes are sent. */
  get memory(): Buffer {
    return this.buffer
  }

  private grow(size: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.length + size))
    this.buffer.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }
}

/** Size of the buffer each connection reads into; one read takes all that PostgreSQL has sent by then. */
const READ_BYTES = 256 * 1024

/** Statements a connection keeps prepared; the SQL of list endpoints varies with their filters. */
const PREPARED_MAX = 500

/** A pool of pipelined connections; each flight goes to the one with the fewest flights in the air. */
export class Pipeline {
  private readonly config: ClientConfig
  private readonly size: number
  private readonly lines: (Line | null)[] = []
  private readonly opening = new Map<number, Promise<Line>>()
  private closed = false

  constructor(config: ClientConfig, size: number) {
    this.config = config
    this.size = size
    for (let i = 0; i < size; i++) this.lines.push(null)
  }

  /** Opens every connection; later flights reopen what the database closed. */
  async open(): Promise<void> {
    await Promise.all(this.lines.map((_, slot) => this.line(slot)))
  }

  /**
   * Runs the statements as one transaction in one round trip.
   * @returns the rows of each statement.
   * @throws DatabaseError of the first statement that failed; then none of them has an effect.
   */
  async fly(statements: readonly Statement[]): Promise<Cells[][]> {
    const line = await this.pick()
    try {
      return await line.fly(statements)
    } catch (error) {
      // A statement prepared on this connection is gone or its tables changed: prepare it anew, once.
      const code = error instanceof DatabaseError ? error.code : undefined
      if (code !== '26000' && code !== '0A000') throw error
      line.forget(statements)
      for (const { gather } of statements) gather?.restart()
      return await line.fly(statements)
    }
  }

  /** Connections that are open, and flights in the air on all of them. */
  get load(): { open: number; pending: number } {
    const open = this.lines.filter((line) => line !== null && !line.broken)
    return { open: open.length, pending: open.reduce((sum, line) => sum + (line?.pending ?? 0), 0) }
  }

  async close(): Promise<void> {
    this.closed = true
    await Promise.all(this.lines.map(async (line) => line?.end()))
  }

  private async pick(): Promise<Line> {
    let best: Line | null = null
    for (let slot = 0; slot < this.size; slot++) {
      const line = this.lines[slot]
      if (!line || line.broken) return await this.line(slot)
      if (!best || line.pending < best.pending) best = line
    }
    if (!best) throw new Error('the pipeline has no connections')
    return best
  }

  private async line(slot: number): Promise<Line> {
    if (this.closed) throw new Error('the database connections are closed')
    const pending = this.opening.get(slot)
    if (pending) return await pending
    const opening = Line.open(this.config)
      .catch((cause: Error) => {
        throw new Error(`the database connections cannot be opened: ${cause.message}`, { cause })
      })
      .finally(() => this.opening.delete(slot))
    this.opening.set(slot, opening)
    const line = await opening
    this.lines[slot] = line
    return line
  }
}

/** One connection: writes flights back to back and matches the answers in order. */
class Line {
  broken = false
  private readonly socket: Socket
  private readonly client: Client
  private readonly prepared = new Map<string, string>()
  /** Statements to close on the server with the next flight. */
  private readonly closing: string[] = []
  /** Those in the air, after those that landed: null, so that their rows are not kept. */
  private readonly flights: (Flight | null)[] = []
  private head = 0
  private names = 0
  private rest: Buffer | null = null

  private constructor(client: Client, socket: Socket) {
    this.client = client
    this.socket = socket
  }

  static async open(config: ClientConfig): Promise<Line> {
    let line: Line | null = null
    // One buffer per connection instead of a new one per read; while `pg` signs in, it gets copies as usual.
    const socket = new Socket({
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (size, buffer) => {
          const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, size)
          if (line) line.read(chunk)
          else socket.emit('data', Buffer.from(chunk))
          return true
        },
      },
    })
    const client = new Client({ ...config, stream: () => socket })
    await client.connect()
    // With TLS `connection.stream` is the encrypted socket around ours.
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
    stream.removeAllListeners('data')
    const opened = new Line(client, stream)
    if (stream === socket) line = opened
    else stream.on('data', (chunk: Buffer) => opened.read(chunk))
    const lost = (cause?: Error): void =>
      opened.fail(new Error('the database closed the connection', { cause }))
    stream.on('close', () => lost())
    client.on('error', lost)
    return opened
  }

  get pending(): number {
    return this.flights.length - this.head
  }

  async fly(statements: readonly Statement[]): Promise<Cells[][]> {
    return await new Promise((resolve, reject) => {
      if (this.broken) {
        reject(new Error('the database closed the connection'))
        return
      }
      const results: Cells[][] = statements.map(() => [])
      this.flights.push({ statements, results, at: 0, error: null, resolve, reject })
      this.socket.write(this.encode(statements))
    })
  }

  forget(statements: readonly Statement[]): void {
    for (const { sql } of statements) {
      const name = this.prepared.get(sql)
      if (name === undefined) continue
      this.prepared.delete(sql)
      this.closing.push(name)
    }
  }

  async end(): Promise<void> {
    if (this.broken) return
    this.broken = true
    this.socket.end(Buffer.from([0x58, 0, 0, 0, 4]))
    await new Promise((resolve) => this.socket.once('close', resolve))
  }

  private encode(statements: readonly Statement[]): Buffer {
    const writer = new Writer()
    for (const name of this.closing.splice(0)) writer.closeStatement(name)
    for (const { sql, params } of statements) {
      let name = this.prepared.get(sql)
      if (name === undefined) {
        if (this.prepared.size >= PREPARED_MAX) this.evict(writer)
        name = `s${this.names++}`
        this.prepared.set(sql, name)
        writer.parse(name, sql)
      }
      writer.bindAndExecute(name, params)
    }
    return writer.sync()
  }

  /** Closes the statement prepared longest ago; the server forgets it with this flight. */
  private evict(writer: Writer): void {
    const oldest = this.prepared.entries().next().value
    if (!oldest) return
    this.prepared.delete(oldest[0])
    writer.closeStatement(oldest[1])
  }

  /** Takes the next bytes; `chunk` is only valid during the call. */
  private read(chunk: Buffer): void {
    let offset = this.rest ? this.complete(this.rest, chunk) : 0
    while (offset + 5 <= chunk.length) {
      const end = offset + 1 + chunk.readUInt32BE(offset + 1)
      if (end > chunk.length) break
      this.message(chunk[offset] as number, chunk, offset + 5, end)
      offset = end
    }
    if (offset < chunk.length) this.rest = Buffer.from(chunk.subarray(offset))
  }

  /** Finishes the message that began in an earlier read. @returns how much of the chunk it took. */
  private complete(rest: Buffer, chunk: Buffer): number {
    let message = rest
    let taken = 0
    if (message.length < 5) {
      taken = Math.min(5 - message.length, chunk.length)
      message = Buffer.concat([message, chunk.subarray(0, taken)])
    }
    if (message.length >= 5) {
      const missing = 1 + message.readUInt32BE(1) - message.length
      const more = Math.min(missing, chunk.length - taken)
      message = Buffer.concat([message, chunk.subarray(taken, taken + more)])
      taken += more
      if (more === missing) {
        this.rest = null
        this.message(message[0] as number, message, 5, message.length)
        return taken
      }
    }
    this.rest = message
    return taken
  }

  private message(type: number, data: Buffer, start: number, end: number): void {
    const flight = this.flights[this.head]
    if (!flight) return
    switch (type) {
      case 0x44: // DataRow
        flight.results[flight.at]?.push(cells(data, start, flight.statements[flight.at]?.gather))
        return
      case 0x43: // CommandComplete
      case 0x49: // EmptyQueryResponse
        flight.at++
        return
      case 0x45: // ErrorResponse
        flight.error = databaseError(data, start, end)
        return
      case 0x5a: // ReadyForQuery
        this.land(flight)
        return
      default: // ParseComplete, BindComplete, CloseComplete, notices, parameter status
    }
  }

  private land(flight: Flight): void {
    this.flights[this.head++] = null
    if (this.head > 1_000) {
      this.flights.splice(0, this.head)
      this.head = 0
    }
    if (!flight.error) {
      flight.resolve(flight.results)
      return
    }
    // Which of the flight's Parse messages arrived before the error is not known: prepare them anew when next used.
    this.forget(flight.statements.slice(flight.at))
    flight.reject(flight.error)
  }

  private fail(error: Error): void {
    if (this.broken) return
    this.broken = true
    for (const flight of this.flights.splice(this.head)) flight?.reject(error)
    this.client.end().catch(() => {})
  }
}
