/** Fills attributes from the cells of a row. */
import type { Field, Fields, JsonSchema } from '../kit/field.ts'
import { writableFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { complete, normalise } from '../kit/row.ts'
import { validate } from '../kit/validate.ts'
import type { Adapter, Entry, Resolve, Stream } from './adapter.ts'
import { ExpressionFault } from './cel-functions.ts'
import type { Expression } from './expression.ts'
import type { RowIssue } from './mapping.ts'
import { storable } from './readers/text.ts'
import type { Cell } from './readers/types.ts'
import { readerOf } from './values.ts'
import type { Reader } from './values.ts'

/** Fills one attribute from a row; undefined when the row does not state it. */
export type Filler = (cells: readonly Cell[], problem: Problem) => unknown

export type Problem = (
  field: string,
  code: string,
  message: string,
  level: RowIssue['level'],
) => void

/** What fillers are compiled in. */
export interface Context {
  adapter: Adapter
  stream: Stream
  compile: (source: string) => Expression
}

/** A related object that is named by its key until the record is written; the path says by which rule it is found. */
export interface Ref {
  $ref: [path: string, key: string]
}

export function fillerOf(
  context: Context,
  path: string,
  given: Entry | string,
  field: Field,
): Filler {
  const entry: Entry = typeof given === 'string' ? { from: given } : given
  if (entry.value !== undefined) {
    const value = normalise(field, entry.value)
    return () => value
  }
  const items = field.items as Fields
  if (entry.object) return objectFiller(context, path, entry.object, items)
  if (entry.list) {
    const item = objectFiller(context, path, entry.list, items)
    return (cells, problem) => {
      const value = item(cells, problem)
      return value === undefined ? undefined : [complete(items, value as Row)]
    }
  }
  return cellFiller(context, path, entry, field)
}

function cellFiller(context: Context, path: string, entry: Entry, field: Field): Filler {
  const { evaluate } = context.compile((entry.from ?? entry.expr) as string)
  const read: Reader = readerOf(entry, field, context.adapter.locale)
  const { on_error } = entry
  const level = on_error === undefined || on_error === 'quarantine_row' ? 'error' : 'warning'
  const unreadable = on_error === 'null_with_issue' ? null : undefined
  const fits = valueCheck(field)
  const one = (cell: Cell, problem: Problem): unknown => {
    const reading = read(cell)
    if (reading === null) return undefined
    const wrong = 'value' in reading ? fits(reading.value) : reading
    // An expression may have cut a character in half.
    if ('value' in reading && !wrong)
      return typeof reading.value === 'string' ? storable(reading.value) : reading.value
    problem(path, wrong?.code ?? '', wrong?.message ?? '', level)
    return unreadable
  }
  return (cells, problem) => {
    let cell: Cell
    try {
      cell = evaluate(cells)
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error
      problem(path, error.code, error.message, level)
      return unreadable
    }
    if (field.kind === 'texts' && cell !== null) {
      const items = Array.isArray(cell) ? (cell as readonly Cell[]) : [cell]
      const words = items.map((item) => one(item, problem)).filter((word) => word != null)
      return words.length > 0 ? normalise(field, words) : undefined
    }
    const value = one(cell, problem)
    return value === undefined ? undefined : normalise(field, value)
  }
}

/** Checks a value against its field's schema; the common kinds without going through the validator. */
function valueCheck(field: Field): (value: unknown) => { code: string; message: string } | null {
  const { schema } = field
  const max = schema['maxLength']
  if (field.kind === 'text' && typeof max === 'number' && !schema['pattern']) {
    return (value) =>
      (value as string).length <= max
        ? null
        : { code: 'too_long', message: `has more than ${max} characters` }
  }
  if (field.kind === 'date' || field.kind === 'boolean') return () => null
  const values = schema['enum'] as string[] | undefined
  if (values && field.kind === 'choice') {
    const known = new Set(values)
    return (value) =>
      known.has(value as string)
        ? null
        : { code: 'invalid_enum', message: `'${String(value)}' is not one of ${values.join(', ')}` }
  }
  const one: JsonSchema = field.kind === 'texts' ? (schema['items'] as JsonSchema) : schema
  const { minimum = -Infinity, maximum = Infinity } = schema as Record<string, number>
  return (value) => {
    if (typeof value === 'number' && value >= minimum && value <= maximum) return null
    const [issue] = validate(one, value)
    return issue ? { code: issue.code, message: issue.message } : null
  }
}

/** The parts that a row gives; undefined when it gives none. */
function objectFiller(
  context: Context,
  path: string,
  entries: Record<string, Entry | string>,
  items: Fields,
): Filler {
  const fillers = Object.entries(entries).map(
    ([name, entry]) =>
      [name, fillerOf(context, `${path}.${name}`, entry, items[name] as Field)] as const,
  )
  for (const [target, rule] of Object.entries(context.stream.resolve))
    if (target.startsWith(`${path}.`))
      fillers.push([target.slice(path.length + 1), refFiller(context, target, rule)])
  return (cells, problem) => {
    let value: Row | undefined
    for (const [name, fill] of fillers) {
      const part = fill(cells, problem)
      if (part === undefined) continue
      value ??= {}
      value[name] = part
    }
    return value
  }
}

/** The key of a related object: a text, or a list of texts where several fields may tell which one it is. */
export function refFiller(context: Context, path: string, rule: Resolve): Filler {
  const expressions = [rule.value].flat().map((source) => context.compile(source))
  const level = rule.missing === 'error' ? 'error' : 'warning'
  return (cells, problem) => {
    try {
      const keys = expressions.map(({ evaluate }) => textOf(evaluate(cells)))
      if (keys.every((key) => key === '')) return undefined
      const key = keys.length === 1 ? (keys[0] as string) : JSON.stringify(keys)
      return { $ref: [path, key] } satisfies Ref
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error
      problem(path, error.code, error.message, level)
      return undefined
    }
  }
}

function textOf(cell: Cell): string {
  if (typeof cell === 'object' && cell !== null)
    throw new ExpressionFault('not_a_single_value', 'a key is a single value')
  return cell === null ? '' : String(cell).trim()
}

/** Values of a stub; cells that cannot be read leave theirs out. */
export function stubValues(
  context: Context,
  rule: Resolve,
  target: Resource,
): (cells: readonly Cell[]) => Row {
  const fields = writableFields(target)
  const fill = objectFiller(
    { ...context, stream: { ...context.stream, resolve: {} } },
    '',
    rule.stub ?? {},
    fields,
  )
  return (cells) => (fill(cells, () => {}) ?? {}) as Row
}
