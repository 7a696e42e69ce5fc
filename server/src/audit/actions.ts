/** The catalogue of actions: what the audit log can say, each with the JSON Schema of its entries. */
import { declaredEvents } from '../events/declared.ts'
import type { JsonSchema } from '../kit/field.ts'
import type { EventDeclaration } from '../kit/record.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { allFields } from '../kit/resource.ts'
import { resources } from '../resources.ts'
import { entrySchema } from './docs.ts'

/** Actions that are no events: what happened, and what `details` says of it. */
interface Audited {
  action: string
  object_type: string
  description: string
  details: Row
}

const ADDRESS = { address: { type: 'string', description: 'Where the request came from.' } }
/** Stands for whatever type the object has. */
export const ANY = 'object'

const REASON = { type: 'string', description: 'Why.' }
const REQUEST = {
  ...ADDRESS,
  method: { type: 'string', description: 'Method of the request.' },
  route: { type: 'string', description: 'Route that was asked for.' },
}

const OPERATIONS = ['created', 'updated', 'deleted'] as const

const PULLING: readonly Audited[] = OPERATIONS.flatMap((operation) => [
  {
    action: `connection.${operation}`,
    object_type: 'connection',
    description: `A connection to a source was ${operation}.`,
    details: {
      name: { type: 'string', description: 'Its name.' },
      kind: { type: 'string', description: 'What the source is.' },
    },
  },
  {
    action: `schedule.${operation}`,
    object_type: 'schedule',
    description: `A schedule of jobs was ${operation}.`,
    details: {
      cron: { type: 'string', description: 'When it runs.' },
      state: { type: 'string', description: 'Whether it runs.' },
    },
  },
])

const PLANNED = { operations: { type: 'array', description: 'What is to be done to which field.' } }

const PAIR = {
  objects: { type: 'array', items: { type: 'string' }, description: 'Ids of both objects.' },
  reason: { type: ['string', 'null'], description: 'Why they are to stay two.' },
}

const EXPORTED = {
  type: { type: 'string', description: 'Type of the objects.' },
  format: { type: 'string', description: 'Form of the file.' },
}

const exported = (verb: string, description: string): Audited => ({
  action: `export.${verb}`,
  object_type: 'export',
  description,
  details: EXPORTED,
})

const ofSandbox = (verb: string, description: string): Audited => ({
  action: `sandbox.${verb}`,
  object_type: 'organization',
  description,
  details: {
    name: { type: 'string', description: 'Name of the sandbox.' },
    hash: { type: 'string', description: 'Hash of the difference that was taken live.' },
  },
})

const OTHERS: readonly Audited[] = [
  ...PULLING,
  {
    action: 'do_not_link.created',
    object_type: 'do_not_link',
    description: 'Two objects are to stay two.',
    details: PAIR,
  },
  {
    action: 'do_not_link.deleted',
    object_type: 'do_not_link',
    description: 'Two objects may be one again.',
    details: PAIR,
  },
  ofSandbox('created', 'A sandbox was made, with a key of its own.'),
  ofSandbox('deleted', 'A sandbox was deleted with all it held.'),
  ofSandbox('promoted', 'Settings of a sandbox were taken live.'),
  exported('requested', 'A list was asked for as a file.'),
  exported('downloaded', 'The file of an export was downloaded.'),
  exported('deleted', 'An export was deleted with its file.'),
  {
    action: 'api_key.used_from_new_address',
    object_type: 'api_key',
    description: 'A key was used from an address it had not been used from before.',
    details: ADDRESS,
  },
  {
    action: 'scope.denied',
    object_type: 'api_key',
    description: 'A request was refused because its key lacks a scope, or is restricted.',
    details: REQUEST,
  },
  {
    action: 'authentication.failed',
    object_type: 'api_key',
    description:
      'A request was refused because its key is revoked, has expired or may not come from there.',
    details: REQUEST,
  },
  ...(
    [
      ['fact.asserted', 'Values were claimed by hand.'],
      ['fact.ended', 'Values were said to hold no longer.'],
      ['fact.retracted', 'Claims were taken back that should not have been made.'],
    ] as const
  ).map(([action, description]) => ({
    action,
    object_type: ANY,
    description,
    details: {
      attributes: { type: 'array', items: { type: 'string' }, description: 'What it was about.' },
      source_id: { type: 'string', description: 'Source in whose name it was claimed.' },
      valid_from: { type: ['string', 'null'], description: 'From when it is true.' },
      reason: REASON,
    },
  })),
  {
    action: 'external_ids.left_out',
    object_type: ANY,
    description:
      'External ids that a change of rules or a date brought back were left out: another object has them by now.',
    details: {
      external_ids: {
        type: 'array',
        items: { type: 'object' },
        description: 'System and id of each.',
      },
    },
  },
  ...(
    [
      ['value.pinned', 'A value was pinned against every source.'],
      ['value.unpinned', 'A pin was taken back.'],
    ] as const
  ).map(([action, description]) => ({
    action,
    object_type: ANY,
    description,
    details: {
      attribute: { type: 'string', description: 'What was pinned.' },
      expires: { type: ['string', 'null'], description: 'Until when.' },
      reason: REASON,
    },
  })),
  {
    action: 'erasure.requested',
    object_type: 'erasure',
    description: 'Somebody asked to erase what is known of objects.',
    details: {
      objects: { type: 'integer', description: 'How many.' },
      attributes: { type: ['array', 'null'], description: 'What of them; null for all.' },
      reason: REASON,
    },
  },
  {
    action: 'erasure.redacted',
    object_type: 'erasure',
    description: 'Values were taken out of sealed entries of this log.',
    details: {
      entries: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'By position the SHA-256 of the canonical JSON of what is left of the entry.',
      },
    },
  },
  {
    action: 'schema_plan.proposed',
    object_type: 'schema_plan',
    description: 'A change of the schema was proposed.',
    details: PLANNED,
  },
  {
    action: 'schema_plan.approved',
    object_type: 'schema_plan',
    description: 'A change of the schema was approved; it can be deployed.',
    details: PLANNED,
  },
  {
    action: 'audit.exported',
    object_type: 'organization',
    description: 'The audit log was exported.',
    details: {
      format: { type: 'string', description: 'Form of the file.' },
      since: { type: ['string', 'null'], description: 'From this time on.' },
      until: { type: ['string', 'null'], description: 'Before this time.' },
      first_position: { type: ['integer', 'null'], description: 'First entry exported.' },
      last_position: { type: ['integer', 'null'], description: 'Last entry exported.' },
    },
  },
  ...['created', 'updated', 'deleted'].map((done) => ({
    action: `saved_query.${done}`,
    object_type: 'saved_query',
    description: `A saved query was ${done}.`,
    details: { name: { type: 'string', description: 'Its name.' } },
  })),
  {
    action: 'sql.run',
    object_type: 'organization',
    description:
      'A statement was sent to the SQL console, and run unless the outcome says otherwise.',
    details: {
      sql: { type: 'string', description: 'The statement.' },
      outcome: {
        type: 'string',
        description: 'ok; limit_rows or limit_bytes: cut off; otherwise the code of the problem.',
      },
      views: { type: 'array', items: { type: 'string' }, description: 'Views that it reads.' },
      cost: { type: ['integer', 'null'], description: 'What it was thought to cost.' },
      rows: { type: ['integer', 'null'], description: 'Rows that were answered.' },
      ms: { type: ['integer', 'null'], description: 'How long it took, in milliseconds.' },
    },
  },
]

/** Every action, in the order of the resources. */
export function auditActions(): Row[] {
  return [
    ...resources.flatMap((r) => OPERATIONS.map((o) => actionOf(r, o))),
    ...declaredEvents.map(ofEvent),
    ...OTHERS.map(other),
  ]
}

function actionOf(resource: Resource, operation: (typeof OPERATIONS)[number]): Row {
  const action = `${resource.name}.${operation}`
  const fields = Object.entries(allFields(resource)).filter(([, field]) => !field.writeOnly)
  const properties = Object.fromEntries(fields.map(([name, { schema }]) => [name, schema]))
  const values = { type: 'object', description: 'Values of the changed fields.', properties }
  const before = { $ref: '#/$defs/values', description: 'Values of the changed fields before.' }
  const after = { $ref: '#/$defs/values', description: 'Values of the changed fields after.' }
  const parts = { created: { after }, updated: { before, after }, deleted: {} }[operation]
  const schema = schemaOf(action, resource.name, parts)
  return {
    action,
    object_type: resource.name,
    description: `${resource.title}: ${operation}.`,
    schema: operation === 'deleted' ? schema : { ...schema, $defs: { values } },
  }
}

/** What is told as an event is audited with the object as it was then. */
function ofEvent({ type, object_type, description }: EventDeclaration): Row {
  return { action: type, object_type, description, schema: schemaOf(type, object_type, {}) }
}

function other({ action, object_type, description, details }: Audited): Row {
  const said: JsonSchema = {
    type: 'object',
    description: 'What it was about.',
    properties: details,
  }
  return {
    action,
    object_type,
    description,
    schema: schemaOf(action, object_type, { details: said }),
  }
}

function schemaOf(action: string, object_type: string, parts: Record<string, JsonSchema>): Row {
  const { properties, required } = entrySchema as { properties: Row; required: string[] }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: action,
    type: 'object',
    properties: {
      ...properties,
      action: { const: action },
      object_type: object_type === ANY ? { type: 'string' } : { const: object_type },
      ...parts,
    },
    required,
  }
}
