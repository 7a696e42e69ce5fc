/** Documentation of the fact endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import type { Parameter } from '../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { claimProperties, claimSchema as claim, conflictProperties } from '../truth/index.ts'

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of any object.',
  schema: { type: 'string', pattern: '^[a-z]+_[0-9]+$', examples: ['le_1042'] },
}

const times: Parameter[] = [
  {
    name: 'as_of',
    in: 'query',
    description: 'As it was true at the end of this day.',
    schema: { type: 'string', format: 'date', examples: ['2026-03-31'] },
  },
  {
    name: 'known_at',
    in: 'query',
    description: 'As it had been recorded by this time.',
    schema: { type: 'string', format: 'date-time', examples: ['2026-04-15T00:00:00Z'] },
  },
]

const field: Parameter = {
  name: 'field',
  in: 'query',
  description: 'Only this field.',
  schema: { type: 'string', examples: ['expiration_date'] },
}

const fieldName: JsonSchema = {
  type: 'string',
  description: 'The field.',
  examples: ['expiration_date'],
}

function view(
  title: string,
  description: string,
  properties: Record<string, JsonSchema>,
): JsonSchema {
  return listSchema({ title, type: 'object', description, properties }, `${title}List`)
}

function route(
  operationId: string,
  summary: string,
  description: string,
  response: JsonSchema,
  parameters: Parameter[],
): RouteDocs {
  return {
    config: { scope: 'read:facts' },
    schema: {
      operationId,
      summary,
      description,
      tags: ['grid/v2'],
      response: { 200: response },
      parameters,
      problems: [404, 422],
    },
  }
}

export const getSchema: RouteDocs = route(
  'getGridSchema',
  'Get the schema',
  'Types, attributes, relations and filters of the model. The ETag is its version.',
  {
    title: 'GridSchema',
    type: 'object',
    description: 'The model as data.',
    properties: {
      object: { type: 'string', const: 'schema', description: 'Always schema.' },
      version: {
        type: 'string',
        description: 'Fingerprint of the content.',
        examples: ['5f1c0a9b2e44'],
      },
      types: {
        type: 'array',
        items: { type: 'object', additionalProperties: true },
        description: 'Types with their attributes.',
      },
    },
    required: ['object', 'version', 'types'],
  },
  [],
)

export const getObject: RouteDocs = route(
  'getGridObject',
  'Get any object',
  'The object in the second-generation form, whatever its type.',
  {
    title: 'GridObject',
    type: 'object',
    additionalProperties: true,
    description:
      'An object: id, type, attributes, relations, ext, version, members. Asked for by the id of an object that was merged into it, it also says merged_into.',
  },
  [
    id,
    { name: 'fields', in: 'query', description: 'Only these fields.', schema: { type: 'string' } },
    {
      name: 'expand',
      in: 'query',
      description: 'Related objects to show.',
      schema: { type: 'string' },
    },
    {
      name: 'include',
      in: 'query',
      description: 'Additions, such as provenance or rollups.',
      schema: { type: 'string', examples: ['provenance'] },
    },
    ...times,
  ],
)

export const listFacts: RouteDocs = route(
  'listObjectFacts',
  'List the facts of an object',
  'Every claim ever made on it, oldest first, each with what became of it. Fields that start with an underscore speak of the object itself.',
  view('ObjectFact', 'One claim on an object.', {
    field: fieldName,
    status: {
      type: 'string',
      enum: ['current', 'conflicting', 'superseded', 'retracted'],
      description: 'current: it holds. conflicting: its source still says so, but another won.',
    },
    ...claimProperties,
  }),
  [id, field, ...times, ...PAGE_PARAMETERS],
)

export const listTimeline: RouteDocs = route(
  'listObjectTimeline',
  'List the timeline of an object',
  'Per field, which value was true from when to when, and who says so.',
  view('TimelineSpan', 'A value and the time in which it was true.', {
    field: fieldName,
    from: { type: 'string', format: 'date-time', description: 'First moment of the value.' },
    to: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'First moment after it; null while it is true.',
    },
    ...claimProperties,
  }),
  [id, field, ...times, ...PAGE_PARAMETERS],
)

export const listConflicts: RouteDocs = route(
  'listObjectConflicts',
  'List the conflicts of an object',
  'Fields on which sources differ now: the winner, the others, and the rule that decided.',
  view('Conflict', 'A field on which sources differ.', conflictProperties(claim)),
  [id, field, ...times, ...PAGE_PARAMETERS],
)

export const listRelations: RouteDocs = route(
  'listObjectRelations',
  'List the relations of an object',
  'Objects it refers to and objects that refer to it, at most 100 per field.',
  view('Relation', 'A link between two objects.', {
    direction: {
      type: 'string',
      enum: ['outgoing', 'incoming'],
      description: 'outgoing: this object names the other.',
    },
    field: {
      type: 'string',
      description: 'The field that holds the link.',
      examples: ['property_id'],
    },
    object_id: { type: 'string', description: 'The other object.', examples: ['prop_1001'] },
    object_type: {
      type: 'string',
      description: 'Its type, of incoming links.',
      examples: ['property'],
    },
  }),
  [id, field, ...times, ...PAGE_PARAMETERS],
)

export const getProvenance: RouteDocs = route(
  'getObjectProvenance',
  'Get the provenance of an object',
  'For every field the claim that won: value, since when, who says so, which job and row.',
  {
    title: 'Provenance',
    type: 'object',
    description: 'Winning claims by field.',
    properties: {
      object: { type: 'string', const: 'provenance', description: 'Always provenance.' },
      id: { type: 'string', description: 'The object.', examples: ['le_1042'] },
      fields: { type: 'object', additionalProperties: claim, description: 'Claims by field.' },
    },
    required: ['object', 'id', 'fields'],
  },
  [id, field, ...times],
)
