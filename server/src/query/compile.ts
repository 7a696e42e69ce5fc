/** A query document compiled to one SQL statement with parameters; the organization is added here and nowhere else. */
import { invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { sortSql, keysetSql } from '../kit/filter.ts'
import type { SortKey } from '../kit/filter.ts'
import type { CursorValues } from '../kit/page.ts'
import { closest } from '../kit/validate.ts'
import type { Entity } from './entity.ts'
import { fromSql, ownedSql, Sources } from './sources.ts'
import type { Catalog } from './sources.ts'
import { outputs } from './select.ts'
import type { Output } from './select.ts'
import { GROUPS_MAX, ORDER_MAX } from './types.ts'
import type { QueryBody, Tree } from './types.ts'
import { namesIn, treeSql } from './where.ts'
import type { Compared } from './where.ts'

export interface Compiled {
  /** The statement but for the rows that have no table; values stand in `params`. */
  sql: string
  params: string[]
  outputs: readonly Output[]
  sources: Sources
  /** Values by which the rows are ordered; empty for groups, which have no pages. */
  keys: readonly SortKey[]
  grouped: boolean
  warnings: string[]
}

/**
 * @param org_id stands as the first parameter of the statement.
 * @param after where the page begins. @param limit rows of the page; one more is asked for.
 * @param also conditions beside those of the document.
 * @throws 422 naming everything that is wrong, where it stands in the document.
 */
export function compile(
  body: QueryBody,
  catalog: Catalog,
  org_id: number,
  limit: number,
  after: CursorValues | null,
  also: Tree = {},
): Compiled {
  const { compiled, issues } = build(body, catalog, { org_id, limit, after, also, open: false })
  if (issues.length > 0) throw invalid(issues)
  return compiled
}

/** What is wrong with a query that is to be run later, with values in the places of its parameters. */
export function issuesOf(body: QueryBody, catalog: Catalog): Issue[] {
  return build(body, catalog, { org_id: 0, limit: 1, after: null, also: {}, open: true }).issues
}

interface Building {
  org_id: number
  limit: number
  after: CursorValues | null
  also: Tree
  /** Parameters may have no values yet. */
  open: boolean
}

function build(
  body: QueryBody,
  catalog: Catalog,
  { org_id, limit, after, also, open }: Building,
): { compiled: Compiled; issues: Issue[] } {
  const issues: Issue[] = []
  const sources = new Sources(catalog, catalog(body.from) as Entity, issues)
  const columns = outputs(body.select, body.group_by ?? [], sources, issues)
  const grouped = body.group_by !== undefined || columns.some(({ aggregate }) => aggregate !== null)
  const params = [String(org_id)]
  const parts = { body, sources, columns, params, issues, open }
  const where = whereSql(parts, also)
  const sql = grouped ? groupSql(parts, where, limit) : rowsSql(parts, where, limit, after)
  const warnings = warningsOf(body, columns)
  return { compiled: { ...sql, params, outputs: columns, sources, grouped, warnings }, issues }
}

interface Parts {
  body: QueryBody
  sources: Sources
  columns: readonly Output[]
  params: string[]
  issues: Issue[]
  open: boolean
}

function whereSql({ body, sources, params, issues, open }: Parts, also: Tree): string {
  const { base } = sources
  // Rows of another time are in no index.
  const indexed = body.as_of === undefined
  const resolve = (name: string, at: string): Compared | null => {
    const operand = sources.chosenBy(name, at)
    return operand && !indexed ? { field: operand.field, sql: operand.sql } : operand
  }
  const own = [ownedSql(base, 't', '$1::bigint')]
  if (base.resource) {
    own.push('t.deleted_at is null')
    if (!namesIn(body.where).includes('archived_at')) own.push('t.archived_at is null')
  }
  // Facts of what the caller may not see have no type.
  if (base.name === 'fact') own.push(`${base.fields.get('object_type')?.sql('t')} is not null`)
  const trees = [body.where ?? {}, also]
  const given = trees.map((tree) =>
    treeSql(tree, 'where', { resolve, params, issues, open, count: 0 }),
  )
  return [...own, ...given].join(' and ')
}

function rowsSql(
  { body, sources, columns, params, issues }: Parts,
  where: string,
  limit: number,
  after: CursorValues | null,
): Pick<Compiled, 'sql' | 'keys'> {
  if (body.having) {
    const message = 'is for groups: aggregate something, or use where'
    issues.push({ field: 'having', code: 'unsupported', message })
  }
  const keys = sortKeys(body.order_by ?? [], sources, issues)
  const keyset = keysetSql(keys, after, params)
  const shown = columns.map((column) => column.shown).join(', ')
  const values = keys.map((key, i) => `${sortSql(key)}::text as k${i}`).join(', ')
  const sql = `select json_build_array(${shown})::text as row, ${values}
    from ${fromSql(sources, '$1::bigint')}
    where ${[where, ...(keyset.where ? [keyset.where] : [])].join(' and ')}
    order by ${keyset.order} limit ${limit + 1}`
  return { sql, keys }
}

/** What is asked for, then what tells rows apart. */
function sortKeys(
  order: readonly (readonly string[])[],
  sources: Sources,
  issues: Issue[],
): SortKey[] {
  const { base } = sources
  if (order.length > ORDER_MAX)
    issues.push({ field: 'order_by', code: 'too_many', message: `at most ${ORDER_MAX}` })
  const asked = order.slice(0, ORDER_MAX).flatMap(([path = '', way], i): SortKey[] => {
    const operand = sources.chosenBy(path, `order_by[${i}]`)
    if (!operand) return []
    const { field, sql, alias } = operand
    const descending = descends(way, `order_by[${i}]`, issues)
    const own = alias === 't' && sql === `t.${path}` ? {} : { sql }
    if (field.type === 'json')
      return [{ column: path, sql: `(${sql} #>> '{}')`, type: 'text', descending }]
    if (field.type === 'text[]') {
      issues.push({ field: `order_by[${i}]`, code: 'unsupported', message: `${path} has no order` })
      return []
    }
    return [{ column: path, ...own, type: field.type, descending }]
  })
  const last = base.keys.filter(({ name }) => !asked.some(({ column }) => column === name))
  return [
    ...asked,
    ...last.map(({ name, sql, type }) => ({
      column: name,
      ...(sql ? { sql } : {}),
      type,
      descending: false,
    })),
  ]
}

const DIRECTIONS = ['asc', 'desc']

/** Ascending is what goes without saying. */
function descends(way: string | undefined, field: string, issues: Issue[]): boolean {
  if (way !== undefined && !DIRECTIONS.includes(way)) {
    const suggestion = closest(way.toLowerCase(), DIRECTIONS)
    const message = `must be asc or desc, got '${way}'`
    const more = { allowed: DIRECTIONS, ...(suggestion ? { suggestion } : {}) }
    issues.push({ field, code: 'unknown_value', message, ...more })
  }
  return way === 'desc'
}

function groupSql(
  { body, sources, columns, params, issues, open }: Parts,
  where: string,
  limit: number,
): Pick<Compiled, 'sql' | 'keys'> {
  const groups = groupsOf(body.group_by ?? [], sources, issues)
  columns.forEach(({ aggregate, path, name }, i) => {
    if (aggregate !== null || groups.some((group) => group.path === path)) return
    const message = `${name} differs within a group: group by it, or aggregate it`
    issues.push({
      field: `select[${i}]`,
      code: 'not_grouped',
      message,
      suggestion: `group_by ${path}`,
    })
  })
  const named = (name: string, at: string): Output | null => {
    const found = columns.find((column) => column.name === name)
    if (!found) issues.push(unknownColumn(name, at, columns))
    return found ?? null
  }
  const having = treeSql(body.having ?? {}, 'having', {
    resolve: named,
    params,
    issues,
    open,
    count: 0,
  })
  const order = (body.order_by ?? []).slice(0, ORDER_MAX).flatMap(([name = '', way], i) => {
    const at = `order_by[${i}]`
    const column = named(name, at)
    const direction = descends(way, at, issues) ? 'desc' : 'asc'
    const value = column?.field.type === 'json' ? column.shown : column?.sql
    return column ? [`${value} ${direction} nulls last`] : []
  })
  const by = groups.map(({ sql }) => sql)
  // What a fact is about is found within the organization.
  if (by.length > 0 && sources.base.name === 'fact') by.push('t.org_id')
  const sql = `select json_build_array(${columns.map(({ shown }) => shown).join(', ')})::text as row
    from ${fromSql(sources, '$1::bigint')}
    where ${where}
    ${by.length > 0 ? `group by ${by.join(', ')}` : ''} having ${having}
    ${[...order, ...by].length > 0 ? `order by ${[...order, ...by].join(', ')}` : ''} limit ${limit + 1}`
  return { sql, keys: [] }
}

function groupsOf(
  paths: readonly string[],
  sources: Sources,
  issues: Issue[],
): { path: string; sql: string }[] {
  if (paths.length > GROUPS_MAX)
    issues.push({ field: 'group_by', code: 'too_many', message: `at most ${GROUPS_MAX}` })
  return paths.slice(0, GROUPS_MAX).flatMap((path, i) => {
    const operand = sources.comparable(path, `group_by[${i}]`)
    return operand ? [{ path, sql: operand.sql }] : []
  })
}

function unknownColumn(name: string, field: string, columns: readonly Output[]): Issue {
  const allowed = columns.map((column) => column.name)
  const suggestion = closest(name, allowed)
  const message = `no column of the answer is named '${name}'`
  return { field, code: 'unknown_field', message, allowed, ...(suggestion ? { suggestion } : {}) }
}

/** Amounts of a field of the organization's own are in the one currency of the field. */
const ownMoney = /(^|\.)ext\.[^.]+$/

/** What an answer would not show by itself. */
function warningsOf(body: QueryBody, columns: readonly Output[]): string[] {
  const added = columns.filter(
    ({ aggregate, field, path }) =>
      field.field.kind === 'money' &&
      !ownMoney.test(path ?? '') &&
      (aggregate === 'sum' || aggregate === 'avg'),
  )
  const apart = [...(body.group_by ?? []), ...namesIn(body.where)]
  if (added.length === 0 || apart.some((path) => /(^|\.)currency$/.test(path))) return []
  return [
    `Amounts of every currency are added as they are (${added.map(({ name }) => name).join(', ')}): group by currency, or ask for one.`,
  ]
}
