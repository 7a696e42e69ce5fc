import { afterAll, describe, expect, test } from 'vitest'

import { fileFixture, openHandles, readAll, refusal } from './file-fixture.ts'
import { openTable } from './open.ts'
import type { Cell, TableSource } from './types.ts'

const files = fileFixture()
afterAll(() => files.remove())

const csv = (options: Omit<TableSource, 'kind'> = {}): TableSource => ({ kind: 'csv', ...options })

const read = async (
  bytes: string | Uint8Array,
  options: Omit<TableSource, 'kind'> = {},
): Promise<{ columns: string[]; header_row: number; cells: Cell[][] }> => {
  const table = await openTable(files.write('read.csv', bytes), csv(options))
  const rows = await readAll(table)
  return { columns: table.columns, header_row: table.header_row, cells: rows.map((r) => r.cells) }
}

describe('columns and rows of a CSV file', () => {
  test('a mark, CRLF, quotes with line ends and blanks', async () => {
    const path = files.write(
      'a.csv',
      '\ufeffId,Name,Note\r\n1,"A\r\nB",\r\n\r\n2,"say ""hi""",x\r\n',
    )
    const table = await openTable(path, csv())
    expect(table.columns).toEqual(['Id', 'Name', 'Note'])
    expect(table.header_row).toBe(1)
    expect(await readAll(table)).toEqual([
      { row: 2, cells: ['1', 'A\r\nB', null] },
      { row: 5, cells: ['2', 'say "hi"', 'x'] },
    ])
  })

  test('short rows are padded, blank extra cells dropped, others dropped and flagged', async () => {
    const table = await openTable(files.write('b.csv', 'a,b\n1\n1,2,\n1,2,3\n ,\n'), csv())
    expect(await readAll(table)).toEqual([
      { row: 2, cells: ['1', null] },
      { row: 3, cells: ['1', '2'] },
      { row: 4, cells: ['1', '2'], extra: true },
    ])
  })

  test('column names are trimmed, unique and never blank', async () => {
    const { columns } = await read('\n a ,b,a,,a (2),a,,\n1\n')
    expect(columns).toEqual(['a', 'b', 'a (3)', 'column_4', 'a (2)', 'a (4)'])
  })

  test('the header is found below title lines, whatever case and blanks', async () => {
    const text = 'Rent roll, 2025\n\nAs of,today\n Lease  no ,UNIT,Rent\nL1,U1,5\n'
    const found = await read(text, { header: { find: ['Unit', 'lease No'] } })
    expect(found).toEqual({
      columns: ['Lease  no', 'UNIT', 'Rent'],
      header_row: 4,
      cells: [['L1', 'U1', '5']],
    })
  })

  test('a missing column is named along with the closest row', async () => {
    const path = files.write('c.csv', 'Title\nUnit,Rent\n1,2\n')
    const error = await refusal(
      openTable(path, csv({ header: { find: ['Unit', 'Tenant', 'Rent'] } })),
    )
    expect(error.code).toBe('missing_columns')
    expect(error.details).toEqual({ missing: ['Tenant'], found: ['Unit', 'Rent'], row: 2 })
    expect(error.message).toContain('"Tenant"')
  })

  test('a header below max_scan is not found', async () => {
    const path = files.write('d.csv', 'x\n'.repeat(30) + 'Unit,Rent\n1,2\n')
    const find = ['Unit']
    expect((await refusal(openTable(path, csv({ header: { find } })))).code).toBe('missing_columns')
    const table = await openTable(path, csv({ header: { find, max_scan: 31 } }))
    expect(table.header_row).toBe(31)
    await table.close()
  })

  test.each([
    ['a;b;c\n1,5;2,5;3,5\n4,5;5,5;6,5\n', ['a', 'b', 'c']],
    ['a\tb\nx, y\tz\n', ['a', 'b']],
    ['a|b\n1|2\n', ['a', 'b']],
    ['"a;x","b"\n"1;2","3"\n', ['a;x', 'b']],
    ['a;b', ['a', 'b']],
    ['only\n1\n2\n', ['only']],
  ])('the delimiter of %j is found out', async (text, columns) => {
    expect((await read(text)).columns).toEqual(columns)
  })

  test('title lines with commas do not hide the delimiter', async () => {
    const found = await read('Acme, Inc, Berlin\n\na;b\n1;2\n3;4\n', { header: { find: ['b'] } })
    expect(found.cells).toEqual([
      ['1', '2'],
      ['3', '4'],
    ])
  })

  test('a stated delimiter is taken, one of two characters is an error of the caller', async () => {
    expect((await read('a,b;c\n1;2\n', { delimiter: ';' })).columns).toEqual(['a,b', 'c'])
    await expect(openTable('none', csv({ delimiter: '||' }))).rejects.toThrow(TypeError)
  })
})

describe('encodings', () => {
  test('UTF-8 characters may lie across the pieces that are read', async () => {
    const text = 'a,b\n' + '漢字😀é,x\n'.repeat(20_000)
    const { cells } = await read(text)
    expect(cells).toHaveLength(20_000)
    expect(cells.every(([first]) => first === '漢字😀é')).toBe(true)
  })

  test('Windows-1252 if stated, but a UTF-8 mark wins', async () => {
    const encoding = 'windows-1252'
    expect((await read(Buffer.from('a\nK\xf6ln \x80\n', 'latin1'), { encoding })).cells).toEqual([
      ['Köln €'],
    ])
    expect((await read('\ufeffa\nKöln €\n', { encoding })).cells).toEqual([['Köln €']])
  })

  test('bytes that are not UTF-8 are refused with their line', async () => {
    const bytes = Buffer.from('a\n"1\n2"\nK\xf6ln\n', 'latin1')
    const error = await refusal(openTable(files.write('e.csv', bytes), csv()))
    expect(error.code).toBe('unsupported_encoding')
    expect(error.details).toEqual({ row: 4 })
  })

  test('a character cut by the end of the file is refused', async () => {
    const bytes = Buffer.from('a\n1 €').subarray(0, -1)
    const error = await refusal(openTable(files.write('f.csv', bytes), csv()))
    expect(error.code).toBe('unsupported_encoding')
  })

  test.each([
    ['with a mark', Buffer.from('\ufeffa,b\n1,2\n', 'utf16le')],
    ['without', Buffer.from('name,rent\nx,2\n', 'utf16le')],
  ])('UTF-16 %s is refused', async (_, bytes) => {
    const error = await refusal(openTable(files.write('g.csv', bytes), csv()))
    expect(error).toMatchObject({ code: 'unsupported_encoding', details: { looks_like: 'UTF-16' } })
  })
})

describe('files that are refused', () => {
  test.each([
    ['PDF', '%PDF-1.7\n%âãÏÓ\n'],
    ['zip', Buffer.from('PK\x03\x04\x14\0\0\0')],
    ['HTML', '\n<!DOCTYPE html><table><tr><td>1</td></tr></table>'],
    ['binary data', Buffer.from([1, 2, 0, 3, 4, 5, 6, 7, 8])],
  ])('%s under the name of CSV', async (looks_like, bytes) => {
    const error = await refusal(openTable(files.write('h.csv', bytes), csv()))
    expect(error).toMatchObject({ code: 'not_a_csv', details: { looks_like } })
  })

  test('a zero byte far into the file', async () => {
    const path = files.write('i.csv', 'a,b\n' + '1,2\n'.repeat(30_000) + '1,\0\n')
    expect((await refusal(openTable(path, csv()))).code).toBe('not_a_csv')
  })

  test.each(['', '\ufeff', '\n\n , \n'])('nothing in the file: %j', async (text) => {
    expect((await refusal(openTable(files.write('j.csv', text), csv()))).code).toBe('empty_file')
  })

  test('a quote that is never closed', async () => {
    const long = files.write('k.csv', 'a,b\n1,"2\n' + '3,4\n'.repeat(100_000))
    expect(await refusal(openTable(long, csv()))).toMatchObject({
      code: 'cell_too_long',
      details: { row: 2, column: 2 },
    })
    const short = files.write('l.csv', 'a,b\n1,"2\n3,4\n')
    expect((await refusal(openTable(short, csv()))).code).toBe('malformed_csv')
  })

  test('more rows or columns than allowed', async () => {
    const path = files.write('m.csv', 'a,b,c\n1,2,3\n4,5,6\n\n7,8,9\n')
    const rows = await refusal(openTable(path, csv(), { max_rows: 2 }))
    expect(rows).toMatchObject({ code: 'too_many_rows', details: { limit: 2, row: 5 } })
    const columns = await refusal(openTable(path, csv(), { max_columns: 2 }))
    expect(columns).toMatchObject({ code: 'too_many_columns', details: { limit: 2, row: 1 } })
    expect(
      await readAll(await openTable(path, csv(), { max_rows: 3, max_columns: 3 })),
    ).toHaveLength(3)
  })

  test('a file that is not there keeps the error of the system', async () => {
    await expect(openTable(`${files.folder}/none.csv`, csv())).rejects.toThrow('ENOENT')
  })
})

describe('reading in batches', () => {
  const path = files.write('many.csv', 'a,b\n' + '1,2\n'.repeat(100_000))

  test('batches have up to 1000 rows, are read as asked for, and counted in bytes', async () => {
    const table = await openTable(path, csv())
    const sizes: number[] = []
    let half = 0
    for await (const batch of table.rows) {
      sizes.push(batch.length)
      if (sizes.length === 50) half = table.stats().bytes_read
    }
    expect(sizes.slice(0, -1).every((size) => size === 1000)).toBe(true)
    expect(sizes.reduce((a, b) => a + b)).toBe(100_000)
    expect(half).toBeGreaterThan(190_000)
    expect(half).toBeLessThan(290_000)
    expect(table.stats()).toEqual({ bytes_read: 400_004, bytes_total: 400_004 })
  })

  test('batches of long cells end earlier', async () => {
    const text = 'a,b\n' + `${'x'.repeat(60_000)},1\n`.repeat(200)
    const table = await openTable(files.write('long.csv', text), csv())
    const sizes: number[] = []
    for await (const batch of table.rows) sizes.push(batch.length)
    expect(Math.max(...sizes)).toBeLessThan(80)
    expect(sizes.reduce((a, b) => a + b)).toBe(200)
  })

  test('the file is closed at the end, on leaving early, on close and on errors', async () => {
    expect(openHandles(path)).toBe(0)
    await readAll(await openTable(path, csv()))
    expect(openHandles(path)).toBe(0)
    const left = await openTable(path, csv())
    expect(openHandles(path)).toBe(1)
    for await (const _ of left.rows) break
    expect(openHandles(path)).toBe(0)
    const unread = await openTable(path, csv())
    await unread.close()
    await unread.close()
    await expect(readAll(unread)).rejects.toThrow('closed')
    expect(openHandles(path)).toBe(0)
    const returned = (await openTable(path, csv())).rows[Symbol.asyncIterator]()
    await returned.return?.()
    await refusal(openTable(path, csv(), { max_rows: 5000 }))
    await refusal(openTable(path, csv({ header: { find: ['z'] } })))
    const consumer = async (): Promise<void> => {
      for await (const _ of (await openTable(path, csv())).rows) throw new Error('stop')
    }
    await expect(consumer()).rejects.toThrow('stop')
    expect(openHandles(path)).toBe(0)
  })

  test('rows can be read only once', async () => {
    const table = await openTable(path, csv())
    await readAll(table)
    await expect(readAll(table)).rejects.toThrow('only once')
  })
})
