/** Filters and sorts of list endpoints: parsed once, compiled to SQL, or applied to rows of another time. */
import { instant, isDate } from './dates.ts'
import type { ColumnType } from './field.ts'
import { presentName } from './extension.ts'
import type { ExtensionColumn } from './extension-column.ts'
import { idDigits } from './ids.ts'
import type { Issue } from './errors.ts'
import { filterColumns, operatorsOf } from './list-columns.ts'
import type { Operator } from './list-columns.ts'
import type { Column } from './row.ts'
import type { Resource, Row } from './resource.ts'
import { closest } from './validate.ts'

export interface Condition {
  /** Reference field to follow first, for `tenant.industry_code=54`. */
  via: { column: string; target: Resource } | null
  column: Column
  op: Operator
  values: string[]
}

export interface SortKey {
  column: string
  /** SQL of the value where it is no column of the table `t`. */
  sql?: string
  type: ColumnType
  descending: boolean
  own?: ExtensionColumn
}

/** Columns that are never null, so that an index in their order serves a sort by them. */
const NEVER_NULL = new Set(['id', 'version', 'created_at', 'updated_at'])

/** SQL of a column's value in the row with the given alias. */
function columnSql({ name, own }: Pick<Column, 'name' | 'own'>, alias: string): string {
  return own ? own.sql(alias) : `${alias}.${name}`
}

/** SQL of what a sort key orders by. */
export function sortSql({ column, sql, own }: SortKey): string {
  return sql ?? columnSql({ name: column, ...(own ? { own } : {}) }, 't')
}

/** Reads `field[op]=value` (or `field=value`, or `relation.field[op]=value`); problems go to `issues`. */
export function parseCondition(
  resource: Resource,
  relations: ReadonlyMap<string, { column: string; target: Resource }>,
  key: string,
  text: string,
  issues: Issue[],
): Condition | null {
  const match = /^([a-z0-9_.]+)(?:\[([a-z_]+)\])?$/.exec(key)
  const path = match?.[1] ?? key
  const op = (match?.[2] ?? 'eq') as Operator
  const dot = path.indexOf('.')
  const via = dot < 0 ? null : (relations.get(path.slice(0, dot)) ?? null)
  const owner = via ? via.target : resource
  const known = filterColumns(owner)
  const column = known.get(presentName(owner, via ? path.slice(dot + 1) : path))
  if (!match || !column) {
    const names = [...known.keys()].map((name) => (via ? `${path.slice(0, dot)}.${name}` : name))
    const suggestion = closest(path, [
      ...names,
      'limit',
      'cursor',
      'sort',
      'fields',
      'expand',
      'include',
      'q',
    ])
    const message = `unknown filter or parameter '${key}'`
    issues.push({
      field: key,
      code: 'unknown_filter',
      message,
      ...(suggestion ? { suggestion } : {}),
    })
    return null
  }
  const allowed = operatorsOf(column)
  if (!allowed.includes(op)) {
    issues.push({
      field: key,
      code: 'unknown_operator',
      message: `cannot use [${op}] on ${path}`,
      allowed,
    })
    return null
  }
  const given = op === 'in' || op === 'nin' ? text.split(',') : [text]
  const prefix = column.name === 'id' ? owner.prefix : referencePrefix(column)
  const values = literals(prefix, column, op, given)
  if (!values) {
    issues.push({ field: key, code: 'invalid_value', ...describe(column, op, text) })
    return null
  }
  return { via, column, op, values }
}

/** Values as PostgreSQL text, or null when one does not fit the column. @param prefix of the ids, where it holds ids. */
export function literals(
  prefix: string,
  column: Column,
  op: Operator,
  given: readonly string[],
): string[] | null {
  const values = given.map((value) => literal(prefix, column, op, value))
  return values.every((value) => value !== null) ? values : null
}

function literal(prefix: string, column: Column, op: Operator, value: string): string | null {
  if (op === 'is_null') return value === 'true' || value === 'false' ? value : null
  if (column.own) return column.own.literal(value)
  switch (column.type) {
    case 'bigint': {
      const digits = idDigits(prefix, value)
      return digits === null ? null : String(digits)
    }
    case 'integer':
      return /^-?[0-9]{1,10}$/.test(value) && Math.abs(Number(value)) < 2 ** 31 ? value : null
    case 'numeric':
      return /^-?[0-9]{1,18}(\.[0-9]{1,12})?$/.test(value) ? value : null
    case 'boolean':
      return value === 'true' || value === 'false' ? value : null
    case 'date':
      return isDate(value) ? value : null
    case 'timestamptz':
      return isDate(value) ? `${value}T00:00:00.000Z` : instant(value)
    case 'text':
    case 'text[]':
      return value.length <= 1_000 && !value.includes('\0') && choiceFits(column, op, value)
        ? value
        : null
  }
}

function choiceFits(column: Column, op: Operator, value: string): boolean {
  const values = column.field.schema['enum'] as string[] | undefined
  const exact = op === 'eq' || op === 'ne' || op === 'in' || op === 'nin'
  return !values || !exact || values.includes(value)
}

/** What a value of the column must be, for who gave another. */
export function describe(
  column: Column,
  op: Operator,
  text: string,
): { message: string; allowed?: string[] } {
  const values = column.field.schema['enum'] as string[] | undefined
  if (op === 'is_null') return { message: 'must be true or false', allowed: ['true', 'false'] }
  const { own } = column
  if (own?.allowed) return { message: `unknown value '${text}'`, allowed: [...own.allowed] }
  if (own) return { message: `must be ${own.wanted}, got '${text}'` }
  if (values) return { message: `unknown value '${text}'`, allowed: values }
  const wanted: Record<ColumnType, string> = {
    text: 'text of at most 1,000 characters',
    'text[]': 'text of at most 1,000 characters',
    bigint: `an id such as ${String((column.field.schema['examples'] as unknown[])[0])}`,
    boolean: 'true or false',
    integer: 'a whole number',
    numeric: 'a number',
    date: 'a date such as 2026-12-31',
    timestamptz: 'a time such as 2026-12-31T08:00:00Z',
  }
  return { message: `must be ${wanted[column.type]}, got '${text}'` }
}

/** Prefix of the ids that a reference holds; empty for other columns. */
export function referencePrefix(column: Column): string {
  return /^\^([a-z]+)_/.exec(String(column.field.schema['pattern']))?.[1] ?? ''
}

/** SQL of one condition on the table aliased `t`; values are appended to `params`. */
export function conditionSql(condition: Condition, params: string[]): string {
  const { via } = condition
  if (!via) return matched('t', condition, params)
  const inner = matched('r', condition, params)
  // An organization is its own owner.
  const owner = via.target.name === 'organization' ? via.column : 'org_id'
  return `exists (select from ${via.target.name} r where r.org_id = t.${owner} and r.id = t.${via.column} and r.deleted_at is null and ${inner})`
}

/** What the index answers alone: values that are there. */
const INDEXED: readonly Operator[] = ['eq', 'in', 'gt', 'gte', 'lt', 'lte']

/** SQL of one condition on a column of the table of that alias, by the index where it answers. */
export function matched(
  alias: string,
  { column, op, values }: Pick<Condition, 'column' | 'op' | 'values'>,
  params: string[],
): string {
  const { own } = column
  if (!own?.index || !own.extension.indexed || !INDEXED.includes(op))
    return comparisonSql(columnSql(column, alias), column.type, op, values, params)
  const field = `$${params.push(String(own.extension.id))}::bigint`
  // A field has one type, so the values of its entries stand in one column.
  const type = own.index === 'v_num' ? 'numeric' : own.index === 'v_text' ? 'text' : 'timestamptz'
  const inner = comparisonSql(`e.${own.index}`, type, op, values, params)
  return `${alias}.id in (select e.object_id from ext_index e where e.org_id = ${alias}.org_id and e.field_id = ${field} and ${inner})`
}

/** SQL of one comparison; values are appended to `params`. @param name SQL of the value compared. */
export function comparisonSql(
  name: string,
  column: ColumnType,
  op: Operator,
  values: readonly string[],
  params: string[],
): string {
  const bind = (value: string, type: string = column): string => `$${params.push(value)}::${type}`
  const first = values[0] as string
  switch (op) {
    case 'eq':
      return `${name} = ${bind(first)}`
    case 'ne':
      return `${name} is distinct from ${bind(first)}`
    case 'in':
      return `${name} = any(${bind(arrayLiteral(values), `${column}[]`)})`
    case 'nin':
      return `(${name} is null or ${name} <> all(${bind(arrayLiteral(values), `${column}[]`)}))`
    case 'gt':
      return `${name} > ${bind(first)}`
    case 'gte':
      return `${name} >= ${bind(first)}`
    case 'lt':
      return `${name} < ${bind(first)}`
    case 'lte':
      return `${name} <= ${bind(first)}`
    case 'contains':
      return column === 'text[]'
        ? `${name} @> array[${bind(first, 'text')}]`
        : `${name} ilike ${bind(`%${likeEscape(first)}%`)}`
    case 'starts_with':
      return `${name} ilike ${bind(`${likeEscape(first)}%`)}`
    case 'is_null':
      return first === 'true' ? `${name} is null` : `${name} is not null`
  }
}

/** The same condition on a row read at another time. */
export function conditionHolds({ column, op, values }: Condition, row: Row): boolean {
  const value = (column.own ? column.own.read(row) : row[column.name]) ?? null
  const first = values[0] as string
  if (op === 'is_null') return (value === null) === (first === 'true')
  if (value === null) return op === 'ne' || op === 'nin'
  if (Array.isArray(value)) return value.includes(first)
  const text =
    column.type === 'bigint' && !column.own
      ? String(value).slice(String(value).indexOf('_') + 1)
      : String(value)
  const order = (other: string): number => compare(column.type, text, other)
  switch (op) {
    case 'eq':
      return order(first) === 0
    case 'ne':
      return order(first) !== 0
    case 'in':
      return values.some((other) => order(other) === 0)
    case 'nin':
      return values.every((other) => order(other) !== 0)
    case 'gt':
      return order(first) > 0
    case 'gte':
      return order(first) >= 0
    case 'lt':
      return order(first) < 0
    case 'lte':
      return order(first) <= 0
    case 'contains':
      return text.toLowerCase().includes(first.toLowerCase())
    case 'starts_with':
      return text.toLowerCase().startsWith(first.toLowerCase())
  }
}

function compare(type: ColumnType, a: string, b: string): number {
  if (type === 'integer' || type === 'numeric' || type === 'bigint') return Number(a) - Number(b)
  if (type === 'timestamptz') return Date.parse(a) - Date.parse(b)
  return a < b ? -1 : a > b ? 1 : 0
}

/** `order by` and keyset predicate; nulls stand last in both directions, `id` is always the last key. */
export function keysetSql(
  sort: readonly SortKey[],
  after: readonly (string | null)[] | null,
  params: string[],
): {
  order: string
  where: string | null
} {
  const order = sort
    .map((key) => {
      const nulls = isNeverNull(key) ? '' : ' nulls last'
      return `${sortSql(key)} ${key.descending ? 'desc' : 'asc'}${nulls}`
    })
    .join(', ')
  if (!after) return { order, where: null }
  const branches: string[] = []
  const equal: string[] = []
  sort.forEach((key, i) => {
    const value = after[i] ?? null
    const name = sortSql(key)
    if (value === null) {
      equal.push(`${name} is null`)
      return
    }
    const bound = `$${params.push(value)}::${key.type}`
    const beyond = `${name} ${key.descending ? '<' : '>'} ${bound}`
    const later = isNeverNull(key) ? beyond : `(${beyond} or ${name} is null)`
    branches.push([...equal, later].join(' and '))
    equal.push(`${name} = ${bound}`)
  })
  return {
    order,
    where:
      branches.length === 1
        ? (branches[0] as string)
        : `(${branches.map((b) => `(${b})`).join(' or ')})`,
  }
}

function isNeverNull({ column, sql, own }: SortKey): boolean {
  return sql === undefined && own === undefined && NEVER_NULL.has(column)
}

/** A PostgreSQL array literal of texts. */
export function arrayLiteral(values: readonly (string | number)[]): string {
  return `{${values.map((v) => `"${String(v).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(',')}}`
}

function likeEscape(text: string): string {
  return text.replace(/[\\%_]/g, (char) => `\\${char}`)
}
