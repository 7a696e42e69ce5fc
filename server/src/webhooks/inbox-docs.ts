/** Documentation of the endpoints to try webhooks with: tests and inboxes. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import type { Parameter } from '../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import {
  attemptProperties,
  BODY_PROBLEMS,
  constant,
  count,
  pageQuery,
  requestSchema,
  route,
  text,
  time,
} from './docs.ts'
import { choiceProperties } from './fields.ts'
import { SECRET_PATTERN } from './signature.ts'

export const testWebhook = route(
  'write:webhooks',
  'testWebhook',
  'Send a test delivery',
  'Sends an event of the type webhook.test to a webhook, or to a URL that is not saved, and tells what came back. A failed test is not repeated.',
  {
    200: {
      title: 'WebhookTest',
      type: 'object',
      description: 'What came of the test.',
      properties: {
        object: constant('webhook_test'),
        webhook_id: nullable(text('The webhook; null for a URL that is not saved.', 'wh_1042')),
        delivery_id: nullable(text('Its delivery; null for a URL that is not saved.', 'del_1042')),
        event_id: text('Id of the event that was sent.', 'evt_test_1042'),
        url: text('Where it was sent.', 'https://hooks.example.com/grid'),
        succeeded: {
          type: 'boolean',
          description: 'Whether the receiver answered 2xx.',
          examples: [true],
        },
        ...attemptProperties,
        request: requestSchema,
        signed_content: text(
          'What the signature covers: this text followed by the body. A receiver computes its HMAC-SHA-256 with the secret.',
          'evt_test_1042.1778572800.',
        ),
        secret: nullable(
          text('The secret that was made for this test; null when there was one.', 'whsec_...'),
        ),
      },
      required: ['object', 'event_id', 'succeeded', 'status', 'error', 'total_ms', 'answer'],
    },
  },
  {
    problems: [400, 404, 413, 415, 422],
    body: {
      title: 'WebhookTestRequest',
      type: 'object',
      additionalProperties: false,
      description: 'Either webhook_id, or url and perhaps secret.',
      properties: {
        webhook_id: {
          type: 'string',
          pattern: '^wh_[0-9]+$',
          description: 'A webhook of yours.',
          examples: ['wh_1042'],
        },
        url: choiceProperties['url'],
        secret: {
          type: 'string',
          pattern: SECRET_PATTERN,
          description: 'Signs the request to the URL; without it, one is made and told.',
          examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
        },
      },
    },
  },
)

const inboxSchema: JsonSchema = {
  title: 'Inbox',
  type: 'object',
  description: 'A receiver on this host that keeps the last 200 requests.',
  properties: {
    id: text('Id of the inbox.', 'inbox_1042'),
    object: constant('inbox'),
    url: text('Whoever knows it can send to it.', 'http://127.0.0.1:4400/api/v1/inbox/AbC...'),
    answer_status: count('Status that requests are answered with.', 200),
    requests: count('Requests it keeps.', 3),
    verified: count('Requests among them with a valid signature.', 3),
    created_at: time('When it was created.'),
  },
  required: ['id', 'object', 'url', 'answer_status', 'requests', 'verified', 'created_at'],
}

const inboxRequestSchema: JsonSchema = {
  title: 'InboxRequest',
  type: 'object',
  description: 'A request that an inbox received.',
  properties: {
    id: text('Id of the request.', 'ireq_1042'),
    object: constant('inbox_request'),
    at: time('When it came.'),
    headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Its headers.',
      examples: [{ 'x-grid-event-type': 'lease.updated' }],
    },
    body: text('Its body.', '{"id":"evt_120000","type":"lease.updated"}'),
    body_base64: {
      type: 'boolean',
      description: 'The body is no text and given in base64.',
      examples: [false],
    },
    verified: {
      type: 'boolean',
      description: 'A webhook that delivers here signed it, not more than 300 seconds ago.',
      examples: [true],
    },
    webhook_id: nullable(text('The webhook that signed it.', 'wh_1042')),
    secret: nullable(text('Last characters of the secret that signed it.', 'whsec_...q83v')),
  },
  required: ['id', 'object', 'at', 'headers', 'body', 'body_base64', 'verified'],
}

const inboxId: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the inbox.',
  schema: { type: 'string', pattern: '^inbox_[0-9]+$', examples: ['inbox_1042'] },
}

export const createInbox = route(
  'write:webhooks',
  'createInbox',
  'Create an inbox',
  'A receiver to try webhooks with: create a webhook with its url, change something, and list its requests.',
  { 201: inboxSchema },
  {
    problems: BODY_PROBLEMS,
    body: {
      title: 'InboxCreate',
      type: 'object',
      additionalProperties: false,
      description: 'How the inbox answers.',
      properties: {
        answer_status: {
          type: 'integer',
          minimum: 200,
          maximum: 599,
          default: 200,
          description: 'Status that requests are answered with: 500 shows retries, 410 the end.',
          examples: [200],
        },
      },
    },
  },
)

export const getInbox = route(
  'read:webhooks',
  'getInbox',
  'Get an inbox',
  'An inbox and how many requests it keeps.',
  { 200: inboxSchema },
  { parameters: [inboxId], problems: [404, 422] },
)

export const deleteInbox = route(
  'write:webhooks',
  'deleteInbox',
  'Delete an inbox',
  'Its requests go with it.',
  { 204: { type: 'null', description: 'Deleted.' } },
  { parameters: [inboxId], problems: [404, 422] },
)

export const listInboxRequests = route(
  'read:webhooks',
  'listInboxRequests',
  'List the requests of an inbox',
  'What it received, newest first, and whether the signature was valid.',
  { 200: listSchema(inboxRequestSchema, 'InboxRequestList') },
  {
    parameters: [inboxId, ...PAGE_PARAMETERS],
    problems: [404, 422],
    querystring: { type: 'object', additionalProperties: false, properties: pageQuery },
  },
)

export const receive = route(
  'public',
  'receiveInInbox',
  'Send to an inbox',
  'Keeps the request, whatever it holds, up to 256 KiB; needs no key. Answers with the status the inbox was made with.',
  {
    200: {
      title: 'InboxReceipt',
      type: 'object',
      description: 'It was kept.',
      properties: {
        received: { type: 'boolean', description: 'Always true.', examples: [true] },
      },
      required: ['received'],
    },
  },
  {
    parameters: [
      {
        name: 'token',
        in: 'path',
        required: true,
        description: 'Last part of the URL of the inbox.',
        schema: { type: 'string', examples: ['AbC'] },
      },
    ],
    problems: [404, 413, 422],
  },
)
