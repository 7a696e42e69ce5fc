/** Documentation of the webhook endpoints, and what the documentation of deliveries is made of. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { ERROR_CLASSES } from './attempt.ts'
import { choiceProperties, createBody, patchBody } from './fields.ts'
import { STATES } from './types.ts'

export const time = (description: string, example = '2026-05-12T08:00:00.000Z'): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: [example],
})

export const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

export const count = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

export const constant = (value: string): JsonSchema => ({
  type: 'string',
  const: value,
  description: `Always ${value}.`,
})

const statsSchema: JsonSchema = {
  title: 'WebhookStats',
  type: ['object', 'null'],
  description: 'How deliveries fare; null in the answer that creates the webhook.',
  properties: {
    last_success_at: nullable(time('When a delivery last succeeded.')),
    last_failure_at: nullable(time('When an attempt last failed.')),
    consecutive_failures: count('Attempts that failed since the last success.', 0),
    failing_since: nullable(time('First failure since the last success.')),
    circuit: {
      type: 'string',
      enum: ['closed', 'open', 'half_open'],
      description:
        'open: seven of ten attempts failed, so nothing is sent for a while; half_open: the next attempt decides.',
    },
    waiting: count('Deliveries that are due or on their way.', 3),
    held: count('Deliveries that wait until the webhook is enabled.', 0),
  },
}

const secretSchema: JsonSchema = {
  type: 'object',
  description: 'A secret that signs, told by its last characters.',
  properties: {
    hint: text('Its last characters.', 'whsec_...q83v'),
    created_at: time('When it was made.'),
    expires_at: nullable(time('When it stops to sign; null for the newest.')),
  },
}

export const webhookSchema: JsonSchema = {
  title: 'Webhook',
  type: 'object',
  description: 'An address that is told of events.',
  properties: {
    id: text('Id of the webhook.', 'wh_1042'),
    object: constant('webhook'),
    organization_id: text('Organization whose events it is told of.', 'org_1'),
    ...choiceProperties,
    state: {
      type: 'string',
      enum: [...STATES],
      description: 'paused by its owner or suspended by the service, it takes nothing.',
    },
    reason: {
      type: ['string', 'null'],
      enum: ['gone', 'failing', null],
      description:
        'Why it is suspended. gone: its receiver answered 410; failing: no success for five days.',
    },
    secret: text(
      'The secret that signs: whole in the answer that makes it, later its last characters.',
      'whsec_...q83v',
    ),
    secrets: {
      type: 'array',
      items: secretSchema,
      description: 'Secrets in use, newest first; each signs every delivery.',
    },
    version: count('Counts the changes.', 1),
    created_at: time('When it was created.'),
    updated_at: time('When it was last changed.'),
    stats: statsSchema,
  },
  required: ['id', 'object', 'url', 'events', 'state', 'secret', 'version', 'created_at'],
}

export const webhookId: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the webhook.',
  schema: { type: 'string', pattern: '^wh_[0-9]+$', examples: ['wh_1042'] },
}

export const pageQuery = {
  limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  cursor: { type: 'string' },
}

interface More {
  parameters?: Parameter[]
  problems?: number[]
  body?: JsonSchema
  querystring?: JsonSchema
}

/** The documentation of one endpoint. */
export function route(
  scope: RouteDocs['config']['scope'],
  operationId: string,
  summary: string,
  description: string,
  response: Record<number, JsonSchema>,
  more: More = {},
): RouteDocs {
  const { parameters = [], problems = [], body, querystring } = more
  return {
    config: { scope },
    schema: {
      operationId,
      summary,
      description,
      tags: ['webhooks'],
      response,
      parameters,
      problems,
      ...(body ? { body } : {}),
      ...(querystring ? { querystring } : {}),
    },
  }
}

export const BODY_PROBLEMS = [400, 409, 413, 415, 422]

export const createWebhook = route(
  'write:webhooks',
  'createWebhook',
  'Create a webhook',
  'Deliveries begin with the next event. The answer holds the secret that signs them, this once.',
  { 201: webhookSchema },
  { parameters: [IDEMPOTENCY], problems: BODY_PROBLEMS, body: createBody },
)

export const listWebhooks = route(
  'read:webhooks',
  'listWebhooks',
  'List webhooks',
  'Webhooks of the organization, newest first.',
  { 200: listSchema(webhookSchema, 'WebhookList') },
  {
    parameters: [
      ...PAGE_PARAMETERS,
      {
        name: 'state',
        in: 'query',
        description: 'Only webhooks in this state.',
        schema: { type: 'string', enum: [...STATES] },
      },
    ],
    problems: [422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: { ...pageQuery, state: { type: 'string', enum: [...STATES] } },
    },
  },
)

export const getWebhook = route(
  'read:webhooks',
  'getWebhook',
  'Get a webhook',
  'A webhook and how deliveries to it fare.',
  { 200: webhookSchema },
  { parameters: [webhookId], problems: [404, 422] },
)

export const patchWebhook = route(
  'write:webhooks',
  'updateWebhook',
  'Change a webhook',
  'A merge patch (RFC 7396): only the fields sent change, null clears, lists are replaced whole.',
  { 200: webhookSchema },
  { parameters: [webhookId, IF_MATCH], problems: [400, 404, 412, 413, 415, 422], body: patchBody },
)

export const deleteWebhook = route(
  'write:webhooks',
  'deleteWebhook',
  'Delete a webhook',
  'What waits for it is cancelled.',
  { 204: { type: 'null', description: 'Deleted.' } },
  { parameters: [webhookId, IF_MATCH], problems: [404, 412, 422] },
)

export const rotateSecret = route(
  'write:webhooks',
  'rotateWebhookSecret',
  'Give a webhook a new secret',
  'The answer holds the new secret, this once. Until the grace ends, each delivery is signed with the old one as well.',
  { 200: webhookSchema },
  {
    parameters: [webhookId, IDEMPOTENCY],
    problems: [...BODY_PROBLEMS, 404],
    body: {
      title: 'SecretRotation',
      type: 'object',
      additionalProperties: false,
      description: 'How long the old secret stays in use.',
      properties: {
        grace_seconds: {
          type: 'integer',
          minimum: 0,
          maximum: 604_800,
          default: 86_400,
          description:
            'Seconds for which the old secret signs too; with 0, no old one does any more.',
          examples: [86_400],
        },
      },
    },
  },
)

export const pauseWebhook = route(
  'write:webhooks',
  'pauseWebhook',
  'Pause a webhook',
  'Nothing is sent until it is enabled; deliveries are held for 30 days.',
  { 200: webhookSchema },
  { parameters: [webhookId], problems: [404, 422] },
)

export const enableWebhook = route(
  'write:webhooks',
  'enableWebhook',
  'Enable a webhook',
  'Ends a pause or a suspension. What was held is delivered, dropped, or delivered from a time on.',
  { 200: webhookSchema },
  {
    parameters: [webhookId],
    problems: [400, 404, 413, 415, 422],
    body: {
      title: 'WebhookEnabling',
      type: 'object',
      additionalProperties: false,
      description: 'What becomes of held deliveries.',
      properties: {
        held: {
          type: 'string',
          enum: ['replay', 'drop'],
          default: 'replay',
          description: 'replay delivers what was held, drop cancels it.',
        },
        since: time('With replay: only what happened from this time on; the rest is dropped.'),
      },
    },
  },
)

export const answerSchema: JsonSchema = {
  title: 'WebhookAnswer',
  type: ['object', 'null'],
  description:
    'What the receiver answered, kept for 7 days; null for an empty success and when no answer came.',
  properties: {
    headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Some of its headers.',
      examples: [{ 'content-type': 'text/plain' }],
    },
    body: text('The first 4 KiB of the body.', 'ok'),
    body_base64: {
      type: 'boolean',
      description: 'The body is no text and given in base64.',
      examples: [false],
    },
  },
}

export const attemptProperties: Record<string, JsonSchema> = {
  status: {
    type: ['integer', 'null'],
    description: 'HTTP status; null when no answer came.',
    examples: [200],
  },
  error: {
    type: ['string', 'null'],
    enum: [...ERROR_CLASSES, null],
    description:
      'What went wrong; http: the status was no success. connect is also told for addresses that must not be reached.',
  },
  opening: {
    type: ['object', 'null'],
    description:
      'How long it took to open the connection; null when one was open already, or nothing could be sent.',
    properties: {
      dns_ms: {
        type: ['number', 'null'],
        description: 'Milliseconds until the host name was resolved; null for an address.',
        examples: [11.2],
      },
      connect_ms: {
        type: 'number',
        description: 'Milliseconds from there to the connection.',
        examples: [9.4],
      },
      tls_ms: {
        type: ['number', 'null'],
        description: 'Milliseconds of the TLS handshake; null without TLS.',
        examples: [21.3],
      },
    },
    required: ['dns_ms', 'connect_ms', 'tls_ms'],
  },
  first_byte_ms: {
    type: ['number', 'null'],
    description: 'Milliseconds until the answer began, opening the connection included.',
    examples: [42.1],
  },
  total_ms: { type: 'number', description: 'Milliseconds in all.', examples: [43.7] },
  answer: answerSchema,
}

export const requestSchema: JsonSchema = {
  type: 'object',
  description: 'What was sent, without the signature.',
  properties: {
    headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Headers.',
      examples: [{ 'x-grid-attempt': '1' }],
    },
    body: nullable(text('The body; null when its event is no longer kept.', '{"id":"evt_120000"}')),
  },
}
