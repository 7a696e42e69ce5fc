/** Examples made from those of single fields: bodies, answers, and the request as a line for the shell. */
import { nameOf } from './model.ts'
import type { Operation, Reference, Schema } from './model.ts'

/** Shown of a list that has no example of its own. */
const DEPTH_MAX = 6

/** A value that keeps to the schema. @param which fields of objects: those a request needs, or all an answer has. */
export function exampleOf(
  reference: Reference,
  schema: Schema,
  which: 'required' | 'all',
  depth = 0,
): unknown {
  if (schema.$ref) {
    const target = reference.schemas[nameOf(schema.$ref)] ?? {}
    return depth > DEPTH_MAX ? {} : exampleOf(reference, target, which, depth + 1)
  }
  if (schema.const !== undefined) return schema.const
  if (schema.examples) return schema.examples[0]
  if (schema.default !== undefined) return schema.default
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return exampleOf(reference, schema.anyOf[0] ?? {}, which, depth + 1)
  const type = [schema.type].flat()[0]
  if (type === 'object') {
    const names = which === 'all' ? Object.keys(schema.properties ?? {}) : (schema.required ?? [])
    return Object.fromEntries(
      names.map((name) => [
        name,
        exampleOf(reference, schema.properties?.[name] ?? {}, which, depth + 1),
      ]),
    )
  }
  if (type === 'array')
    return schema.items ? [exampleOf(reference, schema.items, which, depth + 1)] : []
  if (type === 'string') return textOf(schema)
  return type === 'boolean' ? true : type === 'integer' || type === 'number' ? 1 : null
}

function textOf({ format }: Schema): string {
  if (format === 'date-time') return '2026-05-12T08:00:00.000Z'
  return format === 'date' ? '2026-05-12' : 'text'
}

/** The request for curl, in lines that can be pasted. */
export function curlOf(reference: Reference, operation: Operation, base: string): string {
  const { method, parameters, bodies, scope } = operation
  const path = operation.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
    const schema = parameters.find((p) => p.in === 'path' && p.name === name)?.schema ?? {}
    return String(exampleOf(reference, schema, 'required'))
  })
  const body = bodies.find(({ type }) => type === 'application/json') ?? bodies[0]
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${base}${path}`,
    ...(scope === 'public' ? [] : ['-H "X-API-Key: $GRID_KEY"']),
    ...(body ? bodyLines(reference, method, body.type, body.schema) : []),
  ].join(' \\\n  ')
}

function bodyLines(
  reference: Reference,
  method: string,
  type: string,
  schema: Schema,
): readonly string[] {
  if (type === 'multipart/form-data') {
    const { required = [] } = reference.schemas[nameOf(schema.$ref ?? '')] ?? schema
    return required.map((name) => `-F ${name}=@${name === 'adapter' ? 'adapter.yaml' : name}`)
  }
  const value =
    method === 'PATCH' ? patchOf(reference, schema) : exampleOf(reference, schema, 'required')
  const text = JSON.stringify(value, null, 2).replaceAll("'", String.raw`'\''`)
  return ['-H "Content-Type: application/json"', `-d '${text}'`]
}

/** A change of one field: the first plain one that says something. */
function patchOf(reference: Reference, schema: Schema): unknown {
  const { properties = {} } = reference.schemas[nameOf(schema.$ref ?? '')] ?? schema
  const [name, field] =
    Object.entries(properties).find(([, one]) => [one.type].flat().includes('string')) ?? []
  return name && field ? { [name]: exampleOf(reference, field, 'required') } : {}
}
