import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import type { Field, Fields } from './kit/field.ts'
import type { Resource } from './kit/resource.ts'
import { resources } from './resources.ts'

interface Entry {
  path: string
  name: string
  field: Field
}

/** Every declared field and rollup, the fields of list items and objects included. */
function entries(fields: Fields, prefix: string): Entry[] {
  return Object.entries(fields).flatMap(([name, field]) => [
    { path: `${prefix}.${name}`, name, field },
    ...(field.items ? entries(field.items, `${prefix}.${name}`) : []),
  ])
}

const everything = resources.flatMap((resource) => [
  ...entries(resource.fields, resource.name),
  ...entries(resource.rollups, `${resource.name}.rollups`),
])

const ajv = addFormats.default(new Ajv2020({ strict: true, allowUnionTypes: true }))
ajv.addKeyword({ keyword: 'x-decimals', schemaType: 'number' })

/** Ids of things that are no resources (yet), of any type, or given by an authority. */
const TEXT_IDS = ['tax_id', 'equipment_id', 'charge_id', 'current_version_id', 'object_id']

const isInteger = ({ kind, schema }: Field): boolean =>
  kind === 'integer' || (schema['items'] as { type?: string } | undefined)?.type === 'integer'

/** Names that end (or begin) like this have this kind. */
const NAME_IMPLIES: [RegExp, string, (field: Field) => boolean][] = [
  [/(^|_)date$/, 'a date', (f) => f.kind === 'date'],
  [/(^|_)at$/, 'an instant', (f) => f.kind === 'datetime'],
  [/_pct$/, 'a percentage', (f) => f.kind === 'percent'],
  [/_ids$/, 'references', (f) => f.kind === 'list' && f.target !== null],
  [/_per_area$/, 'a rate with four digits', (f) => f.kind === 'money' && f.digits === 4],
  [/(?<!_per)_area$/, 'an area', (f) => f.kind === 'number' && f.schema['minimum'] === 0],
  [/(^|_)(amount|price|cost|base_rent)$/, 'money', (f) => f.kind === 'money'],
  [/_(months|days|minutes|count)$/, 'a whole number', isInteger],
  [/^is_/, 'true or false', (f) => f.kind === 'boolean'],
  [/(^|_)currency$/, 'a currency', (f) => f.schema['pattern'] === '^[A-Z]{3}$'],
]

/** Fields of this kind have names like this. */
const KIND_IMPLIES: [string, (field: Field) => boolean, RegExp][] = [
  ['a date', (f) => f.kind === 'date', /(^|_)date$/],
  ['an instant', (f) => f.kind === 'datetime', /(^|_)at$/],
  ['a percentage', (f) => f.kind === 'percent', /_pct$/],
  ['a reference', (f) => f.kind === 'reference', /_id$/],
  ['references', (f) => f.kind === 'list' && f.target !== null, /_ids$/],
]

describe('every resource', () => {
  it('has a name, path and prefix of its own', () => {
    for (const key of ['name', 'path', 'prefix', 'title'] as const) {
      const values = resources.map((resource) => resource[key])
      expect(new Set(values).size, key).toBe(values.length)
    }
  })

  it.each(resources.map((resource) => [resource.name, resource] as const))(
    '%s declares no field twice',
    (_, resource) => {
      const names = [resource.fields, resource.common, resource.rollups].flatMap(Object.keys)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    },
  )

  it.each(resources.map((resource) => [resource.name, resource] as const))(
    '%s sorts by a column of its own',
    (_, resource) => {
      const name = resource.sort.replace(/^-/, '')
      expect(name === 'id' || resource.fields[name]?.column).toBeTruthy()
    },
  )

  it.each(resources.map((resource) => [resource.name, resource] as const))(
    '%s derives read-only fields and computes read-only rollups',
    (_, resource) => {
      const fields = resource.derived.map((name) => resource.fields[name])
      for (const field of [...fields, ...Object.values(resource.rollups)]) {
        expect(field?.readOnly).toBe(true)
      }
    },
  )
})

describe('every field', () => {
  it.each(everything.map((entry) => [entry.path, entry] as const))('%s', (_, { name, field }) => {
    expect(name).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/)
    expect(String(field.schema['description'])).toMatch(/^[A-Z].{18,}\.$/)
    const validate = ajv.compile(field.schema)
    const examples = field.schema['examples'] as unknown[]
    expect(examples[0]).not.toBeUndefined()
    expect(validate(examples[0]), ajv.errorsText(validate.errors)).toBe(true)
    if (Array.isArray(examples[0])) expect(examples[0].length).toBeGreaterThan(0)

    for (const [pattern, kind, holds] of NAME_IMPLIES) {
      if (pattern.test(name)) expect(holds(field), `must be ${kind}`).toBe(true)
    }
    for (const [kind, holds, pattern] of KIND_IMPLIES) {
      if (holds(field)) expect(name, `is ${kind}`).toMatch(pattern)
    }
    if (name.endsWith('_id') && !TEXT_IDS.includes(name)) expect(field.kind).toBe('reference')
  })

  it('refers to a resource by its prefix', () => {
    const prefixes = new Map(resources.map((resource) => [resource.name, resource.prefix]))
    for (const { path, field } of everything) {
      if (field.target === null) continue
      const schema = (field.schema['items'] ?? field.schema) as { pattern: string }
      expect(schema.pattern, path).toBe(`^${prefixes.get(field.target)}_[0-9]{1,18}$`)
    }
  })

  it('is write-only only where a secret is taken in', () => {
    const writeOnly = everything.filter(({ field }) => field.writeOnly)
    expect(writeOnly.map(({ path }) => path)).toEqual(['party.tax_id'])
    expect(writeOnly[0]?.field).toMatchObject({ column: null, schema: { writeOnly: true } })
  })
})

describe('every lifecycle', () => {
  const moving = resources.flatMap((resource) =>
    resource.lifecycle ? [[resource.name, resource, resource.lifecycle] as const] : [],
  )

  it('belongs to lease, document and work order', () => {
    expect(moving.map(([name]) => name)).toEqual(['lease', 'document', 'work_order'])
  })

  it.each(moving)('%s knows the moves of each of its states', (_, resource, lifecycle) => {
    const states = statesOf(resource, lifecycle.field)
    expect(Object.keys(lifecycle.transitions)).toEqual(expect.arrayContaining(states))
    expect(Object.keys(lifecycle.transitions).length).toBe(states.length)
    expect(states).toContain(lifecycle.initial)
    expect(resource.fields[lifecycle.field]?.initial).toBe(lifecycle.initial)
    for (const [state, targets] of Object.entries(lifecycle.transitions)) {
      expect(new Set(targets).size, state).toBe(targets.length)
      for (const target of targets) expect(states, `${state} to ${target}`).toContain(target)
      expect(targets, state).not.toContain(state)
    }
    expect(resource.fields['status_history']?.readOnly).toBe(true)
  })

  it.each(moving)('%s reaches every state from the first one', (_, resource, lifecycle) => {
    const reached = new Set([lifecycle.initial])
    for (const state of reached) {
      for (const target of lifecycle.transitions[state] ?? []) reached.add(target)
    }
    expect([...reached].toSorted()).toEqual(statesOf(resource, lifecycle.field).toSorted())
  })
})

function statesOf(resource: Resource, field: string): string[] {
  return resource.fields[field]?.schema['enum'] as string[]
}
