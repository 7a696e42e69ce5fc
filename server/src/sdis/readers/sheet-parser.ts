import { columnLetters, columnOf, isoCell, serialToIso, unescapeText } from './cell-values.ts'
import { missingString, type SharedStrings } from './shared-strings.ts'
import { detached } from './text.ts'
import { FileError, type Cell, type Limits, type SheetRow } from './types.ts'
import type { XmlHandler } from './xml.ts'

/** What the cells of a sheet refer to. */
export interface SheetContext {
  strings: SharedStrings
  date_styles: boolean[]
  date1904: boolean
}

/** Takes the XML of a sheet and gives its rows that have a value. */
export class SheetParser implements XmlHandler {
  readonly #context: SheetContext
  readonly #limits: Limits
  #rows: SheetRow[] = []
  #inData = false
  #complete = false
  #row = 0
  #cells: Cell[] = []
  #column = -1
  #inCell = false
  #type = ''
  #style = ''
  #text = ''
  #inText = false
  #inPhonetic = false

  constructor(context: SheetContext, limits: Limits) {
    this.#context = context
    this.#limits = limits
  }

  /** Rows completed since the last call. */
  take(): SheetRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  /** False if the XML ended without an end of the rows. */
  get complete(): boolean {
    return this.#complete
  }

  open(name: string, attributes: Record<string, string>): void {
    if (!this.#inData) {
      this.#inData = name === 'sheetData'
    } else if (name === 'c') {
      this.#openCell(attributes)
    } else if (name === 'v' || name === 't') {
      this.#inText = this.#inCell && !this.#inPhonetic
    } else if (name === 'row') {
      this.#openRow(attributes['r'])
    } else if (name === 'is') {
      // Some writers leave the type out where the text stands in the cell.
      this.#type = 'inlineStr'
    } else if (name === 'rPh') {
      this.#inPhonetic = true
    }
  }

  close(name: string): void {
    if (!this.#inData) return
    if (name === 'v' || name === 't') this.#inText = false
    else if (name === 'c') this.#closeCell()
    else if (name === 'row') this.#closeRow()
    else if (name === 'rPh') this.#inPhonetic = false
    else if (name === 'sheetData') {
      this.#inData = false
      this.#complete = true
    }
  }

  text(text: string): void {
    if (!this.#inText) return
    this.#text += text
    if (this.#text.length > this.#limits.max_cell_chars) throw this.#tooLong()
  }

  #openRow(reference: string | undefined): void {
    this.#row = reference === undefined ? this.#row + 1 : Number(reference)
    if (!Number.isSafeInteger(this.#row) || this.#row < 1) {
      throw new FileError('damaged_file', `The workbook is damaged: it has a row "${reference}".`)
    }
    this.#cells = []
    this.#column = -1
  }

  #openCell(attributes: Record<string, string>): void {
    const reference = attributes['r']
    const column = reference === undefined ? -1 : columnOf(reference)
    this.#column = column < 0 ? this.#column + 1 : column
    this.#type = attributes['t'] ?? ''
    this.#style = attributes['s'] ?? ''
    this.#text = ''
    this.#inCell = true
  }

  #closeCell(): void {
    this.#inCell = false
    const value = this.#text === '' ? null : this.#value(this.#text)
    // Formatted cells without a value are many in some files, and say nothing.
    if (value === null) return
    if (this.#column >= this.#limits.max_columns) throw this.#tooManyColumns()
    const cells = this.#cells
    while (cells.length < this.#column) cells.push(null)
    cells[this.#column] = value
  }

  #closeRow(): void {
    if (this.#cells.length > 0) this.#rows.push({ row: this.#row, cells: this.#cells })
    this.#cells = []
  }

  #value(text: string): Cell {
    switch (this.#type) {
      case 's':
        return this.#shared(text)
      case 'str':
      case 'inlineStr':
        return detached(unescapeText(text))
      case 'b':
        return text.trim() === '1' || text.trim() === 'true'
      case 'e':
        return null
      case 'd':
        return isoCell(text.trim())
      default:
        return this.#number(text)
    }
  }

  #shared(text: string): Cell {
    const value = this.#context.strings.get(Number(text))
    if (value === undefined) throw missingString(text, this.#row)
    if (value.length > this.#limits.max_cell_chars) throw this.#tooLong()
    return value === '' ? null : value
  }

  #number(text: string): Cell {
    const value = Number(text)
    if (!Number.isFinite(value)) return text
    const { date_styles, date1904 } = this.#context
    if (value === 0 && text.trim() === '') return null
    if (this.#style === '' || date_styles[Number(this.#style)] !== true) return value
    return serialToIso(value, date1904) ?? value
  }

  #tooLong(): FileError {
    const limit = this.#limits.max_cell_chars
    const text = `Cell ${this.#place()} has more than ${limit} characters.`
    return new FileError('cell_too_long', text, { ...this.#where(), limit })
  }

  #tooManyColumns(): FileError {
    const limit = this.#limits.max_columns
    const text = `Row ${this.#row} has a value to the right of column ${limit}.`
    return new FileError('too_many_columns', text, { ...this.#where(), limit })
  }

  #where(): { row: number; column: number } {
    return { row: this.#row, column: this.#column + 1 }
  }

  #place(): string {
    return columnLetters(this.#column) + String(this.#row)
  }
}
