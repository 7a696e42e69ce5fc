/** Samples of files: raw rows, mapped records and issues of the first rows, within a budget. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registry } from '../resources.ts'
import { readAdapter } from './adapter.ts'
import { adapterOf } from './load-fixture.ts'
import { buildWorkbook } from './readers/workbook-fixture.ts'
import { columnsOf, sample } from './sample.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sample-'))
})
afterAll(async () => await rm(folder, { recursive: true }))

async function fileOf(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

describe('a sample', () => {
  test('has rows, records and issues side by side', async () => {
    const file = await fileOf(
      'a.csv',
      'Code,Name,Area\nA,Alpha,100\nB,Beta,big\n,None,1\nA,Again,2\n',
    )
    const adapter = readAdapter(adapterOf(), registry)
    const { rows, records, issues, complete } = await sample(file, adapter, 10)
    expect(complete).toBe(true)
    expect(rows).toHaveLength(4)
    expect(rows[0]).toEqual({ row: 2, raw: { Code: 'A', Name: 'Alpha', Area: '100' } })
    expect(records).toEqual([
      {
        stream: 'buildings',
        type: 'building',
        key: 'A',
        rows: [2],
        values: { name: 'Alpha', code: 'A', rentable_area: 100 },
      },
    ])
    expect(issues.map(({ row, code }) => [row, code])).toEqual([
      [3, 'not_a_number'],
      [4, 'missing_key'],
      [5, 'duplicate_key'],
    ])
  })

  test('stops after the rows asked for', async () => {
    const lines = Array.from({ length: 5_000 }, (_, i) => `C${i},N${i},${i}`)
    const file = await fileOf('b.csv', ['Code,Name,Area', ...lines].join('\n'))
    const found = await sample(file, null, 100)
    expect(found).toMatchObject({ complete: false, header_row: 1, records: [], issues: [] })
    expect(found.rows).toHaveLength(100)
  })

  test('of a file that is no table says why', async () => {
    const file = await fileOf('c.csv', '%PDF-1.7 \u0000')
    const adapter = readAdapter(adapterOf(), registry)
    await expect(sample(file, adapter, 10)).rejects.toMatchObject({
      name: 'FileError',
      code: 'not_a_csv',
    })
  })

  test('that takes too long is given up, and the next one is taken', async () => {
    const many = 100_000
    const large = await fileOf('e.csv', `Code,Name\n${'A,Alpha\n'.repeat(many)}`)
    await expect(sample(large, null, many, 1)).rejects.toMatchObject({ code: 'time_budget' })
    const file = await fileOf('d.csv', 'Code,Name\nA,Alpha\n')
    expect((await sample(file, null, 10)).rows).toHaveLength(1)
  })
})

describe('the columns of a file', () => {
  test('come with their values, blanks counted', async () => {
    const file = await fileOf('e.csv', '\ufeffCode;Area\nA;"1.000"\nB;\n')
    expect(await columnsOf(file, null)).toMatchObject({
      source: { kind: 'csv' },
      header_row: 1,
      rows: 2,
      complete: true,
      columns: [
        { name: 'Code', values: ['A', 'B'], blank: 0 },
        { name: 'Area', values: ['1.000'], blank: 1 },
      ],
    })
  })

  test('are found below the title of a report', async () => {
    const rows = [
      ['Rent Roll', null, null],
      ['As of', '2025-05-31', null],
      ['Unit', 'Tenant', 'Monthly Rent'],
      ['101', 'Acme', 1200],
    ]
    const file = await fileOf('f.xlsx', buildWorkbook({ sheets: [{ name: 'Roll', rows }] }))
    const found = await columnsOf(file, null)
    expect(found.source).toEqual({
      kind: 'xlsx',
      header: { find: ['Unit', 'Tenant', 'Monthly Rent'], max_scan: 30 },
    })
    expect(found.columns.map(({ name }) => name)).toEqual(['Unit', 'Tenant', 'Monthly Rent'])
  })
})
