/** The objects of identity as clients see them. */
import { nullable } from '../kit/field.ts'
import type { JsonSchema } from '../kit/field.ts'

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

export const constant = (value: string): JsonSchema => ({
  type: 'string',
  const: value,
  description: `Always ${value}.`,
})

const count = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

const type = text('Type of both objects.', 'party')

const actor = (description: string): JsonSchema => ({
  type: 'object',
  description,
  properties: {
    type: text('Kind: api_key, job or system.', 'api_key'),
    id: nullable(text('Its id.', 'key_7')),
    name: text('Its name.', 'Data team'),
  },
})

const score: JsonSchema = {
  type: ['number', 'null'],
  minimum: 0,
  maximum: 1,
  description:
    'How sure it is that both are one, from 0 to 1; null where a person decided unasked.',
  examples: [0.9932],
}

const comparison: JsonSchema = {
  type: 'object',
  description: 'One comparison of the two.',
  properties: {
    comparison: text('What was compared.', 'name'),
    level: text('How far both agree, such as exact, close, similar or different.', 'close'),
    left: { description: 'Value of the first object.', examples: ['Harrow & Pine LLP'] },
    right: { description: 'Value of the second object.', examples: ['Harrow and Pine L.L.P.'] },
    weight: {
      type: ['number', 'null'],
      description:
        'What it adds to the log2 odds that both are one; null for identifiers, which decide alone.',
      examples: [7.64],
    },
  },
}

const evidence: JsonSchema = {
  type: 'array',
  items: comparison,
  description: 'Why both may be one: each comparison with its weight.',
}

export const mergeSchema: JsonSchema = {
  title: 'Merge',
  type: 'object',
  description: 'Two objects that are one, or were for a time.',
  properties: {
    id: text('Id of the merge.', 'mrg_1042'),
    object: constant('merge'),
    type,
    winner: text('The object that stayed.', 'pty_2001'),
    loser: text('The object that was merged into it; its id leads to the winner.', 'pty_2002'),
    state: {
      type: 'string',
      enum: ['merged', 'unmerged'],
      description: 'Whether they are one now.',
    },
    rule: {
      type: 'string',
      enum: ['manual', 'identifier', 'fuzzy', 'review'],
      description:
        'How it was found: by a person, by an identifier, by likeness, or by likeness that a person confirmed.',
    },
    score,
    evidence,
    reason: nullable(text('Why, in the words of who asked for it.', 'Same tenant, two spellings')),
    merged_at: time('When it was done.'),
    unmerged_at: nullable(time('When it was undone.')),
    actor: actor('Who merged them.'),
    transaction: text('Transaction that did it.', 'tx_12'),
  },
  required: ['id', 'object', 'type', 'winner', 'loser', 'state', 'rule', 'merged_at'],
}

export const doNotLinkSchema: JsonSchema = {
  title: 'DoNotLink',
  type: 'object',
  description: 'Two objects that are to stay two, however alike they look.',
  properties: {
    id: text('Id of the pair.', 'dnl_1042'),
    object: constant('do_not_link'),
    type,
    objects: {
      type: 'array',
      items: { type: 'string' },
      description: 'Ids of both.',
      examples: [['pty_2001', 'pty_2002']],
    },
    reason: nullable(text('Why.', 'Parent and subsidiary')),
    created_at: time('Since when.'),
    actor: actor('Who said so.'),
  },
  required: ['id', 'object', 'type', 'objects', 'created_at'],
}

export const candidateSchema: JsonSchema = {
  title: 'MatchCandidate',
  type: 'object',
  description: 'Two objects that may be one, for a person to decide.',
  properties: {
    id: text('Id of the candidate.', 'mat_1042'),
    object: constant('match_candidate'),
    type,
    objects: {
      type: 'array',
      items: { type: 'string' },
      description: 'Ids of both, the older first.',
      examples: [['pty_2001', 'pty_2002']],
    },
    state: {
      type: 'string',
      enum: ['open', 'accepted', 'rejected'],
      description: 'accepted: they were merged; rejected: they are to stay two.',
    },
    rule: {
      type: 'string',
      enum: ['identifier', 'fuzzy'],
      description:
        'Found by an identifier that does not decide alone (several objects have it, or one source lists both), or by likeness.',
    },
    score,
    evidence,
    merge_id: nullable(text('The merge, once accepted.', 'mrg_1042')),
    run_id: nullable(text('The run that found it.', 'mrn_1042')),
    created_at: time('When it was found.'),
    decided_at: nullable(time('When it was decided.')),
    decided_by: nullable(actor('Who decided.')),
  },
  required: ['id', 'object', 'type', 'objects', 'state', 'rule', 'score', 'evidence', 'created_at'],
}

export const runSchema: JsonSchema = {
  title: 'MatchRun',
  type: 'object',
  description: 'A pass over objects of one type in search of those that are one.',
  properties: {
    id: text('Id of the run.', 'mrn_1042'),
    object: constant('match_run'),
    type: text('Type of the objects.', 'party'),
    job_id: nullable(text('The job whose new objects it compares; null for all.', 'job_1001')),
    state: {
      type: 'string',
      enum: ['queued', 'running', 'completed'],
      description: 'Where it stands.',
    },
    counts: {
      type: 'object',
      description: 'What it found so far.',
      properties: {
        compared: count('Objects looked at.', 1200),
        merged: count('Merges made.', 31),
        review: count('Candidates put into the review queue.', 4),
      },
    },
    created_at: time('When it was asked for.'),
    finished_at: nullable(time('When it ended.')),
  },
  required: ['id', 'object', 'type', 'state', 'counts', 'created_at'],
}
