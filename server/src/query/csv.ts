/** The columns of an answer as those of a table. */
import type { TableColumn } from '../kit/tables/columns.ts'
import type { Output } from './select.ts'

/** What is a number or a time by its type stays as it is where a spreadsheet would take a text for a formula. */
export function csvColumn({ name, field: { type, own } }: Output): TableColumn {
  // An option is a number to the database and a word to who reads the table.
  const words =
    type === 'text' || type === 'text[]' || (own !== undefined && own.allowed !== undefined)
  const kind = words ? 'text' : type === 'json' ? 'json' : 'decimal'
  return { name, path: [name], kind, digits: null }
}
