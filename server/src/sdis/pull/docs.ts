/** Documentation of the endpoints of connections. */
import { nullable } from '../../kit/field.ts'
import type { JsonSchema } from '../../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH } from '../../kit/parameters.ts'
import type { Parameter } from '../../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../../kit/schemas.ts'
import type { RouteDocs } from '../../kit/schemas.ts'

export const text = (description: string, example: string, most = 500): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: most,
  description,
  examples: [example],
})

export const time = (description: string): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: ['2026-05-12T08:00:00.000Z'],
})

/** The id in the path. */
export const pathParameter = (prefix: string, what: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `Id of the ${what}.`,
  schema: { type: 'string', pattern: `^${prefix}_[0-9]+$`, examples: [`${prefix}_1042`] },
})

export const PAGE_QUERY: Record<string, JsonSchema> = {
  limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  cursor: { type: 'string' },
}

const closed = { type: 'object', additionalProperties: false } as const

const authSchema: JsonSchema = {
  description: 'How the source knows who asks; the secret itself is sent as secret.',
  examples: [{ kind: 'bearer' }],
  anyOf: [
    {
      ...closed,
      description: 'Anyone may ask, or the secret is a bearer token.',
      properties: {
        kind: {
          type: 'string',
          enum: ['none', 'bearer'],
          description: 'none, or bearer: the secret is a token.',
        },
      },
      required: ['kind'],
    },
    {
      ...closed,
      description: 'The secret is a key.',
      properties: {
        kind: { type: 'string', const: 'key', description: 'Always key.' },
        in: { type: 'string', enum: ['header', 'query'], description: 'Where the key stands.' },
        name: text('Name of the header or the parameter.', 'X-Api-Key', 100),
      },
      required: ['kind', 'in', 'name'],
    },
    {
      ...closed,
      description: 'The secret is a password.',
      properties: {
        kind: { type: 'string', const: 'basic', description: 'Always basic.' },
        username: text('User name.', 'portfolio', 200),
      },
      required: ['kind', 'username'],
    },
    {
      ...closed,
      description: 'OAuth 2 client credentials; the secret is that of the client.',
      properties: {
        kind: { type: 'string', const: 'oauth2', description: 'Always oauth2.' },
        token_url: text('Where tokens are given.', 'https://pms.example/oauth/token', 2_000),
        client_id: text('Id of the client.', 'portfolio-grid', 200),
        scope: text('Scopes to ask for.', 'leases.read', 500),
      },
      required: ['kind', 'token_url', 'client_id'],
    },
  ],
}

const restSchema: JsonSchema = {
  ...closed,
  description: 'A source that answers with JSON over HTTP.',
  properties: {
    base_url: text('Address that all paths begin with.', 'https://pms.example/api/v2', 2_000),
    headers: {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 1_000 },
      propertyNames: { pattern: '^[A-Za-z0-9-]{1,100}$' },
      maxProperties: 20,
      description: 'Sent with every request; nothing secret.',
      examples: [{ 'X-Client': 'portfolio-grid' }],
    },
    auth: authSchema,
  },
  required: ['base_url'],
}

const postgresSchema: JsonSchema = {
  ...closed,
  description: 'A PostgreSQL database, read with a role that only reads.',
  properties: {
    host: text('Host name or address.', 'db.pms.example', 255),
    port: {
      type: 'integer',
      minimum: 1,
      maximum: 65_535,
      default: 5432,
      description: 'Port.',
      examples: [5432],
    },
    database: text('Name of the database.', 'pms', 63),
    user: text(
      'Role; let it read only what is needed. The secret is its password.',
      'portfolio_reader',
      63,
    ),
    tls: {
      type: 'string',
      enum: ['verify', 'off'],
      default: 'verify',
      description:
        'verify: encrypted, the certificate checked. off: not encrypted, for trusted networks.',
      examples: ['verify'],
    },
  },
  required: ['host', 'database', 'user'],
}

const writable: Record<string, JsonSchema> = {
  name: text('Name by which adapters may refer to it.', 'pms', 100),
  rest: restSchema,
  postgres: postgresSchema,
  secret: nullable({
    type: 'string',
    minLength: 1,
    maxLength: 4_096,
    writeOnly: true,
    description:
      'Key, token, password or client secret; kept sealed and never shown. null removes it.',
  }),
}

const connection: JsonSchema = {
  title: 'Connection',
  type: 'object',
  description: 'Where a source is and how it is spoken to.',
  properties: {
    id: text('Id of the connection.', 'cnx_1042'),
    object: { type: 'string', const: 'connection', description: 'Always connection.' },
    organization_id: text('Organization it belongs to.', 'org_1'),
    name: writable['name'] as JsonSchema,
    kind: { type: 'string', enum: ['rest', 'postgres'], description: 'What the source is.' },
    rest: nullable({
      ...restSchema,
      description: 'How a REST source is spoken to; null for others.',
    }),
    postgres: nullable({ ...postgresSchema, description: 'Where a database is; null for others.' }),
    has_secret: { type: 'boolean', description: 'Whether a secret is kept.', examples: [true] },
    version: { type: 'integer', description: 'Grows with every change.', examples: [1] },
    created_at: time('When it was made.'),
    updated_at: time('When it was last changed.'),
  },
  required: ['id', 'object', 'name', 'kind', 'has_secret', 'version'],
}

type Schema = Omit<RouteDocs['schema'], 'tags'>

function routeDocs(scope: 'read:jobs' | 'write:jobs', schema: Schema): RouteDocs {
  return { config: { scope }, schema: { ...schema, tags: ['sdis'] } }
}

const connectionId = pathParameter('cnx', 'connection')

export const createConnection = routeDocs('write:jobs', {
  operationId: 'createConnection',
  summary: 'Create a connection',
  description:
    'Says where a source is: a REST service or a PostgreSQL database. Adapters whose source is rest or postgres name it. The secret is kept sealed and never shown again.',
  body: {
    title: 'ConnectionCreate',
    ...closed,
    description: 'Either rest or postgres.',
    properties: writable,
    required: ['name'],
  },
  response: { 201: connection },
  parameters: [IDEMPOTENCY],
  problems: [400, 409, 413, 415, 422],
})

export const listConnections: RouteDocs & { schema: { querystring: JsonSchema } } = {
  config: { scope: 'read:jobs' },
  schema: {
    operationId: 'listConnections',
    summary: 'List connections',
    description: 'Connections of your organization, newest first.',
    tags: ['sdis'],
    querystring: { type: 'object', additionalProperties: false, properties: PAGE_QUERY },
    response: { 200: listSchema(connection, 'ConnectionList') },
    parameters: [...PAGE_PARAMETERS],
    problems: [422],
  },
}

export const getConnection = routeDocs('read:jobs', {
  operationId: 'getConnection',
  summary: 'Get a connection',
  description: 'All but its secret.',
  response: { 200: connection },
  parameters: [connectionId],
  problems: [404, 422],
})

export const patchConnection = routeDocs('write:jobs', {
  operationId: 'updateConnection',
  summary: 'Change a connection',
  description:
    'Changes what the body names; rest or postgres is replaced as a whole. When the source moves to another address the secret must be sent again.',
  body: {
    title: 'ConnectionUpdate',
    ...closed,
    description: 'What is to change.',
    properties: writable,
  },
  response: { 200: connection },
  parameters: [connectionId, IF_MATCH],
  problems: [400, 404, 412, 413, 415, 422],
})

export const deleteConnection = routeDocs('write:jobs', {
  operationId: 'deleteConnection',
  summary: 'Delete a connection',
  description: 'Forgets the connection and its secret. Jobs that need it fail from then on.',
  response: { 204: { type: 'null', description: 'It is gone.' } },
  parameters: [connectionId],
  problems: [404, 422],
})

export const testConnection = routeDocs('write:jobs', {
  operationId: 'testConnection',
  summary: 'Try a connection',
  description:
    'Asks the source once and shows the first records, or what went wrong. Nothing is kept. A source that does not answer is no error of this request.',
  body: {
    title: 'ConnectionTestRequest',
    ...closed,
    description: 'What to ask for.',
    properties: {
      path: text('Path of a REST source.', '/leases', 2_000),
      records: text('Where the answer holds the records.', 'data.items', 200),
      table: text('Table of a database; without it only the login is tried.', 'public.leases', 200),
    },
  },
  response: {
    200: {
      title: 'ConnectionTest',
      type: 'object',
      description: 'What happened.',
      properties: {
        object: {
          type: 'string',
          const: 'connection_test',
          description: 'Always connection_test.',
        },
        ok: { type: 'boolean', description: 'Whether records could be read.', examples: [true] },
        latency_ms: {
          type: 'integer',
          description: 'How long it took, in milliseconds.',
          examples: [183],
        },
        records: {
          type: 'array',
          items: {},
          description: 'The first records, five at most.',
          examples: [[{ id: 1, name: 'Unit 4' }]],
        },
        error: {
          type: ['object', 'null'],
          additionalProperties: true,
          description: 'What went wrong: code, message and details.',
          examples: [
            {
              code: 'source_refused',
              message: 'The source answers 401.',
              details: { status: 401 },
            },
          ],
        },
      },
      required: ['object', 'ok', 'latency_ms', 'records', 'error'],
    },
  },
  parameters: [connectionId],
  problems: [400, 404, 413, 415, 422],
})
