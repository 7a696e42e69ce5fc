/** Data that comes in a request instead of a file: rows as the CSV text by which they are read. Pure. */
import type { Row } from '../kit/resource.ts'
import type { Adapter } from './adapter.ts'

/** The adapter for rows that are no longer in its kind of file: a table whose first row names the columns. */
export function asTable(adapter: Adapter): Adapter {
  const { name, rank } = adapter.source
  return { ...adapter, source: { name, rank, kind: 'csv', delimiter: ',', encoding: 'utf-8' } }
}

/** Columns of rows, in the order in which they first appear. */
export function columnsOf(rows: readonly Row[]): string[] {
  const names = new Set<string>()
  for (const row of rows) for (const name of Object.keys(row)) names.add(name)
  return [...names]
}

/** A line of the table. Numbers are written as the adapter reads them. */
export function csvLine(values: readonly unknown[], decimal = '.'): string {
  return `${values.map((value) => csvCell(value, decimal)).join(',')}\r\n`
}

function csvCell(value: unknown, decimal: string): string {
  if (value === null || value === undefined) return ''
  const text =
    typeof value === 'number'
      ? String(value).replace('.', decimal)
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The table of the rows, for an adapter made by `asTable`. */
export function tableOf(rows: readonly Row[], { locale }: Adapter): string {
  const columns = columnsOf(rows)
  const lines = rows.map((row) =>
    csvLine(
      columns.map((name) => row[name]),
      locale.decimal,
    ),
  )
  return csvLine(columns) + lines.join('')
}

/** Rows of a text in JSON or NDJSON; null when it is neither, and so a table. @throws SyntaxError where it breaks off. */
export function rowsOfText(text: string): Row[] | null {
  const first = text.trimStart()[0]
  if (first === '[') return JSON.parse(text) as Row[]
  if (first !== '{') return null
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Row)
}
