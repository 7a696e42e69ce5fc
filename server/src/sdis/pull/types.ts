/** Connections to sources, and what a pull made of them. */
import { GuardTripped } from '../running.ts'

/** How a REST source knows who asks. */
export type Auth =
  | { kind: 'none' }
  /** The secret as a header or a parameter of the query. */
  | { kind: 'key'; in: 'header' | 'query'; name: string }
  /** The secret is the password. */
  | { kind: 'basic'; username: string }
  | { kind: 'bearer' }
  /** Client credentials (RFC 6749, 4.4); the secret is that of the client. */
  | { kind: 'oauth2'; token_url: string; client_id: string; scope?: string }

export interface RestSettings {
  base_url: string
  /** Sent with every request. */
  headers: Record<string, string>
  auth: Auth
}

export interface PostgresSettings {
  host: string
  port: number
  database: string
  user: string
  /** `verify`: encrypted, the certificate checked. `off`: only for networks that the operator trusts. */
  tls: 'verify' | 'off'
}

interface Common {
  org_id: number
  id: number
  name: string
  /** Sealed; null without one. */
  secret: string | null
  version: number
  created_at: Date
  updated_at: Date
}

export type Connection = Common &
  ({ kind: 'rest'; settings: RestSettings } | { kind: 'postgres'; settings: PostgresSettings })

/** How the pages of a list follow each other. */
export type Paging =
  | { kind: 'none' }
  | { kind: 'page'; param: string; start?: number; size_param?: string; size?: number }
  | { kind: 'offset'; param: string; limit_param?: string; limit: number }
  /** `next` is where an answer says the next cursor, such as `meta.next_cursor`. */
  | { kind: 'cursor'; param: string; next: string }
  /** The `Link` header with `rel="next"`. */
  | { kind: 'link' }

export interface RestSource {
  kind: 'rest'
  connection: string
  path: string
  method?: 'GET' | 'POST'
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Record<string, unknown>
  /** Where an answer holds the records, such as `data.items`; the whole answer when left out. */
  records?: string
  paging?: Paging
}

export interface PostgresSource {
  kind: 'postgres'
  connection: string
  /** `leases` or `billing.leases`; or `sql`. */
  table?: string
  /** One select. */
  sql?: string
}

export type PullSource = RestSource | PostgresSource

/** Pulls only what changed since the last one. */
export interface PullState {
  /** Field of the records that grows with every change, such as `updated_at`. */
  cursor: string
  /** Pulled again before the last value, such as `2d`, `6h`, `30m`; for numbers, a number. */
  lookback?: string
  /** Parameter of a REST source that takes the cursor, such as `updated_since`. */
  param?: string
}

/** What a job pulled; kept with it, and the next one goes on from there. */
export interface Pulled {
  connection_id: string
  /** From which value on the source was asked; null for everything. */
  cursor_from: string | null
  /** Greatest value met; where the next pull begins, less the look-back. */
  cursor_to: string | null
  rows: number
  pages: number
  bytes: number
  waited_ms: number
}

/** The source cannot be read: a stable code, and a message for the person who set the connection up. */
export class SourceError extends GuardTripped {
  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(code, message, details)
  }
}

/** What a pull takes before it is given up. */
export interface PullLimits {
  max_pages: number
  max_rows: number
  max_bytes: number
  /** One answer of a REST source. */
  max_page_bytes: number
  /** The whole pull, waiting included. */
  max_ms: number
  /** Tries of one request. */
  max_tries: number
  /** First pause after a failure; doubled each time. */
  pause_ms: number
  /** Longest pause that a source may ask for. */
  max_pause_ms: number
}

export const PULL_LIMITS: PullLimits = {
  max_pages: 100_000,
  max_rows: 5_000_000,
  max_bytes: 512 * 1024 * 1024,
  max_page_bytes: 32 * 1024 * 1024,
  max_ms: 2 * 60 * 60 * 1_000,
  max_tries: 6,
  pause_ms: 1_000,
  max_pause_ms: 120_000,
}
