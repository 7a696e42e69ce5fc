/** Documentation of saved queries. */
import { nullable } from '../kit/field.ts'
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import type { Scope } from '../kit/scopes.ts'
import { resultSchema } from './docs.ts'
import {
  asOfSchema,
  coreProperties,
  cursorSchema,
  explainSchema,
  formatSchema,
  limitSchema,
} from './fields.ts'

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

const name: JsonSchema = {
  ...text('Name, unique in the organization.', 'Expiring leases'),
  minLength: 1,
  maxLength: 200,
}

const description: JsonSchema = nullable({
  ...text('What it is for.', 'Leases that end before a day.'),
  maxLength: 2_000,
})

const query: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'The query; {"$param": "name"} stands where a run is to give the value.',
  properties: coreProperties,
  required: ['from'],
  examples: [{ from: 'lease', where: { expiration_date: { lte: { $param: 'until' } } } }],
}

const value: JsonSchema = {
  type: ['string', 'number', 'boolean', 'null', 'array'],
  maxItems: 1_000,
}

const defaults: JsonSchema = {
  type: 'object',
  additionalProperties: value,
  maxProperties: 50,
  description: 'Values of parameters for runs that leave them out.',
  examples: [{ until: '2026-12-31' }],
}

const choices: Record<string, JsonSchema> = { name, description, query, defaults }

const createBody: JsonSchema = {
  title: 'SavedQueryCreate',
  type: 'object',
  additionalProperties: false,
  description: 'What a saved query is made of.',
  properties: choices,
  required: ['name', 'query'],
}

const patchBody: JsonSchema = {
  title: 'SavedQueryPatch',
  type: 'object',
  additionalProperties: false,
  description: 'What to change; the query and the defaults are replaced whole.',
  properties: choices,
}

const savedSchema: JsonSchema = {
  title: 'SavedQuery',
  type: 'object',
  description: 'A query that is kept.',
  properties: {
    id: text('Id of the saved query.', 'qry_1042'),
    object: { type: 'string', const: 'saved_query', description: 'Always saved_query.' },
    organization_id: text('Organization that keeps it.', 'org_1'),
    ...choices,
    parameters: {
      type: 'array',
      items: { type: 'string' },
      description: 'Names of its parameters.',
      examples: [['until']],
    },
    version: { type: 'integer', description: 'Counts the changes.', examples: [1] },
    created_at: { ...text('When it was saved.', '2026-05-12T08:00:00.000Z'), format: 'date-time' },
    updated_at: {
      ...text('When it was changed.', '2026-05-12T08:00:00.000Z'),
      format: 'date-time',
    },
  },
  required: [
    'id',
    'object',
    'name',
    'query',
    'parameters',
    'defaults',
    'version',
    'created_at',
    'updated_at',
  ],
}

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the saved query.',
  schema: { type: 'string', pattern: '^qry_[0-9]+$', examples: ['qry_1042'] },
}

const runBody: JsonSchema = {
  title: 'SavedQueryRun',
  type: 'object',
  additionalProperties: false,
  description: 'The values of one run.',
  properties: {
    parameters: {
      type: 'object',
      additionalProperties: value,
      description: 'Values by name of the parameter.',
      examples: [{ until: '2026-12-31' }],
    },
    as_of: asOfSchema,
    limit: limitSchema,
    cursor: cursorSchema,
    explain: explainSchema,
    format: formatSchema,
  },
}

interface More {
  parameters?: Parameter[]
  problems?: number[]
  body?: JsonSchema
  querystring?: JsonSchema
}

function route(
  scope: Scope,
  operationId: string,
  summary: string,
  about: string,
  response: Record<number, JsonSchema>,
  { parameters = [], problems = [422], ...more }: More = {},
): RouteDocs {
  const schema = {
    operationId,
    summary,
    description: about,
    tags: ['query'],
    response,
    parameters,
    problems,
  }
  return { config: { scope }, schema: { ...schema, ...more } }
}

export const listSavedQueries = route(
  'read:facts',
  'listSavedQueries',
  'List saved queries',
  'Queries that are kept, newest first.',
  { 200: listSchema(savedSchema, 'SavedQueryList') },
  {
    parameters: PAGE_PARAMETERS,
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

export const createSavedQuery = route(
  'write:queries',
  'createSavedQuery',
  'Save a query',
  'Keeps a query under a name. It is checked as if it were run, but for the values of its parameters.',
  { 201: savedSchema },
  { parameters: [IDEMPOTENCY], problems: [400, 409, 413, 415, 422], body: createBody },
)

export const getSavedQuery = route(
  'read:facts',
  'getSavedQuery',
  'Get a saved query',
  'The query with the names of its parameters.',
  { 200: savedSchema },
  { parameters: [id], problems: [404, 422] },
)

export const updateSavedQuery = route(
  'write:queries',
  'updateSavedQuery',
  'Change a saved query',
  'Only the fields sent change; the query and the defaults are replaced whole.',
  { 200: savedSchema },
  { parameters: [id, IF_MATCH], problems: [400, 404, 409, 412, 413, 415, 422], body: patchBody },
)

export const deleteSavedQuery = route(
  'write:queries',
  'deleteSavedQuery',
  'Delete a saved query',
  'It is gone; what it answered is not touched.',
  { 204: { type: 'null', description: 'Deleted.' } },
  { parameters: [id, IF_MATCH], problems: [404, 412, 422] },
)

export const runSavedQuery = route(
  'read:facts',
  'runSavedQuery',
  'Run a saved query',
  'Answers the query with the values of this run, under the scopes of who runs it.',
  { 200: resultSchema },
  { parameters: [id], problems: [400, 404, 413, 415, 422], body: runBody },
)
