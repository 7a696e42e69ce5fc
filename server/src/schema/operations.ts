/** What a plan may do to a schema: a closed list of operations on metadata, none of which touches a value. */
import type { JsonSchema } from '../kit/field.ts'
import type { Issue } from '../kit/errors.ts'
import { EXTENSION_TYPES } from '../kit/extension.ts'
import type { ExtensionType } from '../kit/extension.ts'
import { LIMITS } from '../kit/extension-limits.ts'

export const OPERATIONS = [
  'add_attribute',
  'add_option',
  'rename_label',
  'set_validation',
  'set_filterable',
  'deprecate_attribute',
  'restore_attribute',
  'convert_type',
] as const
export type OperationName = (typeof OPERATIONS)[number]

export const RISKS = ['safe', 'review', 'destructive'] as const
export type Risk = (typeof RISKS)[number]

/** An option as a plan names it. */
export interface OptionInput {
  label: string
  api_name?: string
}

/** A part of the text that something was read from: characters from `start` up to, not including, `end`. */
export interface Span {
  text: string
  start: number
  end: number
}

export interface Operation {
  op: OperationName
  object_type: string
  /** Name or id of the field that is there already. */
  field?: string
  label?: string
  api_name?: string
  description?: string
  type?: ExtensionType
  options?: OptionInput[]
  required?: boolean
  default?: unknown
  min?: number | null
  max?: number | null
  scale?: number
  max_length?: number | null
  unit?: string
  currency?: string
  target?: string
  expression?: string
  filterable?: boolean
}

/** An operation of a plan, with what is to be known of it before it is approved. */
export interface Planned extends Operation {
  risk: Risk
  reason: string
  /** The words it came from; empty for an operation that was not read from a text. */
  source: Span[]
}

const SETTINGS = ['min', 'max', 'scale', 'max_length', 'unit', 'currency', 'target', 'expression']

/** What each operation takes beside `op` and `object_type`; the first ones are needed. */
const TAKES: Record<OperationName, { needs: string[]; may: string[] }> = {
  add_attribute: {
    needs: ['label', 'type'],
    may: ['api_name', 'description', 'options', 'required', 'default', 'filterable', ...SETTINGS],
  },
  add_option: { needs: ['field', 'options'], may: [] },
  rename_label: { needs: ['field'], may: ['label', 'api_name', 'description'] },
  set_validation: {
    needs: ['field'],
    may: ['min', 'max', 'max_length', 'required', 'default'],
  },
  set_filterable: { needs: ['field', 'filterable'], may: [] },
  deprecate_attribute: { needs: ['field'], may: [] },
  restore_attribute: { needs: ['field'], may: [] },
  convert_type: { needs: ['field', 'type'], may: ['options', ...SETTINGS] },
}

/** What an operation lacks, and what it has that it does not take. */
export function formIssues(operation: Operation, at: string): Issue[] {
  const { op, object_type: _, ...given } = operation
  const { needs, may } = TAKES[op]
  const names = Object.keys(given)
  const lacking = needs.filter((name) => !names.includes(name))
  const other = names.filter((name) => !needs.includes(name) && !may.includes(name))
  const empty = op === 'rename_label' || op === 'set_validation' ? names.length < 2 : false
  return [
    ...lacking.map((name) => ({
      field: `${at}.${name}`,
      code: 'required',
      message: `is required by ${op}`,
    })),
    ...other.map((name) => ({
      field: `${at}.${name}`,
      code: 'unknown_field',
      message: `is not used by ${op}`,
      allowed: [...needs, ...may],
    })),
    ...(empty && lacking.length === 0
      ? [{ field: at, code: 'required', message: `needs one of ${may.join(', ')}`, allowed: may }]
      : []),
  ]
}

const text = (description: string, example: string, max: number): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: max,
  description,
  examples: [example],
})

const API_NAME = '^[a-z][a-z0-9_]{0,59}$'

const optionSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'An option of a select field.',
  properties: {
    label: text('What people see.', 'Warm shell', 100),
    api_name: {
      ...text('What values are called; made of the label when left out.', 'warm_shell', 60),
      pattern: API_NAME,
    },
  },
  required: ['label'],
}

const bound = (description: string, example: number): JsonSchema => ({
  type: ['number', 'null'],
  description,
  examples: [example],
})

/** The body of one operation. */
export const operationSchema: JsonSchema = {
  title: 'SchemaOperation',
  type: 'object',
  additionalProperties: false,
  description: 'One change of the schema. Which members it takes depends on op.',
  properties: {
    op: { type: 'string', enum: [...OPERATIONS], description: 'What to do.' },
    object_type: text('Type whose objects have the field.', 'lease', 40),
    field: text('Name or id of a field that is there already.', 'recovery_cap', 60),
    label: text('What people see.', 'Recovery cap', 100),
    api_name: {
      ...text('Name under ext; made of the label when left out.', 'recovery_cap', 60),
      pattern: API_NAME,
    },
    description: text('What the values say.', 'Most the tenant pays of recoveries.', 500),
    type: { type: 'string', enum: [...EXTENSION_TYPES], description: 'What the values are.' },
    options: {
      type: 'array',
      items: optionSchema,
      minItems: 1,
      maxItems: LIMITS.options_per_field,
      description: 'Options of a select or multi_select field.',
    },
    required: {
      type: 'boolean',
      description: 'New objects must have a value, and it cannot be cleared.',
      examples: [false],
    },
    default: {
      description: 'What a new object has when it is created without a value; null for nothing.',
      examples: ['shell'],
    },
    min: bound('Smallest value; null for none.', 0),
    max: bound('Largest value; null for none.', 100),
    scale: {
      type: 'integer',
      minimum: 0,
      maximum: 6,
      description: 'Digits after the decimal point.',
      examples: [2],
    },
    max_length: {
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 20_000,
      description: 'Longest text, in characters.',
      examples: [200],
    },
    unit: text('Unit of an area (sqm, sqft) or a length (m, cm, km, ft, mi).', 'sqm', 10),
    currency: { ...text('The one currency of a money field.', 'EUR', 3), pattern: '^[A-Z]{3}$' },
    target: text('Type that a relation leads to.', 'party', 40),
    expression: text('CEL over fields of the same record.', 'base_rent * 12.0', 2_000),
    filterable: {
      type: 'boolean',
      description: 'Values are indexed, for filters and sorts in organizations of any size.',
      examples: [true],
    },
  },
  required: ['op', 'object_type'],
}
