/** How a file is answered: which bytes, with which headers, under which conditions (RFC 9110). Pure. */
import { names } from '../kit/etags.ts'
import type { ByteRange } from './files.ts'

/** One version of a document's file, as it is served. */
export interface Served {
  sha256: string
  byte_size: number
  content_type: string
  filename: string
}

/** What a request says about the content it wants. */
export interface Wanted {
  method: string
  inline: boolean
  headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface ContentAnswer {
  status: 200 | 206 | 304 | 416
  headers: Record<string, string>
  /** The part to send; null for the whole file. */
  range: ByteRange | null
}

/** Types a browser can show without running anything that stands in the file. */
const INLINE = new Set(['application/pdf', 'image/png', 'image/jpeg', 'text/plain'])

export function contentAnswer(file: Served, wanted: Wanted): ContentAnswer {
  const etag = `"${file.sha256}"`
  const always = {
    etag,
    'accept-ranges': 'bytes',
    // Kept by the client, asked about each time: access may have been taken away.
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  }
  if (names(wanted.headers['if-none-match'], etag))
    return { status: 304, headers: always, range: null }
  const range = rangeOf(file, etag, wanted)
  if (range === 'unsatisfiable') {
    const headers = { 'accept-ranges': 'bytes', 'content-range': `bytes */${file.byte_size}` }
    return { status: 416, headers, range: null }
  }
  const headers: Record<string, string> = {
    ...always,
    'content-type': shownType(file.content_type),
    'content-disposition': disposition(file, wanted.inline),
  }
  if (!range) {
    headers['content-length'] = String(file.byte_size)
    return { status: 200, headers, range: null }
  }
  headers['content-length'] = String(range.end - range.start + 1)
  headers['content-range'] = `bytes ${range.start}-${range.end}/${file.byte_size}`
  return { status: 206, headers, range }
}

/** The range to send. It counts only on GET, and with If-Range only when the file is still the one named there. */
function rangeOf(
  { byte_size }: Served,
  etag: string,
  { method, headers }: Wanted,
): ByteRange | 'unsatisfiable' | null {
  const condition = headers['if-range']
  if (method !== 'GET' || (condition !== undefined && condition !== etag)) return null
  return parseRange(headers['range'] as string | undefined, byte_size)
}

/**
 * Reads a Range header. Several ranges and units that are not bytes are ignored, as RFC 9110 allows; a range that is
 * malformed or begins behind the end is unsatisfiable.
 */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | null {
  const spec = /^\s*bytes\s*=(.*)$/i.exec(header ?? '')?.[1]
  if (spec === undefined || spec.includes(',')) return null
  const [, first, last] = /^\s*(\d*)\s*-\s*(\d*)\s*$/.exec(spec) ?? []
  if (first === undefined || last === undefined || (first === '' && last === ''))
    return 'unsatisfiable'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length > 0 ? { start: size - length, end: size - 1 } : 'unsatisfiable'
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (start >= size || (last !== '' && Number(last) < start)) return 'unsatisfiable'
  return { start, end }
}

function shownType(type: string): string {
  return type === 'text/plain' ? 'text/plain; charset=utf-8' : type
}

/** RFC 6266: a name in ASCII for old clients, the full one in UTF-8 beside it. */
function disposition({ content_type, filename }: Served, inline: boolean): string {
  const kind = inline && INLINE.has(content_type) ? 'inline' : 'attachment'
  const ascii = filename.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  // RFC 8187 leaves fewer characters alone than encodeURIComponent does.
  const full = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${full}`
}
