import { constants, crc32, deflateRawSync } from 'node:zlib'

/** A value of a fixture cell; `xml` is written as it stands, for what the other forms cannot say. */
export type FixtureCell =
  | string
  | number
  | boolean
  | null
  | { date: string }
  | { serial: number; style: number }
  | { inline: string }
  | { formula: string; value: string | number }
  | { error: string }
  | { xml: string }

/** One sheet; `xml` replaces the whole part. */
export interface FixtureSheet {
  name: string
  rows?: FixtureCell[][]
  /** Merged ranges such as A1:A3. */
  merged?: string[]
  hidden?: boolean
  xml?: string
}

/** A workbook for a test. */
export interface FixtureWorkbook {
  sheets: FixtureSheet[]
  date1904?: boolean
  /** Number formats of the styles from 2 on; 0 is General, 1 a date. A number is a built-in id. */
  formats?: (string | number)[]
  /** Parts to add or replace; null leaves one out. */
  parts?: Record<string, string | Buffer | null>
}

/** One entry of an archive. `zipped`, `size` and `crc` let a test lie about the data. */
export interface FixtureEntry {
  name: string
  data?: string | Buffer
  /** Raw deflate data to write instead of that of `data`. */
  zipped?: Buffer
  size?: number
  crc?: number
  /** Stored, not deflated. */
  stored?: boolean
  flags?: number
  /** Points the directory at the bytes of this earlier entry. */
  same_as?: string
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships'
const DAY_MS = 86_400_000

/** The bytes of an .xlsx file, written as Excel lays it out. */
export function buildWorkbook(workbook: FixtureWorkbook): Buffer {
  return buildZip(workbookEntries(workbook))
}

/** The parts of a workbook, for tests that spoil some of them before they are zipped. */
export function workbookEntries(workbook: FixtureWorkbook): FixtureEntry[] {
  const { sheets } = workbook
  const strings = new Map<string, number>()
  const rels = sheets.map((_, at) =>
    relation(`rId${at + 1}`, 'worksheet', `worksheets/sheet${at + 1}.xml`),
  )
  rels.push(relation('rIdS', 'styles', 'styles.xml'))
  rels.push(relation('rIdT', 'sharedStrings', 'sharedStrings.xml'))
  const parts: Record<string, string | Buffer | null> = {
    '_rels/.rels': relations([relation('rId1', 'officeDocument', 'xl/workbook.xml')]),
    'xl/workbook.xml': workbookXml(workbook),
    'xl/_rels/workbook.xml.rels': relations(rels),
    'xl/styles.xml': stylesXml(workbook.formats ?? []),
  }
  for (const [at, sheet] of sheets.entries()) {
    const rows = sheetXml(sheet.rows ?? [], strings, workbook.date1904 ?? false)
    const merged = (sheet.merged ?? []).map((ref) => `<mergeCell ref="${ref}"/>`).join('')
    const merges = merged && `<mergeCells>${merged}</mergeCells>`
    const xml = sheet.xml ?? rows.replace('</sheetData>', `</sheetData>${merges}`)
    parts[`xl/worksheets/sheet${at + 1}.xml`] = xml
  }
  const items = [...strings.keys()].map(
    (text) => `<si><t xml:space="preserve">${escape(text)}</t></si>`,
  )
  parts['xl/sharedStrings.xml'] = `<sst xmlns="${MAIN}">${items.join('')}</sst>`
  return Object.entries({ ...parts, ...workbook.parts }).flatMap(([name, data]) =>
    data === null ? [] : [{ name, data }],
  )
}

/** The part of a sheet around its rows. */
export function sheetPart(rowsXml: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="${MAIN}"><cols><col min="1" max="2"/></cols><sheetData>${rowsXml}</sheetData><pageMargins left="0.7"/></worksheet>`
}

/** The part that names the relations of another. */
export function relations(items: string[]): string {
  return `<Relationships xmlns="${PACKAGE}">${items.join('')}</Relationships>`
}

/** One relation. */
export function relation(id: string, type: string, target: string): string {
  return `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`
}

/** An archive of these entries, with whatever lies they tell. */
export function buildZip(entries: FixtureEntry[]): Buffer {
  const chunks: Buffer[] = []
  const directory: Buffer[] = []
  const offsets = new Map<string, number>()
  let offset = 0
  for (const entry of entries) {
    const { header, body, tail } = zipEntry(entry)
    const at = entry.same_as === undefined ? offset : (offsets.get(entry.same_as) ?? 0)
    offsets.set(entry.name, at)
    directory.push(directoryEntry(header, tail, at))
    if (entry.same_as !== undefined) continue
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), header, tail, body])
    chunks.push(local)
    offset += local.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...chunks, list, end])
}

/** Raw deflate data of `count` equal bytes, made of one flushed piece over and over. */
export function zippedRun(count: number, byte: number): Buffer {
  const finishFlush = constants.Z_FULL_FLUSH
  const piece = deflateRawSync(Buffer.alloc(2 ** 24, byte), { finishFlush })
  const last = deflateRawSync(Buffer.alloc(count % 2 ** 24, byte))
  return Buffer.concat([...Array<Buffer>(Math.floor(count / 2 ** 24)).fill(piece), last])
}

function zipEntry(entry: FixtureEntry): { header: Buffer; body: Buffer; tail: Buffer } {
  const data = Buffer.from(entry.data ?? '')
  const body = entry.zipped ?? (entry.stored ? data : deflateRawSync(data))
  const name = Buffer.from(entry.name)
  const header = Buffer.alloc(26)
  header.writeUInt16LE(20, 0)
  header.writeUInt16LE(0x800 | (entry.flags ?? 0), 2)
  header.writeUInt16LE(entry.stored ? 0 : 8, 4)
  header.writeUInt32LE(entry.crc ?? crc32(data), 10)
  header.writeUInt32LE(body.length, 14)
  header.writeUInt32LE(entry.size ?? data.length, 18)
  header.writeUInt16LE(name.length, 22)
  return { header, body, tail: name }
}

function directoryEntry(header: Buffer, name: Buffer, offset: number): Buffer {
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE(offset, 10)
  return Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), header, rest, name])
}

function workbookXml({ sheets, date1904 }: FixtureWorkbook): string {
  const items = sheets.map(({ name, hidden }, at) => {
    const state = hidden ? ' state="hidden"' : ''
    return `<sheet name="${escape(name)}" sheetId="${at + 1}"${state} r:id="rId${at + 1}"/>`
  })
  return `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr date1904="${date1904 ? 1 : 0}"/><sheets>${items.join('')}</sheets></workbook>`
}

function stylesXml(formats: (string | number)[]): string {
  const ids = formats.map((format, at) => (typeof format === 'number' ? format : 200 + at))
  const codes = formats.flatMap((format, at) =>
    typeof format === 'string'
      ? [`<numFmt numFmtId="${200 + at}" formatCode="${escape(format)}"/>`]
      : [],
  )
  const xfs = [0, 14, ...ids].map((id) => `<xf numFmtId="${id}" xfId="0"/>`)
  return `<styleSheet xmlns="${MAIN}"><numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="22"/></cellStyleXfs><cellXfs>${xfs.join('')}</cellXfs><dxfs><dxf><numFmt numFmtId="0" formatCode="yyyy"/></dxf></dxfs></styleSheet>`
}

function sheetXml(rows: FixtureCell[][], strings: Map<string, number>, date1904: boolean): string {
  const epoch_ms = date1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30)
  const lines = rows.map((cells, row) => {
    const xml = cells.map((cell, column) => cellXml(cell, place(row, column), strings, epoch_ms))
    return `<row r="${row + 1}">${xml.join('')}</row>`
  })
  return sheetPart(lines.join(''))
}

function cellXml(
  cell: FixtureCell,
  r: string,
  strings: Map<string, number>,
  epoch_ms: number,
): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return `<c r="${r}"><v>${cell}</v></c>`
  if (typeof cell === 'boolean') return `<c r="${r}" t="b"><v>${cell ? 1 : 0}</v></c>`
  if (typeof cell === 'string') {
    if (!strings.has(cell)) strings.set(cell, strings.size)
    return `<c r="${r}" t="s"><v>${strings.get(cell)}</v></c>`
  }
  if ('date' in cell) {
    return `<c r="${r}" s="1"><v>${(Date.parse(cell.date) - epoch_ms) / DAY_MS}</v></c>`
  }
  if ('serial' in cell) return `<c r="${r}" s="${cell.style}"><v>${cell.serial}</v></c>`
  if ('inline' in cell)
    return `<c r="${r}" t="inlineStr"><is><t>${escape(cell.inline)}</t></is></c>`
  if ('error' in cell) return `<c r="${r}" t="e"><v>${cell.error}</v></c>`
  if ('xml' in cell) return cell.xml
  const type = typeof cell.value === 'string' ? ' t="str"' : ''
  return `<c r="${r}"${type}><f>${escape(cell.formula)}</f><v>${escape(String(cell.value))}</v></c>`
}

function place(row: number, column: number): string {
  const letter = String.fromCharCode(65 + (column % 26))
  return (
    (column < 26 ? '' : String.fromCharCode(64 + Math.floor(column / 26))) +
    letter +
    String(row + 1)
  )
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
