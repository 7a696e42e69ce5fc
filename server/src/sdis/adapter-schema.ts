/** The schema of adapter documents; it is also their documentation in the OpenAPI document. */
import type { JsonSchema } from '../kit/field.ts'
import {
  EXPRESSION_CHARS,
  FILE_DEFINITIONS,
  FILE_PARTS,
  schemaExpression,
  schemaText,
} from './adapter-file-schema.ts'

const entrySchema: JsonSchema = {
  description: 'Where a value comes from: an expression, or an object that says more.',
  anyOf: [
    {
      type: 'string',
      minLength: 1,
      maxLength: EXPRESSION_CHARS,
      description:
        'An expression: row.Column, row["Column"], texts in quotes, joined by +; or more of CEL.',
    },
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        from: schemaExpression('Expression that gives the value.', 'row["Lease Number"]'),
        expr: schemaExpression('Another word for `from`.', 'money(row.MonthlyRent) * 12'),
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
          enum: ['quarantine_row', 'quarantine_cell', 'null_with_issue'],
          description:
            'What a value that cannot be read does: the row is left out, the cell is, or it is stated empty.',
        },
        currency: {
          type: 'string',
          pattern: '^[A-Z]{3}$',
          description: 'Currency of an amount, and so of the object.',
          examples: ['EUR'],
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

const checkSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['id'],
  description: 'Of a record: `expr`. Of the file: `aggregate` and what to `compare` it with.',
  properties: {
    id: {
      type: 'string',
      pattern: '^[a-z0-9][a-z0-9_-]{0,79}$',
      description: 'Name of the check; issues carry it.',
      examples: ['rent-roll-total'],
    },
    expr: schemaExpression(
      'True of every good record; over its fields, row and meta.',
      'expiration_date > commencement_date',
    ),
    aggregate: schemaExpression(
      'sum, count, min, max or avg over the rows of the file, of an expression as in `expr`.',
      'sum(number(row.Rent))',
    ),
    compare: {
      anyOf: [
        { type: 'number', description: 'The number it must be.', examples: [125_000] },
        schemaExpression('Expression over meta and totals.', 'number(totals.Rent)'),
      ],
      description: 'What the aggregate must be.',
    },
    tolerance_pct: {
      type: 'number',
      minimum: 0,
      maximum: 100,
      description: 'How far from it the aggregate may be, in percent of it.',
      examples: [0.5],
    },
    level: {
      type: 'string',
      enum: ['error', 'warn'],
      description: 'error: the record, or the file, is refused. warn: it is listed.',
    },
  },
}

/** JSON Schema of the document; part of the OpenAPI document. */
export const ADAPTER_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'How the rows of a file become claims on objects.',
  required: ['adapter', 'source', 'streams'],
  $defs: { entry: entrySchema, ...FILE_DEFINITIONS },
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
    ...FILE_PARTS,
    mode: {
      description:
        'full_snapshot: the file lists everything, what it lacks has ended. upsert: it lists some. append: known ' +
        'records stay as they are. An object with delete_marker: an upsert whose marked rows end their object.',
      anyOf: [
        {
          type: 'string',
          enum: ['full_snapshot', 'upsert', 'append'],
          description: 'What the file lists.',
          examples: ['full_snapshot'],
        },
        {
          type: 'object',
          additionalProperties: false,
          required: ['delete_marker'],
          description: 'An upsert in which rows can also end their object.',
          properties: {
            delete_marker: schemaExpression('True of rows that end theirs.', "row.Status == 'DEL'"),
          },
        },
      ],
    },
    lookups: {
      type: 'object',
      maxProperties: 50,
      description: 'Tables of words by name, for the function lookup.',
      additionalProperties: {
        type: 'object',
        maxProperties: 5_000,
        additionalProperties: { type: ['string', 'number', 'boolean'] },
        description: 'What each word means.',
      },
      examples: [{ uses: { Hotel: 'hospitality' } }],
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
          key: schemaExpression(
            'Expression that identifies the object in the source.',
            'row["Lease Number"]',
          ),
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
              required: ['type', 'value'],
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
                by: {
                  description: 'Fields that tell which object it is, instead of a stream.',
                  anyOf: [
                    schemaText('The field.', 'code'),
                    {
                      type: 'array',
                      items: schemaText('A field.', 'tax_id'),
                      minItems: 1,
                      maxItems: 5,
                      description: 'The fields, tried in order.',
                    },
                  ],
                },
                value: {
                  description: 'Expression that gives its key, or one for each field of `by`.',
                  anyOf: [
                    schemaExpression('The expression.', 'row["Location Code"]'),
                    {
                      type: 'array',
                      items: schemaExpression('An expression.', 'row.Tenant'),
                      minItems: 1,
                      maxItems: 5,
                      description: 'The expressions, in the order of `by`.',
                    },
                  ],
                },
                missing: {
                  type: 'string',
                  enum: ['error', 'blank', 'create_stub', 'pending'],
                  description:
                    'When there is no such object. pending: the field is filled once the object arrives.',
                },
                stub: {
                  type: 'object',
                  additionalProperties: { $ref: '#/$defs/entry' },
                  description: 'Values of the object made in its place.',
                },
              },
            },
          },
          checks: {
            type: 'array',
            maxItems: 50,
            description: 'What must hold of each record, or of the file as a whole.',
            items: checkSchema,
          },
        },
      },
    },
  },
}
