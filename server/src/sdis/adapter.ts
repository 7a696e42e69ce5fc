/** The adapter document: how the rows of a file become claims on objects. YAML or JSON, checked against a schema. */
import { createHash } from 'node:crypto'
import { parse } from 'yaml'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import type { Registry } from '../kit/query.ts'
import { validate } from '../kit/validate.ts'
import { adapterIssues } from './adapter-checks.ts'
import { soundParts } from './adapter-parts.ts'
import { ADAPTER_SCHEMA } from './adapter-schema.ts'

export type ValueType =
  | 'text'
  | 'integer'
  | 'number'
  | 'money'
  | 'percent'
  | 'date'
  | 'datetime'
  | 'boolean'

/** How one attribute is read from a row. */
export interface Entry {
  from?: string
  /** A fixed value; part of the claim like any other. */
  value?: unknown
  type?: ValueType
  /** Date patterns tried in order, instead of the locale's. */
  date?: string[]
  /** Texts that mean blank, besides the locale's. */
  nulls?: string[]
  /** What the file's words mean here. */
  options?: Record<string, string>
  /** Percentages given as parts of one: 0.05 means 5 %. */
  scale?: 'fraction'
  /** For words without an option: `error`, `blank`, or `keep` the word. */
  else?: 'error' | 'blank' | 'keep'
  on_error?: 'quarantine_row' | 'quarantine_cell'
  /** For grouped rows: the first row's value, or only a value on which all rows agree. */
  rows?: 'first' | 'same'
  object?: Record<string, Entry | string>
  /** One item per row of the group. */
  list?: Record<string, Entry | string>
}

/** How the id of a related object is found. */
export interface Resolve {
  type: string
  /** Stream of the same source whose records are looked up by key. */
  stream: string
  value: string
  missing: 'error' | 'blank' | 'create_stub'
  stub?: Record<string, Entry | string>
}

export interface Stream {
  name: string
  type: string
  key: string
  /** Rows with the same key are one object. */
  group: boolean
  map: Record<string, Entry | string>
  resolve: Record<string, Resolve>
}

export interface Adapter {
  /** Digits of the id, where the service keeps the adapter. */
  adapter_id?: number | null
  adapter: string
  version: number
  description: string | null
  source: {
    name: string
    kind: 'xlsx' | 'csv'
    sheet?: string
    header?: { find?: string[]; max_scan?: number }
    delimiter?: string
    encoding?: 'utf-8' | 'windows-1252'
    rank: number
  }
  locale: {
    decimal: string
    thousands: string
    date: string[]
    timezone: string | null
    nulls: string[]
  }
  /** Valid time of the claims when the job names none; null is the day the job starts. */
  effective: { date: string | null }
  mode: 'full_snapshot' | 'upsert'
  guards: {
    max_retract_pct: number
    max_error_pct: number
    max_errors: number
    min_rows: number
    require_columns: string[]
  }
  streams: Stream[]
}

/** @throws 422 naming every failing part of the document. */
export function readAdapter(source: string, registry: Registry): Adapter {
  if (source.length > 200_000)
    throw new ApiError('payload_too_large', 'An adapter document has at most 200,000 characters.')
  let document: unknown
  try {
    document = parse(source, { maxAliasCount: 0, schema: 'core' })
  } catch (error) {
    throw invalid([
      {
        field: 'adapter',
        code: 'malformed',
        message: `not YAML or JSON: ${(error as Error).message.split('\n')[0]}`,
      },
    ])
  }
  const issues = validate(ADAPTER_SCHEMA, document)
  if (issues.length > 0) {
    const parts = soundParts(document, issues) as Partial<Adapter> | null
    const deeper = parts ? adapterIssues(complete(parts), registry) : []
    throw invalid([...issues.map((issue) => inAdapter(issue)), ...deeper])
  }
  const adapter = complete(document as Partial<Adapter>)
  const found = adapterIssues(adapter, registry)
  if (found.length > 0) throw invalid(found)
  return adapter
}

/** Fingerprint of a document: equal ones map files equally. */
export function adapterHash(adapter: Adapter): string {
  return createHash('sha256').update(JSON.stringify(adapter)).digest('hex')
}

function inAdapter(issue: Issue): Issue {
  return { ...issue, field: issue.field ? `adapter.${issue.field}` : 'adapter' }
}

function complete(given: Partial<Adapter>): Adapter {
  return {
    adapter: given.adapter as string,
    version: given.version ?? 1,
    description: given.description ?? null,
    source: { ...(given.source as Adapter['source']), rank: given.source?.rank ?? 50 },
    locale: {
      decimal: '.',
      thousands: ',',
      date: ['yyyy-MM-dd'],
      timezone: null,
      nulls: [''],
      ...given.locale,
    },
    effective: { date: given.effective?.date ?? null },
    mode: given.mode ?? 'upsert',
    guards: {
      max_retract_pct: 10,
      max_error_pct: 2,
      max_errors: 500,
      min_rows: 1,
      require_columns: [],
      ...given.guards,
    },
    streams: (given.streams ?? []).map((stream) => ({
      ...stream,
      name: stream.name ?? stream.type,
      group: stream.group ?? false,
      resolve: defaults(stream.resolve),
    })),
  }
}

function defaults(resolve: Record<string, Resolve> | undefined): Record<string, Resolve> {
  return Object.fromEntries(
    Object.entries(resolve ?? {}).map(([field, rule]) => [
      field,
      { ...rule, missing: rule.missing ?? 'error' },
    ]),
  )
}
