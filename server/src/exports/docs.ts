/** Documentation of the export endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY, PAGING, SHAPE, TIMES } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { INCLUDES } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { resources } from '../resources.ts'
import { exportSchema } from './export-schema.ts'
import { EXPORT_STATES, EXPORT_TYPES } from './model.ts'

const ID: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the export.',
  schema: { type: 'string', pattern: '^xpt_[0-9]+$', examples: ['xpt_1042'] },
}

const STATE: Parameter = {
  name: 'state',
  in: 'query',
  description: 'Only exports in this state.',
  schema: { type: 'string', enum: [...EXPORT_STATES] },
}

/** What the parameter of lists says of itself. */
function described(name: string): string {
  const found = [...PAGING, ...SHAPE, ...TIMES].find((parameter) => parameter.name === name)
  return found?.description ?? ''
}

const words = (description: string, example: string[], values?: readonly string[]): JsonSchema => ({
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: 200, ...(values ? { enum: values } : {}) },
  maxItems: 200,
  description,
  examples: [example],
})

const scalar: JsonSchema = { type: ['string', 'number', 'boolean'] }
const given: JsonSchema = { anyOf: [scalar, { type: 'array', items: scalar, maxItems: 1_000 }] }

const body: JsonSchema = {
  title: 'ExportCreate',
  type: 'object',
  description: 'Which list to write, and in which form.',
  additionalProperties: false,
  properties: {
    type: {
      type: 'string',
      enum: resources.map(({ name }) => name),
      description: 'Type of the objects.',
      examples: ['lease'],
    },
    format: {
      type: 'string',
      enum: Object.keys(EXPORT_TYPES),
      description: 'Form of the file.',
      examples: ['csv'],
    },
    filters: {
      type: 'object',
      additionalProperties: { anyOf: [given, { type: 'object', additionalProperties: given }] },
      description:
        'Conditions as the list has them: by field a value, or an object of operators such as {"gte": "2026-01-01"}.',
      examples: [{ status: 'active', expiration_date: { lt: '2027-01-01' } }],
    },
    sort: { type: 'string', description: described('sort'), examples: ['-expiration_date'] },
    fields: words('Only these fields, in this order; all when left out.', ['id', 'status']),
    expand: words('Related objects whose fields become columns too.', ['tenant']),
    include: words(
      'archived and deleted add those objects, rollups the computed columns.',
      ['archived'],
      INCLUDES.filter((name) => name !== 'total_count'),
    ),
    q: { type: 'string', maxLength: 200, description: described('q'), examples: ['harbor'] },
    as_of: {
      type: 'string',
      format: 'date',
      description: described('as_of'),
      examples: ['2026-03-31'],
    },
    known_at: {
      type: 'string',
      format: 'date-time',
      description: described('known_at'),
      examples: ['2026-04-15T00:00:00Z'],
    },
  },
  required: ['type', 'format'],
}

const base = { config: { scope: 'run:exports' as const } }

export const createExport: RouteDocs = {
  ...base,
  schema: {
    operationId: 'createExport',
    summary: 'Export a list',
    description:
      'Writes a list of any length to a file in the background: CSV, NDJSON, XLSX or Parquet. Also needs the scope that reads the type. The columns are those of the list as a file.',
    tags: ['exports'],
    body,
    response: { 202: { ...exportSchema, description: 'Accepted: the file is being written.' } },
    parameters: [IDEMPOTENCY],
    problems: [400, 403, 409, 413, 415, 422],
  },
}

export const listExports: RouteDocs & { schema: { querystring: JsonSchema } } = {
  ...base,
  schema: {
    operationId: 'listExports',
    summary: 'List exports',
    description: 'Exports of the organization, newest first.',
    tags: ['exports'],
    response: { 200: listSchema(exportSchema, 'ExportList') },
    parameters: [...PAGE_PARAMETERS, STATE],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        [...PAGE_PARAMETERS, STATE].map(({ name, schema }) => [name, schema]),
      ),
    },
    problems: [422],
  },
}

export const getExport: RouteDocs = {
  ...base,
  schema: {
    operationId: 'getExport',
    summary: 'Get an export',
    description: 'How far it is, and where its file is once it is complete.',
    tags: ['exports'],
    response: { 200: exportSchema },
    parameters: [ID],
    problems: [404, 422],
  },
}

export const cancelExport: RouteDocs = {
  ...base,
  schema: {
    operationId: 'cancelExport',
    summary: 'Cancel an export',
    description:
      'Stops an open export, at its next page when it is running; nothing of the file stays.',
    tags: ['exports'],
    response: { 200: exportSchema },
    parameters: [ID, IDEMPOTENCY],
    problems: [404, 409, 422],
  },
}

export const deleteExport: RouteDocs = {
  ...base,
  schema: {
    operationId: 'deleteExport',
    summary: 'Delete an export',
    description: 'Removes an ended export with its file. 409 while it is open.',
    tags: ['exports'],
    response: { 204: { type: 'null', description: 'Deleted.' } },
    parameters: [ID],
    problems: [404, 409, 422],
  },
}

const header = (name: string, description: string, example: string): Parameter => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string', examples: [example] },
})

const TYPES = Object.values(EXPORT_TYPES)

export const getExportContent: RouteDocs = {
  ...base,
  schema: {
    operationId: 'getExportContent',
    summary: 'Download the file of an export',
    description:
      'The bytes of the file; answers ranges, so that a download that broke off goes on. Also needs the scope that reads the type. 404 until it is complete and after it has expired. Every download is audited.',
    tags: ['exports'],
    response: {
      200: { type: 'string', 'x-content-type': TYPES, description: 'The file.' },
      206: { type: 'string', 'x-content-type': TYPES, description: 'The part asked for.' },
      304: { type: 'null', description: 'The client has it already.' },
    },
    parameters: [
      ID,
      header('Range', 'The bytes to send, one range.', 'bytes=0-1023'),
      header('If-Range', 'The ETag for which the range counts.', '"9f86d081"'),
      header('If-None-Match', 'Answers 304 while the file has this ETag.', '"9f86d081"'),
    ],
    problems: [404, 416, 422],
  },
}
