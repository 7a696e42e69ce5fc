import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalid, notFound } from '../kit/errors.ts'
import { idDigits, pathId, publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answer } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import type { Row } from '../kit/resource.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import { ALL_SCOPES, PLAN_SCOPES, PROPERTY_SCOPES, SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'
import { findMany } from '../kit/store.ts'
import { requestOf } from '../kit/write.ts'
import { property } from '../properties/resource.ts'
import * as docs from './docs.ts'
import { requireScopes, requireSound, requireWithin } from './grants.ts'
import { keyView, OVERLAP_H, scopesOf } from './model.ts'
import type { ApiKey } from './model.ts'
import { keysAfter } from './queries.ts'
import type { KeyFields } from './queries.ts'
import { changeKey, endKey, getKey, makeKey, rotateKey } from './service.ts'
import type { KeyChange, MadeKey } from './service.ts'
import { simulate } from './simulate.ts'

interface KeyParams {
  Params: { id: string }
}

interface KeyBody {
  name: string
  scopes: Scope[]
  expires_at?: string | null
  allowed_ips?: string[] | null
  property_ids?: string[] | null
}

export function keyRoutes(app: FastifyInstance): void {
  readRoutes(app)
  createRoute(app)
  changeRoutes(app)
  rotateRoute(app)
  simulateRoute(app)
}

function readRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/api-keys',
    docs.listDocs,
    async (request, reply) => {
      const { org_id, environment } = request.caller
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['api-keys'], cursor)
      const keys = await keysAfter(app.db, org_id, page.after ?? 0, limit + 1)
      const rows = keys.map((key) => keyView(key, environment))
      return sendPage(
        reply,
        page.of(rows, limit, (_, i) => String(keys[i]?.id)),
      )
    },
  )
  app.get<KeyParams>('/api-keys/:id', docs.getDocs, async (request) => {
    const { org_id, environment } = request.caller
    const key = await getKey(app.db, org_id, pathId('key', request.params.id))
    return keyView(key, environment)
  })
  app.get('/api-keys/scopes', docs.scopesDocs, (request, reply) => {
    const data = ALL_SCOPES.map((name) => scopeView(app, name, request.caller.scopes))
    return sendPage(reply, { data, has_more: false, next_cursor: null, total_count: null })
  })
}

function scopeView(app: FastifyInstance, name: Scope, held: ReadonlySet<Scope>): Row {
  const routes = app.routes.filter(({ scope }) => scope === name)
  return {
    name,
    description: SCOPES[name],
    plan: PLAN_SCOPES[name] ?? null,
    property_restricted: PROPERTY_SCOPES.has(name),
    granted: held.has(name),
    routes: routes
      .map(({ method, url }) => `${method} ${documentedPath(url)}`)
      .toSorted((a, b) => (a < b ? -1 : 1)),
  }
}

function documentedPath(url: string): string {
  return url.replace('/api/v1', '').replaceAll(/:([a-z_]+)/g, '{$1}')
}

function createRoute(app: FastifyInstance): void {
  app.post<{ Body: KeyBody }>('/api-keys', docs.createDocs, async (request, reply) => {
    const { caller, body } = request
    const { org_id, environment } = caller
    const { name, scopes } = body
    const { expires_at = null, allowed_ips = null, property_ids = null } = await fieldsOf(request)
    requireScopes(caller, scopes)
    requireWithin(caller, { expires_at, allowed_ips })
    const write = writeRequest(request)
    const [id = 0] = await app.db.ids(1)
    const wanted = {
      name,
      scopes,
      environment,
      expires_at,
      allowed_ips,
      property_ids: property_ids?.map(Number) ?? null,
    }
    const answered = await once(app.store, write, async (tx) =>
      madeAnswer(await makeKey(tx, org_id, id, wanted, write.actor), environment, 201),
    )
    return sendAnswered(reply, answered)
  })
}

/** The text of a key is in the first answer; what is kept of it for repeats has it left out. */
function madeAnswer({ key, text }: MadeKey, environment: string, status: number): Answer {
  const view = keyView(key, environment)
  const location = `/api/v1/api-keys/${publicId('key', key.id)}`
  return {
    status,
    headers: status === 201 ? { location } : {},
    body: JSON.stringify({ ...view, key: text, key_shown: true }),
    repeated: JSON.stringify({ ...view, key: null, key_shown: false }),
  }
}

/** The fields of a body in stored form. @throws 422 for addresses, times and properties that cannot be. */
async function fieldsOf(
  request: FastifyRequest<{ Body: Partial<KeyBody> }>,
): Promise<Partial<KeyFields>> {
  const { store } = request.server
  const { name, scopes, expires_at, allowed_ips, property_ids } = request.body
  const fields: Partial<KeyFields> = {
    ...(name === undefined ? {} : { name }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(expires_at === undefined
      ? {}
      : { expires_at: expires_at === null ? null : new Date(expires_at) }),
    ...(allowed_ips === undefined ? {} : { allowed_ips }),
  }
  requireSound(fields)
  if (property_ids === undefined) return fields
  if (property_ids === null) return { ...fields, property_ids }
  const ids = property_ids.map((id) => idDigits(property.prefix, id) ?? 0)
  const known = await findMany(store, request.caller.org_id, property, ids)
  const issues = property_ids.flatMap((text, i) => {
    const message = `no property has the id ${text}`
    const field = `property_ids[${i}]`
    return known.has(ids[i] as number) ? [] : [{ field, code: 'not_found', message }]
  })
  if (issues.length > 0) throw invalid(issues)
  return { ...fields, property_ids: ids.map(String) }
}

/** Who changes a key, and that it has all that the key has, before and after. */
function changeOf(request: FastifyRequest, fields: Partial<KeyFields> = {}): KeyChange {
  const { caller } = request
  return {
    environment: caller.environment,
    actor: requestOf(caller, request.id).actor,
    guard: (before: ApiKey, after: ApiKey) => {
      requireScopes(caller, [...scopesOf(before), ...scopesOf(after)])
      requireWithin(caller, fields)
    },
  }
}

function changeRoutes(app: FastifyInstance): void {
  app.patch<KeyParams & { Body: Partial<KeyBody> }>(
    '/api-keys/:id',
    docs.patchDocs,
    async (request) => {
      const { org_id, environment } = request.caller
      const id = pathId('key', request.params.id)
      const fields = await fieldsOf(request)
      const key = await changeKey(app.db, org_id, id, fields, changeOf(request, fields))
      app.keys.forget()
      return keyView(key, environment)
    },
  )
  app.delete<KeyParams>('/api-keys/:id', docs.deleteDocs, async (request, reply) => {
    const { org_id } = request.caller
    await endKey(app.db, org_id, pathId('key', request.params.id), changeOf(request), true)
    app.keys.forget()
    return reply.code(204).send()
  })
}

function rotateRoute(app: FastifyInstance): void {
  app.post<KeyParams & { Body: { overlap_hours?: number } | null }>(
    '/api-keys/:id/rotate',
    docs.rotateDocs,
    async (request, reply) => {
      const { org_id, environment } = request.caller
      const id = pathId('key', request.params.id)
      const hours = request.body?.overlap_hours ?? OVERLAP_H
      const change = changeOf(request)
      const guard: KeyChange['guard'] = (before, after) => {
        change.guard(before, after)
        // Whoever gets the text can use the key.
        requireWithin(request.caller, before)
      }
      const answered = await once(app.store, writeRequest(request), async (tx) =>
        madeAnswer(await rotateKey(tx, org_id, id, hours, { ...change, guard }), environment, 200),
      )
      app.keys.forget()
      return sendAnswered(reply, answered)
    },
  )
}

interface SimulationBody {
  key_id?: string
  scopes?: Scope[]
  method: string
  path: string
  ip?: string
}

function simulateRoute(app: FastifyInstance): void {
  app.post<{ Body: SimulationBody }>(
    '/api-keys/simulate',
    docs.simulateDocs,
    async (request, reply): Promise<FastifyReply> => {
      const { org_id, plan } = request.caller
      const { key_id, scopes, method, path, ip = null } = request.body
      if ((key_id === undefined) === (scopes === undefined)) {
        const message = 'give key_id or scopes, and not both'
        throw invalid([{ field: 'key_id', code: 'required', message }])
      }
      const id = key_id === undefined ? null : idDigits('key', key_id)
      if (key_id !== undefined && id === null) throw notFound(`API key ${key_id}`)
      const key = id === null ? null : await getKey(app.db, org_id, id)
      const caller = {
        org_id,
        plan,
        scopes: new Set(key ? scopesOf(key) : scopes),
        property_ids: key?.property_ids?.map(Number) ?? null,
        allowed_ips: key?.allowed_ips ?? null,
      }
      const row = await simulate(app.store, app.routes, { method, path, ip, key, caller })
      return reply.type(JSON_TYPE).send(JSON.stringify(row))
    },
  )
}
