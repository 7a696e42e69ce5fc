/**
 * A workbook written as its rows come: the sheet is compressed and sent while the next rows are read, so that its length
 * takes no memory. Office Open XML as ECMA-376 part 1 has it: SpreadsheetML with inline strings.
 */
import { PassThrough } from 'node:stream'
import type { Readable } from 'node:stream'
import { once } from 'node:events'
import { ZipFile } from 'yazl'
import type { Row } from '../resource.ts'
import { cellText, valueAt } from './columns.ts'
import type { TableColumn } from './columns.ts'

/** Rows a sheet can have, the header included; what is more goes to a further sheet. */
const SHEET_ROWS = 1_048_576

/** Characters a cell can have. */
const CELL_CHARS = 32_767

/** Digits that a spreadsheet keeps of a number. */
const EXACT_DIGITS = 15

/** Positions in `cellXfs` below. */
const STYLE = { header: 1, date: 2, datetime: 3, cents: 4, rate: 5 } as const

const DAY_MS = 86_400_000

/** Day 0 of the 1900 system, for days after 1900-02-29, which is a day there. */
const DAY_ZERO = Date.UTC(1899, 11, 30)
const FIRST_SAFE_DAY = 61

/**
 * The bytes of a workbook.
 * @param pages rows, as many at a time as there are; what they throw ends the stream.
 * @param sheet_rows rows per sheet, for tests.
 */
export function workbook(
  columns: readonly TableColumn[],
  pages: AsyncIterable<Row[]>,
  sheet_rows = SHEET_ROWS,
): Readable {
  const zip = new ZipFile()
  const output = zip.outputStream as PassThrough
  zip.on('error', (error: Error) => output.destroy(error))
  fill(zip, output, columns, pages, sheet_rows).catch((error: unknown) =>
    output.destroy(error as Error),
  )
  return output
}

async function fill(
  zip: ZipFile,
  output: PassThrough,
  columns: readonly TableColumn[],
  pages: AsyncIterable<Row[]>,
  sheet_rows: number,
): Promise<void> {
  const letters = columns.map((_, i) => columnLetters(i))
  let sheets = 0
  let left = 0
  let sheet: PassThrough | null = null
  const begin = (): PassThrough => {
    const stream = new PassThrough({ highWaterMark: 1024 * 1024 })
    output.once('close', () => stream.destroy())
    sheets++
    zip.addReadStream(stream, `xl/worksheets/sheet${sheets}.xml`, { compressionLevel: 1 })
    stream.write(SHEET_HEAD + headerRow(columns, letters))
    left = sheet_rows - 1
    return stream
  }
  const end = (stream: PassThrough): void => void stream.end(SHEET_TAIL)
  for await (const rows of pages) {
    let text = ''
    for (const row of rows) {
      if (sheet && left === 0) {
        sheet.write(text)
        text = ''
        end(sheet)
        sheet = null
      }
      sheet ??= begin()
      text += sheetRow(columns, letters, row, sheet_rows - left + 1)
      left--
    }
    sheet ??= begin()
    if (!sheet.write(text) && !sheet.destroyed) await drained(sheet)
    if (output.destroyed) return
  }
  end(sheet ?? begin())
  for (const [name, part] of parts(sheets)) zip.addBuffer(Buffer.from(part), name)
  zip.end()
}

/** Waits until there is room again, or the reader has gone. */
async function drained(stream: PassThrough): Promise<void> {
  const gone = new AbortController()
  await Promise.race([
    once(stream, 'drain', { signal: gone.signal }),
    once(stream, 'close', { signal: gone.signal }),
  ]).finally(() => gone.abort())
}

function headerRow(columns: readonly TableColumn[], letters: readonly string[]): string {
  const cells = columns.map(({ name }, i) => textCell(`${letters[i]}1`, name, STYLE.header))
  return `<row r="1">${cells.join('')}</row>`
}

function sheetRow(
  columns: readonly TableColumn[],
  letters: readonly string[],
  row: Row,
  number: number,
): string {
  let text = `<row r="${number}">`
  columns.forEach((column, i) => {
    const value = valueAt(row, column.path)
    if (value !== null) text += cell(`${letters[i]}${number}`, column, value)
  })
  return `${text}</row>`
}

function cell(at: string, { kind, digits }: TableColumn, value: unknown): string {
  if (kind === 'boolean' && typeof value === 'boolean')
    return `<c r="${at}" t="b"><v>${value ? 1 : 0}</v></c>`
  if (kind === 'integer' || kind === 'number' || kind === 'decimal') {
    const text = cellText(value)
    const style = kind !== 'decimal' ? 0 : digits === 4 ? STYLE.rate : STYLE.cents
    return isExact(text) ? numberCell(at, text, style) : textCell(at, text)
  }
  if (kind === 'date' || kind === 'datetime') {
    const serial = (Date.parse(String(value)) - DAY_ZERO) / DAY_MS
    if (serial >= FIRST_SAFE_DAY)
      return numberCell(at, String(serial), kind === 'date' ? STYLE.date : STYLE.datetime)
  }
  return textCell(at, cellText(value))
}

/** Whether a spreadsheet shows the number as it is: what has more digits is written as text. */
function isExact(text: string): boolean {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return false
  return text.replace(/^-?0*/, '').replace('.', '').length <= EXACT_DIGITS
}

function numberCell(at: string, text: string, style: number): string {
  return `<c r="${at}"${style > 0 ? ` s="${style}"` : ''}><v>${text}</v></c>`
}

const CUT = ` [cut at ${CELL_CHARS} characters]`

function textCell(at: string, text: string, style = 0): string {
  const fits = text.length <= CELL_CHARS ? text : text.slice(0, CELL_CHARS - CUT.length) + CUT
  const styled = style > 0 ? ` s="${style}"` : ''
  return `<c r="${at}" t="inlineStr"${styled}><is><t xml:space="preserve">${escaped(fits)}</t></is></c>`
}

/** What XML cannot hold is written as spreadsheets do, `_x0007_`; a text that looks so already has its `_` escaped. */
const UNSAFE = /(?![\t\n\x7f-\x9f])\p{Cc}|[\ufffe\uffff]|_(?=x[0-9a-fA-F]{4}_)/gu

function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(
      UNSAFE,
      (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    )
}

/** Column 27 is `AB`. */
function columnLetters(column: number): string {
  const rest = Math.floor(column / 26) - 1
  return (rest < 0 ? '' : columnLetters(rest)) + String.fromCharCode(65 + (column % 26))
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const SPREADSHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

/** The header stays in sight. */
const SHEET_HEAD =
  `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
  `<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`
const SHEET_TAIL = '</sheetData></worksheet>'

const STYLES =
  `${XML}<styleSheet xmlns="${MAIN}"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>` +
  `<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/><numFmt numFmtId="166" formatCode="0.0000"/></numFmts>` +
  `<fonts count="2"><font/><font><b/></font></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders>` +
  `<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="6"><xf/><xf fontId="1" applyFont="1"/>` +
  [164, 165, 2, 166].map((id) => `<xf numFmtId="${id}" applyNumberFormat="1"/>`).join('') +
  `</cellXfs></styleSheet>`

/** The parts beside the sheets, by their place in the archive. */
function parts(sheets: number): [string, string][] {
  const numbers = Array.from({ length: sheets }, (_, i) => i + 1)
  const types = numbers.map(
    (n) =>
      `<Override PartName="/xl/worksheets/sheet${n}.xml" ContentType="${SPREADSHEET}.worksheet+xml"/>`,
  )
  const entries = numbers.map(
    (n) => `<sheet name="Data${n > 1 ? ` ${n}` : ''}" sheetId="${n}" r:id="rId${n}"/>`,
  )
  const relations = numbers.map((n) => relation(n, 'worksheet', `worksheets/sheet${n}.xml`))
  return [
    [
      '[Content_Types].xml',
      `${XML}<Types xmlns="${PACKAGE}/content-types">` +
        `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
        `<Override PartName="/xl/workbook.xml" ContentType="${SPREADSHEET}.sheet.main+xml"/>` +
        `<Override PartName="/xl/styles.xml" ContentType="${SPREADSHEET}.styles+xml"/>${types.join('')}</Types>`,
    ],
    ['_rels/.rels', relationships([relation(1, 'officeDocument', 'xl/workbook.xml')])],
    [
      'xl/workbook.xml',
      `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${entries.join('')}</sheets></workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      relationships([...relations, relation(sheets + 1, 'styles', 'styles.xml')]),
    ],
    ['xl/styles.xml', STYLES],
  ]
}

function relation(id: number, type: string, target: string): string {
  return `<Relationship Id="rId${id}" Type="${OFFICE}/${type}" Target="${target}"/>`
}

function relationships(all: readonly string[]): string {
  return `${XML}<Relationships xmlns="${PACKAGE}/relationships">${all.join('')}</Relationships>`
}
