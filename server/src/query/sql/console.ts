/** Runs a statement of the console: judged, priced, then read row by row under limits, and written to the audit log. */
import { createHash, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { DatabaseError, Pool } from 'pg'
import type { PoolClient, QueryArrayResult } from 'pg'
import { consoleConfig } from '../../db/console-role.ts'
import type { Db } from '../../db/db.ts'
import { ApiError } from '../../kit/errors.ts'
import type { Tx } from '../../kit/types.ts'
import { planOf } from '../plan.ts'
import { refuseCostly, timedOut } from '../run.ts'
import { carryToken, limitTime } from '../session-queries.ts'
import { TIMEOUT_MS } from '../types.ts'
import { closeContext, openContext } from './context-queries.ts'
import { typeOf, valueOf } from './values.ts'

export interface SqlResult {
  columns: { name: string; type: string }[]
  rows: unknown[][]
  /** Which limit ended the rows before they were at their end. */
  limit_hit: 'rows' | 'bytes' | null
  cost: number
  ms: number
}

/** Bytes of all rows of one answer, as the database sends them. */
export const BYTES_MAX = 10_000_000

/** Statements at a time in this process. */
const CONNECTIONS = 4

/** Statements at a time of one organization: it leaves some for the others. */
const OWN_MAX = 2

/** How long a statement waits for its turn, in milliseconds. */
const TURN_MS = 5_000

/** Rows are asked for in portions of about this many bytes, so that a wide row does not come with hundreds like it. */
const PORTION_BYTES = 1_000_000
const PORTION_ROWS = 200

const CURSOR = 'answer'

/** The protocol in which the database takes one statement and no more, whatever the text holds; without values `pg` would choose the other. */
const EXTENDED: object = { queryMode: 'extended' }

export class SqlConsole {
  private readonly db: Db
  private readonly cost_max: number
  private pool: Pool | null = null
  /** Statements under way, by organization. */
  private readonly running = new Map<number, number>()

  constructor(db: Db, cost_max: number) {
    this.db = db
    this.cost_max = cost_max
  }

  async close(): Promise<void> {
    await this.pool?.end()
  }

  /**
   * @param sql a statement that was judged. @param limit rows of the answer, at most.
   * @throws 422 for what costs too much, takes too long or fails; 429 for a third statement at a time, 503 when others use
   *   every connection.
   */
  async run(org_id: number, sql: string, limit: number): Promise<SqlResult> {
    const running = this.running.get(org_id) ?? 0
    if (running === OWN_MAX) {
      const detail = `${OWN_MAX} statements of your organization are running; wait for one to end.`
      throw new ApiError('rate_limited', detail, { retry_after_s: 1 })
    }
    this.running.set(org_id, running + 1)
    try {
      return await this.opened(org_id, sql, limit)
    } finally {
      this.ended(org_id)
    }
  }

  private ended(org_id: number): void {
    const left = (this.running.get(org_id) ?? 1) - 1
    if (left === 0) this.running.delete(org_id)
    else this.running.set(org_id, left)
  }

  /** Runs with a token that is good for this statement. */
  private async opened(org_id: number, sql: string, limit: number): Promise<SqlResult> {
    const token = randomBytes(32).toString('hex')
    const hash = createHash('sha256').update(token).digest('hex')
    await openContext(this.db, org_id, hash)
    try {
      return await this.session(async (client) => await this.read(client, token, sql, limit))
    } finally {
      await closeContext(this.db, org_id, hash)
    }
  }

  private async session<T>(run: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.connect()
    let lost: Error | undefined
    try {
      return await run(client)
    } catch (error) {
      throw problemOf(error)
    } finally {
      await client.query('rollback').catch((error: Error) => (lost = error))
      client.release(lost)
    }
  }

  private async connect(): Promise<PoolClient> {
    this.pool ??= this.open()
    try {
      return await this.pool.connect()
    } catch (error) {
      const detail = 'The SQL console has no connection to spare; try again in a few seconds.'
      throw new ApiError('unavailable', detail, {}, error)
    }
  }

  private open(): Pool {
    const config = consoleConfig(this.db.config)
    const pool = new Pool({
      ...config,
      max: CONNECTIONS,
      connectionTimeoutMillis: TURN_MS,
      idleTimeoutMillis: 10_000,
    })
    // A connection lost while idle is replaced when next needed; one at work fails its statement.
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    return pool
  }

  private async read(
    client: PoolClient,
    token: string,
    sql: string,
    limit: number,
  ): Promise<SqlResult> {
    const started = performance.now()
    const tx = asTx(client)
    await tx.query('begin read only')
    await carryToken(tx, token)
    await limitTime(tx, TIMEOUT_MS)
    const [row] = await tx.query<{ 'QUERY PLAN': unknown }>(`explain (format json) ${sql}`)
    const plan = planOf(row?.['QUERY PLAN'])
    refuseCostly(plan, this.cost_max)
    // The end of the line ends a comment that the statement may end in.
    await tx.query(`declare ${CURSOR} no scroll cursor for ${sql}\n`)
    const fetched = await fetchAll(client, started + TIMEOUT_MS, limit)
    return { ...fetched, cost: plan.cost, ms: Math.round(performance.now() - started) }
  }
}

/** Rows until there are no more, or one of the limits is reached. */
async function fetchAll(
  client: PoolClient,
  until: number,
  limit: number,
): Promise<Pick<SqlResult, 'columns' | 'rows' | 'limit_hit'>> {
  const rows: unknown[][] = []
  let columns: SqlResult['columns'] | null = null
  let portion = 1
  for (let bytes = 0, widest = 1; ;) {
    await limitTime(asTx(client), Math.max(1, until - performance.now()))
    const result = await portionOf(client, portion, BYTES_MAX - bytes)
    if (!result) return { columns: columns ?? [], rows, limit_hit: 'bytes' }
    columns ??= result.fields.map(({ name, dataTypeID }) => ({ name, type: typeOf(dataTypeID) }))
    for (const row of result.rows) {
      if (rows.length === limit) return { columns, rows, limit_hit: 'rows' }
      const size = row.reduce((sum, text) => sum + (text?.length ?? 0), 0)
      bytes += size
      widest = Math.max(widest, size)
      if (bytes > BYTES_MAX) return { columns, rows, limit_hit: 'bytes' }
      rows.push(row.map((text, i) => valueOf(result.fields[i]?.dataTypeID ?? 0, text)))
    }
    if (result.rows.length < portion) return { columns, rows, limit_hit: null }
    const left = limit + 1 - rows.length
    portion = Math.max(1, Math.min(left, PORTION_ROWS, Math.floor(PORTION_BYTES / widest)))
  }
}

/** The next rows as texts; null when more came over the line than there is room for, and the connection was cut. */
async function portionOf(
  client: PoolClient,
  count: number,
  room: number,
): Promise<QueryArrayResult<(string | null)[]> | null> {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  let received = 0
  const count_bytes = (chunk: Buffer): void => {
    received += chunk.length
    if (received > room + PORTION_BYTES) stream.destroy()
  }
  stream.on('data', count_bytes)
  try {
    return await client.query<(string | null)[]>({
      text: `fetch ${count} from ${CURSOR}`,
      rowMode: 'array',
      ...EXTENDED,
      types: { getTypeParser: () => (text: string) => text },
    })
  } catch (error) {
    if (received > room + PORTION_BYTES) return null
    throw error
  } finally {
    stream.off('data', count_bytes)
  }
}

/** Failures of a statement as problems; what the database says of it is about the caller's own text and rows. */
function problemOf(error: unknown): unknown {
  const late = timedOut(error)
  if (late) return late
  if (!(error instanceof DatabaseError)) return error
  if (error.code === '53400') {
    const detail = 'The query sorts or keeps more than fits; filter more, or ask for less.'
    return new ApiError('query_too_costly', detail)
  }
  const position = error.position === undefined ? {} : { position: Number(error.position) }
  return new ApiError('sql_failed', error.message, { sqlstate: error.code, ...position })
}

function asTx(client: PoolClient): Pick<Tx, 'query'> {
  return {
    async query<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
      const result = await client.query({ text: sql, values: [...params], ...EXTENDED })
      return result.rows as T[]
    },
  }
}
