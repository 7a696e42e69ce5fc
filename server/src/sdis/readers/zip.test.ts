import { deflateRawSync } from 'node:zlib'
import { afterAll, describe, expect, test, vi } from 'vitest'

import { fileFixture, openHandles, readAll, refusal } from './file-fixture.ts'
import { openTable } from './open.ts'
import type { FileError, Limits } from './types.ts'
import {
  buildWorkbook,
  buildZip,
  sheetPart,
  workbookEntries,
  zippedRun,
  type FixtureEntry,
} from './workbook-fixture.ts'

const files = fileFixture()
afterAll(() => files.remove())

const GB = 1_073_741_824
const rows = [
  ['a', 'b'],
  ['x', 1],
]
const good = buildWorkbook({ sheets: [{ name: 'A', rows }] })

const refusalOf = async (
  bytes: string | Uint8Array,
  limits: Partial<Limits> = {},
): Promise<FileError> => {
  const path = files.write('test.xlsx', bytes)
  const error = await refusal(openTable(path, { kind: 'xlsx' }, limits))
  // yauzl does not wait for its handle to close when it cannot read a directory.
  await vi.waitFor(() => expect(openHandles(path)).toBe(0))
  return error
}

/** A workbook whose entry of this name is changed. */
const spoiled = (name: string, change: Partial<FixtureEntry>): Buffer =>
  buildZip(
    workbookEntries({ sheets: [{ name: 'A', rows }] }).map((entry) =>
      entry.name === name ? { ...entry, ...change } : entry,
    ),
  )

const SHEET = 'xl/worksheets/sheet1.xml'

describe('zip bombs', () => {
  const zeros = zippedRun(2 * GB, 0)

  test('2 GB of zeros, declared', async () => {
    expect(zeros.length).toBeLessThan(3_000_000)
    const error = await refusalOf(spoiled(SHEET, { zipped: zeros, size: 2 * GB }))
    expect(error.code).toBe('zip_bomb')
  })

  test('2 GB, declared as less', async () => {
    const blanks = zippedRun(2 * GB, 32)
    const error = await refusalOf(spoiled(SHEET, { zipped: blanks, size: 900_000 }))
    expect(error.code).toBe('zip_bomb')
    expect(error.message).toContain('more than it declares')
    // Zeros are no XML, so the first of them ends the reading.
    const zero = await refusalOf(spoiled(SHEET, { zipped: zeros, size: 900_000 }))
    expect(zero.code).toBe('damaged_file')
  })

  test('below the cap but far more than its size', async () => {
    const sheet = sheetPart('<row><c><v>0</v></c></row>'.repeat(200_000))
    const bytes = spoiled(SHEET, { data: sheet })
    const error = await refusalOf(bytes)
    expect(error.message).toContain('times its size')
    const path = files.write('allowed.xlsx', bytes)
    const table = await openTable(path, { kind: 'xlsx' }, { max_ratio: 1000 })
    expect(await readAll(table)).toHaveLength(199_999)
  })

  test('many parts that are small each', async () => {
    const entries = Array.from({ length: 50 }, (_, at) => ({
      name: `p${at}`,
      data: 'x'.repeat(1000),
    }))
    const bytes = buildZip([...workbookEntries({ sheets: [{ name: 'A', rows }] }), ...entries])
    expect((await refusalOf(bytes, { max_entries: 50 })).code).toBe('zip_bomb')
    expect((await refusalOf(bytes, { max_unzipped_bytes: 40_000 })).code).toBe('zip_bomb')
  })

  test('parts that share the same bytes', async () => {
    const entries = workbookEntries({ sheets: [{ name: 'A', rows }] })
    const copies = Array.from({ length: 3 }, (_, at) => ({
      name: `copy${at}`,
      data: entries[0]?.data ?? '',
      same_as: entries[0]?.name ?? '',
    }))
    const error = await refusalOf(buildZip([...entries, ...copies]))
    expect(error.message).toContain('share the same bytes')
  })

  test('a part that is used stays within its cap though others do not matter', async () => {
    const image = { name: 'xl/media/blank.bmp', data: Buffer.alloc(2_000_000) }
    const bytes = buildZip([...workbookEntries({ sheets: [{ name: 'A', rows }] }), image])
    const table = await openTable(files.write('image.xlsx', bytes), { kind: 'xlsx' })
    expect(await readAll(table)).toEqual([{ row: 2, cells: ['x', 1] }])
  })
})

describe('files that are no workbook', () => {
  const ole = (names: string[]): Buffer => {
    const bytes = Buffer.alloc(4096)
    Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(bytes)
    bytes.writeUInt16LE(9, 30)
    bytes.writeUInt32LE(1, 48)
    for (const [at, name] of names.entries()) bytes.write(name + '\0', 1024 + 128 * at, 'utf16le')
    return bytes
  }

  test.each([
    ['PDF', '%PDF-1.7\n%âãÏÓ\n1 0 obj'],
    ['text', 'a,b\n1,2\n'],
    ['HTML', '<html><table></table></html>'],
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
    ['XLS', ole(['Root Entry', 'Workbook'])],
    ['DOC', ole(['Root Entry', '', '', '', '', 'WordDocument'])],
    ['ZIP', buildZip([{ name: 'a.txt', data: 'x' }])],
    ['DOCX', buildZip([{ name: 'word/document.xml', data: '<document/>' }])],
    ['XLSB', buildZip([{ name: 'xl/workbook.bin', data: 'x' }])],
    [
      'OpenDocument',
      buildZip([{ name: 'mimetype', data: 'x', stored: true }, { name: 'content.xml' }]),
    ],
  ])('%s under the name of .xlsx', async (looks_like, bytes) => {
    const error = await refusalOf(bytes)
    expect(error).toMatchObject({ code: 'not_a_workbook', details: { looks_like } })
  })

  test('an encrypted workbook', async () => {
    const office = await refusalOf(ole(['Root Entry', 'EncryptionInfo', 'EncryptedPackage']))
    expect(office.code).toBe('encrypted_workbook')
    expect((await refusalOf(spoiled(SHEET, { flags: 1 }))).code).toBe('encrypted_workbook')
    expect((await refusalOf(spoiled(SHEET, { flags: 0x41 }))).code).toBe('encrypted_workbook')
  })

  test('nothing at all', async () => {
    expect((await refusalOf('')).code).toBe('empty_file')
  })
})

describe('damage', () => {
  test('cut anywhere, the file is refused as cut', async () => {
    for (let length = 4; length < good.length; length += 61) {
      expect((await refusalOf(good.subarray(0, length))).code).toBe('truncated_file')
    }
  })

  test('data that ends too early', async () => {
    const zipped = deflateRawSync(Buffer.from(sheetPart('<row/>'))).subarray(0, -8)
    const data = sheetPart('<row/>')
    expect((await refusalOf(spoiled(SHEET, { data, zipped }))).code).toBe('truncated_file')
  })

  test.each([
    ['a wrong checksum', { crc: 1 }],
    ['a size too large', { size: 5000 }],
    ['no deflate data', { zipped: Buffer.from('not deflate data at all') }],
    ['a name that stands twice', { name: 'xl/workbook.xml' }],
  ])('%s', async (_, change) => {
    expect((await refusalOf(spoiled(SHEET, change))).code).toBe('damaged_file')
  })

  test.each(['xl/styles.xml', 'xl/sharedStrings.xml', SHEET, 'xl/_rels/workbook.xml.rels'])(
    'the part %s is missing',
    async (name) => {
      const error = await refusalOf(
        buildWorkbook({ sheets: [{ name: 'A', rows }], parts: { [name]: null } }),
      )
      expect(error.code).toBe('damaged_file')
    },
  )

  test('any flipped byte is read right or refused, never anything else', async () => {
    const expected = [{ row: 2, cells: ['x', 1] }]
    for (let at = 0; at < good.length; at += 17) {
      const bytes = Buffer.from(good)
      bytes[at] = (bytes[at] ?? 0) ^ 0x10
      const opening = openTable(files.write('flipped.xlsx', bytes), { kind: 'xlsx' })
      const found = await opening.then(readAll).catch((error: unknown) => error)
      if (Array.isArray(found)) expect(found).toEqual(expected)
      else expect(found).toHaveProperty('name', 'FileError')
    }
    await vi.waitFor(() => expect(openHandles(files.folder)).toBe(0))
  })

  test('names that would leave the folder are only names', async () => {
    const entries = workbookEntries({ sheets: [{ name: 'A', rows }] })
    const bytes = buildZip([
      ...entries,
      { name: '../../etc/passwd', data: 'x' },
      { name: '/abs', data: 'x' },
    ])
    const table = await openTable(files.write('names.xlsx', bytes), { kind: 'xlsx' })
    expect(await readAll(table)).toHaveLength(1)
  })
})
