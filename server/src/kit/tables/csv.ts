/** CSV as RFC 4180 has it: a header, commas, CRLF, quotes where a value needs them; UTF-8 without a byte-order mark. */
import type { Row } from '../resource.ts'
import { cellText, valueAt } from './columns.ts'
import type { TableColumn } from './columns.ts'

/** Spreadsheets take a text that starts with one of these signs for a formula; an apostrophe makes it text. */
const FORMULA = /^[=+\-@\t\r]/

const QUOTED = /[",\r\n]/

/**
 * One cell. A null is empty; a text that a spreadsheet would take for a formula gets an apostrophe in front.
 * @param exact the value is a number or a date by its type, which no spreadsheet runs: `-12.50` stays.
 */
export function csvCell(value: unknown, exact = false): string {
  if (value === null || value === undefined) return ''
  const text = cellText(value)
  const safe = !exact && typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function csvHeader(columns: readonly TableColumn[]): string {
  return `${columns.map(({ name }) => csvCell(name)).join(',')}\r\n`
}

export function csvLine(columns: readonly TableColumn[], row: Row): string {
  let line = ''
  for (const { path, kind } of columns) {
    const head = path.length === 1 ? row[path[0] as string] : valueAt(row, path)
    line += `${csvCell(head, kind !== 'text' && kind !== 'json')},`
  }
  return `${line.slice(0, -1)}\r\n`
}
