/** Documentation of the query endpoint, and what the answer of a query is. */
import type { JsonSchema } from '../kit/field.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { querySchema } from './fields.ts'

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

const whole = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

const columnSchema: JsonSchema = {
  type: 'object',
  description: 'A column of the rows.',
  properties: {
    name: text('Name in the rows.', 'tenant.display_name'),
    kind: {
      type: 'string',
      description:
        'What its values are: text, integer, number, percent, money (exact text), boolean, date, datetime, choice, reference, texts or json.',
      examples: ['text'],
    },
    path: {
      type: ['string', 'null'],
      description: 'Field that it shows or adds up; null for what counts rows.',
      examples: ['tenant.display_name'],
    },
    aggregate: {
      type: ['string', 'null'],
      description: 'How the rows of a group are put together.',
      examples: ['sum'],
    },
  },
  required: ['name', 'kind', 'path', 'aggregate'],
}

const planSchema: JsonSchema = {
  type: ['object', 'null'],
  description: 'With explain: how the query would be done. Nothing was read then.',
  properties: {
    estimated_cost: whole('In units of the database: about one for each page read in order.', 812),
    max_cost: whole('What a query may be thought to cost.', 1_000_000),
    allowed: { type: 'boolean', description: 'It would be run.', examples: [true] },
    estimated_rows: whole('Rows it is thought to give.', 51),
    scans: {
      type: 'array',
      description: 'What is read, and how.',
      items: {
        type: 'object',
        description: 'One reading of a type.',
        properties: {
          type: text('What is read.', 'lease'),
          method: {
            type: 'string',
            enum: ['index', 'full_scan', 'folded'],
            description:
              'index: what the index leads to; full_scan: every row; folded: rows made of their facts.',
            examples: ['index'],
          },
          index: {
            type: ['string', 'null'],
            description: 'The index.',
            examples: ['lease_property_id_idx'],
          },
          rows: { type: 'number', description: 'Rows it is thought to give.', examples: [51] },
        },
      },
    },
  },
}

export const resultSchema: JsonSchema = {
  title: 'QueryResult',
  type: 'object',
  description: 'The rows of a query, with what its columns are.',
  properties: {
    object: { type: 'string', const: 'list', description: 'Always list.' },
    columns: { type: 'array', items: columnSchema, description: 'The columns, in order.' },
    data: {
      type: 'array',
      description: 'The rows, by name of the column; empty with explain.',
      items: { type: 'object', additionalProperties: true, description: 'One row.' },
    },
    has_more: {
      type: 'boolean',
      description: 'More rows follow; of groups, there are more than the answer shows.',
      examples: [false],
    },
    next_cursor: {
      type: ['string', 'null'],
      description: 'Send it as cursor with the same query to get the next page; null for groups.',
      examples: ['WyJ...'],
    },
    warnings: {
      type: 'array',
      items: { type: 'string' },
      description: 'What the rows do not show by themselves.',
      examples: [[]],
    },
    plan: planSchema,
  },
  required: ['object', 'columns', 'data', 'has_more', 'next_cursor', 'warnings', 'plan'],
  'x-content-type': ['application/json', 'text/csv'],
}

export const runQuery: RouteDocs = {
  config: { scope: 'read:facts' },
  schema: {
    operationId: 'runQuery',
    summary: 'Query objects, facts or the schema',
    description:
      'Answers a typed question in one statement: fields over relations, conditions, aggregates, both times. Besides read:facts it needs the read scope of every type it touches. It runs for at most five seconds and is refused before it starts where it would cost too much; every wrong path of the document is named.',
    tags: ['query'],
    body: querySchema,
    response: { 200: resultSchema },
    parameters: [],
    problems: [400, 413, 415, 422],
  },
}
