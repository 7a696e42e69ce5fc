/** What a file is and where its header stands, for files that come without an adapter. */
import { open } from 'node:fs/promises'

import { readCsv } from './csv.ts'
import { HEAD_BYTES, looksLike } from './sniff.ts'
import {
  DEFAULT_LIMITS,
  FileError,
  type Cell,
  type RawTable,
  type SheetRow,
  type TableSource,
} from './types.ts'
import { readXlsx } from './xlsx.ts'

/** Rows looked at for the header; reports put their title, date and filters above it. */
const SCANNED = 50

/** Columns by which a header that is not the first row is found again; more add nothing. */
const FOUND_BY = 6

/**
 * The source as an adapter would state it: kind of file, and how to find the header when it is not the first row.
 * @throws FileError for what is no table at all.
 */
export async function guessSource(path: string): Promise<TableSource> {
  const kind = await kindOf(path)
  const raw = (kind === 'xlsx' ? readXlsx : readCsv)(path, { kind }, DEFAULT_LIMITS)
  const rows = await firstRows(raw)
  const header = headerOf(rows)
  if (!header || header === rows[0]) return { kind }
  const find = header.cells.filter((cell) => typeof cell === 'string').map((cell) => cell.trim())
  return { kind, header: { find: find.slice(0, FOUND_BY), max_scan: Math.max(30, header.row) } }
}

async function kindOf(path: string): Promise<TableSource['kind']> {
  const handle = await open(path)
  try {
    const memory = Buffer.alloc(HEAD_BYTES)
    const { bytesRead } = await handle.read(memory, 0, HEAD_BYTES, 0)
    if (bytesRead === 0) throw new FileError('empty_file', 'The file is empty.')
    const looks = looksLike(memory.subarray(0, bytesRead))
    return looks === 'zip' || looks === 'ole2' ? 'xlsx' : 'csv'
  } finally {
    await handle.close()
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
