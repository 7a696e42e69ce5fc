/** The OpenAPI 3.1 document, made from the routes themselves; and the rule that none may be undocumented. */
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { ERRORS } from '../kit/errors.ts'
import type { JsonSchema } from '../kit/field.ts'
import { SCOPES } from '../kit/scopes.ts'

interface Documented {
  method: string
  url: string
  scope: string
  schema: FastifySchema
}

/** Release of the interface, see docs/reference/changelog.md. */
export const API_VERSION = '1.3.0'

const METHODS = new Set(['GET', 'POST', 'PATCH', 'PUT', 'DELETE'])

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
  })
}

/** Serves `GET /openapi.json` from the routes registered after this call. */
export function openapi(app: FastifyInstance): void {
  const routes: Documented[] = []
  app.addHook('onRoute', (route: RouteOptions) => {
    for (const method of [route.method].flat()) {
      if (!METHODS.has(method) || !route.url.startsWith('/api/')) continue
      routes.push({
        method,
        url: route.url,
        scope: route.config?.scope as string,
        schema: route.schema as FastifySchema,
      })
    }
  })
  let rendered: string | null = null
  app.decorate('openapi', () => (rendered ??= JSON.stringify(document(routes), null, 1)))
  app.get(
    '/openapi.json',
    {
      config: { scope: 'public' },
      schema: {
        operationId: 'getOpenapi',
        summary: 'Get the OpenAPI document',
        description: 'This interface as an OpenAPI 3.1 document.',
        tags: ['reference'],
        response: { 200: { type: 'object', description: 'OpenAPI 3.1 document.' } },
      },
    },
    (_request, reply) => reply.type('application/json; charset=utf-8').send(app.openapi()),
  )
}

/** The whole document. */
function document(routes: readonly Documented[]): JsonSchema {
  const schemas: Record<string, JsonSchema> = { Problem: problemSchema() }
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const route of [...routes].sort((a, b) => (a.url < b.url ? -1 : a.url > b.url ? 1 : 0))) {
    const path = route.url.replace('/api/v1', '').replaceAll(/:([a-z_]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemas) }
  }
  const tags = [...new Set(routes.flatMap(({ schema }) => schema.tags ?? []))]
    .sort()
    .map((name) => ({ name }))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Portfolio Grid',
      version: API_VERSION,
      description:
        'Leases, buildings, tenants, work orders and documents of a real-estate portfolio; every value says where it came from. Send your key in X-API-Key.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1', description: 'This host' }],
    security: [{ apiKey: [] }],
    tags,
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: problemResponses(),
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'grid_live_... or grid_sbx_...',
        },
      },
    },
  }
}

function operation(
  { scope, schema, method }: Documented,
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  const statuses = [...new Set([...(schema.problems ?? []), 401, 403, 429, 500])].sort(
    (a, b) => a - b,
  )
  const success = Object.entries(schema.response as Record<string, JsonSchema>).map(
    ([status, body]) => [
      status,
      {
        description: String(body['description'] ?? 'Success.'),
        headers: {
          'X-Request-Id': { description: 'Id of the request.', schema: { type: 'string' } },
        },
        ...(body['type'] === 'null' ? {} : { content: content(body, schemas) }),
      },
    ],
  )
  const body = (schema.body ?? schema.requestBody) as JsonSchema | undefined
  const scopeText = SCOPES[scope as keyof typeof SCOPES]
  return {
    operationId: schema.operationId,
    summary: schema.summary,
    description: `${schema.description}\n\nScope: \`${scope}\`${scopeText ? ` (${scopeText})` : ''}`,
    tags: schema.tags ?? [],
    'x-grid-scope': scope,
    ...(scope === 'public' ? { security: [] } : {}),
    ...(schema.parameters?.length ? { parameters: schema.parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: true,
            content: bodies(body, schemas, method === 'PATCH'),
          },
        }
      : {}),
    responses: Object.fromEntries([
      ...success,
      ...statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]),
    ]) as JsonSchema,
  }
}

/** A request body in one media type or, given as `content`, in several. */
function bodies(body: JsonSchema, schemas: Record<string, JsonSchema>, patch: boolean): JsonSchema {
  const several = body['content'] as Record<string, { schema: JsonSchema }> | undefined
  if (!several) return content(body, schemas, patch)
  return Object.fromEntries(
    Object.entries(several).map(([type, { schema }]) => [type, { schema: hoist(schema, schemas) }]),
  )
}

function content(
  schema: JsonSchema,
  schemas: Record<string, JsonSchema>,
  patch = false,
): JsonSchema {
  const type = (schema['x-content-type'] as string | undefined) ?? 'application/json'
  const named = { schema: hoist(schema, schemas) }
  return patch ? { [type]: named, 'application/merge-patch+json': named } : { [type]: named }
}

/** Schemas with a title become components, wherever they stand. */
function hoist(schema: unknown, schemas: Record<string, JsonSchema>): JsonSchema {
  if (Array.isArray(schema))
    return schema.map((item) => hoist(item, schemas)) as unknown as JsonSchema
  if (typeof schema !== 'object' || schema === null) return schema as unknown as JsonSchema
  const source = schema as JsonSchema
  const plain = Object.fromEntries(
    Object.entries(source)
      .filter(([key]) => key !== 'x-content-type' && key !== 'x-read-only')
      .map(([key, value]) => [
        key,
        key === 'examples' || key === 'enum' ? value : hoist(value, schemas),
      ]),
  )
  const title = source['title']
  if (typeof title !== 'string') return plain
  schemas[title] = plain
  return { $ref: `#/components/schemas/${title}` }
}

function problemSchema(): JsonSchema {
  const text = (description: string, example: string): JsonSchema => ({
    type: 'string',
    description,
    examples: [example],
  })
  return {
    type: 'object',
    description: 'RFC 9457 problem: what went wrong, in words and in stable codes.',
    properties: {
      type: text(
        'Address of the description of this kind of problem.',
        '/errors/validation_failed',
      ),
      title: text('The kind of problem in words.', 'Validation failed'),
      status: { type: 'integer', description: 'HTTP status.', examples: [422] },
      code: {
        type: 'string',
        description: 'Stable code of the kind of problem.',
        enum: Object.keys(ERRORS),
      },
      detail: text('What was wrong with this request.', '2 fields are invalid.'),
      instance: text('Path of the request.', '/api/v1/leases'),
      request_id: text(
        'Quote it when asking for help; it stands in the request log.',
        'req_5f1c000001',
      ),
      errors: {
        type: 'array',
        description: 'Every failing field.',
        items: {
          type: 'object',
          properties: {
            field: text('The field as a person writes it.', 'rent_schedule[2].start_date'),
            pointer: text('The same as a JSON pointer.', '/rent_schedule/2/start_date'),
            code: text('Stable code.', 'invalid_enum'),
            message: text('What would be right.', "unknown value 'tripple net'"),
            allowed: {
              type: 'array',
              items: { type: 'string' },
              description: 'Values that are allowed.',
            },
            suggestion: text('What was probably meant.', 'nnn'),
          },
          required: ['field', 'pointer', 'code', 'message'],
        },
      },
    },
    required: ['type', 'title', 'status', 'code', 'detail', 'request_id'],
    additionalProperties: true,
  }
}

function problemResponses(): JsonSchema {
  const statuses = [...new Set(Object.values(ERRORS).map(([status]) => status))]
  return Object.fromEntries(
    statuses.map((status) => {
      const codes = Object.entries(ERRORS).filter(([, [s]]) => s === status)
      const description = codes.map(([code, [, title]]) => `${title} (\`${code}\`).`).join(' ')
      const schema = { $ref: '#/components/schemas/Problem' }
      return [
        `Problem${status}`,
        { description, content: { 'application/problem+json': { schema } } },
      ]
    }),
  )
}
