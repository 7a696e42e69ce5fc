/**
 * Expressions of the adapter document: columns and texts joined by `+`, e.g. `'US-' + row.State` or
 * `row["Lease Number"]`. A strict subset of CEL, so documents stay valid when the whole language is taken.
 */
import type { Cell } from './readers/types.ts'

export interface Expression {
  /** Columns it reads. */
  columns: readonly string[]
  /** Its value for a row; null when every column it reads is blank. */
  evaluate: (cells: readonly Cell[]) => Cell
}

const TERM =
  /\s*(?:row\.([A-Za-z_][A-Za-z0-9_]*)|row\["((?:[^"\\]|\\.)+)"\]|row\['((?:[^'\\]|\\.)+)'\]|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*/y

type Term = { column: string } | { text: string }

/** @throws Error saying where the text stops being an expression. */
export function parseExpression(source: string): Term[] {
  const terms: Term[] = []
  let at = 0
  while (true) {
    TERM.lastIndex = at
    const match = TERM.exec(source)
    if (!match) {
      throw new Error(
        `cannot read '${source.slice(at)}' in ${source}: expected row.Name, row["Name"] or a text in quotes`,
      )
    }
    const column = match[1] ?? match[2] ?? match[3]
    const text = match[4] ?? match[5] ?? ''
    terms.push(column === undefined ? { text: unescape(text) } : { column: unescape(column) })
    at = TERM.lastIndex
    if (at >= source.length) return terms
    if (source[at] !== '+')
      throw new Error(`cannot read '${source.slice(at)}' in ${source}: expected + or the end`)
    at++
  }
}

/** @param position place of a column in a row, or undefined when the file lacks it. */
export function compileExpression(
  source: string,
  position: (column: string) => number | undefined,
): Expression {
  const terms = parseExpression(source)
  const columns = terms.flatMap((term) => ('column' in term ? [term.column] : []))
  const places = columns.map((column) => position(column) ?? -1)
  const [only] = places
  if (terms.length === 1 && only !== undefined) {
    return { columns, evaluate: (cells) => cells[only] ?? null }
  }
  const parts = terms.map((term) => ('column' in term ? (position(term.column) ?? -1) : term.text))
  const evaluate = (cells: readonly Cell[]): Cell => {
    let stated = columns.length === 0
    let text = ''
    for (const part of parts) {
      if (typeof part === 'string') {
        text += part
        continue
      }
      const cell = cells[part] ?? null
      if (cell === null) continue
      stated = true
      text += String(cell).trim()
    }
    return stated ? text : null
  }
  return { columns, evaluate }
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, '$1')
}
