import { parse } from 'csv-parse/sync'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { CsvSplitter } from './csv-splitter.ts'
import { DEFAULT_LIMITS, FileError, type SheetRow } from './types.ts'

const split = (text: string, delimiter = ',', cuts: number[] = []): SheetRow[] => {
  const splitter = new CsvSplitter(delimiter, DEFAULT_LIMITS)
  const borders = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b)]
  const pieces = borders.map((from, at) => text.slice(from, borders[at + 1] ?? text.length))
  return [...pieces.flatMap((piece) => splitter.write(piece)), ...splitter.write('', true)]
}

const cells = (text: string, delimiter = ','): unknown[][] =>
  split(text, delimiter).map((row) => row.cells)

/** The same text by csv-parse, with blanks as null and without blank lines. */
const reference = (text: string, delimiter: string): unknown[][] => {
  const options = {
    delimiter,
    relax_column_count: true,
    relax_quotes: true,
    record_delimiter: ['\r\n', '\n', '\r'],
  }
  const records = parse(text, options)
  return records
    .map((record) => record.map((cell) => (cell === '' ? null : cell)))
    .filter((record) => record.length > 1 || record[0] !== null)
}

const cell = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('"', ',', ';', '\n', '\r', ' ', 'ä', '漢', '😀', 'x') }),
)
const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { maxLength: 8 })
const delimiters = fc.constantFrom(',', ';', '\t', '|')
const ends = fc.constantFrom('\n', '\r\n', '\r')

const quoted = (value: string, delimiter: string, always: boolean): string =>
  always || value.startsWith('"') || /[\r\n]/.test(value) || value.includes(delimiter)
    ? `"${value.replaceAll('"', '""')}"`
    : value

describe('CsvSplitter', () => {
  test('reads back any table, as csv-parse does, wherever the pieces are cut', () => {
    const cuts = fc.array(fc.nat(), { maxLength: 6 })
    const property = fc.property(
      table,
      delimiters,
      ends,
      fc.boolean(),
      fc.boolean(),
      cuts,
      (rows, delimiter, end, always, closed, cuts) => {
        const lines = rows.map((row) =>
          row.map((value) => quoted(value, delimiter, always)).join(delimiter),
        )
        const text = lines.join(end) + (closed ? end : '')
        const found = split(text, delimiter, cuts).map((row) => row.cells)
        const stated = rows
          .map((row) => row.map((value) => (value === '' ? null : value)))
          .filter((row) => row.length > 1 || row[0] !== null)
        expect(found).toEqual(stated)
        expect(found).toEqual(reference(text, delimiter))
      },
    )
    fc.assert(property, { numRuns: 400 })
  })

  test('gives the same rows or the same refusal for any text, wherever the pieces are cut', () => {
    const text = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', ' ', '\t', 'a', 'é') })
    const outcome = (run: () => SheetRow[]): unknown => {
      try {
        return run()
      } catch (error) {
        if (error instanceof FileError) return { code: error.code, message: error.message }
        throw error
      }
    }
    const property = fc.property(text, fc.array(fc.nat(), { maxLength: 6 }), (text, cuts) => {
      expect(outcome(() => split(text, ',', cuts))).toEqual(outcome(() => split(text)))
    })
    fc.assert(property, { numRuns: 1000 })
  })

  test.each([
    ['blank cells are null', 'a,,"",\n', [['a', null, null, null]]],
    ['blank lines are left out', '\n\na\n\r\n""\nb', [['a'], ['b']]],
    ['a quote inside a cell is a character', 'pipe 5" wide,b"c"\n', [['pipe 5" wide', 'b"c"']]],
    ['blanks after a closing quote do not count', '"a" ,"b"\t\n', [['a', 'b']]],
    ['blanks of a cell are kept', ' a , b\n', [[' a ', ' b']]],
    ['doubled quotes', '"""a"" and ""b""",""""\n', [['"a" and "b"', '"']]],
    ['line ends of three kinds', 'a\nb\r\nc\rd', [['a'], ['b'], ['c'], ['d']]],
    [
      'a delimiter at the end of the file',
      'a,b\nc,',
      [
        ['a', 'b'],
        ['c', null],
      ],
    ],
  ])('%s', (_, text, expected) => {
    expect(cells(text).map((row) => row.slice(0, 4))).toEqual(expected)
  })

  test('a tab that delimits is not a blank after a quote', () => {
    expect(cells('"a"\t\t"b"\n', '\t')).toEqual([['a', null, 'b']])
  })

  test('a row has the line on which its record starts', () => {
    const rows = split('a\n"b\r\nb\rb\nb"\n\nc,"d\n"\r\ne')
    expect(rows.map(({ row, cells }) => [row, cells[0]])).toEqual([
      [1, 'a'],
      [2, 'b\r\nb\rb\nb'],
      [7, 'c'],
      [9, 'e'],
    ])
  })

  test.each([
    ['malformed_csv', 'a\n"b" c,d\n', { row: 2, column: 1 }],
    ['malformed_csv', 'a\nb,"c\nd\n', { row: 2, column: 2 }],
    ['cell_too_long', 'a\n' + 'x'.repeat(65_537), { row: 2, column: 1, limit: 65_536 }],
    ['cell_too_long', 'a\nb,"' + 'x\n'.repeat(65_600), { row: 2, column: 2, limit: 65_536 }],
    ['too_many_columns', ','.repeat(600) + 'x', { row: 1, column: 501, limit: 500 }],
  ])('%s names line and cell', (code, text, details) => {
    expect(() => split(text)).toThrow(expect.objectContaining({ code, details }))
  })

  test('blank cells beyond the limit are dropped, as sheets saved with all columns have them', () => {
    expect(cells('a' + ','.repeat(16_384) + '\n')[0]).toHaveLength(500)
  })

  test('a quote that is never closed does not collect the file', () => {
    const splitter = new CsvSplitter(',', DEFAULT_LIMITS)
    const piece = 'x'.repeat(65_536)
    splitter.write('"')
    splitter.write(piece)
    splitter.write(piece)
    expect(() => splitter.write(piece)).toThrow(expect.objectContaining({ code: 'cell_too_long' }))
  })
})
