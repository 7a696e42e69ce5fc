import { describe, expect, test } from 'vitest'
import * as field from '../kit/field.ts'
import type { Field } from '../kit/field.ts'
import type { Adapter, Entry } from './adapter.ts'
import type { Cell } from './readers/types.ts'
import { readerOf } from './values.ts'

type Locale = Adapter['locale']

const US: Locale = {
  decimal: '.',
  thousands: ',',
  date: ['yyyy-MM-dd', 'MM/dd/yyyy'],
  timezone: null,
  nulls: ['', 'NA'],
}
const DE: Locale = { ...US, decimal: ',', thousands: '.', date: ['dd.MM.yyyy', 'd.M.yyyy'] }
const CH: Locale = { ...US, thousands: "'" }
const FR: Locale = { ...US, decimal: ',', thousands: ' ', date: ['dd/MM/yyyy'] }

const text = field.text('', { example: 'a' })
const number = field.number('', { example: 1 })
const whole = field.integer('', { example: 1 })
const money = field.money('', { example: '1.00' })
const percent = field.percent('', { example: 1 })
const date = field.date('', { example: '2025-01-01' })
const datetime = field.datetime('', { example: '2025-01-01T00:00:00Z' })
const flag = field.flag('', { example: true })

/** The value, null for blank, or the code of what is wrong. */
function read(kind: Field, cell: Cell, locale: Locale = US, entry: Entry = {}): unknown {
  const reading = readerOf(entry, kind, locale)(cell)
  if (reading === null) return null
  return 'value' in reading ? reading.value : reading.code
}

describe('blank', () => {
  test.each<[Cell, Entry]>([
    [null, {}],
    ['', {}],
    ['  ', {}],
    ['NA', {}],
    [' NA ', {}],
    ['0', { nulls: ['0'] }],
    [0, { nulls: ['0'] }],
    [false, { nulls: ['false'] }],
  ])('is %j with %j', (cell, entry) => {
    expect(read(text, cell, US, entry)).toBeNull()
  })

  test.each<[Cell, unknown]>([
    [0, '0'],
    ['na', 'na'],
    [' a ', 'a'],
    [false, 'false'],
  ])('is not %j', (cell, expected) => {
    expect(read(text, cell)).toBe(expected)
  })
})

describe('numbers', () => {
  test.each<[Locale, Cell, unknown]>([
    [US, 12.5, 12.5],
    [US, '12.5', 12.5],
    [US, '-12.5', -12.5],
    [US, '\u221212.5', -12.5],
    [US, '(12.5)', -12.5],
    [US, '1,234,567.89', 1_234_567.89],
    [US, '12,34,567', 1_234_567],
    [US, '$1,234', 1_234],
    [US, '-$1,234', -1_234],
    [US, '$ -5', -5],
    [US, '5%', 5],
    [US, '5 %', 5],
    [US, '.5', 0.5],
    [US, '5.', 5],
    [DE, '1.234.567,89', 1_234_567.89],
    [DE, '12,5', 12.5],
    [DE, '12,5 €', 12.5],
    [DE, 12.5, 12.5],
    [CH, "1'234.50", 1_234.5],
    [FR, '1 234,5', 1_234.5],
    [FR, '1\u202f234\u00a0567', 1_234_567],
    [US, '12,5', 'not_a_number'],
    [US, '1,2345', 'not_a_number'],
    [US, '1.234,5', 'not_a_number'],
    [DE, '1.5', 'not_a_number'],
    [DE, '1,234.5', 'not_a_number'],
    [US, 'five', 'not_a_number'],
    [US, '-', 'not_a_number'],
    [US, '1 2', 'not_a_number'],
    [US, '1e5', 'not_a_number'],
    [US, 'Infinity', 'not_a_number'],
    [US, true, 'not_a_number'],
  ])('%#: %j', (locale, cell, expected) => {
    expect(read(number, cell, locale)).toBe(expected)
  })

  test.each<[Cell, unknown]>([
    [5, 5],
    ['5', 5],
    ['5.0', 5],
    ['1,234', 1_234],
    [5.5, 'not_a_whole_number'],
    ['5.5', 'not_a_whole_number'],
    ['x', 'not_a_number'],
  ])('whole: %j', (cell, expected) => {
    expect(read(whole, cell)).toBe(expected)
  })

  test.each<[Locale, Cell, unknown]>([
    [US, '0.10', '0.10'],
    [US, '12345678901234.56', '12345678901234.56'],
    [US, 1.1, '1.1'],
    [US, '$1,234.50', '1234.5'],
    [US, '.5', '0.5'],
    [US, '-.5', '-0.5'],
    [US, '5.', '5'],
    [DE, '1.234,50 €', '1234.5'],
    [US, 'free', 'not_a_number'],
  ])('money keeps its digits: %#: %j', (locale, cell, expected) => {
    expect(read(money, cell, locale)).toBe(expected)
  })

  test.each<[Cell, Entry, unknown]>([
    ['5 %', {}, 5],
    [5, {}, 5],
    [0.05, { scale: 'fraction' }, 5],
    [0.07, { scale: 'fraction' }, 7],
    ['0.125', { scale: 'fraction' }, 12.5],
    ['x', { scale: 'fraction' }, 'not_a_number'],
  ])('percent: %j with %j', (cell, entry, expected) => {
    expect(read(percent, cell, US, entry)).toBe(expected)
  })
})

describe('dates', () => {
  test.each<[Locale, Cell, unknown]>([
    [US, '2025-05-23', '2025-05-23'],
    [US, '05/23/2025', '2025-05-23'],
    [US, '2025-05-23T08:30:00', '2025-05-23'],
    [DE, '23.05.2025', '2025-05-23'],
    [DE, '3.5.2025', '2025-05-03'],
    [DE, '2025-05-23', '2025-05-23'],
    [FR, '23/05/2025', '2025-05-23'],
    [US, '23/05/2025', 'not_a_date'],
    [US, '5/23/2025', 'not_a_date'],
    [US, '02/30/2025', 'not_a_date'],
    [US, '02/29/2024', '2024-02-29'],
    [US, '05/23/25', 'not_a_date'],
    [US, '05-23-2025', 'not_a_date'],
    [US, 'soon', 'not_a_date'],
    [US, 45_800, 'not_a_date'],
    [US, '0000-01-01', 'not_a_date'],
    [{ ...US, date: ['dd MM yyyy'] }, '23 05 2025', '2025-05-23'],
    [{ ...US, date: ['yyyyMMdd'] }, '20250523', '2025-05-23'],
    [{ ...US, date: ['excel-serial'] }, 45_800, '2025-05-23'],
    [{ ...US, date: ['excel-serial'] }, '45800', '2025-05-23'],
    [{ ...US, date: ['excel-serial'] }, 45_800.75, '2025-05-23'],
    [{ ...US, date: ['excel-serial'] }, 0, 'not_a_date'],
    [{ ...US, date: ['excel-serial'] }, 3_000_000, 'not_a_date'],
  ])('%#: %j', (locale, cell, expected) => {
    expect(read(date, cell, locale)).toBe(expected)
  })

  test('of an entry take the place of those of the locale', () => {
    expect(read(date, '23.05.2025', US, { date: ['dd.MM.yyyy'] })).toBe('2025-05-23')
    expect(read(date, '05/23/2025', US, { date: ['dd.MM.yyyy'] })).toBe('not_a_date')
  })

  test.each<[Cell, unknown]>([
    ['2025-05-23T08:30:00', '2025-05-23T08:30:00.000Z'],
    ['2025-05-23T08:30:00+02:00', '2025-05-23T06:30:00.000Z'],
    ['05/23/2025', '2025-05-23T00:00:00.000Z'],
    ['2025-05-23T25:00:00', 'not_a_time'],
    ['2025-05-23T08', 'not_a_time'],
    ['noon', 'not_a_date'],
  ])('with a time: %j', (cell, expected) => {
    expect(read(datetime, cell)).toBe(expected)
  })
})

describe('words', () => {
  test.each<[Cell, unknown]>([
    [true, true],
    ['Yes', true],
    ['y', true],
    [1, true],
    ['NO', false],
    ['0', false],
    ['maybe', 'not_a_boolean'],
    [2, 'not_a_boolean'],
  ])('as flag: %j', (cell, expected) => {
    expect(read(flag, cell)).toBe(expected)
  })

  const options = { A: 'active', '1': 'one' }

  test.each<[Cell, Entry, unknown]>([
    ['A', { options }, 'active'],
    [' A ', { options }, 'active'],
    [1, { options }, 'one'],
    ['B', { options }, 'unknown_option'],
    ['B', { options, else: 'error' }, 'unknown_option'],
    ['B', { options, else: 'blank' }, null],
    ['B', { options, else: 'keep' }, 'B'],
    ['constructor', { options }, 'unknown_option'],
    ['__proto__', { options }, 'unknown_option'],
    ['', { options }, null],
  ])('with options: %j with %j', (cell, entry, expected) => {
    expect(read(text, cell, US, entry)).toBe(expected)
  })

  test('options of other kinds are read like cells', () => {
    expect(read(flag, 'ja', US, { options: { ja: 'yes' } })).toBe(true)
    expect(read(date, 'never', US, { options: { never: '9999-12-31' } })).toBe('9999-12-31')
    expect(read(whole, 'dozen', US, { options: { dozen: '12' } })).toBe(12)
  })

  test('of long cells are cut in messages', () => {
    const reading = readerOf({}, number, US)('x'.repeat(60_000))
    expect((reading as { message: string }).message.length).toBeLessThan(200)
  })
})
