/** Rows between the three forms they take: what a client sends, the JSON clients see, the columns PostgreSQL filters. */
import { formatDecimal, parseDecimal } from './decimal.ts'
import { isDeepStrictEqual } from 'node:util'
import { isExtensionKey } from './extension.ts'
import type { ExtensionColumn } from './extension-column.ts'
import type { ColumnType, Field, Fields } from './field.ts'
import { idDigits } from './ids.ts'
import { allFields } from './resource.ts'
import type { Resource, Row } from './resource.ts'

/** Fields the platform sets itself; they are not claims of a source. */
const BOOKKEEPING = new Set([
  'id',
  'object',
  'organization_id',
  'version',
  'created_at',
  'updated_at',
  'created_by',
  'archived_at',
  'deleted_at',
  'ext',
])

/** Brings a valid value into its one stored form: money to fixed digits, instants to UTC, list items complete. */
export function normalise(field: Field, value: unknown): unknown {
  if (value === null || value === undefined) return null
  switch (field.kind) {
    case 'money':
      return formatDecimal(parseDecimal(value, field.digits) ?? 0n, field.digits)
    case 'datetime':
      return new Date(String(value)).toISOString()
    case 'list':
      return field.items
        ? (value as Row[]).map((item) => complete(field.items as Fields, item))
        : value
    case 'object':
      return field.items ? complete(field.items, value as Row) : value
    case 'texts':
      return [...new Set(value as string[])]
    case 'text':
    case 'integer':
    case 'number':
    case 'percent':
    case 'boolean':
    case 'date':
    case 'choice':
    case 'reference':
      return value
  }
}

/** What a field holds when it is cleared: lists with an initial value are emptied, everything else is null. */
export function emptyValue(field: Field): unknown {
  return Array.isArray(field.initial) ? field.initial : null
}

/** Every field in declared order, null when the input lacks it. */
export function complete(fields: Fields, values: Row): Row {
  const row: Row = {}
  for (const name of Object.keys(fields)) {
    const field = fields[name] as Field
    if (!field.writeOnly) row[name] = normalise(field, values[name] ?? null)
  }
  return row
}

/** Two values in stored form are the same claim; jsonb may have put their keys in another order. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  return isDeepStrictEqual(a, b)
}

/** The JSON text of a row, its fields in declared order. Rendered once, at write. */
export function render(row: Row): string {
  return JSON.stringify(row)
}

const factCache = new WeakMap<Resource, string[]>()

/** Names of the fields a source can claim: everything declared that is not derived, plus external ids and tags. */
export function factNames(resource: Resource): string[] {
  let names = factCache.get(resource)
  if (!names) {
    const derived = new Set(resource.derived)
    names = Object.keys(allFields(resource)).filter(
      (name) => !BOOKKEEPING.has(name) && !derived.has(name),
    )
    factCache.set(resource, names)
  }
  return names
}

/** The claimable values of a row that differ from `before`; of a new one, those that say something. */
export function changedFacts(resource: Resource, after: Row, before: Row | null): Row {
  const changed: Row = {}
  const fields = allFields(resource)
  for (const name of factNames(resource)) {
    const value = after[name] ?? null
    const old = before?.[name] ?? null
    if (sameValue(value, old)) continue
    if (before === null && isUnsaid(fields[name] as Field, value)) continue
    changed[name] = value
  }
  return { ...changed, ...changedExtensions(after, before) }
}

/** Values of fields of the organization's own that differ, by key; null where they were cleared. */
function changedExtensions(after: Row, before: Row | null): Row {
  const now = (after['ext'] ?? {}) as Row
  const old = (before?.['ext'] ?? {}) as Row
  const changed: Row = {}
  for (const key in now) if (!sameValue(now[key], old[key] ?? null)) changed[key] = now[key]
  for (const key in old) if (!(key in now)) changed[key] = null
  return changed
}

/** A value of the row by the name that facts have for it. */
export function valueOf(row: Row, name: string): unknown {
  const values = isExtensionKey(name) ? ((row['ext'] ?? {}) as Row) : row
  return values[name] ?? null
}

/** Old values of the changed fields. */
export function previousOf(before: Row, changed: readonly string[]): Row {
  return Object.fromEntries(changed.map((name) => [name, valueOf(before, name)]))
}

/** Null, or the empty list that a field has from the start. Elsewhere an empty list is a claim: there are none. */
function isUnsaid(field: Field, value: unknown): boolean {
  return value === null || (Array.isArray(field.initial) && sameValue(value, field.initial))
}

/** Names of the fields whose value differs, bookkeeping left out. */
export function changedFields(after: Row, before: Row): string[] {
  const declared = Object.keys(after).filter(
    (name) => !BOOKKEEPING.has(name) && !sameValue(after[name] ?? null, before[name] ?? null),
  )
  return [...declared, ...Object.keys(changedExtensions(after, before))]
}

/** Names of the fields of a new object that say something, bookkeeping left out. */
export function filledFields(row: Row): string[] {
  const names: string[] = []
  for (const name of Object.keys(row)) {
    const value = row[name]
    const empty = value === null || (Array.isArray(value) && value.length === 0)
    if (!empty && !BOOKKEEPING.has(name)) names.push(name)
  }
  return [...names, ...Object.keys(row['ext'] ?? {})]
}

export interface Column {
  name: string
  type: ColumnType
  field: Field
  /** Where a field of the organization's own has its values; they have no column of the table. */
  own?: ExtensionColumn
}

const columnCache = new WeakMap<Resource, Column[]>()

/** The typed columns of a resource's table that mirror its fields. */
export function columns(resource: Resource): Column[] {
  let list = columnCache.get(resource)
  if (!list) {
    list = Object.entries(allFields(resource)).flatMap(([name, field]) =>
      field.column && !BOOKKEEPING.has(name) ? [{ name, type: field.column, field }] : [],
    )
    columnCache.set(resource, list)
  }
  return list
}

/** A row's value for its column: ids become digits, everything else is JSON already. */
export function columnValue(column: Column, value: unknown): unknown {
  if (column.field.kind === 'reference' && typeof value === 'string') {
    return idDigits(value.slice(0, value.indexOf('_')), value)
  }
  return value
}

/** Lower-case text that `q=` searches: names, numbers, addresses. */
export function searchText(resource: Resource, row: Row): string {
  const words: string[] = []
  for (const [name, field] of Object.entries(resource.fields)) {
    if (!field.search) continue
    const value = row[name]
    if (typeof value === 'string') words.push(value)
    else if (value && typeof value === 'object') {
      for (const part of Object.values(value)) if (typeof part === 'string') words.push(part)
    }
  }
  return words.join(' ').toLowerCase()
}

/** Ids of other objects that a row names, by type, with the path of each. */
export function referencesOf(
  fields: Fields,
  row: Row,
  path = '',
): { target: string; id: string; field: string }[] {
  const found: { target: string; id: string; field: string }[] = []
  for (const [name, field] of Object.entries(fields)) {
    const value = row[name]
    if (value === null || value === undefined) continue
    const at = path + name
    if (field.kind === 'reference')
      found.push({ target: field.target as string, id: value as string, field: at })
    else if (field.target)
      (value as string[]).forEach((id, i) =>
        found.push({ target: field.target as string, id, field: `${at}[${i}]` }),
      )
    else if (field.items && Array.isArray(value))
      value.forEach((item, i) =>
        found.push(...referencesOf(field.items as Fields, item as Row, `${at}[${i}].`)),
      )
    else if (field.items) found.push(...referencesOf(field.items, value as Row, `${at}.`))
  }
  return found
}
