/** Rows into records: the attributes that the rows of an object state. */
import type { Field, Fields, JsonSchema } from '../kit/field.ts'
import { complete, normalise, sameValue } from '../kit/row.ts'
import { writableFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { validate } from '../kit/validate.ts'
import type { Registry } from '../kit/query.ts'
import type { Adapter, Entry, Resolve, Stream } from './adapter.ts'
import { compileExpression } from './expression.ts'
import type { Expression } from './expression.ts'
import { hash64 } from './keys.ts'
import type { Hash } from './keys.ts'
import type { Cell, SheetRow } from './readers/types.ts'
import { readerOf } from './values.ts'
import type { Reader } from './values.ts'

/** What was wrong with a row, or with one of its cells. */
export interface RowIssue {
  row: number
  field: string | null
  code: string
  message: string
  /** `error`: the row was left out. `warning`: only the cell was. */
  level: 'error' | 'warning'
}

/** A related object that is named by its key until the record is written; the path says by which rule it is found. */
export interface Ref {
  $ref: [path: string, key: string]
}

/** One object as the file gives it. */
export interface SourceRecord {
  /** The first of its rows. */
  row: number
  stated: Row
}

export interface Mapped {
  /** Null when a row cannot be used: a part of an object is not loaded. */
  record: SourceRecord | null
  issues: RowIssue[]
}

/** Fills one attribute from a row. */
type Filler = (cells: readonly Cell[], problem: Problem) => unknown

type Problem = (field: string, code: string, message: string, level: RowIssue['level']) => void

export interface Mapping {
  /** Columns it needs. */
  columns: readonly string[]
  /** Where they stand in a row. */
  places: readonly number[]
  /** Stands for the adapter in the hash of a record. */
  seed: Hash
  key: Expression
  /** Makes a record of the rows of an object. */
  map: (rows: readonly SheetRow[]) => Mapped
  /** Values of objects made in place of missing ones, by the path of the reference. */
  stubs: ReadonlyMap<string, (cells: readonly Cell[]) => Row>
}

/** Compiles a stream of an adapter for a file with the given columns. */
export function compileMapping(
  adapter: Adapter,
  stream: Stream,
  registry: Registry,
  columns: readonly string[],
): Mapping {
  const index = new Map(columns.map((column, i) => [column.toLowerCase(), i]))
  const used = new Set<string>()
  const compile = (source: string): Expression => {
    const expression = compileExpression(source, (column) => index.get(column.toLowerCase()))
    for (const column of expression.columns) used.add(column)
    return expression
  }
  const context: Context = { adapter, stream, compile }
  const fields = writableFields(registry.get(stream.type) as Resource)
  const key = compile(stream.key)
  const fillers = Object.entries(stream.map).map(
    ([name, entry]) => [name, fillerOf(context, name, entry, fields[name] as Field)] as const,
  )
  for (const [path, rule] of Object.entries(stream.resolve))
    if (!path.includes('.')) fillers.push([path, refFiller(context, path, rule)])
  const stubs = Object.entries(stream.resolve).flatMap(([path, rule]) => {
    const target = registry.get(rule.type) as Resource
    return rule.missing === 'create_stub'
      ? [[path, stubValues(context, rule, target)] as const]
      : []
  })
  return {
    key,
    map: (rows) => mapRows(stream, rows, fillers),
    stubs: new Map(stubs),
    columns: [...used],
    places: [...used].flatMap((column) => index.get(column.toLowerCase()) ?? []),
    seed: hash64(JSON.stringify([adapter.locale, stream])),
  }
}

/** Structured attributes, whose parts rows give one by one. */
export function partsOf(stream: Stream, fields: Fields): Map<string, Fields> {
  const parts = new Map<string, Fields>()
  for (const [name, entry] of Object.entries(stream.map))
    if (typeof entry === 'object' && entry.object) parts.set(name, fields[name]?.items as Fields)
  return parts
}

interface Context {
  adapter: Adapter
  stream: Stream
  compile: (source: string) => Expression
}

function mapRows(
  stream: Stream,
  rows: readonly SheetRow[],
  fillers: readonly (readonly [string, Filler])[],
): Mapped {
  const issues: RowIssue[] = []
  const good: SourceRecord[] = []
  for (const row of rows) {
    let bad = false
    const problem: Problem = (field, code, message, level) => {
      issues.push({ row: row.row, field, code, message, level })
      bad ||= level === 'error'
    }
    const stated: Row = {}
    for (const [name, fill] of fillers) {
      const value = fill(row.cells, problem)
      if (value !== undefined) stated[name] = value
    }
    if (!bad) good.push({ row: row.row, stated })
  }
  if (good.length === rows.length) return { record: mergeRecords(stream, good), issues }
  for (const { row } of good) {
    const message = 'another row of the same object cannot be used'
    issues.push({ row, field: 'key', code: 'incomplete_group', message, level: 'error' })
  }
  return { record: null, issues }
}

function fillerOf(context: Context, path: string, given: Entry | string, field: Field): Filler {
  const entry: Entry = typeof given === 'string' ? { from: given } : given
  if (entry.value !== undefined) {
    const value = normalise(field, entry.value)
    return () => value
  }
  const items = field.items as Fields
  if (entry.object) return objectFiller(context, path, entry.object, items)
  if (entry.list) {
    const item = objectFiller(context, path, entry.list, items)
    return (cells, problem) => {
      const value = item(cells, problem)
      return value === undefined ? undefined : [complete(items, value as Row)]
    }
  }
  return cellFiller(context, path, entry, field)
}

function cellFiller(context: Context, path: string, entry: Entry, field: Field): Filler {
  const expression = context.compile(entry.from as string)
  const read: Reader = readerOf(entry, field, context.adapter.locale)
  const level = entry.on_error === 'quarantine_cell' ? 'warning' : 'error'
  const fits = valueCheck(field)
  const { evaluate } = expression
  return (cells, problem) => {
    const reading = read(evaluate(cells))
    if (reading === null) return undefined
    if (!('value' in reading)) {
      problem(path, reading.code, reading.message, level)
      return undefined
    }
    const wrong = fits(reading.value)
    if (wrong) {
      problem(path, wrong.code, wrong.message, level)
      return undefined
    }
    return normalise(field, field.kind === 'texts' ? [reading.value] : reading.value)
  }
}

/** Checks a value against its field's schema; the common kinds without going through the validator. */
function valueCheck(field: Field): (value: unknown) => { code: string; message: string } | null {
  const { schema } = field
  const max = schema['maxLength']
  if (field.kind === 'text' && typeof max === 'number' && !schema['pattern']) {
    return (value) =>
      (value as string).length <= max
        ? null
        : { code: 'too_long', message: `has more than ${max} characters` }
  }
  if (field.kind === 'date' || field.kind === 'boolean') return () => null
  const values = schema['enum'] as string[] | undefined
  if (values && field.kind === 'choice') {
    const known = new Set(values)
    return (value) =>
      known.has(value as string)
        ? null
        : { code: 'invalid_enum', message: `'${String(value)}' is not one of ${values.join(', ')}` }
  }
  const one: JsonSchema = field.kind === 'texts' ? (schema['items'] as JsonSchema) : schema
  const { minimum = -Infinity, maximum = Infinity } = schema as Record<string, number>
  return (value) => {
    if (typeof value === 'number' && value >= minimum && value <= maximum) return null
    const [issue] = validate(one, value)
    return issue ? { code: issue.code, message: issue.message } : null
  }
}

/** The parts that a row gives; undefined when it gives none. */
function objectFiller(
  context: Context,
  path: string,
  entries: Record<string, Entry | string>,
  items: Fields,
): Filler {
  const fillers = Object.entries(entries).map(
    ([name, entry]) =>
      [name, fillerOf(context, `${path}.${name}`, entry, items[name] as Field)] as const,
  )
  for (const [target, rule] of Object.entries(context.stream.resolve))
    if (target.startsWith(`${path}.`))
      fillers.push([target.slice(path.length + 1), refFiller(context, target, rule)])
  return (cells, problem) => {
    let value: Row | undefined
    for (const [name, fill] of fillers) {
      const part = fill(cells, problem)
      if (part === undefined) continue
      value ??= {}
      value[name] = part
    }
    return value
  }
}

function refFiller(context: Context, path: string, rule: Resolve): Filler {
  const { evaluate } = context.compile(rule.value)
  return (cells) => {
    const cell = evaluate(cells)
    const key = cell === null ? '' : String(cell).trim()
    return key === '' ? undefined : ({ $ref: [path, key] } satisfies Ref)
  }
}

/** Values of a stub; cells that cannot be read leave theirs out. */
function stubValues(
  context: Context,
  rule: Resolve,
  target: Resource,
): (cells: readonly Cell[]) => Row {
  const fields = writableFields(target)
  const fill = objectFiller(
    { ...context, stream: { ...context.stream, resolve: {} } },
    '',
    rule.stub ?? {},
    fields,
  )
  return (cells) => (fill(cells, () => {}) ?? {}) as Row
}

function mergeRecords(stream: Stream, records: readonly SourceRecord[]): SourceRecord {
  const [first, ...rest] = records as [SourceRecord, ...SourceRecord[]]
  if (rest.length === 0) return first
  const stated: Row = { ...first.stated }
  for (const [name, entry] of Object.entries(stream.map)) {
    if (typeof entry === 'string') continue
    const values = records.map((record) => record.stated[name])
    if (entry.list) {
      const items = values.flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : []))
      const distinct = new Map(items.map((item) => [JSON.stringify(item), item]))
      if (items.length > 0) stated[name] = [...distinct.values()]
    } else if (entry.rows === 'same' && !values.every((value) => sameValue(value, values[0]))) {
      delete stated[name]
    }
  }
  return { row: first.row, stated }
}
