/**
 * How much a statement makes of what it reads. Text that is put together from itself, level upon level, doubles with each:
 * the planner writes such expressions out, and their values fill the memory, before any time limit is reached. A
 * statement's weight is how many values of a column stand in one value of its answer.
 */
import type { Tree } from '../types.ts'

/** Heaviest value that is let through. Statements that people write weigh a few dozen. */
export const WEIGHT_MAX = 5_000

/** Functions that put their third argument in as often as they find the second. */
const REPLACING = new Set(['replace', 'regexp_replace'])

/** Functions that make one value of a whole row, which `a.to_jsonb` calls as if it were a column. */
const OF_ROWS = new Set(
  `any_value max min mode concat quote_literal quote_nullable row_to_json to_json to_jsonb
    json_build_array json_build_object jsonb_build_array jsonb_build_object`.split(/\s+/),
)

/** What something that can be selected from weighs: the heaviest of its columns, and all of them together. */
interface Weight {
  column: number
  row: number
}

/** A row of a view; none has as many columns. */
const VIEW: Weight = { column: 1, row: 100 }

/** What expressions can name, from outside of the SELECT too. */
interface Scope {
  /** Common table expressions. */
  ctes: Map<string, Weight>
  /** Whole rows, by their name in FROM; a star is all of them. */
  rows: Map<string, number>
  /** The heaviest column. */
  column: number
}

/** Weight of the heaviest value of a SELECT; Infinity where that cannot be told. */
export function weightOf(select: Tree): number {
  return selectWeight(select, { ctes: new Map(), rows: new Map(), column: 1 }).column
}

function selectWeight(select: Tree, around: Scope): Weight {
  const { column } = around
  const scope = { ctes: new Map(around.ctes), rows: new Map(around.rows), column }
  for (const node of list((select['withClause'] as Tree | undefined)?.['ctes'])) {
    const cte = node['CommonTableExpr'] as Tree
    const inner = (cte['ctequery'] as Tree)['SelectStmt'] as Tree
    scope.ctes.set(String(cte['ctename']), selectWeight(inner, scope))
  }
  if (select['larg']) {
    const left = selectWeight(select['larg'] as Tree, scope)
    const right = selectWeight(select['rarg'] as Tree, scope)
    return { column: Math.max(left.column, right.column), row: Math.max(left.row, right.row) }
  }
  const sources = list(select['fromClause']).map((item) => addSource(item, scope))
  scope.rows.set('*', sumOf(sources))
  const targets = list(select['targetList']).map((target) => targetWeight(target, scope))
  const rest = weigh(without(select, ['fromClause', 'withClause', 'targetList']), scope)
  const values = select['valuesLists'] ? rest : 1
  const row = sumOf(targets)
  if (row + rest > WEIGHT_MAX) return { column: Infinity, row: Infinity }
  const heaviest = Math.max(1, values, ...targets.map((target) => target.column))
  return { column: heaviest, row: Math.max(row, values) }
}

function sumOf(weights: readonly Weight[]): number {
  return weights.reduce((sum, { row }) => sum + row, 0)
}

/** A star that stands by itself is many columns. */
function targetWeight(target: Tree, scope: Scope): Weight {
  const row = weigh(target, scope)
  const { val } = (target['ResTarget'] ?? {}) as { val?: Tree }
  const ref = val?.['ColumnRef'] as Tree | undefined
  return { column: ref && endsInStar(ref['fields']) ? scope.column : row, row }
}

/** Makes what one item of FROM brings known to all that comes behind it. */
function addSource(item: Tree, scope: Scope): Weight {
  const weight = sourceWeight(item, scope)
  scope.column = Math.max(scope.column, weight.column)
  const [node = {}] = Object.values(item) as Tree[]
  const aliases = [node['alias'], node['join_using_alias']] as (Tree | undefined)[]
  const names = aliases.flatMap((alias) => (alias ? [alias['aliasname']] : []))
  for (const name of [...names, node['relname']].flatMap((one) => (one ? [String(one)] : [])))
    scope.rows.set(name, Math.max(scope.rows.get(name) ?? 0, weight.row))
  return weight
}

function sourceWeight(item: Tree, scope: Scope): Weight {
  const [[kind, node] = ['', {}]] = Object.entries(item) as [string, Tree][]
  switch (kind) {
    case 'RangeVar':
      return scope.ctes.get(String(node['relname'])) ?? VIEW
    case 'RangeSubselect':
      return selectWeight((node['subquery'] as Tree)['SelectStmt'] as Tree, scope)
    case 'JoinExpr':
      return joinWeight(node, scope)
    default: {
      const column = Math.max(1, weigh(node, scope))
      // The keys, values and numbers of what it takes apart are no more than that.
      return { column, row: column + 1 }
    }
  }
}

function joinWeight(node: Tree, scope: Scope): Weight {
  const left = addSource(node['larg'] as Tree, scope)
  const right = addSource(node['rarg'] as Tree, scope)
  const row = left.row + right.row
  if (weigh(node['quals'] ?? [], scope) > WEIGHT_MAX) return { column: Infinity, row }
  // Columns of one name become one, made of both.
  const merged = node['usingClause'] || node['isNatural']
  return { column: merged ? left.column + right.column : Math.max(left.column, right.column), row }
}

/** Weight of an expression: the values that it is made of, all together. */
function weigh(value: unknown, scope: Scope): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + weigh(one, scope), 0)
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value).reduce((sum, [kind, node]) => sum + part(kind, node, scope), 0)
}

function part(kind: string, node: unknown, scope: Scope): number {
  switch (kind) {
    case 'ColumnRef':
      return referenceWeight(textsOf((node as Tree)['fields']), scope)
    case 'A_Const':
      return 1
    case 'SelectStmt':
      return selectWeight(node as Tree, scope).column
    case 'FuncCall':
      return callWeight(node as Tree, scope)
    case 'A_Indirection': {
      const weight = weigh(node, scope)
      // The expression is written out for each of its columns.
      return endsInStar((node as Tree)['indirection']) ? weight * (weight + 1) : weight
    }
    default:
      return weigh(node, scope)
  }
}

/** A column, or the whole row of an item of FROM. */
function referenceWeight(names: readonly string[], { rows, column }: Scope): number {
  const [last = '', qualifier] = names.toReversed()
  const ofRow = last === '*' || OF_ROWS.has(last)
  const whole = rows.get(ofRow && qualifier !== undefined ? qualifier : last)
  return Math.max(column, whole ?? 0)
}

/** The names of a reference; a star is one. */
function textsOf(fields: unknown): string[] {
  return list(fields).map((field) => String((field['String'] as Tree | undefined)?.['sval'] ?? '*'))
}

function endsInStar(fields: unknown): boolean {
  return list(fields).at(-1)?.['A_Star'] !== undefined
}

function callWeight(call: Tree, scope: Scope): number {
  const name = nameOf(call)
  const others = without(call, ['funcname', 'args'])
  const args = list(call['args'])
  const weights = args.map((one) => weigh(one, scope))
  const sum = weights.reduce((all, weight) => all + weight, weigh(others, scope))
  // The separator stands between all that follow it.
  if (name === 'concat_ws') return sum + (weights[0] ?? 0) * weights.length
  if (!REPLACING.has(name)) return sum
  const put = constantText(args[2])
  return put === null ? Infinity : sum * Math.max(1, put.length)
}

/** Name of the function that is called, without its schema. */
export function nameOf(call: Tree): string {
  const names = list(call['funcname'])
  return String((names.at(-1)?.['String'] as Tree | undefined)?.['sval'])
}

function constantText(node: Tree | undefined): string | null {
  const constant = node?.['A_Const'] as Tree | undefined
  if (!constant) return null
  return String((constant['sval'] as Tree | undefined)?.['sval'] ?? '')
}

function without(node: Tree, names: readonly string[]): Tree {
  return Object.fromEntries(Object.entries(node).filter(([name]) => !names.includes(name)))
}

function list(value: unknown): Tree[] {
  return Array.isArray(value) ? (value as Tree[]) : []
}
