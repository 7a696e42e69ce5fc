/** The adapter document: how the rows of a file become claims on objects. YAML or JSON, checked against a schema. */
import { createHash } from 'node:crypto'
import { parse } from 'yaml'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import type { Field } from '../kit/field.ts'
import type { Registry } from '../kit/query.ts'
import { validate } from '../kit/validate.ts'
import { adapterIssues, usedExt } from './adapter-checks.ts'
import { complete } from './adapter-defaults.ts'
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
  /** An expression; `expr` is another word for it. */
  from?: string
  expr?: string
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
  /** Of an amount: the currency of the object, unless it is mapped itself. */
  currency?: string
  /**
   * What a value that cannot be read does: the row is left out, the cell alone is, or the value is stated as empty; each
   * is listed.
   */
  on_error?: 'quarantine_row' | 'quarantine_cell' | 'null_with_issue'
  /** For grouped rows: the first row's value, or only a value on which all rows agree. */
  rows?: 'first' | 'same'
  object?: Record<string, Entry | string>
  /** One item per row of the group. */
  list?: Record<string, Entry | string>
}

/** How the id of a related object is found: by its key in a stream of the same source, or by what its fields say. */
export interface Resolve {
  type: string
  /** Stream of the same source whose records are looked up by key. */
  stream: string | null
  /** Fields of the related object that tell which one it is, tried in order. */
  by: string[] | null
  /** Expression of the key, or one for each field of `by`. */
  value: string | string[]
  missing: 'error' | 'blank' | 'create_stub' | 'pending'
  stub?: Record<string, Entry | string>
}

/** What must hold of each record, or of the file as a whole. */
export interface Check {
  id: string
  /** Of a record: an expression over its fields and the row. */
  expr?: string
  /** Of the file: `sum(...)`, `count()`, `min(...)`, `max(...)` or `avg(...)` over its rows. */
  aggregate?: string
  /** What the aggregate must be: a number, or an expression over `meta` and `totals`. */
  compare?: string | number
  /** How far from it the aggregate may be, in percent of it. */
  tolerance_pct: number
  level: 'error' | 'warn'
}

export interface Stream {
  name: string
  type: string
  key: string
  /** Rows with the same key are one object. */
  group: boolean
  map: Record<string, Entry | string>
  resolve: Record<string, Resolve>
  checks: Check[]
  /** The fields behind the entries `ext.<field>`, as they were when the document was read. */
  ext: Readonly<Record<string, ExtField>>
}

/** Where a value above the header stands: a cell such as B2, or the one to the right of a text. */
export type NamedCell = string | { right_of: string }

export interface Adapter {
  /** Digits of the id, where the service keeps the adapter. */
  adapter_id?: number | null
  adapter: string
  version: number
  description: string | null
  source: {
    name: string
    kind: 'xlsx' | 'csv' | 'json' | 'ndjson' | 'pdf'
    sheet?: string
    header?: { find?: string[]; max_scan?: number }
    delimiter?: string
    encoding?: 'utf-8' | 'windows-1252'
    /** Where the list of records stands in a JSON document. */
    path?: string
    /** Columns whose blank cells mean the value above them. */
    fill_down?: string[]
    /** Whether merged cells all have the value of the first one. */
    merged?: 'fill'
    /** Rows that are none: totals, page footers. The last of them is the totals row of checks. */
    skip_rows_where?: string
    /** Values above the header, which expressions read as `meta.<name>`. */
    cells?: Record<string, NamedCell>
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
  effective: { date: string | null; from: string | null; default: 'job_start' | 'error' }
  /** `append`: known records stay as they are. `delete_marker`: an upsert in which rows can also end their object. */
  mode: 'full_snapshot' | 'upsert' | 'append' | 'delete_marker'
  /** Expression that is true of the rows that end their object. */
  delete_marker: string | null
  /** Tables of words by name, for the function `lookup`. */
  lookups: Record<string, Record<string, string | number | boolean>>
  guards: {
    max_retract_pct: number
    max_error_pct: number
    max_errors: number
    min_rows: number
    require_columns: string[]
  }
  streams: Stream[]
}

/** A field that an organization has added to a type. */
export interface ExtField {
  /** The name under which facts hold its values. */
  key: string
  /** How its values are read and checked. */
  field: Field
  /** What facts hold in place of words, such as the ids of options. */
  stored?: Readonly<Record<string, unknown>>
}

/** Added fields by the name of the type and their own; entries name them `ext.<field>`. */
export type ExtFields = ReadonlyMap<string, Readonly<Record<string, ExtField>>>

/**
 * @param ext fields that entries may fill beside those of the types.
 * @throws 422 naming every failing part of the document.
 */
export function readAdapter(
  source: string,
  registry: Registry,
  ext: ExtFields = new Map(),
): Adapter {
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
    const deeper = parts ? adapterIssues(complete(parts), registry, ext) : []
    throw invalid([...issues.map((issue) => inAdapter(issue)), ...deeper])
  }
  const adapter = complete(document as Partial<Adapter>)
  const found = adapterIssues(adapter, registry, ext)
  if (found.length > 0) throw invalid(found)
  for (const stream of adapter.streams) stream.ext = usedExt(stream, ext)
  return adapter
}

/** Fingerprint of a document: equal ones map files equally. */
export function adapterHash(adapter: Adapter): string {
  return createHash('sha256').update(JSON.stringify(adapter)).digest('hex')
}

function inAdapter(issue: Issue): Issue {
  return { ...issue, field: issue.field ? `adapter.${issue.field}` : 'adapter' }
}
