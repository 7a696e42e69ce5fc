/** What the values of a column look like: how they write numbers and dates, which words they repeat. */
import { isDate } from '../../../kit/dates.ts'
import type { Cell } from '../../readers/types.ts'
import type { ColumnSample } from '../../sample.ts'
import { unitsOf, wordsOf } from './words.ts'

export type ShapeType =
  | 'empty'
  | 'integer'
  | 'number'
  | 'percent'
  | 'money'
  | 'date'
  | 'boolean'
  | 'text'

export interface Shape {
  name: string
  index: number
  words: readonly string[]
  units: readonly string[]
  /** Values that state something, blanks and words for blank left out. */
  values: readonly Cell[]
  /** Their number among the rows looked at. */
  filled: number
  rows: number
  distinct: number
  /** Every row has a value, and no two rows the same. */
  unique: boolean
  type: ShapeType
  /** Share of the values that the type fits. */
  share: number
  /** Date patterns that fit, the likeliest first. */
  dates: readonly string[]
  /** Whether a zero stands among the numbers. */
  zeros: readonly string[]
  longest: number
}

/** How numbers are written. */
export interface Signs {
  decimal: '.' | ','
  thousands: ',' | '.' | ' ' | "'"
}

/** Words that stand for a blank. */
const NULLS = new Set([
  'na',
  'n/a',
  '#n/a',
  '-',
  '--',
  'null',
  'none',
  'nan',
  'tbd',
  'unknown',
  '.',
  '?',
])

/** Ways to write numbers, the usual one first: it is meant where the values leave it open. */
const WAYS: readonly (Signs & { form: RegExp; between: RegExp })[] = [
  {
    decimal: '.',
    thousands: ',',
    form: /^-?(?:\d+|\d{1,3}(?:,\d{3})+)?(?:\.\d*)?$/,
    between: /,/g,
  },
  {
    decimal: ',',
    thousands: '.',
    form: /^-?(?:\d+|\d{1,3}(?:\.\d{3})+)?(?:,\d*)?$/,
    between: /\./g,
  },
  {
    decimal: ',',
    thousands: ' ',
    form: /^-?(?:\d+|\d{1,3}(?:[ \u00a0\u202f]\d{3})+)?(?:,\d*)?$/,
    between: /[ \u00a0\u202f]/g,
  },
  {
    decimal: '.',
    thousands: "'",
    form: /^-?(?:\d+|\d{1,3}(?:'\d{3})+)?(?:\.\d*)?$/,
    between: /'/g,
  },
]

/** Date patterns that are tried, the less doubtful first. */
const PATTERNS: readonly (readonly [pattern: string, form: RegExp])[] = [
  ['yyyy-MM-dd', /^(?<y>\d{4})-(?<m>\d{2})-(?<d>\d{2})$/],
  ['yyyy/MM/dd', /^(?<y>\d{4})\/(?<m>\d{2})\/(?<d>\d{2})$/],
  ['dd.MM.yyyy', /^(?<d>\d{2})\.(?<m>\d{2})\.(?<y>\d{4})$/],
  ['d.M.yyyy', /^(?<d>\d{1,2})\.(?<m>\d{1,2})\.(?<y>\d{4})$/],
  ['MM/dd/yyyy', /^(?<m>\d{2})\/(?<d>\d{2})\/(?<y>\d{4})$/],
  ['M/d/yyyy', /^(?<m>\d{1,2})\/(?<d>\d{1,2})\/(?<y>\d{4})$/],
  ['dd/MM/yyyy', /^(?<d>\d{2})\/(?<m>\d{2})\/(?<y>\d{4})$/],
  ['d/M/yyyy', /^(?<d>\d{1,2})\/(?<m>\d{1,2})\/(?<y>\d{4})$/],
  ['MM-dd-yyyy', /^(?<m>\d{2})-(?<d>\d{2})-(?<y>\d{4})$/],
  ['dd-MM-yyyy', /^(?<d>\d{2})-(?<m>\d{2})-(?<y>\d{4})$/],
]

/** Serial numbers of days from 1954 to 2119, as workbooks hold dates that lost their format. */
const SERIAL = { min: 20_000, max: 80_000 }

const BOOLEANS = new Set(['true', 'false', 'yes', 'no', 'y', 'n'])

/** Longer names are texts that stand where names should. */
const NAME_MAX = 200

/** Values by which the type of a column is told. */
const TYPED_BY = 400

/** At least this share of them must fit a type. */
const ENOUGH = 0.9

export interface Profile {
  shapes: Shape[]
  signs: Signs
  /** Words for blank that the file uses, besides the empty one. */
  nulls: string[]
  rows: number
}

/** Looks at every column. How numbers are written is decided for the whole file: one of them alone may be doubtful. */
export function profileOf(given: readonly ColumnSample[], rows: number): Profile {
  const columns = given.filter(({ name }) => name !== '' && name.length <= NAME_MAX)
  const signs = signsOf(columns)
  const nulls = new Set<string>()
  const shapes = columns.map((column, index) => {
    const words = wordsOf(column.name)
    const values = column.values.filter((value) => {
      const word = String(value).trim()
      // NA is a country as well.
      const blank = NULLS.has(word.toLowerCase()) && !words.includes('country')
      if (blank) nulls.add(word)
      return !blank
    })
    return { index, words, ...shapeOf(column.name, words, values, rows, signs) }
  })
  return { shapes, signs, nulls: [...nulls], rows }
}

function shapeOf(
  name: string,
  words: readonly string[],
  values: readonly Cell[],
  rows: number,
  signs: Signs,
): Omit<Shape, 'index' | 'words'> {
  const distinct = new Set(values.map((value) => String(value).trim().toLowerCase())).size
  const texts = values.map((value) => String(value).trim())
  const typed = typeOf(values.slice(0, TYPED_BY), texts.slice(0, TYPED_BY), words, signs)
  return {
    name,
    units: unitsOf(name),
    values,
    filled: values.length,
    rows,
    distinct,
    unique: values.length === rows && distinct === rows,
    zeros: [...new Set(texts.filter((text) => /^0+(?:[.,]0+)?$/.test(text)))],
    longest: Math.max(0, ...texts.map(({ length }) => length)),
    ...typed,
  }
}

function typeOf(
  values: readonly Cell[],
  texts: readonly string[],
  words: readonly string[],
  signs: Signs,
): Pick<Shape, 'type' | 'share' | 'dates'> {
  const none = { dates: [] }
  if (values.length === 0) return { type: 'empty', share: 1, ...none }
  const share = (fits: (text: string, i: number) => boolean): number =>
    texts.filter(fits).length / texts.length
  const booleans = share(
    (text, i) => typeof values[i] === 'boolean' || BOOLEANS.has(text.toLowerCase()),
  )
  if (booleans >= ENOUGH) return { type: 'boolean', share: booleans, ...none }
  const dates = PATTERNS.map(
    ([pattern, form]) => [pattern, share((text) => isDateIn(text, form))] as const,
  )
    .filter(([, fits]) => fits >= ENOUGH)
    .toSorted((a, b) => b[1] - a[1])
  const [best] = dates
  if (best) return { type: 'date', share: best[1], dates: dates.map(([pattern]) => pattern) }
  const numbers = values.map((value) => numberOf(value, signs))
  const numeric = share((_, i) => numbers[i] !== null)
  if (numeric < ENOUGH) return { type: 'text', share: 1, ...none }
  const serial = share((_, i) => isSerial(numbers[i] ?? null))
  if (
    serial >= ENOUGH &&
    words.some((word) => ['date', 'commencement', 'expiration'].includes(word))
  )
    return { type: 'date', share: serial, dates: ['excel-serial'] }
  if (share((text) => text.endsWith('%')) >= 0.5)
    return { type: 'percent', share: numeric, ...none }
  if (share((text) => /[$€£¥]/.test(text)) >= 0.5) return { type: 'money', share: numeric, ...none }
  const whole = share((_, i) => Number.isInteger(numbers[i])) === 1
  return { type: whole ? 'integer' : 'number', share: numeric, ...none }
}

function isDateIn(text: string, form: RegExp): boolean {
  // Readers give dates of workbooks in ISO form, some with a time.
  const { y, m = '', d = '' } = form.exec(text.replace(/T.*$/, ''))?.groups ?? {}
  return isDate(`${y}-${m.padStart(2, '0')}-${d.padStart(2, '0')}`)
}

function isSerial(number: number | null): boolean {
  return number !== null && Number.isInteger(number) && number >= SERIAL.min && number <= SERIAL.max
}

/** The number that a cell states, or null. */
export function numberOf(cell: Cell, signs: Signs): number | null {
  if (typeof cell === 'number') return cell
  if (typeof cell !== 'string') return null
  const way = WAYS.find(
    ({ decimal, thousands }) => decimal === signs.decimal && thousands === signs.thousands,
  )
  const text = cell.trim()
  const inner = /^\((.*)\)$/.exec(text)?.[1]
  const bare = (inner ?? text).replaceAll(/[$€£¥%]/g, '').trim()
  if (!way || !/\d/.test(bare) || !way.form.test(bare)) return null
  const number = Number(bare.replaceAll(way.between, '').replace(',', '.'))
  return inner === undefined ? number : -number
}

/** The signs by which most cells are numbers. */
function signsOf(columns: readonly ColumnSample[]): Signs {
  const texts = columns
    .flatMap(({ values }) => values.slice(0, 200))
    .filter((value) => typeof value === 'string' && /\d/.test(value) && /[.,'\s]/.test(value))
  const fits = WAYS.map((way) => texts.filter((text) => numberOf(text, way) !== null).length)
  const { decimal, thousands } = WAYS[fits.indexOf(Math.max(...fits))] as Signs
  return { decimal, thousands }
}
