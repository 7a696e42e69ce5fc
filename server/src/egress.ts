/**
 * The one way out: every HTTP request the product makes to the world passes here.
 *
 * Addresses a tenant names (webhooks, adapters, links) must not reach the operator's own network. A host name is checked
 * when the connection is made, on the addresses it really resolved to, and once more on the socket that was opened, so
 * neither a redirect nor a name that changes its answer gets around the check. Redirects are never followed; proxies of
 * the environment are not used.
 */
import { lookup } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { callbackify } from 'node:util'
import { Agent, buildConnector, request } from 'undici'
import { allowing, isOperatorAddress } from './addresses.ts'
import { listening, timed } from './egress-opening.ts'
import type { Opening } from './egress-opening.ts'

export type { Opening } from './egress-opening.ts'

const DNS_MS = 2_000
const CONNECT_MS = 5_000
const HEADERS_MS = 15_000
/** Longest silence inside an answer's body. */
const BODY_MS = 30_000
const URL_MAX = 2_048

type Connect = buildConnector.connector

/** What tests put in place of the network. */
export interface EgressOptions {
  /** Addresses of a host name. */
  resolve?: (hostname: string) => Promise<LookupAddress[]>
  /** Opens connections with the given, filtering lookup. */
  connect?: (lookup: LookupFunction) => Connect
  connect_ms?: number
  headers_ms?: number
  /** Networks the operator lets tenants reach although they are not public. */
  allow_networks?: readonly string[]
}

export interface EgressRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Buffer | Readable
  /** For endpoints the operator configured, never for one a tenant named: private addresses are allowed. */
  allow_private?: boolean
  signal?: AbortSignal
  /** Hears how long the connection took, if one was opened for this request. */
  opened?: (opening: Opening) => void
}

export interface EgressAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Must be read to its end or destroyed; `dump()` throws it away. */
  body: Readable & { text(): Promise<string>; dump(): Promise<void> }
}

/** Why no answer came. What a tenant is told must not tell `blocked` from `connect`. */
export type EgressFailure =
  | 'invalid'
  | 'blocked'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'too_large'

export class EgressError extends Error {
  readonly kind: EgressFailure

  constructor(kind: EgressFailure, message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

/** Sends requests; keeps connections open between them. Close it when done. */
export class Egress {
  private readonly options: EgressOptions
  private readonly publicOnly: Agent
  private readonly operators: Agent

  constructor(options: EgressOptions = {}) {
    this.options = options
    this.publicOnly = this.agent(allowing(options.allow_networks ?? []))
    this.operators = this.agent(isOperatorAddress)
  }

  /** @throws EgressError when no answer came; any status is an answer. */
  async request(address: string | URL, asked: EgressRequest): Promise<EgressAnswer> {
    const url = checkedUrl(address)
    const { method, headers = {}, body = null, allow_private = false, signal } = asked
    try {
      const answer = await listening(asked.opened, async () =>
        request(url, {
          method,
          headers,
          body,
          dispatcher: allow_private ? this.operators : this.publicOnly,
          ...(signal ? { signal } : {}),
        }),
      )
      return { status: answer.statusCode, headers: answer.headers, body: answer.body }
    } catch (error) {
      throw asEgressError(error, url)
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.publicOnly.close(), this.operators.close()])
  }

  private agent(allowed: (address: string) => boolean): Agent {
    return new Agent({
      connect: this.connector(allowed),
      headersTimeout: this.options.headers_ms ?? HEADERS_MS,
      bodyTimeout: BODY_MS,
      allowH2: false,
    })
  }

  private connector(allowed: (address: string) => boolean): Connect {
    const timeout = this.options.connect_ms ?? CONNECT_MS
    const make = this.options.connect ?? ((lookup) => buildConnector({ timeout, lookup }))
    const connect = timed(make(this.lookup(allowed)))
    return (target, done) => {
      // An IP literal is never looked up.
      const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
      if (isIP(host) && !allowed(host)) return done(blocked(target.hostname), null)
      connect(target, (...[error, socket]) => {
        if (error) return done(error, null)
        if (socket.remoteAddress && allowed(socket.remoteAddress)) return done(null, socket)
        socket.destroy()
        done(blocked(target.hostname), null)
      })
    }
  }

  /** A lookup that knows only allowed addresses. */
  private lookup(allowed: (address: string) => boolean): LookupFunction {
    const resolve = this.options.resolve ?? (async (name) => await lookup(name, { all: true }))
    const filtered = callbackify(async (hostname: string) => {
      const found = await within(DNS_MS, resolve(hostname), hostname)
      const kept = found.filter(({ address }) => allowed(address))
      if (kept.length === 0) throw blocked(hostname)
      return kept
    })
    return (hostname, options, done) =>
      filtered(hostname, (error, kept) => {
        const [first] = kept ?? []
        if (error || !first) done(error, '')
        else if (options.all) done(null, kept)
        else done(null, first.address, first.family)
      })
  }
}

function checkedUrl(address: string | URL): URL {
  const text = String(address)
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || text.length > URL_MAX || !/^https?:$/.test(url.protocol))
    throw new EgressError('invalid', 'not a http or https address')
  if (url.username || url.password)
    throw new EgressError('invalid', 'an address may not hold a user name or a password')
  return url
}

/** @throws EgressError `dns` when a name is not resolved in time; the resolver itself cannot be stopped. */
async function within<T>(ms: number, promise: Promise<T>, host: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new EgressError('dns', `${host} was not resolved`)), ms)
  })
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function blocked(host: string): EgressError {
  return new EgressError('blocked', `${host} has no address that may be connected to`)
}

function asEgressError(error: unknown, { host }: URL): EgressError {
  if (error instanceof EgressError) return error
  const kind = kindOf(error as NodeJS.ErrnoException)
  return new EgressError(kind, `no answer from ${host} (${kind})`, error)
}

function kindOf({ name, code = '' }: NodeJS.ErrnoException): EgressFailure {
  if (/^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$|^ETIMEDOUT$/.test(code)) return 'timeout'
  if (/HEADERS?_OVERFLOW/.test(code)) return 'too_large'
  if (name === 'AbortError' || name === 'TimeoutError') return 'timeout'
  if (/^(ENOTFOUND|EAI_AGAIN|ENODATA)$/.test(code)) return 'dns'
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES)$/.test(code)) return 'connect'
  if (/CERT|TLS|SSL|ALTNAME|SELF_SIGNED|UNABLE_TO|EPROTO/.test(code)) return 'tls'
  return 'reset'
}
