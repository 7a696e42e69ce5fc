import { open, type FileHandle } from 'node:fs/promises'

import { CsvSplitter } from './csv-splitter.ts'
import { HEAD_BYTES, looksLike, looksLikeUtf16 } from './sniff.ts'
import { Utf8Decoder, Windows1252Decoder, type ByteDecoder } from './text.ts'
import {
  FileError,
  type Limits,
  type RawTable,
  type SheetRow,
  type TableSource,
  type TableStats,
} from './types.ts'

const CHUNK_BYTES = 65_536
const DELIMITERS = [',', ';', '\t', '|']
const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** The rows of a CSV file. Nothing is opened before the first batch is asked for. */
export function readCsv(path: string, source: TableSource, limits: Limits): RawTable {
  const { delimiter } = source
  if (delimiter !== undefined && !/^[^"\r\n]$/.test(delimiter)) {
    throw new TypeError(`A delimiter is one character other than a quote, not ${delimiter}`)
  }
  const stats: TableStats = { bytes_read: 0, bytes_total: 0 }
  return { batches: csvBatches(path, source, limits, stats), stats }
}

async function* csvBatches(
  path: string,
  source: TableSource,
  limits: Limits,
  stats: TableStats,
): AsyncGenerator<SheetRow[], void, undefined> {
  const handle = await open(path)
  try {
    stats.bytes_total = (await handle.stat()).size
    const mark = await checkHead(handle)
    // The mark wins over the stated encoding: no text in Windows-1252 starts with it.
    const decoder: ByteDecoder =
      source.encoding === 'windows-1252' && mark === 0
        ? new Windows1252Decoder()
        : new Utf8Decoder()
    let splitter: CsvSplitter | undefined
    stats.bytes_read = mark
    for await (const bytes of chunks(handle, mark)) {
      if (bytes.includes(0)) throw notText(bytes)
      stats.bytes_read += bytes.length
      const text = decoder.write(bytes)
      splitter ??= new CsvSplitter(source.delimiter ?? sniffDelimiter(text, limits), limits)
      const rows = splitter.write(text)
      if (rows.length > 0) yield rows
      if (!decoder.valid) throw notUtf8(splitter)
    }
    if (splitter && !decoder.end()) throw notUtf8(splitter)
    const rows = splitter?.write('', true) ?? []
    if (rows.length > 0) yield rows
  } finally {
    await handle.close()
  }
}

/** Every chunk is a view of the same memory: use it before asking for the next. */
async function* chunks(handle: FileHandle, start: number): AsyncGenerator<Buffer, void, undefined> {
  const memory = Buffer.allocUnsafe(CHUNK_BYTES)
  let position = start
  for (;;) {
    const { bytesRead } = await handle.read(memory, 0, CHUNK_BYTES, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield memory.subarray(0, bytesRead)
  }
}

/** Refuses what is no CSV file. Length of the UTF-8 mark at the start, usually 0. */
async function checkHead(handle: FileHandle): Promise<number> {
  const memory = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await handle.read(memory, 0, HEAD_BYTES, 0)
  const head = memory.subarray(0, bytesRead)
  const mark = head.subarray(0, 3).equals(UTF8_MARK) ? 3 : 0
  if (head.length === mark) throw new FileError('empty_file', 'The file is empty.')
  if (looksLikeUtf16(head)) throw utf16()
  const looks = looksLike(head)
  if (looks === 'text') return mark
  const name = looks === 'zip' ? 'a zip archive or a workbook (.xlsx)' : looks
  const text = looks === 'ole2' ? 'an old or encrypted Office file' : name
  throw new FileError('not_a_csv', `The file is not CSV; it looks like ${text}.`, {
    looks_like: looks,
  })
}

/**
 * The delimiter that cuts most of the first records into the same number of cells. Records of one
 * cell do not count, so that title lines and texts with commas do not outvote the table.
 */
export function sniffDelimiter(text: string, limits: Limits): string {
  let best = { delimiter: ',', records: 0, cells: 1 }
  for (const delimiter of DELIMITERS) {
    const counts = new Map<number, number>()
    for (const row of sample(text, delimiter, limits)) {
      const cells = row.cells.length
      if (cells > 1) counts.set(cells, (counts.get(cells) ?? 0) + 1)
    }
    for (const [cells, records] of counts) {
      const better = records - best.records || cells - best.cells
      if (better > 0) best = { delimiter, records, cells }
    }
  }
  return best.delimiter
}

/** The first records as a delimiter would cut them; none where it makes no sense of the quotes. */
function sample(text: string, delimiter: string, limits: Limits): SheetRow[] {
  try {
    const splitter = new CsvSplitter(delimiter, limits)
    const rows = splitter.write(text)
    return rows.length > 0 ? rows : splitter.write('', true)
  } catch (error) {
    if (error instanceof FileError) return []
    throw error
  }
}

function notUtf8(splitter: CsvSplitter): FileError {
  const text = `Line ${splitter.lineReached()} is not UTF-8. If the file comes from Windows, state encoding windows-1252.`
  return new FileError('unsupported_encoding', text, { row: splitter.lineReached() })
}

function notText(bytes: Buffer): FileError {
  if (looksLikeUtf16(bytes)) return utf16()
  return new FileError('not_a_csv', 'The file is not CSV; it has zero bytes, as binary files do.', {
    looks_like: 'binary data',
  })
}

function utf16(): FileError {
  return new FileError('unsupported_encoding', 'The file is UTF-16. Save it as UTF-8.', {
    looks_like: 'UTF-16',
  })
}
