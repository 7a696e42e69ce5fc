/** Records of JSON documents and of files with one JSON text per line. */
import { open, type FileHandle } from 'node:fs/promises'

import { JSONParser } from '@streamparser/json'
import { HEAD_BYTES, looksLike, looksLikeUtf16 } from './sniff.ts'
import { storable, Utf8Decoder } from './text.ts'
import { FileError, type Limits, type Nested, type TableSource, type TableStats } from './types.ts'

/** A record with its place: its number in the list, or its line. */
export interface JsonRecord {
  row: number
  value: { readonly [name: string]: Nested }
}

const CHUNK_BYTES = 65_536

/** Only as an escape can JSON name what no text may hold. */
const ESCAPE = '\\u'

/** The records of a file, in batches. Nothing is opened before the first is asked for. */
export async function* readJson(
  path: string,
  source: TableSource,
  limits: Limits,
  stats: TableStats,
): AsyncGenerator<JsonRecord[], void, undefined> {
  const handle = await open(path)
  try {
    stats.bytes_total = (await handle.stat()).size
    const start = await checkHead(handle)
    const decoder = new Utf8Decoder()
    const records =
      source.kind === 'ndjson' ? new Lines(limits) : new Documents(source.path ?? '', limits)
    stats.bytes_read = start
    for await (const bytes of chunks(handle, start)) {
      stats.bytes_read += bytes.length
      const found = records.write(decoder.write(bytes))
      if (!decoder.valid) throw notUtf8(stats.bytes_read)
      if (found.length > 0) yield found
    }
    if (!decoder.end()) throw notUtf8(stats.bytes_read)
    const rest = records.end()
    if (rest.length > 0) yield rest
  } finally {
    await handle.close()
  }
}

/** Every chunk is a view of the same memory: use it before asking for the next. */
async function* chunks(handle: FileHandle, start: number): AsyncGenerator<Buffer, void, undefined> {
  const memory = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = start; ;) {
    const { bytesRead } = await handle.read(memory, 0, CHUNK_BYTES, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield memory.subarray(0, bytesRead)
  }
}

/** Refuses what is no JSON. @returns the length of the byte-order mark. */
async function checkHead(handle: FileHandle): Promise<number> {
  const memory = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await handle.read(memory, 0, HEAD_BYTES, 0)
  const head = memory.subarray(0, bytesRead)
  const mark = head.toString('latin1').startsWith('\xef\xbb\xbf') ? 3 : 0
  const text = head.subarray(mark).toString('utf8').trimStart()
  if (text === '' && bytesRead < HEAD_BYTES) throw new FileError('empty_file', 'The file is empty.')
  if (looksLikeUtf16(head))
    throw new FileError('unsupported_encoding', 'The file is UTF-16. Save it as UTF-8.')
  if (/^[[{]/.test(text)) return mark
  const looks_like = looksLike(head)
  const name = looks_like === 'text' ? 'other text' : looks_like
  throw new FileError('not_json', `The file is not JSON; it looks like ${name}.`, { looks_like })
}

/**
 * The path of the first list of objects in a JSON text, which may break off; null when there is none so far.
 * An empty path is the document itself.
 */
export function pathOfList(text: string): string | null {
  let path: string | null = null
  const parser = new JSONParser({ keepStack: false })
  parser.onValue = ({ value, key, stack }) => {
    if (path !== null || typeof key !== 'number' || typeof value !== 'object') return
    const names = stack.slice(1).map((level) => level.key)
    const list = names.findIndex((name) => typeof name === 'number')
    path = (list < 0 ? names : names.slice(0, list)).join('.')
  }
  parser.onError = () => {}
  parser.write(text)
  return path
}

/** One JSON object per line; blank lines are left out. */
class Lines {
  private rest = ''
  private line = 0
  private readonly limits: Limits

  constructor(limits: Limits) {
    this.limits = limits
  }

  write(text: string): JsonRecord[] {
    const lines = (this.rest + text).split('\n')
    this.rest = lines.pop() as string
    if (this.rest.length > this.limits.max_record_bytes) throw tooLarge(this.line + 1, this.limits)
    return lines.flatMap((line) => this.read(line))
  }

  end(): JsonRecord[] {
    return this.read(this.rest)
  }

  private read(line: string): JsonRecord[] {
    const row = ++this.line
    if (line.trim() === '') return []
    if (line.length > this.limits.max_record_bytes) throw tooLarge(row, this.limits)
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch (error) {
      const { message } = error as Error
      throw new FileError('malformed_json', `Line ${row} is not JSON: ${message}`, { row })
    }
    return [recordOf(value, row, this.limits, line.includes(ESCAPE))]
  }
}

/** The list at a path of one JSON document. */
class Documents {
  private readonly parser: JSONParser
  private readonly limits: Limits
  private readonly path: string
  private found: JsonRecord[] = []
  private row = 0
  private since = 0
  /** Whether an escape has been met, which may lie across two pieces. */
  private escapes = false
  private failure: Error | null = null

  constructor(path: string, limits: Limits) {
    this.limits = limits
    this.path = path
    const selector = ['$', ...(path === '' ? [] : path.split('.')), '*'].join('.')
    this.parser = new JSONParser({ paths: [selector], keepStack: false })
    this.parser.onValue = ({ value, key }) => {
      this.since = 0
      if (typeof key !== 'number') throw this.noList()
      this.found.push(recordOf(value, ++this.row, limits, this.escapes))
    }
    this.parser.onError = (error) => {
      this.failure ??= error
    }
  }

  write(text: string): JsonRecord[] {
    this.since += text.length
    this.escapes ||= text.includes(ESCAPE) || text.endsWith('\\')
    this.parser.write(text)
    if (this.failure) throw this.refusal(this.failure)
    if (this.since > this.limits.max_record_bytes + CHUNK_BYTES)
      throw tooLarge(this.row + 1, this.limits)
    const { found } = this
    this.found = []
    return found
  }

  end(): JsonRecord[] {
    if (!this.parser.isEnded) {
      const message = `The document breaks off after ${this.row} records.`
      throw new FileError('truncated_file', message, { row: this.row })
    }
    if (this.row === 0) throw this.noList()
    return []
  }

  private noList(): FileError {
    const place = this.path === '' ? 'The document' : `What stands at ${this.path}`
    const message = `${place} is no list with records. Name the path of the list in source.path.`
    return new FileError('missing_path', message, { path: this.path })
  }

  private refusal(error: Error): FileError {
    if (error instanceof FileError) return error
    const message = `The document is not JSON after ${this.row} records: ${error.message}`
    return new FileError('malformed_json', message, { row: this.row + 1 })
  }
}

/** @param escapes whether its text may have had any. */
function recordOf(value: unknown, row: number, limits: Limits, escapes: boolean): JsonRecord {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FileError('malformed_json', `Record ${row} is not an object.`, { row })
  }
  if (isDeeper(value, limits.max_depth)) {
    const message = `Record ${row} has more than ${limits.max_depth} levels.`
    throw new FileError('too_deep', message, { row, limit: limits.max_depth })
  }
  return { row, value: (escapes ? storableIn(value) : value) as JsonRecord['value'] }
}

/** The value with texts and names that can be kept. */
function storableIn(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(storableIn)
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [storable(name), storableIn(part)]),
  )
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1))
}

function tooLarge(row: number, { max_record_bytes }: Limits): FileError {
  const message = `Record ${row} has more than ${max_record_bytes} bytes.`
  return new FileError('record_too_large', message, { row, limit: max_record_bytes })
}

function notUtf8(byte: number): FileError {
  const message = `The file is not UTF-8 before byte ${byte}.`
  return new FileError('unsupported_encoding', message, { byte })
}
