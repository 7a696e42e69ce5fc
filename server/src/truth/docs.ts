/** Documentation of the endpoints of sources, rules and conflicts. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import type { Scope } from '../kit/scopes.ts'
import { DECISIONS, STRATEGIES } from '../kit/survivorship.ts'
import {
  changeSchema,
  constant,
  count,
  ruleMembers,
  ruleSchema,
  sourceMembers,
  sourceSchema,
  text,
  TYPES,
} from './schemas.ts'

interface More {
  parameters?: Parameter[]
  problems?: number[]
  body?: JsonSchema
}

/** The documentation of one endpoint; its query parameters are those it documents and no others. */
export function route(
  scope: Scope,
  operationId: string,
  summary: string,
  description: string,
  response: Record<number, JsonSchema>,
  { parameters = [], problems = [], body }: More = {},
): RouteDocs {
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const querystring = {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      query.map(({ name, schema }) => [
        name,
        name === 'limit'
          ? { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT }
          : schema,
      ]),
    ),
  }
  return {
    config: { scope },
    schema: {
      operationId,
      summary,
      description,
      tags: ['truth'],
      response,
      parameters,
      problems,
      ...(body ? { body } : {}),
      ...(query.length > 0 ? { querystring } : {}),
    },
  }
}

export const idOf = (prefix: string, what: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `Id of the ${what}.`,
  schema: { type: 'string', pattern: `^${prefix}_[0-9]+$`, examples: [`${prefix}_1001`] },
})

const TYPE: Parameter = {
  name: 'type',
  in: 'query',
  description: 'Only objects of this type.',
  schema: { type: 'string', enum: TYPES, examples: ['lease'] },
}

export const ATTRIBUTE: Parameter = {
  name: 'attribute',
  in: 'query',
  description: 'Only this attribute.',
  schema: { type: 'string', maxLength: 100, examples: ['expiration_date'] },
}

const PREVIEW_HASH: JsonSchema = text(
  'hash of the preview that was approved: refused with 409 when the change would do anything else by now.',
  '9f2c',
)

export const BODY_PROBLEMS = [400, 409, 413, 415, 422]

export const listSources = route(
  'read:facts',
  'listSources',
  'List sources',
  'Where claims come from: the built-in sources first, then those of adapters.',
  { 200: listSchema(sourceSchema, 'SourceList') },
  { parameters: PAGE_PARAMETERS, problems: [422] },
)

export const getSource = route(
  'read:facts',
  'getSource',
  'Get a source',
  'A source and how much its claims weigh.',
  { 200: sourceSchema },
  { parameters: [idOf('src', 'source')], problems: [404, 422] },
)

export const patchSource = route(
  'write:facts',
  'updateSource',
  'Change a source',
  'A merge patch (RFC 7396). A new weight is in force at once; the objects it changes follow in the background. Preview it first.',
  { 200: sourceSchema },
  {
    parameters: [idOf('src', 'source'), IF_MATCH],
    problems: [...BODY_PROBLEMS, 404, 412],
    body: {
      title: 'SourcePatch',
      type: 'object',
      additionalProperties: false,
      description: 'Members of the source to change.',
      properties: { ...sourceMembers, preview_hash: PREVIEW_HASH },
    },
  },
)

export const listRules = route(
  'read:facts',
  'listSurvivorshipRules',
  'List rules',
  'Rules that choose where sources disagree. The rule of the attribute counts, else that of its type, else that for all; without one the order of the sources.',
  { 200: listSchema(ruleSchema, 'SurvivorshipRuleList') },
  { parameters: [...PAGE_PARAMETERS, TYPE, ATTRIBUTE], problems: [422] },
)

export const getRule = route(
  'read:facts',
  'getSurvivorshipRule',
  'Get a rule',
  'One rule.',
  { 200: ruleSchema },
  { parameters: [idOf('sur', 'rule')], problems: [404, 422] },
)

export const createRule = route(
  'write:facts',
  'createSurvivorshipRule',
  'Make a rule',
  'In force at once; the objects it changes follow in the background, see change_id. One rule for each attribute, type, and for all.',
  { 201: ruleSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: BODY_PROBLEMS,
    body: {
      title: 'SurvivorshipRuleCreate',
      type: 'object',
      additionalProperties: false,
      description: 'What a new rule is made of.',
      properties: { ...ruleMembers, preview_hash: PREVIEW_HASH },
      required: ['strategy'],
    },
  },
)

export const patchRule = route(
  'write:facts',
  'updateSurvivorshipRule',
  'Change a rule',
  'A merge patch (RFC 7396). In force at once; the objects it changes follow in the background.',
  { 200: ruleSchema },
  {
    parameters: [idOf('sur', 'rule'), IF_MATCH],
    problems: [...BODY_PROBLEMS, 404, 412],
    body: {
      title: 'SurvivorshipRulePatch',
      type: 'object',
      additionalProperties: false,
      description: 'Members of the rule to change.',
      properties: { ...ruleMembers, preview_hash: PREVIEW_HASH },
    },
  },
)

export const deleteRule = route(
  'write:facts',
  'deleteSurvivorshipRule',
  'Delete a rule',
  'The next rule or the order of the sources decides from then on; the objects that changes follow in the background. Answers the rule as it was.',
  { 200: ruleSchema },
  {
    parameters: [
      idOf('sur', 'rule'),
      {
        name: 'preview_hash',
        in: 'query',
        description: String(PREVIEW_HASH['description']),
        schema: { type: 'string' },
      },
      IF_MATCH,
    ],
    problems: [404, 409, 412, 422],
  },
)

const side: JsonSchema = {
  type: 'object',
  description: 'A value and the source of the claim that wins with it.',
  properties: {
    value: { description: 'The value.', examples: ['2030-12-31'] },
    source_id: nullable(text('Source of the claim.', 'src_1001')),
    source: nullable(text('Its name.', 'Property management')),
  },
}

const previewSchema: JsonSchema = {
  title: 'SurvivorshipPreview',
  type: 'object',
  description: 'What a change of rules would do to current values.',
  properties: {
    object: constant('survivorship_preview'),
    hash: text('Names the change and everything it would do.', '9f2c'),
    revision: count('Number of the rules that it starts from.', 2),
    objects: count('Objects that would change.', 500),
    values: count('Values that would change.', 500),
    attributes: {
      type: 'array',
      description: 'How many values of each attribute.',
      items: {
        type: 'object',
        description: 'One attribute.',
        properties: {
          type: text('Type of the objects.', 'lease'),
          attribute: text('The attribute.', 'expiration_date'),
          values: count('Values that would change.', 500),
        },
      },
    },
    samples: {
      type: 'array',
      description: 'The first 20 of them.',
      items: {
        type: 'object',
        description: 'A value that would change.',
        properties: {
          object_id: text('The object.', 'le_1042'),
          type: text('Its type.', 'lease'),
          attribute: text('The attribute.', 'expiration_date'),
          before: side,
          after: side,
        },
      },
    },
  },
  required: ['object', 'hash', 'revision', 'objects', 'values', 'attributes', 'samples'],
}

export const previewRules = route(
  'write:facts',
  'previewSurvivorship',
  'Preview a change of rules',
  'Weighs every contested value by the rules as they are and as they would be, and counts what differs. Changes nothing. Give rule (with rule_id for one that exists, null to delete it), or source with source_id.',
  { 200: previewSchema },
  {
    problems: [...BODY_PROBLEMS, 404],
    body: {
      title: 'SurvivorshipPreviewRequest',
      type: 'object',
      additionalProperties: false,
      description: 'One rule or one source as it would be.',
      properties: {
        rule_id: text('Rule that would change or go.', 'sur_1001'),
        rule: {
          type: ['object', 'null'],
          additionalProperties: false,
          description: 'The rule as it would be: all of a new one, the changes of an old one.',
          properties: ruleMembers,
        },
        source_id: text('Source that would change.', 'src_1001'),
        source: {
          type: 'object',
          additionalProperties: false,
          description: 'Members of the source that would change.',
          properties: sourceMembers,
        },
      },
    },
  },
)

export const listChanges = route(
  'read:facts',
  'listSurvivorshipChanges',
  'List changes of rules',
  'Changes of rules and sources on their way through the objects and those that are done, newest first.',
  { 200: listSchema(changeSchema, 'SurvivorshipChangeList') },
  { parameters: PAGE_PARAMETERS, problems: [422] },
)

export const getChange = route(
  'read:facts',
  'getSurvivorshipChange',
  'Get a change of rules',
  'How far a change has come.',
  { 200: changeSchema },
  { parameters: [idOf('rch', 'change')], problems: [404, 422] },
)

/** @param claim as the fact endpoints show it. */
export function conflictProperties(claim: JsonSchema): Record<string, JsonSchema> {
  return {
    field: text('The field.', 'expiration_date'),
    winner: claim,
    others: { type: 'array', items: claim, description: 'Claims that lost.' },
    rule: {
      type: 'string',
      enum: [...DECISIONS],
      description: 'What decided between the winner and the best of the others.',
      examples: ['source_rank'],
    },
    rule_id: {
      ...nullable(text('Rule of the organization that applies.', 'sur_1001')),
      description:
        'Rule of the organization that applies; null when the order of the sources decides.',
    },
    strategy: {
      type: 'string',
      enum: [...STRATEGIES],
      description: 'Strategy that applies.',
      examples: ['source_priority'],
    },
  }
}

export const listAllConflicts = (claim: JsonSchema): RouteDocs =>
  route(
    'read:facts',
    'listConflicts',
    'List conflicts',
    'Every value on which sources differ now, by type and object. A page may hold fewer than limit while has_more says that more follow.',
    {
      200: listSchema(
        {
          title: 'ObjectConflict',
          type: 'object',
          description: 'A field of an object on which sources differ.',
          properties: {
            object_id: text('The object.', 'le_1042'),
            type: text('Its type.', 'lease'),
            ...conflictProperties(claim),
          },
        },
        'ObjectConflictList',
      ),
    },
    { parameters: [...PAGE_PARAMETERS, TYPE, ATTRIBUTE], problems: [422] },
  )
