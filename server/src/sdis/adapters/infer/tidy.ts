/** Rows of reports as rows of a table: without totals, and with values that stand once above the rows they are for. */
import type { Cell, TableSource } from '../../readers/types.ts'
import type { Columns, Sample } from '../../sample.ts'
import { wordsOf } from './words.ts'

/** How a file is read, with what its report needs beside. */
export type TidySource = TableSource & { skip_rows_where?: string; fill_down?: string[] }

export interface TidyColumns extends Columns {
  source: TidySource
}

type Rows = Sample['rows']

/** How a totals row begins. */
const TOTAL = /^(?:grand\s+|sub[\s-]?|report\s+)?totals?\b/i

/** Above this share of the rows they are no totals but objects that are called so. */
const TOTALS_MAX = 0.4

/** What a column that is given once for a group of rows is called. */
const GROUPS = new Set(['property', 'building', 'site', 'entity', 'lease', 'tenant', 'floor'])

/** @param expressionOf writes how an expression reads a column. */
export function tidied(sample: Sample, expressionOf: (column: string) => string): TidyColumns {
  const totals = totalsOf(sample)
  const rows = totals ? sample.rows.filter((row) => !isTotal(row, totals.column)) : sample.rows
  const group = groupOf(sample.columns, rows)
  const source: TidySource = { ...sample.source }
  if (totals) {
    const cell = `lower(${expressionOf(totals.column)})`
    source.skip_rows_where = totals.words
      .map((word) => `${cell}.startsWith('${word}')`)
      .join(' || ')
  }
  if (group !== null) source.fill_down = [group]
  const columns = columnsOf(sample, group === null ? rows : filledDown(rows, group))
  return { ...columns, source }
}

/** The columns of a sample with what their cells state. */
export function columnsOf({ source, header_row, columns, complete }: Sample, rows: Rows): Columns {
  return {
    source,
    header_row,
    complete,
    rows: rows.length,
    columns: columns.map((name) => {
      const cells = rows.map((row) => cellOf(row, name))
      const values = cells.filter((cell) => textOf(cell) !== '')
      return { name, values, blank: cells.length - values.length }
    }),
  }
}

const cellOf = ({ raw }: Rows[number], column: string): Cell => (raw[column] ?? null) as Cell

const textOf = (cell: Cell): string => (cell === null ? '' : String(cell).trim())

function isTotal(row: Rows[number], column: string): boolean {
  return TOTAL.test(textOf(cellOf(row, column)))
}

/** The column in which rows say that they are totals, and how they say it. */
function totalsOf({ columns, rows }: Sample): { column: string; words: string[] } | null {
  for (const column of columns.slice(0, 4)) {
    const found = rows.map((row) => TOTAL.exec(textOf(cellOf(row, column)))?.[0].toLowerCase())
    const words = [...new Set(found.filter((word) => word !== undefined))]
    const count = found.filter((word) => word !== undefined).length
    if (count > 0 && count <= Math.max(1, rows.length * TOTALS_MAX)) return { column, words }
  }
  return null
}

/** The first column, where it gives a new value now and then and is blank in between. */
function groupOf([first]: readonly string[], rows: Rows): string | null {
  const [top] = rows
  if (first === undefined || !top || textOf(cellOf(top, first)) === '') return null
  const texts = rows.map((row) => textOf(cellOf(row, first)))
  const stated = texts.filter((text) => text !== '')
  const sparse = stated.length <= rows.length * 0.7 && new Set(stated).size === stated.length
  return sparse && wordsOf(first).some((word) => GROUPS.has(word)) ? first : null
}

function filledDown(rows: Rows, column: string): Rows {
  let above: Cell = null
  return rows.map(({ row, raw }) => {
    const cell = (raw[column] ?? null) as Cell
    if (textOf(cell) !== '') above = cell
    return { row, raw: { ...raw, [column]: above } }
  })
}
