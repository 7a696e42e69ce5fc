/** A file as chunks of records: rows by their key, with a hash by which an unchanged record is known unread. */
import type { Row } from '../kit/resource.ts'
import type { ErrorRow } from './jobs.ts'
import type { Audit } from './checks.ts'
import { hashCells, KeyCounts } from './keys.ts'
import { ExpressionFault } from './cel-functions.ts'
import type { Mapping, RowIssue } from './mapping.ts'
import { FileError } from './readers/types.ts'
import { storable } from './readers/text.ts'
import type { Cell, SheetRow } from './readers/types.ts'
import type { Source } from './source.ts'

export type { Source } from './source.ts'

/**
 * Records per transaction: API writes of the objects wait no longer than one chunk takes, and memory holds two of them.
 */
export const CHUNK_RECORDS = 500

/** A chunk also ends after this many rows, whatever became of them. */
const CHUNK_ROWS = 2_000

/** Rows of unfinished groups held in memory; a file that needs more is not sorted by its key at all. */
const HELD_MAX = 100_000

/** A key is part of an index entry. */
const KEY_CHARS_MAX = 500

/** Longest cell text kept beside an error. */
const RAW_CELL_CHARS = 500

/** The rows of one object, unread. */
export interface RawRecord {
  key: string
  rows: readonly SheetRow[]
  hash: string
}

export interface Chunk {
  records: RawRecord[]
  /** Rows that can be no record: without a key, or with one that was there before. */
  errors: ErrorRow[]
  rows: number
}

/** What a first reading of the whole file finds out. */
export interface Survey {
  rows: number
  /** How many rows each key has; null unless rows are grouped. */
  groups: KeyCounts | null
  /** What the checks of the whole file found that is no error. */
  issues: RowIssue[]
}

/**
 * Reads the file once, to the end, before anything is written: a file that breaks off or is damaged changes nothing.
 * @param tick is called after each batch.
 * @throws FileError
 */
export async function survey(
  { table, mapping }: Source,
  group: boolean,
  tick: () => Promise<void>,
): Promise<Survey> {
  const groups = group ? new KeyCounts() : null
  const audit = mapping.audit()
  let rows = 0
  for await (const batch of table.rows) {
    rows += batch.length
    mapping.budget.renew()
    for (const row of groups ? batch : []) {
      const key = keyOf(mapping, row)
      if (typeof key === 'string') groups?.add(key)
    }
    if (audit.isNeeded) for (const row of batch) audit.add(row, statedBy(mapping, audit, row))
    await tick()
  }
  const failures = audit.isNeeded ? audit.finish(table.totals()) : []
  const issues = failures.map(({ message }) => fileIssue(message))
  return { rows, groups, issues }
}

/** What a row states by itself, where a check of the whole file names it. */
function statedBy(mapping: Mapping, { needsRecords }: Audit, row: SheetRow): Row {
  return (needsRecords ? mapping.map([row]).record?.stated : null) ?? {}
}

/** An issue of no row. */
function fileIssue(message: string): RowIssue {
  return { row: 0, field: null, code: 'check_failed', message, level: 'warning' }
}

/**
 * Deterministic for a file and an adapter, so that a job that starts over finds its chunks where they were.
 * @param seen takes every key of the file.
 */
export async function* chunks(
  source: Source,
  seen: KeyCounts,
  { groups, issues }: Pick<Survey, 'groups' | 'issues'>,
): AsyncGenerator<Chunk> {
  const held = new Held(groups)
  const noted = issues.map((issue) => errorRow(source, { cells: [] }, issue))
  let chunk: Chunk = { records: [], errors: noted, rows: 0 }
  for await (const batch of source.table.rows) {
    source.mapping.budget.renew()
    for (const row of batch) {
      chunk.rows++
      const key = keyOf(source.mapping, row)
      if (typeof key !== 'string' || key.length > KEY_CHARS_MAX) {
        const { code, message } = keyFault(key)
        chunk.errors.push(keyError(source, row, code, message))
        continue
      }
      const before = seen.add(key)
      const rows = groups ? held.complete(key, row) : [row]
      if (!groups && before > 0) {
        const message = `the key ${key} was given by an earlier row`
        chunk.errors.push(keyError(source, row, 'duplicate_key', message))
      } else if (rows) chunk.records.push(recordOf(source.mapping, key, rows))
      if (chunk.records.length < CHUNK_RECORDS && chunk.rows < CHUNK_ROWS) continue
      yield chunk
      chunk = { records: [], errors: [], rows: 0 }
    }
  }
  if (chunk.rows > 0) yield chunk
}

/** Rows that wait for the rest of their group. */
class Held {
  private readonly counts: KeyCounts | null
  private readonly rows = new Map<string, SheetRow[]>()
  private size = 0

  constructor(counts: KeyCounts | null) {
    this.counts = counts
  }

  /** @returns all rows of the key when this is the last of them. */
  complete(key: string, row: SheetRow): SheetRow[] | null {
    const expected = this.counts?.count(key) ?? 1
    if (expected === 1) return [row]
    const group = this.rows.get(key) ?? []
    group.push(row)
    this.size++
    if (group.length === expected) {
      this.rows.delete(key)
      this.size -= expected
      return group
    }
    this.rows.set(key, group)
    if (this.size <= HELD_MAX) return null
    const message = `More than ${HELD_MAX} rows wait for others with their key. Sort the file by it.`
    throw new FileError('too_many_rows', message, { row: row.row, limit: HELD_MAX })
  }
}

function recordOf({ places, seed }: Mapping, key: string, rows: SheetRow[]): RawRecord {
  return { key, rows, hash: hashCells(rows, places, seed) }
}

/** The key of a row as text, null when it is blank, or why there is none. */
export function keyOf({ key }: Mapping, row: SheetRow): string | ExpressionFault | null {
  try {
    const cell = key.evaluate(row.cells)
    if (typeof cell === 'object' && cell !== null)
      return new ExpressionFault('not_a_single_value', 'a key is a single value')
    const text = cell === null ? '' : String(cell).trim()
    return text === '' ? null : text
  } catch (error) {
    if (error instanceof ExpressionFault) return error
    throw error
  }
}

/** Why a row cannot be told by its key. */
export function keyFault(key: ReturnType<typeof keyOf>): { code: string; message: string } {
  if (key instanceof ExpressionFault) return { code: key.code, message: key.message }
  const what = key === null ? 'blank' : `longer than ${KEY_CHARS_MAX} characters`
  return { code: 'missing_key', message: `the key of the row is ${what}` }
}

function keyError(source: Source, row: SheetRow, code: string, message: string): ErrorRow {
  return errorRow(source, row, { row: row.row, field: 'key', code, message, level: 'error' })
}

/** An issue with the row it came from, by column name, as an operator sees it. Long cells are cut. */
export function errorRow(
  { table }: Source,
  { cells }: { cells: readonly Cell[] },
  issue: RowIssue,
): ErrorRow {
  const raw: Row = Object.fromEntries(
    table.columns.map((column, i) => [column, shown(cells[i] ?? null)]),
  )
  const message = storable(issue.message.slice(0, 2 * RAW_CELL_CHARS))
  return { ...issue, message, raw }
}

/** A cell as people are shown it: long texts are cut. */
export function shown(cell: Cell): Cell {
  if (typeof cell === 'object' && cell !== null) {
    const text = JSON.stringify(cell)
    return text.length > RAW_CELL_CHARS ? shown(text) : cell
  }
  const long = typeof cell === 'string' && cell.length > RAW_CELL_CHARS
  return long ? `${cell.slice(0, RAW_CELL_CHARS).toWellFormed()}…` : cell
}
