/** Files that cannot be used, through the API: each job fails with what is wrong, and nothing has changed. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, it, test } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { finished, sendJob } from '../../test/jobs.ts'
import { adapterOf, blocked, buildings, errorsOf, fileOf, load, written } from './load-fixture.ts'
import { buildPdf } from './readers/pdf-fixture.ts'
import {
  buildWorkbook,
  buildZip,
  sheetPart,
  workbookEntries,
  zippedRun,
} from './readers/workbook-fixture.ts'
import type { FixtureCell } from './readers/workbook-fixture.ts'

const ROWS: FixtureCell[][] = [
  ['Code', 'Name', 'Area', 'Measured'],
  ['A', 'Alpha', 100, { date: '2025-05-23' }],
  ['B', 'Beta', 200, { date: '2025-05-24' }],
]

const WORKBOOK = buildWorkbook({
  sheets: [
    { name: 'Notes', rows: [['hidden']], hidden: true },
    { name: 'Rent Roll May', rows: ROWS },
  ],
})

const map = {
  name: 'row.Name',
  code: 'row.Code',
  rentable_area: 'row.Area',
  remeasured_date: 'row.Measured',
}

const xlsx = (source: object = {}, stream: object = {}): string =>
  adapterOf({ map, ...stream }, { source: { kind: 'xlsx', ...source } })

const csv = (text: string | Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.from(text))
const bytes = (buffer: Buffer): Uint8Array<ArrayBuffer> => Uint8Array.from(buffer)

/** The workbook with one of its entries replaced. */
function spoiled(name: string, change: object): Buffer {
  const entries = workbookEntries({ sheets: [{ name: 'A', rows: ROWS }] })
  return buildZip(entries.map((entry) => (entry.name === name ? { ...entry, ...change } : entry)))
}

const PDF = Buffer.from('%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n%%EOF\n')
/** A value in the last column that a workbook has. */
const LAST_CELL = '<row r="1"><c r="XFD1" t="inlineStr"><is><t>x</t></is></c></row>'
const SHEET = 'xl/worksheets/sheet1.xml'

describe('a file that cannot be used', () => {
  it.each<[string, string, Uint8Array<ArrayBuffer>, string, RegExp, object]>([
    ['a renamed PDF', xlsx(), bytes(PDF), 'not_a_workbook', /PDF/, { looks_like: 'PDF' }],
    ['a renamed PDF as CSV', adapterOf(), bytes(PDF), 'not_a_csv', /PDF/, { looks_like: 'PDF' }],
    ['a CSV as workbook', xlsx(), csv('Code,Name\nA,B\n'), 'not_a_workbook', /./, {}],
    ['a workbook as CSV', adapterOf(), bytes(WORKBOOK), 'not_a_csv', /workbook/, {}],
    [
      'a page of HTML',
      xlsx(),
      csv('<html><table><tr><td>A</td></tr></table>'),
      'not_a_workbook',
      /HTML/,
      {},
    ],
    ['a truncated workbook', xlsx(), bytes(WORKBOOK.subarray(0, 2_000)), 'truncated_file', /./, {}],
    [
      'a workbook without its end',
      xlsx(),
      bytes(WORKBOOK.subarray(0, -1)),
      'truncated_file',
      /./,
      {},
    ],
    ['a damaged workbook', xlsx(), bytes(spoiled(SHEET, { crc: 1 })), 'damaged_file', /./, {}],
    [
      'a zip bomb that says so',
      xlsx(),
      bytes(spoiled(SHEET, { zipped: zippedRun(2 ** 31, 0), size: 2 ** 31 })),
      'zip_bomb',
      /./,
      {},
    ],
    [
      'a zip bomb that lies',
      xlsx(),
      bytes(spoiled(SHEET, { zipped: zippedRun(2 ** 31, 32), size: 900_000 })),
      'zip_bomb',
      /more than it declares/,
      {},
    ],
    [
      'the wrong sheet',
      xlsx({ sheet: 'Rent Roll June*' }),
      bytes(WORKBOOK),
      'sheet_not_found',
      /Rent Roll May/,
      {},
    ],
    [
      'columns that are missing',
      xlsx({}, { map: { ...map, gross_area: 'row.Gross', usable_area: 'row["Net Area"]' } }),
      bytes(WORKBOOK),
      'missing_columns',
      /Gross, Net Area/,
      { missing: ['Gross', 'Net Area'], found: ['Code', 'Name', 'Area', 'Measured'], row: 1 },
    ],
    [
      'a header that is not found',
      xlsx({ header: { find: ['Code', 'Tenant'] } }),
      bytes(WORKBOOK),
      'missing_columns',
      /Tenant/,
      { missing: ['Tenant'] },
    ],
    [
      'a key column that is missing',
      adapterOf(),
      csv('Name,Area\nA,1\n'),
      'missing_columns',
      /Code/,
      {},
    ],
    ['a file of blanks', adapterOf(), csv('\n\n  \n'), 'empty_file', /./, {}],
    [
      'a header without rows',
      adapterOf(),
      csv('Code,Name,Area\n'),
      'too_few_rows',
      /0 rows/,
      { rows: 0 },
    ],
    [
      'an encoding that is not the stated one',
      adapterOf(),
      Uint8Array.from([...csv('Code,Name,Area\nA,Gr'), 0xfc, ...csv('n,1\n')]),
      'unsupported_encoding',
      /windows-1252/,
      { row: 2 },
    ],
    [
      'a quote left open after good rows',
      adapterOf(),
      csv(`Code,Name,Area\n${'A,Alpha,1\n'.repeat(3_000)}B,"Beta,2\n`),
      'malformed_csv',
      /never closed/,
      { row: 3_002 },
    ],
    [
      '16,384 columns',
      xlsx(),
      bytes(buildWorkbook({ sheets: [{ name: 'A', xml: sheetPart(LAST_CELL) }] })),
      'too_many_columns',
      /column 500/,
      { row: 1, limit: 500 },
    ],
    [
      'more cells than columns may be',
      adapterOf(),
      csv(`Code,Name,Area${',x'.repeat(500)}\n`),
      'too_many_columns',
      /500/,
      { limit: 500 },
    ],
    [
      'half-written JSON',
      adapterOf({}, { source: { kind: 'json' } }),
      csv('[{"Code":"A","Name":"N","Area":1},{"Code":'),
      'truncated_file',
      /after 1 records/,
      { row: 1 },
    ],
    [
      'JSON nested beyond all use',
      adapterOf({}, { source: { kind: 'ndjson' } }),
      csv(`${'{"a":'.repeat(50)}1${'}'.repeat(50)}\n`),
      'too_deep',
      /20 levels/,
      { row: 1 },
    ],
    [
      'a PDF that is a scan',
      adapterOf({}, { source: { kind: 'pdf' } }),
      Uint8Array.from(buildPdf([[]])),
      'no_text',
      /scan/,
      {},
    ],
    [
      'a total that does not add up',
      adapterOf({ checks: [{ id: 'area', aggregate: 'sum(number(row.Area))', compare: 9 }] }),
      csv('Code,Name,Area\nA,Alpha,1\n'),
      'check_failed',
      /area: .* is 1, but the file states 9/,
      { check: 'area', found: 1, expected: 9 },
    ],
    [
      'an aggregate of what is no number',
      adapterOf({ checks: [{ id: 'area', aggregate: 'sum(row.Area)', compare: 9 }] }),
      csv('Code,Name,Area\nA,Alpha,wide\n'),
      'check_failed',
      /row 2/,
      {},
    ],
  ])('%s', async (_, adapter, file, code, message, details) => {
    const client = await newOrganization()
    await load(client, adapterOf(), 'Code,Name,Area\nOld,Old,1\n', '2025-01-01')
    const was = await written(client.org_id)
    const job = await load(client, adapter, { name: 'table.xlsx', bytes: file }, '2025-02-01')
    expect(job).toMatchObject({
      state: 'failed',
      error: { code, message: expect.stringMatching(message), details },
      counts: { created: 0, changed: 0, ended: 0, facts: 0 },
    })
    expect(job.finished_at).not.toBeNull()
    expect(await written(client.org_id)).toEqual(was)
  })

  it('that vanished from the disk fails at once', async () => {
    const { client, release } = await blocked()
    const { body } = await sendJob(client, adapterOf(), fileOf('Code,Name,Area\nA,A,1\n'))
    const name = `org_${client.org_id}.doc_${body.id.slice(4)}.ver_0`
    await rm(join(inject('files'), 'imports', name))
    await release()
    expect(await finished(client, body.id)).toMatchObject({
      state: 'failed',
      attempts: 1,
      error: { code: 'file_missing' },
    })
  })
})

describe('a workbook', () => {
  test('is read by the sheet that the adapter names, dates as dates', async () => {
    const client = await newOrganization()
    const job = await load(client, xlsx({ sheet: 'Rent Roll*' }), {
      name: 'a.xlsx',
      bytes: bytes(WORKBOOK),
    })
    expect(job).toMatchObject({ state: 'completed', counts: { created: 2 } })
    expect(await buildings(client, 'remeasured_date')).toEqual({
      A: { remeasured_date: '2025-05-23' },
      B: { remeasured_date: '2025-05-24' },
    })
  })

  test('gives the values of formulas, and dates that are bare day numbers', async () => {
    const client = await newOrganization()
    const rows: FixtureCell[][] = [
      ['Code', 'Name', 'Area', 'Measured'],
      ['A', { formula: 'B1&"!"', value: 'Name!' }, { formula: '2*50', value: 100 }, 45_800],
    ]
    const adapter = xlsx(
      {},
      { map: { ...map, remeasured_date: { from: 'row.Measured', date: ['excel-serial'] } } },
    )
    await load(client, adapter, {
      name: 'a.xlsx',
      bytes: bytes(buildWorkbook({ sheets: [{ name: 'A', rows }] })),
    })
    expect(await buildings(client, 'name,rentable_area,remeasured_date')).toEqual({
      A: { name: 'Name!', rentable_area: 100, remeasured_date: '2025-05-23' },
    })
  })

  test('with values of every wrong kind has each told apart by row and column', async () => {
    const client = await newOrganization()
    const rows: FixtureCell[][] = [
      ...ROWS,
      ['C', 'Gamma', 'many', 'soon'],
      ['D', 'Delta', -5, 45_800],
      [null, 'No code', 1, null],
      ['A', 'Again', 1, null],
      ['E', 'Nul_x0000_ and half _xD83D_', true, { date: '2025-05-25' }],
      ['F', 'Nul_x0000_ and half _xD83D_', 1, { error: '#REF!' }],
    ]
    const file = { name: 'a.xlsx', bytes: bytes(buildWorkbook({ sheets: [{ name: 'A', rows }] })) }
    const job = await load(client, xlsx(), file)
    expect(job).toMatchObject({
      state: 'completed_with_errors',
      counts: { rows_read: 8, created: 3, quarantined: 5 },
    })
    expect(await errorsOf(client, job)).toEqual([
      [4, 'rentable_area', 'not_a_number'],
      [4, 'remeasured_date', 'not_a_date'],
      [5, 'rentable_area', 'out_of_range'],
      [5, 'remeasured_date', 'not_a_date'],
      [6, 'key', 'missing_key'],
      [7, 'key', 'duplicate_key'],
      [8, 'rentable_area', 'not_a_number'],
    ])
    expect(await buildings(client, 'name')).toMatchObject({
      F: { name: 'Nul\ufffd and half \ufffd' },
    })
  })
})

describe('an adapter that asks too much', () => {
  it.each<[string, string, RegExp]>([
    ['a pattern that would never end', `row.Name.matches('(a)\\\\1')`, /is no pattern/],
    ['loops in loops', 'row.A.map(a, row.B.map(b, b))', /one level is allowed/],
    ['more than 500 parts', Array.from({ length: 300 }, () => '1').join('+'), /maxAstNodes/],
    ['the inside of the machine', 'row.constructor.constructor("return 1")()', /./],
  ])('%s is refused before there is a job', async (_, expression, message) => {
    const client = await newOrganization()
    const sent = await sendJob(client, adapterOf({ key: expression }), fileOf('Code\nA\n'))
    expect(sent).toMatchObject({
      status: 422,
      body: { errors: [{ code: 'invalid_expression', message: expect.stringMatching(message) }] },
    })
    expect((await client.get('/sdis/jobs')).body.data).toEqual([])
  })
})
