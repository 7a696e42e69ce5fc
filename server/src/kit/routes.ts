/** The five endpoints most resources have, one line each in a feature's routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IdempotencyRecord } from './door.ts'
import { ApiError, invalid, notFound } from './errors.ts'
import { etagOf, names, versionIn } from './etags.ts'
import { ownResource, ownSchema } from './extended.ts'
import { refuseUnindexed } from './extension-limits.ts'
import { nameAll } from './extension-routes.ts'
import { assertionsOf, listAt, ownerOf, ranksOf, rowAt, settle } from './history.ts'
import { earlierAnswer, fingerprintOf } from './idempotency.ts'
import { pathId } from './ids.ts'
import type { Answered } from './once.ts'
import { parseGetQuery, parseListQuery } from './query.ts'
import type { ListQuery, Query, Shape, Times } from './query.ts'
import type { Resource, Row } from './resource.ts'
import { refuseOutside } from './restriction.ts'
import { createDocs, deleteDocs, getDocs, listDocs, patchDocs } from './schemas.ts'
import { gridObject, isPlain, shapeRows } from './shape.ts'
import { find, get, listRaw, listRows, parseBody } from './store.ts'
import type { Page, Store } from './store.ts'
import type { Caller } from './types.ts'
import { create, remove, requestOf, update } from './write.ts'
import type { Outcome, WriteRequest } from './write.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Which generation of the model an answer is in. */
export type Model = 'v1' | 'grid'

/** A collection below a parent: the parent's resource, and the field that holds its id. */
export interface Under {
  parent: Resource
  field: string
}

interface ListRequest {
  Params: { id: string }
  Querystring: Query
}

interface ObjectRequest {
  Params: { id: string }
  Querystring: Query
  Body: Row
}

/** GET a collection: filters, sort, cursor, fields, expand, include, as_of, known_at. */
export function listRoute(
  app: FastifyInstance,
  resource: Resource,
  options: { under?: Under; model?: Model } = {},
): void {
  const { under, model = 'v1' } = options
  const base = model === 'grid' ? '/grid/v2' : ''
  const path = under ? `/${under.parent.path}/:id/${resource.path}` : `${base}/${resource.path}`
  app.get<ListRequest>(path, listDocs(resource, model, under), async (request, reply) => {
    const query = await listQuery(app.store, request, resource, under)
    return await sendList(app.store, request.caller, resource, query, reply, model)
  })
}

async function listQuery(
  store: Store,
  request: FastifyRequest<ListRequest>,
  resource: Resource,
  under: Under | undefined,
): Promise<ListQuery> {
  const { caller, params } = request
  let { query } = request
  if (under) {
    await get(store, caller.org_id, under.parent, pathId(under.parent.prefix, params.id))
    query = { ...query, [under.field]: params.id }
  }
  const { registry } = await ownSchema(store, caller.org_id)
  const own = registry.get(resource.name) ?? resource
  const parsed = parseListQuery(own, registry, query, store.secret, caller)
  await refuseUnindexed(store.db, caller.org_id, own, parsed)
  return parsed
}

/** Sends a page: stored bytes when they are the answer as they are, shaped rows otherwise. */
async function sendList(
  store: Store,
  { org_id }: Caller,
  declared: Resource,
  query: ListQuery,
  reply: FastifyReply,
  model: Model,
): Promise<FastifyReply> {
  const resource = await ownResource(store, org_id, declared)
  if (model === 'v1' && isPlain(query) && resource.extensions.length === 0) {
    const page = await listRaw(store, org_id, resource, query)
    reply.raw.once('finish', page.release)
    return nextLink(reply, page.next_cursor).type(JSON_TYPE).send(page.bytes)
  }
  const timed = query.as_of !== null || query.known_at !== null
  const page = await (timed ? listAt : listRows)(store, org_id, resource, query)
  const rows = await shapeRows(store, org_id, resource, page.data, query)
  const data =
    model === 'grid' ? rows.map((row) => gridObject(resource, store.registry, row)) : rows
  return sendPage(reply, { ...page, data }, query.include.has('total_count'))
}

/** Sends the envelope every list has. */
export function sendPage(
  reply: FastifyReply,
  page: Page<unknown[]>,
  counted = false,
): FastifyReply {
  const { data, has_more, next_cursor, total_count } = page
  const body = { object: 'list', data, has_more, next_cursor, ...(counted ? { total_count } : {}) }
  return nextLink(reply, next_cursor).type(JSON_TYPE).send(JSON.stringify(body))
}

/** The same for rows that are JSON already. */
export function sendTexts(reply: FastifyReply, page: Page<string[]>): FastifyReply {
  const { data, has_more, next_cursor } = page
  const tail = JSON.stringify({ has_more, next_cursor }).slice(1)
  return nextLink(reply, next_cursor)
    .type(JSON_TYPE)
    .send(`{"object":"list","data":[${data.join(',')}],${tail}`)
}

function nextLink(reply: FastifyReply, cursor: string | null): FastifyReply {
  if (!cursor) return reply
  const url = new URL(reply.request.url, 'http://self')
  url.searchParams.set('cursor', cursor)
  return reply.header('link', `<${url.pathname}${url.search}>; rel="next"`)
}

/** GET one object, with its version as ETag. */
export function getRoute(app: FastifyInstance, resource: Resource, model: Model = 'v1'): void {
  const base = model === 'grid' ? '/grid/v2' : ''
  const path = `${base}/${resource.path}/:id`
  app.get<ObjectRequest>(path, getDocs(resource, model), async (request, reply) => {
    const id = pathId(resource.prefix, request.params.id)
    return await sendObject(app.store, request.caller, resource, id, request.query, reply, model)
  })
}

/** Answers one object in either model, at the present or at another time. */
export async function sendObject(
  store: Store,
  caller: Caller,
  declared: Resource,
  id: number,
  query: Query,
  reply: FastifyReply,
  model: Model,
): Promise<FastifyReply> {
  const resource = await ownResource(store, caller.org_id, declared)
  const shape = parseGetQuery(resource, store.registry, query, caller.time_zone)
  if (shape.as_of !== null || shape.known_at !== null) {
    const row = await rowThen(store, caller.org_id, resource, id, shape)
    return await sendShaped(store, caller, resource, row, shape, reply, model)
  }
  const stored = await get(store, caller.org_id, resource, id)
  // What other objects add (rollups, expanded ones) changes without a new version of this one.
  const alone = shape.expand.length === 0 && !shape.include.has('rollups')
  const same = tellVersion(reply, stored.version, resource.schema_version)
  if (same && alone) return reply.code(304).send()
  if (model === 'v1' && isPlain(shape) && resource.extensions.length === 0)
    return reply.type(JSON_TYPE).send(stored.body)
  return await sendShaped(store, caller, resource, parseBody(stored.body), shape, reply, model)
}

async function sendShaped(
  store: Store,
  caller: Caller,
  resource: Resource,
  row: Row,
  shape: Shape & Times,
  reply: FastifyReply,
  model: Model,
): Promise<FastifyReply> {
  const [shaped] = await shapeRows(store, caller.org_id, resource, [row], shape)
  const body = model === 'grid' ? gridObject(resource, store.registry, shaped as Row) : shaped
  return reply.type(JSON_TYPE).send(JSON.stringify(body))
}

/** One object as it was. @throws 404 for what did not exist then. */
export async function rowThen(
  store: Store,
  org_id: number,
  resource: Resource,
  id: number,
  times: Times,
): Promise<Row> {
  await settle(store.db, org_id, times.known_at)
  const owner = ownerOf(resource, org_id, id)
  if (owner !== org_id && !(await find(store, org_id, resource, id)))
    throw notFound(`${resource.title} ${resource.prefix}_${id}`)
  const [known, ranks] = await Promise.all([
    assertionsOf(store.db, owner, [id], times.known_at),
    ranksOf(store.db, owner),
  ])
  const row = rowAt(resource, owner, id, known.get(id) ?? [], ranks, times)
  if (!row) throw notFound(`${resource.title} ${resource.prefix}_${id} at that time`)
  return row
}

/** POST a new object: 201 with Location. `prepare` may complete or refuse the body with what it reads. */
export function createRoute(
  app: FastifyInstance,
  resource: Resource,
  options: { under?: Under; prepare?: Prepare } = {},
): void {
  const { under, prepare } = options
  const path = under ? `/${under.parent.path}/:id/${resource.path}` : `/${resource.path}`
  const documented = createDocs(resource, under)
  const docs = { ...documented, preValidation: nameAll(app, resource, documented, true) }
  app.post<ObjectRequest>(path, docs, async (request, reply) => {
    const write = writeRequest(request)
    const outcome = await repeatable(app.store, write, async () => {
      let input = request.body
      if (under) {
        const id = pathId(under.parent.prefix, request.params.id)
        await get(app.store, write.org_id, under.parent, id)
        input = { ...input, [under.field]: request.params.id }
      }
      refuseOutside(input)
      if (prepare) input = await prepare(app.store, write, input)
      return await create(app.store, resource, write, input)
    })
    return sendCreated(reply, outcome)
  })
}

/** Runs a create. What refuses it today did not when an identical request was answered, so that answer comes first. */
async function repeatable(
  store: Store,
  request: WriteRequest,
  run: () => Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await run()
  } catch (error) {
    const replayed = error instanceof ApiError ? await earlierAnswer(store, request) : null
    if (!replayed) throw error
    return { id: 0, version: 0, body: replayed.body, replayed }
  }
}

export type Prepare = (store: Store, request: WriteRequest, input: Row) => Promise<Row>

/** The write of a request, with its idempotency key if it has one. */
export function writeRequest(request: FastifyRequest): WriteRequest {
  const key = idempotencyKey(request)
  const route = `${request.method} ${request.routeOptions.url ?? ''}`
  const idempotency = key ? { key, route, fingerprint: fingerprintOf(partsOf(request)) } : undefined
  return { ...requestOf(request.caller, request.id), idempotency }
}

/** What makes two requests the same. A key of some properties shares no answer with others. */
function partsOf({ params, body, caller }: FastifyRequest): unknown[] {
  return caller.property_ids ? [params, body, caller.property_ids] : [params, body]
}

/** The Idempotency-Key header, quoted or bare. @throws 422 when it is longer than 255 characters. */
export function idempotencyKey(request: FastifyRequest): string | null {
  const header = request.headers['idempotency-key']
  if (typeof header !== 'string') return null
  const key = header.replace(/^"(.*)"$/, '$1')
  if (key.length >= 1 && key.length <= 255) return key
  throw invalid([
    { field: 'Idempotency-Key', code: 'out_of_range', message: 'must have 1 to 255 characters' },
  ])
}

export function sendCreated(reply: FastifyReply, outcome: Outcome): FastifyReply {
  const { replayed } = outcome
  if (replayed) return sendReplayed(reply, replayed)
  const { id, object } = JSON.parse(outcome.body) as { id: string; object: string }
  const path = reply.server.store.registry.get(object)?.path ?? object
  return reply
    .code(201)
    .headers({ etag: etagOf(outcome.version), location: `/api/v1/${path}/${id}` })
    .type(JSON_TYPE)
    .send(outcome.body)
}

/** Sends what an earlier identical request was answered, and which request that was. */
export function sendReplayed(reply: FastifyReply, replayed: IdempotencyRecord): FastifyReply {
  return reply
    .code(replayed.status)
    .headers({ ...replayed.headers, 'idempotent-replayed': 'true' })
    .type(JSON_TYPE)
    .send(replayed.body)
}

/** Sends what `once` came to. */
export function sendAnswered(reply: FastifyReply, { answer, replayed }: Answered): FastifyReply {
  if (replayed) return sendReplayed(reply, replayed)
  return reply.code(answer.status).headers(answer.headers).type(JSON_TYPE).send(answer.body)
}

/** PATCH an object with a merge patch; If-Match guards against overwriting another's change. */
export function patchRoute(app: FastifyInstance, resource: Resource): void {
  const documented = patchDocs(resource)
  const docs = { ...documented, preValidation: nameAll(app, resource, documented, false) }
  app.patch<ObjectRequest>(`/${resource.path}/:id`, docs, async (request, reply) => {
    const id = pathId(resource.prefix, request.params.id)
    const outcome = await update(
      app.store,
      resource,
      requestOf(request.caller, request.id),
      id,
      request.body,
      ifMatch(request),
    )
    return reply.header('etag', etagOf(outcome.version)).type(JSON_TYPE).send(outcome.body)
  })
}

/** DELETE an object softly: 204. An object that others refer to stays, with 409. */
export function deleteRoute(app: FastifyInstance, resource: Resource): void {
  app.delete<ObjectRequest>(
    `/${resource.path}/:id`,
    deleteDocs(resource),
    async (request, reply) => {
      const id = pathId(resource.prefix, request.params.id)
      await remove(app.store, resource, requestOf(request.caller, request.id), id, ifMatch(request))
      return reply.code(204).send()
    },
  )
}

/** Sends the version as ETag. @returns whether If-None-Match names it, so that a 304 will do. */
export function tellVersion(reply: FastifyReply, version: number, schema_version = 0): boolean {
  const etag = etagOf(version, schema_version)
  reply.header('etag', etag)
  return names(reply.request.headers['if-none-match'], etag)
}

/** The version If-Match asks for, null when the header is absent or `*`. @throws 412, 422 */
export function ifMatch(request: FastifyRequest): number | null {
  return versionIn(request.headers['if-match'])
}
