/** The parts of an adapter document that say what the file is and how it writes its values. */
import type { JsonSchema } from '../kit/field.ts'

/** @param max characters; expressions may take more than names do. */
export function schemaText(description: string, example: string, max = 500): JsonSchema {
  return { type: 'string', minLength: 1, maxLength: max, description, examples: [example] }
}

/** Longest expression, in characters. */
export const EXPRESSION_CHARS = 2_000

export function schemaExpression(description: string, example: string): JsonSchema {
  return schemaText(description, example, EXPRESSION_CHARS)
}

const namedCell: JsonSchema = {
  description: 'A cell such as B2, or the cell to the right of a text.',
  anyOf: [
    {
      type: 'string',
      pattern: '^[A-Z]{1,3}[1-9][0-9]{0,6}$',
      description: 'The cell by its column and row.',
      examples: ['B2'],
    },
    {
      type: 'object',
      additionalProperties: false,
      required: ['right_of'],
      description: 'The first cell with a value to the right of a text.',
      properties: { right_of: schemaText('The text, as it stands or with a colon.', 'As of') },
    },
  ],
}

/** Kinds of files, and of what the platform fetches itself. */
export const SOURCE_KINDS = ['xlsx', 'csv', 'json', 'ndjson', 'pdf'] as const

/** Keywords of `source`, `locale` and `effective`. */
export const FILE_PARTS: Readonly<Record<string, JsonSchema>> = {
  source: {
    type: 'object',
    description: 'Where the data comes from and what kind of file it is.',
    additionalProperties: false,
    required: ['name', 'kind'],
    properties: {
      name: schemaText('Where the data comes from; claims carry it.', 'GSA IOLP'),
      kind: { type: 'string', enum: [...SOURCE_KINDS], description: 'Kind of file.' },
      sheet: schemaText(
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
      path: schemaText('Where the list of records stands in a JSON document.', 'data.units'),
      fill_down: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: 50,
        description: 'Columns whose blank cells mean the value above them.',
        examples: [['Property']],
      },
      merged: {
        type: 'string',
        enum: ['fill'],
        description: 'Gives all cells that a workbook merges the value of the first one.',
      },
      skip_rows_where: schemaExpression(
        'Rows that are none: totals, footers. The last of them is the totals row of checks.',
        "row.Unit.startsWith('Total')",
      ),
      cells: {
        type: 'object',
        maxProperties: 50,
        propertyNames: { pattern: '^[a-z_][a-z0-9_]{0,39}$' },
        additionalProperties: { $ref: '#/$defs/cell' },
        description: 'Cells above the header by name; expressions read them as meta.<name>.',
        examples: [{ as_of: 'B2', total: { right_of: 'Total rent' } }],
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
          'Date patterns tried in order: yyyy, yy, MMM, MM, M, dd, d and separators, or excel-serial.',
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
      from: schemaExpression(
        'Expression over meta that gives the day, when the job names none.',
        "extract(meta.title, '[0-9/]+$')",
      ),
      default: {
        type: 'string',
        enum: ['job_start', 'error'],
        description: 'What holds when `from` gives no day: the day the job starts, or nothing.',
        examples: ['error'],
      },
    },
  },
}

/** What a document says beside its parts: definitions that they refer to. */
export const FILE_DEFINITIONS = { cell: namedCell }
