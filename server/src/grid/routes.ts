import type { FastifyInstance, FastifyReply } from 'fastify'
import { ownResource, ownSchema } from '../kit/extended.ts'
import { deployed, extensionKey, extensionNamed, shownView } from '../kit/extension.ts'
import { ownerOf } from '../kit/history.ts'
import { paging } from '../kit/paging.ts'
import { parseGetQuery } from '../kit/query.ts'
import type { Query, Times } from '../kit/query.ts'
import { allFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { JSON_TYPE, sendObject } from '../kit/object-routes.ts'
import { getRoute, listRoute, sendPage } from '../kit/routes.ts'
import { provenanceOf } from '../kit/shape.ts'
import type { Store } from '../kit/store.ts'
import type { Caller } from '../kit/types.ts'
import { invalid } from '../kit/errors.ts'
import { names } from '../kit/etags.ts'
import { closest } from '../kit/validate.ts'
import { resources } from '../resources.ts'
import * as docs from './docs.ts'
import { findClaims, relationViews, timelineViews } from './objects.ts'
import type { Found } from './objects.ts'
import { conflictViews, factViews, objectOf } from '../truth/index.ts'
import { schemaDocument } from './schema.ts'

/** Objects shown per field that refers to an object. */
const RELATED_MAX = 100

interface ObjectRequest {
  Params: { id: string }
  Querystring: Query & { field?: string; limit?: string; cursor?: string }
}

/** The second-generation model: every resource in one shape, and the facts behind it. */
export function gridRoutes(app: FastifyInstance): void {
  for (const resource of resources) {
    listRoute(app, resource, { model: 'grid' })
    getRoute(app, resource, 'grid')
  }
  const declared = schemaDocument(resources)
  app.get('/grid/v2/schema', docs.getSchema, async (request, reply) => {
    const own = await ownSchema(app.store, request.caller.org_id)
    const schema =
      own.extensions.length === 0 ? declared : schemaDocument([...own.registry.values()])
    reply.header('etag', schema.etag)
    if (names(request.headers['if-none-match'], schema.etag)) return reply.code(304).send()
    return reply.type(JSON_TYPE).send(schema.text)
  })
  objectRoutes(app)
}

function objectRoutes(app: FastifyInstance): void {
  app.get<ObjectRequest>('/grid/v2/objects/:id', docs.getObject, async (request, reply) => {
    const { resource, id } = objectOf(app.store.registry, request.params.id)
    return await sendObject(app.store, request.caller, resource, id, request.query, reply, 'grid')
  })
  list(app, 'facts', docs.listFacts, ({ found, times, field }) =>
    factViews(found, times.as_of ?? Date.now(), field),
  )
  list(app, 'timeline', docs.listTimeline, ({ found, field }) => timelineViews(found, field))
  list(app, 'conflicts', docs.listConflicts, ({ found, times }) =>
    conflictViews(found, times.as_of ?? Date.now()),
  )
  list(
    app,
    'relations',
    docs.listRelations,
    async ({ found, caller }) => await relationViews(app.store, caller.org_id, found, RELATED_MAX),
  )
  app.get<ObjectRequest>(
    '/grid/v2/objects/:id/provenance',
    docs.getProvenance,
    async (request, reply) => {
      const { caller, params } = request
      const { resource: declared } = objectOf(app.store.registry, params.id)
      const resource = await ownResource(app.store, caller.org_id, declared)
      const { field, ...rest } = request.query
      const times = parseGetQuery(resource, app.store.registry, rest, caller.time_zone)
      if (field !== undefined) requireField(resource, fieldKey(resource, field))
      const { id } = await findClaims(app.store, caller.org_id, params.id, times)
      const owner = ownerOf(resource, caller.org_id, id)
      const own = await ownResource(app.store, owner, declared)
      const fields = field === undefined ? times.fields : [field]
      const provenance = await provenanceOf(app.store, own, owner, [id], { ...times, fields })
      return reply
        .type(JSON_TYPE)
        .send(
          JSON.stringify({ object: 'provenance', id: params.id, fields: provenance.get(id) ?? {} }),
        )
    },
  )
}

interface View {
  found: Found
  times: Times
  field: string | null
  caller: Caller
}

/** A list made of one object's claims, a page at a time. */
function list(
  app: FastifyInstance,
  name: string,
  documentation: (typeof docs)['listFacts'],
  rows: (view: View) => Row[] | Promise<Row[]>,
): void {
  app.get<ObjectRequest>(`/grid/v2/objects/:id/${name}`, documentation, async (request, reply) => {
    const { caller, params } = request
    const { resource: declared } = objectOf(app.store.registry, params.id)
    const resource = await ownResource(app.store, caller.org_id, declared)
    const { field: asked = null, limit, cursor, ...rest } = request.query
    const field = asked === null ? null : fieldKey(resource, asked)
    const times = parseGetQuery(resource, app.store.registry, rest, caller.time_zone)
    if (field !== null) requireField(resource, field)
    const found = await findClaims(app.store, caller.org_id, params.id, times)
    const views = await rows({ found, times, field, caller })
    const wanted = field === null ? views : views.filter((row) => row['field'] === field)
    const all = wanted.map((view) => shownView(resource.extensions, view))
    return sendSlice(
      app.store,
      caller.org_id,
      reply,
      [name, params.id, JSON.stringify(rest), field ?? ''],
      all,
      limit,
      cursor,
    )
  })
}

/** The name that facts have for a field: fields of the organization's own go by their id. */
function fieldKey({ extensions }: Resource, field: string): string {
  const own = field.startsWith('ext.') ? extensionNamed(extensions, field.slice(4)) : undefined
  return own ? extensionKey(own.id) : field
}

/** A page of rows that are all at hand; the cursor is a position among them. */
function sendSlice(
  store: Store,
  org_id: number,
  reply: FastifyReply,
  bound: readonly string[],
  rows: readonly Row[],
  limit: string | undefined,
  cursor: string | undefined,
): FastifyReply {
  const size = limit === undefined ? 50 : Number(limit)
  if (!Number.isInteger(size) || size < 1 || size > 200) {
    throw invalid([
      {
        field: 'limit',
        code: 'out_of_range',
        message: `must be a whole number from 1 to 200, got '${limit}'`,
      },
    ])
  }
  const page = paging(store, org_id, bound, cursor)
  const start = page.after ?? 0
  return sendPage(
    reply,
    page.of(rows.slice(start, start + size + 1), size, () => String(start + size)),
  )
}

function requireField(resource: Resource, field: string): void {
  const own = deployed(resource.extensions)
  const names = [...Object.keys(allFields(resource)), ...own.map(({ name }) => `ext.${name}`)]
  if (
    names.includes(field) ||
    own.some(({ id }) => extensionKey(id) === field) ||
    field.startsWith('_')
  )
    return
  const suggestion = closest(field, names)
  throw invalid([
    {
      field: 'field',
      code: 'unknown_value',
      message: `no such field '${field}'`,
      ...(suggestion ? { suggestion } : {}),
    },
  ])
}
