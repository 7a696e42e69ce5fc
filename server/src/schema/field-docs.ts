/** Fields, plans and versions as the interface documents them. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import { EXTENSION_TYPES } from '../kit/extension.ts'
import { operationSchema, RISKS } from './operations.ts'

export const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

export const time = (description: string): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: ['2026-05-12T08:00:00.000Z'],
})

export const count = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

const flag = (description: string, example = false): JsonSchema => ({
  type: 'boolean',
  description,
  examples: [example],
})

const amount = (description: string, example: number): JsonSchema => ({
  type: ['number', 'null'],
  description,
  examples: [example],
})

export const constant = (value: string): JsonSchema => ({
  type: 'string',
  const: value,
  description: `Always ${value}.`,
})

export const list = (description: string, items: JsonSchema): JsonSchema => ({
  type: 'array',
  description,
  items,
})

/** An object whose members are all there. */
export const object = (
  description: string,
  properties: Record<string, JsonSchema>,
  required = Object.keys(properties),
): JsonSchema => ({ type: 'object', description, properties, required })

const actor = object('Who did it.', {
  type: text('api_key, app, job or system.', 'api_key'),
  id: nullable(text('Its id.', 'key_7')),
  name: text('Its name.', 'First key'),
})

export const span = object('Words of the text, and where they stand in it.', {
  text: text('The words.', 'percent field'),
  start: count('Place of the first character.', 6),
  end: count('Place behind the last character.', 19),
})

export const fieldSchema: JsonSchema = {
  title: 'SchemaField',
  ...object('A field that the organization added to a type.', {
    id: text('Id of the field; facts keep it, whatever the field is called.', 'fld_1042'),
    object: constant('schema_field'),
    object_type: text('Type whose objects have the field.', 'lease'),
    api_name: text('Name under ext.', 'recovery_cap'),
    label: text('What people see.', 'Recovery cap'),
    description: nullable(text('What the values say.', 'Most the tenant pays of recoveries.')),
    type: { type: 'string', enum: [...EXTENSION_TYPES], description: 'What the values are.' },
    options: list(
      'Options of a select or multi_select field; empty for others.',
      object('An option.', {
        api_name: text('What values are called.', 'warm_shell'),
        label: text('What people see.', 'Warm shell'),
        state: {
          type: 'string',
          enum: ['active', 'deprecated'],
          description: 'A deprecated one is shown but cannot be written.',
        },
      }),
    ),
    required: flag('New objects must have a value, and it cannot be cleared.'),
    default: { description: 'What a new object has without a value; null for nothing.' },
    min: amount('Smallest value; null for none.', 0),
    max: amount('Largest value; null for none.', 100),
    scale: amount('Digits after the decimal point, where the type has them.', 2),
    max_length: amount('Longest text, when it is set.', 200),
    unit: nullable(text('Unit of the values; percent for percent fields.', 'sqm')),
    currency: nullable(text('The one currency of a money field.', 'EUR')),
    target: nullable(text('Type that a relation leads to.', 'party')),
    expression: nullable(text('Of a formula: CEL over fields of the record.', 'base_rent * 12')),
    filterable: flag('Values are indexed, for filters in organizations of any size.', true),
    indexed: flag('Every value is in the index.', true),
    converting: flag('Values of the field before it are still being converted.'),
    state: {
      type: 'string',
      enum: ['deployed', 'deprecated', 'removed'],
      description: 'A deprecated field is hidden and can be restored for 30 days.',
    },
    aliases: list(
      'Earlier names that input may still use.',
      object('An earlier name.', {
        api_name: text('The name.', 'recovery_limit'),
        until: time('Until when it is understood.'),
      }),
    ),
    created_at: time('When it was deployed.'),
    updated_at: time('When it was last changed.'),
    deprecated_at: nullable(time('When it was deprecated.')),
    restorable_until: nullable(time('Until when it can be restored.')),
  }),
}

const plannedSchema: JsonSchema = {
  title: 'PlannedOperation',
  ...object(
    'An operation of a plan.',
    {
      ...(operationSchema['properties'] as Record<string, JsonSchema>),
      risk: {
        type: 'string',
        enum: [...RISKS],
        description:
          'safe: nothing that is there changes; review: others may notice; destructive: values are hidden or converted.',
      },
      reason: text('What the risk is.', 'A new field; nothing that is there changes.'),
      source: list('The words it came from.', span),
    },
    ['op', 'object_type', 'risk', 'reason', 'source'],
  ),
}

export const planSchema: JsonSchema = {
  title: 'SchemaPlan',
  ...object('A change of the schema: proposed, approved, deployed, and taken back if need be.', {
    id: text('Id of the plan.', 'pln_1042'),
    object: constant('schema_plan'),
    state: {
      type: 'string',
      enum: ['draft', 'validating', 'deployed', 'rolled_back'],
      description: 'draft until it is approved, validating until it is deployed.',
    },
    text: nullable(text('The sentence it was read from.', 'yes/no pet friendly on buildings')),
    operations: list('What it does, in order.', plannedSchema),
    questions: list(
      'What the text leaves open; a plan with questions cannot be approved.',
      object('A question.', {
        id: text('Its key in answers.', 'scale_1'),
        question: text('The question.', 'Is 1 the whole (0-1), or one percent (0-100)?'),
        choices: {
          type: ['array', 'null'],
          items: text('An answer.', '0-100'),
          description: 'Answers it takes; null when the text itself must say more.',
        },
        text: text('The words it is about.', 'percent cap 0 to 1'),
        start: count('Place of the first character.', 0),
        end: count('Place behind the last character.', 18),
      }),
    ),
    unread: list('Words that no part of the plan was made of.', span),
    risk: { type: 'string', enum: [...RISKS], description: 'The highest risk of its operations.' },
    confirm: list(
      'Fields that an approval must name.',
      text('Name or id of a field.', 'recovery_cap'),
    ),
    fields: list('Ids of the fields it added or changed.', text('Id of a field.', 'fld_1042')),
    schema_version: nullable(count('Version of the schema that it made.', 3)),
    created_by: actor,
    approved_by: nullable(actor),
    approved_at: nullable(time('When it was approved.')),
    deployed_at: nullable(time('When it was deployed.')),
    rolled_back_at: nullable(time('When it was taken back.')),
    version: count('Counts the writes to the plan.', 1),
    created_at: time('When it was proposed.'),
    updated_at: time('When it was last changed.'),
  }),
}

export const versionSchema: JsonSchema = {
  title: 'SchemaVersion',
  ...object('A version of the schema, and what made it.', {
    object: constant('schema_version'),
    version: count('Number of the version, from 1.', 3),
    at: time('Since when it holds.'),
    plan_id: text('The plan that made it.', 'pln_1042'),
    actor,
    changes: list(
      'What happened to which field.',
      object('A change.', {
        op: text('added, changed, deprecated, restored or removed.', 'added'),
        field_id: text('Id of the field.', 'fld_1042'),
        object_type: text('Its type of objects.', 'lease'),
        name: text('Its name.', 'recovery_cap'),
      }),
    ),
  }),
}
