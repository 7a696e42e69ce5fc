/** The OpenAPI document as tests use it: the list of operations, bodies made of examples, answers checked. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { grid } from './grid.ts'
import type { Answer } from './grid.ts'
import type { Ids } from './samples.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  pattern?: string
}

export interface Operation {
  /** `GET /leases/{id}`. */
  name: string
  method: string
  path: string
  scope: string
  parameters: { name: string; in: string; required?: boolean; schema: Schema }[]
  /** Media types of the body; empty when there is none. */
  bodies: Record<string, { schema: Schema }>
  responses: Record<string, unknown>
}

interface Document {
  paths: Record<string, Record<string, RawOperation>>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, Operation['parameters'][number]>
  }
}

interface RawOperation {
  'x-grid-scope': string
  parameters?: (Operation['parameters'][number] & { $ref?: string })[]
  requestBody?: { content: Operation['bodies'] }
  responses: Record<string, unknown>
}

const { app } = await grid()
export const document = JSON.parse(app.openapi()) as Document

export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, raw]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    scope: raw['x-grid-scope'],
    parameters: (raw.parameters ?? []).map((parameter) => {
      const shared = parameter.$ref?.slice('#/components/parameters/'.length)
      return shared ? (document.components.parameters[shared] as typeof parameter) : parameter
    }),
    bodies: raw.requestBody?.content ?? {},
    responses: raw.responses,
  })),
)

/** The path with each parameter filled in, by the name of the parameter and the prefix of its ids. */
export function pathOf(
  operation: Operation,
  fill: (prefix: string, name: string) => string,
): string {
  return operation.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((p) => p.in === 'path' && p.name === name)
    const prefix = /^\^([a-z]+)_/.exec(parameter?.schema.pattern ?? '')?.[1] ?? ''
    return encodeURIComponent(fill(prefix, name))
  })
}

/** The id of the given prefix, or one that does not exist; any object's where no prefix is asked for. */
export function idWith(ids: Ids, prefix: string): string {
  if (prefix === '') return ids['lease'] as string
  return Object.values(ids).find((id) => id.startsWith(`${prefix}_`)) ?? `${prefix}_999999999`
}

/** A valid JSON body made of the schema's examples, required fields only; null when the body is no JSON. */
export function exampleBody(operation: Operation): Record<string, unknown> | null {
  const schema = operation.bodies['application/json']?.schema
  return schema ? (example(schema) as Record<string, unknown>) : null
}

function example(schema: Schema): unknown {
  if (schema.$ref) return example(resolve(schema.$ref))
  if (schema.const !== undefined) return schema.const
  if (schema.examples) return schema.examples[0]
  if (schema.enum) return schema.enum[0]
  const type = [schema.type].flat()[0]
  if (type === 'object') {
    const required = schema.required ?? []
    return Object.fromEntries(
      required.map((name) => [name, example(schema.properties?.[name] ?? {})]),
    )
  }
  if (type === 'array') return schema.items ? [example(schema.items)] : []
  return { boolean: true, integer: 1, number: 1 }[type ?? ''] ?? 'text'
}

function resolve(ref: string): Schema {
  return document.components.schemas[ref.slice(ref.lastIndexOf('/') + 1)] as Schema
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema(document, 'api')
const validators = new Map<string, ValidateFunction>()

/** What is wrong with an answer, as the document tells it: its status, its type or its body. Empty when all is well. */
export function faultsOf(operation: Operation, answer: Answer): string[] {
  const response = documented(operation, String(answer.status))
  if (!response) return [`${operation.name} does not document ${answer.status}`]
  const type = (answer.headers.get('content-type') ?? '').split(';')[0] as string
  if (!response.content) return answer.body === '' ? [] : [`${answer.status} has a body`]
  if (!response.content[type]) return [`${answer.status} is ${type || 'without a type'}`]
  if (!/\bjson\b/.test(type)) return []
  const ref = `api#${response.at}/content/${escape(type)}/schema`
  let validate = validators.get(ref)
  if (!validate) validators.set(ref, (validate = ajv.compile({ $ref: ref })))
  if (validate(answer.body)) return []
  return (validate.errors ?? []).map(
    (e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`,
  )
}

interface Response {
  content?: Record<string, unknown>
}

function documented(operation: Operation, status: string): (Response & { at: string }) | null {
  const response = operation.responses[status] as (Response & { $ref?: string }) | undefined
  if (!response) return null
  if (response.$ref) {
    const name = response.$ref.slice(response.$ref.lastIndexOf('/') + 1)
    const shared = (document.components as unknown as { responses: Record<string, Response> })
      .responses
    return { ...(shared[name] as Response), at: `/components/responses/${name}` }
  }
  const method = operation.method.toLowerCase()
  return { ...response, at: `/paths/${escape(operation.path)}/${method}/responses/${status}` }
}

function escape(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
}
