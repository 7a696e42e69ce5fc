/** Schemas of what clients send about jobs. */
import type { JsonSchema } from '../kit/field.ts'
import { ADAPTER_SCHEMA } from './adapter-schema.ts'

export const AS_OF: JsonSchema = {
  type: 'string',
  format: 'date',
  description: 'Day on which the data was true; today when left out.',
  examples: ['2025-05-23'],
}

export const MODE: JsonSchema = {
  type: 'string',
  enum: ['apply', 'dry_run'],
  description: 'dry_run: finds out what would change and writes nothing; see the diff of the job.',
  examples: ['dry_run'],
}

export const VERSION: JsonSchema = {
  type: 'integer',
  minimum: 1,
  description: 'Version of a registered adapter; the live one when left out.',
  examples: [3],
}

export const OPTIONS_SCHEMA: JsonSchema = {
  title: 'JobOptions',
  type: 'object',
  description: 'How the job is run.',
  additionalProperties: false,
  properties: {
    approve: {
      type: 'string',
      enum: ['always', 'guards'],
      description:
        'always: the job waits for approval of what it would change; guards: only when a guard trips.',
      examples: ['guards'],
    },
    atomic: {
      type: 'boolean',
      description: 'All or nothing: the file is written as one transaction.',
      examples: [true],
    },
    force: {
      type: 'boolean',
      description: 'Looks at every row, also at those that are as they were in the last file.',
      examples: [false],
    },
    on_error: {
      type: 'string',
      enum: ['quarantine', 'stop'],
      description: 'quarantine: bad rows are left out; stop: the first one ends the job.',
      examples: ['quarantine'],
    },
    diff: {
      type: 'string',
      pattern: '^job_[0-9]+$',
      description: 'A dry run: the job writes only if it would do exactly the same.',
      examples: ['job_1001'],
    },
  },
}

/** A document, or the name of a registered one. The document itself is checked with its references. */
export const ADAPTER_GIVEN: JsonSchema = {
  description: 'The adapter document.',
  type: ['object', 'string'],
  examples: [
    {
      adapter: 'buildings',
      source: { name: 'Excel of the manager', kind: 'csv' },
      streams: [{ type: 'building', key: 'row.Code', map: { code: 'row.Code', name: 'row.Name' } }],
    },
  ],
}

export const INLINE: JsonSchema = {
  type: ['string', 'array'],
  description: 'The data itself: the text of a CSV file, or rows as objects by column.',
  minLength: 1,
  minItems: 1,
  maxItems: 100_000,
  items: { type: 'object', additionalProperties: true, description: 'A row, by column.' },
  examples: [[{ Code: 'A', Name: 'Alpha' }]],
}

/** The JSON body of a new job. */
export const JOB_SCHEMA: JsonSchema = {
  title: 'JobCreateJson',
  type: 'object',
  description: 'Data and the adapter that says how to read it.',
  additionalProperties: false,
  required: ['adapter'],
  properties: {
    adapter: ADAPTER_GIVEN,
    version: VERSION,
    mode: MODE,
    input: {
      type: 'object',
      description:
        'Where the data is: one of inline, document_id and connection. Not needed for an adapter whose source is rest or postgres.',
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      properties: {
        inline: INLINE,
        connection: {
          type: 'string',
          minLength: 1,
          maxLength: 200,
          description:
            'Name or id of the connection that is asked, instead of the one that the adapter names.',
          examples: ['cnx_1042'],
        },
        document_id: {
          type: 'string',
          pattern: '^doc_[0-9]+$',
          description: 'A document whose current file is loaded.',
          examples: ['doc_5001'],
        },
      },
      examples: [{ inline: [{ Code: 'A', Name: 'Alpha' }] }],
    },
    as_of: AS_OF,
    options: OPTIONS_SCHEMA,
  },
}

/** The multipart body of a new job. */
export const JOB_FORM: JsonSchema = {
  title: 'JobCreate',
  description: 'A file and the adapter that says how to read it.',
  type: 'object',
  required: ['adapter', 'file'],
  properties: {
    adapter: { ...ADAPTER_SCHEMA, title: 'Adapter' },
    version: VERSION,
    mode: MODE,
    file: {
      type: 'string',
      format: 'binary',
      description: 'The workbook, or the CSV, JSON or PDF file.',
    },
    as_of: AS_OF,
    options: OPTIONS_SCHEMA,
  },
}

/** The JSON body of a replay. */
export const REPLAY_SCHEMA: JsonSchema = {
  title: 'JobReplay',
  type: 'object',
  description: 'Corrected rows, another adapter, or both; without either, the same rows again.',
  additionalProperties: false,
  properties: {
    adapter: ADAPTER_GIVEN,
    version: VERSION,
    rows: {
      ...INLINE,
      description:
        'Corrected rows: objects by column, or a text in CSV or NDJSON. error_row says which row of the file one corrects. The open errors of the job when left out.',
      examples: [[{ error_row: 17, Code: 'A', Name: 'Alpha', Area: '1200' }]],
    },
  },
}

export const ERROR_PATCH: JsonSchema = {
  title: 'JobErrorPatch',
  type: 'object',
  description: 'The state of an error.',
  additionalProperties: false,
  required: ['status'],
  properties: {
    status: {
      type: 'string',
      enum: ['open', 'fixed', 'ignored'],
      description: 'open: to be looked at; fixed: loaded since; ignored: not worth it.',
      examples: ['ignored'],
    },
  },
}
