/** What an uploaded file is and is called. */

/** Bytes that `contentType` wants to see. */
export const HEAD_BYTES = 512

/** What clients send when they do not know; `text/plain` is what a part without a type counts as. */
const GENERIC = new Set([
  'application/octet-stream',
  'binary/octet-stream',
  'application/x-download',
  'application/zip',
  'application/x-zip-compressed',
  'text/plain',
])

const MAGIC: readonly [string, string][] = [
  ['application/pdf', '%PDF-'],
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['application/zip', 'PK\x03\x04'],
  ['application/x-ole-storage', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
]

const OFFICE = 'application/vnd.openxmlformats-officedocument'

/** Containers say nothing about their content; the name then does. */
const CONTAINED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'application/zip': {
    docx: `${OFFICE}.wordprocessingml.document`,
    xlsx: `${OFFICE}.spreadsheetml.sheet`,
    pptx: `${OFFICE}.presentationml.presentation`,
  },
  'application/x-ole-storage': {
    doc: 'application/msword',
    xls: 'application/vnd.ms-excel',
    ppt: 'application/vnd.ms-powerpoint',
    msg: 'application/vnd.ms-outlook',
  },
}

/** The media type of a file: the one that was sent, or what its first bytes say when that one says nothing. */
export function contentType(sent: string, head: Buffer, filename: string): string {
  const essence = (sent.split(';')[0] as string).trim().toLowerCase()
  const valid = essence.length <= 127 && /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(essence)
  if (valid && !GENERIC.has(essence)) return essence
  const start = head.toString('latin1', 0, 16)
  const found = MAGIC.find(([, magic]) => start.startsWith(magic))?.[0]
  if (!found) return valid ? essence : 'application/octet-stream'
  const extension = /\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? ''
  return CONTAINED[found]?.[extension] ?? found
}

/** Longest name of a file, as most file systems have it. */
const NAME_MAX = 255
const EXTENSION_MAX = 20

/**
 * A name that is safe to show and to offer for download: the last segment of a path, without control characters and
 * without marks that turn the direction of text, which can hide an extension.
 */
export function safeFilename(sent: string | undefined): string {
  const last = (sent ?? '').normalize('NFC').split(/[/\\]/).at(-1) as string
  const name = last
    .replaceAll(/[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (/^\.*$/.test(name)) return 'file'
  if (name.length <= NAME_MAX) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= EXTENSION_MAX ? name.slice(dot) : ''
  return cut(name, NAME_MAX - extension.length) + extension
}

/** The text cut to a length, never in the middle of a character. */
export function cut(text: string, max: number): string {
  return text.slice(0, max).replace(/[\ud800-\udbff]$/, '')
}
