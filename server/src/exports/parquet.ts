/** Apache Parquet as its rows come: a row group is written as soon as it is full, so that one is in memory. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { ColumnSource, SchemaElement } from 'hyparquet-writer'
import { parseDecimal } from '../kit/decimal.ts'
import type { JsonSchema } from '../kit/field.ts'
import type { Row } from '../kit/resource.ts'
import { cellText, columnsOf, valueAt } from '../kit/tables/columns.ts'
import type { TableColumn } from '../kit/tables/columns.ts'

/** Rows per group: about ten megabytes of the widest objects, several times that while they are encoded. */
const GROUP_ROWS = 2_000

/** Money has up to 15 digits before the point and 4 behind it; 16 bytes are the usual decimal of readers. */
const DECIMAL = { type_length: 16, precision: 38 } as const

/**
 * The bytes of a Parquet file. Money is DECIMAL with the digits of its field, dates are DATE, times TIMESTAMP in UTC, whole
 * numbers INT64, numbers DOUBLE, lists and free objects JSON; every column may be null.
 */
export async function* parquet(
  item: JsonSchema,
  pages: AsyncIterable<Row[]>,
  group_rows = GROUP_ROWS,
): AsyncGenerator<Buffer> {
  const columns = columnsOf(item)
  const writer = new ByteWriter()
  const root = { name: 'root', num_children: columns.length }
  const file = new ParquetWriter({
    writer,
    schema: [root, ...columns.map(elementOf)],
    createdBy: 'Portfolio Grid',
  })
  let group: Row[] = []
  const flush = async (): Promise<Buffer> => {
    const columnData = columns.map((column): ColumnSource => {
      return { name: column.name, data: group.map((row) => stored(column, row)) }
    })
    await file.write({ columnData, rowGroupSize: group.length })
    group = []
    return taken(writer)
  }
  for await (const rows of pages) {
    for (const row of rows) {
      group.push(row)
      if (group.length === group_rows) yield await flush()
    }
  }
  if (group.length > 0) yield await flush()
  await file.finish()
  yield taken(writer)
}

/** What was written since the last call; offsets in the file go on counting. */
function taken(writer: ByteWriter): Buffer {
  const bytes = Buffer.from(writer.getBytes())
  writer.index = 0
  return bytes
}

function elementOf({ name, kind, digits }: TableColumn): SchemaElement {
  const column = { name, repetition_type: 'OPTIONAL' } as const
  switch (kind) {
    case 'integer':
      return { ...column, type: 'INT64' }
    case 'number':
      return { ...column, type: 'DOUBLE' }
    case 'boolean':
      return { ...column, type: 'BOOLEAN' }
    case 'date':
      return { ...column, type: 'INT32', converted_type: 'DATE' }
    case 'datetime':
      return { ...column, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' }
    case 'json':
      return { ...column, type: 'BYTE_ARRAY', converted_type: 'JSON' }
    case 'decimal':
      if (digits !== null)
        return {
          ...column,
          type: 'FIXED_LEN_BYTE_ARRAY',
          converted_type: 'DECIMAL',
          scale: digits,
          ...DECIMAL,
        }
      return { ...column, type: 'BYTE_ARRAY', converted_type: 'UTF8' }
    case 'text':
      return { ...column, type: 'BYTE_ARRAY', converted_type: 'UTF8' }
  }
}

/** A value in the form in which the writer takes the type of its column. */
function stored({ path, kind, digits }: TableColumn, row: Row): unknown {
  const value = valueAt(row, path)
  if (value === null) return null
  switch (kind) {
    case 'integer':
      return BigInt(value as number)
    case 'date':
    case 'datetime':
      return new Date(String(value))
    case 'decimal':
      return digits === null ? String(value) : (parseDecimal(value, digits) ?? null)
    case 'text':
      return cellText(value)
    case 'number':
    case 'boolean':
    case 'json':
      return value
  }
}
