import { isDateFormat } from './cell-values.ts'
import { FileError } from './types.ts'
import { readSmallPart } from './xml.ts'
import type { Zip, ZipPart } from './zip.ts'

/** One sheet of a workbook. */
export interface Sheet {
  name: string
  hidden: boolean
  /** Undefined for charts and macros. */
  part: ZipPart | undefined
}

/** What must be known of a workbook before a sheet can be read. */
export interface Workbook {
  sheets: Sheet[]
  date1904: boolean
  strings: ZipPart | undefined
  /** By style number of a cell: is a number in it shown as a date? */
  date_styles: boolean[]
}

interface Relation {
  id: string
  /** Last part of the type address, which differs between the two flavours of the standard. */
  type: string
  target: string
}

/** Finds the parts of a workbook by their relations, since only Excel uses the usual names. */
export async function readWorkbook(zip: Zip): Promise<Workbook> {
  const root = await readRelations(zip, '')
  const path = root.find(({ type }) => type === 'officeDocument')?.target
  const part = path === undefined ? undefined : zip.parts.get(path)
  if (path === undefined || !part || path.endsWith('.bin')) throw notWorkbook(zip)
  const relations = await readRelations(zip, path)
  const targets = new Map(relations.map((relation) => [relation.id, relation]))
  const partOf = (wanted: string): ZipPart | undefined => {
    const relation = relations.find(({ type }) => type === wanted)
    return relation && targetOf(zip, relation)
  }

  const sheets: Sheet[] = []
  let rootName: string | undefined
  let date1904 = false
  await readSmallPart(zip, part, {
    open(name, attributes) {
      rootName ??= name
      if (name === 'workbookPr') date1904 = isTrue(attributes['date1904'])
      if (name !== 'sheet') return
      const id = relationId(attributes)
      const relation = targets.get(id) ?? { id, type: 'worksheet', target: `the sheet ${id}` }
      const hidden = /hidden/i.test(attributes['state'] ?? '')
      const part = relation.type === 'worksheet' ? targetOf(zip, relation) : undefined
      sheets.push({ name: attributes['name'] ?? '', hidden, part })
    },
    close() {},
  })
  if (rootName !== 'workbook') throw notWorkbook(zip)
  const styles = partOf('styles')
  const date_styles = styles ? await readDateStyles(zip, styles) : []
  return { sheets, date1904, strings: partOf('sharedStrings'), date_styles }
}

/** The sheet to read: the first visible one that fits, or a hidden one if it is named in full. */
export function pickSheet(sheets: Sheet[], pattern: string | undefined): ZipPart {
  const fits = (sheet: Sheet): boolean => pattern === undefined || matches(sheet.name, pattern)
  const usable = sheets.filter((sheet) => sheet.part && fits(sheet))
  const named = pattern !== undefined && !pattern.includes('*')
  const part = (usable.find(({ hidden }) => !hidden) ?? (named ? usable[0] : undefined))?.part
  if (part) return part
  const names = sheets.map(({ name }) => name)
  const wanted = pattern === undefined ? 'visible sheet' : `sheet named "${pattern}"`
  throw new FileError(
    'sheet_not_found',
    `The workbook has no ${wanted}. It has: ${names.join(', ')}.`,
    { sheets: names, hidden: sheets.filter(({ hidden }) => hidden).map(({ name }) => name) },
  )
}

/** Glob with `*`, in linear time and without case, as sheet names have none. */
function matches(name: string, pattern: string): boolean {
  const text = name.trim().toLowerCase()
  const pieces = pattern.trim().toLowerCase().split('*')
  const first = pieces.shift() ?? ''
  const last = pieces.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of pieces) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}

/** Relations of a part, of the whole archive for `''`. Targets are full names of parts. */
async function readRelations(zip: Zip, path: string): Promise<Relation[]> {
  const slash = path.lastIndexOf('/') + 1
  const folder = path.slice(0, slash)
  const part = zip.parts.get(`${folder}_rels/${path.slice(slash)}.rels`)
  const relations: Relation[] = []
  if (!part) return relations
  await readSmallPart(zip, part, {
    open(name, attributes) {
      if (name !== 'Relationship' || attributes['TargetMode'] === 'External') return
      const type = attributes['Type'] ?? ''
      relations.push({
        id: attributes['Id'] ?? '',
        type: type.slice(type.lastIndexOf('/') + 1),
        target: resolve(folder, attributes['Target'] ?? ''),
      })
    },
    close() {},
  })
  return relations
}

/** Without its styles a workbook would still be read, and its dates be numbers: so all must be there. */
function targetOf(zip: Zip, { target }: Relation): ZipPart {
  const part = zip.parts.get(target)
  if (part) return part
  throw new FileError('damaged_file', `The workbook is damaged: it lacks ${target}.`)
}

/** A target is relative to the folder of its source, or starts at the root with `/`. */
function resolve(folder: string, target: string): string {
  const steps: string[] = []
  for (const step of (target.startsWith('/') ? target : folder + target).split(/[/\\]/)) {
    if (step === '..') steps.pop()
    else if (step !== '' && step !== '.') steps.push(step)
  }
  return steps.join('/').toLowerCase()
}

async function readDateStyles(zip: Zip, part: ZipPart): Promise<boolean[]> {
  const codes = new Map<number, string>()
  const formats: number[] = []
  let section = ''
  await readSmallPart(zip, part, {
    open(name, attributes) {
      if (name === 'numFmts' || name === 'cellXfs') section = name
      const id = Number(attributes['numFmtId'] ?? 0)
      if (name === 'numFmt' && section === 'numFmts') codes.set(id, attributes['formatCode'] ?? '')
      if (name === 'xf' && section === 'cellXfs') formats.push(id)
    },
    close(name) {
      if (name === section) section = ''
    },
  })
  return formats.map((id) => isDateFormat(id, codes.get(id)))
}

function relationId(attributes: Record<string, string>): string {
  const key = Object.keys(attributes).find((name) => name.endsWith(':id'))
  return key === undefined ? '' : (attributes[key] ?? '')
}

function isTrue(value: string | undefined): boolean {
  return value === '1' || value === 'true' || value === 'on'
}

function notWorkbook(zip: Zip): FileError {
  const looks_like = archiveKind([...zip.parts.keys()])
  const text = `The file is not a workbook (.xlsx); it looks like ${looks_like}.`
  return new FileError('not_a_workbook', text, { looks_like })
}

function archiveKind(names: string[]): string {
  const has = (start: string): boolean => names.some((name) => name.startsWith(start))
  if (has('xl/workbook.bin')) return 'XLSB'
  if (has('word/')) return 'DOCX'
  if (has('ppt/')) return 'PPTX'
  return has('mimetype') && has('content.xml') ? 'OpenDocument' : 'ZIP'
}
