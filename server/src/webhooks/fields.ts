/** What the owner of a webhook may choose: schemas of create and change, and the values that are left out. */
import { closest } from '../kit/validate.ts'
import type { Issue } from '../kit/errors.ts'
import { invalid } from '../kit/errors.ts'
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import { idDigits } from '../kit/ids.ts'
import { catalogue } from '../events/catalogue.ts'
import { SCHEMA_VERSION } from '../events/payload.ts'
import { URL_MAX } from './target.ts'
import type { Choices } from './types.ts'

const FIELDS: Record<keyof Choices, { schema: JsonSchema; initial?: unknown; clears?: boolean }> = {
  url: {
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: URL_MAX,
      description:
        'Where deliveries are sent: https with a host name, or the URL of an inbox of yours.',
      examples: ['https://hooks.example.com/grid'],
    },
  },
  description: {
    clears: true,
    initial: null,
    schema: {
      type: 'string',
      maxLength: 500,
      description: 'What it is for.',
      examples: ['Accounting: leases and rent'],
    },
  },
  events: {
    initial: ['*'],
    schema: {
      type: 'array',
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      items: {
        type: 'string',
        maxLength: 100,
        pattern: '^(\\*|[a-z_]+(\\.[a-z_]+)*(\\.\\*)?)$',
      },
      description: 'Types of events to deliver: a name, all of a kind as lease.*, or * for all.',
      examples: [['lease.*', 'work_order.created']],
    },
  },
  payload: {
    initial: 'full',
    schema: {
      type: 'string',
      enum: ['full', 'thin'],
      description:
        'full: the object as it was; thin: its id and where to read it. What is larger than 64 KB is thin with truncated: true.',
    },
  },
  ordering: {
    initial: 'none',
    schema: {
      type: 'string',
      enum: ['none', 'resource'],
      description:
        'resource: deliveries about one object go one after the other; one waits at most until the one before is given up.',
    },
  },
  coalesce_seconds: {
    initial: 0,
    schema: {
      type: 'integer',
      minimum: 0,
      maximum: 3_600,
      description:
        'Updates of one object within this time become one delivery, of the last of them; 0 for each its own.',
      examples: [0],
    },
  },
  property_ids: {
    clears: true,
    initial: null,
    schema: {
      type: 'array',
      minItems: 1,
      maxItems: 500,
      uniqueItems: true,
      items: { type: 'string', pattern: '^prop_[0-9]+$' },
      description:
        'Only events about these properties and their buildings, floors, spaces, leases and work orders.',
      examples: [['prop_1042']],
    },
  },
  max_concurrency: {
    initial: 10,
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      description: 'Deliveries on their way at once.',
      examples: [10],
    },
  },
  rate: {
    clears: true,
    initial: null,
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      description: 'Deliveries a second at most; null for as many as there are.',
      examples: [50],
    },
  },
  redrive_on_recovery: {
    initial: false,
    schema: {
      type: 'boolean',
      description:
        'When the receiver works again after an outage, what failed meanwhile is delivered again.',
      examples: [false],
    },
  },
  schema_version: {
    initial: SCHEMA_VERSION,
    schema: {
      type: 'string',
      enum: [SCHEMA_VERSION],
      description: 'Form of the payload; stays as it is when newer ones appear.',
    },
  },
}

const entries = Object.entries(FIELDS)

/** The fields as answers show them. */
export const choiceProperties = Object.fromEntries(
  entries.map(([name, { schema, clears }]) => [name, clears ? nullable(schema) : schema]),
)

export const createBody: JsonSchema = {
  title: 'WebhookCreate',
  type: 'object',
  additionalProperties: false,
  description: 'What a new webhook is made of.',
  properties: choiceProperties,
  required: ['url'],
}

export const patchBody: JsonSchema = {
  title: 'WebhookPatch',
  type: 'object',
  additionalProperties: false,
  description: 'The fields of a webhook to change.',
  properties: choiceProperties,
}

/** A body with property ids as they are written outside. */
export type ChoicesBody = Omit<Choices, 'property_ids'> & { property_ids: string[] | null }

/** A body with what was left out filled in. */
export function choicesOf(body: Partial<ChoicesBody>): Choices {
  const initial = Object.fromEntries(entries.map(([name, field]) => [name, field.initial]))
  return changesOf({ ...initial, ...body }) as Choices
}

/** A body's fields as they are stored. */
export function changesOf(body: Partial<ChoicesBody>): Partial<Choices> {
  const { property_ids, ...rest } = body
  if (property_ids === undefined) return rest
  return { ...rest, property_ids: property_ids?.map((id) => idDigits('prop', id) ?? 0) ?? null }
}

/** @throws 422 for patterns that no type of event fits, with what may have been meant. */
export function requireKnownTypes(patterns: readonly string[], field = 'events'): void {
  const types = catalogue.map(({ type }) => type)
  const issues = patterns.flatMap((pattern, i): Issue[] => {
    const known = pattern.endsWith('*')
      ? types.some((type) => type.startsWith(pattern.slice(0, -1)))
      : types.includes(pattern)
    if (known) return []
    const suggestion = closest(pattern, types)
    const message = `no event is of the type '${pattern}'`
    return [
      {
        field: `${field}[${i}]`,
        code: 'unknown_value',
        message,
        ...(suggestion ? { suggestion } : {}),
      },
    ]
  })
  if (issues.length > 0) throw invalid(issues)
}
