/** What a file is and where its header stands, for files that come without an adapter. */
import { open } from 'node:fs/promises'

import { pathOfList } from './json.ts'
import { rawTable } from './open.ts'
import { HEAD_BYTES, looksLike } from './sniff.ts'
import {
  DEFAULT_LIMITS,
  FileError,
  type Cell,
  type RawTable,
  type SheetRow,
  type TableSource,
} from './types.ts'

/** Rows looked at for the header; reports put their title, date and filters above it. */
const SCANNED = 50

/** Bytes of JSON looked through for the list of records. */
const JSON_BYTES = 1_048_576

/** Columns by which a header that is not the first row is found again; more add nothing. */
const FOUND_BY = 6

/**
 * The source as an adapter would state it: kind of file, and how to find the header when it is not the first row.
 * @throws FileError for what is no table at all.
 */
export async function guessSource(path: string): Promise<TableSource> {
  const found = await kindOf(path)
  if (found.kind === 'json' || found.kind === 'ndjson') return found
  const { kind } = found
  const rows = await firstRows(rawTable(path, { kind }, DEFAULT_LIMITS))
  const header = headerOf(rows)
  if (!header || header === rows[0]) return { kind }
  const find = header.cells.filter((cell) => typeof cell === 'string').map((cell) => cell.trim())
  return { kind, header: { find: find.slice(0, FOUND_BY), max_scan: Math.max(30, header.row) } }
}

async function kindOf(path: string): Promise<TableSource> {
  const handle = await open(path)
  try {
    const memory = Buffer.alloc(JSON_BYTES)
    const { bytesRead } = await handle.read(memory, 0, JSON_BYTES, 0)
    if (bytesRead === 0) throw new FileError('empty_file', 'The file is empty.')
    const looks = looksLike(memory.subarray(0, Math.min(bytesRead, HEAD_BYTES)))
    if (looks === 'zip' || looks === 'ole2') return { kind: 'xlsx' }
    if (looks === 'PDF') return { kind: 'pdf' }
    const text = memory.toString('utf8', 0, bytesRead).replace('\ufeff', '').trimStart()
    return /^[[{]/.test(text) ? jsonSource(text) : { kind: 'csv' }
  } finally {
    await handle.close()
  }
}

/** One object per line, or a list that stands somewhere in the document. */
function jsonSource(text: string): TableSource {
  const [first = '', second = ''] = text.split('\n')
  if (isObject(first) && second.trimStart().startsWith('{')) return { kind: 'ndjson' }
  const path = pathOfList(text)
  if (path) return { kind: 'json', path }
  return { kind: path === null && isObject(first) ? 'ndjson' : 'json' }
}

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

async function firstRows(raw: RawTable): Promise<SheetRow[]> {
  const rows: SheetRow[] = []
  try {
    while (rows.length < SCANNED) {
      const next = await raw.batches.next()
      if (next.done) break
      rows.push(...next.value)
    }
  } finally {
    await raw.batches.return(undefined)
  }
  return rows.slice(0, SCANNED).filter(({ cells }) => cells.some(isFilled))
}

/** The first row of names that is nearly as wide as the table: different texts, none of them a number. */
function headerOf(rows: readonly SheetRow[]): SheetRow | undefined {
  const width = Math.max(0, ...rows.map(({ cells }) => cells.filter(isFilled).length))
  return rows.find(({ cells }) => {
    const filled = cells.filter(isFilled)
    const names = filled.filter((cell) => typeof cell === 'string' && !/^[\d.,%$€-]+$/.test(cell))
    const distinct = new Set(names.map((name) => String(name).trim().toLowerCase()))
    return distinct.size >= Math.max(1, 0.7 * width) && distinct.size >= 0.9 * filled.length
  })
}

function isFilled(cell: Cell): boolean {
  return cell !== null && String(cell).trim() !== ''
}
