/** What a row of a resource's list consists of, as the request shapes it: the columns of the list as a table. */
import { shownSchema } from '../extension-schema.ts'
import type { JsonSchema } from '../field.ts'
import { expandable } from '../relations.ts'
import type { Registry, Shape } from '../query.ts'
import type { Resource } from '../resource.ts'
import type { Model } from '../object-routes.ts'
import { rowSchema } from '../schemas.ts'
import { gridObject } from '../shape.ts'

type Properties = Record<string, JsonSchema>

/** What an answer adds to the fields of an object, by the word of `include` that asks for it. */
const ADDED = ['rollups', 'facts', 'provenance'] as const

/** The schema of a row with the fields asked for, in the order in which they were. */
export function listItem(
  resource: Resource,
  registry: Registry,
  shape: Shape,
  model: Model,
): JsonSchema {
  const all = expanded(resource, registry, shape.expand)
  for (const name of ADDED) {
    if (!shape.include.has(name)) delete all[name]
    else all[name] ??= { type: 'object' }
  }
  const properties = shape.fields ? picked(all, shape) : all
  return {
    type: 'object',
    properties: model === 'grid' ? grid(resource, registry, properties) : properties,
  }
}

/** Fields of an object with those of the objects that stand beside their ids. */
function expanded(resource: Resource, registry: Registry, paths: readonly string[]): Properties {
  const properties: Properties = { ...(rowSchema(resource)['properties'] as Properties) }
  properties['ext'] = shownSchema(resource.extensions)
  const related = expandable(resource, registry)
  for (const [name, deeper] of Map.groupBy(paths, (path) => path.split('.')[0] as string)) {
    const { field, target } = related.get(name) ?? { field: '', target: '' }
    const other = registry.get(target)
    if (!other) continue
    const inner = deeper.flatMap((path) =>
      path.includes('.') ? [path.slice(path.indexOf('.') + 1)] : [],
    )
    const many = resource.fields[field]?.kind === 'list'
    const { rollups: _, ...own } = expanded(other, registry, inner)
    properties[name] = many ? { type: 'array' } : { type: 'object', properties: own }
  }
  return properties
}

function picked(all: Properties, shape: Shape): Properties {
  const result: Properties = {}
  for (const path of shape.fields ?? []) {
    const [head = '', ...rest] = path.split('.')
    const whole = all[head]
    if (!whole) continue
    const inner = (whole['properties'] as Properties | undefined)?.[rest.join('.')]
    if (rest.length === 0) result[head] = whole
    else if (inner) {
      const kept = result[head]?.['properties'] as Properties | undefined
      result[head] = { type: 'object', properties: { ...kept, [rest.join('.')]: inner } }
    }
  }
  const beside = [...shape.expand.map((path) => path.split('.')[0] as string), ...ADDED]
  for (const name of beside) if (all[name]) result[name] ??= all[name]
  return result
}

/** The same properties where the second-generation form has them. */
function grid(resource: Resource, registry: Registry, properties: Properties): Properties {
  const { attributes, relations, type: _, ...rest } = gridObject(resource, registry, properties)
  const { id, ...others } = present(rest as Properties)
  return {
    ...(id ? { id } : {}),
    type: { type: 'string' },
    attributes: { type: 'object', properties: present(attributes as Properties) },
    relations: { type: 'object', properties: present(relations as Properties) },
    ...others,
  }
}

function present(properties: Readonly<Record<string, JsonSchema | undefined>>): Properties {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => (schema ? [[name, schema]] : [])),
  )
}
