/** Documentation of the event endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { listSchema } from '../kit/schemas.ts'
import { eventSchema } from './schemas.ts'

const eventTypeSchema: JsonSchema = {
  title: 'EventType',
  type: 'object',
  description: 'A type of event: what it means and what its payload looks like.',
  properties: {
    type: { type: 'string', description: 'Its name.', examples: ['lease.executed'] },
    object: { type: 'string', const: 'event_type', description: 'Always event_type.' },
    title: { type: 'string', description: 'What happened.', examples: ['Lease executed'] },
    description: {
      type: 'string',
      description: 'What it means.',
      examples: ['All parties have signed; the lease is binding but its term has not begun.'],
    },
    object_type: {
      type: 'string',
      description: 'Type of the object it tells of.',
      examples: ['lease'],
    },
    schema_version: {
      type: 'string',
      format: 'date',
      description: 'Date of the form of the payload.',
      examples: ['2026-05-12'],
    },
    schema: {
      type: 'object',
      additionalProperties: true,
      description: 'JSON Schema (2020-12) of the payload; it refers to /openapi.json.',
    },
    example: {
      type: 'object',
      additionalProperties: true,
      description: 'A payload.',
    },
  },
  required: [
    'type',
    'object',
    'title',
    'description',
    'object_type',
    'schema_version',
    'schema',
    'example',
  ],
}

const TYPES: Parameter = {
  name: 'types',
  in: 'query',
  description: 'Only these types, separated by commas; `lease.*` stands for all of leases.',
  schema: { type: 'string', examples: ['lease.*,work_order.created'] },
}

/** Query parameters of the feed. */
const QUERY: Parameter[] = [
  {
    name: 'limit',
    in: 'query',
    description: `Events per page, 1 to ${LIMIT_MAX}.`,
    schema: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  },
  {
    name: 'cursor',
    in: 'query',
    description: 'Where to go on: next_cursor of the page before. It never expires.',
    schema: { type: 'string' },
  },
  TYPES,
  {
    name: 'object_id',
    in: 'query',
    description: 'Only events that tell of this object.',
    schema: { type: 'string', examples: ['le_1042'] },
  },
  {
    name: 'since',
    in: 'query',
    description: 'From this time on.',
    schema: { type: 'string', examples: ['2026-05-12T08:00:00Z'] },
  },
  {
    name: 'until',
    in: 'query',
    description: 'Before this time.',
    schema: { type: 'string', examples: ['2026-05-12T09:00:00Z'] },
  },
]

function querystring(parameters: readonly Parameter[]): JsonSchema {
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
  }
}

type ListDocs = RouteDocs & { schema: { querystring: JsonSchema } }

export const listEvents: ListDocs = {
  config: { scope: 'read:events' },
  schema: {
    operationId: 'listEvents',
    summary: 'Follow events',
    description:
      'The events of the organization, oldest first, in the order of their numbers. None is skipped and none comes twice. next_cursor is always there and never expires: keep it and ask again later to get what has happened since.',
    tags: ['events'],
    response: { 200: listSchema(eventSchema, 'EventList') },
    parameters: QUERY,
    problems: [422],
    querystring: querystring(QUERY),
  },
}

export const listEventTypes: ListDocs = {
  config: { scope: 'read:events' },
  schema: {
    operationId: 'listEventTypes',
    summary: 'List the types of events',
    description:
      'The catalogue: every type of event with its meaning, the JSON Schema of its payload and an example. All in one answer.',
    tags: ['events'],
    response: { 200: listSchema(eventTypeSchema, 'EventTypeList') },
    parameters: [TYPES],
    problems: [422],
    querystring: querystring([TYPES]),
  },
}

export const getEvent: RouteDocs = {
  config: { scope: 'read:events' },
  schema: {
    operationId: 'getEvent',
    summary: 'Get an event',
    description: 'One event, byte for byte as webhooks carry it.',
    tags: ['events'],
    response: { 200: eventSchema },
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Id of the event.',
        schema: { type: 'string', pattern: '^evt_[0-9]+$', examples: ['evt_120000000'] },
      },
    ],
    problems: [404, 422],
  },
}
