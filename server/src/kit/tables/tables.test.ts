/** Files of rows, read back by the readers of imports. */
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { fileFixture, readAll } from '../../sdis/readers/file-fixture.ts'
import { openTable } from '../../sdis/readers/open.ts'
import type { Cell } from '../../sdis/readers/types.ts'
import type { JsonSchema } from '../field.ts'
import type { Row } from '../resource.ts'
import { tableFormat } from './formats.ts'
import { tableStream } from './render.ts'
import { workbook } from './xlsx.ts'
import { columnsOf } from './columns.ts'

const folder = fileFixture()
afterAll(() => folder.remove())

const MONEY = { type: ['string', 'number', 'null'], pattern: '^-?[0-9]{1,15}(\\.[0-9]{1,2})?$' }

const ITEM: JsonSchema = {
  type: 'object',
  properties: {
    name: { type: ['string', 'null'] },
    address: { type: ['object', 'null'], properties: { city: { type: 'string' } } },
    rent: MONEY,
    floors: { type: 'integer' },
    area: { type: ['number', 'null'] },
    open: { type: 'boolean' },
    begins: { type: ['string', 'null'], format: 'date' },
    seen_at: { type: 'string', format: 'date-time' },
    tags: { type: 'array', items: { type: 'string' } },
    ext: { type: 'object', additionalProperties: true },
  },
}
const NAMES = 'name,address.city,rent,floors,area,open,begins,seen_at,tags,ext'.split(',')

async function* paged(...pages: Row[][]): AsyncGenerator<Row[]> {
  yield* pages
}

async function bytesOf(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks)
}

let files = 0

/** Header and cells of rows written in a format and read back. */
async function readBack(
  kind: 'csv' | 'xlsx',
  rows: Row[],
  item = ITEM,
): Promise<{ columns: string[]; cells: Cell[][] }> {
  const bytes = await bytesOf(tableStream(kind, item, paged(rows.slice(0, 1), rows.slice(1))))
  const path = folder.write(`${files++}.${kind}`, bytes)
  const table = await openTable(path, { kind, ...(kind === 'csv' ? { delimiter: ',' } : {}) })
  const read = await readAll(table)
  return { columns: table.columns, cells: read.map(({ cells }) => cells) }
}

const ROW: Row = {
  name: 'Müller, "A" & <Sons>\nline 2',
  address: { city: 'Köln' },
  rent: '1250000.10',
  floors: 3,
  area: 1234.5,
  open: true,
  begins: '2026-03-01',
  seen_at: '2026-03-01T12:00:00.000Z',
  tags: ['a', 'b'],
  ext: { pct: 1 },
}

describe('a table', () => {
  it('names nested values by their path, and shows lists and free objects as JSON', async () => {
    for (const kind of ['csv', 'xlsx'] as const) {
      const { columns, cells } = await readBack(kind, [ROW])
      expect(columns).toEqual(NAMES)
      const [cell] = cells as [Cell[]]
      expect([cell[0], cell[1], cell[8], cell[9]]).toEqual([
        ROW['name'],
        'Köln',
        '["a","b"]',
        '{"pct":1}',
      ])
    }
  })

  it('keeps money exact in CSV, and in a workbook as a number while one can hold it', async () => {
    const rents = ['1250000.10', '-12.50', '1234567890123.45', '99999999999999.99', null]
    const rows = rents.map((rent) => ({ ...ROW, rent }))
    const csv = await readBack('csv', rows)
    expect(csv.cells.map((cells) => cells[2])).toEqual(rents)
    const xlsx = await readBack('xlsx', rows)
    expect(xlsx.cells.map((cells) => cells[2])).toEqual([
      1250000.1,
      -12.5,
      1234567890123.45,
      '99999999999999.99',
      null,
    ])
  })

  it('has dates as dates in a workbook, and as text where a workbook has none', async () => {
    const dates = ['2026-03-01', '1900-03-01', '1899-12-31', '9999-12-31', null]
    const { cells } = await readBack(
      'xlsx',
      dates.map((begins) => ({ ...ROW, begins })),
    )
    expect(cells.map((row) => row[6])).toEqual(dates)
    expect(cells[0]?.[7]).toBe('2026-03-01T12:00:00')
    expect([cells[0]?.[3], cells[0]?.[4], cells[0]?.[5]]).toEqual([3, 1234.5, true])
  })

  it.each(['=1+1', '+1 555', '-x', '@SUM(A1)', '\tx', '\rx'])(
    'has no cell that a spreadsheet runs: %j',
    async (name) => {
      const item = { type: 'object', properties: { name: { type: 'string' } } }
      const csv = (await bytesOf(tableStream('csv', item, paged([{ name }])))).toString()
      expect(csv.split('\r\n')[1]?.replace(/^"/, '').startsWith("'")).toBe(true)
      const { cells } = await readBack('xlsx', [{ name }], item)
      expect(cells).toEqual([[name]])
    },
  )

  it('without rows has its header', async () => {
    for (const kind of ['csv', 'xlsx'] as const) {
      const { columns, cells } = await readBack(kind, [])
      expect([columns, cells]).toEqual([NAMES, []])
    }
    expect((await bytesOf(tableStream('ndjson', ITEM, paged([])))).toString()).toBe('')
  })

  it('as NDJSON has every object as it is, one a line', async () => {
    const bytes = await bytesOf(tableStream('ndjson', ITEM, paged([ROW], [ROW, ROW])))
    const lines = bytes.toString().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as Row)).toEqual([ROW, ROW, ROW])
  })

  it('goes on in a further sheet where one is full', async () => {
    const rows = [1, 2, 3, 4, 5].map((floors) => ({ floors }))
    const columns = columnsOf({ properties: { floors: { type: 'integer' } } })
    const path = folder.write('sheets.xlsx', await bytesOf(workbook(columns, paged(rows), 3)))
    const sheets = ['Data', 'Data 2', 'Data 3'].map(async (sheet) => {
      const table = await openTable(path, { kind: 'xlsx', sheet })
      return (await readAll(table)).map(({ cells }) => cells[0])
    })
    expect(await Promise.all(sheets)).toEqual([[1, 2], [3, 4], [5]])
  })

  it('says so where a text is longer than a cell', async () => {
    const { cells } = await readBack('xlsx', [{ ...ROW, name: 'x'.repeat(40_000) }])
    expect(String(cells[0]?.[0])).toHaveLength(32_767)
    expect(cells[0]?.[0]).toMatch(/ \[cut at 32767 characters]$/)
  })

  it('breaks off with what its rows throw', async () => {
    async function* failing(): AsyncGenerator<Row[]> {
      yield [ROW]
      throw new Error('the database is gone')
    }
    for (const format of ['csv', 'ndjson', 'xlsx'] as const)
      await expect(bytesOf(tableStream(format, ITEM, failing()))).rejects.toThrow(/database/)
  })

  it('gives back any text that is no formula', async () => {
    const item = {
      type: 'object',
      properties: { id: { type: 'string' }, text: { type: 'string' } },
    }
    const text = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((t) => !/^[=+\-@\t\r]/.test(t) && t.trim() !== '' && !t.includes('\0'))
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 5 }), async (texts) => {
        const rows = texts.map((t) => ({ id: 'x', text: t }))
        for (const kind of ['csv', 'xlsx'] as const) {
          const { cells } = await readBack(kind, rows, item)
          expect(cells.map((row) => row[1])).toEqual(texts)
        }
      }),
      { numRuns: 40 },
    )
  })
})

describe('the form of a list', () => {
  const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
  it.each([
    [undefined, undefined, null],
    [undefined, 'application/json', null],
    [undefined, '*/*', null],
    [undefined, 'text/html,application/xhtml+xml,*/*;q=0.8', null],
    [undefined, 'text/csv', 'csv'],
    [undefined, 'TEXT/CSV; charset=utf-8', 'csv'],
    [undefined, 'application/x-ndjson', 'ndjson'],
    [undefined, xlsx, 'xlsx'],
    [undefined, 'application/json;q=0.5, text/csv', 'csv'],
    [undefined, 'application/json, text/csv', null],
    [undefined, 'text/csv;q=0.1, application/json;q=0.2', null],
    [undefined, 'text/csv;q=0', null],
    ['json', 'text/csv', null],
    ['csv', 'application/json', 'csv'],
    ['xlsx', undefined, 'xlsx'],
  ])('format=%s with Accept: %s is %s', (format, accept, expected) => {
    expect(tableFormat(format, accept)).toBe(expected)
  })

  it.each(['pdf', '', 'CSV', 'constructor', ['csv', 'csv']])('there is none for %j', (format) => {
    expect(() => tableFormat(format, undefined)).toThrow(/unknown value/)
  })
})
