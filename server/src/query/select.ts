/** The columns of an answer: fields as they are, and aggregates over the rows of a group. */
import type { Issue } from '../kit/errors.ts'
import type { FieldKind } from '../kit/field.ts'
import { integer, number } from '../kit/field.ts'
import { closest } from '../kit/validate.ts'
import { readsBody, shown } from './entity.ts'
import type { EntityField } from './entity.ts'
import type { Operand, Sources } from './sources.ts'
import { AGGREGATES, SELECT_MAX } from './types.ts'
import type { AggregateName, SelectItem } from './types.ts'

export interface Output {
  /** Name in the rows of the answer. */
  name: string
  /** The path it shows, null for what counts rows. */
  path: string | null
  aggregate: AggregateName | null
  field: EntityField
  /** SQL of the value, for sorting and `having`. */
  sql: string
  /** SQL of the value as it is shown. */
  shown: string
  /** The value as clients see it, of what the statement answered. */
  present?: (value: unknown) => unknown
}

const NAME = /^[a-z][a-z0-9_.]{0,79}$/i

/** Digits behind the point that averages are given with. */
const AVERAGE_DIGITS = 6

const COUNT = integer('How many.', { example: 12 })

/** What `select` asks for; every field that has a column where it asks for nothing. */
export function outputs(
  select: readonly SelectItem[] | undefined,
  group_by: readonly string[],
  sources: Sources,
  issues: Issue[],
): Output[] {
  const wanted =
    select ?? (group_by.length > 0 ? [...group_by, { count: '*' }] : columnsOf(sources))
  if (wanted.length > SELECT_MAX)
    issues.push({ field: 'select', code: 'too_many', message: `at most ${SELECT_MAX}` })
  const list = wanted.slice(0, SELECT_MAX).flatMap((item, i) => {
    const at = `select[${i}]`
    const one =
      typeof item === 'string' ? plain(item, null, at, sources) : given(item, at, sources, issues)
    return one ? [{ ...one, at }] : []
  })
  list.forEach(({ name, at }, i) => {
    const first = list.findIndex((other) => other.name === name)
    const message = `two columns are named '${name}'; give one another name with as`
    if (first < i) issues.push({ field: at, code: 'duplicate', message })
  })
  return list
}

/** Values that lie in columns of their own: others are read out of the rendered row, which takes time for each. */
function columnsOf({ base }: Sources): string[] {
  const own = [...base.fields.values()].filter((field) => !base.resource || !readsBody(field))
  return own.map(({ name }) => name).slice(0, SELECT_MAX)
}

function plain(path: string, as: string | null, at: string, sources: Sources): Output | null {
  const operand = sources.resolve(path, at)
  if (!operand) return null
  const { field, sql, alias } = operand
  const text = field.show ? field.show(alias) : shown(field, sql)
  const present = field.present ? { present: field.present } : {}
  return { name: as ?? path, path, aggregate: null, field, sql, shown: text, ...present }
}

/** `{"sum": "rentable_area", "as": "area"}`, or `{"field": "tenant.display_name", "as": "tenant"}`. */
function given(
  item: Readonly<Record<string, string>>,
  at: string,
  sources: Sources,
  issues: Issue[],
): Output | null {
  const { as, ...rest } = item
  const [[word, path] = ['', ''], ...more] = Object.entries(rest)
  if (as !== undefined && !NAME.test(as)) {
    const message = `must match ${NAME.source}, got '${as}'`
    issues.push({ field: `${at}.as`, code: 'invalid_format', message })
    return null
  }
  const known = ['field', ...AGGREGATES]
  if (!known.includes(word) || more.length > 0) {
    const suggestion = closest(word, known)
    const message = `must name one of ${known.join(', ')}, and may say as`
    issues.push({
      field: at,
      code: 'unknown_aggregate',
      message,
      allowed: known,
      ...(suggestion ? { suggestion } : {}),
    })
    return null
  }
  if (word === 'field') return plain(path, as ?? null, `${at}.field`, sources)
  return aggregate(word as AggregateName, path, as ?? null, at, sources, issues)
}

function aggregate(
  name: AggregateName,
  path: string,
  as: string | null,
  at: string,
  sources: Sources,
  issues: Issue[],
): Output | null {
  if (name === 'count' && path === '*') return count(as ?? 'count', null, name, 'count(*)')
  const operand = sources.comparable(path, `${at}.${name}`)
  if (!operand) return null
  const called = as ?? `${name}_${path.replaceAll('.', '_')}`
  if (name === 'count') return count(called, path, name, `count(${operand.sql})`)
  if (name === 'count_distinct') return count(called, path, name, `count(distinct ${operand.sql})`)
  const value = summable(name, operand)
  if (value) return value(called)
  const message = `${path} has no ${name}`
  issues.push({ field: `${at}.${name}`, code: 'unsupported_aggregate', message })
  return null
}

function count(name: string, path: string | null, aggregate: AggregateName, sql: string): Output {
  const field: EntityField = { name, type: 'integer', field: COUNT, prefix: '', sql: () => sql }
  return { name, path, aggregate, field, sql, shown: sql }
}

const ORDERED: readonly string[] = ['text', 'integer', 'numeric', 'date', 'timestamptz']

/** Sums and averages are of numbers; the least and the greatest are of what has an order. */
function summable(
  name: 'sum' | 'avg' | 'min' | 'max',
  { field, sql, path }: Operand,
): ((called: string) => Output) | null {
  // Options are told by numbers that say nothing.
  if (field.own && !field.own.operators.includes('gt')) return null
  const numeric = field.type === 'integer' || field.type === 'numeric' || field.type === 'json'
  const fits =
    name === 'sum' || name === 'avg'
      ? numeric
      : ORDERED.includes(field.type) || field.type === 'json'
  if (!fits) return null
  const value =
    field.type === 'json'
      ? `(case when jsonb_typeof(${sql}) = 'number' then (${sql} #>> '{}')::numeric end)`
      : sql
  const of = `${name}(${value})`
  const exact = field.field.kind === 'money'
  const result = name === 'avg' && !exact ? `round(${of}, ${AVERAGE_DIGITS})` : of
  const kept = (name === 'min' || name === 'max') && field.type !== 'json'
  const type = kept ? field.type : 'numeric'
  const declared = kept || exact ? field.field : NUMBER
  return (called) => {
    const made: EntityField = { name: called, type, field: declared, prefix: '', sql: () => result }
    return {
      name: called,
      path,
      aggregate: name,
      field: made,
      sql: result,
      shown: shown(made, result),
    }
  }
}

const NUMBER = number('A number.', { example: 12.5 })

/** What a column holds, for who reads the answer. */
export function kindOf({ field }: Output): FieldKind | 'json' {
  return field.type === 'json' ? 'json' : field.field.kind
}
