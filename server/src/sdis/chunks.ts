/** A file as chunks of records, each with the rows that had to be left out. */
import type { Row } from '../kit/resource.ts'
import type { ErrorRow } from './jobs.ts'
import { hashText } from './keys.ts'
import type { KeyCounts } from './keys.ts'
import type { Mapping, RowIssue, SourceRecord } from './mapping.ts'
import type { Cell, SheetRow, Table } from './readers/types.ts'

/** Records per transaction: API writes of the organization wait no longer than one chunk takes. */
export const CHUNK_RECORDS = 2_000

/** Rows of unfinished groups held in memory; a file that needs more is not sorted by its key at all. */
const HELD_MAX = 100_000

export interface Source {
  table: Table
  mapping: Mapping
}

/** A record with the hash of what it states and the cells it came from. */
export interface HashedRecord extends SourceRecord {
  hash: string
  cells: readonly Cell[]
}

export interface Chunk {
  records: HashedRecord[]
  errors: ErrorRow[]
  rows: number
  quarantined: number
  warnings: number
}

/**
 * Deterministic for a file and an adapter, so that a job that starts over finds its chunks where they were.
 * @param seen takes every key of the file.
 * @param groups how many rows each key has, when rows are grouped.
 */
export async function* chunks(
  source: Source,
  seen: KeyCounts,
  groups: KeyCounts | null,
): AsyncGenerator<Chunk> {
  const held = new Map<string, { records: SourceRecord[]; cells: readonly Cell[]; rows: number }>()
  let heldRows = 0
  let chunk = emptyChunk()
  for await (const batch of source.table.rows) {
    for (const row of batch) {
      chunk.rows++
      const { record, issues } = source.mapping.map(row)
      if (issues.length > 0) noteIssues(chunk, source, row, issues)
      const key = record?.key ?? keyOf(source, row)
      const before = key === null ? 0 : seen.add(key)
      if (!groups) {
        if (record && before === 0) chunk.records.push(hashed(record, row.cells))
        else if (record) noteDuplicate(chunk, source, row)
      } else if (key !== null) {
        const expected = groups.count(key)
        const group = held.get(key) ?? { records: [], cells: row.cells, rows: 0 }
        if (record) group.records.push(record)
        group.rows++
        heldRows += expected > 1 ? 1 : 0
        if (group.rows < expected) held.set(key, group)
        else {
          held.delete(key)
          heldRows -= expected > 1 ? expected : 0
          if (group.records.length > 0)
            chunk.records.push(hashed(source.mapping.merge(group.records), group.cells))
        }
        if (heldRows > HELD_MAX)
          throw new Error(`more than ${HELD_MAX} rows wait for the rest of their group`)
      }
      if (chunk.records.length >= CHUNK_RECORDS || chunk.rows >= CHUNK_RECORDS * 4) {
        yield chunk
        chunk = emptyChunk()
      }
    }
  }
  if (chunk.rows > 0) yield chunk
}

function emptyChunk(): Chunk {
  return { records: [], errors: [], rows: 0, quarantined: 0, warnings: 0 }
}

function hashed(record: SourceRecord, cells: readonly Cell[]): HashedRecord {
  return { ...record, cells, hash: hashText(JSON.stringify(record.stated)) }
}

function keyOf(source: Source, row: SheetRow): string | null {
  const key = source.mapping.key.evaluate(row.cells)
  const text = key === null ? '' : String(key).trim()
  return text === '' ? null : text
}

function noteIssues(
  chunk: Chunk,
  source: Source,
  row: SheetRow,
  issues: readonly RowIssue[],
): void {
  const raw = rawRow(source, row)
  for (const issue of issues) chunk.errors.push({ ...issue, raw })
  if (issues.some((issue) => issue.level === 'error')) chunk.quarantined++
  else chunk.warnings++
}

function noteDuplicate(chunk: Chunk, source: Source, row: SheetRow): void {
  const message = `the key ${keyOf(source, row)} was given by an earlier row`
  chunk.errors.push({
    row: row.row,
    field: 'key',
    code: 'duplicate_key',
    message,
    level: 'error',
    raw: rawRow(source, row),
  })
  chunk.quarantined++
}

/** The row by column name, as an operator sees it beside its error. */
export function rawRow(source: Source, row: { cells: readonly Cell[] }): Row {
  return Object.fromEntries(source.table.columns.map((column, i) => [column, row.cells[i] ?? null]))
}
