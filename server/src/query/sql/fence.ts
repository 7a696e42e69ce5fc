/** Judges the syntax tree of a statement: one SELECT over the listed views, by means of the listed functions alone. */
import { closest } from '../../kit/validate.ts'
import type { Tree } from '../types.ts'
import { FUNCTIONS, NAMED_VALUES, SIGNS, TYPES } from './allowed.ts'
import { GRAMMAR } from './grammar.ts'
import type { NodeRule } from './grammar.ts'
import { nameOf, weightOf, WEIGHT_MAX } from './growth.ts'

/** Something that is not allowed. */
export interface Refusal {
  code: string
  message: string
  suggestion?: string
}

export interface Verdict {
  /** Views that it reads. */
  views: string[]
  /** Empty when it may be run. */
  refusals: Refusal[]
}

/** Names of the views and of all their columns. */
export interface Readable {
  views: ReadonlySet<string>
  columns: ReadonlySet<string>
}

/** @param tree what the parser made of the text. */
export function judge(tree: unknown, readable: Readable): Verdict {
  const { stmts = [] } = tree as { stmts?: { stmt?: Tree }[] }
  const only = stmts[0]?.stmt
  if (stmts.length !== 1 || !only)
    return refused('one_statement', `must be one statement, not ${stmts.length}`)
  const select = only['SelectStmt']
  if (!select) {
    const kind = Object.keys(only)[0] ?? ''
    return refused('not_select', `must be a SELECT, not ${wordsOf(kind)}`)
  }
  const fence = new Fence(readable, namesGiven(only))
  fence.node('SelectStmt', select as Tree, new Set())
  if (fence.refusals.size === 0 && weightOf(select as Tree) > WEIGHT_MAX)
    fence.refuse('too_large', 'puts too much text together from itself, or replaces without end')
  return { views: [...fence.views], refusals: [...fence.refusals.values()] }
}

function refused(code: string, message: string): Verdict {
  return { views: [], refusals: [{ code, message }] }
}

/** Levels of nodes in a statement, at most; the database has a limit of its own, deeper down. */
const DEPTH_MAX = 300

class Fence {
  private depth = 0
  readonly views = new Set<string>()
  /** By their message: each is told once. */
  readonly refusals = new Map<string, Refusal>()
  private readonly readable: Readable
  private readonly names: ReadonlySet<string>

  constructor(readable: Readable, names: ReadonlySet<string>) {
    this.readable = readable
    this.names = names
  }

  refuse(code: string, message: string, suggestion?: string): void {
    this.refusals.set(message, { code, message, ...(suggestion ? { suggestion } : {}) })
  }

  /** @param ctes names of the common table expressions in scope. */
  node(kind: string, node: Tree, ctes: ReadonlySet<string>): void {
    const rule = GRAMMAR[kind]
    if (!rule) return this.refuse('not_allowed', `${wordsOf(kind)} is not allowed`)
    if (this.depth > DEPTH_MAX) return this.refuse('too_deep', 'nests too deep')
    this.depth++
    this.fields(rule, kind, node, ctes)
    this.depth--
  }

  private fields(rule: NodeRule, kind: string, node: Tree, ctes: ReadonlySet<string>): void {
    const inner = this.check(kind, node, ctes)
    for (const [name, value] of Object.entries(node)) {
      const field = rule[name]
      if (field === undefined) this.refuse('not_allowed', this.unlisted(kind, name))
      else if (field === 'nodes') this.nodes(value, inner)
      else if (field === 'plain') this.plain(kind, name, value)
      // The expressions of WITH were judged one behind the other.
      else if (field !== 'const' && field !== 'WithClause') this.node(field, value as Tree, inner)
    }
  }

  private unlisted(kind: string, name: string): string {
    if (kind === 'RangeVar') return 'schemas are not allowed; name one of the views'
    if (kind === 'WithClause') return 'WITH RECURSIVE is not allowed'
    if (name === 'intoClause') return 'SELECT INTO is not allowed'
    if (name === 'lockingClause') return 'FOR UPDATE and FOR SHARE are not allowed'
    return `${wordsOf(name)} of ${wordsOf(kind)} is not allowed`
  }

  private plain(kind: string, name: string, value: unknown): void {
    if (typeof value === 'object') this.refuse('not_allowed', `${name} of ${wordsOf(kind)}`)
  }

  private nodes(value: unknown, ctes: ReadonlySet<string>): void {
    for (const one of [value].flat()) {
      const entries = Object.entries(one as Record<string, Tree>)
      // An empty list has no kind.
      for (const [kind, node] of entries) this.node(kind, node, ctes)
    }
  }

  /** What the kind of a node asks for beyond its fields. @returns the names in scope below it. */
  private check(kind: string, node: Tree, ctes: ReadonlySet<string>): ReadonlySet<string> {
    switch (kind) {
      case 'SelectStmt':
        return this.with(node['withClause'] as Tree | undefined, ctes)
      case 'RangeVar':
        this.table(String(node['relname']), ctes)
        break
      case 'CommonTableExpr':
        // It would be planned once for each time that it is named, level upon level.
        if (node['ctematerialized'] === 'CTEMaterializeNever')
          this.refuse('not_allowed', 'NOT MATERIALIZED is not allowed')
        break
      case 'FuncCall':
        this.call(node)
        break
      case 'TypeName':
        this.type(textsIn(node['names']))
        break
      case 'A_Expr':
        this.sign(textsIn(node['name']))
        break
      case 'SubLink':
        if (node['subLinkType'] === 'ARRAY_SUBLINK')
          this.refuse('not_allowed', 'ARRAY of a SELECT is not allowed')
        if (node['operName']) this.sign(textsIn(node['operName']))
        break
      case 'ColumnRef':
        this.qualified(textsIn(node['fields']).slice(1))
        break
      case 'A_Indirection':
        this.qualified(textsIn(node['indirection']))
        break
      case 'SQLValueFunction':
        if (!NAMED_VALUES.has(String(node['op'])))
          this.refuse('not_allowed', `${String(node['op']).slice('SVFOP_'.length)} is not allowed`)
        break
      default:
    }
    return ctes
  }

  private with(clause: Tree | undefined, ctes: ReadonlySet<string>): ReadonlySet<string> {
    if (!clause) return ctes
    const names = new Set(ctes)
    const { ctes: list, ...others } = clause
    this.node('WithClause', others, ctes)
    for (const item of list as Record<string, Tree>[]) {
      const cte = item['CommonTableExpr'] as Tree
      this.node('CommonTableExpr', cte, names)
      names.add(String(cte['ctename']))
    }
    return names
  }

  private table(name: string, ctes: ReadonlySet<string>): void {
    if (ctes.has(name)) return
    const { views } = this.readable
    if (views.has(name)) this.views.add(name)
    else this.refuse('unknown_view', `there is no view '${name}'`, closest(name, [...views]))
  }

  private call(node: Tree): void {
    const names = textsIn(node['funcname'])
    const name = nameOf(node)
    // Syntax such as EXTRACT(...) names the schema by itself.
    const builtIn = names.length === 1 || (names.length === 2 && names[0] === 'pg_catalog')
    if (!builtIn || !FUNCTIONS.has(name)) {
      const message = `the function '${names.join('.')}' is not allowed`
      this.refuse('unknown_function', message, closest(name, [...FUNCTIONS]))
    } else if (name === 'generate_series' && !isConstant(node['args'])) {
      this.refuse('not_constant', 'generate_series is allowed with constants only')
    }
  }

  private type(names: string[]): void {
    const name = names.at(-1) ?? ''
    const builtIn = names.length === 1 || (names.length === 2 && names[0] === 'pg_catalog')
    if (builtIn && TYPES.has(name)) return
    const message = `the type '${names.join('.')}' is not allowed`
    this.refuse('unknown_type', message, closest(name, [...TYPES]))
  }

  private sign(names: string[]): void {
    if (names.length === 1 && SIGNS.has(names[0] as string)) return
    this.refuse('unknown_operator', `the operator '${names.join('.')}' is not allowed`)
  }

  /** `lease.to_jsonb` would call a function: what stands behind a dot is a column, or was named in the statement. */
  private qualified(names: string[]): void {
    for (const name of names) {
      const known = this.readable.columns.has(name) || this.names.has(name) || FUNCTIONS.has(name)
      if (!known)
        this.refuse(
          'unknown_column',
          `there is no column '${name}'`,
          closest(name, [...this.readable.columns]),
        )
    }
  }
}

/** Names of columns that table functions give. */
const GIVEN = ['key', 'value', 'ordinality', 'case', 'coalesce', 'greatest', 'least', 'nullif']

/** Functions that take a row of any kind and make much of many; no name of theirs is taken for a column. */
const GATHERING = /_agg(_strict|_unique|_unique_strict)?$/

/** Every name that the statement gives to something. */
function namesGiven(tree: unknown): Set<string> {
  const names = new Set(GIVEN)
  const collect = (kind: string, value: unknown): void => {
    if (Array.isArray(value)) {
      value.forEach((one) => collect(kind, one))
      return
    }
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) {
      const gives = name === 'aliasname' || (kind === 'ResTarget' && name === 'name')
      if (gives) names.add(String(inner))
      if (name === 'colnames' || name === 'aliascolnames')
        textsIn(inner).forEach((one) => names.add(one))
      collect(name, inner)
    }
  }
  collect('', tree)
  return new Set([...names].filter((name) => !GATHERING.test(name)))
}

/** The texts of a list of names; a star has none. */
function textsIn(nodes: unknown): string[] {
  return (Array.isArray(nodes) ? (nodes as Record<string, Tree>[]) : []).flatMap((node) => {
    const text = node['String']?.['sval']
    return typeof text === 'string' ? [text] : []
  })
}

/** Is it made of constants, casts of them and signs before them only? */
function isConstant(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isConstant)
  const [[kind, node] = ['', {}]] = Object.entries((value ?? {}) as Record<string, Tree>)
  if (kind === 'A_Const') return true
  if (kind === 'TypeCast') return isConstant(node['arg'])
  return kind === 'A_Expr' && node['lexpr'] === undefined && isConstant(node['rexpr'])
}

/** `CommonTableExpr` -> `COMMON TABLE EXPR`: a kind of node in words. */
function wordsOf(kind: string): string {
  return kind
    .replace(/(Stmt|Expr|Clause)$/, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toUpperCase()
}
