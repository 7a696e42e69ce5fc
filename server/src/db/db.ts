/** The product's database: pipelined connections for requests, a pool for everything that takes several steps. */
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { Pool } from 'pg'
import type { ClientConfig, PoolClient, QueryResult } from 'pg'
import { restriction } from '../kit/restriction.ts'
import type { Flights, OrgDb, Tx } from '../kit/types.ts'
import { Pipeline } from './pipeline.ts'
import type { Cells, Param, Statement } from './pipeline.ts'

/** Sets the organization whose rows the transaction sees; first in every transaction. */
const SET_ORG = 'select app.set_org($1::bigint)'

/** The same for a key of some properties: the transaction then has another role, with rights and policies of its own. */
const SET_SCOPE = 'select app.set_scope($1::bigint, $2::bigint[])'

/** Ids are handed out from blocks of this size, the increment of `app.id_seq`. */
const ID_BLOCK = 1_000

export class Db implements OrgDb {
  /** For other threads, which need connections of their own. */
  readonly config: ClientConfig
  readonly pool: Pool
  private readonly pipeline: Pipeline
  private nextId = 0
  private endId = 0
  private refill: Promise<void> | null = null

  constructor(config: ClientConfig, sizes: { pipelined: number; pooled: number }) {
    this.config = config
    this.pipeline = new Pipeline(config, sizes.pipelined)
    // Statements sent without waiting for those before them travel together.
    this.pool = new Pool({
      ...config,
      pipeline: true,
      max: sizes.pooled,
      idleTimeoutMillis: 30_000,
    })
    // A connection lost while idle is replaced when next needed.
    this.pool.on('error', () => {})
    // One lost at work fails the statement it worked on; nobody else has to hear of it.
    this.pool.on('connect', (client) => client.on('error', () => {}))
  }

  async open(): Promise<void> {
    await this.pipeline.open()
  }

  /** How busy the connections are, for the operator. */
  connections(): {
    pooled: { busy: number; idle: number; waiting: number }
    pipelined: { open: number; pending: number }
  } {
    const { totalCount, idleCount: idle, waitingCount: waiting } = this.pool
    return { pooled: { busy: totalCount - idle, idle, waiting }, pipelined: this.pipeline.load }
  }

  async close(): Promise<void> {
    await this.pipeline.close()
    await this.pool.end()
  }

  async fly(org_id: number, statements: readonly Statement[]): Promise<Cells[][]> {
    const properties = restriction()
    const results = await this.pipeline.fly(
      properties
        ? [scopeStatement(org_id, properties), ...statements.map(marked)]
        : [{ sql: SET_ORG, params: [org_id] }, ...statements],
    )
    results.shift()
    return results
  }

  /** A flight outside any organization: only control tables and the listed definer functions answer. */
  async flyControl(sql: string, params: readonly Param[]): Promise<Cells[]> {
    const [rows] = await this.pipeline.fly([{ sql, params }])
    return rows ?? []
  }

  async query<T>(org_id: number, sql: string, params: readonly unknown[]): Promise<T[]> {
    return await this.transaction(org_id, async (tx) => await tx.query<T>(sql, params))
  }

  async transaction<T>(org_id: number, run: (tx: Tx) => Promise<T>): Promise<T> {
    return await this.begin(org_id, run)
  }

  /** Statements on control tables, outside any organization. */
  async control<T>(run: (tx: Tx) => Promise<T>): Promise<T> {
    return await this.begin(null, run)
  }

  /** A connection of one's own for a long piece of work; other sessions can see by its pid whether it still lives. */
  async session(): Promise<Session> {
    const client = await this.pool.connect()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return {
      pid: rows[0]?.pid as number,
      transaction: async (org_id, run) => await within(client, org_id, run),
      flushed: async () => {
        const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
        await new Promise((resolve) => stream.write('', resolve))
      },
      release: () => client.release(),
    }
  }

  async ids(count: number): Promise<number[]> {
    const ids: number[] = []
    while (ids.length < count) {
      if (this.nextId === this.endId) {
        this.refill ??= this.takeBlocks(Math.ceil((count - ids.length) / ID_BLOCK))
        await this.refill
        continue
      }
      ids.push(this.nextId++)
    }
    return ids
  }

  private async takeBlocks(blocks: number): Promise<void> {
    try {
      // Blocks taken in one statement may not be adjacent when other processes take some: keep the first run only.
      const rows = await this.flyControl(
        `select nextval('app.id_seq') from generate_series(1, $1::integer)`,
        [blocks],
      )
      const starts = rows.map((row) => Number(String(row[0])))
      this.nextId = starts[0] as number
      this.endId = this.nextId + ID_BLOCK
      for (const start of starts.slice(1)) {
        if (start === this.endId) this.endId += ID_BLOCK
      }
    } finally {
      this.refill = null
    }
  }

  private async begin<T>(org_id: number | null, run: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    let broken: Error | undefined
    try {
      return await within(client, org_id, run, (error) => (broken = error))
    } finally {
      client.release(broken)
    }
  }
}

export interface Session {
  pid: number
  transaction: <T>(org_id: number, run: (tx: Tx) => Promise<T>) => Promise<T>
  /** Waits until the database has taken all that was sent. A busy thread feeds a large statement in drops. */
  flushed: () => Promise<void>
  release: () => void
}

/**
 * Runs in a transaction, of an organization unless that is null; `lost` hears of a connection that could not even roll
 * back.
 */
async function within<T>(
  client: PoolClient,
  org_id: number | null,
  run: (tx: Tx) => Promise<T>,
  lost: (error: Error) => void = () => {},
): Promise<T> {
  try {
    const begin = [client.query('begin')]
    if (org_id !== null) begin.push(enter(client, org_id))
    await inOrder(begin)
    const result = await run(asTx(client))
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(lost)
    throw error
  }
}

/** Chooses what the transaction sees, as the first thing in it. */
async function enter(client: PoolClient, org_id: number): Promise<QueryResult> {
  const properties = restriction()
  if (!properties) return await client.query(SET_ORG, [org_id])
  const { sql, params } = scopeStatement(org_id, properties)
  return await client.query(sql, [...params])
}

function scopeStatement(org_id: number, properties: readonly number[]): Statement {
  return { sql: SET_SCOPE, params: [org_id, `{${properties.join(',')}}`] }
}

/** A prepared statement is planned for one role: a text of its own keeps that of the others planned. */
function marked(statement: Statement): Statement {
  return { ...statement, sql: `${statement.sql} -- restricted` }
}

/**
 * Waits for statements of one transaction that were sent one behind the other. @returns what each came to.
 * @throws what the first that failed threw: the database refuses those behind it for its sake.
 */
export async function inOrder<const T extends readonly Promise<unknown>[]>(
  sent: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const ended = await Promise.allSettled(sent)
  const results = ended.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
  return results as { -readonly [K in keyof T]: Awaited<T[K]> }
}

/**
 * Flights as statements of the transaction, for reads while it keeps rows locked: a flight of its own may have to wait
 * behind a write that waits for those rows.
 */
export function flightsIn(tx: Tx): Flights {
  return {
    fly: async (_org_id, statements) => await inOrder(statements.map((one) => tx.cells(one))),
  }
}

function asTx(client: PoolClient): Tx {
  return {
    async query<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
      const result = await client.query(sql, [...params])
      return result.rows as T[]
    },
    async prepared<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
      const result = await client.query({ name: nameOf(sql), text: sql, values: [...params] })
      return result.rows as T[]
    },
    async cells({ sql, params }: Statement): Promise<Cells[]> {
      const raw = { name: nameOf(sql), text: sql, values: [...params], rowMode: 'array' as const }
      const { rows } = await client.query<(string | null)[]>({ ...raw, types: AS_TEXT })
      return rows.map((row) => row.map((cell) => (cell === null ? null : Buffer.from(cell))))
    },
  }
}

/** Of a prepared statement. */
function nameOf(sql: string): string {
  return createHash('sha1').update(sql).digest('base64')
}

/** Leaves values as the database writes them. */
const AS_TEXT = { getTypeParser: () => (text: string | Buffer) => text }
