/**
 * Expressions in CEL behind fences: at most 500 nodes and 20 levels, one level of comprehension, lists of at most 1,000
 * items, patterns in linear time, none but the functions of `FUNCTIONS`, and no names but those that are given.
 */
import { Environment } from '@marcbachmann/cel-js'
import type { ASTNode } from '@marcbachmann/cel-js'
import { closest } from '../kit/validate.ts'
import type { Budget } from './cel-budget.ts'
import {
  ExpressionFault,
  FUNCTIONS,
  LIST_MAX,
  METHODS,
  patternOf,
  registerFunctions,
  TEXT_MAX,
} from './cel-functions.ts'
import type { Knowledge } from './cel-functions.ts'
import type { Cell } from './readers/types.ts'

const NODES_MAX = 500
const DEPTH_MAX = 20

/** Methods of the language that are taken as they are. */
const BUILT_IN = new Set([
  'startsWith',
  'endsWith',
  'contains',
  'lowerAscii',
  'upperAscii',
  'indexOf',
  'lastIndexOf',
  'substring',
  'size',
])

const COMPREHENSIONS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

/** What stands before a dot: a row of the file, what stands above its header, its totals row. */
export type Root = 'row' | 'meta' | 'totals'

/** An expression that has passed the fences. */
export interface Cel {
  /** Paths it reads, by what stands before the first dot. */
  reads: Readonly<Record<Root, readonly (readonly string[])[]>>
  /** Names it reads by themselves. */
  names: readonly string[]
  /**
   * Its value, null when blank.
   * @throws ExpressionFault when it has none, FileError when the budget is spent.
   */
  evaluate: (context: Readonly<Record<string, unknown>>) => Cell
}

/** Reads and fences expressions that may use the given names. */
export class CelReader {
  private readonly environment: Environment
  private readonly knowledge: Knowledge

  constructor(knowledge: Knowledge) {
    this.knowledge = knowledge
    const limits = { maxListElements: LIST_MAX, maxMapEntries: LIST_MAX, maxCallArguments: 32 }
    this.environment = new Environment({
      unlistedVariablesAreDyn: true,
      homogeneousAggregateLiterals: false,
      // What is put around comprehensions is not the author's.
      limits: { ...limits, maxAstNodes: 2 * NODES_MAX, maxDepth: 2 * DEPTH_MAX },
    })
    registerFunctions(this.environment, knowledge)
  }

  /** @param names beside the roots. @throws Error saying what is wrong with the expression. */
  read(source: string, roots: readonly Root[], names: ReadonlySet<string>): Cel {
    const fence = new Fence(source, roots, names, this.knowledge.lookups)
    const parsed = this.environment.parse(fence.source)
    rename(parsed.ast)
    const { valid, error } = parsed.check()
    if (!valid) throw new Error(firstLine(error?.message ?? 'does not fit together'))
    const { budget } = this.knowledge
    return {
      reads: fence.reads,
      names: [...fence.names],
      evaluate: (context) => run(parsed, context, budget),
    }
  }
}

function run(
  parsed: (context: Record<string, unknown>) => unknown,
  context: Readonly<Record<string, unknown>>,
  budget: Budget,
): Cell {
  budget.begin()
  try {
    return cellOf(parsed(context))
  } catch (error) {
    const { name, message } = error as Error
    if (error instanceof ExpressionFault || name === 'FileError') throw error
    throw new ExpressionFault('expression_failed', firstLine(message))
  } finally {
    budget.end()
  }
}

/** What an expression gave, as a cell; numbers lose what binary fractions add. */
function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new ExpressionFault('not_a_number', 'is not a number')
    return Number.isInteger(value) ? value : Number(value.toPrecision(14))
  }
  if (typeof value === 'string') {
    if (value.length <= TEXT_MAX) return value
    throw new ExpressionFault('value_too_long', `has more than ${TEXT_MAX} characters`)
  }
  if (Array.isArray(value)) return value.slice(0, LIST_MAX).map(cellOf)
  throw new ExpressionFault('not_a_single_value', 'is not a single value')
}

const strict = new Environment({
  unlistedVariablesAreDyn: true,
  limits: {
    maxAstNodes: NODES_MAX,
    maxDepth: DEPTH_MAX,
    maxListElements: LIST_MAX,
    maxMapEntries: LIST_MAX,
    maxCallArguments: 32,
  },
})

type Scope = { bound: ReadonlySet<string>; loops: number }

/** Walks an expression once: what it reads, and whether it keeps to what expressions may do. */
class Fence {
  readonly reads: Record<Root, string[][]> = { row: [], meta: [], totals: [] }
  readonly names = new Set<string>()
  private readonly roots: readonly Root[]
  private readonly known: ReadonlySet<string>
  private readonly lookups: Knowledge['lookups']
  private readonly given: string
  /** Places where text is put in, so that what loops go through is measured first. */
  private readonly wraps: { at: number; text: string }[] = []

  constructor(
    source: string,
    roots: readonly Root[],
    names: ReadonlySet<string>,
    lookups: Knowledge['lookups'],
  ) {
    this.given = source
    this.roots = roots
    this.known = names
    this.lookups = lookups
    this.walk(parsedStrictly(source), { bound: new Set(), loops: 0 })
  }

  /** The expression with its wraps. */
  get source(): string {
    const sorted = this.wraps.toSorted((a, b) => b.at - a.at)
    return sorted.reduce(
      (text, { at, text: put }) => text.slice(0, at) + put + text.slice(at),
      this.given,
    )
  }

  private walk(node: ASTNode, scope: Scope): void {
    if (node.op === 'id') this.identifier(node.args, scope)
    else if (node.op === '.' || node.op === '[]') this.access(node, scope)
    else if (node.op === 'call') this.call(node.args[0], node.args[1], scope)
    else if (node.op === 'rcall') this.method(node, scope)
    else if (node.op === '.?' || node.op === '[?]')
      throw new Error('optional access is not part of the language here')
    else for (const part of partsOf(node)) this.walk(part, scope)
  }

  private identifier(name: string, { bound }: Scope): void {
    if (bound.has(name)) return
    if (this.roots.includes(name as Root)) throw new Error(`${name} must be followed by a name`)
    if (!this.known.has(name)) {
      const meant = closest(name, [...this.roots, ...this.known])
      throw new Error(`unknown name '${name}'${meant ? `; did you mean ${meant}?` : ''}`)
    }
    this.names.add(name)
  }

  private access(node: ASTNode, scope: Scope): void {
    const path = pathOf(node)
    const [root, ...rest] = path ?? []
    if (root !== undefined && this.roots.includes(root as Root) && !scope.bound.has(root)) {
      this.reads[root as Root].push(rest)
      return
    }
    const [receiver, key] = node.args as [ASTNode, ASTNode | string]
    this.walk(receiver, scope)
    if (typeof key !== 'string') this.walk(key, scope)
  }

  private call(name: string, args: readonly ASTNode[], scope: Scope): void {
    const counts = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined
    if (!counts) {
      const meant = closest(name, Object.keys(FUNCTIONS))
      throw new Error(`unknown function '${name}'${meant ? `; did you mean ${meant}?` : ''}`)
    }
    if (!counts.includes(args.length))
      throw new Error(`${name} takes ${counts.join(' or ')} arguments, not ${args.length}`)
    this.literals(name, args)
    for (const arg of args) this.walk(arg, scope)
  }

  private method(node: Extract<ASTNode, { op: 'rcall' }>, scope: Scope): void {
    const [name, receiver, args] = node.args
    if (COMPREHENSIONS.has(name)) return this.loop(name, receiver, args, scope)
    if (METHODS.has(name)) return this.call(name, [receiver, ...args], scope)
    if (!BUILT_IN.has(name)) {
      const meant = closest(name, [...BUILT_IN, ...METHODS, ...COMPREHENSIONS])
      throw new Error(`unknown method '${name}'${meant ? `; did you mean ${meant}?` : ''}`)
    }
    for (const part of [receiver, ...args]) this.walk(part, scope)
  }

  private loop(name: string, receiver: ASTNode, args: readonly ASTNode[], scope: Scope): void {
    const [variable, ...parts] = args
    if (scope.loops > 0) throw new Error(`${name} stands within another one; one level is allowed`)
    if (variable?.op !== 'id') throw new Error(`${name} needs the name of an item first`)
    this.walk(receiver, scope)
    this.wraps.push({ at: receiver.start, text: 'items_(' }, { at: receiver.end, text: ')' })
    const inner = { bound: new Set([...scope.bound, variable.args]), loops: 1 }
    for (const part of parts) this.walk(part, inner)
  }

  /** What can be told before any row is read: patterns that are none, tables that are not there. */
  private literals(name: string, args: readonly ASTNode[]): void {
    const literal = (node: ASTNode | undefined): string | null =>
      node?.op === 'value' && typeof node.args === 'string' ? node.args : null
    const pattern = ['matches', 'replace', 'extract'].includes(name) ? literal(args[1]) : null
    if (pattern !== null) patternOf(pattern)
    const table = name === 'lookup' ? literal(args[0]) : null
    if (name === 'lookup' && (table === null || !Object.hasOwn(this.lookups, table)))
      throw new Error(`lookup needs the name of one of the document's lookups first`)
  }
}

/** `row.address.city` or `row["Lease Number"]` as names; null when it is anything else. */
function pathOf(node: ASTNode): string[] | null {
  if (node.op === 'id') return [node.args]
  if (node.op === '.') {
    const before = pathOf(node.args[0])
    return before && [...before, node.args[1]]
  }
  if (node.op !== '[]') return null
  const [receiver, key] = node.args
  if (key.op !== 'value' || typeof key.args !== 'string') return null
  const before = pathOf(receiver)
  return before && [...before, key.args]
}

function parsedStrictly(source: string): ASTNode {
  try {
    return strict.parse(source).ast
  } catch (error) {
    throw new Error(firstLine((error as Error).message), { cause: error })
  }
}

/** Gives our functions and methods the names they are registered under. */
function rename(node: ASTNode): void {
  if (
    (node.op === 'call' && isOurs(node.args[0])) ||
    (node.op === 'rcall' && METHODS.has(node.args[0]))
  )
    (node.args as unknown[])[0] = `${node.args[0]}_`
  for (const part of partsOf(node)) rename(part)
}

function isOurs(name: string): boolean {
  return Object.hasOwn(FUNCTIONS, name) && !['size', 'int', 'double', 'string'].includes(name)
}

function partsOf(node: ASTNode): ASTNode[] {
  const found: ASTNode[] = []
  const gather = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(gather)
    else if (typeof value === 'object' && value !== null && 'op' in value)
      found.push(value as ASTNode)
  }
  gather(node.args)
  return found
}

function firstLine(message: string): string {
  return message.split('\n')[0] as string
}
