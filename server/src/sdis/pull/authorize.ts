/** Proves to a REST source who asks. Secrets are only in memory, and only while a pull goes on. */
import { EgressError } from '../../egress.ts'
import type { Egress, EgressAnswer } from '../../egress.ts'
import { SourceError } from './types.ts'
import type { Auth } from './types.ts'

/** A token is renewed so long before it ends, in milliseconds. */
const EARLY_MS = 30_000

/** A token without a time lives so long, in milliseconds. */
const TOKEN_MS = 5 * 60_000

/** An answer of a token endpoint is small. */
const TOKEN_BYTES_MAX = 64 * 1024

export class Authorizer {
  private readonly auth: Auth
  private readonly secret: string
  private readonly egress: Egress
  private token: { text: string; until: number } | null = null

  constructor(auth: Auth, secret: string | null, egress: Egress) {
    this.auth = auth
    this.secret = secret ?? ''
    this.egress = egress
  }

  /** The address and the headers with the proof. @throws SourceError `source_refused` when no token is given. */
  async apply(
    url: URL,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<{ url: URL; headers: Record<string, string> }> {
    const { auth, secret } = this
    switch (auth.kind) {
      case 'none':
        return { url, headers }
      case 'key': {
        if (auth.in === 'header') return { url, headers: { ...headers, [auth.name]: secret } }
        const keyed = new URL(url)
        keyed.searchParams.set(auth.name, secret)
        return { url: keyed, headers }
      }
      case 'basic': {
        const pair = Buffer.from(`${auth.username}:${secret}`).toString('base64')
        return { url, headers: { ...headers, authorization: `Basic ${pair}` } }
      }
      case 'bearer':
        return { url, headers: { ...headers, authorization: `Bearer ${secret}` } }
      case 'oauth2': {
        const token = await this.current(auth, signal)
        return { url, headers: { ...headers, authorization: `Bearer ${token}` } }
      }
    }
  }

  /** Forgets a token that was not accepted. @returns whether another may be asked for. */
  renew(): boolean {
    const had = this.token !== null
    this.token = null
    return had
  }

  private async current(auth: Auth & { kind: 'oauth2' }, signal: AbortSignal): Promise<string> {
    if (this.token && this.token.until > Date.now()) return this.token.text
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(auth.scope ? { scope: auth.scope } : {}),
    })
    const pair = [auth.client_id, this.secret].map(encodeURIComponent).join(':')
    const answer = await this.ask(auth.token_url, pair, form.toString(), signal)
    const { access_token, expires_in } = answer as { access_token?: unknown; expires_in?: unknown }
    if (typeof access_token !== 'string' || access_token === '')
      throw refusal('gives no access_token')
    const lives = typeof expires_in === 'number' && expires_in > 0 ? expires_in * 1_000 : TOKEN_MS
    this.token = { text: access_token, until: Date.now() + Math.max(lives - EARLY_MS, lives / 2) }
    return access_token
  }

  private async ask(
    token_url: string,
    pair: string,
    body: string,
    signal: AbortSignal,
  ): Promise<object> {
    try {
      const answer = await this.egress.request(token_url, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body,
        signal,
      })
      const text = await textOf(answer)
      if (answer.status !== 200) throw refusal(`answers ${answer.status}`)
      const found: unknown = JSON.parse(text)
      if (typeof found === 'object' && found !== null) return found
      throw refusal('does not answer with JSON')
    } catch (error) {
      if (error instanceof SourceError) throw error
      if (signal.aborted) throw signal.reason
      if (error instanceof EgressError)
        throw new SourceError('source_unreachable', 'The token endpoint cannot be reached.')
      throw refusal('does not answer with JSON')
    }
  }
}

/** Read no further than a token may go. */
async function textOf({ body }: EgressAnswer): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > TOKEN_BYTES_MAX) throw refusal('answers with too much')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function refusal(how: string): SourceError {
  return new SourceError('source_refused', `The token endpoint ${how}.`)
}
