import { columnOf } from './cell-values.ts'
import { FileError, type Cell, type SheetRow } from './types.ts'
import type { Zip, ZipPart } from './zip.ts'

/** Merged ranges of a sheet; reports have some hundred. */
const MERGES_MAX = 100_000

/** Text kept from one piece to the next: an element may lie across their border. */
const CARRIED = 300

const MERGE = /<(?:\w+:)?mergeCell\s[^>]{0,200}?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"/g

interface Merge {
  first_row: number
  last_row: number
  first_column: number
  last_column: number
}

/** Workbooks list merged ranges after the rows, so a sheet whose cells are to be filled is read twice. */
export async function readMerges(zip: Zip, sheet: ZipPart): Promise<Merge[]> {
  const merges: Merge[] = []
  let carried = ''
  for await (const bytes of zip.read(sheet)) {
    const text = carried + bytes.toString('latin1')
    let end = 0
    for (const match of text.matchAll(MERGE)) {
      end = match.index + match[0].length
      const [, from = '', first, to = '', last] = match
      merges.push({
        first_row: Number(first),
        last_row: Number(last),
        first_column: columnOf(from),
        last_column: columnOf(to),
      })
    }
    if (merges.length > MERGES_MAX) {
      const message = `The sheet has more than ${MERGES_MAX} merged ranges.`
      throw new FileError('too_many_merges', message, { limit: MERGES_MAX })
    }
    carried = text.slice(Math.max(end, text.length - CARRIED))
  }
  return merges.sort((a, b) => a.first_row - b.first_row)
}

/** Gives merged cells the value of their first one, row by row. */
export class MergeFiller {
  private readonly merges: readonly Merge[]
  private next = 0
  private active: { merge: Merge; value: Cell }[] = []

  constructor(merges: readonly Merge[]) {
    this.merges = merges
  }

  /** Rows come in the order of the sheet. */
  fill(rows: readonly SheetRow[], max_columns: number): void {
    for (const { row, cells } of rows) {
      this.active = this.active.filter(({ merge }) => merge.last_row >= row)
      for (; (this.merges[this.next]?.first_row ?? Infinity) <= row; this.next++) {
        const merge = this.merges[this.next] as Merge
        // A range whose first row holds nothing has nothing to give.
        if (merge.first_row < row) continue
        this.active.push({ merge, value: cells[merge.first_column] ?? null })
      }
      for (const { merge, value } of this.active) {
        if (value === null) continue
        const last = Math.min(merge.last_column, max_columns - 1)
        while (cells.length <= last) cells.push(null)
        for (let at = merge.first_column; at <= last; at++) cells[at] ??= value
      }
    }
  }
}
