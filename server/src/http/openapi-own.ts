/** The OpenAPI document as an organization sees it: with its own fields in answers, bodies and filters. */
import { deployed } from '../kit/extension.ts'
import { inputSchema, shownSchema } from '../kit/extension-schema.ts'
import type { JsonSchema } from '../kit/field.ts'
import { filters } from '../kit/parameters.ts'
import type { Registry } from '../kit/query.ts'
import type { Resource } from '../kit/resource.ts'
import { componentName } from '../kit/schemas.ts'

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Component> }
}

interface Operation {
  operationId?: string
  parameters?: unknown[]
}

type Component = JsonSchema & { properties?: Record<string, JsonSchema>; required?: string[] }

/** Kept while the schema of the organization is remembered unchanged. */
const rendered = new WeakMap<Registry, string>()

/** @param document the text that is the same for everybody. */
export function ownDocument(document: string, registry: Registry): string {
  let text = rendered.get(registry)
  if (text === undefined) {
    text = render(document, registry)
    rendered.set(registry, text)
  }
  return text
}

function render(document: string, registry: Registry): string {
  const own = [...registry.values()].filter((r) => deployed(r.extensions).length > 0)
  if (own.length === 0) return document
  const parsed = JSON.parse(document) as Document
  for (const resource of own) {
    addSchemas(parsed.components.schemas, resource)
    addFilters(parsed, resource)
  }
  return JSON.stringify(parsed, null, 1)
}

function addSchemas(schemas: Record<string, Component>, { name, extensions }: Resource): void {
  const title = componentName(name)
  const shown = { ...shownSchema(extensions), readOnly: true }
  for (const [component, schema] of Object.entries(schemas)) {
    if (component === title || component === `Grid${title}`) put(schemas, component, schema, shown)
    const create = component === `${title}Create` || component.startsWith(`${title}CreateUnder`)
    if (create) put(schemas, component, schema, inputSchema(extensions, true))
    if (component === `${title}Patch`)
      put(schemas, component, schema, inputSchema(extensions, false))
  }
}

function put(
  schemas: Record<string, Component>,
  component: string,
  schema: Component,
  ext: JsonSchema,
): void {
  if (!schema.properties?.['ext']) return
  const needed = (ext['required'] as string[] | undefined) ?? []
  const bound = ext['readOnly'] !== true && needed.length > 0
  const required = bound ? [...(schema.required ?? []), 'ext'] : schema.required
  schemas[component] = {
    ...schema,
    properties: { ...schema.properties, ext },
    ...(required ? { required } : {}),
  }
}

/** Lists of the type, those below a parent included, are known by the filters they have already. */
function addFilters({ paths }: Document, resource: Resource): void {
  const own = filters(resource).filter(({ name }) => name.startsWith('ext.'))
  const plural = componentName(resource.path)
  for (const [path, operations] of Object.entries(paths)) {
    const list = operations['get']
    if (!list?.operationId?.startsWith('list') || !path.endsWith(`/${resource.path}`)) continue
    if (list.operationId.endsWith(plural)) list.parameters = [...(list.parameters ?? []), ...own]
  }
}
