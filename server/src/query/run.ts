/** Runs a query: compiled, priced before it starts, under the caller's role and a time limit, a page at a time. */
import { DatabaseError } from 'pg'
import type { KeyObject } from 'node:crypto'
import { ApiError, invalid } from '../kit/errors.ts'
import { ownStore } from '../kit/extended.ts'
import { refuseLarge } from '../kit/extension-limits.ts'
import type { Issue } from '../kit/errors.ts'
import { decodeCursor, encodeCursor, queryHash } from '../kit/page.ts'
import type { Times } from '../kit/query.ts'
import type { Resource } from '../kit/resource.ts'
import { PROPERTY_SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Store } from '../kit/store.ts'
import type { Caller, Tx } from '../kit/types.ts'
import { closest } from '../kit/validate.ts'
import { compile, issuesOf } from './compile.ts'
import type { Compiled } from './compile.ts'
import { entityOf } from './entity.ts'
import { FACT_ROWS, factEntity, schemaEntity } from './facts.ts'
import { planOf } from './plan.ts'
import type { Plan } from './plan.ts'
import { schemaRows } from './schema-rows.ts'
import type { Output } from './select.ts'
import { limitTime } from './session-queries.ts'
import type { Catalog } from './sources.ts'
import { tablesAt, timesOf } from './times.ts'
import type { Tables } from './times.ts'
import { TIMEOUT_MS } from './types.ts'
import type { QueryBody, Tree } from './types.ts'

export interface QueryPage {
  compiled: Compiled
  plan: Plan
  /** The values of each row in the order of the outputs; none where only the plan was asked for. */
  rows: unknown[][]
  has_more: boolean
  next_cursor: string | null
}

const LIMIT_DEFAULT = 50

/**
 * @param cost_max what a statement may be thought to cost.
 * @throws 422 for what is wrong in the document or too much; 403 for a type whose scope the caller lacks.
 */
export async function runQuery(
  declared: Store,
  caller: Caller,
  body: QueryBody,
  cost_max: number,
): Promise<QueryPage> {
  const store = await ownStore(declared, caller.org_id)
  const issues: Issue[] = []
  const catalog = catalogFor(store, caller)
  requireEntity(store, body, issues)
  const times = timesOf(body, caller.time_zone, issues)
  if (issues.length > 0) throw invalid(issues)
  const { limit = LIMIT_DEFAULT, cursor } = body
  const hash = hashOf(caller.org_id, body)
  const after = cursor ? decodeCursor(store.secret, hash, cursor, Date.now()) : null
  const compiled = compile(body, catalog, caller.org_id, limit, after, timed(body, times))
  for (const { resource } of compiled.sources.entities) if (resource) allowRead(caller, resource)
  await refuseLarge(store.db, caller.org_id, compiled.sources.asked)
  const tables = await tablesFor(store, caller, compiled, body, times)
  const statement = statementOf(compiled, tables)
  const { plan, rows } = await execute(store, caller.org_id, statement, cost_max, body.explain)
  return pageOf(store.secret, hash, compiled, plan, rows, limit)
}

/** What is wrong with a query that is kept, but for values it does not have yet. */
export async function problemsOf(
  declared: Store,
  caller: Caller,
  body: QueryBody,
): Promise<Issue[]> {
  const store = await ownStore(declared, caller.org_id)
  const issues: Issue[] = []
  requireEntity(store, body, issues)
  timesOf(body, caller.time_zone, issues)
  return issues.length > 0 ? issues : issuesOf(body, catalogFor(store, caller))
}

/** What the caller may ask for, by name. */
function catalogFor({ registry }: Store, caller: Caller): Catalog {
  const readable = [...registry.values()].filter((resource) => caller.scopes.has(scopeOf(resource)))
  const facts = factEntity(readable)
  return (name) => {
    if (name === 'fact') return facts
    if (name === 'schema') return schemaEntity
    const resource = registry.get(name)
    return resource ? entityOf(resource, registry) : undefined
  }
}

function requireEntity({ registry }: Store, { from, as_of }: QueryBody, issues: Issue[]): void {
  const allowed = [...registry.keys(), 'fact', 'schema']
  if (from === 'schema' && as_of) {
    const message = 'the schema is that of today'
    issues.push({ field: 'as_of', code: 'unsupported_with_time', message })
  }
  if (allowed.includes(from)) return
  const suggestion = closest(from, allowed)
  const message = `there is no type '${from}'`
  issues.push({
    field: 'from',
    code: 'unknown_value',
    message,
    allowed,
    ...(suggestion ? { suggestion } : {}),
  })
}

function scopeOf({ scope }: Resource): Scope {
  return `read:${scope}` as Scope
}

/** @throws 403 naming the scope by which the type is read. */
function allowRead(caller: Caller, resource: Resource): void {
  const scope = scopeOf(resource)
  if (!caller.scopes.has(scope)) {
    const detail = `The query reads ${resource.path.replaceAll('_', ' ')}, which needs the scope ${scope}.`
    const granted_scopes = [...caller.scopes].sort()
    throw new ApiError('insufficient_scope', detail, { required_scope: scope, granted_scopes })
  }
  if (caller.property_ids && !PROPERTY_SCOPES.has(scope))
    throw new ApiError('property_restricted', `${scope} concerns the whole organization.`)
}

/** Facts have their times in themselves: claims recorded by then, of what was true then. */
function timed({ from }: QueryBody, { as_of, known_at }: Times): Tree {
  if (from !== 'fact' || (as_of === null && known_at === null)) return {}
  const at = (time: number): string => new Date(time).toISOString()
  const valid =
    as_of === null
      ? []
      : [
          { valid_from: { lte: at(as_of) } },
          { or: [{ valid_to: null }, { valid_to: { gt: at(as_of) } }] },
        ]
  const known = known_at === null ? [] : [{ recorded_at: { lte: at(known_at) } }]
  return { and: [...valid, ...known] }
}

async function tablesFor(
  store: Store,
  caller: Caller,
  { sources }: Compiled,
  body: QueryBody,
  times: Times,
): Promise<Tables> {
  const { base } = sources
  if (base.name === 'schema') return new Map([[base.name, schemaRows(store)]])
  if (base.name === 'fact' || (times.as_of === null && times.known_at === null)) return new Map()
  return await tablesAt(store, caller.org_id, sources, body, times)
}

interface QueryStatement {
  sql: string
  params: readonly string[]
}

/** The statement with the rows that have no table put before it, under the names by which it reads them. */
function statementOf({ sql, params, sources }: Compiled, tables: Tables): QueryStatement {
  const values = [...params]
  const named: string[] = sources.base.name === 'fact' ? [`fact_row as (${FACT_ROWS})`] : []
  for (const [name, rows] of tables) {
    const json = `$${values.push(rows)}::json`
    const made =
      name === 'schema'
        ? `schema_row as (select * from json_to_recordset(${json}) as s(${SCHEMA_COLUMNS}))`
        : `${name} as materialized (select * from json_populate_recordset(null::public.${name}, ${json}))`
    named.push(made)
  }
  return { sql: named.length > 0 ? `with ${named.join(', ')} ${sql}` : sql, params: values }
}

const SCHEMA_COLUMNS = [...schemaEntity.fields.values()]
  .map(({ name, type }) => `${name} ${type}`)
  .join(', ')

interface ResultRow {
  row: string
  [key: `k${number}`]: string | null
}

async function execute(
  { db }: Store,
  org_id: number,
  { sql, params }: QueryStatement,
  cost_max: number,
  planOnly = false,
): Promise<{ plan: Plan; rows: ResultRow[] }> {
  try {
    return await db.transaction(org_id, async (tx) => {
      const plan = await explained(tx, sql, params)
      if (planOnly) return { plan, rows: [] }
      refuseCostly(plan, cost_max)
      return { plan, rows: await tx.query<ResultRow>(sql, params) }
    })
  } catch (error) {
    throw timedOut(error) ?? error
  }
}

async function explained(tx: Tx, sql: string, params: readonly string[]): Promise<Plan> {
  const [, [row]] = await Promise.all([
    limitTime(tx, TIMEOUT_MS),
    tx.query<{ 'QUERY PLAN': unknown }>(`explain (format json) ${sql}`, params),
  ])
  return planOf(row?.['QUERY PLAN'])
}

/** @throws 422 `query_too_costly` with what it would cost and what may be. */
export function refuseCostly({ cost, rows }: Plan, cost_max: number): void {
  if (cost <= cost_max) return
  const detail = `The query would cost about ${cost} and may cost ${cost_max}; filter by an indexed field, or follow fewer relations.`
  throw new ApiError('query_too_costly', detail, { cost, max_cost: cost_max, estimated_rows: rows })
}

/** The problem of a statement that ran past its time limit. */
export function timedOut(error: unknown): ApiError | null {
  if (!(error instanceof DatabaseError) || error.code !== '57014') return null
  const detail = `The query ran for ${TIMEOUT_MS / 1_000} seconds and was stopped; filter more, or follow fewer relations.`
  return new ApiError('query_timeout', detail, { max_ms: TIMEOUT_MS })
}

/** A cursor is bound to all that decides which rows come in which order. */
function hashOf(org_id: number, body: QueryBody): string {
  const { from, where, order_by, as_of } = body
  return queryHash(org_id, ['query', JSON.stringify({ from, where, order_by, as_of })])
}

function pageOf(
  secret: KeyObject,
  hash: string,
  compiled: Compiled,
  plan: Plan,
  rows: readonly ResultRow[],
  limit: number,
): QueryPage {
  const page = rows.slice(0, limit)
  const has_more = rows.length > limit
  const last = page.at(-1)
  const values = last ? compiled.keys.map((_, i) => last[`k${i}`] ?? null) : []
  const next_cursor =
    has_more && !compiled.grouped ? encodeCursor(secret, hash, values, Date.now()) : null
  return {
    compiled,
    plan,
    rows: page.map(({ row }) => presented(row, compiled.outputs)),
    has_more,
    next_cursor,
  }
}

function presented(text: string, outputs: readonly Output[]): unknown[] {
  const values = JSON.parse(text) as unknown[]
  return values.map((value, i) => {
    const { present } = outputs[i] as Output
    return present ? present(value) : value
  })
}
