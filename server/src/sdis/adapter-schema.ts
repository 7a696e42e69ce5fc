/** The schema of adapter documents; it is also their documentation in the OpenAPI document. */
import type { JsonSchema } from '../kit/field.ts'

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: 500,
  description,
  examples: [example],
})

const entrySchema: JsonSchema = {
  description: 'Where a value comes from: an expression, or an object that says more.',
  anyOf: [
    {
      type: 'string',
      minLength: 1,
      maxLength: 500,
      description: 'An expression: row.Column, row["Column"], texts in quotes, joined by +.',
    },
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        from: text('Expression that gives the value.', 'row["Lease Number"]'),
        value: { description: 'A fixed value instead of one from the row.' },
        type: {
          type: 'string',
          enum: ['text', 'integer', 'number', 'money', 'percent', 'date', 'datetime', 'boolean'],
          description: 'How to read the text; the type of the field when left out.',
        },
        date: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          maxItems: 10,
          description: 'Date patterns tried in order.',
          examples: [['MM/dd/yyyy', 'excel-serial']],
        },
        nulls: {
          type: 'array',
          items: { type: 'string' },
          maxItems: 50,
          description: 'Texts that mean blank here.',
          examples: [['0']],
        },
        options: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: "What the file's words mean.",
          examples: [{ C: 'active' }],
        },
        scale: {
          type: 'string',
          enum: ['fraction'],
          description: 'Percentages as parts of one, as workbooks hold them: 0.05 means 5 %.',
        },
        else: {
          type: 'string',
          enum: ['error', 'blank', 'keep'],
          description: 'What to do with words that have no option.',
        },
        on_error: {
          type: 'string',
          enum: ['quarantine_row', 'quarantine_cell'],
          description: 'What a value that cannot be read takes with it.',
        },
        rows: {
          type: 'string',
          enum: ['first', 'same'],
          description: 'Which of grouped rows speaks.',
        },
        object: {
          type: 'object',
          additionalProperties: { $ref: '#/$defs/entry' },
          description: 'Entries of a structured value.',
        },
        list: {
          type: 'object',
          additionalProperties: { $ref: '#/$defs/entry' },
          description: 'Entries of a list item; one item per row.',
        },
      },
    },
  ],
}

/** JSON Schema of the document; part of the OpenAPI document. */
export const ADAPTER_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'How the rows of a file become claims on objects.',
  required: ['adapter', 'source', 'streams'],
  $defs: { entry: entrySchema },
  properties: {
    adapter: {
      type: 'string',
      pattern: '^[a-z0-9][a-z0-9-]{0,79}$',
      description: 'Name of the adapter.',
      examples: ['gsa-iolp-leases'],
    },
    version: {
      type: 'integer',
      minimum: 1,
      description: 'Version of the document.',
      examples: [1],
    },
    description: { type: 'string', maxLength: 2000, description: 'What it is for.' },
    source: {
      type: 'object',
      description: 'Where the data comes from and what kind of file it is.',
      additionalProperties: false,
      required: ['name', 'kind'],
      properties: {
        name: text('Where the data comes from; claims carry it.', 'GSA IOLP'),
        kind: { type: 'string', enum: ['xlsx', 'csv'], description: 'Kind of file.' },
        sheet: text(
          'Name of the sheet, * stands for anything; the first visible one when left out.',
          'Rent Roll*',
        ),
        header: {
          type: 'object',
          description: 'How to find the row with the names of the columns.',
          additionalProperties: false,
          properties: {
            find: {
              type: 'array',
              items: { type: 'string' },
              minItems: 1,
              maxItems: 100,
              description: 'Columns by which the header row is known.',
            },
            max_scan: {
              type: 'integer',
              minimum: 1,
              maximum: 1000,
              description: 'Rows to look through for it.',
            },
          },
        },
        delimiter: {
          type: 'string',
          enum: [',', ';', '\t', '|'],
          description: 'Separator of a CSV file; found out when left out.',
        },
        encoding: {
          type: 'string',
          enum: ['utf-8', 'windows-1252'],
          description: 'Encoding of a CSV file.',
        },
        rank: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description:
            'Lower wins when sources disagree; 50 is equal to the API, 10 a system of record.',
          examples: [50],
        },
      },
    },
    locale: {
      type: 'object',
      description: 'How the file writes numbers, dates and blanks.',
      additionalProperties: false,
      properties: {
        decimal: { type: 'string', enum: ['.', ','], description: 'Decimal sign.' },
        thousands: {
          type: 'string',
          enum: [',', '.', ' ', "'", ''],
          description: 'Thousands separator.',
        },
        date: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          maxItems: 10,
          description:
            'Date patterns tried in order: yyyy, MM, M, dd, d and separators, or excel-serial.',
        },
        timezone: {
          type: 'string',
          description: "Time zone of the dates; the organization's when left out.",
          examples: ['America/New_York'],
        },
        nulls: {
          type: 'array',
          items: { type: 'string' },
          maxItems: 50,
          description: 'Texts that mean blank.',
          examples: [['', 'NA', 'n/a']],
        },
      },
    },
    effective: {
      type: 'object',
      description: 'When the file was true.',
      additionalProperties: false,
      properties: {
        date: {
          type: 'string',
          format: 'date',
          description:
            'Day on which the file was true, when the job names none; else the day the job starts.',
          examples: ['2025-05-23'],
        },
      },
    },
    mode: {
      type: 'string',
      enum: ['full_snapshot', 'upsert'],
      description:
        'full_snapshot: the file lists everything, what it lacks has ended. upsert: it lists some.',
    },
    guards: {
      type: 'object',
      description: 'What must hold of the file before it may change much.',
      additionalProperties: false,
      properties: {
        max_retract_pct: {
          type: 'number',
          minimum: 0,
          maximum: 100,
          description: 'Above this share of ended objects the job waits for approval.',
        },
        max_error_pct: {
          type: 'number',
          minimum: 0,
          maximum: 100,
          description: 'Above this share of bad rows the job fails.',
        },
        max_errors: {
          type: 'integer',
          minimum: 0,
          description: 'Above this number of bad rows the job fails.',
        },
        min_rows: {
          type: 'integer',
          minimum: 0,
          description: 'A file with fewer rows is refused.',
        },
        require_columns: {
          type: 'array',
          items: { type: 'string' },
          maxItems: 500,
          description: 'Columns the file must have.',
        },
      },
    },
    streams: {
      type: 'array',
      description: 'The objects that the rows describe; one stream for now.',
      minItems: 1,
      maxItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['type', 'key', 'map'],
        properties: {
          name: {
            type: 'string',
            pattern: '^[a-z0-9][a-z0-9_-]{0,79}$',
            description: 'Name of the stream; other adapters of the source refer to it.',
            examples: ['leases'],
          },
          type: { type: 'string', description: 'Type of the objects.', examples: ['lease'] },
          key: text('Expression that identifies the object in the source.', 'row["Lease Number"]'),
          group: { type: 'boolean', description: 'Rows with the same key are one object.' },
          map: {
            type: 'object',
            minProperties: 1,
            additionalProperties: { $ref: '#/$defs/entry' },
            description: 'Field by field, where its value comes from.',
          },
          resolve: {
            type: 'object',
            description:
              'Ids of related objects, by field; `premises.building_id` for a list item.',
            additionalProperties: {
              type: 'object',
              additionalProperties: false,
              required: ['type', 'stream', 'value'],
              properties: {
                type: {
                  type: 'string',
                  description: 'Type of the related object.',
                  examples: ['building'],
                },
                stream: {
                  type: 'string',
                  description: 'Stream of the same source it came from.',
                  examples: ['buildings'],
                },
                value: text('Expression that gives its key.', 'row["Location Code"]'),
                missing: {
                  type: 'string',
                  enum: ['error', 'blank', 'create_stub'],
                  description: 'When there is no such object.',
                },
                stub: {
                  type: 'object',
                  additionalProperties: { $ref: '#/$defs/entry' },
                  description: 'Values of the object made in its place.',
                },
              },
            },
          },
        },
      },
    },
  },
}
