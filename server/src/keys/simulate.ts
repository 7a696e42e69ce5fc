/** What a request with a key would be answered, and why, without sending it. */
import { allow } from '../http/auth.ts'
import { ApiError } from '../kit/errors.ts'
import { idDigits } from '../kit/ids.ts'
import { contains, networksOf } from '../kit/networks.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { restrictedTo } from '../kit/restriction.ts'
import type { Scope } from '../kit/scopes.ts'
import { find } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { Caller } from '../kit/types.ts'
import { stateOf } from './model.ts'
import type { ApiKey } from './model.ts'

/** A route of the interface. */
export interface KnownRoute {
  method: string
  url: string
  scope: string
  schema: { operationId?: string; response?: unknown }
}

export interface Question {
  method: string
  /** With or without the base path. */
  path: string
  ip: string | null
  key: ApiKey | null
  /** The organization's plan, with the key's scopes and restrictions. */
  caller: Pick<Caller, 'org_id' | 'plan' | 'scopes' | 'property_ids' | 'allowed_ips'>
}

const BASE = '/api/v1'

/** The route that would answer, its parameters and nothing else; null when there is none. */
export function routeOf(
  routes: readonly KnownRoute[],
  method: string,
  path: string,
): { route: KnownRoute; parameters: string[] } | null {
  const [plain = ''] = path.split('?')
  const wanted = (plain.startsWith(`${BASE}/`) ? plain : BASE + plain).split('/')
  const found = routes.flatMap((route) => {
    const parts = route.url.split('/')
    const fits =
      route.method === method &&
      parts.length === wanted.length &&
      parts.every((part, i) => part === wanted[i] || (part.startsWith(':') && wanted[i] !== ''))
    const parameters = parts.flatMap((part, i) => (part.startsWith(':') ? [String(wanted[i])] : []))
    return fits ? [{ route, parameters }] : []
  })
  // Words win over parameters, as in the router.
  return found.toSorted((a, b) => a.parameters.length - b.parameters.length)[0] ?? null
}

export async function simulate(
  store: Store,
  routes: readonly KnownRoute[],
  question: Question,
): Promise<Row> {
  const { method, path, caller } = question
  const match = routeOf(routes, method, path)
  const route = match && {
    method,
    path: match.route.url.slice(BASE.length).replaceAll(/:([a-z_]+)/g, '{$1}'),
    operation_id: match.route.schema.operationId,
    scope: match.route.scope,
  }
  const answer = (status: number, code: string | null, reason: string, more: Row = {}): Row => ({
    object: 'simulation',
    allowed: code === null,
    status,
    code,
    reason,
    route,
    required_scope: route && route.scope !== 'public' ? route.scope : null,
    plan_required: null,
    ...more,
  })
  try {
    if (!match) throw routeMissing(routes, method, path)
    if (match.route.scope !== 'public') {
      requireKey(question)
      allow(caller, match.route.scope as Scope)
      await requireObject(store, caller, match.parameters)
    }
    const status = Object.keys(match.route.schema.response ?? {}).find((text) => text < '300')
    return answer(Number(status), null, 'The key may send this request.')
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { plan_required = null } = error.extra
    return answer(error.status, error.code, error.message, { plan_required })
  }
}

function routeMissing(routes: readonly KnownRoute[], method: string, path: string): ApiError {
  const others = ['GET', 'POST', 'PATCH', 'DELETE'].filter((other) => routeOf(routes, other, path))
  return others.length > 0
    ? new ApiError('method_not_allowed', `${path} takes ${others.join(', ')}, not ${method}.`)
    : new ApiError('not_found', `There is no ${method} ${path}.`)
}

/** @throws what a request with the key meets first: 401 when it has ended, 403 from a wrong address. */
function requireKey({ key, ip, caller }: Question): void {
  const state = key && stateOf(key)
  if (state === 'revoked') throw new ApiError('invalid_key', 'The key was revoked.')
  if (state === 'expired') throw new ApiError('expired_key', 'The key has expired.')
  if (ip === null || !caller.allowed_ips) return
  if (contains(networksOf(caller.allowed_ips), ip)) return
  throw new ApiError('ip_not_allowed', `The key may not be used from ${ip}.`)
}

/** @throws 404 for an object outside of the properties that the key is restricted to. */
async function requireObject(
  store: Store,
  { org_id, property_ids }: Question['caller'],
  parameters: readonly string[],
): Promise<void> {
  if (!property_ids) return
  for (const text of parameters) {
    const named = objectOf(store, text)
    if (!named) continue
    const { resource, id } = named
    const seen = await restrictedTo(property_ids, () => find(store, org_id, resource, id))
    if (seen) continue
    const detail = `${text} is not among what the key is restricted to, or does not exist.`
    throw new ApiError('not_found', detail)
  }
}

function objectOf({ registry }: Store, text: string): { resource: Resource; id: number } | null {
  for (const resource of registry.values()) {
    const id = idDigits(resource.prefix, text)
    if (id !== null) return { resource, id }
  }
  return null
}
