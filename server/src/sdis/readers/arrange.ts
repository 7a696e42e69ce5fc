import type { Cell, SheetRow, Table } from './types.ts'

/** What is done to the rows of a table before anything reads them. */
export interface Arrangement {
  /** Places of columns whose blank cells mean the value above them. */
  fill: readonly number[]
  /** True of rows that are none: totals, footers. */
  isNone: ((cells: readonly Cell[]) => boolean) | null
}

/** A table without the rows that are none. */
export interface Arranged extends Table {
  /** Cells of the last row that was left out, by column; null when none was, so far. */
  totals: () => Record<string, Cell> | null
}

/** Rows that are left out give no value to those below them: `Total Harbor Point` is no property. */
export function arranged(table: Table, { fill, isNone }: Arrangement): Arranged {
  let last: readonly Cell[] | null = null
  const totals = (): Record<string, Cell> | null =>
    last && Object.fromEntries(table.columns.map((name, i) => [name, last?.[i] ?? null]))
  if (fill.length === 0 && !isNone) return { ...table, totals }
  const above: Cell[] = fill.map(() => null)
  const keep = (row: SheetRow): boolean => {
    const { cells } = row
    if (isNone?.(cells)) {
      last = cells
      return false
    }
    fill.forEach((place, i) => {
      const cell = cells[place] ?? null
      const isBlank = cell === null || (typeof cell === 'string' && cell.trim() === '')
      if (isBlank) cells[place] = above[i] ?? null
      else above[i] = cell
    })
    return true
  }
  const rows = {
    [Symbol.asyncIterator]() {
      const given = table.rows[Symbol.asyncIterator]()
      return {
        next: async (): Promise<IteratorResult<SheetRow[]>> => {
          const next = await given.next()
          return next.done ? next : { done: false, value: next.value.filter(keep) }
        },
        return: async (): Promise<IteratorResult<SheetRow[]>> =>
          (await given.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
  return { ...table, rows, totals }
}
