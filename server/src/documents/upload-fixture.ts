/** Forms as bytes, requests that stop in the middle, and a look at what lies in the storage, for tests of documents. */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { grid } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'

export const BOUNDARY = 'frontier7'
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

/** Smaller than a chunk; no part of it looks like another. */
export const PDF = Buffer.from(
  `%PDF-1.7\n${Array.from({ length: 500 }, (_, i) => `clause ${i} `).join('')}\n%%EOF\n`,
)

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

interface SentFile {
  bytes?: Buffer
  name?: string
  type?: string
  part?: string
}

/** A form as clients send it. */
export function form(
  fields: Readonly<Record<string, string | string[]>>,
  ...files: SentFile[]
): FormData {
  const data = new FormData()
  for (const [name, values] of Object.entries(fields)) {
    for (const value of [values].flat()) data.append(name, value)
  }
  for (const { bytes = PDF, name = 'lease.pdf', type = 'application/pdf', part = 'file' } of files)
    data.append(part, new Blob([new Uint8Array(bytes)], { type }), name)
  return data
}

/** The bytes of a form with a field and, after it, a file. */
export function formBytes(bytes: Buffer, filename = 'filename="lease.pdf"'): Buffer {
  const { head, tail } = formFrame(filename)
  return Buffer.concat([head, bytes, tail])
}

/** What stands before and after the file in `formBytes`. */
export function formFrame(filename = 'filename="lease.pdf"'): { head: Buffer; tail: Buffer } {
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="document_type"\r\n\r\nlease\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; ${filename}\r\ncontent-type: application/pdf\r\n\r\n`
  return { head: Buffer.from(head), tail: Buffer.from(`\r\n--${BOUNDARY}--\r\n`) }
}

/** A document that has its file. @returns its id. */
export async function uploaded(client: TestClient, file: SentFile = {}): Promise<string> {
  const { status, body } = await client.post('/documents', form({ document_type: 'lease' }, file))
  if (status !== 201) throw new Error(`upload answered ${status}: ${JSON.stringify(body)}`)
  return body.id
}

export interface Content {
  status: number
  headers: Headers
  bytes: Buffer
}

/** The content of a document as bytes. */
export async function content(
  client: TestClient,
  id: string,
  query = '',
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Content> {
  const { base } = await grid()
  const response = await fetch(`${base}/documents/${id}/content${query}`, {
    method,
    headers: { 'x-api-key': client.key, ...headers },
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes }
}

/** Begins an upload, sends some bytes and breaks the connection. Resolves once it is broken. */
export async function abortedUpload(
  client: TestClient,
  path: string,
  bytes: Buffer,
  declared: number,
): Promise<void> {
  const { base } = await grid()
  await new Promise<void>((resolve) => {
    const request = httpRequest(base + path, {
      method: 'POST',
      headers: {
        'x-api-key': client.key,
        'content-type': FORM_TYPE,
        'content-length': String(declared),
      },
    })
    request.on('error', () => resolve())
    request.write(bytes, () => setTimeout(() => request.destroy(new Error('gone')), 50))
  })
}

/** Paths below the organization's folder of the storage, and its files in the spool. */
export async function stored(client: TestClient): Promise<string[]> {
  const { app } = await grid()
  const root = join(app.config.GRID_DATA_DIR, 'files')
  const own = client.organization_id
  const kept = await readdir(join(root, own), { recursive: true }).catch(() => [])
  const incoming = await readdir(join(root, 'incoming')).catch(() => [])
  return [
    ...kept.filter((name) => name.includes('ver_')).sort(),
    ...incoming.filter((name) => name.startsWith(`${own}.`)).map((name) => `incoming/${name}`),
  ]
}
