import type { FastifyInstance } from 'fastify'
import { eventId } from '../events/feed.ts'
import { invalid } from '../kit/errors.ts'
import type { JsonSchema } from '../kit/field.ts'
import { publicId } from '../kit/ids.ts'
import { decodeCursor, encodeCursor, queryHash } from '../kit/page.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import type { Registry } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { sendPage } from '../kit/routes.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import { changesAfter } from './queries.ts'
import type { ChangeRow } from './queries.ts'

const changeSchema: JsonSchema = {
  title: 'Change',
  type: 'object',
  description: 'One object was created, updated or deleted.',
  properties: {
    id: { type: 'string', description: 'Id of the event.', examples: ['evt_1200000'] },
    seq: {
      type: 'integer',
      description: 'Number in the feed of the organization, without gaps.',
      examples: [4711],
    },
    op: {
      type: 'string',
      enum: ['created', 'updated', 'deleted'],
      description: 'What happened; deleted is the tombstone.',
    },
    object_id: { type: 'string', description: 'The object.', examples: ['le_1042'] },
    object_type: { type: 'string', description: 'Its type.', examples: ['lease'] },
    version: { type: 'integer', description: 'Its version after the change.', examples: [3] },
    changed_fields: {
      type: 'array',
      items: { type: 'string' },
      description: 'Fields whose value changed.',
      examples: [['expiration_date']],
    },
    at: { type: 'string', format: 'date-time', description: 'When it was written.' },
    actor: {
      type: 'object',
      additionalProperties: true,
      description: 'Who wrote it: type, id and name of the key or job.',
    },
    request_id: {
      type: ['string', 'null'],
      description: 'Request that wrote it.',
      examples: ['req_5f1c000001'],
    },
    job_id: { type: ['string', 'null'], description: 'Job that wrote it.', examples: ['job_1001'] },
  },
  required: ['id', 'seq', 'op', 'object_id', 'object_type', 'version', 'changed_fields', 'at'],
}

const listChanges: RouteDocs & { schema: { querystring: JsonSchema } } = {
  config: { scope: 'read:changes' },
  schema: {
    operationId: 'listChanges',
    summary: 'Follow changes',
    description:
      'The ordered feed of everything that changed, with tombstones. next_cursor is always there and never expires: keep it and ask again later to get what has changed since.',
    tags: ['changes'],
    response: { 200: listSchema(changeSchema, 'ChangeList') },
    parameters: [
      ...PAGE_PARAMETERS,
      {
        name: 'types',
        in: 'query',
        description: 'Only these types, separated by commas.',
        schema: { type: 'string', examples: ['lease,building'] },
      },
    ],
    problems: [422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
        cursor: { type: 'string' },
        types: { type: 'string' },
      },
    },
  },
}

interface Query {
  Querystring: { limit: number; cursor?: string; types?: string }
}

export function changeRoutes(app: FastifyInstance): void {
  app.get<Query>('/changes', listChanges, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, types } = request.query
    const { registry, secret } = app.store
    const wanted = types === undefined ? null : typesOf(types, registry)
    const hash = queryHash(org_id, ['changes', types ?? ''])
    const [position = '0'] = cursor ? decodeCursor(secret, hash, cursor, Date.now(), Infinity) : []
    const rows = await changesAfter(app.db, org_id, Number(position), wanted, limit + 1)
    const data = rows.slice(0, limit)
    const last = data.at(-1)?.seq ?? position
    return sendPage(reply, {
      data: data.map((row) => changeView(row, registry)),
      has_more: rows.length > limit,
      next_cursor: encodeCursor(secret, hash, [last], Date.now()),
      total_count: null,
    })
  })
}

function typesOf(text: string, registry: Registry): string[] {
  const types = text.split(',')
  const unknown = types.filter((type) => !registry.has(type))
  if (unknown.length === 0) return types
  const message = `unknown type '${unknown[0]}'`
  throw invalid([{ field: 'types', code: 'unknown_value', message, allowed: [...registry.keys()] }])
}

function changeView(row: ChangeRow, registry: Registry): Row {
  return {
    id: eventId(row),
    seq: Number(row.seq),
    op: row.operation,
    object_id: publicId(registry.get(row.object_type)?.prefix ?? 'obj', row.object_id),
    object_type: row.object_type,
    version: row.version,
    changed_fields: row.changed,
    at: row.at.toISOString(),
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
    request_id: row.request_id,
    job_id: row.job_id === null ? null : publicId('job', row.job_id),
  }
}
