/** Tries a connection: one question, a few records, and what went wrong. */
import { allowing } from '../../addresses.ts'
import { Authorizer } from './authorize.ts'
import { connectionSecret } from './connection-queries.ts'
import type { Pulling } from './fetch.ts'
import { postgresRows, WHO } from './postgres-queries.ts'
import { restPages } from './rest.ts'
import { PULL_LIMITS, SourceError } from './types.ts'
import type { Connection } from './types.ts'

/** The whole trial, in milliseconds. */
const TRIAL_MS = 10_000

/** Records shown, and what one may take. */
const SHOWN = 5
const PAGE_BYTES_MAX = 1024 * 1024

/** What to ask of it; a REST source its path, a database its table. */
export interface TrialBody {
  path?: string
  records?: string
  table?: string
}

export interface Trial {
  ok: boolean
  latency_ms: number
  /** The first records. */
  records: unknown[]
  error: { code: string; message: string; details: Record<string, unknown> } | null
}

/** @returns what happened; a source that cannot be reached or read is no error of the request. */
export async function tryConnection(
  connection: Connection,
  body: TrialBody,
  pulling: Pulling,
): Promise<Trial> {
  const began = performance.now()
  const late = AbortSignal.timeout(TRIAL_MS)
  const finish = (records: unknown[], error: Trial['error']): Trial => ({
    ok: error === null,
    latency_ms: Math.round(performance.now() - began),
    records,
    error,
  })
  try {
    return finish(await firstRecords(connection, body, pulling, late), null)
  } catch (thrown) {
    if (thrown instanceof SourceError) {
      const { code, message, details } = thrown
      return finish([], { code, message, details })
    }
    if (!late.aborted) throw thrown
    const message = 'The source does not answer in time.'
    return finish([], { code: 'source_silent', message, details: {} })
  }
}

async function firstRecords(
  connection: Connection,
  { path = '', records, table }: TrialBody,
  { egress, secrets, config }: Pulling,
  signal: AbortSignal,
): Promise<unknown[]> {
  const secret = connectionSecret(secrets, connection)
  const { settings, kind } = connection
  if (kind === 'postgres') {
    const allowed = allowing(config.GRID_SOURCE_ALLOW_CIDRS)
    const sql = table === undefined ? { sql: WHO } : { table }
    const source = { kind, connection: connection.name, ...sql }
    const asked = { settings, secret, source, allowed, signal, first: SHOWN }
    for await (const rows of postgresRows(asked))
      return rows.map(({ text }) => JSON.parse(text) as unknown)
    return []
  }
  const source = {
    kind,
    connection: connection.name,
    path,
    ...(records === undefined ? {} : { records }),
  }
  const pages = restPages({
    egress,
    settings,
    source,
    authorizer: new Authorizer(settings.auth, secret, egress),
    limits: { ...PULL_LIMITS, max_tries: 1, max_page_bytes: PAGE_BYTES_MAX },
    signal,
    count: { pages: 0, bytes: 0, waited_ms: 0 },
  })
  for await (const page of pages) return page.slice(0, SHOWN)
  return []
}
