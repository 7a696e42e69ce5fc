/** Conditions of a query: trees of and, or and not over the comparisons that lists have, compiled to SQL. */
import type { Issue } from '../kit/errors.ts'
import { comparisonSql, describe, literals, matched } from '../kit/filter.ts'
import { OPERATORS, OPERATORS_OF, operatorsOf } from '../kit/list-columns.ts'
import type { Operator } from '../kit/list-columns.ts'
import type { Column } from '../kit/row.ts'
import type { ColumnType } from '../kit/field.ts'
import { closest } from '../kit/validate.ts'
import type { EntityField } from './entity.ts'
import { CONDITIONS_MAX, NESTING_MAX, VALUES_MAX } from './types.ts'
import type { Tree } from './types.ts'

/** What a condition compares. */
export interface Compared {
  field: EntityField
  sql: string
  /** The table that has it, where one does: its indexes can be asked. */
  alias?: string
}

export interface Conditions {
  /** The value of a name; what is wrong with it is an issue at the given place. */
  resolve: (name: string, at: string) => Compared | null
  params: string[]
  issues: Issue[]
  /** Parameters may stand in the place of values: the query is looked at and not run. */
  open?: boolean
  /** Comparisons so far. */
  count: number
}

/** Words that join conditions; no field has such a name. */
const JOINING = ['and', 'or', 'not']

/** SQL of a tree; true when it says nothing. */
export function treeSql(tree: unknown, at: string, to: Conditions, depth = 0): string {
  if (!isTree(tree)) return refuse(to, at, 'invalid_type', 'must be an object of conditions')
  if (depth > NESTING_MAX)
    return refuse(to, at, 'too_deep', `conditions may nest at most ${NESTING_MAX} levels`)
  const parts = Object.entries(tree).map(([name, value]) => {
    const here = `${at}.${name}`
    if (name === 'not') return `(${treeSql(value, here, to, depth + 1)}) is not true`
    if (name === 'and' || name === 'or') return listSql(name, value, here, to, depth)
    return fieldSql(name, value, here, to)
  })
  return parts.length === 0 ? 'true' : parts.map((part) => `(${part})`).join(' and ')
}

function listSql(
  word: 'and' | 'or',
  value: unknown,
  at: string,
  to: Conditions,
  depth: number,
): string {
  if (!Array.isArray(value) || value.length === 0)
    return refuse(to, at, 'invalid_type', 'must be a list of conditions')
  const parts = value.map((one, i) => treeSql(one, `${at}[${i}]`, to, depth + 1))
  return parts.map((part) => `(${part})`).join(` ${word} `)
}

/** `{field: value}`, `{field: [values]}`, `{field: null}` or `{field: {operator: value}}`. */
function fieldSql(name: string, value: unknown, at: string, to: Conditions): string {
  const compared = to.resolve(name, at)
  if (!compared) return 'true'
  const operations: Tree =
    parameterIn(value) === null && isTree(value)
      ? value
      : Array.isArray(value)
        ? { in: value }
        : value === null
          ? { is_null: true }
          : { eq: value }
  const parts = Object.entries(operations).map(([op, given]) => {
    const where = operations === value ? `${at}.${op}` : at
    return operationSql(compared, op, given, where, to)
  })
  if (parts.length > 0) return parts.join(' and ')
  return refuse(to, at, 'required', 'needs an operator, such as {"eq": ...}')
}

function operationSql(
  { field, sql, alias }: Compared,
  op: string,
  given: unknown,
  at: string,
  to: Conditions,
): string {
  if (++to.count > CONDITIONS_MAX)
    return to.count === CONDITIONS_MAX + 1
      ? refuse(to, at, 'too_many', `at most ${CONDITIONS_MAX} conditions`)
      : 'true'
  const [type, name] = typed(field, sql, given)
  const allowed = field.own ? operatorsOf(columnOf(field, type)) : OPERATORS_OF[type]
  if (!isOperator(op) || !allowed.includes(op)) {
    const suggestion = closest(op, allowed)
    const message = `cannot use '${op}' on ${field.name}`
    to.issues.push({
      field: at,
      code: 'unknown_operator',
      message,
      allowed,
      ...(suggestion ? { suggestion } : {}),
    })
    return 'true'
  }
  const parameter = parameterIn(given)
  if (parameter !== null)
    return to.open ? 'true' : refuse(to, at, 'required', `parameter '${parameter}' has no value`)
  const values = valuesOf(field, type, op, given, at, to)
  if (!values) return 'true'
  if (field.own && alias !== undefined)
    return matched(alias, { column: columnOf(field, type), op, values }, to.params)
  return comparisonSql(name, type, op, values, to.params)
}

function columnOf({ name, field, own }: EntityField, type: ColumnType): Column {
  return { name, type, field, ...(own ? { own } : {}) }
}

/** A value without a type of its own in SQL is compared as what it is compared with. */
function typed(field: EntityField, sql: string, given: unknown): [ColumnType, string] {
  if (field.type !== 'json') return [field.type, sql]
  const [sample] = [given].flat()
  const text = `(${sql} #>> '{}')`
  if (typeof sample !== 'number' && typeof sample !== 'boolean') return ['text', text]
  const type = typeof sample === 'number' ? 'numeric' : 'boolean'
  const kind = typeof sample === 'number' ? 'number' : 'boolean'
  return [type, `(case when jsonb_typeof(${sql}) = '${kind}' then ${text}::${type} end)`]
}

/** The values as PostgreSQL reads them; null when they are not such, which is an issue. */
function valuesOf(
  compared: EntityField,
  type: ColumnType,
  op: Operator,
  given: unknown,
  at: string,
  to: Conditions,
): string[] | null {
  const { prefix, own } = compared
  const several = op === 'in' || op === 'nin'
  const list: readonly unknown[] = several ? [given].flat() : [given]
  if (list.length === 0 || list.length > VALUES_MAX) {
    refuse(to, at, 'out_of_range', `needs 1 to ${VALUES_MAX} values`)
    return null
  }
  const column = columnOf(compared, type)
  const texts = list.map((value) => (fits(value, type, op) ? String(value) : null))
  // An object of any type is told by its id, whose digits no other has.
  const any = type === 'bigint' && prefix === '' && !own
  const plain = texts.map((text) => (any ? (text?.replace(/^[a-z]+_/, 'x_') ?? null) : text))
  const values = plain.every((text) => text !== null)
    ? literals(any ? 'x' : prefix, column, op, plain)
    : null
  if (values) return values
  const wrong = list.find((_, i) => !literals(any ? 'x' : prefix, column, op, [plain[i] ?? '\0']))
  to.issues.push({ field: at, code: 'invalid_value', ...describe(column, op, textOf(wrong)) })
  return null
}

function fits(value: unknown, type: ColumnType, op: Operator): boolean {
  if (op === 'is_null' || type === 'boolean') return typeof value === 'boolean'
  if (type === 'integer' || type === 'numeric')
    return typeof value === 'number' || typeof value === 'string'
  return typeof value === 'string'
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

function refuse(to: Conditions, field: string, code: string, message: string): string {
  to.issues.push({ field, code, message })
  return 'true'
}

function isOperator(text: string): text is Operator {
  return (OPERATORS as readonly string[]).includes(text)
}

/** The name of the parameter that stands in the place of a value, null for a value. */
export function parameterIn(value: unknown): string | null {
  if (!isTree(value)) return null
  const [[key, name] = ['', null], ...more] = Object.entries(value)
  const fits = key === '$param' && more.length === 0 && typeof name === 'string'
  return fits && PARAMETER.test(name) ? name : null
}

const PARAMETER = /^[a-z][a-z0-9_]{0,62}$/

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Names that the comparisons of a tree begin with. */
export function namesIn(tree: unknown): string[] {
  if (Array.isArray(tree)) return tree.flatMap(namesIn)
  if (!isTree(tree)) return []
  return Object.entries(tree).flatMap(([name, value]) =>
    JOINING.includes(name) ? namesIn(value) : [name],
  )
}
