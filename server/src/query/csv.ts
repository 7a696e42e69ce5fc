/** Rows of an answer as CSV: a header, then one line per row; RFC 4180. */
import type { Output } from './select.ts'

/** Spreadsheets take a text that starts with one of these signs for a formula; an apostrophe makes it text. */
const FORMULA = /^[=+\-@\t\r]/

export function csvOf(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  exact: readonly boolean[],
): string {
  const header = names.map((name) => csvCell(name, false))
  const lines = rows.map((row) =>
    row.map((value, i) => csvCell(value, exact[i] === true)).join(','),
  )
  return `${[header.join(','), ...lines].join('\r\n')}\r\n`
}

/** Is a text of this column a number, which no spreadsheet runs: `-12.50`? */
export function isExact({ field }: Output): boolean {
  return field.type !== 'text' && field.type !== 'json' && field.type !== 'text[]'
}

function csvCell(value: unknown, exact: boolean): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = !exact && typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
