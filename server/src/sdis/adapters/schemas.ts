/** Schemas of kept adapters and of what is sent to change them. */
import { nullable } from '../../kit/field.ts'
import type { JsonSchema } from '../../kit/field.ts'
import { ADAPTER_SCHEMA } from '../adapter-schema.ts'
import { VERSION_STATES } from './types.ts'

export const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

export const count = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

const time = (description: string): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: ['2026-05-12T08:00:00.000Z'],
})

export const flag = (description: string, example: boolean): JsonSchema => ({
  type: 'boolean',
  description,
  examples: [example],
})

export const constant = (value: string): JsonSchema => ({
  type: 'string',
  const: value,
  description: `Always ${value}.`,
})

export const SHA256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'

export const adapterSchema: JsonSchema = {
  title: 'KeptAdapter',
  type: 'object',
  description: 'An adapter that the service keeps, with numbered versions of its document.',
  properties: {
    id: text('Id of the adapter.', 'adp_1042'),
    object: constant('adapter'),
    organization_id: text('Organization that it belongs to.', 'org_1'),
    name: text('Name in its documents; jobs may call it by this.', 'gsa-iolp-leases'),
    latest_version: count('Number of the newest version.', 3),
    live_version: nullable(
      count('Version by which jobs read files unless they name one; null when none is live.', 2),
    ),
    previous_version: nullable(count('Version that a rollback would make live.', 1)),
    require_second_person: flag('Whether the author of a version may not make it live.', false),
    version: count('Counts the changes of the adapter itself.', 1),
    created_by: text('Name of the key that created it.', 'First key'),
    created_at: time('When it was created.'),
    updated_at: time('When it or one of its versions was last changed.'),
  },
  required: ['id', 'object', 'name', 'latest_version', 'live_version', 'version', 'created_at'],
}

/** A document that every check passes; also the example of requests. */
const EXAMPLE_DOCUMENT = {
  adapter: 'suppliers',
  source: { name: 'Purchasing', kind: 'csv' },
  streams: [
    {
      type: 'party',
      key: 'row["Supplier No"]',
      map: { kind: { value: 'company' }, legal_name: 'row.Name' },
    },
  ],
}

export const documentSchema: JsonSchema = {
  ...ADAPTER_SCHEMA,
  title: 'Adapter',
  examples: [EXAMPLE_DOCUMENT],
}

/** A document as it is sent. What is in it is checked by `readAdapter`, which names every fault. */
const sentDocument: JsonSchema = {
  type: ['object', 'string'],
  description:
    'The adapter document, as JSON or as YAML text. Its version is given by the service, whatever it says.',
  examples: [EXAMPLE_DOCUMENT],
}

const secondPerson: JsonSchema = flag(
  'Whether the author of a version may not make it live; another key has to.',
  false,
)

export const previewNote: JsonSchema = {
  type: ['object', 'null'],
  description: 'The last preview of this document.',
  properties: {
    at: time('When it was made.'),
    hash: text('The document it was made with.', SHA256),
    file_sha256: text('SHA-256 of the sample.', SHA256),
    rows: count('Rows it looked at.', 100),
    errors: count('Rows among them that could not be used.', 0),
  },
}

export const versionSchema: JsonSchema = {
  title: 'AdapterVersion',
  type: 'object',
  description: 'One version of an adapter document; once tested it does not change any more.',
  properties: {
    object: constant('adapter_version'),
    adapter_id: text('The adapter.', 'adp_1042'),
    version: count('Number of the version.', 1),
    state: {
      type: 'string',
      enum: [...VERSION_STATES],
      description:
        'draft: may be changed; tested: fixed, may go live; live: read by; superseded: was live.',
    },
    hash: text('SHA-256 of what the document means, its number aside.', SHA256),
    document: { type: 'object', additionalProperties: true, description: 'The document.' },
    preview: previewNote,
    tested: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'What it was tested by: a job or a preview, when, and how many rows.',
      examples: [{ by: 'job', job_id: 'job_1001', rows: 3376, quarantined: 0 }],
    },
    created_by: text('Name of the key that wrote it last.', 'First key'),
    created_at: time('When it was created.'),
    updated_at: time('When it was last changed.'),
    live_at: nullable(time('When it last went live.')),
  },
  required: ['object', 'adapter_id', 'version', 'state', 'hash', 'document', 'created_at'],
}

export const createBody: JsonSchema = {
  title: 'KeptAdapterCreate',
  type: 'object',
  description: 'A new adapter.',
  additionalProperties: false,
  required: ['document'],
  properties: { document: sentDocument, require_second_person: secondPerson },
}

export const patchBody: JsonSchema = {
  title: 'KeptAdapterPatch',
  type: 'object',
  description: 'Settings of the adapter to change.',
  additionalProperties: false,
  properties: { require_second_person: secondPerson },
}

export const versionBody: JsonSchema = {
  title: 'AdapterVersionWrite',
  type: 'object',
  description: 'The document, whole.',
  additionalProperties: false,
  required: ['document'],
  properties: { document: sentDocument },
}

export const testBody: JsonSchema = {
  title: 'AdapterTest',
  type: 'object',
  description: 'What the version was tested by.',
  additionalProperties: false,
  properties: {
    job_id: {
      ...text(
        'A completed job, of the organization or one of its sandboxes, that ran this very document; the last preview when left out.',
        'job_1001',
      ),
      pattern: '^job_[0-9]+$',
    },
  },
}

const reason: JsonSchema = {
  ...text('Why; kept in the audit log.', 'New column layout since May.'),
  minLength: 1,
  maxLength: 1_000,
}

export const promoteBody: JsonSchema = {
  title: 'AdapterPromotion',
  type: 'object',
  description: 'The version that goes live, and the diff that was read before.',
  additionalProperties: false,
  required: ['version', 'job_id', 'diff_hash'],
  properties: {
    version: { ...count('The version.', 1), minimum: 1 },
    job_id: {
      ...text('The completed job in mode dry_run that ran it.', 'job_1001'),
      pattern: '^job_[0-9]+$',
    },
    diff_hash: {
      ...text('Its diff_hash, as the job tells it.', SHA256),
      minLength: 1,
      maxLength: 200,
    },
    reason,
  },
}

export const rollbackBody: JsonSchema = {
  title: 'AdapterRollbackRequest',
  type: 'object',
  description: 'Why the adapter goes back.',
  additionalProperties: false,
  properties: { reason },
}

const undoable: JsonSchema = {
  type: 'object',
  description: 'A job that wrote through the version.',
  properties: {
    id: text('Id of the job.', 'job_1001'),
    state: text('How it ended.', 'completed'),
    as_of: { ...text('Day its file was true.', '2025-06-20'), format: 'date' },
    file_name: text('Its file.', 'iolp-leases-2025-06.xlsx'),
    finished_at: time('When it ended.'),
  },
}

export const rollbackSchema: JsonSchema = {
  title: 'AdapterRollback',
  type: 'object',
  description: 'What a rollback did, and what it leaves to decide.',
  properties: {
    object: constant('adapter_rollback'),
    adapter: adapterSchema,
    from_version: count('The version that was live.', 3),
    to_version: count('The version that is live now.', 2),
    undo: {
      type: 'array',
      items: undoable,
      description:
        'Jobs that wrote through the version taken back, last first: undo them in this order to take back what they wrote. At most 200.',
    },
  },
  required: ['object', 'adapter', 'from_version', 'to_version', 'undo'],
}
