/** The five endpoints most resources have, one line each in a feature's routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IdempotencyRecord } from './door.ts'
import { headsNamed, namedIds, withHeads } from './cluster-queries.ts'
import { JSON_TYPE, sendObject } from './object-routes.ts'
import type { Model } from './object-routes.ts'
import { ApiError, invalid } from './errors.ts'
import type { JsonSchema } from './field.ts'
import { etagOf, versionIn } from './etags.ts'
import { ownSchema, ownStore } from './extended.ts'
import { leadingTo } from './extension.ts'
import { refuseUnindexed } from './extension-limits.ts'
import { nameAll } from './extension-routes.ts'
import { earlierAnswer, fingerprintOf } from './idempotency.ts'
import { pathId } from './ids.ts'
import type { Answered } from './once.ts'
import { listAt, SCAN_MAX } from './past-lists.ts'
import { parseListQuery } from './query.ts'
import type { ListQuery, Query } from './query.ts'
import type { Resource, Row } from './resource.ts'
import { refuseOutside } from './restriction.ts'
import { createDocs, deleteDocs, getDocs, listDocs, patchDocs } from './schemas.ts'
import { gridObject, isPlain, shapeRows } from './shape.ts'
import { countUpTo, get, listRaw, listRows } from './store.ts'
import type { Page, Store } from './store.ts'
import { listItem } from './tables/list-item.ts'
import type { Caller } from './types.ts'
import { create, remove, requestOf, update } from './write.ts'
import type { Outcome, WriteRequest } from './write.ts'

/** A list on its way into a table: its pages are taken here instead of being sent. */
export interface Walk {
  /** Rows that the table may have, where that can be told before; null for a single page. */
  most: number | null
  /** Schema of a row; a list whose rows depend on the request says so. */
  item: JsonSchema
  page: Page<Row[]> | null
}

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
  bare: Store,
  { org_id }: Caller,
  declared: Resource,
  query: ListQuery,
  reply: FastifyReply,
  model: Model,
): Promise<FastifyReply> {
  const store = await ownStore(bare, org_id)
  const resource = store.registry.get(declared.name) ?? declared
  const { walk } = reply.request
  if (walk) await prepareWalk(store, org_id, resource, query, model, walk)
  if (!walk && model === 'v1' && isPlain(query) && resource.extensions.length === 0) {
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

/** @throws 422 `too_many_rows` before the first page of a table that would be longer than it may be. */
async function prepareWalk(
  store: Store,
  org_id: number,
  resource: Resource,
  query: ListQuery,
  model: Model,
  walk: Walk,
): Promise<void> {
  walk.item = listItem(resource, store.registry, query, model)
  if (walk.most === null || query.after) return
  const timed = query.as_of !== null || query.known_at !== null
  const most = timed ? Math.min(walk.most, SCAN_MAX) : walk.most
  if ((await countUpTo(store, org_id, resource, timed ? null : query, most + 1)) <= most) return
  const detail = `A list sent as one file may have ${most} rows and this one has more; narrow it, or use POST /exports.`
  throw new ApiError('too_many_rows', detail, { max_rows: most })
}

/** Sends the envelope every list has. */
export function sendPage(
  reply: FastifyReply,
  page: Page<unknown[]>,
  counted = false,
): FastifyReply {
  const { walk } = reply.request
  if (walk) {
    walk.page = page as Page<Row[]>
    return reply
  }
  const { data, has_more, next_cursor, total_count } = page
  const body = { object: 'list', data, has_more, next_cursor, ...(counted ? { total_count } : {}) }
  return nextLink(reply, next_cursor).type(JSON_TYPE).send(JSON.stringify(body))
}

/** The same for rows that are JSON already. */
export function sendTexts(reply: FastifyReply, page: Page<string[]>): FastifyReply {
  const { data, has_more, next_cursor } = page
  const { walk } = reply.request
  if (walk) {
    walk.page = { ...page, data: data.map((text) => JSON.parse(text) as Row) }
    return reply
  }
  const tail = JSON.stringify({ has_more, next_cursor }).slice(1)
  return nextLink(reply, next_cursor)
    .type(JSON_TYPE)
    .send(`{"object":"list","data":[${data.join(',')}],${tail}`)
}

/** Says where the next page is, if there is one. */
export function nextLink(reply: FastifyReply, cursor: string | null): FastifyReply {
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
      return await standingIn(app.store, write.org_id, input, (body) =>
        create(app.store, resource, write, body),
      )
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

/** Runs a write. One that names objects that were merged since is run for those they stand at. */
async function standingIn(
  store: Store,
  org_id: number,
  input: Row,
  run: (input: Row) => Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await run(input)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'validation_failed') throw error
    const { extensions } = await ownSchema(store, org_id)
    const own = leadingTo(extensions, null).flatMap(({ name, aliases }) => [
      name,
      ...aliases.map((alias) => alias.name),
    ])
    const names = namedIds(input, new Set())
    const ext = { ...(input['ext'] as Row | null | undefined) }
    for (const name of own) namedIds(ext[name], names, true)
    const heads = await headsNamed(store.db, org_id, names)
    if (heads.size === 0) throw error
    for (const name of own) if (name in ext) ext[name] = withHeads(ext[name], heads, true)
    const body = withHeads(input, heads)
    return await run(input['ext'] ? { ...body, ext } : body)
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
    const write = requestOf(request.caller, request.id)
    const expected = ifMatch(request)
    const outcome = await standingIn(app.store, write.org_id, request.body, (body) =>
      update(app.store, resource, write, id, body, expected),
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

/** The version If-Match asks for, null when the header is absent or `*`. @throws 412, 422 */
export function ifMatch(request: FastifyRequest): number | null {
  return versionIn(request.headers['if-match'])
}
