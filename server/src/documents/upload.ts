/** A multipart form with one file: the file goes to the spool while it arrives, the rest is small and kept as text. */
import type { IncomingMessage } from 'node:http'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Row } from '../kit/resource.ts'
import { contentType, safeFilename } from './file-type.ts'
import type { FileKey, SpooledFile } from './files.ts'
import { tooLarge } from './spool.ts'
import type { Spool } from './spool.ts'

/** A part of a form, as the parser hands it over: one after the other, a file while it arrives. */
export type FormPart = FieldPart | FilePart

interface FieldPart {
  type: 'field'
  fieldname: string
  value: unknown
  valueTruncated: boolean
}

interface FilePart {
  type: 'file'
  fieldname: string
  filename: string
  mimetype: string
  file: AsyncIterable<Buffer>
}

export interface UploadedFile extends SpooledFile {
  filename: string
  content_type: string
}

export interface Upload {
  /** Plain fields by name, as text, in the order they were sent. */
  fields: Map<string, string[]>
  /** The JSON object of the part `metadata`. */
  metadata: Row
  file: UploadedFile
}

/** Bytes a form may hold beside its file. */
export const FIELDS_BYTES = 1024 * 1024

/** Limits of the parser; the size of the file is watched by the spool. */
export const FORM_LIMITS = {
  fieldSize: 256 * 1024,
  fields: 64,
  files: 2,
  parts: 66,
  fileSize: Infinity,
} as const

/** An upload from which nothing arrives for this long is cut off. */
const SILENCE_MS = 60_000

/** A client whose upload was refused has this long to read why, while what it still sends is thrown away. */
const LINGER_MS = 5_000

/** Reads the form of a request, unless it says at once that it is too large. */
export async function receiveFrom(
  raw: IncomingMessage,
  parts: AsyncIterable<FormPart>,
  spool: Spool,
  key: FileKey,
  max_bytes: number,
  texts: readonly string[] = [],
): Promise<Upload> {
  const { socket } = raw
  if (Number(raw.headers['content-length']) > max_bytes + FIELDS_BYTES) throw tooLarge(max_bytes)
  socket.setTimeout(SILENCE_MS)
  try {
    return await receive(parts, spool, key, max_bytes, texts)
  } finally {
    socket.setTimeout(0)
  }
}

/** Lets a refused client finish sending, so that it reads the answer and not a reset; then hangs up. */
export function discardRest(raw: IncomingMessage): void {
  if (raw.readableEnded || raw.destroyed) return
  raw.unpipe()
  raw.resume()
  const timer = setTimeout(() => raw.socket.destroy(), LINGER_MS).unref()
  raw.once('close', () => clearTimeout(timer))
}

/**
 * Reads a form to its end. Nothing stays in the spool when it fails, and a form that was cut off fails.
 * @param texts parts that are text even when they come with a filename.
 * @throws 400 for what is no form or ends early, 413 for too much, 422 when the file is missing or empty.
 */
export async function receive(
  parts: AsyncIterable<FormPart>,
  spool: Spool,
  key: FileKey,
  max_bytes: number,
  texts: readonly string[] = [],
): Promise<Upload> {
  const fields = new Map<string, string[]>()
  let metadata: Row = {}
  let file: UploadedFile | null = null
  let left = FIELDS_BYTES
  const count = (text: string): string => {
    left -= text.length
    if (left < 0) throw new ApiError('payload_too_large', 'The fields of the form are too large.')
    return text
  }
  try {
    for await (const part of parts) {
      const { fieldname: name } = part
      if (name === 'metadata') metadata = metadataOf(await textOf(part, count))
      else if (part.type === 'field' || texts.includes(name))
        addTo(fields, name, await textOf(part, count))
      else if (name !== 'file') throw refused(name, 'unknown_field', 'send the file as part `file`')
      else if (file) throw refused('file', 'repeated', 'may be sent once')
      else file = described(part, await spool.take(key, part.file, max_bytes))
    }
    if (!file || (file.byte_size === 0 && file.filename === 'file'))
      throw refused('file', 'required', 'is required: send the file as a part with a filename')
    if (file.byte_size === 0) throw new ApiError('invalid_file', `${file.filename} is empty.`)
    return { fields, metadata, file }
  } catch (error) {
    await spool.drop(key)
    throw asApiError(error)
  }
}

function described(part: FilePart, file: SpooledFile): UploadedFile {
  const filename = safeFilename(part.filename)
  return { ...file, filename, content_type: contentType(part.mimetype, file.head, filename) }
}

async function textOf(part: FormPart, count: (text: string) => string): Promise<string> {
  if (part.type === 'field') {
    if (part.valueTruncated)
      throw refused(part.fieldname, 'too_long', `at most ${FORM_LIMITS.fieldSize} bytes`)
    // A field with the content type application/json comes parsed.
    return count(typeof part.value === 'string' ? part.value : JSON.stringify(part.value))
  }
  // Browsers send a Blob as a file.
  let text = ''
  for await (const chunk of part.file) text += count(chunk.toString('latin1'))
  return Buffer.from(text, 'latin1').toString()
}

function addTo(fields: Map<string, string[]>, name: string, value: string): void {
  if (name === 'file') throw refused('file', 'required', 'must be a file: its part has no filename')
  fields.set(name, [...(fields.get(name) ?? []), value])
}

function metadataOf(text: string): Row {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ApiError('malformed_json', `The part metadata: ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Row
  throw refused('metadata', 'invalid_type', 'must be a JSON object')
}

function refused(field: string, code: string, message: string): ApiError {
  return invalid([{ field, code, message }])
}

/** What the parser of forms throws, in our words. */
function asApiError(error: unknown): unknown {
  if (error instanceof ApiError) return error
  const { code = '', message } = error as NodeJS.ErrnoException
  if (/^FST_(PARTS|FILES|FIELDS)_LIMIT$/.test(code))
    return new ApiError('payload_too_large', 'The form has too many parts.', {}, error)
  if (code === 'FST_INVALID_JSON_FIELD_ERROR')
    return new ApiError('malformed_json', 'A part declared as JSON is not valid JSON.', {}, error)
  if (code === 'FST_PROTO_VIOLATION')
    return new ApiError('bad_request', 'A part has a name that is not allowed.', {}, error)
  if (code === 'FST_MP_PREMATURE_CLOSE' || /unexpected end|terminated early|aborted/i.test(message))
    return new ApiError(
      'bad_request',
      'The upload ended before the form was complete; nothing was stored.',
      {},
      error,
    )
  // Errors of the file system and of the network carry a code, those of the parser do not.
  if (code) return error
  return new ApiError('bad_request', `The form cannot be read: ${message}`, {}, error)
}
