/** Cells into field values: numbers, money, dates and words as the adapter's locale writes them. */
import { isDate } from '../kit/dates.ts'
import type { Adapter, Entry, ValueType } from './adapter.ts'
import type { Field } from '../kit/field.ts'
import type { Cell } from './readers/types.ts'

/** A value, nothing (blank), or why the cell cannot be used. */
export type Reading = { value: unknown } | null | { code: string; message: string }

export type Reader = (cell: Cell) => Reading

/** A reader for one entry, given the field it fills. */
export function readerOf(entry: Entry, field: Field, locale: Adapter['locale']): Reader {
  const nulls = new Set([...locale.nulls, ...(entry.nulls ?? [])])
  const type = entry.type ?? typeOf(field)
  const read = typeReader(type, locale, entry.date ?? locale.date)
  const { options } = entry
  return (cell) => {
    if (cell === null) return null
    if (typeof cell === 'string') {
      const trimmed = cell.trim()
      if (trimmed === '' || nulls.has(trimmed)) return null
      cell = trimmed
    } else if (nulls.has(String(cell))) return null
    if (!options) return read(cell)
    const word = String(cell)
    const meant = options[word]
    if (meant !== undefined) return { value: meant }
    if (entry.else === 'blank') return null
    if (entry.else === 'keep') return read(cell)
    return { code: 'unknown_option', message: `'${word}' has no option` }
  }
}

function typeOf(field: Field): ValueType {
  switch (field.kind) {
    case 'integer':
      return 'integer'
    case 'number':
      return 'number'
    case 'percent':
      return 'percent'
    case 'money':
      return 'money'
    case 'date':
      return 'date'
    case 'datetime':
      return 'datetime'
    case 'boolean':
      return 'boolean'
    case 'text':
    case 'choice':
    case 'reference':
    case 'texts':
    case 'list':
    case 'object':
      return 'text'
  }
}

function typeReader(type: ValueType, locale: Adapter['locale'], dates: readonly string[]): Reader {
  switch (type) {
    case 'text':
      return (cell) => ({ value: String(cell) })
    case 'number':
    case 'percent':
      return (cell) => numberOf(cell, locale)
    case 'integer':
      return (cell) => wholeOf(numberOf(cell, locale), cell)
    case 'money':
      return (cell) => moneyOf(numberOf(cell, locale), cell)
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

function numberOf(cell: Cell, locale: Adapter['locale']): Reading {
  if (typeof cell === 'number') return { value: cell }
  let text = String(cell)
  if (locale.thousands) text = text.replaceAll(locale.thousands, '')
  if (locale.decimal !== '.') text = text.replace(locale.decimal, '.')
  const negative = /^\((.*)\)$/.exec(text)
  if (negative) text = `-${negative[1]}`
  text = text.replace(/^(-?)[$€£]\s*/, '$1').replace(/\s*%$/, '')
  if (PLAIN.test(text)) return { value: Number(text) }
  return { code: 'not_a_number', message: `'${String(cell)}' is not a number` }
}

function wholeOf(reading: Reading, cell: Cell): Reading {
  if (!reading || !('value' in reading)) return reading
  if (Number.isInteger(reading.value)) return reading
  return { code: 'not_a_whole_number', message: `'${String(cell)}' is not a whole number` }
}

function moneyOf(reading: Reading, cell: Cell): Reading {
  if (!reading || !('value' in reading)) return reading
  // Text keeps its digits; a number of the file is as exact as the file had it.
  const exact = typeof cell === 'string' && PLAIN.test(cell) ? cell : String(reading.value)
  return { value: exact }
}

function booleanOf(cell: Cell): Reading {
  if (typeof cell === 'boolean') return { value: cell }
  const word = String(cell).toLowerCase()
  if (['true', 'yes', 'y', '1'].includes(word)) return { value: true }
  if (['false', 'no', 'n', '0'].includes(word)) return { value: false }
  return { code: 'not_a_boolean', message: `'${String(cell)}' is neither yes nor no` }
}

const PARTS: Record<string, string> = {
  yyyy: '(?<y>\\d{4})',
  MM: '(?<m>\\d{2})',
  M: '(?<m>\\d{1,2})',
  dd: '(?<d>\\d{2})',
  d: '(?<d>\\d{1,2})',
}

/** Dates by pattern; workbooks give dates in ISO form already, so that is always read. */
function dateReader(patterns: readonly string[]): Reader {
  const serial = patterns.includes('excel-serial')
  const expressions = patterns
    .filter((pattern) => pattern !== 'excel-serial')
    .map(
      (pattern) =>
        new RegExp(
          `^${pattern.replace(/[.\\/]/g, '\\$&').replace(/yyyy|MM?|dd?/g, (part) => PARTS[part] as string)}$`,
        ),
    )
  return (cell) => {
    if (typeof cell === 'number') {
      if (serial && cell >= 1 && cell < 2_958_466) return { value: fromSerial(cell) }
      return { code: 'not_a_date', message: `${cell} is a number, not a date` }
    }
    const text = String(cell)
    const iso = text.slice(0, 10)
    if (isDate(iso) && (text.length === 10 || text[10] === 'T')) return { value: iso }
    for (const expression of expressions) {
      const { y, m, d } = expression.exec(text)?.groups ?? {}
      const date = `${y}-${m?.padStart(2, '0')}-${d?.padStart(2, '0')}`
      if (isDate(date)) return { value: date }
    }
    return {
      code: 'not_a_date',
      message: `'${text}' is not a date of the form ${patterns.join(' or ')}`,
    }
  }
}

/** Days since 1899-12-30, the epoch that makes serials after February 1900 right. */
function fromSerial(serial: number): string {
  return new Date(Date.UTC(1899, 11, 30) + Math.floor(serial) * 86_400_000)
    .toISOString()
    .slice(0, 10)
}

function datetimeOf(read: Reader, cell: Cell): Reading {
  const text = String(cell)
  if (/T/.test(text) && !Number.isNaN(Date.parse(text))) {
    return { value: new Date(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`).toISOString() }
  }
  const day = read(cell)
  return day && 'value' in day ? { value: `${String(day.value)}T00:00:00.000Z` } : day
}
