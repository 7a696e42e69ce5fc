import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import {
  columnLetters,
  columnOf,
  isDateFormat,
  isoCell,
  serialToIso,
  unescapeText,
} from './cell-values.ts'

describe('serial numbers', () => {
  test.each([
    [43_873, false, '2020-02-12'],
    [1, false, '1900-01-01'],
    [59, false, '1900-02-28'],
    [60, false, '1900-02-28'],
    [61, false, '1900-03-01'],
    [2_958_465, false, '9999-12-31'],
    [43_873.5, false, '2020-02-12T12:00:00'],
    [43_873.354_166_666_7, false, '2020-02-12T08:30:00'],
    [43_872.999_999_9, false, '2020-02-12'],
    [0.5, false, '12:00:00'],
    [0, false, '00:00:00'],
    [2_958_466, false, undefined],
    [-1, false, undefined],
    [0, true, '1904-01-01'],
    [42_411, true, '2020-02-12'],
    [42_411.25, true, '2020-02-12T06:00:00'],
  ])('%d (1904: %s) is %s', (serial, date1904, iso) => {
    expect(serialToIso(serial, date1904)).toBe(iso)
  })

  test('every day after the leap-year error is found in the calendar', () => {
    fc.assert(
      fc.property(fc.integer({ min: 61, max: 2_958_465 }), (serial) => {
        const time_ms = Date.parse(serialToIso(serial, false) ?? '')
        expect((time_ms - Date.UTC(1899, 11, 30)) / 86_400_000).toBe(serial)
      }),
    )
  })
})

describe('number formats', () => {
  test.each([14, 22, 27, 36, 45, 47, 50, 58])('built-in %d is a date', (id) => {
    expect(isDateFormat(id, undefined)).toBe(true)
  })

  test.each([0, 1, 13, 23, 26, 37, 44, 48, 49, 59, 164])('built-in %d is none', (id) => {
    expect(isDateFormat(id, undefined)).toBe(false)
  })

  test.each(['yyyy-mm-dd', 'd.m.yy;@', '[$-407]TT "x"d', 'h:mm', '[h]:mm:ss', '[Red]mmm'])(
    '%s is a date',
    (code) => {
      expect(isDateFormat(200, code)).toBe(true)
    },
  )

  test.each([
    'General',
    'Standard',
    '#,##0.00',
    '0.0 "sq yards"',
    '[Red]-0',
    '#,##0 [$USD]',
    '0\\d',
    '0_h',
    '*d0',
    '[h]',
    '@',
  ])('%s is none', (code) => {
    expect(isDateFormat(200, code)).toBe(false)
  })

  test('a definition wins over a built-in id', () => {
    expect(isDateFormat(14, '0.00')).toBe(false)
  })
})

test.each([
  ['2020-02-12', '2020-02-12'],
  ['2020-02-12T00:00:00', '2020-02-12'],
  ['2020-02-12T08:30:00.000Z', '2020-02-12T08:30:00'],
  ['later', 'later'],
])('the ISO cell %s is %s', (text, expected) => {
  expect(isoCell(text)).toBe(expected)
})

test('escapes for characters that XML lacks are undone', () => {
  expect(unescapeText('a_x000D_b_x005F_c_x_d')).toBe('a\rb_c_x_d')
  expect(unescapeText('a_x0000_b_xD83D_c_xD83D__xDE00_')).toBe('a\ufffdb\ufffdc😀')
})

test('columns and letters are each other', () => {
  expect([0, 25, 26, 701, 702, 16_383].map(columnLetters)).toEqual([
    'A',
    'Z',
    'AA',
    'ZZ',
    'AAA',
    'XFD',
  ])
  expect(columnOf('12')).toBe(-1)
  expect(columnOf('ab7')).toBe(27)
  fc.assert(
    fc.property(fc.nat(20_000), (column) => {
      expect(columnOf(`${columnLetters(column)}9`)).toBe(column)
    }),
  )
})
