/** Reads rows of another PostgreSQL: read-only, with a cursor, each row as JSON text that keeps every digit. */
import { lookup } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { Client, DatabaseError } from 'pg'
import type { ClientConfig, QueryConfig } from 'pg'
import { DEFAULT_LIMITS } from '../readers/types.ts'
import { SourceError } from './types.ts'
import type { PostgresSettings, PostgresSource } from './types.ts'

/** Who the role is, and where: what a login alone can tell. */
export const WHO = 'select current_database() as database, current_user as user'

const CONNECT_MS = 5_000
/** One fetch; a query that sorts a large table has this long for its first rows. */
const STATEMENT_MS = 5 * 60_000

/** Rows of one fetch, and the bytes that one should come to: the more a row takes, the fewer are asked for at once. */
const FETCH_ROWS = 200
const FETCH_BYTES = 4 * 1024 * 1024
/** The first fetch finds out what rows take. */
const FIRST_ROWS = 20
/** A larger record could not be loaded; the source keeps it. */
const ROW_BYTES_MAX = DEFAULT_LIMITS.max_record_bytes

export interface PostgresPull {
  settings: PostgresSettings
  secret: string | null
  source: PostgresSource
  /** Addresses that may be connected to. */
  allowed: (address: string) => boolean
  /** Addresses of a host name; the system's unless told. */
  resolve?: (host: string) => Promise<LookupAddress[]>
  /** Rows whose column is at least this value only, in its order. */
  since?: { cursor: string; from: string | null }
  /** Rows of the first fetch, when no more are wanted. */
  first?: number
  signal: AbortSignal
}

/** JSON texts of rows, some hundred at a time. @throws SourceError when the database cannot be reached or read. */
export async function* postgresRows(
  pull: PostgresPull,
): AsyncGenerator<{ text: string; cursor: string | null }[]> {
  const client = new Client(await configOf(pull))
  // A connection that breaks is told by the statement under way.
  client.on('error', () => {})
  const stop = (): void => void client.end().catch(() => {})
  pull.signal.addEventListener('abort', stop, { once: true })
  try {
    await connected(client)
    await client.query('begin transaction isolation level repeatable read, read only')
    // One statement only: the extended protocol takes no second one.
    const declare: QueryConfig & { queryMode: 'extended' } = {
      text: `declare pull no scroll cursor for ${selectOf(pull)}`,
      queryMode: 'extended',
    }
    await client.query(declare)
    for (let count = pull.first ?? FIRST_ROWS; ;) {
      const { rows } = await client.query<{ text: string | null; cursor: string | null }>(
        `fetch ${count} from pull`,
      )
      if (rows.length === 0) return
      const whole = rows.map(({ text, cursor }) => ({ text: sized(text), cursor }))
      yield whole
      const largest = Math.max(...whole.map(({ text }) => text.length))
      count = Math.max(1, Math.min(FETCH_ROWS, Math.floor(FETCH_BYTES / largest)))
    }
  } catch (error) {
    if (pull.signal.aborted) throw pull.signal.reason
    throw asSourceError(error)
  } finally {
    pull.signal.removeEventListener('abort', stop)
    await client.end().catch(() => {})
  }
}

function sized(text: string | null): string {
  if (text !== null) return text
  const message = `A row takes more than ${ROW_BYTES_MAX} bytes.`
  throw new SourceError('source_too_large', message, { max_row_bytes: ROW_BYTES_MAX })
}

function selectOf({ source, since }: PostgresPull): string {
  const rows =
    source.table === undefined
      ? `(${source.sql ?? ''}\n)`
      : source.table.split('.').map(quoted).join('.')
  // Once for each row, whatever its size is compared with.
  const text = `case when octet_length(j.text) <= ${ROW_BYTES_MAX} then j.text end as text`
  const records = `from ${rows} r cross join lateral (select row_to_json(r)::text as text offset 0) j`
  if (!since) return `select ${text}, null as cursor ${records}`
  const column = `r.${quoted(since.cursor)}`
  const from = since.from === null ? '' : ` where ${column} >= ${literal(since.from)}`
  return `select ${text}, ${column}::text as cursor ${records}${from} order by ${column}`
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text of unknown type, so that the source compares it as its column does. */
function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

async function configOf({
  settings,
  secret,
  allowed,
  resolve,
}: PostgresPull): Promise<ClientConfig> {
  const { host, port, database, user, tls } = settings
  const find = resolve ?? (async (name: string) => await lookup(name, { all: true }))
  const found = isIP(host)
    ? [{ address: host, family: isIP(host) }]
    : await find(host).catch(() => [])
  // Connected to by the address that was checked: a name that changes its answer does not get around it.
  const target = found.find(({ address }) => allowed(address))
  if (!target) throw unreachable()
  return {
    host: target.address,
    port,
    database,
    user,
    password: secret ?? '',
    ssl:
      tls === 'verify'
        ? { rejectUnauthorized: true, ...(isIP(host) ? {} : { servername: host }) }
        : false,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS + 1_000,
    application_name: 'portfolio-grid',
    options: '-c default_transaction_read_only=on -c standard_conforming_strings=on',
  }
}

async function connected(client: Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    if (error instanceof DatabaseError && error.code?.startsWith('28'))
      throw new SourceError(
        'source_refused',
        'The database does not accept the credentials of the connection.',
      )
    if (error instanceof DatabaseError)
      throw new SourceError(
        'source_failed',
        `The database refuses the connection: ${error.message}.`,
      )
    if (/ssl|certificate|self.signed|altname/i.test((error as Error).message))
      throw new SourceError(
        'source_tls',
        'The database offers no encrypted connection with a certificate that can be verified.',
      )
    throw unreachable()
  }
}

function unreachable(): SourceError {
  return new SourceError('source_unreachable', 'The database cannot be reached.')
}

function asSourceError(error: unknown): unknown {
  if (error instanceof SourceError) return error
  if (error instanceof DatabaseError) {
    if (error.code === '57014')
      return new SourceError('source_silent', 'The database takes too long.')
    const details = { sqlstate: error.code }
    return new SourceError('source_failed', `The database answers: ${error.message}.`, details)
  }
  return new SourceError('source_unreachable', 'The connection to the database broke.')
}
