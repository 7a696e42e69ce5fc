/** Files in a bucket of an S3-compatible service: AWS, MinIO, R2, Garage, Ceph. */
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { EgressError } from '../egress.ts'
import type { Egress, EgressAnswer } from '../egress.ts'
import { ApiError } from '../kit/errors.ts'
import { EMPTY_SHA256, signed } from './s3-signature.ts'
import type { S3Credentials } from './s3-signature.ts'
import { keySegments } from './files.ts'
import type { FileKey, Files } from './files.ts'

export interface S3Settings extends S3Credentials {
  endpoint: string
  bucket: string
}

interface S3Request {
  method: 'GET' | 'PUT' | 'DELETE'
  key: FileKey
  headers?: Record<string, string>
  sha256?: string
  /** Opened anew for every try. */
  body?: () => Readable
  /** Statuses that are an answer; any other is a failure. */
  expected: readonly number[]
}

/** Overload and lost connections are tried again after these pauses, in milliseconds. */
const PAUSES_MS = [200, 800]
const TEMPORARY = new Set([429, 500, 502, 503, 504])
/** How much of an error's body goes to the log. */
const EXCERPT = 500

/** The bucket is addressed by path, which every implementation understands. */
export function s3Files(settings: S3Settings, egress: Egress): Files {
  const base = `${settings.endpoint.replace(/\/+$/, '')}/${settings.bucket}/`
  const send = async (asked: S3Request): Promise<EgressAnswer> => {
    for (let attempt = 0; ; attempt++) {
      const failure = await trySend(settings, egress, base, asked)
      if ('answer' in failure) return failure.answer
      const pause = PAUSES_MS[attempt]
      if (!failure.temporary || pause === undefined) throw unavailable(failure.error)
      await sleep(pause)
    }
  }
  return {
    async put(key, { path, sha256, byte_size }) {
      const headers = {
        'content-length': String(byte_size),
        'content-type': 'application/octet-stream',
      }
      const body = (): Readable => createReadStream(path)
      const answer = await send({ method: 'PUT', key, headers, sha256, body, expected: [200] })
      await answer.body.dump()
    },
    async open(key, range) {
      const headers: Record<string, string> = range
        ? { range: `bytes=${range.start}-${range.end}` }
        : {}
      const answer = await send({ method: 'GET', key, headers, expected: [range ? 206 : 200] })
      return answer.body
    },
    async remove(key) {
      const answer = await send({ method: 'DELETE', key, expected: [200, 204, 404] })
      await answer.body.dump()
    },
    async close() {
      await egress.close()
    },
  }
}

type Tried = { answer: EgressAnswer } | { error: Error; temporary: boolean }

async function trySend(
  settings: S3Settings,
  egress: Egress,
  base: string,
  { method, key, headers = {}, sha256 = EMPTY_SHA256, body, expected }: S3Request,
): Promise<Tried> {
  const url = new URL(base + keySegments(key).join('/'))
  try {
    const answer = await egress.request(url, {
      method,
      headers: signed(settings, method, url, headers, sha256, new Date()),
      allow_private: true,
      ...(body ? { body: body() } : {}),
    })
    if (expected.includes(answer.status)) return { answer }
    const text = (await answer.body.text()).slice(0, EXCERPT)
    const error = new Error(`${method} ${url.href} answered ${answer.status}: ${text}`)
    return { error, temporary: TEMPORARY.has(answer.status) }
  } catch (error) {
    const kind = error instanceof EgressError ? error.kind : null
    const temporary = kind === 'connect' || kind === 'timeout' || kind === 'reset'
    return { error: error as Error, temporary }
  }
}

function unavailable(cause: Error): ApiError {
  return new ApiError('unavailable', 'The storage of files does not answer; try again.', {}, cause)
}
