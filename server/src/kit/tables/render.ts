/** Rows as the bytes of a file, page by page: the next page is asked for when the one before has been taken. */
import { Readable } from 'node:stream'
import type { Row } from '../resource.ts'
import { columnsOf } from './columns.ts'
import type { TableColumn } from './columns.ts'
import { csvHeader, csvLine } from './csv.ts'
import type { TableFormat } from './formats.ts'
import type { JsonSchema } from '../field.ts'
import { workbook } from './xlsx.ts'

/**
 * A file of rows, made while it is read. What `pages` throws destroys the stream, so that nobody takes what came before for
 * the whole.
 * @param item the schema of a row, which says what columns there are.
 */
export function tableStream(
  format: TableFormat,
  item: JsonSchema,
  pages: AsyncIterable<Row[]>,
): Readable {
  if (format === 'ndjson') return Readable.from(lines(pages), AHEAD)
  const columns = columnsOf(item)
  return format === 'csv' ? Readable.from(csv(columns, pages), AHEAD) : workbook(columns, pages)
}

/** Pages that are made before the client has taken them. */
const AHEAD = { highWaterMark: 2 }

async function* lines(pages: AsyncIterable<Row[]>): AsyncGenerator<Buffer> {
  for await (const rows of pages)
    if (rows.length > 0) yield Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

async function* csv(
  columns: readonly TableColumn[],
  pages: AsyncIterable<Row[]>,
): AsyncGenerator<Buffer> {
  let text = csvHeader(columns)
  for await (const rows of pages) {
    for (const row of rows) text += csvLine(columns, row)
    yield Buffer.from(text)
    text = ''
  }
}
