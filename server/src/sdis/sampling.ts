/** The first rows of a file: raw, and as an adapter maps them. Runs in the sampling thread. */
import { date } from '../kit/field.ts'
import type { Registry } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { celOf } from './adapter-cel.ts'
import type { Adapter, Stream } from './adapter.ts'
import { ExpressionFault } from './cel-functions.ts'
import { keyFault, keyOf, shown } from './chunks.ts'
import { compileMapping } from './mapping.ts'
import type { Mapping, RowIssue } from './mapping.ts'
import { guessSource } from './readers/guess.ts'
import { openTable } from './readers/open.ts'
import { FileError } from './readers/types.ts'
import type { Cell, SheetRow, Table, TableSource } from './readers/types.ts'
import { openArranged } from './source.ts'
import { readerOf } from './values.ts'
import type { Reading } from './values.ts'

/** One object as the sample gives it. */
export interface SampleRecord {
  stream: string
  type: string
  key: string
  /** The rows it was made of. */
  rows: number[]
  /** Its attributes, related objects as `{ $ref: [path, key] }`; null when the row says that the object has ended. */
  values: Row | null
}

/** The first rows of a file. */
export interface Sample {
  /** How the file was read; guessed where there was no adapter. */
  source: TableSource
  columns: string[]
  header_row: number
  /** Cells above the header, by the names that the adapter gives them. */
  meta: Readonly<Record<string, Cell>>
  /** As they stand in the file, by column; long texts are cut. */
  rows: { row: number; raw: Row }[]
  records: SampleRecord[]
  issues: (RowIssue & { stream: string })[]
  /** Whether the file has no more rows than these. */
  complete: boolean
}

/** A column with values from the first rows. */
export interface ColumnSample {
  name: string
  /** What its cells state, in the order of the rows, blanks left out; long texts are cut. */
  values: Cell[]
  blank: number
}

/** The columns of a file as its first rows fill them. */
export interface Columns {
  source: TableSource
  header_row: number
  columns: ColumnSample[]
  rows: number
  complete: boolean
}

/** @throws FileError */
export async function readSample(
  file: string,
  adapter: Adapter | null,
  count: number,
  registry: Registry,
): Promise<Sample> {
  const source = adapter?.source ?? (await guessSource(file))
  const table = adapter
    ? (await openArranged(file, adapter, registry)).table
    : await openTable(file, source)
  try {
    const { columns, header_row, meta } = table
    const mappings = (adapter?.streams ?? []).map((stream) => ({
      stream,
      mapping: compileMapping(adapter as Adapter, stream, registry, columns, meta),
    }))
    const { rows, complete } = await take(table, count)
    const sample: Sample = {
      source,
      columns,
      header_row,
      meta,
      rows: rows.map(({ row, cells }) => ({ row, raw: rawOf(columns, cells) })),
      records: [],
      issues: [],
      complete,
    }
    for (const { stream, mapping } of mappings) addRecords(sample, stream, mapping, rows)
    return sample
  } finally {
    await table.close()
  }
}

/**
 * The day on which a file was true, as its adapter's `effective.from` reads it; null when the file names none and the
 * day of the job holds.
 * @throws FileError `no_effective_date` when what it names is no date, or it must name one.
 */
export async function readEffectiveDay(
  file: string,
  adapter: Adapter,
  registry: Registry,
): Promise<string | null> {
  const { effective, locale } = adapter
  const { table } = await openArranged(file, adapter, registry)
  await table.close()
  const reading = dated(adapter, table.meta)
  if (reading === null && effective.default === 'job_start') return null
  if (reading && 'value' in reading) return String(reading.value)
  const why = reading?.message ?? `${effective.from} is blank`
  const message = `The file does not say when it was true: ${why}.`
  throw new FileError('no_effective_date', message, { dates: locale.date })
}

function dated({ effective, locale, lookups }: Adapter, meta: Table['meta']): Reading {
  const cel = celOf({ locale, lookups }).read(effective.from as string, ['meta'], new Set())
  try {
    const cell = cel.evaluate({ meta })
    return cell === null ? null : readerOf({}, DAY, locale)(cell)
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error
    return Object.values(meta).includes(null) ? null : error
  }
}

const DAY = date('The day on which a file was true.', { example: '2025-05-31' })

/** @param given how to read the file; guessed when null. @throws FileError */
export async function readColumns(
  file: string,
  given: TableSource | null,
  count: number,
): Promise<Columns> {
  const source = given ?? (await guessSource(file))
  const table = await openTable(file, source)
  try {
    const { rows, complete } = await take(table, count)
    const columns = table.columns.map((name, i) => {
      const cells = rows.map((row) => shown(row.cells[i] ?? null))
      const values = cells.filter((cell) => cell !== null && String(cell).trim() !== '')
      return { name, values, blank: cells.length - values.length }
    })
    return { source, header_row: table.header_row, columns, rows: rows.length, complete }
  } finally {
    await table.close()
  }
}

async function take(table: Table, count: number): Promise<{ rows: SheetRow[]; complete: boolean }> {
  const rows: SheetRow[] = []
  for await (const batch of table.rows) {
    rows.push(...batch)
    if (rows.length > count) return { rows: rows.slice(0, count), complete: false }
  }
  return { rows, complete: true }
}

function addRecords(
  sample: Sample,
  stream: Stream,
  mapping: Mapping,
  rows: readonly SheetRow[],
): void {
  const groups = new Map<string, SheetRow[]>()
  const refuse = (row: SheetRow, code: string, message: string): void => {
    const issue = { row: row.row, field: 'key', code, message, level: 'error' } as const
    sample.issues.push({ ...issue, stream: stream.name })
  }
  for (const row of rows) {
    const key = keyOf(mapping, row)
    if (typeof key !== 'string') {
      const { code, message } = keyFault(key)
      refuse(row, code, message)
      continue
    }
    const group = groups.get(key)
    if (!group) groups.set(key, [row])
    else if (stream.group) group.push(row)
    else refuse(row, 'duplicate_key', `the key ${key} was given by an earlier row`)
  }
  for (const [key, group] of groups) {
    const { record, issues } = mapping.map(group)
    sample.issues.push(...issues.map((issue) => ({ ...issue, stream: stream.name })))
    if (!record) continue
    const { name, type } = stream
    const numbers = group.map(({ row }) => row)
    sample.records.push({ stream: name, type, key, rows: numbers, values: record.stated })
  }
  sample.issues.sort((a, b) => a.row - b.row)
}

function rawOf(columns: readonly string[], cells: readonly Cell[]): Row {
  return Object.fromEntries(columns.map((column, i) => [column, shown(cells[i] ?? null)]))
}
