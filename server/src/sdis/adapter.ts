/** The adapter document: how the rows of a file become claims on objects. YAML or JSON, checked against a schema. */
import { createHash } from 'node:crypto'
import { parse } from 'yaml'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import type { Registry } from '../kit/query.ts'
import { allFields, writableFields } from '../kit/resource.ts'
import { closest, validate } from '../kit/validate.ts'
import { ADAPTER_SCHEMA } from './adapter-schema.ts'
import { parseExpression } from './expression.ts'

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
  const issues = validate(ADAPTER_SCHEMA, document).map((issue) => inAdapter(issue))
  if (issues.length > 0) throw invalid(issues)
  const adapter = complete(document as Partial<Adapter>)
  const found = adapter.streams.flatMap((stream, i) =>
    streamIssues(stream, `adapter.streams[${i}]`, registry),
  )
  if (adapter.locale.timezone && !zoneExists(adapter.locale.timezone)) {
    found.push({
      field: 'adapter.locale.timezone',
      code: 'unknown_value',
      message: 'is not a time zone',
    })
  }
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
  const source = given.source as Adapter['source']
  return {
    adapter: given.adapter as string,
    version: given.version ?? 1,
    description: given.description ?? null,
    source: { ...source, rank: source.rank ?? 50 },
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

function zoneExists(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}

/** What the schema cannot say: types and fields must exist, expressions must read. */
function streamIssues(stream: Stream, at: string, registry: Registry): Issue[] {
  const resource = registry.get(stream.type)
  if (!resource || stream.type === 'organization') {
    const allowed = [...registry.keys()].filter((name) => name !== 'organization')
    const suggestion = closest(stream.type, allowed)
    return [
      {
        field: `${at}.type`,
        code: 'unknown_value',
        message: `no such type '${stream.type}'`,
        allowed,
        ...(suggestion ? { suggestion } : {}),
      },
    ]
  }
  const fields = writableFields(resource)
  const issues = [
    ...expressionIssues(stream.key, `${at}.key`),
    ...entriesIssues(stream.map, `${at}.map`, fields),
  ]
  for (const [path, rule] of Object.entries(stream.resolve)) {
    const [head = '', inner] = path.split('.')
    const field = inner ? fields[head]?.items?.[inner] : fields[head]
    if (field?.target !== rule.type || field.kind !== 'reference') {
      issues.push({
        field: `${at}.resolve.${path}`,
        code: 'unknown_field',
        message: `is not a reference to a ${rule.type}`,
      })
    }
    issues.push(...expressionIssues(rule.value, `${at}.resolve.${path}.value`))
    const target = registry.get(rule.type)
    if (rule.stub && target)
      issues.push(...entriesIssues(rule.stub, `${at}.resolve.${path}.stub`, allFields(target)))
  }
  return issues
}

function entriesIssues(
  entries: Record<string, Entry | string>,
  at: string,
  fields: ReturnType<typeof writableFields>,
): Issue[] {
  return Object.entries(entries).flatMap(([name, entry]) => {
    const field = fields[name]
    if (!field) {
      const suggestion = closest(name, Object.keys(fields))
      return [
        {
          field: `${at}.${name}`,
          code: 'unknown_field',
          message: `no such field '${name}'`,
          ...(suggestion ? { suggestion } : {}),
        },
      ]
    }
    if (typeof entry === 'string') return expressionIssues(entry, `${at}.${name}`)
    const given = (['from', 'value', 'object', 'list'] as const).filter(
      (key) => entry[key] !== undefined,
    )
    if (given.length !== 1) {
      return [
        {
          field: `${at}.${name}`,
          code: 'ambiguous',
          message: 'give exactly one of from, value, object, list',
        },
      ]
    }
    if (entry.from) return expressionIssues(entry.from, `${at}.${name}.from`)
    const inner = entry.object ?? entry.list
    if (!inner) return []
    const fits = field.items && field.kind === (entry.list ? 'list' : 'object')
    if (!fits)
      return [
        {
          field: `${at}.${name}`,
          code: 'invalid_type',
          message: `is not ${entry.list ? 'a list' : 'an object'} of entries`,
        },
      ]
    return entriesIssues(inner, `${at}.${name}`, field.items as ReturnType<typeof writableFields>)
  })
}

function expressionIssues(source: string, at: string): Issue[] {
  try {
    parseExpression(source)
    return []
  } catch (error) {
    return [{ field: at, code: 'invalid_expression', message: (error as Error).message }]
  }
}
