/** Rows into records: the key of an object in the source and the attributes the row states. */
import type { Field, Fields, JsonSchema } from '../kit/field.ts'
import { complete, normalise, sameValue } from '../kit/row.ts'
import { writableFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { validate } from '../kit/validate.ts'
import type { Adapter, Entry, Resolve, Stream } from './adapter.ts'
import { compileExpression } from './expression.ts'
import type { Expression } from './expression.ts'
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

/** A related object that is named by its key until the record is written. */
export interface Ref {
  $ref: [stream: string, key: string]
}

/** One object as the file gives it. */
export interface SourceRecord {
  key: string
  row: number
  stated: Row
}

export interface Mapped {
  record: SourceRecord | null
  issues: RowIssue[]
}

/** Fills one attribute from a row. */
type Filler = (cells: readonly Cell[], problem: Problem) => unknown

type Problem = (field: string, code: string, message: string, level: RowIssue['level']) => void

export interface Mapping {
  columns: readonly string[]
  key: Expression
  map: (row: SheetRow) => Mapped
  /** Makes one record of the records of a group, in file order. */
  merge: (records: readonly SourceRecord[]) => SourceRecord
  /** Values of an object made in place of a missing one, and what it is. */
  stubs: ReadonlyMap<string, { rule: Resolve; values: (cells: readonly Cell[]) => Row }>
}

/** Compiles a stream of an adapter for a file with the given columns. */
export function compileMapping(
  adapter: Adapter,
  stream: Stream,
  resource: Resource,
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
  const fields = writableFields(resource)
  const key = compile(stream.key)
  const fillers = Object.entries(stream.map).map(([name, entry]) =>
    fillerOf(context, name, entry, fields[name] as Field),
  )
  const names = Object.keys(stream.map)
  for (const [path, rule] of Object.entries(stream.resolve)) {
    if (path.includes('.')) continue
    fillers.push(refFiller(context, rule))
    names.push(path)
  }
  const stubs = new Map(
    Object.entries(stream.resolve)
      .filter(([, rule]) => rule.missing === 'create_stub')
      .map(([path, rule]) => [path, { rule, values: stubValues(context, rule) }]),
  )
  const mapping: Omit<Mapping, 'columns'> = {
    key,
    map: (row) => mapRow(row, key, names, fillers),
    merge: (records) => mergeRecords(stream, records),
    stubs,
  }
  return { ...mapping, columns: [...used] }
}

interface Context {
  adapter: Adapter
  stream: Stream
  compile: (source: string) => Expression
}

function mapRow(
  row: SheetRow,
  key: Expression,
  names: readonly string[],
  fillers: readonly Filler[],
): Mapped {
  const issues: RowIssue[] = []
  const problem: Problem = (field, code, message, level) =>
    issues.push({ row: row.row, field, code, message, level })
  const keyCell = key.evaluate(row.cells)
  const keyText = keyCell === null ? '' : String(keyCell).trim()
  if (keyText === '' || keyText.length > 500) {
    problem(
      'key',
      'missing_key',
      keyText === '' ? 'the key of the row is blank' : 'the key of the row is too long',
      'error',
    )
    return { record: null, issues }
  }
  const stated: Row = {}
  for (let i = 0; i < fillers.length; i++) {
    const value = (fillers[i] as Filler)(row.cells, problem)
    if (value !== undefined) stated[names[i] as string] = value
  }
  const bad = issues.some((issue) => issue.level === 'error')
  return { record: bad ? null : { key: keyText, row: row.row, stated }, issues }
}

function fillerOf(context: Context, path: string, given: Entry | string, field: Field): Filler {
  const entry: Entry = typeof given === 'string' ? { from: given } : given
  if (entry.value !== undefined) {
    const value = normalise(field, entry.value)
    return () => value
  }
  if (entry.object) return objectFiller(context, path, entry.object, field.items as Fields)
  if (entry.list) {
    const item = objectFiller(context, path, entry.list, field.items as Fields)
    return (cells, problem) => {
      const value = item(cells, problem)
      return value === undefined ? undefined : [value]
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
  return (value) => {
    const [issue] = validate(one, value)
    return issue ? { code: issue.code, message: issue.message } : null
  }
}

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
  const refs = Object.entries(context.stream.resolve).filter(([target]) =>
    target.startsWith(`${path}.`),
  )
  for (const [target, rule] of refs)
    fillers.push([target.slice(path.length + 1), refFiller(context, rule)])
  return (cells, problem) => {
    const value: Row = {}
    let stated = false
    for (const [name, fill] of fillers) {
      const part = fill(cells, problem)
      if (part === undefined) continue
      value[name] = part
      stated = true
    }
    return stated ? complete(items, value) : undefined
  }
}

function refFiller(context: Context, rule: Resolve): Filler {
  const { evaluate } = context.compile(rule.value)
  return (cells) => {
    const cell = evaluate(cells)
    const key = cell === null ? '' : String(cell).trim()
    return key === '' ? undefined : { $ref: [rule.stream, key] }
  }
}

function stubValues(context: Context, rule: Resolve): (cells: readonly Cell[]) => Row {
  const entries = Object.entries(rule.stub ?? {}).flatMap(([name, given]) => {
    const entry: Entry = typeof given === 'string' ? { from: given } : given
    if (entry.value !== undefined) return [[name, () => entry.value as Cell] as const]
    return entry.from ? [[name, context.compile(entry.from).evaluate] as const] : []
  })
  return (cells) =>
    Object.fromEntries(
      entries
        .map(([name, evaluate]) => [name, evaluate(cells)])
        .filter(([, value]) => value !== null),
    )
}

function mergeRecords(stream: Stream, records: readonly SourceRecord[]): SourceRecord {
  const [first, ...rest] = records as [SourceRecord, ...SourceRecord[]]
  if (rest.length === 0) return first
  const stated: Row = { ...first.stated }
  for (const [name, entry] of Object.entries(stream.map)) {
    if (typeof entry === 'string') continue
    const values = records.map((record) => record.stated[name])
    if (entry.list) {
      const items = values.flatMap((value) => (Array.isArray(value) ? value : []))
      stated[name] = items.filter(
        (item, i) => items.findIndex((other) => sameValue(other, item)) === i,
      )
    } else if (entry.rows === 'same' && !values.every((value) => sameValue(value, values[0]))) {
      delete stated[name]
    }
  }
  return { key: first.key, row: first.row, stated }
}
