import { readCsv } from './csv.ts'
import { toTable } from './table.ts'
import { DEFAULT_LIMITS, type Limits, type Table, type TableSource } from './types.ts'
import { readXlsx } from './xlsx.ts'

/**
 * Opens a table file and finds its header. A file that cannot be used is refused with a
 * `FileError`, here or while the rows are read.
 */
export async function openTable(
  path: string,
  source: TableSource,
  limits: Partial<Limits> = {},
): Promise<Table> {
  const all = { ...DEFAULT_LIMITS, ...limits }
  const raw = source.kind === 'csv' ? readCsv(path, source, all) : readXlsx(path, source, all)
  return toTable(raw, source.header, all)
}
