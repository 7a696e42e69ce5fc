/** The catalogue of actions: what the audit log can say, each with the JSON Schema of its entries. */
import { platformEvents } from '../events/platform.ts'
import type { JsonSchema } from '../kit/field.ts'
import type { EventDeclaration } from '../kit/record.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { allFields } from '../kit/resource.ts'
import { resources } from '../resources.ts'
import { exportEvents } from '../exports/events.ts'
import { sandboxEvents } from '../sandbox/events.ts'
import { scheduleEvents } from '../schedule/events.ts'
import { jobEvents } from '../sdis/events.ts'
import { entrySchema } from './docs.ts'

/** Actions that are no events: what happened, and what `details` says of it. */
interface Audited {
  action: string
  object_type: string
  description: string
  details: Row
}

const ADDRESS = { address: { type: 'string', description: 'Where the request came from.' } }
const REQUEST = {
  ...ADDRESS,
  method: { type: 'string', description: 'Method of the request.' },
  route: { type: 'string', description: 'Route that was asked for.' },
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
]

const OPERATIONS = ['created', 'updated', 'deleted'] as const

/** Every action, in the order of the resources. */
export function auditActions(): Row[] {
  const events = [
    ...scheduleEvents,
    ...jobEvents,
    ...sandboxEvents,
    ...exportEvents,
    ...platformEvents,
  ]
  return [
    ...resources.flatMap((r) => OPERATIONS.map((o) => actionOf(r, o))),
    ...events.map(ofEvent),
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
      object_type: { const: object_type },
      ...parts,
    },
    required,
  }
}
