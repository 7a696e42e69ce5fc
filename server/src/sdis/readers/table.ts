import { columnOf } from './cell-values.ts'
import {
  FileError,
  type Cell,
  type HeaderOptions,
  type Limits,
  type NamedCell,
  type RawTable,
  type SheetRow,
  type Table,
  type TableSource,
} from './types.ts'

const BATCH_ROWS = 1000
/** A batch of long texts ends earlier, so that memory stays flat whatever the cells hold. */
const BATCH_CHARS = 4_000_000
const MAX_SCAN = 30

interface Header {
  columns: string[]
  header_row: number
  /** Rows before the header. */
  above: SheetRow[]
  /** Rows after the header that were read along with it. */
  rest: SheetRow[]
}

/** Finds the header of a raw table and gives every row the width of that header. */
export async function toTable(
  raw: RawTable,
  { header: options, cells }: Pick<TableSource, 'header' | 'cells'>,
  limits: Limits,
): Promise<Table> {
  let closed = false
  const close = async (): Promise<void> => {
    closed = true
    await raw.batches.return(undefined)
  }
  let header: Header
  try {
    header = await findHeader(raw, options)
  } catch (error) {
    await close()
    throw error
  }
  const { columns, header_row, above, rest } = header
  const meta = namedCells(above, cells ?? {})
  const batches = fitted(raw, rest, columns.length, limits)
  let taken = false
  const rows = {
    [Symbol.asyncIterator]() {
      if (taken) throw new Error('The rows of a table can be read only once')
      taken = true
      return {
        // A closed file must not look like one that ended.
        next: async () => {
          if (closed) throw new Error('The table is closed')
          const next = await batches.next()
          if (closed) throw new Error('The table is closed')
          return next
        },
        // A generator that never started skips its `finally`, so the file is closed here as well.
        return: async () => {
          await close()
          return batches.return(undefined)
        },
      }
    },
  }
  return { columns, meta, header_row, rows, stats: () => ({ ...raw.stats }), close }
}

async function* fitted(
  raw: RawTable,
  first: SheetRow[],
  width: number,
  limits: Limits,
): AsyncGenerator<SheetRow[], void, undefined> {
  let batch: SheetRow[] = []
  let chars = 0
  let count = 0
  let rows: SheetRow[] | undefined = first
  try {
    while (rows) {
      for (const row of rows) {
        const weight = fit(row, width)
        if (weight === undefined) continue
        if (++count > limits.max_rows) throw tooManyRows(row.row, limits)
        batch.push(row)
        chars += weight
        if (batch.length < BATCH_ROWS && chars < BATCH_CHARS) continue
        yield batch
        batch = []
        chars = 0
      }
      const next: IteratorResult<SheetRow[], void> = await raw.batches.next()
      rows = next.done ? undefined : next.value
    }
    if (batch.length > 0) yield batch
  } finally {
    await raw.batches.return(undefined)
  }
}

/** Pads or cuts a row to `width` in place. Its number of characters, undefined if it is blank. */
function fit(row: SheetRow, width: number): number | undefined {
  const { cells } = row
  let chars = 0
  let blank = true
  for (const cell of cells) {
    if (typeof cell === 'string') chars += cell.length
    if (blank && !isBlank(cell)) blank = false
  }
  if (blank) return undefined
  while (cells.length < width) cells.push(null)
  if (cells.length > width) {
    if (cells.some((cell, index) => index >= width && !isBlank(cell))) row.extra = true
    cells.length = width
  }
  return chars
}

/** Cells above the header; null for those that are blank or not there. */
function namedCells(
  above: readonly SheetRow[],
  wanted: Readonly<Record<string, NamedCell>>,
): Record<string, Cell> {
  return Object.fromEntries(
    Object.entries(wanted).map(([name, place]) => [
      name,
      (typeof place === 'string' ? cellAt(above, place) : cellBeside(above, place.right_of)) ??
        null,
    ]),
  )
}

function cellAt(above: readonly SheetRow[], place: string): Cell | undefined {
  const row = Number(place.replace(/^[A-Z]+/, ''))
  return above.find((one) => one.row === row)?.cells[columnOf(place)]
}

function cellBeside(above: readonly SheetRow[], text: string): Cell | undefined {
  const wanted = keyOf(text).replace(/:$/, '')
  for (const { cells } of above) {
    const at = cells.findIndex((cell) => keyOf(cell).replace(/\s*:$/, '') === wanted)
    if (at >= 0) return cells.slice(at + 1).find((cell) => !isBlank(cell))
  }
  return undefined
}

function isBlank(cell: Cell): boolean {
  return cell === null || (typeof cell === 'string' && cell.trim() === '')
}

async function findHeader(raw: RawTable, options: HeaderOptions = {}): Promise<Header> {
  const wanted = (options.find ?? []).map((name) => ({ name, key: keyOf(name) }))
  const lastRow = wanted.length > 0 ? (options.max_scan ?? MAX_SCAN) : Infinity
  let best: { row: SheetRow; missing: string[] } | undefined
  const above: SheetRow[] = []
  let scanning = true
  while (scanning) {
    const next = await raw.batches.next()
    if (next.done) break
    for (const [index, row] of next.value.entries()) {
      scanning = row.row <= lastRow
      if (!scanning) break
      if (row.cells.every(isBlank)) continue
      const keys = new Set(row.cells.map(keyOf))
      const missing = wanted.filter(({ key }) => !keys.has(key)).map(({ name }) => name)
      if (missing.length === 0) {
        const columns = columnNames(row.cells)
        return { columns, header_row: row.row, above, rest: next.value.slice(index + 1) }
      }
      above.push(row)
      if (!best || missing.length < best.missing.length) best = { row, missing }
    }
  }
  if (best) throw missingColumns(best.row, best.missing)
  if (scanning) throw new FileError('empty_file', 'The file has no rows.')
  throw missingColumns(undefined, options.find ?? [])
}

/** Names as they stand, made unique; blank headers are named by place, blanks at the end cut. */
function columnNames(cells: Cell[]): string[] {
  const last = cells.findLastIndex((cell) => !isBlank(cell))
  const names = cells.slice(0, last + 1).map((cell, index) => {
    return isBlank(cell) ? `column_${index + 1}` : String(cell).trim()
  })
  const stated = new Set(names)
  const used = new Set<string>()
  return names.map((name) => {
    let unique = name
    for (let n = 2; used.has(unique) || (n > 2 && stated.has(unique)); n++)
      unique = `${name} (${n})`
    used.add(unique)
    return unique
  })
}

function keyOf(cell: Cell): string {
  return String(cell ?? '')
    .trim()
    .replaceAll(/\s+/g, ' ')
    .toLowerCase()
}

function missingColumns(row: SheetRow | undefined, missing: string[]): FileError {
  const found = row ? columnNames(row.cells) : []
  const names = missing.map((name) => `"${name}"`).join(', ')
  const where = row ? `The closest row is ${row.row}; it lacks` : 'No row was found with'
  return new FileError('missing_columns', `No header row has all columns. ${where} ${names}.`, {
    missing,
    found,
    ...(row && { row: row.row }),
  })
}

function tooManyRows(row: number, limits: Limits): FileError {
  return new FileError('too_many_rows', `The file has more than ${limits.max_rows} rows.`, {
    limit: limits.max_rows,
    row,
  })
}
