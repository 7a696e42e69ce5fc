/** Forms as bytes, and requests that stop in the middle, for tests of uploads. */
import { request as httpRequest } from 'node:http'
import { grid } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'

export const BOUNDARY = 'frontier7'
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

/** A file smaller than a chunk, recognisable in every byte. */
export const PDF = Buffer.from(`%PDF-1.7\n${'lease '.repeat(500)}\n%%EOF\n`)

/** A form as clients send it. */
export function form(
  file: { bytes?: Buffer; name?: string; type?: string } | null,
  fields: Readonly<Record<string, string>> = {},
): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  if (file) {
    const { bytes = PDF, name = 'lease.pdf', type = 'application/pdf' } = file
    data.append('file', new Blob([new Uint8Array(bytes)], { type }), name)
  }
  return data
}

/** The bytes of a form with one file of the type sent last. */
export function formBytes(bytes: Buffer, disposition = 'filename="lease.pdf"'): Buffer {
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="document_type"\r\n\r\nlease\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; ${disposition}\r\ncontent-type: application/pdf\r\n\r\n`
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)])
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
    request.write(bytes, () => setTimeout(() => request.destroy(new Error('gone')), 100))
  })
}
