/** Rows into records: the attributes that the rows of an object state. */
import type { Field, Fields } from '../kit/field.ts'
import type { Registry } from '../kit/query.ts'
import { writableFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import { celOf } from './adapter-cel.ts'
import type { Adapter, Stream } from './adapter.ts'
import { Budget } from './cel-budget.ts'
import { ExpressionFault } from './cel-functions.ts'
import { Audit, compileChecks } from './checks.ts'
import type { RowChecks } from './checks.ts'
import { compileExpression } from './expression.ts'
import type { Expression, Surroundings } from './expression.ts'
import { fillerOf, refFiller, stubValues } from './fillers.ts'
import type { Context, Filler, Problem } from './fillers.ts'
import { hash64 } from './keys.ts'
import type { Hash } from './keys.ts'
import type { Cell, SheetRow } from './readers/types.ts'
import { numberReader } from './values.ts'

export type { Ref } from './fillers.ts'

/** What was wrong with a row, or with one of its cells. */
export interface RowIssue {
  row: number
  field: string | null
  code: string
  message: string
  /** `error`: the row was left out. `warning`: only the cell was. */
  level: 'error' | 'warning'
}

/** One object as the file gives it. */
export interface SourceRecord {
  /** The first of its rows. */
  row: number
  /** Null when the row says that the object has ended. */
  stated: Row | null
}

export interface Mapped {
  /** Null when a row cannot be used: a part of an object is not loaded. */
  record: SourceRecord | null
  issues: RowIssue[]
}

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
  /** What its expressions may take; to be renewed for each chunk. */
  budget: Budget
  /** Makes what the checks of the whole file are told by. */
  audit: () => Audit
}

/**
 * Compiles a stream of an adapter for a file with the given columns.
 * @param meta the cells above its header, by name.
 */
export function compileMapping(
  adapter: Adapter,
  stream: Stream,
  registry: Registry,
  columns: readonly string[],
  meta: Readonly<Record<string, Cell>> = {},
): Mapping {
  const index = new Map(columns.map((column, i) => [column.toLowerCase(), i]))
  const budget = new Budget()
  const surroundings: Surroundings = {
    cel: celOf(adapter, budget),
    position: (column) => index.get(column.toLowerCase()),
    nulls: new Set(adapter.locale.nulls),
    meta,
    number: numberReader(adapter.locale),
  }
  const used = new Set<string>()
  const read = new Set<string>()
  const compile = (source: string): Expression => {
    const expression = compileExpression(source, surroundings)
    for (const column of expression.columns) used.add(column)
    for (const name of expression.meta) read.add(name)
    return expression
  }
  const context: Context = { adapter, stream, compile }
  const fields = writableFields(registry.get(stream.type) as Resource)
  const key = compile(stream.key)
  const marker = adapter.delete_marker ? compile(adapter.delete_marker) : null
  const fillers = fillersOf(context, fields)
  const subject = { stream, fields }
  const checks = compileChecks(subject, surroundings)
  const audit = (): Audit => new Audit(subject, surroundings)
  const audited = audit().columns
  for (const column of checks.columns) used.add(column)
  const stubs = Object.entries(stream.resolve).flatMap(([path, rule]) => {
    const target = registry.get(rule.type) as Resource
    return rule.missing === 'create_stub'
      ? [[path, stubValues(context, rule, target)] as const]
      : []
  })
  const above = [...read].map((name) => [name, meta[name] ?? null])
  const { locale, lookups, delete_marker } = adapter
  return {
    key,
    map: (rows) => mapRows({ stream, fillers, checks, marker }, rows),
    stubs: new Map(stubs),
    columns: [...new Set([...used, ...audited])],
    places: [...used].flatMap((column) => index.get(column.toLowerCase()) ?? []),
    seed: hash64(JSON.stringify([locale, lookups, delete_marker, stream, above])),
    budget,
    audit,
  }
}

/** Fillers by the names under which facts hold what they give. */
function fillersOf(context: Context, fields: Fields): [string, Filler][] {
  const { map, resolve, ext } = context.stream
  return [
    ...Object.entries(map).map(([name, entry]): [string, Filler] => {
      const added = ext[name]
      const fill = fillerOf(context, name, entry, (added?.field ?? fields[name]) as Field)
      return [factName(context.stream, name), added?.stored ? storedBy(fill, added.stored) : fill]
    }),
    ...Object.entries(resolve)
      .filter(([path]) => !path.includes('.'))
      .map(([path, rule]): [string, Filler] => [path, refFiller(context, path, rule)]),
  ]
}

/** What facts hold in place of the words that a filler gives. */
function storedBy(fill: Filler, stored: Readonly<Record<string, unknown>>): Filler {
  const one = (value: unknown): unknown =>
    typeof value === 'string' && Object.hasOwn(stored, value) ? stored[value] : value
  return (cells, problem) => {
    const value = fill(cells, problem)
    return Array.isArray(value) ? value.map(one) : one(value)
  }
}

function factName({ ext }: Stream, name: string): string {
  return ext[name]?.key ?? name
}

/** Names of the facts that the rows of a stream state. */
export function statedNames(stream: Stream): Set<string> {
  const { map, resolve } = stream
  return new Set([
    ...Object.keys(map).map((name) => factName(stream, name)),
    ...Object.keys(resolve).filter((path) => !path.includes('.')),
  ])
}

/** Structured attributes, whose parts rows give one by one. */
export function partsOf(stream: Stream, fields: Fields): Map<string, Fields> {
  const parts = new Map<string, Fields>()
  for (const [name, entry] of Object.entries(stream.map))
    if (typeof entry === 'object' && entry.object && fields[name])
      parts.set(name, fields[name].items as Fields)
  return parts
}

interface Parts {
  stream: Stream
  fillers: readonly (readonly [string, Filler])[]
  checks: RowChecks
  /** Tells rows that end their object. */
  marker: Expression | null
}

interface StatedRow {
  row: number
  stated: Row
}

function mapRows(parts: Parts, rows: readonly SheetRow[]): Mapped {
  const { stream, fillers, checks, marker } = parts
  const issues: RowIssue[] = []
  const good: StatedRow[] = []
  const [first] = rows as [SheetRow]
  for (const row of rows) {
    let bad = false
    const problem: Problem = (field, code, message, level) => {
      issues.push({ row: row.row, field, code, message, level })
      bad ||= level === 'error'
    }
    if (marker && isMarked(marker, row, problem) && !bad)
      return { record: { row: first.row, stated: null }, issues }
    const stated: Row = {}
    for (const [name, fill] of fillers) {
      const value = fill(row.cells, problem)
      if (value !== undefined) stated[name] = value
    }
    if (!bad) good.push({ row: row.row, stated })
  }
  if (good.length === rows.length) {
    const record = mergeRecords(stream, good)
    const failed = checks.failures(first.cells, record.stated)
    for (const { check, message } of failed) {
      const level = check.level === 'error' ? 'error' : 'warning'
      issues.push({ row: first.row, field: null, code: 'check_failed', message, level })
    }
    const isRefused = failed.some(({ check }) => check.level === 'error')
    return { record: isRefused ? null : record, issues }
  }
  for (const { row } of good) {
    const message = 'another row of the same object cannot be used'
    issues.push({ row, field: 'key', code: 'incomplete_group', message, level: 'error' })
  }
  return { record: null, issues }
}

function isMarked(marker: Expression, { cells }: SheetRow, problem: Problem): boolean {
  try {
    return marker.evaluate(cells) === true
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error
    problem('mode', error.code, error.message, 'error')
    return false
  }
}

function mergeRecords(stream: Stream, records: readonly StatedRow[]): StatedRow {
  const [first, ...rest] = records as [StatedRow, ...StatedRow[]]
  if (rest.length === 0) return first
  const stated: Row = { ...first.stated }
  for (const [name, entry] of Object.entries(stream.map)) {
    if (typeof entry === 'string') continue
    const fact = factName(stream, name)
    const values = records.map((record) => record.stated[fact])
    if (entry.list) {
      const items = values.flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : []))
      const distinct = new Map(items.map((item) => [JSON.stringify(item), item]))
      if (items.length > 0) stated[fact] = [...distinct.values()]
    } else if (entry.rows === 'same' && !values.every((value) => sameValue(value, values[0]))) {
      delete stated[fact]
    }
  }
  return { row: first.row, stated }
}
