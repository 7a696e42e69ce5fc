/** A file opened as an adapter says: its rows arranged, its columns known, its stream compiled. */
import type { Registry } from '../kit/query.ts'
import { celOf } from './adapter-cel.ts'
import type { Adapter, Stream } from './adapter.ts'
import { Budget } from './cel-budget.ts'
import { ExpressionFault } from './cel-functions.ts'
import { compileExpression } from './expression.ts'
import type { Expression } from './expression.ts'
import { compileMapping } from './mapping.ts'
import type { Mapping } from './mapping.ts'
import { arranged } from './readers/arrange.ts'
import type { Arranged } from './readers/arrange.ts'
import { openTable } from './readers/open.ts'
import { FileError } from './readers/types.ts'
import type { Cell, Limits, Table } from './readers/types.ts'
import { numberReader } from './values.ts'

export interface Source {
  table: Arranged
  mapping: Mapping
}

/**
 * Opens a file for one stream of an adapter.
 * @throws FileError when the file cannot be used, `missing_columns` when it lacks what the adapter reads.
 */
export async function openSource(
  file: string,
  adapter: Adapter,
  stream: Stream,
  registry: Registry,
  limits: Partial<Limits> = {},
): Promise<Source> {
  const opened = await openArranged(file, adapter, registry, limits)
  const { table } = opened
  try {
    const mapping = compileMapping(adapter, stream, registry, table.columns, table.meta)
    const wanted = [...mapping.columns, ...opened.columns, ...adapter.guards.require_columns]
    requireColumns(table, wanted)
    return { table, mapping }
  } catch (error) {
    await table.close()
    throw error
  }
}

/** What a file would be in which nothing stands. */
export function emptySource(adapter: Adapter, stream: Stream, registry: Registry): Source {
  const rows = { [Symbol.asyncIterator]: () => ({ next: async () => NO_MORE }) }
  const table: Arranged = {
    columns: [],
    meta: {},
    header_row: 0,
    rows,
    stats: () => ({ bytes_read: 0, bytes_total: 0 }),
    close: async () => {},
    totals: () => null,
  }
  return { table, mapping: compileMapping(adapter, stream, registry, []) }
}

const NO_MORE = { done: true, value: undefined } as const

/** Opens a file for all streams of an adapter. @returns also the columns that its arrangement reads. */
export async function openArranged(
  file: string,
  adapter: Adapter,
  registry: Registry,
  limits: Partial<Limits> = {},
): Promise<{ table: Arranged; columns: string[] }> {
  const { source, streams } = adapter
  const wanted = streams.flatMap((stream) => compileMapping(adapter, stream, registry, []).columns)
  const none = noneOf(adapter, () => undefined)
  const columns = [...(source.fill_down ?? []), ...(none?.columns ?? [])]
  const table = await openTable(file, source, limits, [...wanted, ...columns])
  const position = positionIn(table)
  const budget = new Budget()
  const isNone = noneOf(adapter, position, budget)
  const fill = (source.fill_down ?? []).flatMap((name) => position(name) ?? [])
  return { table: arranged(table, { fill, isNone: isNone && holds(isNone, budget) }), columns }
}

function positionIn({ columns }: Table): (column: string) => number | undefined {
  const index = new Map(columns.map((column, i) => [column.toLowerCase(), i]))
  return (column) => index.get(column.toLowerCase())
}

/** Rows whose expressions share a budget. */
const BUDGET_ROWS = 1_000

/** The expression that is true of rows that are none. */
function noneOf(
  adapter: Adapter,
  position: (column: string) => number | undefined,
  budget = new Budget(),
): Expression | null {
  const { source, locale } = adapter
  if (!source.skip_rows_where) return null
  const nulls = new Set(locale.nulls)
  const number = numberReader(locale)
  const cel = celOf(adapter, budget)
  return compileExpression(source.skip_rows_where, { cel, position, nulls, meta: {}, number })
}

/** What cannot be told of a row does not hold of it. */
function holds({ evaluate }: Expression, budget: Budget): (cells: readonly Cell[]) => boolean {
  let rows = 0
  return (cells) => {
    if (++rows % BUDGET_ROWS === 0) budget.renew()
    try {
      return evaluate(cells) === true
    } catch (error) {
      if (error instanceof ExpressionFault) return false
      throw error
    }
  }
}

function requireColumns({ columns, header_row }: Table, wanted: readonly string[]): void {
  const known = new Set(columns.map((column) => column.toLowerCase()))
  const missing = [...new Set(wanted)].filter((column) => !known.has(column.toLowerCase()))
  if (missing.length === 0) return
  const message = `The header in row ${header_row} lacks ${missing.join(', ')}.`
  throw new FileError('missing_columns', message, { missing, found: columns, row: header_row })
}
