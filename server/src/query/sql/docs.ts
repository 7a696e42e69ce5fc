/** Documentation of the SQL console. */
import type { JsonSchema } from '../../kit/field.ts'
import { listSchema } from '../../kit/schemas.ts'
import type { RouteDocs } from '../../kit/schemas.ts'
import { ROWS_MAX } from '../types.ts'

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

/** Longest statement, in characters. */
const SQL_MAX = 10_000

const sqlSchema: JsonSchema = {
  title: 'SqlRequest',
  type: 'object',
  additionalProperties: false,
  description: 'A statement to run.',
  properties: {
    sql: {
      type: 'string',
      minLength: 1,
      maxLength: SQL_MAX,
      description: 'One SELECT over the listed views, by means of the listed functions.',
      examples: ['select status, count(*) from lease group by status'],
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: ROWS_MAX,
      description: `Rows of the answer, 1 to ${ROWS_MAX}; ${ROWS_MAX} when left out.`,
      examples: [200],
    },
  },
  required: ['sql'],
}

const resultSchema: JsonSchema = {
  title: 'SqlResult',
  type: 'object',
  description: 'The rows of a statement.',
  properties: {
    object: { type: 'string', const: 'sql_result', description: 'Always sql_result.' },
    columns: {
      type: 'array',
      description: 'The columns, in order.',
      items: {
        type: 'object',
        description: 'A column.',
        properties: {
          name: text('Name; two columns may have the same.', 'status'),
          type: text('Type in SQL.', 'text'),
        },
        required: ['name', 'type'],
      },
    },
    rows: {
      type: 'array',
      description:
        'The rows, each with its values in the order of the columns. numeric is text, so that no digit is lost.',
      items: { type: 'array', description: 'One row.', items: {} },
      examples: [[['active', 812]]],
    },
    row_count: { type: 'integer', description: 'Rows of this answer.', examples: [1] },
    limit_hit: {
      type: ['string', 'null'],
      enum: ['rows', 'bytes', null],
      description: 'Which limit cut the rows off; null when these are all.',
      examples: [null],
    },
    cost: {
      type: 'integer',
      description: 'What it was thought to cost, in units of the database.',
      examples: [812],
    },
    ms: { type: 'integer', description: 'How long it took, in milliseconds.', examples: [12] },
  },
  required: ['object', 'columns', 'rows', 'row_count', 'limit_hit', 'cost', 'ms'],
}

export const runSql: RouteDocs = {
  config: { scope: 'console:sql' },
  schema: {
    operationId: 'runSql',
    summary: 'Run SQL',
    description: `Runs one SELECT over the views of the console, as a role that can read them and do nothing else. At most ${ROWS_MAX} rows, 10 MB and five seconds; what would cost too much is refused before it starts. Besides console:sql it needs the read scope of every view it reads. Open to sandboxes unless the service says otherwise. Every statement is in the audit log.`,
    tags: ['query'],
    body: sqlSchema,
    response: { 200: resultSchema },
    parameters: [],
    problems: [400, 413, 415, 422],
  },
}

const viewSchema: JsonSchema = {
  title: 'SqlView',
  type: 'object',
  description: 'A view that statements may read.',
  properties: {
    object: { type: 'string', const: 'sql_view', description: 'Always sql_view.' },
    name: text('Name of the view.', 'lease'),
    description: text('What its rows are.', 'A lease of a tenant.'),
    columns: {
      type: 'array',
      description: 'Its columns, in order.',
      items: {
        type: 'object',
        description: 'A column.',
        properties: {
          name: text('Name of the column.', 'expiration_date'),
          type: text('Type in SQL.', 'date'),
          description: text('What it means.', 'Last day of the term.'),
        },
        required: ['name', 'type', 'description'],
      },
    },
  },
  required: ['object', 'name', 'description', 'columns'],
}

export const listViews: RouteDocs = {
  config: { scope: 'console:sql' },
  schema: {
    operationId: 'listSqlViews',
    summary: 'List the views of the SQL console',
    description: 'Every view with its columns and what they mean, all in one answer.',
    tags: ['query'],
    response: { 200: listSchema(viewSchema, 'SqlViewList') },
    parameters: [],
    problems: [422],
  },
}
