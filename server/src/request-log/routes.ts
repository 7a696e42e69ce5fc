import type { FastifyInstance } from 'fastify'
import { instant } from '../kit/dates.ts'
import { invalid, notFound } from '../kit/errors.ts'
import type { JsonSchema } from '../kit/field.ts'
import { idDigits, pathId, publicId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { sendPage } from '../kit/routes.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { listSchema } from '../kit/schemas.ts'
import { findLog, listLog } from './queries.ts'
import type { LogFilter, LogRow } from './queries.ts'

const STATUS_CLASSES = ['all', '2xx', '3xx', '4xx', '5xx'] as const

const entrySchema: JsonSchema = {
  title: 'RequestLogEntry',
  type: 'object',
  description: 'One request that was made with a key of the organization.',
  properties: {
    id: { type: 'string', description: 'Id of the entry.', examples: ['log_1795232892607000'] },
    at: { type: 'string', format: 'date-time', description: 'When it was answered.' },
    request_id: {
      type: 'string',
      description: 'Id of the request, as in X-Request-Id and in problems.',
      examples: ['req_5f1c000001'],
    },
    method: { type: 'string', description: 'HTTP method.', examples: ['GET'] },
    route: { type: 'string', description: 'The endpoint.', examples: ['/api/v1/leases/:id'] },
    path: {
      type: 'string',
      description: 'The path asked for.',
      examples: ['/api/v1/leases/le_1042'],
    },
    status: { type: 'integer', description: 'HTTP status of the answer.', examples: [200] },
    latency_ms: {
      type: 'number',
      description: 'Time until the answer, in milliseconds.',
      examples: [1.9],
    },
    key_id: { type: ['string', 'null'], description: 'The key.', examples: ['key_7'] },
    key_name: { type: ['string', 'null'], description: 'Its name.', examples: ['First key'] },
    error_code: {
      type: ['string', 'null'],
      description: 'Code of the problem, if there was one.',
      examples: ['validation_failed'],
    },
  },
  required: ['id', 'at', 'request_id', 'method', 'route', 'path', 'status', 'latency_ms'],
}

/** Query parameters, each with what it does. */
const QUERY: Record<string, { description: string; schema: JsonSchema }> = {
  limit: {
    description: `Entries per page, 1 to ${LIMIT_MAX}.`,
    schema: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  },
  cursor: {
    description: 'Where to go on: next_cursor of the page before.',
    schema: { type: 'string' },
  },
  status_class: {
    description: 'Only answers of this class.',
    schema: { type: 'string', enum: [...STATUS_CLASSES], default: 'all' },
  },
  method: {
    description: 'Only this method.',
    schema: { type: 'string', enum: ['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'HEAD'] },
  },
  path: {
    description: 'Only paths that start so.',
    schema: { type: 'string', examples: ['/api/v1/leases'] },
  },
  key_id: { description: 'Only this key.', schema: { type: 'string', examples: ['key_7'] } },
  request_id: { description: 'Only this request.', schema: { type: 'string' } },
  since: {
    description: 'From this time on.',
    schema: { type: 'string', examples: ['2026-05-12T08:00:00Z'] },
  },
  until: {
    description: 'Before this time.',
    schema: { type: 'string', examples: ['2026-05-12T09:00:00Z'] },
  },
  min_latency_ms: {
    description: 'Only requests that took at least this long.',
    schema: { type: 'number', minimum: 0 },
  },
}

const listDocs: RouteDocs & { schema: { querystring: JsonSchema } } = {
  config: { scope: 'read:logs' },
  schema: {
    operationId: 'listRequestLogs',
    summary: 'List requests',
    description:
      'The request log of the organization, newest first. An entry is there within a second of its answer.',
    tags: ['logs'],
    response: { 200: listSchema(entrySchema, 'RequestLogEntryList') },
    parameters: Object.entries(QUERY).map(([name, rest]) => ({
      name,
      in: 'query' as const,
      ...rest,
    })),
    problems: [422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(QUERY).map(([name, { schema }]) => [name, schema]),
      ),
    },
  },
}

const getDocs: RouteDocs = {
  config: { scope: 'read:logs' },
  schema: {
    operationId: 'getRequestLog',
    summary: 'Get a request',
    description: 'One entry of the request log.',
    tags: ['logs'],
    response: { 200: entrySchema },
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Id of the entry.',
        schema: { type: 'string', pattern: '^log_[0-9]+$', examples: ['log_1795232892607000'] },
      },
    ],
    problems: [404, 422],
  },
}

interface LogQuery {
  limit: number
  cursor?: string
  status_class: (typeof STATUS_CLASSES)[number]
  method?: string
  path?: string
  key_id?: string
  request_id?: string
  since?: string
  until?: string
  min_latency_ms?: number
}

export function requestLogRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: LogQuery }>('/request-logs', listDocs, async (request, reply) => {
    const { query } = request
    const { cursor: _, limit, ...bound } = query
    const page = paging(
      app.store,
      request.caller.org_id,
      ['request-logs', JSON.stringify(bound)],
      query.cursor,
    )
    // What this process has answered so far is part of the log it shows.
    await app.requestLog.flush()
    const filter = { ...filterOf(query), before: positionOf(page.values), limit: limit + 1 }
    const rows = await listLog(app.db, request.caller.org_id, filter)
    const position = (_: Row, i: number): string => `${rows[i]?.at.toISOString()} ${rows[i]?.id}`
    return sendPage(reply, page.of(rows.map(entryView), limit, position))
  })

  app.get<{ Params: { id: string } }>('/request-logs/:id', getDocs, async (request) => {
    await app.requestLog.flush()
    const row = await findLog(app.db, request.caller.org_id, pathId('log', request.params.id))
    if (!row) throw notFound(`Request log entry ${request.params.id}`)
    return entryView(row)
  })
}

function filterOf(query: LogQuery): Omit<LogFilter, 'before' | 'limit'> {
  const key_id = query.key_id === undefined ? null : idDigits('key', query.key_id)
  const times = { since: query.since ?? null, until: query.until ?? null }
  const issues = Object.entries(times)
    .filter(([, text]) => text !== null && instant(text) === null)
    .map(([field]) => ({
      field,
      code: 'invalid_format',
      message: 'must be a time such as 2026-05-12T08:00:00Z',
    }))
  if (query.key_id !== undefined && key_id === null) {
    issues.push({ field: 'key_id', code: 'invalid_id', message: 'must look like key_7' })
  }
  if (issues.length > 0) throw invalid(issues)
  const status = query.status_class === 'all' ? null : Number(query.status_class[0]) * 100
  return {
    ...times,
    key_id,
    status_from: status,
    status_to: status === null ? null : status + 99,
    method: query.method ?? null,
    path: query.path ?? null,
    request_id: query.request_id ?? null,
    min_latency_ms: query.min_latency_ms ?? null,
  }
}

function positionOf(text: string | null): LogFilter['before'] {
  const [at, id] = text?.split(' ') ?? []
  return at && id ? { at, id } : null
}

function entryView(row: LogRow): Row {
  return {
    ...row,
    id: publicId('log', row.id),
    key_id: row.key_id === null ? null : publicId('key', row.key_id),
  }
}
