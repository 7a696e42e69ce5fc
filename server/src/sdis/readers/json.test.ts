/** JSON documents and files with one JSON text per line, as tables. */
import { afterAll, describe, expect, test } from 'vitest'
import { fileFixture, openHandles, readAll, refusal } from './file-fixture.ts'
import { guessSource } from './guess.ts'
import { openTable } from './open.ts'
import type { Table, TableSource } from './types.ts'

const files = fileFixture()
afterAll(() => files.remove())

const opened = (
  text: string | Uint8Array,
  source: TableSource = { kind: 'json' },
  limits = {},
  wanted: string[] = [],
): Promise<Table> => openTable(files.write('test.json', text), source, limits, wanted)

const UNITS = [
  { no: 1, address: { city: 'Berlin' }, tags: ['a'] },
  { no: 2, address: { city: null, zip: '10115' } },
]

describe('records become rows', () => {
  test.each<[string, string, TableSource]>([
    ['of a list', JSON.stringify(UNITS), { kind: 'json' }],
    [
      'of a list inside',
      JSON.stringify({ page: 1, data: { units: UNITS } }),
      { kind: 'json', path: 'data.units' },
    ],
    ['of lines', UNITS.map((unit) => JSON.stringify(unit)).join('\n'), { kind: 'ndjson' }],
    [
      'of lines with a mark and an end',
      `\ufeff${UNITS.map((unit) => JSON.stringify(unit)).join('\r\n')}\r\n\r\n`,
      { kind: 'ndjson' },
    ],
  ])('%s', async (_, text, source) => {
    const table = await opened(text, source)
    expect(table.columns).toEqual(['no', 'address.city', 'tags', 'address.zip'])
    expect((await readAll(table)).map(({ cells }) => cells)).toEqual([
      [1, 'Berlin', ['a'], null],
      [2, null, null, '10115'],
    ])
  })

  test('with columns that an adapter names, though the first records lack them', async () => {
    const records = [...Array.from({ length: 2_000 }, () => ({ a: 1 })), { a: 2, late: { b: 'x' } }]
    const table = await opened(JSON.stringify(records), { kind: 'json' }, {}, ['late.b', 'A'])
    expect(table.columns).toEqual(['a', 'late.b'])
    expect((await readAll(table)).at(-1)).toEqual({ row: 2_001, cells: [2, 'x'] })
  })

  test('across the borders of pieces', async () => {
    const records = Array.from({ length: 5_000 }, (_, i) => ({ i, text: 'ü'.repeat(i % 50) }))
    const rows = await readAll(await opened(JSON.stringify(records)))
    expect(rows.map(({ cells }) => cells)).toEqual(records.map(({ i, text }) => [i, text || null]))
  })

  test('and names of objects are names', async () => {
    const table = await opened('[{"__proto__":{"x":1},"constructor":2}]')
    expect(table.columns).toEqual(['__proto__.x', 'constructor'])
    expect((await readAll(table))[0]?.cells).toEqual([1, 2])
  })

  test('and the file is closed, read or not', async () => {
    const table = await opened(JSON.stringify(UNITS))
    await table.close()
    await expect(readAll(table)).rejects.toThrow('closed')
    await refusal(opened('[{"a":1}', { kind: 'json' }))
    expect(openHandles(files.folder)).toBe(0)
  })
})

describe('refused', () => {
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  test.each<[string, string | Uint8Array, TableSource, string]>([
    ['nothing', '', { kind: 'json' }, 'empty_file'],
    ['an empty list', '[]', { kind: 'json' }, 'missing_path'],
    ['other text', 'Code,Name\n', { kind: 'json' }, 'not_json'],
    ['a page of HTML', '<html>', { kind: 'ndjson' }, 'not_json'],
    ['UTF-16', Buffer.from('\ufeff[{"a":1}]', 'utf16le'), { kind: 'json' }, 'unsupported_encoding'],
    [
      'what is not UTF-8',
      Buffer.from('[{"a":"\xfc"}]', 'latin1'),
      { kind: 'json' },
      'unsupported_encoding',
    ],
    ['a half-written list', '[{"a":1},{"a"', { kind: 'json' }, 'truncated_file'],
    ['a half-written line', '{"a":1}\n{"a"', { kind: 'ndjson' }, 'malformed_json'],
    ['a list that breaks', '[{"a":1},{a:2}]', { kind: 'json' }, 'malformed_json'],
    ['what follows the end', '[{"a":1}] x', { kind: 'json' }, 'malformed_json'],
    ['a list of numbers', '[1,2]', { kind: 'json' }, 'malformed_json'],
    ['a line that is no object', '{"a":1}\n[2]\n', { kind: 'ndjson' }, 'malformed_json'],
    ['an object without a path', '{"data":[{"a":1}]}', { kind: 'json' }, 'missing_path'],
    ['a path to nothing', '{"data":[{"a":1}]}', { kind: 'json', path: 'rows' }, 'missing_path'],
    [
      'a path to an object',
      '{"data":{"x":{"a":1}}}',
      { kind: 'json', path: 'data' },
      'missing_path',
    ],
    ['too deep a record', `[${deep(25)}]`, { kind: 'json' }, 'too_deep'],
    ['too deep a line', deep(25), { kind: 'ndjson' }, 'too_deep'],
  ])('%s', async (_, text, source, code) => {
    expect((await refusal(opened(text, source))).code).toBe(code)
  })

  test.each<[string, string, TableSource, object, string]>([
    ['too many records', '[{"a":1},{"a":2}]', { kind: 'json' }, { max_rows: 1 }, 'too_many_rows'],
    [
      'too many values',
      '[{"a":1,"b":2}]',
      { kind: 'json' },
      { max_columns: 1 },
      'too_many_columns',
    ],
    ['too long a text', '[{"a":"xyz"}]', { kind: 'json' }, { max_cell_chars: 2 }, 'cell_too_long'],
    [
      'too large a line',
      `{"a":"${'x'.repeat(99)}"}`,
      { kind: 'ndjson' },
      { max_record_bytes: 50 },
      'record_too_large',
    ],
    [
      'too large a record',
      `[{"a":["${'x'.repeat(200_000)}"]}]`,
      { kind: 'json' },
      { max_record_bytes: 50 },
      'record_too_large',
    ],
  ])('%s', async (_, text, source, limits, code) => {
    expect((await refusal(opened(text, source, limits))).code).toBe(code)
  })
})

describe('what no text may hold', () => {
  const text = String.raw`{"a":"x\u0000y\ud83d","b\u0000":[{"c":"\ude00"}],"d":"\ud83d\ude00"}`
  test.each<[string, string, TableSource]>([
    ['in lines', text, { kind: 'ndjson' }],
    ['in a document', `[${text}]`, { kind: 'json' }],
  ])('is replaced %s', async (_, content, source) => {
    const table = await opened(content, source)
    expect(table.columns).toEqual(['a', 'b\ufffd', 'd'])
    const [row] = await readAll(table)
    expect(row?.cells).toEqual(['x\ufffdy\ufffd', [{ c: '\ufffd' }], '\u{1f600}'])
  })
})

describe('what a file is', () => {
  test.each<[string, string, TableSource]>([
    ['a list', '[{"a":1}]', { kind: 'json' }],
    [
      'a list inside',
      '{"meta":{"n":[1]},"data":{"rows":[{"a":[{"b":1}]}]}}',
      { kind: 'json', path: 'data.rows' },
    ],
    ['lines', '{"a":1}\n{"a":2}\n', { kind: 'ndjson' }],
    ['a table', 'a,b\n1,2\n', { kind: 'csv' }],
  ])('%s', async (_, text, source) => {
    expect(await guessSource(files.write('guess', text))).toEqual(source)
  })
})
