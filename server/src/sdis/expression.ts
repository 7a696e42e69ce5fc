/**
 * Expressions of the adapter document: CEL over the columns of a row. Columns and texts joined by `+`, which is what most
 * entries are, e.g. `'US-' + row.State` or `row["Lease Number"]`, are read here and cost next to nothing.
 */
import type { CelReader, Cel } from './cel.ts'
import { ExpressionFault, LIST_MAX } from './cel-functions.ts'
import type { Cell } from './readers/types.ts'
import type { Reader } from './values.ts'

export interface Expression {
  /** Columns it reads. */
  columns: readonly string[]
  /** Names of cells above the header that it reads. */
  meta: readonly string[]
  /**
   * Its value for a row; null when every column it reads is blank.
   * @throws ExpressionFault when it has none, FileError when expressions have taken too long.
   */
  evaluate: (cells: readonly Cell[]) => Cell
}

/** What expressions are compiled for. */
export interface Surroundings {
  cel: CelReader
  /** Place of a column in a row, undefined when the file lacks it. */
  position: (column: string) => number | undefined
  /** Texts that mean blank. */
  nulls: ReadonlySet<string>
  /** What stands above the header, by name. */
  meta: Readonly<Record<string, Cell>>
  /** Numbers as the file writes them. */
  number: Reader
}

const TERM =
  /\s*(?:row\.([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?![\w(.[])|row\["((?:[^"\\]|\\.)+)"\](?![(.[])|row\['((?:[^'\\]|\\.)+)'\](?![(.[])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*/y

type Term = { column: string } | { text: string }

/** The parts of a mere join, null when it is more than that. */
export function joinOf(source: string): Term[] | null {
  const terms: Term[] = []
  let at = 0
  while (true) {
    TERM.lastIndex = at
    const match = TERM.exec(source)
    // Escapes other than of quotes are left to the language.
    if (!match || /\\[^"'\\]/.test(match[0])) return null
    const column = match[1] ?? match[2] ?? match[3]
    const text = match[4] ?? match[5] ?? ''
    terms.push(column === undefined ? { text: unescape(text) } : { column: unescape(column) })
    at = TERM.lastIndex
    if (at >= source.length) return terms
    if (source[at] !== '+') return null
    at++
  }
}

/** @throws Error saying what is wrong with the expression. */
export function compileExpression(source: string, surroundings: Surroundings): Expression {
  const terms = joinOf(source)
  if (terms) return compileJoin(terms, surroundings.position)
  return compileCel(surroundings.cel.read(source, ['row', 'meta'], new Set()), surroundings)
}

function compileJoin(terms: readonly Term[], position: Surroundings['position']): Expression {
  const columns = terms.flatMap((term) => ('column' in term ? [term.column] : []))
  const places = columns.map((column) => position(column) ?? -1)
  const [only] = places
  if (terms.length === 1 && only !== undefined) {
    return { columns, meta: [], evaluate: (cells) => cells[only] ?? null }
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
      if (typeof cell === 'object')
        throw new ExpressionFault('not_a_single_value', 'a list or an object is no text')
      stated = true
      text += String(cell).trim()
    }
    return stated ? text : null
  }
  return { columns, meta: [], evaluate }
}

function compileCel(cel: Cel, surroundings: Surroundings): Expression {
  const { meta } = surroundings
  const { columns, read } = rowReader(cel.reads.row, surroundings)
  const evaluate = (cells: readonly Cell[]): Cell => {
    const { row, isBlank } = read(cells)
    try {
      return cel.evaluate({ row, meta })
    } catch (error) {
      // What cannot be computed because a column is blank is blank.
      if (error instanceof ExpressionFault && isBlank && error.code === 'expression_failed')
        return null
      throw error
    }
  }
  return { columns, meta: cel.reads.meta.map(([name = '']) => name), evaluate }
}

/** Without a prototype, so that every name is one of its own. */
type Values = Record<string, unknown>

/** The columns of a row by name, as far as an expression reads them. */
export interface ReadRow {
  row: Readonly<Record<string, unknown>>
  /** Whether a column is blank. */
  isBlank: boolean
}

/** @param paths that an expression reads; each names a column by its parts. */
export function rowReader(
  paths: readonly (readonly string[])[],
  { position, nulls }: Pick<Surroundings, 'position' | 'nulls'>,
): { columns: string[]; read: (cells: readonly Cell[]) => ReadRow } {
  const columns = [...new Set(paths.map((path) => path.join('.')))]
  const wanted = [...new Map(paths.map((path) => [path.join('.'), path])).values()].map((path) => ({
    path,
    place: position(path.join('.')) ?? -1,
    // A column that is read as a whole holds its parts already.
    isPart: paths.some(
      (other) => other.length < path.length && other.every((name, i) => name === path[i]),
    ),
  }))
  const read = (cells: readonly Cell[]): ReadRow => {
    const row: Values = Object.create(null)
    let isBlank = false
    for (const { path, place, isPart } of wanted) {
      const cell = stated(cells[place] ?? null, nulls)
      isBlank ||= cell === null
      if (!isPart) put(row, path, cell)
    }
    return { row, isBlank }
  }
  return { columns, read }
}

function stated(cell: Cell, nulls: ReadonlySet<string>): Cell {
  if (typeof cell === 'string') {
    const text = cell.trim()
    return text === '' || nulls.has(text) ? null : cell
  }
  if (typeof cell === 'object' && cell !== null && isTooLong(cell))
    throw new ExpressionFault('list_too_long', `a list has more than ${LIST_MAX} items`)
  return cell
}

function isTooLong(value: Cell): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > LIST_MAX || value.some(isTooLong)
  return Object.values(value).some(isTooLong)
}

/** Puts a value where its path says. */
function put(row: Values, path: readonly string[], cell: Cell): void {
  let at = row
  for (let i = 0; i < path.length - 1; i++)
    at = (at[path[i] as string] ??= Object.create(null)) as Values
  at[path.at(-1) as string] = cell
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, '$1')
}
