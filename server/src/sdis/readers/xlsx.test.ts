import { afterAll, describe, expect, test } from 'vitest'

import { fileFixture, openHandles, readAll, refusal } from './file-fixture.ts'
import { openTable } from './open.ts'
import type { Cell, Limits, SheetRow, Table, TableSource } from './types.ts'
import {
  buildWorkbook,
  relation,
  relations,
  sheetPart,
  type FixtureCell,
  type FixtureWorkbook,
} from './workbook-fixture.ts'

const files = fileFixture()
afterAll(() => files.remove())

const open = (
  bytes: Uint8Array,
  options: Omit<TableSource, 'kind'> = {},
  limits: Partial<Limits> = {},
): Promise<Table> =>
  openTable(files.write('test.xlsx', bytes), { kind: 'xlsx', ...options }, limits)

const openBook = (
  workbook: FixtureWorkbook,
  options: Omit<TableSource, 'kind'> = {},
  limits: Partial<Limits> = {},
): Promise<Table> => open(buildWorkbook(workbook), options, limits)

const rowsOf = async (
  rows: FixtureCell[][],
  more: Partial<FixtureWorkbook> = {},
): Promise<SheetRow[]> => readAll(await openBook({ sheets: [{ name: 'A', rows }], ...more }))

const cellsOf = async (
  values: FixtureCell[],
  more: Partial<FixtureWorkbook> = {},
): Promise<Cell[]> => {
  const header = values.map((_, at) => `c${at}`)
  return (await rowsOf([header, values], more))[0]?.cells ?? []
}

/** Rows of a sheet whose XML is given. */
const rawRows = async (xml: string, parts: FixtureWorkbook['parts'] = {}): Promise<SheetRow[]> =>
  readAll(await openBook({ sheets: [{ name: 'A', xml }], parts }))

const HEADER =
  '<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c><c r="C1" t="str"><v>c</v></c></row>'

describe('values of cells', () => {
  test('texts, numbers, booleans, errors and blanks', async () => {
    const cells = await cellsOf([
      'x & <y>',
      1.5,
      -2e-7,
      true,
      false,
      { error: '#N/A' },
      null,
      34.339_030_000_000_001,
    ])
    expect(cells).toEqual(['x & <y>', 1.5, -2e-7, true, false, null, null, 34.33903])
  })

  test('results of formulas', async () => {
    const cells = await cellsOf([
      { formula: 'A1&"<"', value: 'x<' },
      { formula: '1+1', value: 2 },
      { formula: 'A', value: '' },
    ])
    expect(cells).toEqual(['x<', 2, null])
  })

  test('dates by built-in and own formats, with and without a time', async () => {
    const values = [
      { serial: 43_873, style: 1 },
      { serial: 43_873.25, style: 2 },
      { serial: 43_873, style: 3 },
      { serial: 43_873, style: 4 },
      { serial: -5, style: 1 },
      { date: '2035-02-11' },
    ]
    const cells = await cellsOf(values, { formats: ['d. mmm yyyy h:mm', 22, '0.00 "days"'] })
    expect(cells).toEqual([
      '2020-02-12',
      '2020-02-12T06:00:00',
      '2020-02-12',
      43_873,
      -5,
      '2035-02-11',
    ])
  })

  test('dates counted from 1904', async () => {
    const cells = await cellsOf([{ date: '2020-02-12' }, { serial: 0, style: 1 }], {
      date1904: true,
    })
    expect(cells).toEqual(['2020-02-12', '1904-01-01'])
  })

  test('inline texts in formatted runs, readings and escapes', async () => {
    const runs =
      '<is><r><t xml:space="preserve">Bold </t></r><r><rPr><b/></rPr><t>&amp; thin</t></r><rPh sb="0" eb="1"><t>no</t></rPh></is>'
    const cells = await cellsOf([
      { inline: ' kept ' },
      { xml: `<c r="B2" t="inlineStr">${runs}</c>` },
      { xml: '<c r="C2"><is><t>no type &#x41;&#66;</t></is></c>' },
      { inline: 'a_x000D_\nb' },
      { xml: '<c r="E2" t="str"><v><![CDATA[1 < 2]]></v></c>' },
      { xml: '<c r="F2" t="d"><v>2020-02-12T00:00:00</v></c>' },
      { xml: '<c r="G2"><v>not a number</v></c>' },
    ])
    expect(cells).toEqual([
      ' kept ',
      'Bold & thin',
      'no type AB',
      'a\r\nb',
      '1 < 2',
      '2020-02-12',
      'not a number',
    ])
  })

  test('shared texts in formatted runs', async () => {
    const xml = sheetPart(
      `${HEADER}<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>`,
    )
    const si =
      '<si><r><t>one </t></r><r><t>two</t></r><rPh><t>no</t></rPh></si><si><t/></si><si><t>é漢😀</t></si>'
    const rows = await rawRows(xml, { 'xl/sharedStrings.xml': `<sst>${si}</sst>` })
    expect(rows).toEqual([{ row: 2, cells: ['one two', null, 'é漢😀'] }])
  })
})

describe('rows', () => {
  test('gaps, blank rows, short rows and values right of the table', async () => {
    const rows = await rowsOf([
      [null, null],
      ['a', 'b', 'c'],
      ['1', null, '3'],
      [null, null, null],
      [{ inline: ' ' }],
      ['4'],
      ['5', null, null, null, 'note'],
    ])
    expect(rows).toEqual([
      { row: 3, cells: ['1', null, '3'] },
      { row: 6, cells: ['4', null, null] },
      { row: 7, cells: ['5', null, null], extra: true },
    ])
  })

  test('cells and rows without a reference follow the one before', async () => {
    const xml = sheetPart(
      `${HEADER}<row><c><v>1</v></c><c/><c><v>3</v></c></row><row r="7"><c r="B7"><v>2</v></c><c><v>3</v></c></row><row><c><v>1</v></c></row>`,
    )
    expect(await rawRows(xml)).toEqual([
      { row: 2, cells: [1, null, 3] },
      { row: 7, cells: [null, 2, 3] },
      { row: 8, cells: [1, null, null] },
    ])
  })

  test('names may have a prefix', async () => {
    const xml = `<x:worksheet xmlns:x="urn:x"><x:sheetData><x:row r="1"><x:c r="A1" t="inlineStr"><x:is><x:t>a</x:t></x:is></x:c></x:row><x:row r="2"><x:c r="A2"><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>`
    expect(await rawRows(xml)).toEqual([{ row: 2, cells: [1] }])
  })

  test('a mark at the start of parts', async () => {
    expect(await rawRows(`\ufeff${sheetPart(HEADER + '<row><c><v>1</v></c></row>')}`)).toHaveLength(
      1,
    )
  })

  test('a header below title rows, and a missing column', async () => {
    const rows = [
      ['Rent roll'],
      [null],
      [{ date: '2025-05-31' }],
      ['Unit', ' Lease\nFrom '],
      ['U1', 2],
    ]
    const sheets = [{ name: 'A', rows }]
    const table = await openBook({ sheets }, { header: { find: ['lease from', 'UNIT'] } })
    expect(table.columns).toEqual(['Unit', 'Lease\nFrom'])
    expect(table.header_row).toBe(4)
    expect(await readAll(table)).toEqual([{ row: 5, cells: ['U1', 2] }])
    const error = await refusal(openBook({ sheets }, { header: { find: ['Unit', 'Tenant'] } }))
    expect(error).toMatchObject({
      code: 'missing_columns',
      details: { missing: ['Tenant'], found: ['Unit', 'Lease\nFrom'], row: 4 },
    })
  })

  test('an empty sheet', async () => {
    expect((await refusal(openBook({ sheets: [{ name: 'A' }] }))).code).toBe('empty_file')
  })
})

describe('sheets', () => {
  const sheets = [
    { name: 'Notes', rows: [['notes']], hidden: true },
    { name: 'Rent Roll 2024', rows: [['hidden']], hidden: true },
    { name: 'Summary', rows: [['summary']] },
    { name: 'Rent Roll 2025', rows: [['roll']] },
  ]
  const columns = async (sheet?: string): Promise<string[]> => {
    const table = await openBook({ sheets }, sheet === undefined ? {} : { sheet })
    await table.close()
    return table.columns
  }

  test('the first visible one, by name, by pattern, hidden only by its full name', async () => {
    expect(await columns()).toEqual(['summary'])
    expect(await columns('rent roll 2025')).toEqual(['roll'])
    expect(await columns('Rent*')).toEqual(['roll'])
    expect(await columns('*mm*')).toEqual(['summary'])
    expect(await columns('Notes')).toEqual(['notes'])
  })

  test.each(['Leases', 'Note*', 'Rent', '*Roll', 'R*x*'])('no sheet fits %s', async (sheet) => {
    const error = await refusal(openBook({ sheets }, { sheet }))
    expect(error.code).toBe('sheet_not_found')
    expect(error.details).toEqual({
      sheets: ['Notes', 'Rent Roll 2024', 'Summary', 'Rent Roll 2025'],
      hidden: ['Notes', 'Rent Roll 2024'],
    })
  })

  test('all hidden, and a chart instead of a sheet', async () => {
    const hidden = sheets.slice(0, 2)
    expect((await refusal(openBook({ sheets: hidden }))).code).toBe('sheet_not_found')
    const chart = relations([relation('rId1', 'chartsheet', 'worksheets/sheet1.xml')])
    const parts = { 'xl/_rels/workbook.xml.rels': chart }
    expect((await refusal(openBook({ sheets: [{ name: 'A' }], parts }))).code).toBe(
      'sheet_not_found',
    )
  })

  test('parts are found by their relations, whatever their names', async () => {
    const book = { sheets: [{ name: 'A', rows: [['a'], [{ date: '2020-02-12' }]] }] }
    const sheet = sheetPart('<row><c t="s"><v>0</v></c></row><row><c s="1"><v>43873</v></c></row>')
    const main = 'xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main" xmlns:q="urn:q"'
    const parts = {
      '_rels/.rels': relations([relation('x', 'officeDocument', '/Data/Book.xml')]),
      'xl/workbook.xml': null,
      'xl/_rels/workbook.xml.rels': null,
      'xl/worksheets/sheet1.xml': null,
      'xl/styles.xml': null,
      'xl/sharedStrings.xml': null,
      'data/book.xml': `<workbook ${main}><sheets><sheet name="A" sheetId="1" q:id="s"/></sheets></workbook>`,
      'data/_rels/book.xml.rels': relations([
        relation('s', 'worksheet', '../one.xml'),
        relation('t', 'sharedStrings', './texts/t.xml'),
        relation('u', 'styles', '/Styles.XML'),
      ]),
      'ONE.xml': sheet,
      'data/texts/t.xml': '<sst><si><t>a</t></si></sst>',
      'styles.xml': '<styleSheet><cellXfs><xf/><xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    const table = await openBook({ ...book, parts })
    expect(table.columns).toEqual(['a'])
    expect(await readAll(table)).toEqual([{ row: 2, cells: ['2020-02-12'] }])
  })
})

describe('limits', () => {
  const sheets = [
    {
      name: 'A',
      rows: [
        ['a', 'b'],
        [1, 2],
        [3, 4],
        ['long text', 6],
      ],
    },
  ]

  test('rows, columns and characters of a cell', async () => {
    expect(await refusal(openBook({ sheets }, {}, { max_rows: 2 }))).toMatchObject({
      code: 'too_many_rows',
      details: { row: 4 },
    })
    expect(await refusal(openBook({ sheets }, {}, { max_columns: 1 }))).toMatchObject({
      code: 'too_many_columns',
      details: { row: 1, column: 2 },
    })
    expect(await refusal(openBook({ sheets }, {}, { max_cell_chars: 8 }))).toMatchObject({
      code: 'cell_too_long',
      details: { row: 4, column: 1 },
    })
    expect(
      await readAll(await openBook({ sheets }, {}, { max_rows: 3, max_columns: 2 })),
    ).toHaveLength(3)
  })

  test('formatted cells without a value may stand anywhere', async () => {
    const xml = sheetPart(`${HEADER}<row r="2"><c r="A2"><v>1</v></c><c r="XFD2" s="1"/></row>`)
    expect(await rawRows(xml)).toEqual([{ row: 2, cells: [1, null, null] }])
  })

  test('an inline text that never ends, and one without any tag', async () => {
    const long = sheetPart(`${HEADER}<row><c t="str"><v>${'word '.repeat(20_000)}</v></c></row>`)
    expect((await refusal(openBook({ sheets: [{ name: 'A', xml: long }] }))).code).toBe(
      'cell_too_long',
    )
    const silent = sheetPart(
      `${HEADER}<!--${Array.from({ length: 300_000 }, (_, at) => at).join(' ')}-->`,
    )
    expect((await refusal(openBook({ sheets: [{ name: 'A', xml: silent }] }))).code).toBe(
      'cell_too_long',
    )
  })

  test('texts beyond the memory limit go to a temporary file, which goes away', async () => {
    const rows: FixtureCell[][] = [['id', 'text', 'again']]
    for (let at = 0; at < 5000; at++)
      rows.push([at, `text ${at} ${'é漢'.repeat(at % 90)}`, `text ${at % 7} `])
    const book = buildWorkbook({ sheets: [{ name: 'A', rows }] })
    const inMemory = await readAll(await open(book))
    const table = await open(book, {}, { max_shared_string_bytes_in_memory: 1000 })
    expect(openHandles('grid-strings-')).toBe(2)
    expect(await readAll(table)).toEqual(inMemory)
    expect(openHandles('grid-strings-')).toBe(0)
    const left = await open(book, {}, { max_shared_string_bytes_in_memory: 1000 })
    await left.close()
    expect(openHandles('grid-strings-')).toBe(0)
  })

  test('the file is closed at the end, on leaving early and on errors', async () => {
    const rows = Array.from({ length: 5000 }, (_, at): FixtureCell[] => [`a${at}`, at])
    const book = buildWorkbook({ sheets: [{ name: 'A', rows }] })
    const path = `${files.folder}/test.xlsx`
    const table = await open(book)
    expect(openHandles(path)).toBe(1)
    const sizes: number[] = []
    for await (const batch of table.rows) sizes.push(batch.length)
    expect(sizes).toEqual([1000, 1000, 1000, 1000, 999])
    expect(table.stats().bytes_read).toBe(table.stats().bytes_total)
    for await (const _ of (await open(book)).rows) break
    await (await open(book)).close()
    await refusal(open(book, {}, { max_rows: 10 }))
    await refusal(open(book, { sheet: 'none' }))
    expect(openHandles(path)).toBe(0)
  })
})

describe('XML that is refused', () => {
  test.each([
    ['xl/workbook.xml', '<!DOCTYPE workbook [<!ENTITY a "aaaa">]><workbook><sheets/></workbook>'],
    ['xl/worksheets/sheet1.xml', `<!DOCTYPE x SYSTEM "file:///etc/passwd">${sheetPart(HEADER)}`],
    ['xl/sharedStrings.xml', '<!DOCTYPE sst []><sst/>'],
  ])('a document type in %s', async (name, xml) => {
    const error = await refusal(openBook({ sheets: [{ name: 'A' }], parts: { [name]: xml } }))
    expect(error.code).toBe('forbidden_xml')
  })

  test.each([
    ['cut off', sheetPart(HEADER).slice(0, -40)],
    ['not well-formed', sheetPart(`${HEADER}<row></c></row>`)],
    ['an unknown entity', sheetPart(`${HEADER}<row><c><v>&x;</v></c></row>`)],
    ['a text that the table lacks', sheetPart(`${HEADER}<row><c t="s"><v>9</v></c></row>`)],
    ['a row of no number', sheetPart(`${HEADER}<row r="x"><c><v>1</v></c></row>`)],
    ['nested too deep', sheetPart(HEADER + '<a>'.repeat(200) + '</a>'.repeat(200))],
    ['no rows section', '<worksheet><dimension ref="A1"/></worksheet>'],
  ])('%s', async (_, xml) => {
    expect((await refusal(openBook({ sheets: [{ name: 'A', xml }] }))).code).toMatch(
      /damaged_file|empty_file/,
    )
  })
})
