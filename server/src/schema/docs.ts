/** Documentation of the endpoints of the schema. */
import type { JsonSchema } from '../kit/field.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import type { Scope } from '../kit/scopes.ts'
import { constant, count, list, object, planSchema, text } from './field-docs.ts'
import { operationSchema } from './operations.ts'

const tags = ['schema']

function idOf(prefix: string, what: string): Parameter {
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: `Id of the ${what}.`,
    schema: { type: 'string', pattern: `^${prefix}_[0-9]+$`, examples: [`${prefix}_1042`] },
  }
}

const planId = idOf('pln', 'plan')
export const fieldId = idOf('fld', 'field')

export const LIMIT_TEXTS: Record<keyof typeof LIMITS, string> = {
  attributes_per_type: 'Deployed fields of a type.',
  options_per_field: 'Options of a field.',
  filterable_per_type: 'Filterable fields of a type.',
  formulas_per_type: 'Formulas of a type.',
  operations_per_plan: 'Operations of a plan.',
  drafts: 'Plans that were not approved yet; older ones are dropped.',
  unindexed_objects:
    'Objects of a type up to which every field can be filtered and sorted by; above, filterable ones only.',
  indexed_text: 'Characters of a text that can be filterable.',
  alias_days: 'Days for which an earlier name is understood.',
  restorable_days: 'Days for which a deprecated field can be restored.',
}

/** A POST: its problems are those of every one. */
export function post(
  scope: Scope,
  schema: Pick<RouteDocs['schema'], 'operationId' | 'summary' | 'description' | 'response'> & {
    body?: JsonSchema
    id?: Parameter
  },
): RouteDocs {
  const { id, ...rest } = schema
  return {
    config: { scope },
    schema: {
      ...rest,
      tags,
      parameters: [...(id ? [id] : []), IDEMPOTENCY],
      problems: [400, ...(id ? [404] : []), 409, 413, 415, 422],
    },
  }
}

export function get(
  schema: Pick<RouteDocs['schema'], 'operationId' | 'summary' | 'description' | 'response'>,
  parameters: Parameter[],
  problems: number[],
  scope: Scope = 'read:facts',
): RouteDocs {
  return { config: { scope }, schema: { ...schema, tags, parameters, problems } }
}

export const filter = (
  name: string,
  description: string,
  values?: readonly string[],
): Parameter => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', ...(values ? { enum: values } : {}) },
})

/** A list that hand-written filters narrow. */
export function paged(
  docs: RouteDocs,
  filters: Parameter[],
): RouteDocs & {
  schema: { querystring: JsonSchema }
} {
  const own = filters.map(({ name, schema }) => [name, schema])
  const querystring = {
    type: 'object',
    additionalProperties: false,
    properties: {
      limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
      cursor: { type: 'string' },
      ...(Object.fromEntries(own) as Record<string, JsonSchema>),
    },
  }
  const parameters = [...PAGE_PARAMETERS, ...filters]
  return { ...docs, schema: { ...docs.schema, parameters, querystring } }
}

export const closed = (
  title: string,
  description: string,
  properties: Record<string, JsonSchema>,
  required: string[] = [],
): JsonSchema => ({
  title,
  type: 'object',
  additionalProperties: false,
  description,
  properties,
  required,
})

export const propose = post('write:schema', {
  operationId: 'proposeSchemaExtension',
  summary: 'Turn a sentence into a plan',
  description:
    'Reads a request such as "add a percent field recovery cap to leases, 0 to 100" by rules alone, without any model. Nothing is guessed: what the sentence leaves open is asked in questions; send it again with answers. Nothing is changed before the plan is approved and deployed.',
  body: closed(
    'SchemaProposal',
    'A request in words.',
    {
      text: {
        ...text(
          'What is wanted; several requests may follow each other.',
          'yes/no pet friendly on buildings',
        ),
        minLength: 1,
        maxLength: 2_000,
      },
      answers: {
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 200 },
        description: 'Answers to questions of an earlier proposal of the same text, by their ids.',
        examples: [{ scale_1: '0-100' }],
      },
    },
    ['text'],
  ),
  response: { 201: planSchema },
})

export const createPlan = post('write:schema', {
  operationId: 'createSchemaExtension',
  summary: 'Write a plan',
  description:
    'A plan given as operations instead of words. Every operation that does not fit is named in a 422; nothing is changed before the plan is approved and deployed.',
  body: closed(
    'SchemaExtensionCreate',
    'A plan.',
    {
      operations: {
        type: 'array',
        items: operationSchema,
        minItems: 1,
        maxItems: LIMITS.operations_per_plan,
        description: 'What to do, in order.',
        examples: [
          [{ op: 'add_attribute', object_type: 'lease', label: 'Recovery cap', type: 'percent' }],
        ],
      },
    },
    ['operations'],
  ),
  response: { 201: planSchema },
})

export const listPlans = paged(
  get(
    {
      operationId: 'listSchemaExtensions',
      summary: 'List plans',
      description: 'Plans of changes of the schema, latest first.',
      response: { 200: listSchema(planSchema, 'SchemaPlanList') },
    },
    [],
    [422],
  ),
  [
    filter('state', 'Only plans in this state.', [
      'draft',
      'validating',
      'deployed',
      'rolled_back',
    ]),
  ],
)

export const getPlan = get(
  {
    operationId: 'getSchemaExtension',
    summary: 'Get a plan',
    description: 'A plan with its operations, risks, questions and the words each came from.',
    response: { 200: planSchema },
  },
  [planId],
  [404, 422],
)

const sample = object('A value that cannot be converted.', {
  object_id: text('The object that has it.', 'le_1042'),
  value: { description: 'The value as it is.' },
  message: text('Why not.', 'must be number'),
})

export const previewSchema: JsonSchema = {
  title: 'SchemaPreview',
  ...object('What a plan would do.', {
    object: constant('schema_preview'),
    plan_id: text('The plan.', 'pln_1042'),
    openapi: list(
      'How the interface of the organization would change.',
      object('A change of the interface.', {
        path: text('Where in the document.', 'Lease.ext.recovery_cap'),
        change: { type: 'string', enum: ['added', 'changed', 'removed'], description: 'What.' },
        before: { type: ['object', 'null'], description: 'The schema of values before.' },
        after: { type: ['object', 'null'], description: 'The schema of values after.' },
      }),
    ),
    conversions: list(
      'Real values held against what would hold of them.',
      object('The values of one field.', {
        field: text('The field.', 'lease.recovery_cap'),
        values: count('Values there are.', 412),
        convertible: count('Values that fit, or can be converted.', 409),
        failing: count('Values that do not; they stay in the facts of the old field.', 3),
        samples: list('At most 20 of those.', sample),
      }),
    ),
    affected: object('What else names the fields.', {
      formulas: list('Formulas that read them.', text('A formula.', 'lease.rent_with_cap')),
      webhooks: count('Webhooks that are told of objects of the types.', 2),
    }),
    cost: object('What it takes.', {
      objects: count('Objects of the types.', 7_465),
      values_to_index: count('Values to put into the index.', 0),
      values_to_convert: count('Values to write anew.', 0),
    }),
    issues: list(
      'Why it cannot be deployed as the schema is now.',
      object('An issue.', {
        field: text('Where.', 'operations[0].api_name'),
        code: text('Code.', 'duplicate'),
        message: text('What.', "a field 'recovery_cap' is there already"),
      }),
    ),
  }),
}

export const previewPlan = get(
  {
    operationId: 'previewSchemaExtension',
    summary: 'See what a plan would do',
    description:
      'How the interface would change, how values that are there fare, what else names the fields, and what it costs. Changes nothing.',
    response: { 200: previewSchema },
  },
  [planId],
  [404, 422],
  'write:schema',
)

export const confirm: JsonSchema = {
  type: 'array',
  items: text('Name of a field.', 'recovery_cap'),
  maxItems: 50,
  description:
    'Every field whose values would be hidden or converted, by name, as in confirm of the plan.',
  examples: [['recovery_cap']],
}

export const approvePlan = post('deploy:schema', {
  operationId: 'approveSchemaExtension',
  summary: 'Approve a plan',
  description: 'From then on the plan can be deployed. 409 while it has open questions.',
  id: planId,
  body: closed('SchemaApproval', 'An approval.', { confirm }),
  response: { 200: planSchema },
})

export const empty = (title: string): JsonSchema => closed(title, 'Nothing more is needed.', {})

export const deployPlan = post('deploy:schema', {
  operationId: 'deploySchemaExtension',
  summary: 'Deploy a plan',
  description:
    'Makes an approved plan the schema, in one transaction of metadata: its fields are at once in answers, filters, documents and events.',
  id: planId,
  body: empty('SchemaDeploy'),
  response: { 200: planSchema },
})

export const rollbackPlan = post('deploy:schema', {
  operationId: 'rollbackSchemaExtension',
  summary: 'Roll a plan back',
  description:
    'Takes a deployed plan back. A field it added is removed, or deprecated when it has values by now. 409 when a later plan changed the same field.',
  id: planId,
  body: empty('SchemaRollback'),
  response: { 200: planSchema },
})
