/** Documentation of the job endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { ADAPTER_SCHEMA } from './adapter-schema.ts'
import { JOB_STATES } from './jobs.ts'

const count = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

export const jobSchema: JsonSchema = {
  title: 'Job',
  type: 'object',
  description: 'A data-integration job: one file, loaded through one adapter.',
  properties: {
    id: { type: 'string', description: 'Id of the job.', examples: ['job_1001'] },
    object: { type: 'string', const: 'job', description: 'Always job.' },
    organization_id: {
      type: 'string',
      description: 'Organization the job loads into.',
      examples: ['org_1'],
    },
    state: {
      type: 'string',
      enum: [...JOB_STATES],
      description: 'Where the job stands. awaiting_review: a guard asks for approval.',
    },
    phase: {
      type: ['string', 'null'],
      enum: ['reading', 'writing', 'ending', null],
      description: 'What a running job does.',
    },
    progress_pct: count('Share of the file that has been read.', 60),
    adapter: { type: 'string', description: 'Name of the adapter.', examples: ['gsa-iolp-leases'] },
    adapter_id: {
      type: ['string', 'null'],
      description: 'The kept adapter; null for a document that came with the job.',
      examples: ['adp_1042'],
    },
    adapter_version: count('Version of the adapter document.', 1),
    mode: {
      type: 'string',
      enum: ['full_snapshot', 'upsert', 'append', 'delete_marker'],
      description: 'Whether the file lists everything.',
    },
    type: {
      type: ['string', 'null'],
      description: 'Type of the objects loaded.',
      examples: ['lease'],
    },
    source: { type: 'string', description: 'Source the claims carry.', examples: ['GSA IOLP'] },
    as_of: {
      type: 'string',
      format: 'date',
      description: 'Day on which the file was true.',
      examples: ['2025-05-23'],
    },
    file: {
      type: 'object',
      description: 'The file.',
      properties: {
        name: { type: 'string', description: 'Its name.', examples: ['iolp-leases-2025-05.xlsx'] },
        byte_size: count('Its size.', 994028),
        sha256: { type: 'string', description: 'Its SHA-256.' },
      },
    },
    counts: {
      type: 'object',
      description: 'Rows of the file and what became of them; objects and facts written.',
      properties: {
        rows_read: count('Rows read.', 7523),
        rows_valid: count('Rows that could be used.', 7523),
        quarantined: count('Rows left out; see the errors.', 0),
        warnings: count('Rows of which a cell was left out.', 0),
        created: count('Objects created.', 33),
        changed: count('Objects of which a value changed.', 118),
        unchanged: count('Objects that stayed as they were.', 7310),
        ended: count('Objects the full snapshot no longer lists.', 45),
        facts: count('Facts written.', 530),
        stubs: count('Objects made in place of missing related ones.', 0),
        bytes_read: count('Bytes read.', 994028),
        bytes_total: count('Bytes to read.', 994028),
      },
    },
    changed_fields: {
      type: 'object',
      additionalProperties: { type: 'integer' },
      description: 'How many objects changed, by field.',
      examples: [{ expiration_date: 118 }],
    },
    error: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Why the job failed or waits: code, message, details.',
    },
    attempts: count('How often a worker took the job up.', 1),
    created_by: {
      type: 'string',
      description: 'Name of the key that created it.',
      examples: ['First key'],
    },
    created_at: { type: 'string', format: 'date-time', description: 'When it was accepted.' },
    started_at: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When a worker first took it.',
    },
    finished_at: { type: ['string', 'null'], format: 'date-time', description: 'When it ended.' },
  },
  required: ['id', 'object', 'state', 'counts', 'as_of', 'created_at'],
}

const jobErrorRow: JsonSchema = {
  title: 'JobError',
  type: 'object',
  description: 'A row that was left out, or a cell that was.',
  properties: {
    stream: { type: 'string', description: 'Stream of the adapter.', examples: ['leases'] },
    row: count('Row of the file, as a person sees it.', 17),
    field: {
      type: ['string', 'null'],
      description: 'Field that could not be filled.',
      examples: ['expiration_date'],
    },
    code: { type: 'string', description: 'Stable code.', examples: ['not_a_date'] },
    message: {
      type: 'string',
      description: 'What is wrong.',
      examples: ["'31/13/2027' is not a date"],
    },
    level: {
      type: 'string',
      enum: ['error', 'warning'],
      description: 'error: the row was left out; warning: only the cell.',
    },
    raw: {
      type: 'object',
      additionalProperties: true,
      description: 'The row as it stands in the file.',
    },
  },
  required: ['row', 'code', 'message', 'level'],
}

export const factSchema: JsonSchema = {
  title: 'Fact',
  type: 'object',
  description: 'One claim: a source says that a field of an object has a value from a time on.',
  properties: {
    object_id: { type: 'string', description: 'The object.', examples: ['le_1042'] },
    field: { type: 'string', description: 'The field.', examples: ['expiration_date'] },
    value: { description: 'The value; null: empty from then on.', examples: ['2030-12-31'] },
    valid_from: { type: 'string', format: 'date-time', description: 'From when it is true.' },
    valid_to: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'Until when, if the source said so.',
    },
    recorded_at: { type: 'string', format: 'date-time', description: 'When it was written here.' },
    confidence_pct: {
      type: 'number',
      description: 'How sure the source is, in percent.',
      examples: [100],
    },
    status: {
      type: 'string',
      description: 'current, superseded, conflicting or retracted.',
      examples: ['current'],
    },
    source: {
      type: 'object',
      additionalProperties: true,
      description: 'Who says so: id, kind, name, job and row.',
    },
    actor: { type: 'object', additionalProperties: true, description: 'Who wrote it: key or job.' },
    transaction: { type: 'string', description: 'Transaction that wrote it.', examples: ['tx_12'] },
  },
  required: ['field', 'value', 'valid_from', 'recorded_at', 'source'],
}

const jobId: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the job.',
  schema: { type: 'string', pattern: '^job_[0-9]+$', examples: ['job_1001'] },
}

const pageQuery: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
    cursor: { type: 'string' },
  },
}

function route(
  scope: 'read:jobs' | 'write:jobs',
  operationId: string,
  summary: string,
  description: string,
  response: Record<number, JsonSchema>,
  more: {
    parameters?: Parameter[]
    problems?: number[]
    querystring?: JsonSchema
    body?: JsonSchema
  } = {},
): RouteDocs {
  const { parameters = [], problems = [], querystring, body } = more
  return {
    config: { scope },
    schema: {
      operationId,
      summary,
      description,
      tags: ['sdis'],
      response,
      parameters,
      problems,
      ...(querystring ? { querystring } : {}),
      ...(body ? { requestBody: body } : {}),
    },
  }
}

export const createJob = route(
  'write:jobs',
  'createJob',
  'Start a data-integration job',
  'Send multipart/form-data with the parts `adapter` (the id or name of a kept adapter, or a document as YAML or JSON), `file` (workbook, CSV, JSON or PDF) and optionally `as_of`, the day on which the file was true. Answers 202 at once; follow Location. Loading the same file again writes nothing.',
  { 202: jobSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: [400, 409, 413, 415, 422],
    body: {
      title: 'JobCreate',
      description: 'A file and the adapter that says how to read it.',
      'x-content-type': 'multipart/form-data',
      type: 'object',
      required: ['adapter', 'file'],
      properties: {
        adapter: { ...ADAPTER_SCHEMA, title: 'Adapter' },
        version: {
          ...count('Version of a kept adapter; the live one when left out.', 2),
          minimum: 1,
        },
        file: {
          type: 'string',
          format: 'binary',
          description: 'The workbook, or the CSV, JSON or PDF file.',
        },
        as_of: {
          type: 'string',
          format: 'date',
          description: 'Day on which the file was true; today when left out.',
          examples: ['2025-05-23'],
        },
      },
    },
  },
)

export const listJobs = route(
  'read:jobs',
  'listJobs',
  'List jobs',
  'Jobs of the organization, newest first.',
  { 200: listSchema(jobSchema, 'JobList') },
  {
    parameters: [
      ...PAGE_PARAMETERS,
      {
        name: 'state',
        in: 'query',
        description: 'Only jobs in this state.',
        schema: { type: 'string', enum: [...JOB_STATES] },
      },
    ],
    problems: [422],
    querystring: {
      ...pageQuery,
      properties: {
        ...(pageQuery['properties'] as object),
        state: { type: 'string', enum: [...JOB_STATES] },
      },
    },
  },
)

export const getJob = route(
  'read:jobs',
  'getJob',
  'Get a job',
  'State, progress and report of a job.',
  { 200: jobSchema },
  { parameters: [jobId], problems: [404, 422] },
)

export const listJobErrors = route(
  'read:jobs',
  'listJobErrors',
  'List the errors of a job',
  'Rows and cells that were left out, in file order; the first 10,000 are kept.',
  { 200: listSchema(jobErrorRow, 'JobErrorList') },
  {
    parameters: [jobId, ...PAGE_PARAMETERS],
    problems: [404, 422],
    querystring: pageQuery,
  },
)

export const listJobFacts = route(
  'read:jobs',
  'listJobFacts',
  'List the facts of a job',
  'Every fact the job wrote.',
  { 200: listSchema(factSchema, 'FactList') },
  {
    parameters: [jobId, ...PAGE_PARAMETERS],
    problems: [404, 422],
    querystring: pageQuery,
  },
)

export const cancelJob = route(
  'write:jobs',
  'cancelJob',
  'Cancel a job',
  'Takes effect at the next chunk; what was written by then stays.',
  { 200: jobSchema },
  { parameters: [jobId, IDEMPOTENCY], problems: [404, 409, 422] },
)

export const deleteJob = route(
  'write:jobs',
  'deleteJob',
  'Cancel a job',
  'The same as cancel: a job stays in the list.',
  { 200: jobSchema },
  { parameters: [jobId], problems: [404, 422] },
)

export const approveJob = route(
  'write:jobs',
  'approveJob',
  'Approve a job',
  'Lets a job go on that waits because more objects would end than its adapter allows.',
  { 200: jobSchema },
  { parameters: [jobId, IDEMPOTENCY], problems: [404, 409, 422] },
)
