/** Documentation of the endpoints of deliveries and replays. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import type { Parameter } from '../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import {
  attemptProperties,
  constant,
  count,
  pageQuery,
  requestSchema,
  route,
  text,
  time,
  webhookId,
} from './docs.ts'
import { REPLAY_STATUSES } from './replay-queries.ts'
import { DELIVERY_STATES, TRIGGERS } from './types.ts'

const REASONS = [
  'exhausted',
  'gone',
  'worker_crashed',
  'webhook_deleted',
  'dropped',
  'replay_cancelled',
  'test',
]

const deliveryProperties: Record<string, JsonSchema> = {
  id: text('Id of the delivery.', 'del_1042'),
  object: constant('delivery'),
  webhook_id: text('The webhook.', 'wh_1042'),
  event_id: text('The event; the same in every delivery of it.', 'evt_1200000'),
  type: text('Type of the event.', 'lease.updated'),
  trigger: {
    type: 'string',
    enum: [...TRIGGERS],
    description: 'What it was made for: the event, a replay, a test.',
  },
  state: {
    type: 'string',
    enum: [...DELIVERY_STATES],
    description:
      'pending: due at next_at; in_flight: being sent; held: its webhook takes nothing; expired: held for 30 days.',
  },
  reason: {
    type: ['string', 'null'],
    enum: [...REASONS, null],
    description: 'Why it ended without success.',
  },
  attempts: count('Attempts made, at most 5.', 1),
  next_attempt_at: nullable(time('When the next attempt is due.')),
  last_status: {
    type: ['integer', 'null'],
    description: 'HTTP status of the last attempt.',
    examples: [200],
  },
  last_error: {
    type: ['string', 'null'],
    description: 'What went wrong with the last attempt.',
    examples: ['timeout'],
  },
  coalesced: count('Events of the object that it stands for.', 1),
  replay_id: nullable(text('The replay that made it.', 'replay_1042')),
  created_at: time('When it was made.'),
  finished_at: nullable(time('When it ended.')),
}

const required = ['id', 'object', 'event_id', 'type', 'trigger', 'state', 'attempts', 'created_at']

const deliverySchema: JsonSchema = {
  title: 'Delivery',
  type: 'object',
  description: 'One event on its way to one webhook.',
  properties: deliveryProperties,
  required,
}

const deliveryDetailSchema: JsonSchema = {
  title: 'DeliveryDetail',
  type: 'object',
  description: 'A delivery with each of its attempts and what was sent.',
  properties: {
    ...deliveryProperties,
    attempt_log: {
      type: 'array',
      description: 'Every attempt, in order.',
      items: {
        title: 'DeliveryAttempt',
        type: 'object',
        description: 'One attempt.',
        properties: {
          number: count('1 to 5.', 1),
          at: time('When it was sent.'),
          ...attemptProperties,
        },
        required: ['number', 'at', 'status', 'error', 'opening', 'total_ms', 'answer'],
      },
    },
    request: requestSchema,
  },
  required: [...required, 'attempt_log', 'request'],
}

const FILTERS: Record<string, { description: string; schema: JsonSchema }> = {
  state: {
    description: 'Only deliveries in this state.',
    schema: { type: 'string', enum: [...DELIVERY_STATES] },
  },
  type: {
    description: 'Only of this type of event; lease.* for all of a kind.',
    schema: { type: 'string', maxLength: 100, examples: ['lease.*'] },
  },
  trigger: {
    description: 'Only made for this.',
    schema: { type: 'string', enum: [...TRIGGERS] },
  },
  since: {
    description: 'Only made from this time on.',
    schema: { type: 'string', format: 'date-time', examples: ['2026-05-12T08:00:00Z'] },
  },
}

export const listDeliveries = route(
  'read:webhooks',
  'listDeliveries',
  'List the deliveries of a webhook',
  'Deliveries of the last 30 days, newest first.',
  { 200: listSchema(deliverySchema, 'DeliveryList') },
  {
    parameters: [
      webhookId,
      ...PAGE_PARAMETERS,
      ...Object.entries(FILTERS).map(([name, rest]): Parameter => ({ name, in: 'query', ...rest })),
    ],
    problems: [404, 422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: {
        ...pageQuery,
        ...Object.fromEntries(Object.entries(FILTERS).map(([name, { schema }]) => [name, schema])),
      },
    },
  },
)

export const getDelivery = route(
  'read:webhooks',
  'getDelivery',
  'Get a delivery',
  'A delivery with each attempt: what was sent, what came back, how long it took.',
  { 200: deliveryDetailSchema },
  {
    parameters: [
      webhookId,
      {
        name: 'delivery_id',
        in: 'path',
        required: true,
        description: 'Id of the delivery.',
        schema: { type: 'string', pattern: '^del_[0-9]+$', examples: ['del_1042'] },
      },
    ],
    problems: [404, 422],
  },
)

const replaySchema: JsonSchema = {
  title: 'Replay',
  type: 'object',
  description: 'Events delivered again, and how far that is.',
  properties: {
    id: text('Id of the replay.', 'replay_1042'),
    object: constant('replay'),
    webhook_id: text('The webhook.', 'wh_1042'),
    state: {
      type: 'string',
      enum: ['running', 'completed', 'cancelled'],
      description: 'completed: every delivery has ended.',
    },
    status: {
      type: ['string', 'null'],
      enum: [...REPLAY_STATUSES, null],
      description: 'Which deliveries of the time are sent again; null for listed events.',
    },
    since: nullable(time('From this time on.')),
    until: nullable(time('Before this time.')),
    types: {
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'Types of events.',
      examples: [['lease.*']],
    },
    rate: { type: ['integer', 'null'], description: 'Deliveries a second.', examples: [50] },
    in_order: {
      type: 'boolean',
      description: 'Deliveries about one object go one after the other.',
      examples: [false],
    },
    total: count('Events it covers.', 120),
    queued: count('Deliveries made so far.', 120),
    waiting: count('Deliveries that have not ended.', 20),
    succeeded: count('Deliveries that succeeded.', 100),
    failed: count('Deliveries that were given up.', 0),
    cancelled: count('Deliveries that were cancelled.', 0),
    created_at: time('When it began.'),
    finished_at: nullable(time('When it ended.')),
  },
  required: ['id', 'object', 'webhook_id', 'state', 'total', 'queued', 'succeeded', 'created_at'],
}

const evt: JsonSchema = { type: 'string', pattern: '^evt_[0-9]+$' }

export const replay = route(
  'write:webhooks',
  'replayEvents',
  'Replay events for a webhook',
  'Delivers events again: one, up to 1,000 by their ids, or all of a time. The event id and the body are those of the first time, the delivery is new and has five attempts. Answers 202; follow Location.',
  {
    200: {
      title: 'ReplayEstimate',
      type: 'object',
      description: 'With dry_run: how many events would be delivered.',
      properties: {
        object: constant('replay_estimate'),
        total: count('Events that would be delivered.', 120),
      },
      required: ['object', 'total'],
    },
    202: replaySchema,
  },
  {
    parameters: [webhookId],
    problems: [400, 404, 409, 413, 415, 422],
    body: {
      title: 'ReplayCreate',
      type: 'object',
      additionalProperties: false,
      description: 'One of event_id, event_ids and since says what.',
      properties: {
        event_id: { ...evt, description: 'One event.', examples: ['evt_1200000'] },
        event_ids: {
          type: 'array',
          minItems: 1,
          maxItems: 1_000,
          items: evt,
          description: 'Events.',
          examples: [['evt_1200000']],
        },
        since: time('Everything from this time on.'),
        until: time('With since: before this time; now when left out.'),
        status: {
          type: 'string',
          enum: [...REPLAY_STATUSES],
          default: 'all',
          description:
            'With since. all: every event of the types; failed: deliveries that were given up; held: held deliveries that were dropped.',
        },
        types: {
          type: 'array',
          minItems: 1,
          maxItems: 100,
          items: { type: 'string', maxLength: 100 },
          description: 'With since: types of events; those of the webhook when left out.',
          examples: [['lease.*']],
        },
        rate: {
          type: 'integer',
          minimum: 1,
          maximum: 10_000,
          description: 'Deliveries a second, at most the rate of the webhook.',
          examples: [50],
        },
        in_order: {
          type: 'boolean',
          default: false,
          description: 'Deliver what is about one object one after the other.',
          examples: [false],
        },
        dry_run: {
          type: 'boolean',
          default: false,
          description: 'Only count, with status 200.',
          examples: [false],
        },
      },
    },
  },
)

const replayId: Parameter = {
  name: 'replay_id',
  in: 'path',
  required: true,
  description: 'Id of the replay.',
  schema: { type: 'string', pattern: '^replay_[0-9]+$', examples: ['replay_1042'] },
}

export const getReplay = route(
  'read:webhooks',
  'getReplay',
  'Get a replay',
  'How far a replay is.',
  { 200: replaySchema },
  { parameters: [webhookId, replayId], problems: [404, 422] },
)

export const deleteReplay = route(
  'write:webhooks',
  'cancelReplay',
  'Cancel a replay',
  'What it has not delivered yet is cancelled.',
  { 204: { type: 'null', description: 'Cancelled.' } },
  { parameters: [webhookId, replayId], problems: [404, 422] },
)
