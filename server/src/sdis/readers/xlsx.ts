import { open } from 'node:fs/promises'

import { MergeFiller, readMerges } from './merges.ts'
import { readSharedStrings } from './shared-strings.ts'
import { SheetParser } from './sheet-parser.ts'
import { HEAD_BYTES, looksLike, oleContent } from './sniff.ts'
import {
  FileError,
  type Limits,
  type RawTable,
  type SheetRow,
  type TableSource,
  type TableStats,
} from './types.ts'
import { pickSheet, readWorkbook } from './workbook.ts'
import { XmlFeed } from './xml.ts'
import { openZip } from './zip.ts'

/** The rows of one sheet. Nothing is opened before the first batch is asked for. */
export function readXlsx(path: string, source: TableSource, limits: Limits): RawTable {
  const stats: TableStats = { bytes_read: 0, bytes_total: 0 }
  return { batches: sheetBatches(path, source, limits, stats), stats }
}

async function* sheetBatches(
  path: string,
  source: TableSource,
  limits: Limits,
  stats: TableStats,
): AsyncGenerator<SheetRow[], void, undefined> {
  await checkHead(path)
  const zip = await openZip(path, limits)
  try {
    const { sheets, date1904, date_styles, strings: table } = await readWorkbook(zip)
    const part = pickSheet(sheets, source.sheet)
    stats.bytes_total = part.unzipped_bytes
    const strings = await readSharedStrings(zip, table, limits)
    try {
      const merges = source.merged ? new MergeFiller(await readMerges(zip, part)) : null
      const parser = new SheetParser({ strings, date1904, date_styles }, limits)
      const feed = new XmlFeed(part.name, parser)
      for await (const bytes of zip.read(part)) {
        feed.write(bytes)
        stats.bytes_read += bytes.length
        const rows = parser.take()
        merges?.fill(rows, limits.max_columns)
        if (rows.length > 0) yield rows
      }
      feed.end()
      if (!parser.complete) throw noData(part.name)
    } finally {
      strings.close()
    }
  } finally {
    await zip.close()
  }
}

/** Says what a file is that is no archive, before the archive reader finds only that it is none. */
async function checkHead(path: string): Promise<void> {
  const handle = await open(path)
  try {
    const memory = Buffer.alloc(HEAD_BYTES)
    const { bytesRead } = await handle.read(memory, 0, HEAD_BYTES, 0)
    if (bytesRead === 0) throw new FileError('empty_file', 'The file is empty.')
    const looks = looksLike(memory.subarray(0, bytesRead))
    if (looks === 'zip') return
    if (looks !== 'ole2') throw notWorkbook(looks, looks === 'text' ? 'text, perhaps CSV' : looks)
    const content = await oleContent(handle)
    if (content === 'encrypted') {
      const text = 'The workbook is encrypted. Save it without a password.'
      throw new FileError('encrypted_workbook', text)
    }
    const old = content === 'XLS' ? 'an old workbook (.xls); save it as .xlsx' : content
    throw notWorkbook(content, old)
  } finally {
    await handle.close()
  }
}

function notWorkbook(looks_like: string, name: string): FileError {
  const text = `The file is not a workbook (.xlsx); it looks like ${name}.`
  return new FileError('not_a_workbook', text, { looks_like })
}

function noData(name: string): FileError {
  return new FileError('damaged_file', `The workbook is damaged: ${name} has no rows section.`)
}
