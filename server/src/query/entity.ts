/** What a query reads, as data: the types of the registry, the facts and the schema, each with its fields as SQL. */
import { referencePrefix } from '../kit/filter.ts'
import { filterColumns } from '../kit/list-columns.ts'
import type { ExtensionColumn } from '../kit/extension-column.ts'
import type { ColumnType, Field } from '../kit/field.ts'
import { relationsOf } from '../kit/relations.ts'
import type { Registry } from '../kit/query.ts'
import { allFields } from '../kit/resource.ts'
import type { Resource } from '../kit/resource.ts'
import { extensionFields } from './ext.ts'

/** `json` is what has no one type in SQL: lists, objects, values of facts. */
export type ValueType = ColumnType | 'json'

export interface EntityField {
  name: string
  type: ValueType
  field: Field
  /** Prefix of the ids it holds; empty for what holds none. */
  prefix: string
  /** SQL of the value in the row of this alias. */
  sql: (alias: string) => string
  /** SQL of the value as answers show it, where its kind does not say. */
  show?: (alias: string) => string
  /** The value as clients see it, of what the statement answered. */
  present?: (value: unknown) => unknown
  /** How a field of the organization's own is compared. */
  own?: ExtensionColumn
  /** Nothing can be compared with it. */
  shownOnly?: boolean
}

export interface Entity {
  name: string
  /** In words: `leases`. */
  title: string
  fields: ReadonlyMap<string, EntityField>
  /** Fields that lead to one object of another entity, by the name of the relation. */
  relations: ReadonlyMap<string, { column: string; target: string }>
  /** What tells two rows apart, the order that they have when none is asked for. */
  keys: readonly { name: string; sql: string | null; type: ColumnType }[]
  /** The type of the registry, null for facts and the schema. */
  resource: Resource | null
}

const cache = new WeakMap<Resource, Entity>()

/** A type of the registry as a query reads it. */
export function entityOf(resource: Resource, registry: Registry): Entity {
  let entity = cache.get(resource)
  if (!entity) {
    const relations = [...relationsOf(resource, registry)].map(
      ([name, { column, target }]) => [name, { column, target: target.name }] as const,
    )
    entity = {
      name: resource.name,
      title: resource.path.replaceAll('_', ' '),
      fields: new Map(
        [...fieldsOf(resource), ...extensionFields(resource)].map((field) => [field.name, field]),
      ),
      relations: new Map(relations),
      keys: [{ name: 'id', sql: null, type: 'bigint' }],
      resource,
    }
    cache.set(resource, entity)
  }
  return entity
}

function fieldsOf(resource: Resource): EntityField[] {
  const columns = filterColumns(resource)
  return Object.entries(allFields(resource)).flatMap(([name, field]) => {
    if (field.writeOnly) return []
    const column = columns.get(name)
    if (column) {
      const prefix = name === 'id' ? resource.prefix : referencePrefix(column)
      return [{ name, type: column.type, field, prefix, sql: (alias) => `${alias}.${name}` }]
    }
    if (name === 'object')
      return [{ name, type: 'text', field, prefix: '', sql: () => `'${resource.name}'::text` }]
    if (name === 'organization_id') return [organization(field)]
    return [inBody(name, field, field.kind === 'text' ? 'text' : null), ...partsOf(name, field)]
  })
}

function organization(field: Field): EntityField {
  const name = 'organization_id'
  return { name, type: 'bigint', field, prefix: 'org', sql: (alias) => `${alias}.org_id` }
}

/** The fields of a structured value: `address.city`. */
function partsOf(name: string, { kind, items }: Field): EntityField[] {
  if (kind !== 'object' || !items) return []
  return Object.entries(items).flatMap(([part, field]) => {
    const path = `${name}.${part}`
    return [inBody(path, field, field.column), ...partsOf(path, field)]
  })
}

/** A value that lives in the rendered row only; names are ours, so they need no quotes of their own. */
function inBody(path: string, field: Field, type: ColumnType | null): EntityField {
  const at = (alias: string, how: '#>' | '#>>'): string =>
    `(${alias}.body::jsonb ${how} '{${path.replaceAll('.', ',')}}')`
  if (type === null || type === 'text[]')
    return { name: path, type: 'json', field, prefix: '', sql: (alias) => at(alias, '#>') }
  if (field.kind === 'reference')
    return { name: path, type: 'text', field, prefix: '', sql: (alias) => at(alias, '#>>') }
  const cast = type === 'text' ? '' : `::${type}`
  return { name: path, type, field, prefix: '', sql: (alias) => `${at(alias, '#>>')}${cast}` }
}

/** Does reading the field take the rendered row? */
export function readsBody({ sql }: EntityField): boolean {
  return sql('t').includes('.body')
}

/** SQL of a value as it stands in an answer: ids with their prefix, money with its digits, times in UTC. */
export function shown(value: EntityField, sql: string): string {
  const { field, type, prefix } = value
  if (prefix !== '') return `'${prefix}_' || ${sql}`
  switch (type) {
    case 'numeric':
      return field.kind === 'money' ? `round(${sql}, ${field.digits})::text` : `trim_scale(${sql})`
    case 'timestamptz':
      return `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    case 'text':
    case 'bigint':
    case 'integer':
    case 'boolean':
    case 'date':
    case 'text[]':
    case 'json':
      return sql
  }
}
