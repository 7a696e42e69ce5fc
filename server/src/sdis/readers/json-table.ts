/** Records of JSON as the rows of a table: a column for each path that leads to a value. */
import { readJson, type JsonRecord } from './json.ts'
import {
  FileError,
  type Cell,
  type Limits,
  type SheetRow,
  type Table,
  type TableSource,
} from './types.ts'

/** Records by which the columns are known; what appears later only is read where an adapter names it. */
const SEEN_FIRST = 1_000

const BATCH_ROWS = 1_000

/**
 * Opens a JSON file. Objects are taken apart, `address.city` is a column of its own; lists are values as a whole.
 * @param wanted paths that are columns whether the first records have them or not.
 */
export async function jsonTable(
  path: string,
  source: TableSource,
  wanted: readonly string[],
  limits: Limits,
): Promise<Table> {
  const stats = { bytes_read: 0, bytes_total: 0 }
  const batches = readJson(path, source, limits, stats)
  let closed = false
  const close = async (): Promise<void> => {
    closed = true
    await batches.return(undefined)
  }
  let first: JsonRecord[]
  let columns: string[]
  try {
    first = await head(batches)
    if (first.length === 0) throw new FileError('empty_file', 'The file has no records.')
    columns = columnsOf(first, wanted, limits)
  } catch (error) {
    await close()
    throw error
  }
  const rows = rowsOf(first, batches, columns, limits)
  const open = {
    [Symbol.asyncIterator]: () => ({
      next: async (): Promise<IteratorResult<SheetRow[], void>> => {
        // A closed file must not look like one that ended.
        if (closed) throw new Error('The table is closed')
        return await rows.next()
      },
      return: async (): Promise<IteratorResult<SheetRow[], void>> => {
        await close()
        return await rows.return(undefined)
      },
    }),
  }
  return { columns, meta: {}, header_row: 0, rows: open, stats: () => ({ ...stats }), close }
}

async function head(batches: AsyncGenerator<JsonRecord[], void, undefined>): Promise<JsonRecord[]> {
  const first: JsonRecord[] = []
  while (first.length < SEEN_FIRST) {
    const next = await batches.next()
    if (next.done) break
    first.push(...next.value)
  }
  return first
}

function columnsOf(
  records: readonly JsonRecord[],
  wanted: readonly string[],
  limits: Limits,
): string[] {
  const found = new Set<string>()
  for (const { row, value } of records) {
    gather(value, '', found)
    if (found.size > limits.max_columns) {
      const message = `The records up to ${row} have more than ${limits.max_columns} values each.`
      throw new FileError('too_many_columns', message, { row, limit: limits.max_columns })
    }
  }
  const known = new Set([...found].map((name) => name.toLowerCase()))
  return [...found, ...wanted.filter((name) => !known.has(name.toLowerCase()))]
}

function gather(value: Cell, path: string, found: Set<string>): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [name, part] of Object.entries(value))
      gather(part, path === '' ? name : `${path}.${name}`, found)
  } else if (path !== '') found.add(path)
}

async function* rowsOf(
  first: readonly JsonRecord[],
  batches: AsyncGenerator<JsonRecord[], void, undefined>,
  columns: readonly string[],
  limits: Limits,
): AsyncGenerator<SheetRow[], void, undefined> {
  const paths = columns.map((name) => ({ name, path: name.split('.') }))
  let count = 0
  let records: readonly JsonRecord[] = first
  try {
    while (true) {
      for (let i = 0; i < records.length; i += BATCH_ROWS) {
        const batch = records.slice(i, i + BATCH_ROWS)
        count += batch.length
        if (count > limits.max_rows) {
          const message = `The file has more than ${limits.max_rows} records.`
          throw new FileError('too_many_rows', message, { limit: limits.max_rows })
        }
        yield batch.map(({ row, value }) => ({
          row,
          cells: paths.map(({ name, path }) => checked(valueAt(value, name, path), row, limits)),
        }))
      }
      const next = await batches.next()
      if (next.done) return
      records = next.value
    }
  } finally {
    await batches.return(undefined)
  }
}

function valueAt(record: JsonRecord['value'], name: string, path: readonly string[]): Cell {
  if (Object.hasOwn(record, name)) return record[name] as Cell
  let value: Cell = record
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return null
    value = (value as Record<string, Cell>)[part] as Cell
  }
  return value
}

function checked(cell: Cell, row: number, { max_cell_chars }: Limits): Cell {
  if (typeof cell !== 'string' || cell.length <= max_cell_chars) return cell === '' ? null : cell
  const message = `Record ${row} has a text of more than ${max_cell_chars} characters.`
  throw new FileError('cell_too_long', message, { row, limit: max_cell_chars })
}
