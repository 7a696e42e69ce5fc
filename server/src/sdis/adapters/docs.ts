/** Documentation of the endpoints of kept adapters. */
import type { JsonSchema } from '../../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH } from '../../kit/parameters.ts'
import type { Parameter } from '../../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../../kit/schemas.ts'
import type { RouteDocs } from '../../kit/schemas.ts'
import {
  adapterSchema,
  createBody,
  patchBody,
  promoteBody,
  rollbackBody,
  rollbackSchema,
  testBody,
  versionBody,
  versionSchema,
} from './schemas.ts'

export const adapterId: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the adapter.',
  schema: { type: 'string', pattern: '^adp_[0-9]+$', examples: ['adp_1042'] },
}

const versionNumber: Parameter = {
  name: 'version',
  in: 'path',
  required: true,
  description: 'Number of the version.',
  schema: { type: 'string', pattern: '^[1-9][0-9]*$', examples: ['1'] },
}

export const pageQuery: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
    cursor: { type: 'string' },
  },
}

interface More {
  parameters?: Parameter[]
  problems?: number[]
  body?: JsonSchema
  requestBody?: JsonSchema
  querystring?: JsonSchema
}

/** The documentation of one endpoint. */
export function route(
  scope: 'read:jobs' | 'write:jobs' | 'promote:adapters',
  operationId: string,
  summary: string,
  description: string,
  response: Record<number, JsonSchema>,
  { parameters = [], problems = [], ...bodies }: More,
): RouteDocs {
  return {
    config: { scope },
    schema: {
      operationId,
      summary,
      description,
      tags: ['adapters'],
      response,
      parameters,
      problems,
      ...bodies,
    },
  }
}

const WRITE = [400, 409, 413, 415, 422]

export const createAdapter = route(
  'write:jobs',
  'createAdapter',
  'Create an adapter',
  'Keeps an adapter document as the first version, a draft. A 422 names every failing part of the document.',
  { 201: adapterSchema },
  { parameters: [IDEMPOTENCY], problems: WRITE, body: createBody },
)

export const listAdapters = route(
  'read:jobs',
  'listAdapters',
  'List adapters',
  'Adapters of the organization, newest first.',
  { 200: listSchema(adapterSchema, 'KeptAdapterList') },
  { parameters: PAGE_PARAMETERS, problems: [422], querystring: pageQuery },
)

export const getAdapter = route(
  'read:jobs',
  'getAdapter',
  'Get an adapter',
  'Which versions it has, and which one is live.',
  { 200: adapterSchema },
  { parameters: [adapterId], problems: [404, 422] },
)

export const patchAdapter = route(
  'write:jobs',
  'updateAdapter',
  'Change the settings of an adapter',
  'A merge patch (RFC 7396). The author of the newest version cannot end the rule of the second person: 409 second_person_required.',
  { 200: adapterSchema },
  {
    parameters: [adapterId, IF_MATCH],
    problems: [400, 404, 409, 412, 413, 415, 422],
    body: patchBody,
  },
)

export const deleteAdapter = route(
  'write:jobs',
  'deleteAdapter',
  'Delete an adapter',
  'Its name is free again. Jobs that run go on, and what was loaded stays with its provenance.',
  { 204: { type: 'null', description: 'Deleted.' } },
  { parameters: [adapterId, IF_MATCH], problems: [404, 412, 422] },
)

export const createVersion = route(
  'write:jobs',
  'createAdapterVersion',
  'Add a version',
  'A new draft with the next number. The document keeps the name of the adapter.',
  { 201: versionSchema },
  { parameters: [adapterId, IDEMPOTENCY], problems: [...WRITE, 404], body: versionBody },
)

export const listVersions = route(
  'read:jobs',
  'listAdapterVersions',
  'List the versions of an adapter',
  'With their documents, newest first.',
  { 200: listSchema(versionSchema, 'AdapterVersionList') },
  { parameters: [adapterId, ...PAGE_PARAMETERS], problems: [404, 422], querystring: pageQuery },
)

export const getVersion = route(
  'read:jobs',
  'getAdapterVersion',
  'Get a version of an adapter',
  'Its document, its state and what it was tested by.',
  { 200: versionSchema },
  { parameters: [adapterId, versionNumber], problems: [404, 422] },
)

export const patchVersion = route(
  'write:jobs',
  'updateAdapterVersion',
  'Change a draft',
  'The document is replaced whole. A version that was tested stays as it is: 409, add a new one.',
  { 200: versionSchema },
  {
    parameters: [adapterId, versionNumber, IF_MATCH],
    problems: [400, 404, 409, 412, 413, 415, 422],
    body: versionBody,
  },
)

export const testVersion = route(
  'write:jobs',
  'testAdapterVersion',
  'Mark a version as tested',
  'A version is tested when a job that ran this very document completed, here or in a sandbox, or when its last preview read at least one row and had no errors. From then on it does not change.',
  { 200: versionSchema },
  {
    parameters: [adapterId, versionNumber, IDEMPOTENCY],
    problems: [...WRITE, 404],
    body: testBody,
  },
)

export const promoteAdapter = route(
  'promote:adapters',
  'promoteAdapter',
  'Make a version live',
  'Jobs that name no version run the live one. Needs a tested version and the diff of a completed dry run of it: job_id and diff_hash show that it was read. The version that was live is kept for a rollback.',
  { 200: adapterSchema },
  { parameters: [adapterId, IDEMPOTENCY], problems: [...WRITE, 404], body: promoteBody },
)

export const rollbackAdapter = route(
  'promote:adapters',
  'rollbackAdapter',
  'Go back to the version before',
  'The version that was live before is live again. What was loaded meanwhile stays; the answer lists the jobs to undo where it should not.',
  { 200: rollbackSchema },
  { parameters: [adapterId, IDEMPOTENCY], problems: [...WRITE, 404], body: rollbackBody },
)
