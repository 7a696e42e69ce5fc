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

/** Weights of the common table expressions in scope. */
type Scope = ReadonlyMap<string, number>

/** Weight of the heaviest value of a SELECT; Infinity where that cannot be told. @param around weight of outer columns. */
export function weightOf(select: Tree, around = 1, outer: Scope = new Map()): number {
  const scope = new Map(outer)
  for (const node of list((select['withClause'] as Tree | undefined)?.['ctes'])) {
    const cte = node['CommonTableExpr'] as Tree
    const inner = (cte['ctequery'] as Tree)['SelectStmt'] as Tree
    scope.set(String(cte['ctename']), weightOf(inner, around, scope))
  }
  if (select['larg'])
    return Math.max(
      weightOf(select['larg'] as Tree, around, scope),
      weightOf(select['rarg'] as Tree, around, scope),
    )
  let column = around
  for (const item of list(select['fromClause']))
    column = Math.max(column, sourceWeight(item, column, scope))
  const others = without(select, ['fromClause', 'withClause', 'targetList'])
  const targets = list(select['targetList']).map((target) => weigh(target, column, scope))
  const rest = weigh(others, column, scope)
  const all = targets.reduce((sum, weight) => sum + weight, rest)
  return all > WEIGHT_MAX ? Infinity : Math.max(1, ...targets, select['valuesLists'] ? rest : 1)
}

/** What can be selected from one item of FROM: its columns weigh this much each. */
function sourceWeight(item: Tree, column: number, scope: Scope): number {
  const [[kind, node] = ['', {}]] = Object.entries(item) as [string, Tree][]
  switch (kind) {
    case 'RangeVar':
      return scope.get(String(node['relname'])) ?? 1
    case 'RangeSubselect':
      return weightOf((node['subquery'] as Tree)['SelectStmt'] as Tree, column, scope)
    case 'JoinExpr': {
      const left = sourceWeight(node['larg'] as Tree, column, scope)
      const right = sourceWeight(node['rarg'] as Tree, Math.max(column, left), scope)
      const both = Math.max(left, right)
      return Math.max(both, weigh(node['quals'] ?? [], both, scope) > WEIGHT_MAX ? Infinity : 1)
    }
    default:
      return weigh(node, column, scope)
  }
}

/** Weight of an expression: the values that it is made of, all together. */
function weigh(value: unknown, column: number, scope: Scope): number {
  if (Array.isArray(value))
    return value.reduce((sum: number, one) => sum + weigh(one, column, scope), 0)
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value).reduce(
    (sum, [kind, node]) => sum + part(kind, node, column, scope),
    0,
  )
}

function part(kind: string, node: unknown, column: number, scope: Scope): number {
  switch (kind) {
    case 'ColumnRef':
      return column
    case 'A_Const':
      return 1
    case 'SelectStmt':
      return weightOf(node as Tree, column, scope)
    case 'FuncCall':
      return callWeight(node as Tree, column, scope)
    default:
      return weigh(node, column, scope)
  }
}

function callWeight(call: Tree, column: number, scope: Scope): number {
  const name = nameOf(call)
  const others = without(call, ['funcname', 'args'])
  const args = list(call['args'])
  const weights = args.map((one) => weigh(one, column, scope))
  const sum = weights.reduce((all, weight) => all + weight, weigh(others, column, scope))
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
