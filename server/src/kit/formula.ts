/**
 * Formulas: CEL over the fields of the same record, behind fences. Numbers are decimals throughout, `12` means `12.0`; a
 * formula that reads a field without a value has none itself.
 */
import { Environment } from '@marcbachmann/cel-js'
import type { ASTNode } from '@marcbachmann/cel-js'
import { claimName, extensionKey, shownValue } from './extension.ts'
import type { Extension } from './extension.ts'
import type { Row } from './resource.ts'

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  limits: { maxAstNodes: 500, maxDepth: 20, maxListElements: 50, maxMapEntries: 0 },
})

/** Everything a formula may call. Comprehensions and regular expressions are not among them. */
const FUNCTIONS = new Set(['size', 'int', 'double', 'string', 'contains', 'startsWith', 'endsWith'])

/** Longest text that is the outcome of a formula, in characters. */
const RESULT_MAX = 1_000

type Node = Pick<ASTNode, 'op' | 'range'> & { args: unknown }

interface Reading {
  /** `base_rent`, `ext.green_share`, `x1042`. */
  name: string
  start: number
  end: number
}

/** Why an expression is no formula; null when it is one. @param names fields that it may read. */
export function formulaIssue(
  expression: string,
  names: readonly string[],
): { message: string; name?: string } | null {
  let found: { readings: Reading[] }
  try {
    found = read(expression)
  } catch (error) {
    return { message: (error as Error).message.split('\n')[0] ?? 'cannot be read' }
  }
  const unknown = found.readings.find(({ name }) => !names.includes(name))
  return unknown ? { message: `unknown field '${unknown.name}'`, name: unknown.name } : null
}

/** The expression with the organization's own fields by id, so that a rename leaves it as it is. */
export function boundFormula(expression: string, extensions: readonly Extension[]): string {
  return replaced(expression, ({ name }) => {
    const own = extensions.find((e) => e.state === 'deployed' && `ext.${e.name}` === name)
    return own ? extensionKey(own.id) : null
  })
}

/** The same with names again, for people. */
export function shownFormula(expression: string, extensions: readonly Extension[]): string {
  return replaced(expression, ({ name }) => {
    const shown = claimName(extensions, name)
    return shown === name ? null : shown
  })
}

function replaced(expression: string, by: (reading: Reading) => string | null): string {
  let text = expression
  for (const reading of read(expression).readings.toSorted((a, b) => b.start - a.start)) {
    const other = by(reading)
    if (other !== null) text = text.slice(0, reading.start) + other + text.slice(reading.end)
  }
  return text
}

type Evaluate = (row: Row, extensions: readonly Extension[]) => unknown

const compiled = new WeakMap<Extension, Evaluate>()

/** The value of a formula for a row in stored form; null where it has none. */
export function formulaValue(
  extension: Extension,
  row: Row,
  extensions: readonly Extension[],
): unknown {
  let evaluate = compiled.get(extension)
  if (!evaluate) {
    evaluate = compile(extension.settings.expression ?? '')
    compiled.set(extension, evaluate)
  }
  return evaluate(row, extensions)
}

function compile(expression: string): Evaluate {
  try {
    const { readings, whole } = read(expression)
    let text = expression
    for (const { end } of whole.toSorted((a, b) => b.start - a.start))
      text = `${text.slice(0, end)}.0${text.slice(end)}`
    const run = environment.parse(text) as unknown as (context: Row) => unknown
    const names = [...new Set(readings.map(({ name }) => name))]
    return (row, extensions) => {
      const context: Row = {}
      for (const name of names) {
        const value = operand(row, name, extensions)
        if (value === null) return null
        context[name] = value
      }
      try {
        return outcome(run(context))
      } catch {
        // What does not compute for this row (a text times a number) has no value there.
        return null
      }
    }
  } catch {
    return () => null
  }
}

/** A field as a formula reads it: money, areas and lengths are their amount, options their name. */
function operand(row: Row, name: string, extensions: readonly Extension[]): unknown {
  const own = extensions.find(({ id }) => extensionKey(id) === name)
  if (!own) return numberOr(row[name] ?? null)
  const value = (row['ext'] as Row | null)?.[name] ?? null
  if (own.type === 'money' && value !== null) return Number([value].flat()[0])
  if (own.type === 'area' || own.type === 'length') return value
  return shownValue(own, value)
}

/** Money of declared fields is text that reads as a number. */
function numberOr(value: unknown): unknown {
  return typeof value === 'string' && /^-?[0-9]+\.[0-9]+$/.test(value) ? Number(value) : value
}

function outcome(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'number') return Number.isFinite(value) ? Number(value.toFixed(6)) : null
  if (typeof value === 'string') return value.slice(0, RESULT_MAX)
  return typeof value === 'boolean' ? value : null
}

/** What an expression reads, and its whole numbers. @throws Error for what is not allowed, saying so. */
function read(expression: string): {
  readings: Reading[]
  whole: { start: number; end: number }[]
} {
  const { ast } = environment.parse(expression) as unknown as { ast: Node }
  const readings: Reading[] = []
  const whole: { start: number; end: number }[] = []
  const walk = (node: Node): void => {
    const { op, args, range } = node
    const list = Array.isArray(args) ? (args as unknown[]) : [args]
    if (op === 'id') {
      readings.push({ name: String(args), ...range })
      return
    }
    if (op === '.') {
      const [inner, member] = list as [Node, string]
      if (inner.op !== 'id' || inner.args !== 'ext')
        throw new Error(`cannot read '${member}' of a value; only ext has members`)
      readings.push({ name: `ext.${member}`, ...range })
      return
    }
    if (op === 'value') {
      if (typeof args === 'bigint') whole.push(range)
      return
    }
    if (op === 'call' || op === 'rcall') {
      const name = String(list[0])
      if (!FUNCTIONS.has(name))
        throw new Error(`cannot use ${name}(); use ${[...FUNCTIONS].join(', ')}`)
    }
    if (op === 'map' || op === '.?' || op === '[?]' || op === '[]')
      throw new Error(`cannot use '${op}' in a formula`)
    for (const part of list.flat(2)) if (isNode(part)) walk(part)
  }
  walk(ast)
  return { readings, whole }
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'op' in part
}
