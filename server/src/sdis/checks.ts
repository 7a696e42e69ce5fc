/** Checks of an adapter: what must hold of each record, and of the file as a whole before any of it is loaded. */
import type { Fields } from '../kit/field.ts'
import type { Row } from '../kit/resource.ts'
import type { Check, Stream } from './adapter.ts'
import type { Cel } from './cel.ts'
import { ExpressionFault } from './cel-functions.ts'
import { rowReader } from './expression.ts'
import type { ReadRow, Surroundings } from './expression.ts'
import { FileError } from './readers/types.ts'
import type { Cell, SheetRow } from './readers/types.ts'

/** `sum(expression)` and its likes; `count()` has nothing in it. */
export const AGGREGATE = /^\s*(sum|count|min|max|avg)\s*\(([\s\S]*)\)\s*$/

/** What checks are of: the records of a stream. */
export interface Subject {
  stream: Stream
  /** Fields of its type. */
  fields: Fields
}

/** Names that checks know: what the stream maps. */
export function checkNames({ map }: Stream): ReadonlySet<string> {
  return new Set(Object.keys(map).map((name) => name.split('.')[0] as string))
}

/** A check that does not hold of a record, and why. */
export interface Failure {
  check: Check
  message: string
}

export interface RowChecks {
  /** Columns they read. */
  columns: readonly string[]
  /** @returns those that do not hold. What cannot be told because something is blank holds. */
  failures: (cells: readonly Cell[], stated: Row) => Failure[]
}

/** An expression over the fields of a record and the row it came from. */
interface RecordExpression {
  columns: readonly string[]
  /** Fields it names. */
  names: readonly string[]
  /** Null also when it cannot be told because something is blank. @throws ExpressionFault */
  evaluate: (cells: readonly Cell[], stated: Row) => Cell
}

export function compileChecks(subject: Subject, surroundings: Surroundings): RowChecks {
  const checks = subject.stream.checks
    .filter(({ expr }) => expr !== undefined)
    .map((check) => ({
      check,
      ...recordExpression(check.expr as string, subject, surroundings),
    }))
  const failures = (cells: readonly Cell[], stated: Row): Failure[] =>
    checks.flatMap(({ check, evaluate }) => {
      const { id, expr } = check
      try {
        const value = evaluate(cells, stated)
        if (value === true || value === null) return []
        return [{ check, message: `${id}: ${expr} does not hold` }]
      } catch (error) {
        if (!(error instanceof ExpressionFault)) throw error
        return [{ check, message: `${id}: ${error.message}` }]
      }
    })
  return { columns: checks.flatMap(({ columns }) => columns), failures }
}

function recordExpression(
  source: string,
  subject: Subject,
  surroundings: Surroundings,
): RecordExpression {
  const cel = surroundings.cel.read(source, ['row', 'meta'], checkNames(subject.stream))
  const { columns, read } = rowReader(cel.reads.row, surroundings)
  const evaluate = (cells: readonly Cell[], stated: Row): Cell => {
    const found = read(cells)
    return told(cel, found, namedValues(cel, subject, stated), surroundings.meta)
  }
  return { columns, names: cel.names, evaluate }
}

function told(cel: Cel, { row, isBlank }: ReadRow, named: Row, meta: Surroundings['meta']): Cell {
  try {
    return cel.evaluate({ ...named, row, meta })
  } catch (error) {
    const blank = isBlank || Object.values(named).includes(null)
    if (blank && error instanceof ExpressionFault && error.code === 'expression_failed') return null
    throw error
  }
}

/** The fields that an expression names; amounts as numbers, so that they can be compared. */
function namedValues(cel: Cel, { stream, fields }: Subject, stated: Row): Row {
  const values: Row = {}
  for (const name of cel.names) {
    const value = name === 'ext' ? extOf(stream, stated) : (stated[name] ?? null)
    const isMoney = fields[name]?.kind === 'money' && value !== null
    values[name] = isMoney ? Number(value) : value
  }
  return values
}

function extOf({ ext }: Stream, stated: Row): Row {
  return Object.fromEntries(
    Object.entries(ext).map(([name, { key }]) => [name.slice('ext.'.length), stated[key] ?? null]),
  )
}

/** Gathers what the checks of the whole file compare, row by row. */
export class Audit {
  private readonly sums: { check: Check; tally: Tally; expression: RecordExpression | null }[]
  private readonly surroundings: Surroundings

  constructor(subject: Subject, surroundings: Surroundings) {
    this.surroundings = surroundings
    this.sums = subject.stream.checks.flatMap((check) => {
      const [, name, inner = ''] = AGGREGATE.exec(check.aggregate ?? '') ?? []
      if (!name) return []
      const expression = name === 'count' ? null : recordExpression(inner, subject, surroundings)
      return [{ check, tally: new Tally(name as Measure), expression }]
    })
  }

  /** Whether there is anything to gather. */
  get isNeeded(): boolean {
    return this.sums.length > 0
  }

  /** Whether it takes the fields of records, not the columns of rows alone. */
  get needsRecords(): boolean {
    return this.sums.some(({ expression }) => expression?.names.length)
  }

  get columns(): string[] {
    return this.sums.flatMap(({ expression }) => expression?.columns ?? [])
  }

  add({ row, cells }: SheetRow, stated: Row): void {
    for (const { check, tally, expression } of this.sums) {
      if (!expression) {
        tally.add(1)
        continue
      }
      const value = evaluated(check, row, () => expression.evaluate(cells, stated))
      if (value === null) continue
      const number = Number(value)
      if (Number.isNaN(number)) throw checkFault(check, `row ${row} gives no number`)
      tally.add(number)
    }
  }

  /**
   * @param totals cells of the totals row by column, null when the file has none.
   * @returns what does not hold but is no error.
   * @throws FileError `check_failed` for what is.
   */
  finish(totals: Readonly<Record<string, Cell>> | null): Failure[] {
    return this.sums.flatMap(({ check, tally }) => {
      const expected = this.expected(check, totals)
      const found = tally.value
      if (expected !== null && isWithin(found, expected, check.tolerance_pct)) return []
      const what = expected === null ? 'nothing to compare it with' : String(expected)
      const message = `${check.id}: ${check.aggregate} is ${found}, but the file states ${what}`
      if (check.level === 'error')
        throw new FileError('check_failed', message, { check: check.id, found, expected })
      return [{ check, message }]
    })
  }

  private expected(check: Check, totals: Readonly<Record<string, Cell>> | null): number | null {
    const { compare } = check
    if (typeof compare === 'number') return compare
    const cel = this.surroundings.cel.read(compare as string, ['meta', 'totals'], new Set())
    const [path] = cel.reads.totals
    if (path && !totals) return null
    const columns = new Map(
      Object.entries(totals ?? {}).map(([name, cell]) => [name.toLowerCase(), cell]),
    )
    const wanted = cel.reads.totals.map(([name = '']) => [
      name,
      columns.get(name.toLowerCase()) ?? null,
    ])
    const context = { meta: this.surroundings.meta, totals: Object.fromEntries(wanted) as Row }
    const value = evaluated(check, null, () => cel.evaluate(context))
    if (value === null) return null
    const { number } = this.surroundings
    const reading = typeof value === 'number' ? { value } : number(value)
    if (reading === null) return null
    if (!('value' in reading)) throw checkFault(check, reading.message)
    return reading.value as number
  }
}

type Measure = 'sum' | 'count' | 'min' | 'max' | 'avg'

class Tally {
  private readonly measure: Measure
  private count = 0
  private sum = 0
  /** What rounding has kept out of the sum. */
  private rest = 0
  private extreme: number | null = null

  constructor(measure: Measure) {
    this.measure = measure
  }

  add(value: number): void {
    this.count++
    const sum = this.sum + value
    const isLess = Math.abs(this.sum) < Math.abs(value)
    this.rest += isLess ? value - sum + this.sum : this.sum - sum + value
    this.sum = sum
    const choose = this.measure === 'min' ? Math.min : Math.max
    this.extreme = this.extreme === null ? value : choose(this.extreme, value)
  }

  get value(): number {
    if (this.measure === 'min' || this.measure === 'max') return this.extreme ?? 0
    if (this.measure === 'count') return this.count
    const sum = this.sum + this.rest
    // As many digits as any number of that many has: binary fractions add some behind them.
    return Number((this.measure === 'sum' ? sum : sum / Math.max(1, this.count)).toPrecision(15))
  }
}

function isWithin(found: number, expected: number, tolerance_pct: number): boolean {
  return Math.abs(found - expected) <= (Math.abs(expected) * tolerance_pct) / 100 + 1e-9
}

function evaluated(check: Check, row: number | null, evaluate: () => Cell): Cell {
  try {
    return evaluate()
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error
    throw checkFault(check, `${row === null ? '' : `row ${row}: `}${error.message}`)
  }
}

function checkFault({ id }: Check, message: string): FileError {
  return new FileError('check_failed', `${id}: ${message}`, { check: id })
}
