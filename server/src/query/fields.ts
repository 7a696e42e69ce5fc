/** JSON Schema of the query document. */
import type { JsonSchema } from '../kit/field.ts'
import { GROUPS_MAX, ORDER_MAX, ROWS_MAX, SELECT_MAX } from './types.ts'

const path: JsonSchema = { type: 'string', minLength: 1, maxLength: 200 }

const tree = (description: string, example: object): JsonSchema => ({
  type: 'object',
  additionalProperties: true,
  description,
  examples: [example],
})

export const asOfSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'Values as they were: folded from their facts, for at most 10,000 objects. Of facts: those recorded by then, of what was true then.',
  properties: {
    valid_at: {
      type: 'string',
      maxLength: 40,
      description: 'As they were true at the end of this day, or at this time.',
      examples: ['2026-03-31'],
    },
    known_at: {
      type: 'string',
      maxLength: 40,
      description: 'As they had been recorded by this time.',
      examples: ['2026-04-15T00:00:00Z'],
    },
  },
}

export const limitSchema: JsonSchema = {
  type: 'integer',
  minimum: 1,
  maximum: ROWS_MAX,
  description: `Rows of the page, 1 to ${ROWS_MAX}; 50 when left out.`,
  examples: [200],
}

export const cursorSchema: JsonSchema = {
  type: 'string',
  maxLength: 4_000,
  description:
    'Where to go on: next_cursor of the page before, with the same from, where, order_by and as_of.',
}

export const formatSchema: JsonSchema = {
  type: 'string',
  enum: ['json', 'csv'],
  description: 'csv answers the rows as a table; so does the header Accept: text/csv.',
  examples: ['json'],
}

export const explainSchema: JsonSchema = {
  type: 'boolean',
  description: 'Only says how it would be done: what is scanned and what it is thought to cost.',
  examples: [false],
}

/** What decides which rows come in which order: the part of a query that is saved. */
export const coreProperties: Record<string, JsonSchema> = {
  from: {
    type: 'string',
    minLength: 1,
    maxLength: 60,
    description: 'What is read: a type such as lease, or fact, or schema.',
    examples: ['lease'],
  },
  select: {
    type: 'array',
    minItems: 1,
    maxItems: SELECT_MAX,
    description:
      'Columns of the answer: fields, fields over relations such as tenant.display_name at most three relations away, ext.name, and aggregates such as {"sum": "rentable_area", "as": "area"}: count, count_distinct, sum, avg, min, max. {"field": ..., "as": ...} renames. Every field with a column when left out.',
    items: {
      type: ['string', 'object'],
      minLength: 1,
      maxLength: 200,
      minProperties: 1,
      maxProperties: 2,
      additionalProperties: path,
    },
    examples: [['id', 'status', 'tenant.display_name']],
  },
  where: tree(
    'Conditions, all of which hold: {"status": "active"}, {"rentable_area": {"gte": 5000}}, {"id": ["le_1", "le_2"]}, {"move_out_date": null}; and, or and not nest. The operators are those of list filters. Archived objects are left out unless archived_at is named.',
    { and: [{ status: 'active' }, { 'property.status': 'owned' }] },
  ),
  group_by: {
    type: 'array',
    maxItems: GROUPS_MAX,
    items: path,
    description: `Fields whose values make a group; the answer has no pages then, and at most ${ROWS_MAX} groups.`,
    examples: [['property_id']],
  },
  having: tree('Conditions on the columns of groups, by the names they have in select.', {
    count: { gt: 1 },
  }),
  order_by: {
    type: 'array',
    maxItems: ORDER_MAX,
    description:
      'Fields, or names of columns where rows are grouped, each with asc or desc. Nulls come last; the id decides ties.',
    items: {
      type: 'array',
      minItems: 1,
      maxItems: 2,
      items: path,
      description: 'A field, and asc or desc.',
    },
    examples: [[['expiration_date', 'desc']]],
  },
  as_of: asOfSchema,
}

export const querySchema: JsonSchema = {
  title: 'Query',
  type: 'object',
  additionalProperties: false,
  description: 'A question about one type and what it leads to.',
  properties: {
    ...coreProperties,
    limit: limitSchema,
    cursor: cursorSchema,
    explain: explainSchema,
    format: formatSchema,
  },
  required: ['from'],
}
