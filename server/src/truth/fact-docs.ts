/** Documentation of the endpoints of facts and pins. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import { UNTIL_SOURCE_CHANGES } from '../kit/survivorship.ts'
import { ATTRIBUTE, BODY_PROBLEMS, listAllConflicts, route } from './docs.ts'
import { OPERATIONS } from './facts.ts'
import { constant, count, pct, text, time } from './schemas.ts'
import { STATUSES } from './views.ts'

/** A claim as every fact endpoint shows it. */
export const claimProperties: Record<string, JsonSchema> = {
  value: { description: 'The value; null means empty from then on.', examples: ['2030-12-31'] },
  valid_from: time('From when it is true.'),
  valid_to: nullable(time('Until when, if the source said so.')),
  recorded_at: time('When it was written here.'),
  confidence_pct: {
    type: 'number',
    description: 'How sure the source is, in percent.',
    examples: [100],
  },
  source: {
    type: 'object',
    additionalProperties: true,
    description: 'Who says so: id, kind, name, job and row of the file.',
  },
  actor: {
    type: 'object',
    additionalProperties: true,
    description: 'Who wrote it: type, id and name of the key or job.',
  },
  transaction: text('Transaction that wrote it.', 'tx_12'),
  reason: nullable(text('Why a person made the claim.', 'Signed amendment of 3 May')),
}

export const claimSchema: JsonSchema = {
  title: 'Claim',
  type: 'object',
  description: 'What a source says: a value and from when it is true.',
  properties: claimProperties,
}

const REASON: JsonSchema = {
  ...text('Why; stands in the history and the audit log.', 'Signed amendment of 3 May'),
  minLength: 1,
  maxLength: 1_000,
}

const factSchema: JsonSchema = {
  title: 'Fact',
  type: 'object',
  description: 'One claim on one attribute of an object.',
  properties: {
    object_id: text('The object.', 'le_1042'),
    field: text('The attribute.', 'expiration_date'),
    status: {
      type: 'string',
      enum: [...STATUSES],
      description: 'current: it holds. conflicting: its source still says so, but another won.',
    },
    ...claimProperties,
  },
  required: ['object_id', 'field', 'status', 'value', 'valid_from', 'source'],
}

const OBJECT: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of any object.',
  schema: { type: 'string', pattern: '^[a-z]+_[0-9]+$', examples: ['le_1042'] },
}

const filter = (name: string, description: string, schema: JsonSchema): Parameter => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', ...schema },
})

export const listFacts = route(
  'read:facts',
  'listFacts',
  'List facts',
  'Claims of all objects in the order in which they were written. With status a page may hold fewer than limit while has_more says that more follow.',
  { 200: listSchema(factSchema, 'FactList') },
  {
    parameters: [
      ...PAGE_PARAMETERS,
      filter('job', 'Only facts that this job wrote.', { examples: ['job_1001'] }),
      filter('source', 'Only claims of this source.', { examples: ['src_1001'] }),
      filter('object', 'Only facts of this object.', { examples: ['le_1042'] }),
      ATTRIBUTE,
      filter('status', 'Only facts of which this became.', { enum: [...STATUSES] }),
    ],
    problems: [404, 422],
  },
)

const DAY_OR_TIME =
  'A day, which begins in the time zone of the organization, or a time with its zone'

export const stateFacts = route(
  'write:facts',
  'stateFacts',
  'Assert, end or retract facts',
  'assert claims values from a time on; end says that there is none from a time on; retract takes a claim back that should never have been made, and what was before holds again. Nothing is deleted.',
  {
    201: {
      title: 'FactChange',
      type: 'object',
      description: 'What was written.',
      properties: {
        object: constant('fact_change'),
        object_id: text('The object.', 'le_1042'),
        op: { type: 'string', enum: [...OPERATIONS], description: 'What was done.' },
        version: count('Version of the object after it.', 4),
        facts: { type: 'array', items: factSchema, description: 'Claims that were made.' },
        retracted: {
          type: 'array',
          items: text('Attribute.', 'expiration_date'),
          description: 'Attributes of which a claim was taken back.',
          examples: [['expiration_date']],
        },
      },
      required: ['object', 'object_id', 'op', 'version', 'facts', 'retracted'],
    },
  },
  {
    parameters: [IDEMPOTENCY],
    problems: [...BODY_PROBLEMS, 404, 412],
    body: {
      title: 'FactStatement',
      type: 'object',
      additionalProperties: false,
      description: 'What is claimed, ended or taken back, and why.',
      properties: {
        object: text('Id of any object.', 'le_1042'),
        op: {
          type: 'string',
          enum: [...OPERATIONS],
          description: 'What to do.',
          examples: ['assert'],
        },
        attribute: text('The attribute, when it is one.', 'expiration_date'),
        value: { description: 'Its value.', examples: ['2031-12-31'] },
        attributes: {
          type: ['object', 'array'],
          additionalProperties: true,
          description: 'Several: values by attribute, or their names to end or retract.',
          examples: [{ expiration_date: '2031-12-31' }],
        },
        valid_from: text(
          `${DAY_OR_TIME}: from when it is true; now when left out. Of retract the start of the claim, or the one that holds now.`,
          '2026-03-01',
        ),
        valid_to: nullable(
          text(`${DAY_OR_TIME}: until when; what was before holds again then.`, '2026-06-01'),
        ),
        source: text('Source in whose name it is claimed; the API when left out.', 'src_1'),
        confidence_pct: pct('How sure it is.', 100),
        reason: REASON,
      },
      required: ['object', 'op', 'reason'],
    },
  },
)

const pinSchema: JsonSchema = {
  title: 'Pin',
  type: 'object',
  description: 'A value held against every source.',
  properties: {
    object: constant('pin'),
    attribute: text('The attribute.', 'expiration_date'),
    value: { description: 'The value.', examples: ['2031-12-31'] },
    expires: nullable(
      text(
        `${UNTIL_SOURCE_CHANGES}, or the time at which it ends; null never.`,
        UNTIL_SOURCE_CHANGES,
      ),
    ),
    state: {
      type: 'string',
      enum: ['holds', 'ended'],
      description: 'ended: its time has come, or a source has spoken since.',
    },
    reason: nullable(text('Why.', 'Signed amendment of 3 May')),
    pinned_at: time('When it was pinned.'),
    actor: {
      type: 'object',
      additionalProperties: true,
      description: 'Who pinned it.',
    },
    transaction: text('Transaction that wrote it.', 'tx_12'),
  },
  required: ['object', 'attribute', 'value', 'expires', 'state', 'pinned_at'],
}

export const listPins = route(
  'read:facts',
  'listPins',
  'List the pins of an object',
  'Values of it that people hold against every source, and pins that have ended by themselves.',
  { 200: listSchema(pinSchema, 'PinList') },
  { parameters: [OBJECT, ...PAGE_PARAMETERS], problems: [404, 422] },
)

export const createPin = route(
  'write:facts',
  'createPin',
  'Pin a value',
  'The value wins over every source and rule, through later loads, until it expires or is unpinned. Give the value, or source_id to pin what that source says now.',
  { 201: pinSchema },
  {
    parameters: [OBJECT, IDEMPOTENCY],
    problems: [...BODY_PROBLEMS, 404, 412],
    body: {
      title: 'PinCreate',
      type: 'object',
      additionalProperties: false,
      description: 'What to pin, and why.',
      properties: {
        attribute: text('The attribute.', 'expiration_date'),
        value: { description: 'Its value.', examples: ['2031-12-31'] },
        source_id: text('Source whose present claim is pinned, instead of value.', 'src_1001'),
        expires: nullable(
          text(
            `${UNTIL_SOURCE_CHANGES}: with the next claim of any other source; or a time. Never when left out.`,
            UNTIL_SOURCE_CHANGES,
          ),
        ),
        reason: REASON,
      },
      required: ['attribute', 'reason'],
    },
  },
)

export const deletePin = route(
  'write:facts',
  'deletePin',
  'Unpin a value',
  'The sources and rules decide again.',
  { 204: { type: 'null', description: 'Unpinned.' } },
  {
    parameters: [
      OBJECT,
      {
        name: 'attribute',
        in: 'path',
        required: true,
        description: 'The attribute.',
        schema: { type: 'string', examples: ['expiration_date'] },
      },
    ],
    problems: [404, 412, 422],
  },
)

export const listConflicts = listAllConflicts(claimSchema)
