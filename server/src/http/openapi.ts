/** Every route documents itself: the rule that none may be undocumented, and the OpenAPI document they add up to. */
import type { FastifyInstance, RouteOptions } from 'fastify'
import { ownSchema } from '../kit/extended.ts'
import { documentOf } from './openapi-document.ts'
import type { Documented, Hook, Tag } from './openapi-document.ts'
import { ownDocument } from './openapi-own.ts'

const METHODS = new Set(['GET', 'POST', 'PATCH', 'PUT', 'DELETE'])

/** A route that documents no query parameter refuses them all. */
const NO_QUERY = { type: 'object', additionalProperties: false, properties: {} }

/** @throws at start, naming the route that lacks scope, operationId, description or response schemas. */
export function refuseUndocumented(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const missing = [
      route.config?.scope ? null : 'scope',
      route.schema?.operationId ? null : 'operationId',
      route.schema?.summary ? null : 'summary',
      route.schema?.description ? null : 'description',
      route.schema?.response ? null : 'response schemas',
    ].filter(Boolean)
    if (missing.length > 0)
      throw new Error(`${String(route.method)} ${route.url} lacks ${missing.join(', ')}`)
    const { schema = {} } = route
    const takesQuery = schema.querystring ?? schema.parameters?.some((p) => p.in === 'query')
    if (!takesQuery && route.url.startsWith('/api/'))
      route.schema = { ...schema, querystring: NO_QUERY }
  })
}

/** Serves `GET /openapi.json` from the routes below /api registered after this call. */
export function openapi(app: FastifyInstance, tags: readonly Tag[], hooks: readonly Hook[]): void {
  const routes: Documented[] = []
  app.addHook('onRoute', (route: RouteOptions) => {
    for (const method of [route.method].flat()) {
      if (!METHODS.has(method) || !route.url.startsWith('/api/')) continue
      const { url, config, schema = {} } = route
      routes.push({ method, url, scope: config?.scope ?? '', schema })
    }
  })
  app.decorate('routes', routes)
  let rendered: string | null = null
  app.decorate(
    'openapi',
    () => (rendered ??= JSON.stringify(documentOf(routes, tags, hooks), null, 1)),
  )
  app.get<{ Querystring: { org?: string } }>(
    '/openapi.json',
    {
      config: {
        scope: 'public',
        scopeFor: ({ query }) => ((query as { org?: string }).org === 'me' ? 'read:facts' : null),
      },
      schema: {
        operationId: 'getOpenapi',
        summary: 'Get the OpenAPI document',
        description:
          'This interface as an OpenAPI 3.1 document; with org=me and a key, with the fields that the organization added.',
        tags: ['reference'],
        querystring: {
          type: 'object',
          properties: { org: { type: 'string', enum: ['me'] } },
        },
        response: { 200: { type: 'object', description: 'OpenAPI 3.1 document.' } },
      },
    },
    async (request, reply) => {
      reply.type('application/json; charset=utf-8')
      if (request.query.org !== 'me') return reply.send(app.openapi())
      const { registry } = await ownSchema(app.store, request.caller.org_id)
      return reply.send(ownDocument(app.openapi(), registry))
    },
  )
}
