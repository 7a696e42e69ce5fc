/** The functions of adapter expressions: fixed, pure, and blank for what is blank. */
import type { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import { isDate } from '../kit/dates.ts'
import { SQM_PER_SQFT } from '../kit/vocabulary.ts'
import type { Budget } from './cel-budget.ts'
import { isDatePattern } from './values.ts'
import type { Reader } from './values.ts'

/** Items of a list that an expression makes or goes through. */
export const LIST_MAX = 1_000

/** Characters of a text that an expression makes or searches. */
export const TEXT_MAX = 65_536

/** Compiled patterns that are kept; a document has few. */
const PATTERNS_KEPT = 200

/** Why an expression has no value for a row. Codes are stable. */
export class ExpressionFault extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** What the functions of one adapter know: how its file writes numbers and dates, and its tables of words. */
export interface Knowledge {
  number: Reader
  /** @param patterns of dates, tried in order; null for those of the locale. */
  date: (patterns: readonly string[] | null) => Reader
  lookups: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  budget: Budget
}

/** Functions by name with the numbers of arguments they take, as `registerFunctions` makes them known. */
export const FUNCTIONS: Readonly<Record<string, readonly number[]>> = {
  trim: [1],
  upper: [1],
  lower: [1],
  number: [1],
  money: [1],
  date: [1, 2],
  excel_date: [1],
  add_days: [2],
  add_months: [2],
  year: [1],
  sqft_to_m2: [1],
  m2_to_sqft: [1],
  round: [1, 2],
  abs: [1],
  split: [2, 3],
  join: [1, 2],
  replace: [3],
  matches: [2],
  extract: [2, 3],
  coalesce: [1, 2, 3, 4, 5, 6],
  map_option: [2, 3],
  lookup: [2, 3],
  // Of the language itself.
  size: [1],
  int: [1],
  double: [1],
  string: [1],
}

/** Those of ours that can be written as methods: `x.matches(p)` is `matches(x, p)`. */
export const METHODS: ReadonlySet<string> = new Set([
  'trim',
  'matches',
  'replace',
  'extract',
  'split',
  'join',
])

type Implementation = (...args: unknown[]) => unknown

/** Registers every function of `FUNCTIONS` but those of the language under `<name>_`, so that nothing built in is taken. */
export function registerFunctions(environment: Environment, knowledge: Knowledge): void {
  const all: Record<string, Implementation> = {
    ...textFunctions(),
    ...numberFunctions(knowledge.number),
    ...dateFunctions(knowledge.date),
    ...listFunctions(),
    ...patternFunctions(knowledge.budget),
    ...choiceFunctions(knowledge.lookups),
    // Stands around what a comprehension goes through.
    items: (list) => {
      knowledge.budget.check()
      return shortList(list)
    },
  }
  for (const [name, implementation] of Object.entries(all)) {
    for (const count of FUNCTIONS[name] ?? [1]) {
      const [first, ...rest] = Array.from({ length: count }, () => 'dyn')
      const signature = `${name}_(${[first, ...rest].join(', ')}): dyn`
      environment.registerFunction(signature, implementation, { async: false })
      if (!METHODS.has(name)) continue
      const method = `${first}.${name}_(${rest.join(', ')}): dyn`
      environment.registerFunction(method, implementation, { async: false })
    }
  }
  registerOperators(environment)
}

/** Whole and decimal numbers mix, and a blank adds nothing to a text. */
function registerOperators(environment: Environment): void {
  const arithmetic = {
    '+': (a: number, b: number) => a + b,
    '-': (a: number, b: number) => a - b,
    '*': (a: number, b: number) => a * b,
    '/': (a: number, b: number) => a / b,
  }
  for (const [sign, act] of Object.entries(arithmetic)) {
    const mixed = (a: unknown, b: unknown): number => act(Number(a), Number(b))
    environment.registerOperator(`double ${sign} int`, mixed)
    environment.registerOperator(`int ${sign} double`, mixed)
  }
  const joined = (a: unknown, b: unknown): string => `${said(a)}${said(b)}`
  for (const other of ['null', 'double', 'int']) {
    environment.registerOperator(`string + ${other}`, joined)
    environment.registerOperator(`${other} + string`, joined)
  }
  environment.registerFunction('null.startsWith(string): bool', () => false)
  environment.registerFunction('null.endsWith(string): bool', () => false)
  environment.registerFunction('null.contains(string): bool', () => false)
}

function said(value: unknown): string {
  return value === null ? '' : String(value)
}

function textOf(value: unknown): string {
  if (typeof value === 'object') throw new ExpressionFault('not_a_text', 'a list is no text')
  return String(value)
}

/** The same function, with null for a first argument that is blank. */
function unlessBlank(implementation: Implementation): Implementation {
  return (first, ...rest) =>
    first === null || first === '' ? null : implementation(first, ...rest)
}

function textFunctions(): Record<string, Implementation> {
  return {
    trim: unlessBlank((text) => textOf(text).trim()),
    upper: unlessBlank((text) => textOf(text).toUpperCase()),
    lower: unlessBlank((text) => textOf(text).toLowerCase()),
  }
}

function numberFunctions(read: Reader): Record<string, Implementation> {
  const number = unlessBlank((cell) => valueOf(read(cell as string | number)))
  const numeric = (act: (value: number, ...rest: number[]) => number): Implementation =>
    unlessBlank((cell, ...rest) => {
      const value = number(cell) as number | null
      return value === null ? null : act(value, ...rest.map(Number))
    })
  return {
    number,
    money: number,
    sqft_to_m2: numeric((sqft) => digits(sqft * SQM_PER_SQFT)),
    m2_to_sqft: numeric((sqm) => digits(sqm / SQM_PER_SQFT)),
    round: numeric((value, places = 0) => rounded(value, places)),
    abs: numeric(Math.abs),
  }
}

/** Twelve digits: what conversion factors and surveys are good for at most. */
function digits(value: number): number {
  return Number(value.toPrecision(12))
}

/** Half away from zero, as amounts are rounded. */
function rounded(value: number, places: number): number {
  if (!(places >= 0 && places <= 10)) throw new ExpressionFault('out_of_range', 'rounds to 0 to 10')
  const moved = Number(`${Math.abs(value).toPrecision(15)}e${places}`)
  return Math.sign(value) * Number(`${Math.round(moved)}e-${places}`)
}

function valueOf(reading: ReturnType<Reader>): unknown {
  if (reading === null) return null
  if ('value' in reading) return reading.value
  throw new ExpressionFault(reading.code, reading.message)
}

function dateFunctions(reader: Knowledge['date']): Record<string, Implementation> {
  const local = reader(null)
  const readers = new Map<string, Reader>()
  const readerOf = (pattern: string): Reader => {
    if (!isDatePattern(pattern))
      throw new ExpressionFault(
        'invalid_pattern',
        `'${pattern.slice(0, 50)}' is no pattern of dates`,
      )
    const reading = readers.get(pattern) ?? reader([pattern])
    readers.set(pattern, reading)
    return reading
  }
  const read = (cell: unknown): string | null => valueOf(local(cell as string)) as string | null
  const dated = (act: (date: Date, count: number) => void): Implementation =>
    unlessBlank((cell, count) => {
      const day = read(cell)
      if (day === null || count === null) return null
      const date = new Date(`${day}T00:00:00Z`)
      act(date, Number(count))
      const text = date.toISOString().slice(0, 10)
      if (!isDate(text)) throw new ExpressionFault('out_of_range', `${text} is not a date`)
      return text
    })
  return {
    date: unlessBlank((cell, pattern) =>
      pattern === undefined ? read(cell) : valueOf(readerOf(textOf(pattern))(cell as string)),
    ),
    excel_date: unlessBlank((cell) => valueOf(readerOf('excel-serial')(cell as string))),
    add_days: dated((date, days) => date.setUTCDate(date.getUTCDate() + whole(days))),
    add_months: dated((date, months) => addMonths(date, whole(months))),
    year: unlessBlank((cell) => {
      const day = read(cell)
      return day === null ? null : Number(day.slice(0, 4))
    }),
  }
}

function whole(value: number): number {
  if (Number.isInteger(value) && Math.abs(value) <= 100_000) return value
  throw new ExpressionFault('out_of_range', `${value} is no number of days or months`)
}

/** The same day of a later month, or its last one: 31 January and a month is 28 February. */
function addMonths(date: Date, months: number): void {
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(day, last))
}

function shortList(list: unknown): unknown[] {
  if (!Array.isArray(list)) throw new ExpressionFault('not_a_list', 'only lists have items')
  if (list.length <= LIST_MAX) return list as unknown[]
  throw new ExpressionFault('list_too_long', `a list has more than ${LIST_MAX} items`)
}

function listFunctions(): Record<string, Implementation> {
  return {
    split: unlessBlank((text, by, index) => {
      const parts = shortList(textOf(text).split(textOf(by), LIST_MAX + 1)) as string[]
      const trimmed = parts.map((part) => part.trim())
      if (index === undefined) return trimmed.filter((part) => part !== '')
      return trimmed[Number(index)] ?? null
    }),
    join: unlessBlank((list, by) => {
      const texts = shortList(list)
        .filter((item) => item !== null)
        .map(textOf)
      const between = by === undefined ? '' : textOf(by)
      const length = texts.reduce((sum, text) => sum + text.length + between.length, 0)
      if (length > TEXT_MAX) throw tooLong()
      return texts.join(between)
    }),
  }
}

function tooLong(): ExpressionFault {
  return new ExpressionFault('value_too_long', `a text has more than ${TEXT_MAX} characters`)
}

const patterns = new Map<string, RE2JS>()

/** @throws ExpressionFault for what RE2 cannot match in linear time: back references, look-around. */
export function patternOf(source: string): RE2JS {
  let pattern = patterns.get(source)
  if (!pattern) {
    try {
      pattern = RE2JS.compile(source)
    } catch (error) {
      const message = `'${source.slice(0, 100)}' is no pattern: ${(error as Error).message}`
      throw new ExpressionFault('invalid_pattern', message)
    }
    if (patterns.size >= PATTERNS_KEPT) patterns.clear()
    patterns.set(source, pattern)
  }
  return pattern
}

function patternFunctions(budget: Budget): Record<string, Implementation> {
  const searched = (text: unknown): string => {
    budget.check()
    const whole = textOf(text)
    if (whole.length > TEXT_MAX) throw tooLong()
    return whole
  }
  return {
    matches: (text, pattern) =>
      text !== null && patternOf(textOf(pattern)).matcher(searched(text)).find(),
    replace: unlessBlank((text, pattern, by) => {
      const given = searched(text)
      const found = patternOf(textOf(pattern)).matcher(given).replaceAll(textOf(by))
      if (found.length > TEXT_MAX) throw tooLong()
      return found
    }),
    extract: unlessBlank((text, source, group) => {
      const pattern = patternOf(textOf(source))
      const matcher = pattern.matcher(searched(text))
      if (!matcher.find()) return null
      const chosen = group === undefined ? Math.min(1, matcher.groupCount()) : Number(group)
      if (chosen > matcher.groupCount() || chosen < 0)
        throw new ExpressionFault('out_of_range', `the pattern has no group ${chosen}`)
      return matcher.group(chosen)
    }),
  }
}

function choiceFunctions(lookups: Knowledge['lookups']): Record<string, Implementation> {
  const chosen = (options: object, key: unknown, fallback: unknown[]): unknown => {
    const word = textOf(key).trim()
    if (Object.hasOwn(options, word)) return (options as Record<string, unknown>)[word]
    if (fallback.length > 0) return fallback[0]
    throw new ExpressionFault('unknown_option', `'${word.slice(0, 100)}' has no option`)
  }
  return {
    coalesce: (...values) => values.find((value) => value !== null && value !== '') ?? null,
    map_option: unlessBlank((key, options, ...fallback) =>
      chosen(options as object, key, fallback),
    ),
    lookup: (table, key, ...fallback) =>
      key === null || key === '' ? null : chosen(lookups[textOf(table)] ?? {}, key, fallback),
  }
}
