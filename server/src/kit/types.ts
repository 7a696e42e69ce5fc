import type { Cells, Statement } from '../db/pipeline.ts'
import type { Scope } from './scopes.ts'

/** Who is calling: the organization a key belongs to, and the key itself. */
export interface Caller {
  org_id: number
  key_id: number
  key_name: string
  scopes: ReadonlySet<Scope>
  /** Properties that the key is restricted to; null is all. */
  property_ids: readonly number[] | null
  /** Networks that the key may be used from; null is anywhere. */
  allowed_ips: readonly string[] | null
  /** The installation of an app that holds the key; null for a key of the organization. */
  installation_id: number | null
  /** When the key ends, epoch milliseconds; null is never. */
  expires_at: number | null
  plan: string
  environment: 'production' | 'sandbox'
  currency: string
  area_unit: string
  time_zone: string
}

/** Who a write is done for: stands in the transaction row, so every fact can be traced to it. */
export interface Actor {
  type: 'api_key' | 'job' | 'app' | 'system'
  id: string | null
  name: string
  request_id: string | null
}

/** Access to the database in the context of one organization; every statement runs under row-level security. */
export interface OrgDb {
  /** Several statements as one transaction in one round trip, on the request path's pipelined connections. */
  fly(org_id: number, statements: readonly Statement[]): Promise<Cells[][]>
  /** One statement that may take long: its own connection, rows as objects. */
  query<T>(org_id: number, sql: string, params: readonly unknown[]): Promise<T[]>
  /** Several dependent statements in one transaction on their own connection. */
  transaction<T>(org_id: number, run: (tx: Tx) => Promise<T>): Promise<T>
  /** New ids, unique over all organizations and tables. */
  ids(count: number): Promise<number[]>
}

/** Reads in one round trip. */
export type Flights = Pick<OrgDb, 'fly'>

/** The part of it that an open transaction can stand in for. */
export type OrgRows = Pick<OrgDb, 'query' | 'transaction'>

/** An open transaction. */
export interface Tx {
  query<T>(sql: string, params?: readonly unknown[]): Promise<T[]>
  /** The same for a statement of fixed text that is sent often: it is planned once per connection, with the caution below. */
  prepared<T>(sql: string, params?: readonly unknown[]): Promise<T[]>
  /** Rows as a flight gives them. The statement is prepared once per connection: never send one twice without waiting. */
  cells(statement: Statement): Promise<Cells[]>
}
