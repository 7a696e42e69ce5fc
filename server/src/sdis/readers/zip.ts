import { pipeline, type Readable } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'

import { getFileNameLowLevel, openPromise, type Entry, type ZipFile } from 'yauzl'

import { FileError, type Limits } from './types.ts'

const MB = 1_048_576
/** Four times the default: fewer turns of the event loop make a sheet 10% faster. */
const INFLATE_BYTES = 65_536
const LOCAL_HEADER_BYTES = 30
/** Names, extra fields and comments of all parts. A workbook has some kilobytes of them. */
const MAX_NAME_BYTES = 16 * MB

/** One file inside an archive. Its name is only ever a key, never a path on disk. */
export interface ZipPart {
  name: string
  unzipped_bytes: number
  entry: Entry
  /** Where the next part, or the file, ends this one at the latest. */
  end: number
}

/** An archive whose directory was checked and whose parts are checked as they are unzipped. */
export interface Zip {
  /** Lower-case names, as part names do not differ by case. */
  parts: ReadonlyMap<string, ZipPart>
  read(part: ZipPart): AsyncGenerator<Buffer, void, undefined>
  close(): Promise<void>
}

/** Opens an archive. Refuses one that is cut, encrypted or would unzip to too much. */
export async function openZip(path: string, limits: Limits): Promise<Zip> {
  let file: ZipFile
  try {
    // Names are decoded here, so that one odd name of an unused part does not spoil the file.
    const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false }
    file = await openPromise(path, options)
  } catch (error) {
    throw zipError(error)
  }
  const close = async (): Promise<void> => {
    if (!file.isOpen) return
    await new Promise<void>((resolve) => {
      file.once('close', resolve)
      file.once('error', resolve)
      file.close()
    })
  }
  try {
    const parts = await readDirectory(file, limits)
    const budget = { left: limits.max_unzipped_bytes }
    return { parts, read: (part) => unzip(file, part, budget, limits), close }
  } catch (error) {
    await close()
    throw zipError(error)
  }
}

async function readDirectory(file: ZipFile, limits: Limits): Promise<Map<string, ZipPart>> {
  if (file.entryCount > limits.max_entries) {
    throw bomb(`It has ${file.entryCount} parts, more than ${limits.max_entries}.`)
  }
  const parts = new Map<string, ZipPart>()
  let unzipped = 0
  let names = 0
  for await (const entry of file.eachEntry()) {
    const name = nameOf(entry)
    unzipped += entry.uncompressedSize
    if (unzipped > limits.max_unzipped_bytes) {
      throw bomb(`It unzips to more than ${limits.max_unzipped_bytes} bytes.`)
    }
    names += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength
    if (names > MAX_NAME_BYTES) throw bomb('Its directory is too large.')
    if (entry.isEncrypted()) throw encrypted()
    // Programs differ in which of two parts of one name they read: what one checks another loads.
    if (parts.has(name)) throw damaged(`it has two parts named ${name}`)
    parts.set(name, { name, unzipped_bytes: entry.uncompressedSize, entry, end: file.fileSize })
  }
  checkOverlaps([...parts.values()])
  return parts
}

function nameOf(entry: Entry): string {
  const flags = entry.generalPurposeBitFlag
  const name = getFileNameLowLevel(flags, entry.fileNameRaw, entry.extraFields, false)
  return name.replace(/^\/+/, '').toLowerCase()
}

/** Parts that share bytes are how a small file unzips to petabytes (Fifield 2019). */
function checkOverlaps(parts: ZipPart[]): void {
  const offset = ({ entry }: ZipPart): number => entry.relativeOffsetOfLocalHeader
  parts.sort((a, b) => offset(a) - offset(b))
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1]
    if (next) part.end = offset(next)
    const { fileNameLength, compressedSize } = part.entry
    const end = offset(part) + LOCAL_HEADER_BYTES + fileNameLength + compressedSize
    if (end <= part.end) continue
    if (next) throw bomb('Parts of it share the same bytes.')
    throw truncated()
  }
}

async function* unzip(
  file: ZipFile,
  part: ZipPart,
  budget: { left: number },
  limits: Limits,
): AsyncGenerator<Buffer, void, undefined> {
  const { entry, name } = part
  let count = 0
  let checksum = 0
  let zipped: Readable | undefined
  try {
    const header = await file.readLocalFileHeaderPromise(entry, { minimal: true })
    if (header.fileDataStart + entry.compressedSize > part.end) {
      throw bomb('Parts of it share the same bytes.')
    }
    checkRatio(part, entry.uncompressedSize, limits)
    zipped = await file.openReadStreamPromise(entry, { decodeFileData: false })
    for await (const chunk of inflated(zipped, entry)) {
      count += chunk.length
      budget.left -= chunk.length
      if (budget.left < 0) throw bomb(`It unzips to more than ${limits.max_unzipped_bytes} bytes.`)
      if (count > entry.uncompressedSize) throw bomb(`${name} unzips to more than it declares.`)
      checkRatio(part, count, limits)
      checksum = crc32(chunk, checksum)
      yield chunk
    }
    if (count < entry.uncompressedSize) throw damaged(`${name} is shorter than declared`)
    if (checksum !== entry.crc32) throw damaged(`the checksum of ${name} is wrong`)
  } catch (error) {
    throw zipError(error)
  } finally {
    zipped?.destroy()
  }
}

function checkRatio({ name, entry }: ZipPart, unzipped_bytes: number, limits: Limits): void {
  if (unzipped_bytes <= MB || unzipped_bytes <= limits.max_ratio * entry.compressedSize) return
  throw bomb(`${name} unzips to more than ${limits.max_ratio} times its size.`)
}

function inflated(zipped: Readable, entry: Entry): AsyncIterable<Buffer> {
  if (entry.compressionMethod === 0) return zipped
  if (entry.compressionMethod !== 8) {
    throw damaged(`it is compressed by method ${entry.compressionMethod}, which is not supported`)
  }
  // Errors of either stream reach the consumer through the last one.
  return pipeline(zipped, createInflateRaw({ chunkSize: INFLATE_BYTES }), () => {})
}

/** Maps what yauzl and zlib say about a file to our own errors; other errors stay what they are. */
function zipError(error: unknown): unknown {
  if (error instanceof FileError || !(error instanceof Error)) return error
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code === 'Z_BUF_ERROR') return truncated(error)
  if (code.startsWith('Z_')) return damaged(error.message, error)
  // What has another code comes from the system: no such file, no memory.
  if (code) return error
  if (/strong encryption/.test(error.message)) return encrypted()
  if (/record signature not found|unexpected EOF|overflows file bounds/.test(error.message)) {
    return truncated(error)
  }
  return damaged(error.message, error)
}

function bomb(why: string): FileError {
  return new FileError('zip_bomb', `The workbook is refused as a zip bomb. ${why}`)
}

function damaged(why: string, cause?: unknown): FileError {
  return new FileError('damaged_file', `The workbook is damaged: ${why}.`, {}, cause)
}

function truncated(cause?: unknown): FileError {
  const text = 'The workbook is cut off; its end is missing. Was the transfer complete?'
  return new FileError('truncated_file', text, {}, cause)
}

function encrypted(): FileError {
  return new FileError(
    'encrypted_workbook',
    'The workbook is encrypted. Save it without a password.',
  )
}
