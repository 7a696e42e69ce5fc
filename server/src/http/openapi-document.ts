/** The OpenAPI 3.1 document of a list of routes, as plain data. */
import type { FastifySchema } from 'fastify'
import type { JsonSchema } from '../kit/field.ts'
import type { Parameter } from '../kit/parameters.ts'
import { SCOPES } from '../kit/scopes.ts'
import { FORMAT, TABLE_TYPES } from '../kit/tables/formats.ts'
import { PROBLEM, problemResponses } from './openapi-problems.ts'

/** A route as it documents itself. */
export interface Documented {
  method: string
  url: string
  scope: string
  schema: FastifySchema
}

/** A group of operations; the list of them is also their order. */
export interface Tag {
  name: string
  description: string
}

/** A request that the service sends, to whoever has asked for it. */
export interface Hook {
  name: string
  summary: string
  description: string
  body: JsonSchema
}

/** Release of the interface, see docs/reference/changelog.md. */
export const API_VERSION = '1.3.0'

/** The group whose lists repeat those of all others. */
const V2 = 'grid/v2'

const VERBS = ['get', 'post', 'put', 'patch', 'delete']

/** Named schemas, filled while routes are read. */
type Schemas = Record<string, JsonSchema>

/** The whole document. The order of routes and schemas in it does not depend on when they were registered. */
export function documentOf(
  routes: readonly Documented[],
  tags: readonly Tag[],
  hooks: readonly Hook[],
): JsonSchema {
  const schemas: Schemas = { Problem: PROBLEM }
  const shared = sharedParameters(routes)
  const paths = new Map<string, Map<string, JsonSchema>>()
  for (const route of [...routes].sort(byPlace)) {
    const path = route.url.replace('/api/v1', '').replaceAll(/:([a-z_]+)/g, '{$1}')
    const operations = paths.get(path) ?? new Map<string, JsonSchema>()
    paths.set(path, operations.set(route.method.toLowerCase(), operation(route, schemas, shared)))
  }
  const webhooks = hooks.map((hook) => [hook.name, { post: hookOperation(hook, schemas) }])
  const used = new Set(routes.flatMap(({ schema }) => schema.tags ?? []))
  const known = new Set(tags.map(({ name }) => name))
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
    security: [{ apiKey: [] }, { bearer: [] }],
    tags: [
      ...tags.filter(({ name }) => used.has(name)),
      ...[...used].filter((name) => !known.has(name)).map((name) => ({ name })),
    ],
    paths: Object.fromEntries(
      [...paths].map(([path, operations]) => [path, Object.fromEntries(operations)]),
    ),
    webhooks: Object.fromEntries(webhooks) as JsonSchema,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      parameters: Object.fromEntries(
        [...shared].map(([text, name]) => [name, JSON.parse(text) as JsonSchema]),
      ),
      headers: HEADERS,
      responses: problemResponses(),
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'grid_live_... or grid_sbx_...',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token of an app, or any key.',
        },
      },
    },
  }
}

function byPlace(a: Documented, b: Documented): number {
  if (a.url !== b.url) return a.url < b.url ? -1 : 1
  return VERBS.indexOf(a.method.toLowerCase()) - VERBS.indexOf(b.method.toLowerCase())
}

/** Parameters that several operations have, as text, and the name each gets as a component. */
type Shared = ReadonlyMap<string, string>

/**
 * The same filters stand in every list of a type; named once, they take half of the document away. What several groups
 * have keeps its name, what one group has is named after it.
 */
function sharedParameters(routes: readonly Documented[]): Shared {
  const all = [...routes].sort(byPlace).flatMap(({ schema: { parameters = [], tags = [] } }) =>
    parameters.map((parameter) => ({
      name: parameter.name,
      text: JSON.stringify(parameter),
      group: tags[0] ?? '',
    })),
  )
  const names = new Map<string, string>()
  const taken = new Set<string>()
  for (const [text, uses] of Map.groupBy(all, (use) => use.text)) {
    const [{ name, group }] = uses as [(typeof all)[number]]
    if (uses.length === 1) continue
    const [home = group, ...others] = new Set(uses.map((use) => use.group).filter((g) => g !== V2))
    const own = `${home.replace('/', '-')}.${name}`
    const chosen = others.length > 0 && !taken.has(name) ? name : own
    if (taken.has(chosen)) continue
    taken.add(chosen)
    names.set(text, chosen)
  }
  return names
}

function operation(
  { scope, schema, method }: Documented,
  schemas: Schemas,
  shared: Shared,
): JsonSchema {
  const { parameters = [], problems = [], tags = [] } = schema
  const statuses = [...new Set([...problems, 401, 403, 429, 500])].sort((a, b) => a - b)
  const answers = Object.entries(schema.response as Record<string, JsonSchema>)
  const body = (schema.body ?? schema.requestBody) as JsonSchema | undefined
  const scopeText = SCOPES[scope as keyof typeof SCOPES]
  const has = (name: string): boolean => parameters.some((parameter) => parameter.name === name)
  return {
    operationId: schema.operationId,
    summary: schema.summary,
    description: `${schema.description}\n\nScope: \`${scope}\`${scopeText ? ` (${scopeText})` : ''}`,
    tags,
    'x-grid-scope': scope,
    ...(has('cursor') ? { 'x-grid-pagination': 'cursor' } : {}),
    ...(has('Idempotency-Key') ? { 'x-grid-idempotent': true } : {}),
    ...(scope === 'public' ? { security: [] } : {}),
    ...(parameters.length > 0
      ? { parameters: parameters.map((parameter) => sharedOr(parameter, shared)) }
      : {}),
    ...(body
      ? { requestBody: { required: true, content: bodies(body, schemas, method === 'PATCH') } }
      : {}),
    // What a route says of a status itself stands before the problem others answer with.
    responses: Object.fromEntries([
      ...statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]),
      ...answers.map(([status, answer]) => [
        status,
        success(status, answer, schemas, status === '200' && parameters.includes(FORMAT)),
      ]),
    ]) as JsonSchema,
  }
}

function hookOperation({ name, summary, description, body }: Hook, schemas: Schemas): JsonSchema {
  return {
    operationId: `on${name.replaceAll(/(^|[._])([a-z])/g, (_, __, letter: string) => letter.toUpperCase())}`,
    summary,
    description,
    tags: ['events'],
    security: [],
    requestBody: { required: true, content: content(body, schemas) },
    responses: { '2XX': { description: 'Taken. Anything else is tried again.' } },
  }
}

function sharedOr(parameter: Parameter, shared: Shared): Parameter | { $ref: string } {
  const name = shared.get(JSON.stringify(parameter))
  return name ? { $ref: `#/components/parameters/${name}` } : parameter
}

const header = (description: string, example: string): JsonSchema => ({
  description,
  schema: { type: 'string', examples: [example] },
})

/** Headers of answers. */
const HEADERS = {
  'X-Request-Id': header('Id of the request.', 'req_5f1c000001'),
  RateLimit: header('Requests left and seconds until more are.', '"enterprise";r=29999;t=60'),
  ETag: header('Version of the object; send it in If-Match or If-None-Match.', '"v3"'),
  Location: header('Where the new object is.', '/api/v1/leases/le_1042'),
  Link: header('The next page, when there is one.', '</api/v1/leases?cursor=WyJ...>; rel="next"'),
}

/** A list as a file. */
const TABLES: JsonSchema = Object.fromEntries(
  Object.values(TABLE_TYPES).map((type) => [type, { schema: { type: 'string' } }]),
)

function success(
  status: string,
  answer: JsonSchema,
  schemas: Schemas,
  tables: boolean,
): JsonSchema {
  const { version, next_cursor } = (answer['properties'] ?? {}) as Schemas
  const names = [
    'X-Request-Id',
    'RateLimit',
    ...(version ? ['ETag'] : []),
    ...(next_cursor ? ['Link'] : []),
    ...(status === '201' || status === '202' ? ['Location'] : []),
  ]
  const refs = names.map((name) => [name, { $ref: `#/components/headers/${name}` }])
  return {
    description: answer['description'] ?? 'Success.',
    headers: Object.fromEntries(refs) as JsonSchema,
    ...(answer['type'] === 'null'
      ? {}
      : { content: { ...content(answer, schemas), ...(tables ? TABLES : {}) } }),
  }
}

/** A request body in one media type or, given as `content`, in several. */
function bodies(body: JsonSchema, schemas: Schemas, patch: boolean): JsonSchema {
  const several = body['content'] as Record<string, { schema: JsonSchema }> | undefined
  if (!several) return content(body, schemas, patch)
  return Object.fromEntries(
    Object.entries(several).map(([type, { schema }]) => [type, { schema: hoist(schema, schemas) }]),
  )
}

function content(schema: JsonSchema, schemas: Schemas, patch = false): JsonSchema {
  const types = [(schema['x-content-type'] as string | string[] | undefined) ?? 'application/json']
  const named = { schema: hoist(schema, schemas) }
  const all = [...types.flat(), ...(patch ? ['application/merge-patch+json'] : [])]
  return Object.fromEntries(all.map((type) => [type, named]))
}

/** Said to the framework, not to readers. */
const INTERNAL = new Set(['x-content-type', 'x-decimals', 'x-read-only'])

/** Values that are no schemas, whatever they look like. */
const VALUES = new Set(['examples', 'enum', 'const', 'default'])

/**
 * Schemas with a title become components, wherever they stand; so do the `$defs` of one, under its title.
 * @param owner title of the schema around, to which `#/$defs/...` refers.
 */
function hoist<T>(schema: T, schemas: Schemas, owner = ''): T {
  if (Array.isArray(schema)) return schema.map((item) => hoist(item, schemas, owner)) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const source = schema as JsonSchema
  const title = typeof source['title'] === 'string' ? source['title'] : owner
  for (const [name, part] of Object.entries((source['$defs'] ?? {}) as Schemas))
    schemas[definition(title, name)] = hoist(part, schemas, title)
  const plain = Object.fromEntries(
    Object.entries(source)
      .filter(([key]) => key !== '$defs' && !INTERNAL.has(key))
      .map(([key, value]) => [key, VALUES.has(key) ? value : hoist(value, schemas, title)]),
  )
  const inner = /^#\/\$defs\/(\w+)$/.exec(String(source['$ref']))?.[1]
  if (inner) return { ...plain, $ref: reference(definition(owner, inner)) } as T
  if (typeof source['title'] !== 'string') return plain as T
  schemas[title] = plain
  return { $ref: reference(title) } as T
}

function definition(owner: string, name: string): string {
  return owner + name.charAt(0).toUpperCase() + name.slice(1)
}

function reference(name: string): string {
  return `#/components/schemas/${name}`
}
