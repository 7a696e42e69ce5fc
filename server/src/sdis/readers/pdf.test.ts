/** Tables of PDF documents. */
import { deflateSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { fileFixture, openHandles, readAll, refusal } from './file-fixture.ts'
import { openTable } from './open.ts'
import { buildPdf, pdfRows } from './pdf-fixture.ts'
import type { Table, TableSource } from './types.ts'

const files = fileFixture()
afterAll(() => files.remove())

const opened = (
  bytes: Uint8Array,
  source: Partial<TableSource> = {},
  limits = {},
): Promise<Table> => openTable(files.write('test.pdf', bytes), { kind: 'pdf', ...source }, limits)

const HEADER = ['Unit', 'Tenant', 'Monthly Rent']

describe('a table of a document', () => {
  test('is read from where its texts stand, over its pages', async () => {
    const first = pdfRows([['Rent Roll Harbor Point'], HEADER, ['101', 'Acme Corp', '1,200.00']])
    const second = pdfRows([HEADER, ['102', '', '900.00'], ['103', 'Beta', '']])
    const table = await opened(buildPdf([first, second]), { header: { find: ['Unit', 'Tenant'] } })
    expect(table.columns).toEqual(HEADER)
    expect((await readAll(table)).map(({ cells }) => cells)).toEqual([
      ['101', 'Acme Corp', '1,200.00'],
      ['102', null, '900.00'],
      ['103', 'Beta', null],
    ])
    expect(openHandles(files.folder)).toBe(0)
  })

  test('has cells of several words, and figures under the right end of their title', async () => {
    const page = buildPdf([
      [
        [50, 700, 'Unit'],
        [150, 700, 'Tenant Name'],
        [400, 700, 'Rent'],
        [50, 686, '1'],
        [150, 686, 'Acme'],
        [178, 686, 'Corp'],
        [411, 686, '12'],
      ],
    ])
    const [row] = await readAll(await opened(page))
    expect(row?.cells).toEqual(['1', 'Acme Corp', '12'])
  })
})

/** Five digits of base 85 for each four bytes. */
function base85(bytes: Buffer): Buffer {
  const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
  let text = ''
  for (let at = 0; at < padded.length; at += 4) {
    const group = padded.readUInt32BE(at)
    for (let power = 85 ** 4; power >= 1; power /= 85)
      text += String.fromCharCode(33 + (Math.floor(group / power) % 85))
  }
  return Buffer.from(`${text}~>`)
}

const FLATE = '/FlateDecode'

describe('a document that is packed', () => {
  const rows = [HEADER, ['1', '2', '3']]
  /** Blanks at the end of a page, of which the reader makes nothing. */
  const bomb = (content: string): Buffer => deflateSync(content + ' '.repeat(2_000_000))

  test.each<[string, string, (content: string) => Buffer]>([
    ['deflated', FLATE, (content) => deflateSync(content)],
    ['as text', `[/ASCII85Decode ${FLATE}]`, (content) => base85(deflateSync(content))],
    ['as digits', `[/ASCIIHexDecode ${FLATE}]`, (content) => hex(deflateSync(content))],
  ])('%s is read', async (_, filter, pack) => {
    const file = buildPdf([pdfRows(rows)], (content) => ({ filter, bytes: pack(content) }))
    const [row] = await readAll(await opened(file, {}, { max_unzipped_bytes: 100_000 }))
    expect(row?.cells).toEqual(['1', '2', '3'])
  })

  test.each<[string, string, (content: string) => Buffer]>([
    ['deflated', FLATE, bomb],
    ['by a name with escapes', '/Fl#61teDecode', bomb],
    ['as text', `[/A85 ${FLATE}]`, (content) => base85(bomb(content))],
    ['as digits', `[/AHx ${FLATE}]`, (content) => hex(bomb(content))],
    ['twice', `[${FLATE} ${FLATE}]`, (content) => deflateSync(bomb(content))],
    ['by runs', '/RunLengthDecode', () => Buffer.from('\x81 '.repeat(15_000), 'latin1')],
    ['by codes', '/LZWDecode', () => Buffer.alloc(60_000, 0x55)],
  ])('%s is refused when it comes to more than it may', async (_, filter, pack) => {
    const file = buildPdf([pdfRows(rows)], (content) => ({ filter, bytes: pack(content) }))
    const limits = { max_unzipped_bytes: 1_000_000 }
    expect(await refusal(opened(file, {}, limits))).toMatchObject({ code: 'zip_bomb' })
  })
})

const hex = (bytes: Buffer): Buffer => Buffer.from(`${bytes.toString('hex')}>`)

describe('refused', () => {
  const page = pdfRows([HEADER, ['1', '2', '3']])
  test.each<[string, Uint8Array, object, string]>([
    ['nothing', Buffer.from(''), {}, 'empty_file'],
    ['another kind of file', Buffer.from('Unit,Tenant\n'), {}, 'not_a_pdf'],
    ['a damaged document', Buffer.from('%PDF-1.4 and nothing else'), {}, 'damaged_file'],
    ['half a document', buildPdf([page]).subarray(0, 200), {}, 'damaged_file'],
    ['a scan', buildPdf([[], []]), {}, 'no_text'],
    ['too many pages', buildPdf([page, page]), { max_pages: 1 }, 'too_many_pages'],
  ])('%s', async (_, bytes, limits, code) => {
    expect((await refusal(opened(bytes, {}, limits))).code).toBe(code)
  })
})
