/** The OpenAPI document as the reference pages read it: groups of operations with everything they refer to resolved. */

export interface Schema {
  $ref?: string
  type?: string | readonly string[]
  format?: string
  pattern?: string
  description?: string
  const?: unknown
  enum?: readonly unknown[]
  examples?: readonly unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  maxLength?: number
  properties?: Record<string, Schema>
  required?: readonly string[]
  items?: Schema
  anyOf?: readonly Schema[]
  additionalProperties?: Schema | boolean
  readOnly?: boolean
  writeOnly?: boolean
}

export interface Parameter {
  name: string
  in: 'query' | 'header' | 'path'
  description: string
  required?: boolean
  schema: Schema
  'x-grid-operators'?: readonly string[]
}

export interface Body {
  type: string
  schema: Schema
}

export interface Response {
  status: string
  description: string
  bodies: Body[]
}

export interface Operation {
  id: string
  method: string
  path: string
  summary: string
  description: string
  scope: string
  parameters: Parameter[]
  bodies: Body[]
  responses: Response[]
}

export interface Group {
  name: string
  title: string
  /** Its page: `/docs/{slug}`. */
  slug: string
  description: string
  operations: Operation[]
}

export interface Reference {
  version: string
  groups: Group[]
  schemas: Readonly<Record<string, Schema>>
  /** Names of the schemas that stand in bodies of requests. */
  sent: ReadonlySet<string>
}

type Referring<T> = T & { $ref?: string }

interface Content {
  content?: Record<string, { schema: Schema }>
}

interface RawOperation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  'x-grid-scope': string
  parameters?: Referring<Parameter>[]
  requestBody?: Content
  responses: Record<string, Referring<Content & { description: string }>>
}

interface RawDocument {
  info: { version: string }
  tags: { name: string; description?: string }[]
  paths: Record<string, Record<string, RawOperation>>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, Parameter>
    responses: Record<string, Content & { description: string }>
  }
}

/** Reads the document's text. */
export function readReference(text: string): Reference {
  const document = JSON.parse(text) as RawDocument
  const { schemas, parameters, responses } = document.components
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => ({
      group: raw.tags[0],
      operation: {
        id: raw.operationId,
        method: method.toUpperCase(),
        path,
        summary: raw.summary,
        description: raw.description.split('\n\nScope: ')[0] as string,
        scope: raw['x-grid-scope'],
        parameters: (raw.parameters ?? []).map((one) => resolved(one, parameters)),
        bodies: bodiesOf(raw.requestBody),
        responses: Object.entries(raw.responses).map(([status, given]) => {
          const response = resolved(given, responses)
          return { status, description: response.description, bodies: bodiesOf(response) }
        }),
      },
    })),
  )
  const groups = document.tags.map(({ name, description = '' }) => ({
    name,
    title: titleOf(name),
    slug: name.replaceAll(/[^a-z0-9]+/g, '-'),
    description,
    operations: operations.flatMap(({ group, operation }) => (group === name ? [operation] : [])),
  }))
  const sent = sentBy(schemas, groups)
  return { version: document.info.version, groups, schemas, sent }
}

function resolved<T extends object>(given: Referring<T>, components: Record<string, T>): T {
  return given.$ref ? (components[nameOf(given.$ref)] as T) : given
}

function bodiesOf({ content = {} }: Content = {}): Body[] {
  return Object.entries(content).map(([type, { schema }]) => ({ type, schema }))
}

/** `work_orders` -> `Work orders`. */
function titleOf(name: string): string {
  if (name.includes('/')) return name
  const words = name.replaceAll('_', ' ')
  return words === 'sdis' ? 'Data integration' : words.charAt(0).toUpperCase() + words.slice(1)
}

/** Name of the component a reference leads to. */
export function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

function sentBy(schemas: Reference['schemas'], groups: readonly Group[]): ReadonlySet<string> {
  const operations = groups.flatMap((group) => group.operations)
  return new Set(
    reachable(
      schemas,
      operations.flatMap(({ bodies }) => bodies),
    ),
  )
}

/** Names of the schemas that operations show, and those these refer to, in the order of their first use. */
export function schemasOf({ schemas }: Reference, operations: readonly Operation[]): string[] {
  const bodies = operations.flatMap((operation) => [
    ...operation.bodies,
    ...operation.responses.flatMap((answer) => (answer.status < '300' ? answer.bodies : [])),
  ])
  return reachable(schemas, bodies)
}

function reachable(schemas: Reference['schemas'], bodies: readonly Body[]): string[] {
  const found = new Set<string>()
  const visit = (schema: Schema): void => {
    const { $ref, items, properties = {}, anyOf = [], additionalProperties } = schema
    const name = $ref ? nameOf($ref) : ''
    if (name && !found.has(name)) {
      found.add(name)
      visit(schemas[name] ?? {})
    }
    const more = typeof additionalProperties === 'object' ? [additionalProperties] : []
    for (const part of [...(items ? [items] : []), ...Object.values(properties), ...anyOf, ...more])
      visit(part)
  }
  for (const { schema } of bodies) visit(schema)
  return [...found]
}
