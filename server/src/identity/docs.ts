/** Documentation of the identity endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { MATCHED_TYPES } from './identifiers.ts'
import { candidateSchema, doNotLinkSchema, mergeSchema, runSchema, text } from './schemas.ts'

interface More {
  parameters?: Parameter[]
  problems?: number[]
  body?: JsonSchema
  querystring?: JsonSchema
}

function route(
  scope: 'read:facts' | 'write:facts',
  operationId: string,
  summary: string,
  description: string,
  response: Record<number, JsonSchema>,
  { parameters = [], problems = [], body, querystring }: More,
): RouteDocs {
  return {
    config: { scope },
    schema: {
      operationId,
      summary,
      description,
      tags: ['identity'],
      response,
      parameters,
      problems,
      ...(body ? { body } : {}),
      ...(querystring ? { querystring } : {}),
    },
  }
}

const BODY_PROBLEMS = [400, 409, 413, 415, 422]

const reason: JsonSchema = {
  type: ['string', 'null'],
  maxLength: 500,
  description: 'Why; kept with the decision.',
  examples: ['Same tenant, two spellings'],
}

const force: JsonSchema = {
  type: 'boolean',
  default: false,
  description: 'Merge also when one source lists both now, as two records of one stream.',
  examples: [false],
}

const anyId = (description: string, example: string): JsonSchema => ({
  ...text(description, example),
  pattern: '^[a-z]+_[0-9]+$',
})

const pathId = (prefix: string, what: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `Id of the ${what}.`,
  schema: { type: 'string', pattern: `^${prefix}_[0-9]+$`, examples: [`${prefix}_1042`] },
})

const paged = (properties: Record<string, JsonSchema> = {}): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
    cursor: { type: 'string' },
    ...properties,
  },
})

const query = (name: string, description: string, schema: JsonSchema): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
})

export const createMerge = route(
  'write:facts',
  'createMerge',
  'Merge two objects',
  'The loser keeps its id and its facts and stands at the winner from now on: the winner has the claims of both, the old id leads to it, and what referred to the loser refers to the winner. DELETE takes it back.',
  { 201: mergeSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: BODY_PROBLEMS,
    body: {
      title: 'MergeCreate',
      type: 'object',
      additionalProperties: false,
      description: 'Two objects of one type.',
      properties: {
        winner: anyId(
          'The object that stays; of a merged one, the object that it stands at.',
          'pty_2001',
        ),
        loser: anyId('The object that is merged into it.', 'pty_2002'),
        reason,
        force,
      },
      required: ['winner', 'loser'],
    },
  },
)

export const listMerges = route(
  'read:facts',
  'listMerges',
  'List merges',
  'Merges of the organization, latest first.',
  { 200: listSchema(mergeSchema, 'MergeList') },
  {
    parameters: [
      ...PAGE_PARAMETERS,
      query('object_id', 'Only merges of this object.', { type: 'string', examples: ['pty_2001'] }),
      query('state', 'Only merges that hold, or that were undone.', {
        type: 'string',
        enum: ['merged', 'unmerged'],
      }),
    ],
    problems: [422],
    querystring: paged({
      object_id: { type: 'string' },
      state: { type: 'string', enum: ['merged', 'unmerged'] },
    }),
  },
)

export const getMerge = route(
  'read:facts',
  'getMerge',
  'Get a merge',
  'How two objects were found to be one, who decided it, and whether it holds.',
  { 200: mergeSchema },
  { parameters: [pathId('mrg', 'merge')], problems: [404, 422] },
)

export const deleteMerge = route(
  'write:facts',
  'deleteMerge',
  'Undo a merge',
  'Both objects are again as their own facts make them, references too, and are to stay two: the pair is added to those that are not linked again.',
  { 204: { description: 'Undone.' } },
  { parameters: [pathId('mrg', 'merge')], problems: [404, 409, 422] },
)

export const createDoNotLink = route(
  'write:facts',
  'createDoNotLink',
  'Keep two objects apart',
  'Neither matching nor a person merges them while the pair is noted.',
  { 201: doNotLinkSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: BODY_PROBLEMS,
    body: {
      title: 'DoNotLinkCreate',
      type: 'object',
      additionalProperties: false,
      description: 'Two objects of one type.',
      properties: {
        objects: {
          type: 'array',
          items: { type: 'string', pattern: '^[a-z]+_[0-9]+$' },
          minItems: 2,
          maxItems: 2,
          description: 'Ids of both.',
          examples: [['pty_2001', 'pty_2002']],
        },
        reason,
      },
      required: ['objects'],
    },
  },
)

export const listDoNotLink = route(
  'read:facts',
  'listDoNotLink',
  'List pairs that stay two',
  'Pairs that are not to be merged, latest first.',
  { 200: listSchema(doNotLinkSchema, 'DoNotLinkList') },
  { parameters: [...PAGE_PARAMETERS], problems: [422], querystring: paged() },
)

export const deleteDoNotLink = route(
  'write:facts',
  'deleteDoNotLink',
  'Forget a pair',
  'The two may be merged again.',
  { 204: { description: 'Forgotten.' } },
  { parameters: [pathId('dnl', 'pair')], problems: [404, 422] },
)

export const listCandidates = route(
  'read:facts',
  'listMatchCandidates',
  'List match candidates',
  'The review queue: pairs that may be one, oldest first, each with why.',
  { 200: listSchema(candidateSchema, 'MatchCandidateList') },
  {
    parameters: [
      ...PAGE_PARAMETERS,
      query('state', 'Only candidates in this state; open when left out.', {
        type: 'string',
        enum: ['open', 'accepted', 'rejected'],
      }),
      query('type', 'Only candidates of this type.', {
        type: 'string',
        enum: [...MATCHED_TYPES],
      }),
    ],
    problems: [422],
    querystring: paged({
      state: { type: 'string', enum: ['open', 'accepted', 'rejected'], default: 'open' },
      type: { type: 'string', enum: [...MATCHED_TYPES] },
    }),
  },
)

export const getCandidate = route(
  'read:facts',
  'getMatchCandidate',
  'Get a match candidate',
  'Two objects that may be one, with every comparison and its weight.',
  { 200: candidateSchema },
  { parameters: [pathId('mat', 'candidate')], problems: [404, 422] },
)

export const acceptCandidate = route(
  'write:facts',
  'acceptMatchCandidate',
  'Accept a match candidate',
  'Merges both; the answer names the merge.',
  { 200: candidateSchema },
  {
    parameters: [pathId('mat', 'candidate'), IDEMPOTENCY],
    problems: [...BODY_PROBLEMS, 404],
    body: {
      title: 'MatchAccept',
      type: 'object',
      additionalProperties: false,
      description: 'How to merge them; all may be left out.',
      properties: {
        winner: anyId('Which of both stays; the older one when left out.', 'pty_2001'),
        reason,
        force,
      },
    },
  },
)

export const rejectCandidate = route(
  'write:facts',
  'rejectMatchCandidate',
  'Reject a match candidate',
  'Both are to stay two: the pair is noted and not found again.',
  { 200: candidateSchema },
  {
    parameters: [pathId('mat', 'candidate'), IDEMPOTENCY],
    problems: [...BODY_PROBLEMS, 404],
    body: {
      title: 'MatchReject',
      type: 'object',
      additionalProperties: false,
      description: 'Why; may be left out.',
      properties: { reason },
    },
  },
)

export const createRun = route(
  'write:facts',
  'createMatchRun',
  'Match all objects of a type',
  'Compares all objects of a type in the background. What loads create is matched without being asked for.',
  { 202: runSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: BODY_PROBLEMS,
    body: {
      title: 'MatchRunCreate',
      type: 'object',
      additionalProperties: false,
      description: 'What to match.',
      properties: {
        type: {
          type: 'string',
          enum: [...MATCHED_TYPES],
          description: 'Type of the objects.',
          examples: ['party'],
        },
      },
      required: ['type'],
    },
  },
)

export const listRuns = route(
  'read:facts',
  'listMatchRuns',
  'List match runs',
  'Runs of the organization, latest first.',
  { 200: listSchema(runSchema, 'MatchRunList') },
  { parameters: [...PAGE_PARAMETERS], problems: [422], querystring: paged() },
)

export const getRun = route(
  'read:facts',
  'getMatchRun',
  'Get a match run',
  'How far a run has come and what it found.',
  { 200: runSchema },
  { parameters: [pathId('mrn', 'run')], problems: [404, 422] },
)
