/** Cells into field values: numbers, money, dates and words as the adapter's locale writes them. */
import { instant, isDate } from '../kit/dates.ts'
import type { Field, FieldKind } from '../kit/field.ts'
import type { Adapter, Entry, ValueType } from './adapter.ts'
import type { Cell } from './readers/types.ts'

/** A value, nothing (blank), or why the cell cannot be used. */
export type Reading = { value: unknown } | null | { code: string; message: string }

export type Reader = (cell: Cell) => Reading

type Locale = Adapter['locale']

/** How cells may be read to fill a field of a kind; the first is what is meant when the entry says nothing. */
export const TYPES: Readonly<Record<FieldKind, readonly ValueType[]>> = {
  text: ['text', 'date', 'datetime'],
  integer: ['integer'],
  number: ['number', 'integer', 'percent'],
  percent: ['percent', 'number', 'integer'],
  money: ['money'],
  boolean: ['boolean'],
  date: ['date'],
  datetime: ['datetime'],
  choice: ['text'],
  texts: ['text'],
  // What refers to objects is resolved by key; structures are put together from entries.
  reference: [],
  list: [],
  object: [],
}

/** Longest cell text that a message repeats. */
const QUOTED_MAX = 100

/** A reader for one entry, given the field it fills. */
export function readerOf(entry: Entry, field: Field, locale: Locale): Reader {
  const nulls = new Set([...locale.nulls, ...(entry.nulls ?? [])])
  const type = entry.type ?? TYPES[field.kind][0] ?? 'text'
  const read = scaled(entry, typeReader(type, locale, entry.date ?? locale.date))
  const options = entry.options ? new Map(Object.entries(entry.options)) : null
  return (cell) => {
    if (cell === null) return null
    if (typeof cell === 'object')
      return { code: 'not_a_single_value', message: `${quoted(cell)} is not a single value` }
    if (typeof cell === 'string') {
      const trimmed = cell.trim()
      if (trimmed === '' || nulls.has(trimmed)) return null
      cell = trimmed
    } else if (nulls.has(String(cell))) return null
    if (!options) return read(cell)
    const meant = options.get(String(cell))
    if (meant !== undefined) return read(meant)
    if (entry.else === 'blank') return null
    if (entry.else === 'keep') return read(cell)
    return { code: 'unknown_option', message: `${quoted(cell)} has no option` }
  }
}

/** A cell in a message; cells may be long. */
function quoted(cell: Cell): string {
  const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
  return text.length > QUOTED_MAX ? `'${text.slice(0, QUOTED_MAX).toWellFormed()}…'` : `'${text}'`
}

function scaled(entry: Entry, read: Reader): Reader {
  if (entry.scale !== 'fraction') return read
  return (cell) => {
    const reading = read(cell)
    if (!reading || !('value' in reading) || typeof reading.value !== 'number') return reading
    // Twelve digits take back what binary fractions add: 0.07 * 100 is 7.000000000000001.
    return { value: Number((reading.value * 100).toPrecision(12)) }
  }
}

function typeReader(type: ValueType, locale: Locale, dates: readonly string[]): Reader {
  const number = numberReader(locale)
  switch (type) {
    case 'text':
      return (cell) => ({ value: String(cell) })
    case 'number':
    case 'percent':
      return number
    case 'integer':
      return (cell) => wholeOf(number(cell), cell)
    case 'money':
      return (cell) => moneyOf(number(cell), cell)
    case 'boolean':
      return booleanOf
    case 'date':
      return dateReader(dates)
    case 'datetime': {
      const read = dateReader(dates)
      return (cell) => datetimeOf(read, cell)
    }
  }
}

const PLAIN = /^-?(?:\d+\.?\d*|\.\d+)$/

/** Spaces that typesetters put between thousands. */
const SPACES = '[ \u00a0\u2009\u202f]'

/**
 * Numbers as the locale writes them. Separators must stand where thousands end, in groups of three or, before the last,
 * two: `12,5` is not 125 because the file was written elsewhere.
 */
export function numberReader({ decimal, thousands }: Locale): Reader {
  const point = escaped(decimal)
  const between = thousands === ' ' ? SPACES : escaped(thousands)
  const grouped = thousands ? `|\\d{1,3}(?:${between}\\d{2,3})*${between}\\d{3}` : ''
  const form = new RegExp(`^(-?)(\\d+${grouped})?(?:${point}(\\d*))?$`)
  const separators = new RegExp(between, 'g')
  return (cell) => {
    if (typeof cell === 'number') return { value: cell }
    const text = String(cell)
    // Most cells are plain digits.
    if (decimal === '.' && PLAIN.test(text)) return { value: Number(text) }
    const match = form.exec(bare(text))
    const [, sign = '', whole = '', fraction = ''] = match ?? []
    if (whole === '' && fraction === '')
      return { code: 'not_a_number', message: `${quoted(cell)} is not a number` }
    const digits = thousands ? whole.replaceAll(separators, '') : whole
    return { value: Number(`${sign}${digits || '0'}.${fraction || '0'}`) }
  }
}

/** Without what surrounds the digits: currency and percent signs, and parentheses, which mean minus. */
function bare(text: string): string {
  const negative = /^\((.*)\)$/.exec(text)
  const inner = negative ? `-${negative[1]}` : text.replace('\u2212', '-')
  return inner.replace(/^(-?)\s*[$€£¥]\s*(-?)/, '$1$2').replace(/\s*[%$€£¥]$/, '')
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}

function wholeOf(reading: Reading, cell: Cell): Reading {
  if (!reading || !('value' in reading)) return reading
  if (Number.isInteger(reading.value)) return reading
  return { code: 'not_a_whole_number', message: `${quoted(cell)} is not a whole number` }
}

function moneyOf(reading: Reading, cell: Cell): Reading {
  if (!reading || !('value' in reading)) return reading
  // Text keeps its digits; a number of the file is as exact as the file had it.
  const exact = typeof cell === 'string' && PLAIN.test(cell) ? cell : String(reading.value)
  return { value: exact.replace(/^(-?)\./, '$10.').replace(/\.$/, '') }
}

function booleanOf(cell: Cell): Reading {
  if (typeof cell === 'boolean') return { value: cell }
  const word = String(cell).toLowerCase()
  if (['true', 'yes', 'y', '1'].includes(word)) return { value: true }
  if (['false', 'no', 'n', '0'].includes(word)) return { value: false }
  return { code: 'not_a_boolean', message: `${quoted(cell)} is neither yes nor no` }
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Parts of a date pattern; `MMM` is the English name of a month, whole or its first three letters. */
export const DATE_PARTS = /yyyy|yy|MMM|MM?|dd?/g

/** Whether a text names year, month and day once each, with anything but letters and digits between them. */
export function isDatePattern(pattern: string): boolean {
  const parts = (pattern.match(DATE_PARTS) ?? []).map((part) => part[0]?.toLowerCase())
  const once = parts.length === 3 && new Set(parts).size === 3
  return (
    pattern === 'excel-serial' ||
    (once && !/[\p{L}\p{N}]/u.test(pattern.replaceAll(DATE_PARTS, '')))
  )
}

const PARTS: Record<string, string> = {
  yyyy: '(?<y>\\d{4})',
  yy: '(?<y>\\d{2})',
  MMM: `(?<m>${MONTHS.join('|')})[a-z]*\\.?`,
  MM: '(?<m>\\d{2})',
  M: '(?<m>\\d{1,2})',
  dd: '(?<d>\\d{2})',
  d: '(?<d>\\d{1,2})',
}

/** Programs add the time of day to dates that have none. */
const TIME = '(?:[ T]\\d{1,2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?: ?[AP]M)?)?'

/** Years of two digits from here on are of the last century: leases run far ahead, buildings go back by four digits. */
const CENTURY_TURN = 70

/** Dates by pattern; workbooks give dates in ISO form already, so that is always read. */
export function dateReader(patterns: readonly string[]): Reader {
  const serial = patterns.includes('excel-serial')
  const expressions = patterns
    .filter((pattern) => pattern !== 'excel-serial')
    .map((pattern) => {
      const parts = escaped(pattern).replaceAll(DATE_PARTS, (part) => PARTS[part] as string)
      return new RegExp(`^${parts}${TIME}$`, 'i')
    })
  return (cell) => {
    if (serial && (typeof cell === 'number' || PLAIN.test(String(cell)))) {
      const days = Number(cell)
      if (days >= 1 && days < 2_958_466) return { value: fromSerial(days) }
    }
    if (typeof cell === 'number')
      return { code: 'not_a_date', message: `${cell} is a number, not a date` }
    const text = String(cell)
    const iso = text.slice(0, 10)
    if (isDate(iso) && (text.length === 10 || text[10] === 'T')) return { value: iso }
    for (const expression of expressions) {
      const { y, m, d } = expression.exec(text)?.groups ?? {}
      const date = `${yearOf(y)}-${monthOf(m)}-${d?.padStart(2, '0')}`
      if (isDate(date)) return { value: date }
    }
    const form = patterns.join(' or ')
    return { code: 'not_a_date', message: `${quoted(text)} is not a date of the form ${form}` }
  }
}

function yearOf(year: string | undefined): string | undefined {
  if (year?.length !== 2) return year
  return Number(year) < CENTURY_TURN ? `20${year}` : `19${year}`
}

function monthOf(month: string | undefined): string | undefined {
  const at = MONTHS.indexOf((month ?? '').toLowerCase())
  return (at < 0 ? month : String(at + 1))?.padStart(2, '0')
}

/** Days since 1899-12-30, the epoch that makes serials after February 1900 right. */
function fromSerial(serial: number): string {
  return new Date(Date.UTC(1899, 11, 30) + Math.floor(serial) * 86_400_000)
    .toISOString()
    .slice(0, 10)
}

/** Times without a zone are UTC; a day alone is its start. */
function datetimeOf(read: Reader, cell: Cell): Reading {
  const text = String(cell)
  const zoned = /(Z|[+-]\d{2}:?\d{2})$/i.test(text.slice(10)) ? text : `${text}Z`
  const value = instant(zoned)
  if (value !== null) return { value }
  if (/T\d/.test(text))
    return { code: 'not_a_time', message: `${quoted(cell)} is not a time that exists` }
  const day = read(cell)
  return day && 'value' in day ? { value: `${String(day.value)}T00:00:00.000Z` } : day
}
