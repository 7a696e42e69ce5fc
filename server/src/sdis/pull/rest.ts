/** Reads the records of a REST source, page after page, through the one way out. */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Egress, EgressAnswer } from '../../egress.ts'
import { EgressError } from '../../egress.ts'
import type { Authorizer } from './authorize.ts'
import { SourceError } from './types.ts'
import type { Paging, PullLimits, RestSettings, RestSource } from './types.ts'

/** Redirects on the same host are followed so often. */
const REDIRECTS_MAX = 3

/** What is asked of a source, and how far it may go. */
export interface RestPull {
  egress: Egress
  settings: RestSettings
  source: RestSource
  authorizer: Authorizer
  limits: PullLimits
  signal: AbortSignal
  /** Parameters beside those of the source: where an incremental pull begins. */
  since?: Record<string, string>
  /** Counted while it goes on. */
  count: { pages: number; bytes: number; waited_ms: number }
}

/** A page of records, as the source gave them. */
export type Records = readonly unknown[]

/**
 * The pages of the source, each asked for when the one before has been taken.
 * @throws SourceError when the source cannot be reached or read, or does not come to an end.
 */
export async function* restPages(pull: RestPull): AsyncGenerator<Records> {
  const paging = pull.source.paging ?? { kind: 'none' }
  const seen = new Set<string>()
  let url: URL | null = firstUrl(pull, paging)
  while (url) {
    if (seen.has(url.href)) throw loops(`it gives ${url.pathname} as the next page again`)
    seen.add(url.href)
    if (pull.count.pages >= pull.limits.max_pages)
      throw new SourceError(
        'source_too_many_pages',
        `the source has more than ${pull.limits.max_pages} pages`,
      )
    const { answer, text } = await fetchPage(pull, url)
    pull.count.pages++
    const body = parsed(text, answer)
    const records = recordsIn(body, pull.source.records)
    if (records.length > 0 && paging.kind !== 'none') {
      // A source that ignores the parameter gives the first page for ever.
      const digest = `page ${createHash('sha256').update(JSON.stringify(records)).digest('base64')}`
      if (seen.has(digest)) throw loops('it gives the same records again')
      seen.add(digest)
    }
    yield records
    url = nextUrl(url, paging, { answer, body, records })
  }
}

function loops(how: string): SourceError {
  return new SourceError('source_loops', `The pages of the source do not come to an end: ${how}.`)
}

function firstUrl({ settings, source, since = {} }: RestPull, paging: Paging): URL {
  const base = settings.base_url.replace(/\/$/, '')
  const url = new URL(`${base}/${source.path.replace(/^\//, '')}`)
  for (const [name, value] of Object.entries({ ...source.query, ...since }))
    url.searchParams.set(name, value)
  if (paging.kind === 'page') {
    url.searchParams.set(paging.param, String(paging.start ?? 1))
    if (paging.size_param) url.searchParams.set(paging.size_param, String(paging.size ?? 100))
  }
  if (paging.kind === 'offset') {
    url.searchParams.set(paging.param, '0')
    if (paging.limit_param) url.searchParams.set(paging.limit_param, String(paging.limit))
  }
  return url
}

/** Where the next page is; null behind the last. */
function nextUrl(
  url: URL,
  paging: Paging,
  { answer, body, records }: { answer: EgressAnswer; body: unknown; records: Records },
): URL | null {
  const next = new URL(url)
  switch (paging.kind) {
    case 'none':
      return null
    case 'page': {
      if (records.length === 0 || (paging.size !== undefined && records.length < paging.size))
        return null
      next.searchParams.set(paging.param, String(Number(url.searchParams.get(paging.param)) + 1))
      return next
    }
    case 'offset': {
      if (records.length < paging.limit) return null
      const offset = Number(url.searchParams.get(paging.param)) + records.length
      next.searchParams.set(paging.param, String(offset))
      return next
    }
    case 'cursor': {
      const cursor = at(body, paging.next)
      if (cursor === undefined || cursor === null || cursor === '' || cursor === false) return null
      if (typeof cursor !== 'string' && typeof cursor !== 'number')
        throw new SourceError('source_unreadable', `${paging.next} of the answer is no cursor`)
      next.searchParams.set(paging.param, String(cursor))
      return next
    }
    case 'link':
      return linkOf(answer, url)
  }
}

/** The address with `rel="next"` in the `Link` header (RFC 8288). */
function linkOf({ headers }: EgressAnswer, url: URL): URL | null {
  const text = [headers['link'] ?? ''].flat().join(',')
  const link = /<([^>]*)>\s*;[^,]*\brel="?next"?/i.exec(text)
  if (!link?.[1]) return null
  if (!URL.canParse(link[1], url.href))
    throw new SourceError('source_unreadable', 'the Link header holds no address')
  const next = new URL(link[1], url)
  if (next.origin !== url.origin)
    throw new SourceError('source_redirects', `The next page is on another host, ${next.host}.`)
  return next
}

/** The value at a path such as `meta.next_cursor`. */
export function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, name) => {
    const fits = typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
    return fits ? (inner as Record<string, unknown>)[name] : undefined
  }, value)
}

function recordsIn(body: unknown, path: string | undefined): Records {
  const found = path === undefined ? body : at(body, path)
  if (Array.isArray(found)) return found
  const where = path === undefined ? 'The answer' : `'${path}' of the answer`
  throw new SourceError('source_unreadable', `${where} is no list of records.`)
}

function parsed(text: string, { headers }: EgressAnswer): unknown {
  const type = String(headers['content-type'] ?? '')
  try {
    return JSON.parse(text)
  } catch {
    const html = /html/i.test(type) || /^\s*</.test(text)
    const what = html ? 'a web page' : 'no whole JSON'
    const details = { content_type: type, begins_with: text.slice(0, 200) }
    throw new SourceError(
      'source_not_json',
      `The source answers with ${what}, not with JSON.`,
      details,
    )
  }
}

/** One page, tried again after a while when the source is busy or fails. */
async function fetchPage(
  pull: RestPull,
  url: URL,
): Promise<{ answer: EgressAnswer; text: string }> {
  const { limits, count, signal } = pull
  for (let tried = 1; ; tried++) {
    const outcome = await attempt(pull, url)
    if (!('again' in outcome)) return outcome
    if (tried >= limits.max_tries) throw outcome.again
    const ms = Math.min(outcome.after_ms ?? limits.pause_ms * 2 ** (tried - 1), limits.max_pause_ms)
    count.waited_ms += ms
    await pause(ms, undefined, { signal })
  }
}

type Outcome =
  | { answer: EgressAnswer; text: string }
  /** It may go well later. */
  | { again: SourceError; after_ms?: number }

async function attempt(pull: RestPull, start: URL): Promise<Outcome> {
  const { egress, source, settings, authorizer, signal } = pull
  let url = start
  let renewed = false
  for (let hops = 0; ;) {
    const sent = await authorizer.apply(url, { ...settings.headers, ...source.headers }, signal)
    const method = source.method ?? 'GET'
    const body = method === 'POST' ? JSON.stringify(source.body ?? {}) : undefined
    const headers = {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...sent.headers,
    }
    let answer: EgressAnswer
    let text: string
    try {
      answer = await egress.request(sent.url, {
        method,
        headers,
        signal,
        ...(body === undefined ? {} : { body }),
      })
      text = await readText(pull, answer)
    } catch (error) {
      return failure(error, signal)
    }
    const { status } = answer
    if (status >= 200 && status < 300) return { answer, text }
    if (status >= 300 && status < 400) {
      if (++hops > REDIRECTS_MAX)
        throw new SourceError('source_redirects', 'The source redirects again and again.')
      url = redirected(url, answer)
    } else if (status === 401 && !renewed && authorizer.renew()) {
      renewed = true
    } else return refused(status, answer, text)
  }
}

function redirected(url: URL, { headers }: EgressAnswer): URL {
  const location = String(headers['location'] ?? '')
  const next = URL.canParse(location, url.href) ? new URL(location, url) : null
  if (next?.origin === url.origin) return next
  throw new SourceError(
    'source_redirects',
    'The source redirects to another host, which is not followed.',
  )
}

function refused(status: number, { headers }: EgressAnswer, text: string): Outcome {
  const details = { status, begins_with: text.slice(0, 200) }
  if (status === 429 || status >= 500) {
    const code = status === 429 ? 'source_busy' : 'source_failed'
    const again = new SourceError(code, `The source answers ${status}.`, details)
    const after_ms = retryAfter(headers['retry-after'])
    return after_ms === null ? { again } : { again, after_ms }
  }
  const [code, message] =
    status === 401 || status === 403
      ? [
          'source_refused',
          `The source answers ${status}: the credentials of the connection are not accepted.`,
        ]
      : ['source_failed', `The source answers ${status}.`]
  throw new SourceError(code, message, details)
}

/** Seconds or a date, in milliseconds from now; null when it says neither. */
function retryAfter(header: string | string[] | undefined): number | null {
  const text = [header ?? ''].flat()[0] ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

async function readText(pull: RestPull, { body }: EgressAnswer): Promise<string> {
  const { limits, count } = pull
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > limits.max_page_bytes || count.bytes + bytes > limits.max_bytes) {
      body.destroy()
      throw new SourceError('source_too_large', `The source gives more than a pull may take.`, {
        max_page_bytes: limits.max_page_bytes,
        max_bytes: limits.max_bytes,
      })
    }
    parts.push(part)
  }
  count.bytes += bytes
  return Buffer.concat(parts).toString('utf8')
}

/** Why no answer came. What is blocked looks like what is not there: nobody learns what stands in the operator's network. */
export function failure(error: unknown, signal: AbortSignal): { again: SourceError } {
  if (error instanceof SourceError) throw error
  if (signal.aborted) throw signal.reason
  const kind = error instanceof EgressError ? error.kind : 'reset'
  if (kind === 'invalid')
    throw new SourceError('source_unreachable', 'The address of the source is not valid.')
  const silent = kind === 'timeout' || (error as { code?: string }).code === 'UND_ERR_BODY_TIMEOUT'
  const unreachable = new SourceError('source_unreachable', 'The source cannot be reached.')
  if (kind === 'blocked') throw unreachable
  return {
    again: silent
      ? new SourceError('source_silent', 'The source does not answer in time.')
      : unreachable,
  }
}
