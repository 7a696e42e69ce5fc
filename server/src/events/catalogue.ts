/** Every type of event: what it means, the form of its payload, an example. */
import { declaredEvents } from './declared.ts'
import type { Hook } from '../http/openapi-document.ts'
import type { JsonSchema } from '../kit/field.ts'
import type { EventDeclaration } from '../kit/record.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { componentName, rowSchema } from '../kit/schemas.ts'
import { resources } from '../resources.ts'
import { matchesType } from './feed.ts'
import { SCHEMA_VERSION } from './payload.ts'
import { eventSchema, objectLinkSchema } from './schemas.ts'

export interface EventType extends EventDeclaration {
  schema_version: string
  /** The payload, which is the event of `eventSchema` with this type and object. */
  payload: JsonSchema
}

export const catalogue: readonly EventType[] = [
  ...resources.flatMap(ofResource),
  ...declaredEvents,
].map((declared) => ({
  ...declared,
  schema_version: SCHEMA_VERSION,
  payload: payloadSchema(declared),
}))

const byType = new Map(catalogue.map((entry) => [entry.type, entry]))

export function eventType(type: string): EventType | undefined {
  return byType.get(type)
}

/** Those of the patterns that no type fits. */
export function unknownPatterns(patterns: readonly string[]): string[] {
  return patterns.filter((pattern) => !catalogue.some(({ type }) => matchesType([pattern], type)))
}

function ofResource(resource: Resource): EventDeclaration[] {
  const { name, title, meanings } = resource
  const one = title.toLowerCase()
  const texts = {
    created: { title: `${title} created`, description: `A new ${one} was written.` },
    updated: {
      title: `${title} updated`,
      description: `Values of the ${one} changed; changed names them, previous holds the old ones.`,
    },
    deleted: { title: `${title} deleted`, description: `The ${one} was deleted.` },
    ...meanings,
  }
  return Object.entries(texts).map(([verb, text]) => ({
    type: `${name}.${verb}`,
    title: text.title,
    description: text.description,
    object_type: name,
    object: rowSchema(resource),
  }))
}

function payloadSchema({ type, description, object }: EventDeclaration): JsonSchema {
  return {
    description,
    allOf: [
      eventSchema,
      {
        type: 'object',
        properties: {
          type: { type: 'string', const: type, description: 'What happened.' },
          data: {
            type: 'object',
            description: 'What it happened to.',
            properties: {
              object: {
                description: 'The object as it was then; only its address when asked for so.',
                anyOf: [object, objectLinkSchema],
              },
            },
          },
        },
      },
    ],
  }
}

/** The requests that webhooks get, for the OpenAPI document. */
export const eventHooks: readonly Hook[] = catalogue.map(
  ({ type, title, description, payload }) => ({
    name: type,
    summary: title,
    description,
    body: payload,
  }),
)

/** A payload of the type, made of the examples of single fields. */
export function exampleEvent({ type, object_type, object }: EventType): Row {
  const event = exampleOf(eventSchema) as Row
  const verb = type.slice(type.indexOf('.') + 1)
  const data = {
    ...(event['data'] as Row),
    object: { ...(exampleOf(object) as Row), object: object_type },
  }
  const plain = { object: data.object }
  return { ...event, type, data: verb === 'updated' ? data : plain }
}

function exampleOf(schema: JsonSchema): unknown {
  const {
    const: fixed,
    examples,
    enum: values,
    type,
    properties = {},
    format,
    anyOf,
  } = schema as ExampleSchema
  if (fixed !== undefined) return fixed
  if (examples) return examples[0]
  if (values) return values[0]
  if (anyOf) return exampleOf(anyOf[0] as JsonSchema)
  const [kind = 'null'] = [type ?? []].flat()
  switch (kind) {
    case 'object':
      return Object.fromEntries(
        Object.entries(properties).map(([name, part]) => [name, exampleOf(part)]),
      )
    case 'array':
      return []
    case 'string':
      return format === 'date-time' ? '2026-05-12T08:00:00.000Z' : 'text'
    case 'boolean':
      return true
    case 'integer':
    case 'number':
      return 1
    default:
      return null
  }
}

interface ExampleSchema {
  const?: unknown
  examples?: unknown[]
  enum?: unknown[]
  anyOf?: JsonSchema[]
  type?: string | string[]
  format?: string
  properties?: Record<string, JsonSchema>
}

/** The payload schema with its components by reference: complete where the OpenAPI document is at hand. */
export function referringSchema(entry: EventType, document = '/openapi.json'): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `${componentName(entry.type.replace('.', '_'))}Event`,
    ...(referring(entry.payload, document) as JsonSchema),
  }
}

function referring(schema: unknown, document: string): unknown {
  if (Array.isArray(schema)) return schema.map((part) => referring(part, document))
  if (typeof schema !== 'object' || schema === null) return schema
  const { title } = schema as { title?: unknown }
  if (typeof title === 'string') return { $ref: `${document}#/components/schemas/${title}` }
  return Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [name, referring(part, document)]),
  )
}
