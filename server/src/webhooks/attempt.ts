/** One attempt: a request sent, and what is kept of its answer. */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { EgressError } from '../egress.ts'
import type { Egress, EgressAnswer, Opening } from '../egress.ts'
import type { AttemptRow } from './delivery-queries.ts'

/** Of an answer's body this much is read before the connection is dropped, and this much kept, in bytes. */
const READ_MAX = 16 * 1024
const KEEP_MAX = 4 * 1024

/** Answer headers that are kept. */
const KEPT_HEADERS = [
  'content-type',
  'content-length',
  'content-encoding',
  'date',
  'server',
  'retry-after',
  'location',
  'www-authenticate',
  'x-request-id',
  'request-id',
  'via',
  'cf-ray',
] as const

export const ERROR_CLASSES = [
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'too_large',
  'http',
] as const

export type ErrorClass = (typeof ERROR_CLASSES)[number]

/** What the answer said, as far as it is kept. */
export interface Kept {
  headers: Record<string, string>
  /** Base64 when it is no UTF-8 text that can be stored. */
  body: string
  base64: boolean
}

export interface Attempt {
  started_at: Date
  /** Null when no answer came. */
  status: number | null
  /** Null for a success. */
  error: ErrorClass | null
  /** Null when the request went over a connection that was open, or none was opened. */
  opening: Opening | null
  /** Until the answer began; null when none did. */
  first_byte_ms: number | null
  total_ms: number
  retry_after_s: number | null
  answer: Kept | null
}

export interface Target {
  url: string
  /** For the inbox of this installation, which may stand on an address that nobody else may name. */
  own_inbox: boolean
}

/**
 * Sends a request and waits for its answer, no longer than `timeout_ms` in all. Whatever goes wrong is part of what is
 * returned.
 */
export async function send(
  egress: Egress,
  target: Target,
  headers: Record<string, string>,
  body: Buffer,
  timeout_ms: number,
): Promise<Attempt> {
  const started_at = new Date()
  const start = performance.now()
  const elapsed = (): number => Math.round((performance.now() - start) * 10) / 10
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeout_ms)
  let opening: Opening | null = null
  let first_byte_ms: number | null = null
  let answer: EgressAnswer | null = null
  try {
    const { url, own_inbox } = target
    const opened = (how: Opening): void => void (opening = how)
    const asked = { method: 'POST', headers, body, signal: abort.signal, opened } as const
    answer = await egress.request(url, { ...asked, allow_private: own_inbox })
    first_byte_ms = elapsed()
    const { status } = answer
    const head = await headOf(answer.body)
    const ok = status >= 200 && status < 300
    const kept = { ...textOf(head), headers: keptHeaders(answer.headers) }
    return {
      started_at,
      status,
      error: ok ? null : 'http',
      opening,
      first_byte_ms,
      total_ms: elapsed(),
      retry_after_s: ok ? null : retryAfter(kept.headers['retry-after']),
      answer: ok && head.length === 0 ? null : kept,
    }
  } catch (error) {
    const failure = abort.signal.aborted ? 'timeout' : errorClass(error)
    // How long a refused connection took would tell what is open behind it.
    const total_ms = failure === 'connect' ? 0 : elapsed()
    const status = answer?.status ?? null
    return {
      started_at,
      status,
      error: failure,
      opening,
      first_byte_ms,
      total_ms,
      retry_after_s: null,
      answer: null,
    }
  } finally {
    clearTimeout(timer)
  }
}

/** An attempt as its delivery keeps it; `opening` only where there is one. */
export function attemptRow(attempt: Attempt): AttemptRow {
  const { started_at, status, error, opening, first_byte_ms, total_ms } = attempt
  const at = started_at.toISOString()
  return { at, status, error, ...(opening ? { opening } : {}), first_byte_ms, total_ms }
}

/** A blocked address is told as one that cannot be reached. */
function errorClass(error: unknown): ErrorClass {
  if (!(error instanceof EgressError)) return 'reset'
  return error.kind === 'blocked' || error.kind === 'invalid' ? 'connect' : error.kind
}

/** The beginning of a body. A longer one is cut off, and its connection with it. */
async function headOf(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  return await new Promise((resolve, reject) => {
    const finish = (): void => resolve(Buffer.concat(chunks))
    body.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length <= READ_MAX) return
      finish()
      body.destroy()
    })
    body.once('end', finish)
    body.once('error', reject)
  })
}

function textOf(bytes: Buffer): { body: string; base64: boolean } {
  const head = bytes.subarray(0, KEEP_MAX)
  const whole = bytes.length > KEEP_MAX ? withoutCutCharacter(head) : head
  if (isUtf8(whole) && !whole.includes(0)) return { body: whole.toString('utf8'), base64: false }
  return { body: head.toString('base64'), base64: true }
}

/** UTF-8 whose last character may have been cut: up to three bytes less. */
function withoutCutCharacter(bytes: Buffer): Buffer {
  for (const less of [0, 1, 2, 3]) {
    const shorter = bytes.subarray(0, bytes.length - less)
    if (isUtf8(shorter)) return shorter
  }
  return bytes
}

function keptHeaders(headers: EgressAnswer['headers']): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of KEPT_HEADERS) {
    const value = headers[name]
    if (value !== undefined) kept[name] = [value].flat().join(', ').slice(0, 1_000)
  }
  return kept
}

/** Seconds or an HTTP date. @returns seconds from now, null for none. */
export function retryAfter(value: string | undefined, now = Date.now()): number | null {
  if (value === undefined) return null
  if (/^[0-9]{1,9}$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, (at - now) / 1_000)
}
