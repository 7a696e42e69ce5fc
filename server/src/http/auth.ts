/** API keys: format, lookup, and the hook that lets a request in. */
import { createHash, randomInt } from 'node:crypto'
import type { BlockList } from 'node:net'
import { crc32 } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Db } from '../db/db.ts'
import { ApiError } from '../kit/errors.ts'
import { contains, networksOf, plainAddress } from '../kit/networks.ts'
import { restrictedTo } from '../kit/restriction.ts'
import { isScope, PLAN_SCOPES, PROPERTY_SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Caller } from '../kit/types.ts'
import type { Throttle } from './throttle.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** What secret scanners look for. */
export const KEY_PATTERN = /^grid_(live|sbx)_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/

/** How long a looked-up key is trusted: a revocation reaches every process within this time. */
const CACHE_MS = 750
const CACHE_MAX = 10_000

export function newKey(environment: 'production' | 'sandbox'): string {
  return newSecret(environment === 'sandbox' ? 'grid_sbx_' : 'grid_live_')
}

/** A new secret: 256 bits in base62 and a checksum that is verified before anything is looked up. */
export function newSecret(prefix: string): string {
  const secret = Array.from({ length: 43 }, () => ALPHABET[randomInt(62)]).join('')
  const text = prefix + secret
  return text + checksum(text)
}

/** CRC-32 of the text in six base62 digits. */
function checksum(text: string): string {
  let value = crc32(text)
  let digits = ''
  for (let i = 0; i < 6; i++) {
    digits = ALPHABET[value % 62] + digits
    value = Math.floor(value / 62)
  }
  return digits
}

export function keyIsWellFormed(key: string): boolean {
  return KEY_PATTERN.test(key) && checksum(key.slice(0, -6)) === key.slice(-6)
}

/** Keys are stored as their SHA-256: 256-bit secrets need no stretching. */
export function keyHash(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

interface Entry {
  caller: Caller
  /** End of the overlap, when this is the text from before a rotation. */
  text_expires_at: number | null
  revoked: boolean
  networks: BlockList | null
  fresh_until: number
  used_at: number
  /** When it was last used from each address and with each scope, since the last call of `takeUsed`. */
  addresses: Map<string, number>
  scopes: Map<string, number>
}

/** How a key was used since it was last told, as `app.touch_keys` takes it. */
export interface KeyUse {
  id: number
  at: string
  ip: string
  scopes: Record<string, string>
  addresses: Record<string, string>
}

/** Looks keys up and remembers them for less than a second. */
export class Keys {
  private readonly db: Pick<Db, 'flyControl'>
  private readonly cache = new Map<string, Entry>()
  private used = new Set<Entry>()
  /** Counts the calls of `forget`. */
  private forgotten = 0

  constructor(db: Pick<Db, 'flyControl'>) {
    this.db = db
  }

  /** The caller, or null for the caller of this very process's cache having nothing fresh. @throws as `find` does */
  cached(key: string, address: string): Caller | null {
    const entry = this.cache.get(key)
    return entry && entry.fresh_until > performance.now() ? admit(entry, address) : null
  }

  /** Whose key it is, as far as this process has seen it; whatever has become of it since. */
  known(key: string): Caller | null {
    return this.cache.get(key)?.caller ?? null
  }

  /** @throws 401 for an unknown, revoked or expired key, 403 for one that may not be used from the address. */
  async find(key: string, address: string): Promise<Caller> {
    if (!keyIsWellFormed(key))
      throw new ApiError('invalid_key', 'The key is mistyped: its checksum does not match.')
    const fresh_until = performance.now() + CACHE_MS
    const { forgotten } = this
    const rows = await this.db.flyControl(`select row_to_json(k) from app.find_key($1::bytea) k`, [
      `\\x${keyHash(key).toString('hex')}`,
    ])
    const text = rows[0]?.[0]?.toString()
    if (!text) {
      this.cache.delete(key)
      throw new ApiError('invalid_key', 'The key is not known.')
    }
    const entry = entryOf(JSON.parse(text) as KeyRow, fresh_until)
    // What was read before a change made here is not remembered after it.
    if (forgotten !== this.forgotten) return admit(entry, address)
    if (this.cache.size >= CACHE_MAX) this.cache.clear()
    this.cache.set(key, entry)
    return admit(entry, address)
  }

  /** Notes that the key was used, for a purpose it has the scope for. */
  note(key: string, scope: string, address: string): void {
    const entry = this.cache.get(key)
    if (!entry) return
    const now = Date.now()
    entry.used_at = now
    entry.addresses.set(address, now)
    entry.scopes.set(scope, now)
    this.used.add(entry)
  }

  /** Looks every key up again before it lets it in, so that a revocation made here holds from now on. */
  forget(): void {
    this.forgotten++
    for (const entry of this.cache.values()) entry.fresh_until = 0
  }

  /** Keys used since the last call, with when and how. */
  takeUsed(): KeyUse[] {
    const byKey = Map.groupBy(this.used, ({ caller }) => caller.key_id)
    this.used = new Set()
    return [...byKey].map(([id, entries]) => {
      const last = entries.reduce((a, b) => (a.used_at >= b.used_at ? a : b))
      const addresses = timesOf(entries.flatMap((entry) => [...entry.addresses]))
      const scopes = timesOf(entries.flatMap((entry) => [...entry.scopes]))
      const [ip] = [...last.addresses].reduce((a, b) => (a[1] > b[1] ? a : b))
      for (const entry of entries) {
        entry.addresses.clear()
        entry.scopes.clear()
      }
      return { id, at: new Date(last.used_at).toISOString(), ip, scopes, addresses }
    })
  }
}

function timesOf(uses: readonly (readonly [string, number])[]): Record<string, string> {
  return Object.fromEntries(
    uses.toSorted((a, b) => a[1] - b[1]).map(([name, at]) => [name, new Date(at).toISOString()]),
  )
}

function admit(entry: Entry, address: string): Caller {
  if (entry.revoked) throw new ApiError('invalid_key', 'The key was revoked.')
  const now = Date.now()
  const { text_expires_at, networks } = entry
  const { expires_at } = entry.caller
  if (expires_at !== null && expires_at <= now) {
    const at = new Date(expires_at).toISOString()
    throw new ApiError('expired_key', `The key expired at ${at}.`)
  }
  if (text_expires_at !== null && text_expires_at <= now) {
    const at = new Date(text_expires_at).toISOString()
    const detail = `The key was rotated; this text of it was good until ${at}.`
    throw new ApiError('expired_key', detail)
  }
  if (networks && !contains(networks, address)) {
    const detail = `The key may not be used from ${address}.`
    throw new ApiError('ip_not_allowed', detail, { ip: address })
  }
  return entry.caller
}

interface KeyRow {
  key_id: number
  org_id: number
  key_name: string
  scopes: string[]
  expires_at: string | null
  text_expires_at: string | null
  revoked_at: string | null
  allowed_ips: string[] | null
  property_ids: number[] | null
  installation_id: number | null
  plan: string
  environment: 'production' | 'sandbox'
  currency: string
  area_unit: string
  time_zone: string
}

function entryOf(row: KeyRow, fresh_until: number): Entry {
  const { expires_at, text_expires_at, revoked_at, scopes, ...rest } = row
  const { allowed_ips } = rest
  const time = (text: string | null): number | null => (text === null ? null : Date.parse(text))
  return {
    caller: { ...rest, scopes: new Set(scopes.filter(isScope)), expires_at: time(expires_at) },
    text_expires_at: time(text_expires_at),
    revoked: revoked_at !== null,
    networks: allowed_ips && networksOf(allowed_ips),
    fresh_until,
    used_at: 0,
    addresses: new Map(),
    scopes: new Map(),
  }
}

/** What a refused request is told to whoever watches: the organization's audit log. */
export interface Refusal {
  caller: Caller
  error: ApiError
  method: string
  route: string
  address: string
  request_id: string
}

/**
 * Sets `request.caller`; a route whose scope is `public` is open to all.
 * @param refused hears of requests refused with a key whose organization is known.
 */
export function auth(
  app: FastifyInstance,
  keys: Keys,
  throttle: Throttle,
  refused: (refusal: Refusal) => void,
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { config } = request.routeOptions
    const scope = config.scopeFor?.(request) ?? config.scope
    // What is no path of the API is not there, with or without a key; which paths the API has is for its callers.
    if (scope === 'public' || (request.is404 && !isApi(request.url))) return done()
    const address = plainAddress(request.ip)
    let key = ''
    const fail = (error: ApiError): void => {
      if (error.status === 401 && key !== '') throttle.failed(address)
      const caller = keys.known(key)
      if (caller && error.status < 429) refused({ ...placeOf(request), caller, error, address })
      done(error)
    }
    const enter = (caller: Caller): void => {
      request.caller = caller
      if (scope) {
        allow(caller, scope)
        keys.note(key, scope, address)
      }
      done()
    }
    try {
      key = headerKey(request)
      const caller = keys.cached(key, address)
      if (caller) return enter(caller)
      // Who was let in before is not kept out by a neighbour's mistakes.
      if (!keys.known(key)) throttle.check(address)
    } catch (error) {
      return fail(error as ApiError)
    }
    keys.find(key, address).then(enter).catch(fail)
  })
  // Bodies are read by events of the socket, so what the request is restricted to is said again after them.
  app.addHook('preValidation', (request, _reply, done) => {
    const caller = request.caller as Caller | null
    if (caller?.property_ids) restrictedTo(caller.property_ids, done)
    else done()
  })
}

function placeOf(request: FastifyRequest): Pick<Refusal, 'method' | 'route' | 'request_id'> {
  const { method, id, routeOptions } = request
  return { method, route: routeOptions.url ?? '(none)', request_id: id }
}

function isApi(url: string): boolean {
  return /^\/api([/?]|$)/.test(url)
}

function headerKey(request: FastifyRequest): string {
  const key = request.headers['x-api-key']
  if (typeof key === 'string' && key !== '') return key
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (bearer) return bearer
  throw new ApiError(
    'missing_key',
    'Send your API key in the header X-API-Key, or a token as Authorization: Bearer.',
  )
}

/** @throws 403 naming the scope or the plan that is missing. */
export function allow(
  caller: Pick<Caller, 'plan' | 'scopes' | 'property_ids'>,
  scope: Scope,
): void {
  const plan = PLAN_SCOPES[scope]
  if (plan && caller.plan !== plan) {
    throw new ApiError('plan_required', `${scope} is part of the ${plan} plan.`, {
      plan_required: plan,
      required_scope: scope,
    })
  }
  if (!caller.scopes.has(scope)) {
    const granted = [...caller.scopes].sort()
    throw new ApiError('insufficient_scope', `This needs the scope ${scope}.`, {
      required_scope: scope,
      granted_scopes: granted,
    })
  }
  if (caller.property_ids && !PROPERTY_SCOPES.has(scope)) {
    const detail = `${scope} concerns the whole organization; this key is restricted to some properties.`
    throw new ApiError('property_restricted', detail)
  }
}
