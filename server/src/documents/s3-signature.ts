/** AWS Signature Version 4 for S3, as far as single requests with a known checksum need it. */
import { createHash, createHmac } from 'node:crypto'

export interface S3Credentials {
  region: string
  access_key_id: string
  secret_access_key: string
}

/** SHA-256 of an empty body. */
export const EMPTY_SHA256 = createHash('sha256').digest('hex')

/**
 * Headers to send with a request, `authorization` among them. Every header given is signed.
 * @param sha256 checksum of the body, in hexadecimal; the server compares it with what arrives.
 */
export function signed(
  credentials: S3Credentials,
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
  sha256: string,
  at: Date,
): Record<string, string> {
  // 2026-05-12T08:00:00.000Z -> 20260512T080000Z
  const time = at.toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const sent: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': sha256,
    'x-amz-date': time,
  }
  const names = Object.keys(sent).sort()
  const canonical = [
    method,
    url.pathname,
    // No request of ours has a query.
    '',
    ...names.map((name) => `${name}:${String(sent[name]).trim()}`),
    '',
    names.join(';'),
    sha256,
  ].join('\n')
  const scope = `${day}/${credentials.region}/s3/aws4_request`
  const hashed = createHash('sha256').update(canonical).digest('hex')
  const text = ['AWS4-HMAC-SHA256', time, scope, hashed].join('\n')
  const key = [day, credentials.region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${credentials.secret_access_key}`,
  )
  const signature = hmac(key, text).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.access_key_id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...sent, authorization }
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
