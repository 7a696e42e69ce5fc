/** What an adapter says of its file, and what becomes of the rows, through the API. */
import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { finished, sendJob } from '../../test/jobs.ts'
import { adapterOf, buildings, errorsOf, fileOf, load, sendWith } from './load-fixture.ts'
import { buildPdf, pdfRows } from './readers/pdf-fixture.ts'
import { buildWorkbook } from './readers/workbook-fixture.ts'

type Part = Record<string, unknown>

const workbook = (
  rows: (string | number | null)[][],
  merged: string[] = [],
): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(buildWorkbook({ sheets: [{ name: 'Roll', rows, merged }] }))

const bytes = (name: string, content: Uint8Array<ArrayBuffer>) => ({ name, bytes: content })

/** The report of a rent roll: titles, groups, subtotals and a total. */
const REPORT = [
  ['Rent Roll', null, null, null],
  ['As of:', '05/31/2025', 'Total area', '1,000'],
  ['Property', 'Unit', 'Name', 'Area'],
  ['Harbor Point', '101', 'One', '100'],
  [null, '102', 'Two', '200'],
  [null, 'Total Harbor Point', null, '300'],
  ['Mill Yard', '1', 'Three', '700'],
  [null, 'Grand total', null, '1,000'],
]

const report = (source: Part = {}, stream: Part = {}, more: Part = {}): string =>
  adapterOf(
    {
      key: "row.Property + '/' + row.Unit",
      map: {
        name: 'row.Name',
        code: 'row.Unit',
        rentable_area: 'row.Area',
        address: { object: { line1: 'row.Property' } },
      },
      ...stream,
    },
    {
      locale: { date: ['MM/dd/yyyy'] },
      ...more,
      source: {
        kind: 'xlsx',
        header: { find: ['Property', 'Unit'] },
        fill_down: ['Property'],
        skip_rows_where: "lower(row.Unit).contains('total')",
        cells: { as_of: 'B2', area: { right_of: 'total area' } },
        ...source,
      },
    },
  )

const REPORT_FILE = bytes('roll.xlsx', workbook(REPORT))

const lines = (found: Record<string, Part>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(found).map(([code, { address }]) => [code, (address as Part)['line1']]),
  )

describe('a report', () => {
  it('gives its rows their group, and its totals no objects', async () => {
    const client = await newOrganization()
    const job = await load(client, report(), REPORT_FILE)
    expect(job).toMatchObject({ state: 'completed', counts: { created: 3, rows_total: 3 } })
    expect(lines(await buildings(client, 'address'))).toEqual({
      101: 'Harbor Point',
      102: 'Harbor Point',
      1: 'Mill Yard',
    })
  })

  it('gives all merged cells the value of the first', async () => {
    const client = await newOrganization()
    const adapter = report({ fill_down: undefined, merged: 'fill' })
    await load(client, adapter, bytes('roll.xlsx', workbook(REPORT, ['A1:D1', 'A4:A6', 'A7:A8'])))
    expect(lines(await buildings(client, 'address'))).toMatchObject({
      102: 'Harbor Point',
      1: 'Mill Yard',
    })
  })

  it.each<[string, Part, string, number]>([
    ['the totals row', { aggregate: 'sum(rentable_area)', compare: 'totals.Area' }, 'completed', 0],
    [
      'a cell above the header',
      { aggregate: 'sum(number(row.Area))', compare: 'meta.area' },
      'completed',
      0,
    ],
    ['a number', { aggregate: 'count()', compare: 3 }, 'completed', 0],
    [
      'within a tolerance',
      { aggregate: 'max(rentable_area)', compare: 690, tolerance_pct: 2 },
      'completed',
      0,
    ],
    [
      'beyond it, as an error',
      { aggregate: 'avg(rentable_area)', compare: 300, tolerance_pct: 2 },
      'failed',
      0,
    ],
    [
      'beyond it, as a warning',
      { aggregate: 'min(rentable_area)', compare: 99, level: 'warn' },
      'completed',
      1,
    ],
    ['what is not there', { aggregate: 'count()', compare: 'meta.as_of' }, 'failed', 0],
  ])('is reconciled with %s', async (_, check, state, issues) => {
    const client = await newOrganization()
    const checks = [{ id: 'total', ...check }]
    const job = await load(client, report({}, { checks }), REPORT_FILE)
    expect(job.state).toBe(state)
    if (state === 'failed') {
      expect(job.error.code).toBe('check_failed')
      expect(await buildings(client, 'name')).toEqual({})
    }
    expect(await errorsOf(client, job)).toHaveLength(issues)
  })

  it.each([
    [20_000_000_000.03, 'completed'],
    [20_000_000_000.04, 'failed'],
  ])('is reconciled to the cent with %d', async (compare, state) => {
    const client = await newOrganization()
    const checks = [{ id: 'total', aggregate: 'sum(number(row.Rent))', compare }]
    const rents = ['19999999999.7', '0.11', '0.11', '0.11']
    const rows = rents.map((rent, i) => `${i},N,1,${rent}\n`)
    const job = await load(client, adapterOf({ checks }), `Code,Name,Area,Rent\n${rows.join('')}`)
    expect(job.state).toBe(state)
  })

  it('was true on the day it names', async () => {
    const client = await newOrganization()
    const named = report({}, {}, { effective: { from: 'meta.as_of' } })
    expect(await load(client, named, REPORT_FILE)).toMatchObject({ as_of: '2025-05-31' })
    const told = await load(client, named, REPORT_FILE, '2025-06-30')
    expect(told.as_of).toBe('2025-06-30')
  })

  it.each<[string, Part, string | null]>([
    ['no date', { from: 'meta.area' }, 'no_effective_date'],
    ['nothing, and must', { from: 'meta.none', default: 'error' }, 'no_effective_date'],
    ['nothing', { from: 'meta.none' }, null],
    ['the future', { from: 'add_months(meta.as_of, 1200)' }, 'in_the_future'],
  ])('that names %s as its day', async (_, effective, code) => {
    const client = await newOrganization()
    const cells = { as_of: 'B2', area: 'D2', none: 'A9' }
    const sent = await sendJob(client, report({ cells }, {}, { effective }), REPORT_FILE)
    expect(sent.status).toBe(code === null ? 202 : 422)
    if (code) expect(sent.body.errors).toMatchObject([{ field: 'adapter.effective.from', code }])
  })
})

describe('rows of other kinds of files', () => {
  const map = { name: 'row.name', code: 'row.id', rentable_area: 'row.size.area' }
  const records = [
    { id: 'A', name: 'Alpha', size: { area: 100 }, uses: ['office', 'retail'] },
    { id: 'B', name: 'Beta', size: {}, uses: [] },
  ]
  const stream = { key: 'row.id', map: { ...map, secondary_uses: 'row.uses.map(u, lower(u))' } }

  it.each<[string, Part, string]>([
    ['json', { kind: 'json', path: 'data.items' }, JSON.stringify({ data: { items: records } })],
    ['ndjson', { kind: 'ndjson' }, records.map((record) => JSON.stringify(record)).join('\n')],
  ])('%s', async (_, source, text) => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(stream, { source }), text)
    expect(job).toMatchObject({ state: 'completed', counts: { created: 2 } })
    expect(await buildings(client, 'rentable_area,secondary_uses')).toEqual({
      A: { rentable_area: 100, secondary_uses: ['office', 'retail'] },
      B: { rentable_area: null, secondary_uses: null },
    })
    const again = await load(client, adapterOf(stream, { source }), text.replace('Beta', 'Bet'))
    expect(again.counts).toMatchObject({ unchanged: 1, changed: 1 })
  })

  it('json with characters that no text may hold', async () => {
    const client = await newOrganization()
    const name = String.raw`\u0000\ud83d`
    const text = String.raw`{"id":"A${name}","name":"N${name}","size":{"area":"x${name}"},"uses":["${name}"]}`
    const source = { kind: 'ndjson' }
    const job = await load(client, adapterOf({ key: 'row.id', map }, { source }), text)
    expect(job).toMatchObject({ state: 'completed_with_errors', counts: { created: 0 } })
    const { body } = await client.get(`/sdis/jobs/${job.id}/errors`)
    expect(body.data[0].raw).toMatchObject({ name: 'N\ufffd\ufffd', uses: ['\ufffd\ufffd'] })
    const sound = text.replace(/"x[^"]*"/, '1')
    const again = await load(client, adapterOf({ key: 'row.id', map }, { source }), sound)
    expect(again).toMatchObject({ state: 'completed', counts: { created: 1 } })
  })

  it('pdf: of low confidence, and never above another source', async () => {
    const client = await newOrganization()
    const page = pdfRows([
      ['Code', 'Name', 'Area'],
      ['A', 'Alpha', '1,000'],
    ])
    const file = bytes('roll.pdf', Uint8Array.from(buildPdf([page])))
    const adapter = adapterOf({}, { source: { name: 'Scan', kind: 'pdf' } })
    const job = await load(client, adapter, file, '2025-05-01')
    expect(await buildings(client, 'rentable_area')).toEqual({ A: { rentable_area: 1_000 } })
    const { body } = await client.get(`/sdis/jobs/${job.id}/facts?limit=1`)
    expect(body.data[0].confidence_pct).toBe(60)
    const dry = await sendWith(client, adapter, file, { mode: 'dry_run' })
    expect(await finished(client, dry.body.id)).toMatchObject({
      counts: { created: 0, unchanged: 1 },
    })
    const first = await sendJob(
      client,
      adapterOf({}, { source: { name: 'Scan', kind: 'pdf', rank: 10 } }),
      file,
    )
    expect(first.body.errors).toMatchObject([
      { field: 'adapter.source.rank', code: 'out_of_range' },
    ])
  })
})

describe('a value', () => {
  const csv = 'Code,Name,Area,Share,Built,Rent\n'
  const one = async (client: TestClient, entry: Part | string, cells: string, field: string) => {
    const map = { name: 'row.Name', code: 'row.Code', [field]: entry }
    const job = await load(client, adapterOf({ map }), `${csv}${cells}\n`)
    const found = await buildings(client, field)
    return { found: found['A']?.[field], errors: await errorsOf(client, job) }
  }

  it.each<[string, Part | string, string, string, unknown, string[]]>([
    [
      'computed',
      { expr: 'round(sqft_to_m2(row.Area), 1)' },
      'A,N,1000,,,',
      'rentable_area',
      92.9,
      [],
    ],
    ['computed from a blank', 'number(row.Area) * 2', 'A,N,,,,', 'rentable_area', null, []],
    [
      'of several words',
      "split(row.Share, ';')",
      'A,N,1,office;retail,,',
      'secondary_uses',
      ['office', 'retail'],
      [],
    ],
    [
      'that an expression has not',
      { expr: 'row.Area * 2', on_error: 'quarantine_cell' },
      'A,N,1,,,',
      'rentable_area',
      null,
      ['expression_failed'],
    ],
    [
      'kept out of its row',
      { from: 'row.Built', on_error: 'quarantine_cell' },
      'A,N,,,soon,',
      'year_built',
      null,
      ['not_a_number'],
    ],
    [
      'that spoils its row',
      { from: 'row.Built' },
      'A,N,,,soon,',
      'year_built',
      undefined,
      ['not_a_number'],
    ],
  ])('%s', async (_, entry, cells, field, expected, codes) => {
    const client = await newOrganization()
    const { found, errors } = await one(client, entry, cells, field)
    expect(found).toEqual(expected)
    expect(errors.map(([, , code]) => code)).toEqual(codes)
  })

  it('that cannot be read is emptied or left as it was, as the adapter says', async () => {
    for (const [on_error, expected] of [
      ['null_with_issue', null],
      ['quarantine_cell', 1990],
    ] as const) {
      const client = await newOrganization()
      const map = {
        name: 'row.Name',
        code: 'row.Code',
        year_built: { from: 'row.Built', on_error },
      }
      const adapter = adapterOf({ map })
      await load(client, adapter, 'Code,Name,Built\nA,N,1990\n', '2025-01-01')
      const job = await load(client, adapter, 'Code,Name,Built\nA,N,unknown\n', '2025-02-01')
      expect(await errorsOf(client, job)).toEqual([[2, 'year_built', 'not_a_number']])
      expect(await buildings(client, 'year_built')).toEqual({ A: { year_built: expected } })
    }
  })
})

describe('checks of records', () => {
  const checks = [
    { id: 'area', expr: 'rentable_area > 10' },
    { id: 'name', expr: "row.Name != 'Odd'", level: 'warn' },
  ]

  it('leave out rows, or list them; what is blank holds', async () => {
    const client = await newOrganization()
    const csv = 'Code,Name,Area\nA,Fine,100\nB,Small,5\nC,Odd,50\nD,Blank,\n'
    const job = await load(client, adapterOf({ checks }), csv)
    expect(await errorsOf(client, job)).toEqual([
      [3, null, 'check_failed'],
      [4, null, 'check_failed'],
    ])
    expect(Object.keys(await buildings(client, 'name')).toSorted()).toEqual(['A', 'C', 'D'])
    expect(job.counts).toMatchObject({ quarantined: 1, warnings: 1 })
  })
})

describe('modes', () => {
  const csv = (rows: string): string => `Code,Name,Area,Status\n${rows}`

  it('append leaves known records as they are', async () => {
    const client = await newOrganization()
    const adapter = adapterOf({}, { mode: 'append' })
    await load(client, adapter, csv('A,One,1,\n'), '2025-01-01')
    const job = await load(client, adapter, csv('A,Other,2,\nB,Two,2,\n'), '2025-02-01')
    expect(job.counts).toMatchObject({ created: 1, changed: 0, unchanged: 1 })
    expect(await buildings(client, 'name')).toEqual({ A: { name: 'One' }, B: { name: 'Two' } })
  })

  it('delete_marker ends the objects of marked rows', async () => {
    const client = await newOrganization()
    const adapter = adapterOf({}, { mode: { delete_marker: "row.Status == 'DEL'" } })
    await load(client, adapter, csv('A,One,1,\nB,Two,2,\n'), '2025-01-01')
    const job = await load(client, adapter, csv('A,One,1,DEL\nC,Gone,3,DEL\n'), '2025-02-01')
    expect(job).toMatchObject({
      state: 'completed',
      counts: { ended: 1, unchanged: 1, created: 0 },
    })
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['B'])
    const back = await load(client, adapter, csv('A,One,1,\n'), '2025-03-01')
    expect(back.state).toBe('completed')
    expect(Object.keys(await buildings(client, 'name')).toSorted()).toEqual(['A', 'B'])
  })
})

describe('amounts', () => {
  it('name the currency of their object', async () => {
    const client = await newOrganization()
    const map = {
      lease_number: 'row.No',
      ti_allowance: { expr: 'money(row.Rent) * 12', currency: 'EUR' },
    }
    const adapter = JSON.stringify({
      adapter: 'rents',
      source: { name: 'Rents', kind: 'csv', delimiter: ';' },
      locale: { decimal: ',', thousands: '.' },
      streams: [{ type: 'lease', key: 'row.No', map }],
    })
    const job = await load(client, adapter, fileOf('No;Rent\nR-1;1.200,10\n'))
    expect(job.state).toBe('completed')
    const { body } = await client.get('/leases?lease_number=R-1')
    expect(body.data[0]).toMatchObject({ ti_allowance: '14401.20', currency: 'EUR' })
  })
})
