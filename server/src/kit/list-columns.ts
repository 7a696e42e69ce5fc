/** What lists of a resource are filtered and sorted by, and with which operators. */
import { deployed } from './extension.ts'
import { extensionColumn } from './extension-column.ts'
import { extensionField } from './extension-field.ts'
import type { ColumnType } from './field.ts'
import { allFields } from './resource.ts'
import type { Resource } from './resource.ts'
import { columns } from './row.ts'
import type { Column } from './row.ts'

export const OPERATORS = [
  'eq',
  'ne',
  'in',
  'nin',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'starts_with',
  'is_null',
] as const
export type Operator = (typeof OPERATORS)[number]

const ORDERED: readonly Operator[] = ['eq', 'ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'is_null']

/** Operators by column type. */
export const OPERATORS_OF: Record<ColumnType, readonly Operator[]> = {
  text: OPERATORS,
  bigint: ['eq', 'ne', 'in', 'nin', 'is_null'],
  boolean: ['eq', 'ne', 'is_null'],
  integer: ORDERED,
  numeric: ORDERED,
  date: ORDERED,
  timestamptz: ORDERED,
  'text[]': ['contains', 'is_null'],
}

const filterCache = new WeakMap<Resource, ReadonlyMap<string, Column>>()
const sortCache = new WeakMap<Resource, ReadonlyMap<string, Column>>()

/** Columns a caller may filter by: the declared ones and the bookkeeping that has a column. */
export function filterColumns(resource: Resource): ReadonlyMap<string, Column> {
  return kept(filterCache, resource, allColumns)
}

/** Those of them that order a list. */
export function sortColumns(resource: Resource): ReadonlyMap<string, Column> {
  return kept(
    sortCache,
    resource,
    () => new Map([...filterColumns(resource)].filter(([, column]) => isSortable(column))),
  )
}

function kept<T>(
  cache: WeakMap<Resource, T>,
  resource: Resource,
  make: (resource: Resource) => T,
): T {
  let made = cache.get(resource)
  if (made === undefined) cache.set(resource, (made = make(resource)))
  return made
}

function allColumns(resource: Resource): Map<string, Column> {
  const map = new Map(columns(resource).map((column) => [column.name, column]))
  const all = allFields(resource)
  const extra: [string, ColumnType][] = [
    ['id', 'bigint'],
    ['version', 'integer'],
    ['created_at', 'timestamptz'],
    ['updated_at', 'timestamptz'],
    ['archived_at', 'timestamptz'],
  ]
  for (const [name, type] of extra) {
    const field = all[name]
    if (field) map.set(name, { name, type, field })
  }
  for (const extension of deployed(resource.extensions)) {
    const own = extensionColumn(extension)
    const name = `ext.${extension.name}`
    if (own) map.set(name, { name, type: own.type, field: extensionField(extension), own })
  }
  return map
}

/** Operators that a column takes. */
export function operatorsOf({ type, own }: Column): readonly Operator[] {
  return (own?.operators as readonly Operator[] | undefined) ?? OPERATORS_OF[type]
}

/** Columns that order a list. */
export function isSortable({ type, own }: Column): boolean {
  return own?.sortable ?? type !== 'text[]'
}
