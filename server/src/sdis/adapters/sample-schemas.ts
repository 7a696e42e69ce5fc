/** Schemas of previews and proposals. */
import { nullable } from '../../kit/field.ts'
import type { JsonSchema } from '../../kit/field.ts'
import { TYPES } from './infer/targets.ts'
import { constant, count, documentSchema, flag, SHA256, text } from './schemas.ts'

const number = (description: string, example: number): JsonSchema => ({
  type: 'number',
  description,
  examples: [example],
})

const list = (items: JsonSchema, description: string): JsonSchema => ({
  type: 'array',
  items,
  description,
})

const words = (description: string, example: string[]): JsonSchema => ({
  ...list({ type: 'string' }, description),
  examples: [example],
})

const confidence = number('How sure the proposal is, 0 to 1.', 0.92)
const reason = text('Why.', "its name is like 'year built' (100 %)")

const fileProperties = {
  name: text('Its name.', 'seattle-energy-2016.csv'),
  byte_size: count('Its size.', 1_322_839),
  sha256: text('Its SHA-256.', SHA256),
}

const issueSchema: JsonSchema = {
  type: 'object',
  description: 'What is wrong with a row or a cell.',
  properties: {
    stream: text('Stream of the adapter.', 'buildings'),
    row: count('Row of the file.', 17),
    field: nullable(text('Field that could not be filled.', 'year_built')),
    code: text('Stable code.', 'not_a_number'),
    message: text('What is wrong.', "'unknown' is not a number"),
    level: text('error: the row is left out; warning: only the cell.', 'warning'),
  },
}

const suggestionSchema: JsonSchema = {
  title: 'MappingSuggestion',
  type: 'object',
  description: 'A field and how it would be filled.',
  properties: {
    field: text('Path of the field.', 'address.city'),
    column: nullable(text('The column; null for a fixed value.', 'City')),
    entry: { description: 'What stands beside the field in the document.', examples: ['row.City'] },
    confidence,
    reason,
  },
  required: ['field', 'column', 'entry', 'confidence', 'reason'],
}

const columnProperties = {
  name: text('Its name.', 'YearBuilt'),
  type: {
    type: 'string',
    enum: ['empty', 'integer', 'number', 'percent', 'money', 'date', 'boolean', 'text'],
    description: 'What its values are.',
  },
  fits_pct: number('Share of the values that are of the type.', 100),
  blank_pct: number('Share of the rows without a value; words such as N/A count as none.', 0.4),
  distinct: count('Different values.', 113),
  unique: flag('Whether every row has another value.', false),
  date: nullable(text('How its dates are written.', 'MM/dd/yyyy')),
  units: words('Units that its name says.', ['kbtu', 'sqft']),
  samples: words('Some of its values.', ['1927', '1996']),
}

export const previewSchema: JsonSchema = {
  title: 'AdapterPreview',
  type: 'object',
  description: 'The first rows of a file, as they stand in it and as the adapter reads them.',
  properties: {
    object: constant('adapter_preview'),
    adapter_id: text('The adapter.', 'adp_1042'),
    version: count('The version that was tried.', 1),
    file: { type: 'object', description: 'The file.', properties: fileProperties },
    header_row: count('Row with the names of the columns.', 1),
    complete: flag('Whether the file has no more rows.', false),
    counts: {
      type: 'object',
      description: 'What became of the rows.',
      properties: {
        rows: count('Rows that were read.', 100),
        records: count('Objects that they describe.', 100),
        errors: count('Rows that could not be used.', 0),
        warnings: count('Further rows of which a cell was left out.', 2),
      },
    },
    columns: list(
      {
        type: 'object',
        description: 'A column.',
        properties: {
          ...columnProperties,
          mapped: flag('Whether the adapter reads it.', true),
          suggestion: {
            ...suggestionSchema,
            title: 'ColumnSuggestion',
            type: ['object', 'null'],
            description: 'What it could fill, when the adapter does not read it.',
          },
        },
      },
      'Every column, with what its values look like.',
    ),
    rows: list(
      {
        type: 'object',
        description: 'A row, side by side.',
        properties: {
          row: count('Row of the file.', 2),
          raw: {
            type: 'object',
            additionalProperties: true,
            description: 'As it stands in the file.',
            examples: [{ City: 'Seattle' }],
          },
          mapped: list(
            {
              type: 'object',
              description: 'An object that the row describes, or is part of.',
              properties: {
                stream: text('Stream of the adapter.', 'buildings'),
                type: text('Type of the object.', 'building'),
                key: text('What identifies it in the source.', '1'),
                values: {
                  type: 'object',
                  additionalProperties: true,
                  description: 'Its values; $ref stands for a related object and its key.',
                  examples: [{ year_built: 1927 }],
                },
              },
            },
            'As the adapter reads it; empty when the row cannot be used.',
          ),
          issues: list(issueSchema, 'What is wrong with it.'),
        },
      },
      'The rows.',
    ),
    took_ms: count('Milliseconds it took to read and map them.', 140),
  },
  required: ['object', 'adapter_id', 'version', 'file', 'counts', 'columns', 'rows'],
}

export const proposalSchema: JsonSchema = {
  title: 'AdapterProposal',
  type: 'object',
  description: 'An adapter document for a file, with the grounds for every part of it.',
  properties: {
    object: constant('adapter_proposal'),
    document: documentSchema,
    file: {
      type: 'object',
      description: 'The file, and how much of it was looked at.',
      properties: {
        ...fileProperties,
        header_row: count('Row with the names of the columns.', 1),
        rows: count('Rows looked at.', 2_000),
        complete: flag('Whether these are all of them.', false),
      },
    },
    type: {
      type: 'object',
      description: 'What the rows describe.',
      properties: {
        value: { type: 'string', enum: [...TYPES], description: 'Type of the objects.' },
        confidence,
        reason,
        alternatives: list(
          {
            type: 'object',
            additionalProperties: true,
            description: 'A type and how many fields fit.',
          },
          'What else they could be.',
        ),
      },
    },
    key: {
      type: 'object',
      description: 'What tells the objects apart.',
      properties: {
        expression: text('The key of the stream.', 'row.OSEBuildingID'),
        columns: words('Columns it is made of.', ['OSEBuildingID']),
        group: flag('Whether rows with the same key are one object.', false),
        confidence,
        reason,
        alternatives: list(
          {
            type: 'object',
            additionalProperties: true,
            description: 'A key and how likely it is.',
          },
          'Other keys that would do.',
        ),
      },
    },
    mapping: list(suggestionSchema, 'Every field that is filled, with how sure that is and why.'),
    unmapped: list(
      {
        type: 'object',
        description: 'A column that fills nothing.',
        properties: {
          column: text('The column.', 'CouncilDistrictCode'),
          type: text('What its values are.', 'integer'),
          reason,
          suggestions: list(suggestionSchema, 'Fields that it could fill, less likely ones.'),
        },
      },
      'Columns that are left out.',
    ),
    missing: words('Fields that an object should have and no column fills.', ['property_id']),
    columns: list(
      { type: 'object', description: 'A column.', properties: columnProperties },
      'Every column, with what its values look like.',
    ),
    check: {
      type: 'object',
      description: 'How the first rows fare with the document.',
      properties: {
        rows: count('Rows it was tried on.', 100),
        records: count('Objects that they describe.', 100),
        errors: count('Rows that could not be used.', 0),
        issues: list(issueSchema, 'What is wrong with them; the first 20.'),
      },
    },
  },
  required: ['object', 'document', 'type', 'key', 'mapping', 'unmapped', 'check'],
}

const inline: JsonSchema = {
  ...text('The text of a CSV file, instead of a file.', 'Code,Name\nA,Alpha\n'),
  minLength: 1,
}

const file: JsonSchema = {
  type: 'string',
  format: 'binary',
  description: 'The file; only its first rows are read.',
}

const rows: JsonSchema = {
  ...count('Rows to show, 100 unless told.', 100),
  minimum: 1,
  maximum: 100,
}

const version: JsonSchema = { ...count('The version; the newest unless told.', 1), minimum: 1 }

const known: Record<string, JsonSchema> = {
  type: {
    ...text('What the rows describe, where you know it.', 'building'),
    enum: [...TYPES],
  },
  name: {
    ...text('Name of the adapter; made from that of the file otherwise.', 'seattle-energy'),
    pattern: '^[a-z0-9][a-z0-9-]{0,79}$',
  },
  source: {
    ...text('Where the data comes from; claims carry it.', 'Seattle energy benchmarking'),
    minLength: 1,
    maxLength: 200,
  },
}

/** The fields of a request, sent as JSON with a text or as a form with a file. */
function bodies(
  title: string,
  description: string,
  fields: Record<string, JsonSchema>,
): { json: JsonSchema; content: JsonSchema } {
  const json: JsonSchema = {
    title,
    type: 'object',
    description,
    additionalProperties: false,
    required: ['inline'],
    properties: { inline, ...fields },
  }
  const form: JsonSchema = {
    title: `${title}Form`,
    type: 'object',
    description,
    required: ['file'],
    properties: { file, ...fields },
  }
  const content = { 'multipart/form-data': { schema: form }, 'application/json': { schema: json } }
  return { json, content: { content } }
}

export const previewBodies = bodies('AdapterPreviewRequest', 'A sample to try a version on.', {
  version,
  rows,
})

export const inferBodies = bodies(
  'AdapterInferRequest',
  'A sample to propose an adapter for.',
  known,
)
