/** Schemas and documentation of the endpoints every resource has. */
import { nullable, objectSchema } from './field.ts'
import type { JsonSchema } from './field.ts'
import {
  filters,
  IDEMPOTENCY,
  IF_MATCH,
  IF_NONE_MATCH,
  PAGING,
  pathParameter,
  SHAPE,
  TIMES,
} from './parameters.ts'
import type { Parameter } from './parameters.ts'
import { allFields } from './resource.ts'
import type { Resource } from './resource.ts'
import type { Scope } from './scopes.ts'
import type { Model } from './object-routes.ts'
import type { Under } from './routes.ts'
import { createSchema, patchSchema } from './body-schema.ts'

/** What every route declares; the app refuses to start without it. */
export interface RouteDocs {
  config: { scope: Scope | 'public'; limit?: string }
  schema: {
    operationId: string
    summary: string
    description: string
    tags: string[]
    body?: JsonSchema
    response: Record<number, JsonSchema>
    /** Parameters that are documented here and read by the handler. */
    parameters: Parameter[]
    /** Problem statuses besides 401, 403, 429 and 500. */
    problems: number[]
  }
}

const titles = new WeakMap<Resource, Map<string, JsonSchema>>()

function once(resource: Resource, key: string, make: () => JsonSchema): JsonSchema {
  let map = titles.get(resource)
  if (!map) titles.set(resource, (map = new Map()))
  let schema = map.get(key)
  if (!schema) map.set(key, (schema = make()))
  return schema
}

/** `work_order` -> `WorkOrder`: the name of a component. */
export function componentName(name: string): string {
  return name.replaceAll(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase())
}

/** The object as answers show it: every field present, null when unknown. */
export function rowSchema(resource: Resource): JsonSchema {
  return once(resource, 'row', () => {
    const visible = Object.entries(allFields(resource)).filter(([, field]) => !field.writeOnly)
    const always = new Set([
      'id',
      'object',
      'organization_id',
      'version',
      'created_at',
      'updated_at',
      'external_ids',
      'tags',
      'ext',
    ])
    const properties = Object.fromEntries(
      visible.map(([name, field]) => [
        name,
        {
          ...(always.has(name) ? field.schema : nullable(field.schema)),
          ...(field.readOnly ? { readOnly: true } : {}),
        },
      ]),
    )
    return {
      title: componentName(resource.name),
      description: resource.description,
      type: 'object',
      properties: { ...properties, ...rollupsProperty(resource) },
      required: visible.map(([name]) => name),
    }
  })
}

function rollupsProperty(resource: Resource): { rollups?: JsonSchema } {
  const entries = Object.entries(resource.rollups)
  if (entries.length === 0) return {}
  const description =
    'Values computed from other objects at the time of the request; present with include=rollups.'
  const properties = entries.map(([name, field]) => [name, nullable(field.schema)])
  return {
    rollups: {
      type: ['object', 'null'],
      readOnly: true,
      description,
      properties: Object.fromEntries(properties),
      required: entries.map(([name]) => name),
    },
  }
}

/** The same object in the second-generation form. */
function gridSchema(resource: Resource): JsonSchema {
  return once(resource, 'grid', () => ({
    title: `Grid${componentName(resource.name)}`,
    description: `${resource.title} in the second-generation form: identity, attributes, relations and extensions apart.`,
    type: 'object',
    properties: {
      id: {
        type: 'string',
        description: 'Id of the object.',
        examples: [`${resource.prefix}_1042`],
      },
      type: { type: 'string', const: resource.name, description: 'Type of the object.' },
      attributes: {
        type: 'object',
        description: 'Values, by field name.',
        additionalProperties: true,
      },
      relations: {
        type: 'object',
        description: 'Ids of related objects, by field name.',
        additionalProperties: true,
      },
      ext: {
        type: 'object',
        description: 'Fields your organization added.',
        additionalProperties: true,
      },
      members: {
        type: 'array',
        items: { type: 'string' },
        description:
          'Only in single reads: ids of the object and of what was merged into it, at most 201.',
        examples: [[`${resource.prefix}_1042`]],
      },
      merged_into: {
        type: 'string',
        description: 'Present when the id asked for is one that was merged into this object.',
        examples: [`${resource.prefix}_1042`],
      },
      version: { type: 'integer', description: 'Counts the writes to the object.', examples: [3] },
      created_at: {
        type: 'string',
        format: 'date-time',
        description: 'When it was first written.',
      },
      updated_at: { type: 'string', format: 'date-time', description: 'When it was last written.' },
      archived_at: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'When the last source stopped listing it.',
      },
      deleted_at: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'When it was deleted.',
      },
      provenance: {
        type: 'object',
        description: 'The winning claim per attribute, with include=provenance.',
        additionalProperties: true,
      },
      ...rollupsProperty(resource),
    },
    required: ['id', 'type', 'attributes', 'relations', 'ext', 'version', 'updated_at'],
  }))
}

/** The envelope of a list. */
export function listSchema(item: JsonSchema, title: string): JsonSchema {
  return {
    title,
    type: 'object',
    description: 'One page of a list.',
    properties: {
      object: { type: 'string', const: 'list', description: 'Always list.' },
      data: { type: 'array', items: item, description: 'The objects of this page.' },
      has_more: { type: 'boolean', description: 'More objects follow.', examples: [true] },
      next_cursor: {
        type: ['string', 'null'],
        description: 'Send it as cursor to get the next page; null on the last.',
        examples: ['WyJ...'],
      },
      total_count: {
        type: ['integer', 'null'],
        description: 'With include=total_count: how many there are, null above 100,000.',
        examples: [7473],
      },
    },
    required: ['object', 'data', 'has_more', 'next_cursor'],
  }
}

/** Paging parameters of hand-written lists. */
export const PAGE_PARAMETERS: Parameter[] = PAGING.slice(0, 2)

function plural(resource: Resource): string {
  return resource.path.replaceAll('_', ' ')
}

/** `a lease`, `an organization`. */
function one({ title }: Resource): string {
  return `${/^[aeio]/i.test(title) ? 'an' : 'a'} ${title.toLowerCase()}`
}

export function listDocs(resource: Resource, model: Model, under?: Under): RouteDocs {
  const name = componentName(resource.path)
  const grid = model === 'grid'
  const of = under ? ` of ${one(under.parent)}` : ''
  const item = grid ? gridSchema(resource) : rowSchema(resource)
  return {
    config: { scope: `read:${resource.scope}` as Scope },
    schema: {
      operationId: under
        ? `list${componentName(under.parent.name)}${name}`
        : `list${grid ? 'Grid' : ''}${name}`,
      summary: `List ${plural(resource)}${of}`,
      description: `${resource.description} Filter by the fields below, sort, and follow next_cursor for the next page.`,
      tags: [grid ? 'grid/v2' : resource.path],
      response: { 200: listSchema(item, `${String(item['title'])}List`) },
      parameters: [
        ...(under ? [pathParameter(under.parent)] : []),
        ...PAGING,
        ...SHAPE,
        ...TIMES,
        ...filters(resource),
      ],
      problems: under ? [404, 422] : [422],
    },
  }
}

const UNCHANGED: JsonSchema = {
  type: 'null',
  description: 'The object still has the ETag named by If-None-Match.',
}

export function getDocs(resource: Resource, model: Model): RouteDocs {
  const grid = model === 'grid'
  return {
    config: { scope: `read:${resource.scope}` as Scope },
    schema: {
      operationId: `get${grid ? 'Grid' : ''}${componentName(resource.name)}`,
      summary: `Get ${one(resource)}`,
      description: `${resource.description} Answers 304 when If-None-Match names the present ETag.`,
      tags: [grid ? 'grid/v2' : resource.path],
      response: { 200: grid ? gridSchema(resource) : rowSchema(resource), 304: UNCHANGED },
      parameters: [pathParameter(resource), ...SHAPE, ...TIMES, IF_NONE_MATCH],
      problems: [404, 422],
    },
  }
}

/** The documentation of one list of an object as a collection of its own. */
export function partDocs(resource: Resource, name: string, path: string): RouteDocs {
  const field = resource.fields[name]
  const items = field?.items
  if (!items) throw new Error(`${resource.name}.${name} is no list of structured items`)
  const title = componentName(`${resource.name}_${path}`)
  const required = Object.keys(items)
  const description = `One of the ${path.replaceAll('_', ' ')} of ${one(resource)}.`
  const item = { ...objectSchema(items), title: `${title}Item`, description, required }
  return {
    config: { scope: `read:${resource.scope}` as Scope },
    schema: {
      operationId: `list${title}`,
      summary: `List the ${path.replaceAll('_', ' ')} of ${one(resource)}`,
      description: `${String(field.schema['description'])} The field ${name} of the object, all items in one answer; change it with the object.`,
      tags: [resource.path],
      response: { 200: listSchema(item, `${title}List`), 304: UNCHANGED },
      parameters: [pathParameter(resource), ...TIMES, IF_NONE_MATCH],
      problems: [404, 422],
    },
  }
}

export function createDocs(resource: Resource, under?: Under): RouteDocs {
  const title = `${componentName(resource.name)}Create`
  const what = `What a new ${resource.title.toLowerCase()} is made of.`
  const key = under ? `create under ${under.parent.name}` : 'create'
  const body = once(resource, key, () => {
    const schema = createSchema(resource) as { required: string[] }
    return under
      ? {
          ...schema,
          title: `${title}Under${componentName(under.parent.name)}`,
          description: `${what} The ${under.parent.title.toLowerCase()} is that of the path.`,
          required: schema.required.filter((name) => name !== under.field),
        }
      : { ...schema, title, description: what }
  })
  return {
    config: { scope: `write:${resource.scope}` as Scope },
    schema: {
      operationId: under
        ? `create${componentName(under.parent.name)}${componentName(resource.name)}`
        : `create${componentName(resource.name)}`,
      summary: `Create ${one(resource)}`,
      description: `${resource.description} Answers 201 with Location; every failing field is named in a 422.`,
      tags: [resource.path],
      body,
      response: { 201: rowSchema(resource) },
      parameters: [...(under ? [pathParameter(under.parent)] : []), IDEMPOTENCY],
      problems: [400, 404, 409, 413, 415, 422],
    },
  }
}

export function patchDocs(resource: Resource): RouteDocs {
  const title = `${componentName(resource.name)}Patch`
  const description = `The fields of ${one(resource)} to change.`
  return {
    config: { scope: `write:${resource.scope}` as Scope },
    schema: {
      operationId: `update${componentName(resource.name)}`,
      summary: `Change ${one(resource)}`,
      description:
        'A merge patch (RFC 7396): only the fields sent change, null clears, lists are replaced whole.',
      tags: [resource.path],
      body: once(resource, 'patch', () => ({ ...patchSchema(resource), title, description })),
      response: { 200: rowSchema(resource) },
      parameters: [pathParameter(resource), IF_MATCH],
      problems: [400, 404, 409, 412, 413, 415, 422],
    },
  }
}

export function deleteDocs(resource: Resource): RouteDocs {
  return {
    config: { scope: `write:${resource.scope}` as Scope },
    schema: {
      operationId: `delete${componentName(resource.name)}`,
      summary: `Delete ${one(resource)}`,
      description:
        'Leaves a tombstone in the change feed; lists show it with include=deleted. 409 while other objects need it.',
      tags: [resource.path],
      response: { 204: { type: 'null', description: 'Deleted.' } },
      parameters: [pathParameter(resource), IF_MATCH],
      problems: [404, 409, 412, 422],
    },
  }
}
