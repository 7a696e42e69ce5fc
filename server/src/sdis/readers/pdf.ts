/** Tables of PDF documents, put together from where their texts stand on the pages. */
import { open, readFile } from 'node:fs/promises'

import { requireUnpacked } from './pdf-size.ts'
import { looksLike } from './sniff.ts'
import {
  FileError,
  type Limits,
  type RawTable,
  type SheetRow,
  type TableSource,
  type TableStats,
} from './types.ts'

/** A document is read as a whole; larger ones are scans, which have no text. */
const BYTES_MAX = 64 * 1_048_576

/** Texts closer than this are one cell, in widths of their height. */
const CELL_GAP = 1

/** Texts closer than this are one word. */
const WORD_GAP = 0.15

/** A text on a page; its place in points, from the left and from the bottom. */
interface Word {
  text: string
  left: number
  right: number
  y: number
  height: number
}

interface CellBox {
  text: string
  left: number
  right: number
}

/** The lines of the pages as rows. Nothing is opened before the first batch is asked for. */
export function readPdf(path: string, _source: TableSource, limits: Limits): RawTable {
  const stats: TableStats = { bytes_read: 0, bytes_total: 0 }
  return { batches: pageBatches(path, limits, stats), stats }
}

async function* pageBatches(
  path: string,
  limits: Limits,
  stats: TableStats,
): AsyncGenerator<SheetRow[], void, undefined> {
  const pages = await openPages(path, limits, stats)
  try {
    let columns: readonly CellBox[] = []
    let row = 0
    for (let number = 1; number <= pages.count; number++) {
      const lines = linesOf(await pages.words(number))
      if (columns.length < 2) columns = widest(lines)
      const header = columns.map(({ text }) => text).join('\0')
      // A header that each page repeats is no row of the table.
      const again = (line: readonly CellBox[]): boolean =>
        number > 1 && line.map(({ text }) => text).join('\0') === header
      const rows = lines
        .map((line) => ({ row: ++row, line }))
        .filter(({ line }) => !again(line))
        .map(({ row, line }) => ({ row, cells: cellsOf(line, columns) }))
      stats.bytes_read = Math.round((stats.bytes_total * number) / pages.count)
      if (rows.length > 0) yield rows
    }
    if (row > 0) return
    const message = 'The document has no text; it is a scan. Have its text recognised first.'
    throw new FileError('no_text', message, { pages: pages.count })
  } finally {
    await pages.close()
  }
}

interface Pages {
  count: number
  words: (page: number) => Promise<Word[]>
  close: () => Promise<void>
}

async function openPages(path: string, limits: Limits, stats: TableStats): Promise<Pages> {
  stats.bytes_total = await checkHead(path)
  // Loaded only where there is a PDF: it is large.
  const { getDocument } = await import('pdfjs-dist/legacy/build/pdf.mjs')
  const bytes = await readFile(path)
  await requireUnpacked(bytes, limits.max_unzipped_bytes)
  const task = getDocument({
    data: new Uint8Array(bytes),
    useSystemFonts: false,
    disableFontFace: true,
    stopAtErrors: true,
    verbosity: 0,
  })
  const close = async (): Promise<void> => await task.destroy()
  try {
    const document = await task.promise
    if (document.numPages > limits.max_pages) {
      const message = `The document has more than ${limits.max_pages} pages.`
      throw new FileError('too_many_pages', message, { limit: limits.max_pages })
    }
    return {
      count: document.numPages,
      close,
      words: async (number) => {
        try {
          const page = await document.getPage(number)
          const { items } = await page.getTextContent()
          page.cleanup()
          return items.flatMap((item) => ('str' in item ? wordOf(item) : []))
        } catch (error) {
          throw pdfError(error)
        }
      },
    }
  } catch (error) {
    await close()
    throw pdfError(error)
  }
}

/** Refuses what is no PDF. @returns the size of the file. */
async function checkHead(path: string): Promise<number> {
  const handle = await open(path)
  try {
    const memory = Buffer.alloc(1_024)
    const { bytesRead } = await handle.read(memory, 0, memory.length, 0)
    if (bytesRead === 0) throw new FileError('empty_file', 'The file is empty.')
    const looks_like = looksLike(memory.subarray(0, bytesRead))
    if (looks_like !== 'PDF') {
      const message = `The file is not a PDF; it looks like ${looks_like}.`
      throw new FileError('not_a_pdf', message, { looks_like })
    }
    const { size } = await handle.stat()
    if (size <= BYTES_MAX) return size
    const message = `The document has more than ${BYTES_MAX} bytes.`
    throw new FileError('record_too_large', message, { limit: BYTES_MAX })
  } finally {
    await handle.close()
  }
}

function pdfError(error: unknown): Error {
  if (error instanceof FileError) return error
  const { name, message } = error as Error
  if (name === 'PasswordException') {
    const text = 'The document is encrypted. Save it without a password.'
    return new FileError('encrypted_document', text, {}, error)
  }
  return new FileError('damaged_file', `The document is damaged: ${message}`, {}, error)
}

function wordOf(item: {
  str: string
  transform: number[]
  width: number
  height: number
}): Word | [] {
  const text = item.str.trim()
  if (text === '') return []
  const [, , , , left = 0, y = 0] = item.transform
  return { text, left, right: left + item.width, y, height: item.height || 10 }
}

/** Words of about one height on the page, from top to bottom, each line from left to right. */
function linesOf(words: readonly Word[]): CellBox[][] {
  const lines: Word[][] = []
  for (const word of words.toSorted((a, b) => b.y - a.y)) {
    const line = lines.at(-1)
    const first = line?.[0]
    if (line && first && first.y - word.y < first.height / 2) line.push(word)
    else lines.push([word])
  }
  return lines.map((line) => joined(line.toSorted((a, b) => a.left - b.left)))
}

/** Words with no more than a space between them are one cell. */
function joined(words: readonly Word[]): CellBox[] {
  const cells: CellBox[] = []
  for (const { text, left, right, height } of words) {
    const before = cells.at(-1)
    const gap = before ? left - before.right : Infinity
    if (before && gap < CELL_GAP * height) {
      before.text += gap > WORD_GAP * height ? ` ${text}` : text
      before.right = right
    } else cells.push({ text, left, right })
  }
  return cells
}

/** The first line with the most cells: as a rule the header, whose cells stand over their columns. */
function widest(lines: readonly CellBox[][]): readonly CellBox[] {
  return lines.reduce<CellBox[]>((best, line) => (line.length > best.length ? line : best), [])
}

/** Each cell in the column that it stands under, or is nearest to. */
function cellsOf(line: readonly CellBox[], columns: readonly CellBox[]): (string | null)[] {
  const cells: (string | null)[] = columns.map(() => null)
  for (const cell of line) {
    const distances = columns.map((column) => distance(cell, column))
    const at = distances.indexOf(Math.min(...distances))
    cells[at] = cells[at] ? `${cells[at]} ${cell.text}` : cell.text
  }
  return cells
}

/** Negative where the two overlap, by how much; else how far apart they are. */
function distance(a: CellBox, b: CellBox): number {
  return Math.max(a.left, b.left) - Math.min(a.right, b.right)
}
