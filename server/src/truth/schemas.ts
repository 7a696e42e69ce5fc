/** JSON Schemas of sources, rules and their changes. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import { STRATEGIES } from '../kit/survivorship.ts'
import { registry } from '../resources.ts'

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

export const constant = (value: string): JsonSchema => ({
  type: 'string',
  const: value,
  description: `Always ${value}.`,
})

export const pct = (description: string, example = 80): JsonSchema => ({
  type: 'number',
  minimum: 0,
  maximum: 100,
  description,
  examples: [example],
})

export const TYPES = [...registry.keys()]

const SOURCE_ID: JsonSchema = {
  type: 'string',
  pattern: '^src_[0-9]+$',
  description: 'Id of a source.',
  examples: ['src_1'],
}

/** Members of a source that its organization sets. */
export const sourceMembers: Record<string, JsonSchema> = {
  rank: {
    type: 'integer',
    minimum: 0,
    maximum: 100,
    description: 'Lower wins when sources disagree; the API has 50.',
    examples: [10],
  },
  trust_pct: pct('How far its claims are believed; multiplies their confidence.', 100),
  system_of_record: {
    type: 'array',
    items: text('Type of objects.', 'lease'),
    maxItems: 50,
    description: 'Types on which it has the say before every rank.',
    examples: [['lease']],
  },
  freshness_days: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 3_650,
    description: 'Not loaded for so many days it comes behind all other sources; null never.',
    examples: [90],
  },
  min_confidence_pct: pct('Claims below this confidence never win.', 0),
}

export const sourceSchema: JsonSchema = {
  title: 'Source',
  type: 'object',
  description: 'Where claims come from, and how much they weigh.',
  properties: {
    id: text('Id of the source.', 'src_1001'),
    object: constant('source'),
    kind: text('adapter, or one of the sources every organization has.', 'adapter'),
    name: text('Its name: that of source.name in adapters.', 'Property management'),
    ...sourceMembers,
    stale: {
      type: 'boolean',
      description: 'It was not loaded for longer than freshness_days.',
      examples: [false],
    },
    last_seen_at: nullable(time('When a load of it last began.')),
    version: count('Counts the changes.', 1),
    created_at: nullable(time('When it was first loaded; null for those that always are there.')),
    change_id: text(
      'Change of rules that carries a new weight through; in answers of writes.',
      'rch_1001',
    ),
  },
  required: ['id', 'object', 'kind', 'name', 'rank', 'trust_pct', 'stale', 'version'],
}

/** Members of a rule that its organization sets. */
export const ruleMembers: Record<string, JsonSchema> = {
  type: {
    type: ['string', 'null'],
    enum: [...TYPES, null],
    description: 'Type of objects it is for; null for all.',
    examples: ['lease'],
  },
  attribute: {
    type: ['string', 'null'],
    maxLength: 100,
    description: 'Attribute of the type it is for; null for all.',
    examples: ['expiration_date'],
  },
  strategy: {
    type: 'string',
    enum: [...STRATEGIES],
    description: 'What decides first; the order of the sources decides what is equal.',
    examples: ['source_priority'],
  },
  sources: {
    type: 'array',
    items: SOURCE_ID,
    maxItems: 100,
    description: 'Sources, the best first; those not listed come behind.',
    examples: [['src_1']],
  },
  min_confidence_pct: {
    ...pct('Claims below this confidence do not win; null leaves it to each source.'),
    type: ['number', 'null'],
  },
}

export const ruleSchema: JsonSchema = {
  title: 'SurvivorshipRule',
  type: 'object',
  description: 'How one claim is chosen where sources disagree.',
  properties: {
    id: text('Id of the rule.', 'sur_1001'),
    object: constant('survivorship_rule'),
    ...ruleMembers,
    version: count('Counts the changes.', 1),
    created_at: time('When it was made.'),
    updated_at: time('When it was last changed.'),
    change_id: text('Change that carries the rule through; in answers of writes.', 'rch_1001'),
  },
  required: ['id', 'object', 'type', 'attribute', 'strategy', 'sources', 'version'],
}

export const erasureSchema: JsonSchema = {
  title: 'Erasure',
  type: 'object',
  description: 'An order to erase what is known of objects for good.',
  properties: {
    id: text('Id of the erasure.', 'ers_1001'),
    object: constant('erasure'),
    state: {
      type: 'string',
      enum: ['running', 'completed'],
      description: 'running: some objects are still to come.',
    },
    object_ids: {
      type: 'array',
      items: text('An object.', 'pty_1042'),
      description: 'The objects.',
      examples: [['pty_1042']],
    },
    attributes: {
      type: ['array', 'null'],
      items: text('An attribute.', 'emails'),
      description: 'What is erased of them; null for all.',
      examples: [['emails', 'phones']],
    },
    reason: text('Why.', 'Request of the data subject, 2026-05-12'),
    objects_done: count('Objects that are done.', 1),
    counts: {
      type: 'object',
      additionalProperties: { type: 'integer', description: 'How many.' },
      description: 'What was taken from where.',
      examples: [{ facts: 12, events: 3, sealed_entries: 3 }],
    },
    created_at: time('When it was asked for.'),
    finished_at: nullable(time('When it was done.')),
  },
  required: ['id', 'object', 'state', 'object_ids', 'attributes', 'reason', 'counts', 'created_at'],
}

export const changeSchema: JsonSchema = {
  title: 'SurvivorshipChange',
  type: 'object',
  description: 'A change of rules or sources on its way through the objects.',
  properties: {
    id: text('Id of the change.', 'rch_1001'),
    object: constant('survivorship_change'),
    state: {
      type: 'string',
      enum: ['running', 'completed'],
      description: 'running: some objects may still show what the rules before chose.',
    },
    revision: count('Number of the rules that it brought in.', 3),
    about: {
      type: 'object',
      additionalProperties: true,
      description: 'The rule or the sources, before and after.',
    },
    types_left: {
      type: 'array',
      items: text('Type of objects.', 'lease'),
      description: 'Types still to go through.',
      examples: [['lease']],
    },
    predicted_objects: nullable(count('Objects that the preview said would change.', 500)),
    checked_objects: count('Objects weighed so far.', 7_500),
    changed_objects: count('Objects rewritten so far.', 500),
    created_at: time('When it was asked for.'),
    finished_at: nullable(time('When it was done.')),
  },
  required: ['id', 'object', 'state', 'revision', 'about', 'checked_objects', 'changed_objects'],
}
