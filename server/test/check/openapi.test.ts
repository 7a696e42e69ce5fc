import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { openapiText } from '../../src/generated.ts'
import { isScope } from '../../src/kit/scopes.ts'

interface Schema {
  $ref?: string
  description?: string
  examples?: unknown[]
  properties?: Record<string, Schema>
}

interface Parameter {
  $ref?: string
  name: string
  description?: string
  schema: Schema
}

interface Operation {
  operationId?: string
  summary?: string
  description?: string
  tags: string[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, unknown>
  'x-grid-scope'?: string
}

interface Document {
  tags: { name: string; description?: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> }
}

const document = JSON.parse(await openapiText()) as Document

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...operation,
  })),
)

/** Every object of the document with its path, depth first. */
function* nodes(value: unknown, at = '#'): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>]
  for (const [key, part] of Object.entries(value)) {
    if (key === 'examples' || key === 'enum' || key === 'default') continue
    yield* nodes(part, `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
}

const all = [...nodes(document)]

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(await openapiText())
    expect(errors ?? []).toEqual([])
    expect(valid).toBe(true)
    expect(validator.version).toBe('3.1')
  })

  it('names every operation, what it does, who may call it and what it answers', () => {
    const faults = operations.flatMap((operation) => {
      const { name, operationId, summary, description, tags, responses } = operation
      const scope = operation['x-grid-scope'] ?? ''
      return [
        operationId && summary && description && tags.length === 1 ? null : 'names',
        scope === 'public' || isScope(scope) ? null : 'scope',
        Object.keys(responses).some((status) => /^[23]/.test(status)) ? null : 'success',
        ['401', '403', '429', '500'].every((status) => responses[status]) ? null : 'problems',
      ].flatMap((fault) => (fault ? [`${name} lacks ${fault}`] : []))
    })
    expect(faults).toEqual([])
    const ids = operations.map(({ operationId }) => operationId)
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
  })

  it('describes every group of operations', () => {
    const bare = document.tags.filter(({ description }) => !description)
    expect(bare, 'add them to server/src/tags.ts').toEqual([])
  })

  it('describes every schema, property and parameter', () => {
    const bare = all.flatMap(([at, node]) => {
      const { properties, parameters } = node as Schema & { parameters?: unknown }
      const fields = Object.entries(properties ?? {}).filter(([, s]) => !s.$ref && !s.description)
      const listed = Array.isArray(parameters) ? (parameters as Parameter[]) : []
      return [
        ...(at.endsWith('/properties') ? [] : fields.map(([name]) => `${at}.${name}`)),
        ...listed.filter((p) => !p.$ref && !p.description).map(({ name }) => `${at} ${name}`),
      ]
    })
    expect(bare).toEqual([])
    const { schemas, parameters } = document.components
    const named = Object.entries({ ...schemas, ...parameters })
    expect(named.filter(([, part]) => !part.description).map(([name]) => name)).toEqual([])
  })

  it('refers only to what it holds, by name', () => {
    const paths = new Set(all.map(([at]) => at))
    const refs = all.flatMap(([, node]) => (typeof node['$ref'] === 'string' ? [node['$ref']] : []))
    expect(refs.length).toBeGreaterThan(100)
    expect(refs.filter((ref) => !paths.has(ref))).toEqual([])
    const unnamed = operations.filter(({ requestBody }) =>
      Object.values(requestBody?.content ?? {}).some(({ schema }) => !schema.$ref),
    )
    expect(unnamed.map(({ name }) => name)).toEqual([])
  })

  it('shows examples that keep to their schemas', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv)
    ajv.addSchema(document, 'api')
    // The same field stands in many places.
    const seen = new Set<string>()
    const wrong = all.flatMap(([at, node]) => {
      const { examples } = node
      const text = JSON.stringify(node)
      if (!Array.isArray(examples) || seen.has(text)) return []
      seen.add(text)
      const validate = ajv.compile({
        $ref: `api${at.split('/').map(encodeURIComponent).join('/').replace('%23', '#')}`,
      })
      return examples.flatMap((example) =>
        validate(example)
          ? []
          : [`${at} ${JSON.stringify(example)} ${ajv.errorsText(validate.errors)}`],
      )
    })
    expect(wrong).toEqual([])
  })
})
