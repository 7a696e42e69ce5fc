import { readCsv } from './csv.ts'
import { jsonTable } from './json-table.ts'
import { readPdf } from './pdf.ts'
import { toTable } from './table.ts'
import {
  DEFAULT_LIMITS,
  type Limits,
  type RawTable,
  type Table,
  type TableSource,
} from './types.ts'
import { readXlsx } from './xlsx.ts'

/**
 * Opens a table file and finds its header. A file that cannot be used is refused with a
 * `FileError`, here or while the rows are read.
 * @param wanted columns that JSON is to have whether its first records do or not.
 */
export async function openTable(
  path: string,
  source: TableSource,
  limits: Partial<Limits> = {},
  wanted: readonly string[] = [],
): Promise<Table> {
  const all = { ...DEFAULT_LIMITS, ...limits }
  if (source.kind === 'json' || source.kind === 'ndjson')
    return await jsonTable(path, source, wanted, all)
  return await toTable(rawTable(path, source, all), source, all)
}

/** Rows as they stand, before the header is known. */
export function rawTable(path: string, source: TableSource, limits: Limits): RawTable {
  const read = source.kind === 'csv' ? readCsv : source.kind === 'pdf' ? readPdf : readXlsx
  return read(path, source, limits)
}
