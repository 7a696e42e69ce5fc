/** Documentation of the endpoints of keys. */
import { nullable } from '../kit/field.ts'
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { KEY_STATES, OVERLAP_H, OVERLAP_MAX_H } from './model.ts'

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

const time = (description: string): JsonSchema => ({
  type: ['string', 'null'],
  format: 'date-time',
  description,
  examples: ['2027-01-31T00:00:00.000Z'],
})

const scopes = (description: string): JsonSchema => ({
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', enum: ALL_SCOPES },
  description,
  examples: [['read:leases', 'write:leases']],
})

const WRITABLE = {
  name: {
    ...text('What uses the key; stands in the request log.', 'Accounting sync'),
    minLength: 1,
    maxLength: 200,
  },
  scopes: { ...scopes('What the key may do; no more than the key that makes it.'), minItems: 1 },
  expires_at: time('When the key ends; null is never.'),
  allowed_ips: {
    type: ['array', 'null'],
    minItems: 1,
    maxItems: 100,
    items: { type: 'string' },
    description:
      'Addresses and networks, of IPv4 or IPv6, that the key may be used from; null is anywhere.',
    examples: [['203.0.113.0/24', '2001:db8::/32']],
  },
  property_ids: {
    type: ['array', 'null'],
    minItems: 1,
    maxItems: 1_000,
    uniqueItems: true,
    items: { type: 'string', pattern: '^prop_[0-9]+$' },
    description:
      'Properties that the key is restricted to, with all that belongs to them; null is all.',
    examples: [['prop_1042']],
  },
} satisfies Record<string, JsonSchema>

const keySchema: JsonSchema = {
  title: 'ApiKey',
  type: 'object',
  description: 'An API key. Its text is shown once, when it is made or rotated.',
  properties: {
    id: text('Id of the key.', 'key_7'),
    object: { type: 'string', const: 'api_key', description: 'Always api_key.' },
    organization_id: text('Organization the key belongs to.', 'org_1'),
    name: WRITABLE.name,
    hint: text('The end of its text, to tell it by.', '…x3Qa'),
    environment: {
      type: 'string',
      enum: ['production', 'sandbox'],
      description: 'That of its organization.',
    },
    status: {
      type: 'string',
      enum: [...KEY_STATES],
      description: 'expiring: ends within 7 days. rotating: the earlier text is still good.',
    },
    scopes: scopes('What the key may do.'),
    unused_scopes: scopes('Scopes of which no request of the last 30 days had need.'),
    allowed_ips: WRITABLE.allowed_ips,
    property_ids: WRITABLE.property_ids,
    expires_at: time('When the key ends; null is never.'),
    created_at: time('When it was made.'),
    created_by: nullable(text('The key it was made with, or system.', 'key_1')),
    updated_at: time('When it was last changed.'),
    rotated_at: time('When it last got a new text.'),
    overlap_ends_at: time('Until when the earlier text is good; null when there is none.'),
    last_used_at: time('When it was last used; up to 10 seconds late.'),
    last_used_ip: nullable(text('The address it was last used from.', '203.0.113.7')),
    revoked_at: time('When it was revoked.'),
  },
  required: ['id', 'object', 'name', 'hint', 'environment', 'status', 'scopes', 'created_at'],
}

const madeSchema: JsonSchema = {
  ...keySchema,
  title: 'ApiKeyWithText',
  description: 'An API key and its text, which is not kept and never shown again.',
  properties: {
    ...(keySchema['properties'] as object),
    key: nullable(
      text('The text to send in X-API-Key; null when the request is repeated.', 'grid_live_…'),
    ),
    key_shown: {
      type: 'boolean',
      description: 'False when the request is repeated: the text was in the first answer only.',
      examples: [true],
    },
  },
  required: [...(keySchema['required'] as string[]), 'key', 'key_shown'],
}

const scopeSchema: JsonSchema = {
  title: 'Scope',
  type: 'object',
  description: 'Something that a key may be allowed to do.',
  properties: {
    name: text('The scope.', 'read:leases'),
    description: text('What it allows.', 'See leases.'),
    plan: nullable(text('The only plan that includes it; null for all.', 'enterprise')),
    property_restricted: {
      type: 'boolean',
      description: 'Whether a key that is restricted to some properties can use it.',
      examples: [true],
    },
    granted: { type: 'boolean', description: 'Whether your key holds it.', examples: [true] },
    routes: {
      type: 'array',
      items: { type: 'string' },
      description: 'The endpoints that need it.',
      examples: [['GET /leases', 'GET /leases/{id}']],
    },
  },
  required: ['name', 'description', 'plan', 'property_restricted', 'granted', 'routes'],
}

const simulationSchema: JsonSchema = {
  title: 'Simulation',
  type: 'object',
  description: 'What a request would be answered, before its body is looked at.',
  properties: {
    object: { type: 'string', const: 'simulation', description: 'Always simulation.' },
    allowed: { type: 'boolean', description: 'Whether the key lets it in.', examples: [false] },
    status: { type: 'integer', description: 'HTTP status of the answer.', examples: [403] },
    code: nullable(text('Code of the problem; null when it is allowed.', 'insufficient_scope')),
    reason: text('Why.', 'This needs the scope write:leases.'),
    route: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'The endpoint that would answer: method, path, operation_id, scope.',
      examples: [
        { method: 'POST', path: '/leases', operation_id: 'createLease', scope: 'write:leases' },
      ],
    },
    required_scope: nullable(text('The scope the endpoint needs.', 'write:leases')),
    plan_required: nullable(text('The plan that is missing.', 'enterprise')),
  },
  required: ['object', 'allowed', 'status', 'code', 'reason', 'route', 'required_scope'],
}

const ID: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the key.',
  schema: { type: 'string', pattern: '^key_[0-9]+$', examples: ['key_7'] },
}

type Docs = RouteDocs & { schema: { querystring?: JsonSchema } }

function route(
  operationId: string,
  summary: string,
  description: string,
  response: RouteDocs['schema']['response'],
  rest: Partial<Docs['schema']> = {},
): Docs {
  return {
    config: { scope: 'admin:keys' },
    schema: {
      operationId,
      summary,
      description,
      tags: ['api-keys'],
      response,
      parameters: [],
      problems: [],
      ...rest,
    },
  }
}

export const listDocs = route(
  'listApiKeys',
  'List API keys',
  'Keys of the organization, oldest first, revoked ones too.',
  { 200: listSchema(keySchema, 'ApiKeyList') },
  {
    parameters: PAGE_PARAMETERS,
    problems: [422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
        cursor: { type: 'string' },
      },
    },
  },
)

export const getDocs = route(
  'getApiKey',
  'Get an API key',
  'What a key may do and when it was last used. Its text is not kept.',
  { 200: keySchema },
  { parameters: [ID], problems: [404, 422] },
)

export const createDocs = route(
  'createApiKey',
  'Create an API key',
  'The text of the key is in the answer and is not kept; a repeat of the request with the same Idempotency-Key gets the key without it. A key cannot grant what it does not hold; a key of a sandbox makes keys of the sandbox.',
  { 201: madeSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: [400, 409, 413, 415, 422],
    body: {
      title: 'ApiKeyCreate',
      description: 'What a new key is made of.',
      type: 'object',
      additionalProperties: false,
      properties: WRITABLE,
      required: ['name', 'scopes'],
    },
  },
)

export const patchDocs = route(
  'updateApiKey',
  'Change an API key',
  'A merge patch: only the fields sent change, null clears. Every process follows within a second. 409 when no key could administer keys any more.',
  { 200: keySchema },
  {
    parameters: [ID],
    problems: [400, 404, 409, 413, 415, 422],
    body: {
      title: 'ApiKeyPatch',
      description: 'The fields of a key to change.',
      type: 'object',
      additionalProperties: false,
      properties: WRITABLE,
    },
  },
)

export const deleteDocs = route(
  'revokeApiKey',
  'Revoke an API key',
  'The key is refused at once by the process that answers, and by every other within a second. It stays in the list. The last key that can administer keys cannot be revoked: 409.',
  { 204: { type: 'null', description: 'Revoked.' } },
  { parameters: [ID], problems: [404, 409, 422] },
)

export const rotateDocs = route(
  'rotateApiKey',
  'Rotate an API key',
  'Gives the key a new text, shown once; id, scopes and limits stay. The present text is good for overlap_hours more.',
  { 200: madeSchema },
  {
    parameters: [ID, IDEMPOTENCY],
    problems: [400, 404, 409, 413, 415, 422],
    body: {
      title: 'ApiKeyRotate',
      description: 'How long both texts are good.',
      type: ['object', 'null'],
      additionalProperties: false,
      properties: {
        overlap_hours: {
          type: 'integer',
          minimum: 0,
          maximum: OVERLAP_MAX_H,
          default: OVERLAP_H,
          description: `Hours for which the present text stays good; ${OVERLAP_H} when left out.`,
          examples: [24],
        },
      },
    },
  },
)

export const scopesDocs = route(
  'listScopes',
  'List scopes',
  'Every scope with what it allows, the plan that includes it and the endpoints that need it.',
  { 200: listSchema(scopeSchema, 'ScopeList') },
  { problems: [422] },
)

export const simulateDocs = route(
  'simulateApiKey',
  'Ask what a key may do',
  'Which endpoint would answer a request, with what status and why: scope, plan, address, end of the key, restriction to properties. Nothing is sent; the body of the request is not looked at.',
  { 200: simulationSchema },
  {
    problems: [400, 404, 413, 415, 422],
    body: {
      title: 'SimulationRequest',
      description: 'A key, or scopes that a key could have, and the request.',
      type: 'object',
      additionalProperties: false,
      properties: {
        key_id: { ...text('A key of the organization.', 'key_7'), pattern: '^key_[0-9]+$' },
        scopes: scopes('Scopes instead of a key.'),
        method: {
          type: 'string',
          enum: ['GET', 'POST', 'PATCH', 'DELETE'],
          description: 'Method of the request.',
          examples: ['POST'],
        },
        path: {
          ...text('Its path, with or without /api/v1.', '/leases'),
          maxLength: 500,
          pattern: '^/',
        },
        ip: {
          ...text('Address it comes from; not looked at when left out.', '203.0.113.7'),
          maxLength: 45,
        },
      },
      required: ['method', 'path'],
    },
  },
)
