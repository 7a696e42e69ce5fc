/** Documentation of what jobs leave behind: errors, diffs, run events; and of what follows from them. */
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import { count, jobId, jobSchema, open, pageQuery, route, text } from './docs.ts'
import { EFFECT_ACTIONS, FACT_ACTIONS } from './effects.ts'
import { ERROR_STATES } from './error-queries.ts'
import { ERROR_PATCH, REPLAY_SCHEMA } from './request-schema.ts'

const anyValue = (description: string, example: unknown): JsonSchema => ({
  description,
  examples: [example],
})

const errorSchema: JsonSchema = {
  title: 'JobError',
  type: 'object',
  description: 'A row that was left out, or a cell that was.',
  properties: {
    n: count('Number of the error in the job.', 1),
    stream: text('Stream of the adapter.', 'leases'),
    row: count('Row of the file, as a person sees it.', 17),
    field: {
      type: ['string', 'null'],
      description: 'Field that could not be filled.',
      examples: ['expiration_date'],
    },
    code: text('Stable code.', 'not_a_date'),
    message: text('What is wrong.', "'31/13/2027' is not a date"),
    level: {
      type: 'string',
      enum: ['error', 'warning'],
      description: 'error: the row was left out; warning: only the cell.',
      examples: ['error'],
    },
    status: {
      type: 'string',
      enum: [...ERROR_STATES],
      description: 'open: to be looked at; fixed: a replay loaded the row; ignored: not worth it.',
      examples: ['open'],
    },
    replayed_by: {
      type: ['string', 'null'],
      description: 'The job that loaded the row again.',
      examples: ['job_1003'],
    },
    raw: {
      type: 'object',
      additionalProperties: true,
      description: 'The row as it stands in the file, by column.',
      examples: [{ 'Lease Number': 'LTX17098' }],
    },
  },
  required: ['n', 'row', 'code', 'message', 'level', 'status'],
}

const list = (items: JsonSchema, description: string): JsonSchema => ({
  type: 'array',
  items,
  description,
})

const diffRowSchema: JsonSchema = {
  title: 'JobDiffRow',
  type: 'object',
  description: 'What the load would do to one object.',
  properties: {
    action: {
      type: 'string',
      enum: [...EFFECT_ACTIONS],
      description: 'unchanged: facts are written, but every current value stays as it is.',
      examples: ['changed'],
    },
    type: text('Type of the object.', 'lease'),
    key: text('Key of the record in the source.', 'LTX17098'),
    row: { type: ['integer', 'null'], description: 'Row of the file.', examples: [17] },
    object_id: {
      type: ['string', 'null'],
      description: 'The object; null for one that does not exist yet.',
      examples: ['le_1042'],
    },
    fields: list(
      {
        type: 'object',
        description: 'A current value that changes.',
        properties: {
          field: text('The field.', 'expiration_date'),
          before: anyValue('Its value now.', '2025-12-31'),
          after: anyValue('Its value then.', '2026-12-31'),
        },
      },
      'Current values that change.',
    ),
    facts: list(
      {
        type: 'object',
        description: 'A fact that would be written.',
        properties: {
          field: text('The field.', 'expiration_date'),
          value: anyValue('The value.', '2026-12-31'),
          valid_from: {
            type: 'string',
            format: 'date-time',
            description: 'From when it is true.',
            examples: ['2025-06-20T04:00:00.000Z'],
          },
          action: {
            type: 'string',
            enum: [...FACT_ACTIONS],
            description: 'corrected: the source said something else of the same time before.',
            examples: ['added'],
          },
        },
      },
      'Facts that would be written.',
    ),
    conflicts: list(
      {
        type: 'object',
        description: 'Another source claims another value.',
        properties: {
          field: text('The field.', 'rentable_area'),
          outcome: {
            type: 'string',
            enum: ['won', 'lost'],
            description: 'Whether the value of the load becomes the current one.',
            examples: ['won'],
          },
          value: anyValue('The value of the load.', 1200),
          other_value: anyValue('The value of the other source.', 1190),
          other_source: text('Its name.', 'Yardi'),
        },
      },
      'Claims of other sources that disagree.',
    ),
  },
  required: ['action', 'type', 'key', 'object_id', 'fields', 'facts', 'conflicts'],
}

const diffSchema: JsonSchema = {
  ...listSchema(diffRowSchema, 'JobDiff'),
  description: 'What a job would do: a summary, and a page of the objects it is about.',
}
const summarySchema: JsonSchema = {
  type: 'object',
  description: 'Counts of the whole diff, with samples.',
  properties: {
    objects: open('Objects by type and by what would happen to them.', {
      lease: { created: 33, changed: 118, unchanged: 7310, ended: 45 },
    }),
    facts: open('Facts by what they do.', { added: 480, corrected: 5, ended: 45, retracted: 0 }),
    current_values: count('Values of objects that would read otherwise.', 164),
    changed_fields: open('The same by field.', { expiration_date: 118 }),
    conflicts: open('Claims of other sources that disagree.', { won: 0, lost: 0 }),
    unresolved_references: count('References to objects that are not there.', 0),
    rows: open('Rows of the file.', { read: 7512, valid: 7512, quarantined: 0, warnings: 0 }),
    guards: list(
      open('A guard that would stop the load.', { code: 'too_many_ended' }),
      'Guards that would stop the load until somebody approves.',
    ),
    samples: open('Up to 20 examples of each.', { created: [], changed: [], ended: [] }),
    rows_kept: count('Objects kept in the list.', 196),
    truncated: {
      type: 'boolean',
      description: 'Whether there are objects that are not in the list.',
      examples: [false],
    },
  },
}
const jobDiff: JsonSchema = {
  ...diffSchema,
  properties: {
    ...(diffSchema['properties'] as object),
    job_id: text('The job.', 'job_1001'),
    hash: text('Hash of the whole diff.', '5f1c…'),
    summary: summarySchema,
  },
}

const statusFilter: Parameter = {
  name: 'status',
  in: 'query',
  description: 'Only errors in this state.',
  schema: { type: 'string', enum: [...ERROR_STATES], examples: ['open'] },
}

const formatParameter: Parameter = {
  name: 'format',
  in: 'query',
  description:
    'csv: the whole list as a table to correct and to replay, one line for each row of the file.',
  schema: { type: 'string', enum: ['json', 'csv'], default: 'json', examples: ['csv'] },
}

export const listJobErrors = route(
  'read:jobs',
  'listJobErrors',
  'List the errors of a job',
  'Rows and cells that were left out, in file order; the first 10,000 are kept, for 90 days. With `format=csv` all of them as one table with the columns of the file.',
  {
    200: {
      ...listSchema(errorSchema, 'JobErrorList'),
      'x-content-type': ['application/json', 'text/csv'],
    },
  },
  {
    parameters: [jobId, ...PAGE_PARAMETERS, statusFilter, formatParameter],
    problems: [404, 422],
    querystring: {
      ...pageQuery,
      properties: {
        ...(pageQuery['properties'] as object),
        status: statusFilter.schema,
        format: formatParameter.schema,
      },
    },
  },
)

export const patchJobError = route(
  'write:jobs',
  'updateJobError',
  'Change the state of an error',
  'Marks an error as fixed or ignored, or opens it again. A replay does so by itself for the rows it loads.',
  { 200: errorSchema },
  {
    parameters: [
      jobId,
      {
        name: 'n',
        in: 'path',
        required: true,
        description: 'Number of the error.',
        schema: { type: 'string', pattern: '^[0-9]+$', examples: ['1'] },
      },
    ],
    problems: [400, 404, 413, 415, 422],
    validated: ERROR_PATCH,
  },
)

const CORRECTED: JsonSchema = {
  ...text(
    'The table of errors, corrected; or rows in NDJSON.',
    'error_row,Code,Name\r\n17,A,Alpha\r\n',
  ),
  title: 'CorrectedRows',
}

export const replayJob = route(
  'write:jobs',
  'replayJob',
  'Replay rows of a job',
  'Loads rows that a job left out, as a child job for the same day: corrected ones, given as rows or as the table of errors after editing; or, without rows, the open errors as they were, for instance with a newer adapter. What is loaded is marked as fixed.',
  { 202: jobSchema },
  {
    parameters: [jobId, IDEMPOTENCY],
    problems: [400, 404, 409, 413, 415, 422],
    body: {
      content: {
        'application/json': { schema: REPLAY_SCHEMA },
        'text/csv': { schema: CORRECTED },
        'application/x-ndjson': { schema: CORRECTED },
      },
    },
  },
)

export const undoJob = route(
  'write:jobs',
  'undoJob',
  'Undo a job',
  'Takes back what a job wrote, as a child job with facts of its own: its claims are retracted, what the source had said before holds again, objects that it made are deleted. The last job of a stream comes first; 409 names the later one, or the merges of what the job made. What was merged and was there before is taken back where it stands. The job fails before it writes when other objects need what would be deleted.',
  { 202: jobSchema },
  { parameters: [jobId, IDEMPOTENCY], problems: [404, 409, 422] },
)

export const getJobDiff = route(
  'read:jobs',
  'getJobDiff',
  'Get the diff of a job',
  'What a dry run, or a job that waits for approval, would do. 404 when the job was not checked.',
  { 200: jobDiff },
  {
    parameters: [
      jobId,
      ...PAGE_PARAMETERS,
      {
        name: 'action',
        in: 'query',
        description: 'Only objects to which this would happen.',
        schema: { type: 'string', enum: [...EFFECT_ACTIONS], examples: ['changed'] },
      },
    ],
    problems: [404, 422],
    querystring: {
      ...pageQuery,
      properties: {
        ...(pageQuery['properties'] as object),
        action: { type: 'string', enum: [...EFFECT_ACTIONS] },
      },
    },
  },
)
