/** Errors of a job as a table that a person corrects and sends back: one line per row of the file. */
import type { Row } from '../kit/resource.ts'
import type { OrgDb } from '../kit/types.ts'
import { listErrors } from './error-queries.ts'
import type { ErrorState } from './error-queries.ts'
import { csvLine } from './inline.ts'
import type { Cell } from './readers/types.ts'

/** Columns that say what is wrong; those of the file follow. They are left out when the table is replayed. */
export const ERROR_COLUMNS = [
  'error_row',
  'error_level',
  'error_status',
  'error_fields',
  'error_codes',
  'error_messages',
] as const

/** Errors read by one statement. */
const BATCH = 500

/** Spreadsheets take a text that starts with one of these signs for a formula; an apostrophe makes it text. */
const FORMULA = /^[=+\-@\t\r](?![\d.,]*$)/

/** One row of the file with everything that is wrong with it. */
interface BadRow {
  row: number
  errors: Row[]
  raw: Row
}

/** The lines of the table, in file order, batch by batch. */
export async function* errorLines(
  db: OrgDb,
  org_id: number,
  job_id: number,
  status: ErrorState | null,
): AsyncGenerator<string> {
  let columns: string[] | null = null
  for await (const bad of badRows(db, org_id, job_id, status)) {
    if (!columns) yield csvLine([...ERROR_COLUMNS, ...(columns = Object.keys(bad.raw))])
    yield line(bad, columns)
  }
  if (!columns) yield csvLine([...ERROR_COLUMNS])
}

function line({ row, errors, raw }: BadRow, columns: readonly string[]): string {
  const all = (name: string): string => [...new Set(errors.map((e) => e[name] ?? ''))].join('; ')
  const level = errors.some((error) => error['level'] === 'error') ? 'error' : 'warning'
  return csvLine([
    row,
    level,
    all('status'),
    all('field'),
    all('code'),
    safe(all('message')),
    ...columns.map((name) => safe(raw[name])),
  ])
}

function safe(value: unknown): unknown {
  return typeof value === 'string' && FORMULA.test(value) ? `'${value}` : value
}

/** A cell as it was before `safe`. */
export function unsafe(cell: Cell): Cell {
  return typeof cell === 'string' && cell.startsWith("'") && FORMULA.test(cell.slice(1))
    ? cell.slice(1)
    : cell
}

/** Rows of the file with errors in a state; errors of one row stand together. */
export async function* badRows(
  db: OrgDb,
  org_id: number,
  job_id: number,
  status: ErrorState | null,
): AsyncGenerator<BadRow> {
  let open = null as BadRow | null
  for (let after = 0; ;) {
    const errors = await listErrors(db, org_id, job_id, { status, after, limit: BATCH })
    for (const error of errors) {
      const row = error['row'] as number
      if (open?.row === row) open.errors.push(error)
      else {
        if (open) yield open
        open = { row, errors: [error], raw: error['raw'] as Row }
      }
    }
    if (errors.length < BATCH) break
    after = errors.at(-1)?.['n'] as number
  }
  if (open) yield open
}
