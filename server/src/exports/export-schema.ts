/** The schema of an export, apart from the endpoints: the catalogue of events shows it too. */
import type { JsonSchema } from '../kit/field.ts'
import { EXPORT_STATES, EXPORT_TYPES } from './model.ts'

const count = (description: string, example: number): JsonSchema => ({
  type: ['integer', 'null'],
  description,
  examples: [example],
})

const time = (description: string): JsonSchema => ({
  type: ['string', 'null'],
  format: 'date-time',
  description,
})

export const exportSchema: JsonSchema = {
  title: 'Export',
  type: 'object',
  description: 'A list that is written to a file in the background.',
  properties: {
    id: { type: 'string', description: 'Id of the export.', examples: ['xpt_1042'] },
    object: { type: 'string', const: 'export', description: 'Always export.' },
    organization_id: { type: 'string', description: 'Whose list it is.', examples: ['org_1'] },
    type: { type: 'string', description: 'Type of the objects.', examples: ['lease'] },
    format: { type: 'string', enum: Object.keys(EXPORT_TYPES), description: 'Form of the file.' },
    query: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'The query of the list, by parameter.',
      examples: [{ status: 'active', sort: 'expiration_date' }],
    },
    state: {
      type: 'string',
      enum: [...EXPORT_STATES],
      description: 'Where it stands; expired when its file was removed.',
    },
    progress_pct: {
      type: 'integer',
      description: 'Share of the rows that has been written.',
      examples: [60],
    },
    rows_total: count('Rows there were when it began.', 7473),
    rows_written: count('Rows in the file so far.', 4500),
    file: {
      type: ['object', 'null'],
      description: 'The file; null while there is none.',
      properties: {
        name: { type: 'string', description: 'Its name.', examples: ['leases-2026-05-12.parquet'] },
        byte_size: { type: 'integer', description: 'Its size.', examples: [812_331] },
        sha256: { type: 'string', description: 'Its SHA-256.' },
        content_type: { type: 'string', description: 'Its media type.', examples: ['text/csv'] },
        url: {
          type: 'string',
          description: 'Where to download it, with a key.',
          examples: ['/api/v1/exports/xpt_1042/content'],
        },
      },
      required: ['name', 'byte_size', 'sha256', 'content_type', 'url'],
    },
    error: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Why it failed: code and message.',
    },
    attempts: { type: 'integer', description: 'How often a worker took it up.', examples: [1] },
    created_by: { type: 'string', description: 'Name of the key.', examples: ['First key'] },
    created_at: { type: 'string', format: 'date-time', description: 'When it was asked for.' },
    started_at: time('When a worker first took it up.'),
    finished_at: time('When it ended.'),
    expires_at: time('When the file is removed.'),
  },
  required: ['id', 'object', 'type', 'format', 'query', 'state', 'file', 'error', 'created_at'],
}
