/** API keys: format, lookup, and the hook that lets a request in. */
import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Db } from '../db/db.ts'
import { ApiError } from '../kit/errors.ts'
import { isScope, PLAN_SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Caller } from '../kit/types.ts'

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
  expires_at: number | null
  revoked: boolean
  fresh_until: number
}

/** Looks keys up and remembers them for less than a second. */
export class Keys {
  private readonly db: Db
  private readonly cache = new Map<string, Entry>()
  private readonly used = new Map<number, number>()

  constructor(db: Db) {
    this.db = db
  }

  /** The caller, or null for the caller of this very process's cache having nothing fresh. */
  cached(key: string): Caller | null {
    const entry = this.cache.get(key)
    return entry && entry.fresh_until > performance.now() ? this.admit(entry) : null
  }

  /** @throws 401 for an unknown, revoked or expired key. */
  async find(key: string): Promise<Caller> {
    if (!keyIsWellFormed(key))
      throw new ApiError('invalid_key', 'The key is mistyped: its checksum does not match.')
    const fresh_until = performance.now() + CACHE_MS
    const rows = await this.db.flyControl(`select row_to_json(k) from app.find_key($1::bytea) k`, [
      `\\x${keyHash(key).toString('hex')}`,
    ])
    const text = rows[0]?.[0]?.toString()
    if (!text) throw new ApiError('invalid_key', 'The key is not known.')
    const entry = entryOf(JSON.parse(text) as KeyRow, fresh_until)
    if (this.cache.size >= CACHE_MAX) this.cache.clear()
    this.cache.set(key, entry)
    return this.admit(entry)
  }

  /** Forgets every key at once, so that a revocation made here holds from now on. */
  forget(): void {
    this.cache.clear()
  }

  /** Ids of keys used since the last call, with the time. */
  takeUsed(): { id: number; at: string }[] {
    const list = [...this.used].map(([id, at]) => ({ id, at: new Date(at).toISOString() }))
    this.used.clear()
    return list
  }

  private admit(entry: Entry): Caller {
    if (entry.revoked) throw new ApiError('invalid_key', 'The key was revoked.')
    const now = Date.now()
    if (entry.expires_at !== null && entry.expires_at <= now) {
      throw new ApiError(
        'expired_key',
        `The key expired at ${new Date(entry.expires_at).toISOString()}.`,
      )
    }
    this.used.set(entry.caller.key_id, now)
    return entry.caller
  }
}

interface KeyRow {
  key_id: number
  org_id: number
  key_name: string
  scopes: string[]
  expires_at: string | null
  revoked_at: string | null
  plan: string
  environment: 'production' | 'sandbox'
  currency: string
  area_unit: string
  time_zone: string
}

function entryOf(row: KeyRow, fresh_until: number): Entry {
  const { key_id, org_id, key_name, plan, environment, currency, area_unit, time_zone } = row
  const scopes = new Set(row.scopes.filter(isScope))
  return {
    caller: { key_id, org_id, key_name, scopes, plan, environment, currency, area_unit, time_zone },
    expires_at: row.expires_at === null ? null : Date.parse(row.expires_at),
    revoked: row.revoked_at !== null,
    fresh_until,
  }
}

/** Sets `request.caller`; a route whose scope is `public` is open to all. */
export function auth(app: FastifyInstance, keys: Keys): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const scope = request.routeOptions.config.scope
    if (scope === 'public') return done()
    try {
      const key = headerKey(request)
      const caller = keys.cached(key)
      if (caller) {
        request.caller = caller
        if (scope) allow(caller, scope)
        return done()
      }
      keys
        .find(key)
        .then((found) => {
          request.caller = found
          if (scope) allow(found, scope)
          done()
        })
        .catch((error: Error) => done(error))
    } catch (error) {
      done(error as Error)
    }
  })
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
export function allow(caller: Caller, scope: Scope): void {
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
}
