/** Problems as the OpenAPI document shows them: one schema, and one response per status. */
import { ERRORS } from '../kit/errors.ts'
import type { JsonSchema } from '../kit/field.ts'

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

const ISSUE: JsonSchema = {
  type: 'object',
  description: 'One failing field.',
  properties: {
    field: text('The field as a person writes it.', 'rent_schedule[2].start_date'),
    pointer: text('The same as a JSON pointer.', '/rent_schedule/2/start_date'),
    code: text('Stable code.', 'invalid_enum'),
    message: text('What would be right.', "unknown value 'tripple net'"),
    allowed: {
      type: 'array',
      items: { type: 'string' },
      description: 'Values that are allowed.',
      examples: [['gross', 'nnn']],
    },
    suggestion: text('What was probably meant.', 'nnn'),
    other_id: text('The object that stands in the way.', 'le_4001'),
  },
  required: ['field', 'pointer', 'code', 'message'],
}

/** The body of every answer with a status from 400 on. */
export const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'RFC 9457 problem: what went wrong, in words and in stable codes.',
  properties: {
    type: text('Address of the description of this kind of problem.', '/errors/validation_failed'),
    title: text('The kind of problem in words.', 'Validation failed'),
    status: { type: 'integer', description: 'HTTP status.', examples: [422] },
    code: {
      type: 'string',
      description: 'Stable code of the kind of problem.',
      enum: Object.keys(ERRORS),
      examples: ['validation_failed'],
    },
    detail: text('What was wrong with this request.', "lease_type: unknown value 'tripple net'"),
    instance: text('Path of the request.', '/api/v1/leases'),
    request_id: text(
      'Quote it when asking for help; it stands in the request log.',
      'req_5f1c000001',
    ),
    errors: { type: 'array', description: 'Every failing field.', items: ISSUE },
  },
  required: ['type', 'title', 'status', 'code', 'detail', 'request_id'],
  additionalProperties: true,
}

/** One response per status that some error code has. */
export function problemResponses(): JsonSchema {
  const statuses = [...new Set(Object.values(ERRORS).map(([status]) => status))]
  return Object.fromEntries(
    statuses.map((status) => {
      const codes = Object.entries(ERRORS).filter(([, [s]]) => s === status)
      const description = codes.map(([code, [, title]]) => `${title} (\`${code}\`).`).join(' ')
      const schema = { $ref: '#/components/schemas/Problem' }
      return [
        `Problem${status}`,
        { description, content: { 'application/problem+json': { schema } } },
      ]
    }),
  )
}
