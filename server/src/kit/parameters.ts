/** Parameters of the endpoints every resource has, as they are documented. */
import { filterColumns, operatorsOf } from './list-columns.ts'
import type { JsonSchema } from './field.ts'
import { INCLUDES, LIMIT_DEFAULT, LIMIT_MAX } from './query.ts'
import type { Resource } from './resource.ts'

/** A parameter as OpenAPI documents it. */
export interface Parameter {
  name: string
  in: 'query' | 'header' | 'path'
  description: string
  schema: JsonSchema
  required?: boolean
  /** For filters: what may stand in brackets behind the name. */
  'x-grid-operators'?: readonly string[]
}

export const TIMES: Parameter[] = [
  {
    name: 'as_of',
    in: 'query',
    description:
      'Values as they were true at the end of this day, e.g. a quarter end. Lists then take filters of their own fields and `sort=id` or `sort=-id`.',
    schema: { type: 'string', format: 'date', examples: ['2026-03-31'] },
  },
  {
    name: 'known_at',
    in: 'query',
    description:
      'Values as they had been recorded by this time. Lists then take filters of their own fields and `sort=id` or `sort=-id`.',
    schema: { type: 'string', format: 'date-time', examples: ['2026-04-15T00:00:00Z'] },
  },
]

export const SHAPE: Parameter[] = [
  {
    name: 'fields',
    in: 'query',
    description:
      'Only these fields, separated by commas; `tenant.display_name` reaches into an expanded object.',
    schema: { type: 'string', examples: ['id,status'] },
  },
  {
    name: 'expand',
    in: 'query',
    description:
      'Related objects to show beside their ids, separated by commas, at most two levels deep.',
    schema: { type: 'string' },
  },
  {
    name: 'include',
    in: 'query',
    description: `Additions, separated by commas: ${INCLUDES.join(', ')}.`,
    schema: { type: 'string', examples: ['total_count'] },
  },
]

export const PAGING: Parameter[] = [
  {
    name: 'limit',
    in: 'query',
    description: `Objects per page, 1 to ${LIMIT_MAX}.`,
    schema: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  },
  {
    name: 'cursor',
    in: 'query',
    description:
      'Where to go on: next_cursor of the page before. Valid for 24 hours and for the same filters and sort.',
    schema: { type: 'string' },
  },
  {
    name: 'sort',
    in: 'query',
    description:
      'Up to three fields, separated by commas, `-` for descending. Nulls come last; the id decides ties.',
    schema: { type: 'string', examples: ['-updated_at'] },
  },
  {
    name: 'q',
    in: 'query',
    description: 'Search in names, numbers and addresses; forgives typing mistakes.',
    schema: { type: 'string', maxLength: 200 },
  },
  {
    name: 'external_id',
    in: 'query',
    description: 'The object with this key in another system, as system:id.',
    schema: { type: 'string', examples: ['yardi:prop100'] },
  },
]

export const IF_MATCH: Parameter = {
  name: 'If-Match',
  in: 'header',
  description: 'Only if the object still has this ETag; otherwise 412.',
  schema: { type: 'string', examples: ['"v3"'] },
}

export const IF_NONE_MATCH: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'Answers 304 without a body while the object still has this ETag.',
  schema: { type: 'string', examples: ['"v3"'] },
}

export const IDEMPOTENCY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes the request safe to repeat for 24 hours: the same key and body get the first answer again.',
  schema: { type: 'string', maxLength: 255 },
}

/** One parameter per column that can be filtered. */
export function filters(resource: Resource): Parameter[] {
  return [...filterColumns(resource)].map(([name, column]) => {
    const {
      description = '',
      examples,
      enum: values,
    } = column.field.schema as { description?: string; examples?: unknown[]; enum?: unknown[] }
    const operators = operatorsOf(column).filter((op) => op !== 'eq')
    return {
      name,
      in: 'query' as const,
      description: `${description} Also ${operators.map((op) => `${name}[${op}]`).join(', ')}.`,
      'x-grid-operators': operators,
      schema: {
        type: 'string',
        ...(values ? { enum: values } : {}),
        ...(examples ? { examples: examples.flat().map(String).slice(0, 1) } : {}),
      },
    }
  })
}

export function pathParameter(resource: Resource): Parameter {
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: `Id of the ${resource.title.toLowerCase()}.`,
    schema: {
      type: 'string',
      pattern: `^${resource.prefix}_[0-9]+$`,
      examples: [`${resource.prefix}_1042`],
    },
  }
}
