/** Documentation of the job endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { JOB_KINDS, JOB_STATES, PHASES } from './jobs.ts'
import { JOB_FORM, JOB_SCHEMA, OPTIONS_SCHEMA } from './request-schema.ts'

export const count = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

export const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

/** An object whose names are data. */
export const open = (description: string, example: unknown): JsonSchema => ({
  type: 'object',
  additionalProperties: true,
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
    kind: {
      type: 'string',
      enum: [...JOB_KINDS],
      description:
        'load: a file; replay: corrected rows of another job; undo: takes back what another job wrote.',
      examples: ['load'],
    },
    state: {
      type: 'string',
      enum: [...JOB_STATES],
      description: 'Where the job stands. awaiting_review: a guard asks for approval.',
      examples: ['running'],
    },
    phase: {
      type: ['string', 'null'],
      enum: [...PHASES, null],
      description: 'What a running job does.',
      examples: ['writing'],
    },
    progress_pct: count('Share of the file that has been read.', 60),
    rows_per_s: {
      type: ['integer', 'null'],
      description: 'Rows per second of the present attempt; null when the job does not run.',
      examples: [21000],
    },
    eta_s: {
      type: ['integer', 'null'],
      description: 'Seconds left at that pace.',
      examples: [12],
    },
    dry_run: {
      type: 'boolean',
      description: 'Finds out what would change and writes nothing.',
      examples: [false],
    },
    options: OPTIONS_SCHEMA,
    parent_job_id: {
      type: ['string', 'null'],
      description: 'The job that this one undoes or replays rows of.',
      examples: ['job_1000'],
    },
    undone_by: {
      type: ['string', 'null'],
      description: 'The job that took back what this one wrote.',
      examples: ['job_1002'],
    },
    diff_hash: {
      type: ['string', 'null'],
      description:
        'Hash of what a check found; two checks with the same hash would write the same.',
      examples: ['5f1c…'],
    },
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
    approval_until: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'Until when a job that waits can be approved.',
      examples: ['2025-05-30T09:00:00Z'],
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

export const jobId: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the job.',
  schema: { type: 'string', pattern: '^job_[0-9]+$', examples: ['job_1001'] },
}

export const pageQuery: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
    cursor: { type: 'string' },
  },
}

export function route(
  scope: 'read:jobs' | 'write:jobs',
  operationId: string,
  summary: string,
  description: string,
  response: Record<number, JsonSchema>,
  more: {
    parameters?: Parameter[]
    problems?: number[]
    querystring?: JsonSchema
    /** Read by the route itself. */
    body?: JsonSchema
    /** Checked before the route sees it. */
    validated?: JsonSchema
  } = {},
): RouteDocs {
  const { parameters = [], problems = [], querystring, body, validated } = more
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
      ...(validated ? { body: validated } : {}),
    },
  }
}

export const createJob = route(
  'write:jobs',
  'createJob',
  'Start a data-integration job',
  'Send multipart/form-data with the parts `adapter` (the id or name of a kept adapter, or a document as YAML or JSON), `file` and optionally `as_of`, the day on which the file was true; or JSON with the data in `input`; or JSON without input for an adapter that asks its source itself. With `mode: dry_run` nothing is written: the diff of the job says what would be. Answers 202 at once; follow Location. Loading the same file again writes nothing.',
  { 202: jobSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: [400, 404, 409, 413, 415, 422],
    body: {
      content: {
        'multipart/form-data': { schema: JOB_FORM },
        'application/json': { schema: JOB_SCHEMA },
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

export const listJobFacts = route(
  'read:jobs',
  'listJobFacts',
  'List the facts of a job',
  'Every fact the job wrote, and those it took back, which are retracted.',
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
  'Takes effect at the next chunk; what was written by then stays until the job is undone. An atomic job writes nothing.',
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
  'Lets a job go on that waits in awaiting_review: because a guard of its adapter tripped, or because its options ask for approval. A job that nobody approves within 7 days is cancelled.',
  { 200: jobSchema },
  { parameters: [jobId, IDEMPOTENCY], problems: [404, 409, 422] },
)
