/** What a statement passes on its way to the database, and what is noted of it. */
import type { Config } from '../../config.ts'
import type { Db } from '../../db/db.ts'
import { ApiError } from '../../kit/errors.ts'
import type { Registry } from '../../kit/query.ts'
import { record } from '../../kit/record.ts'
import type { Scope } from '../../kit/scopes.ts'
import type { Actor, Caller } from '../../kit/types.ts'
import { SqlConsole } from './console.ts'
import type { SqlResult } from './console.ts'
import type { Refusal } from './fence.ts'
import { SqlParser } from './parser.ts'
import { readViews } from './view-queries.ts'
import type { View } from './view-queries.ts'

export interface SqlRequest {
  sql: string
  /** Rows of the answer, at most. */
  limit: number
}

/** How a statement ended, for the audit log. */
interface Ran {
  outcome: string
  views: readonly string[]
  cost: number | null
  rows: number | null
  ms: number | null
}

export class SqlService {
  private readonly db: Db
  private readonly registry: Registry
  private readonly open: Config['GRID_SQL_CONSOLE']
  private readonly console: SqlConsole
  private known: Promise<View[]> | null = null
  private parser: SqlParser | null = null

  constructor(db: Db, registry: Registry, config: Config) {
    this.db = db
    this.registry = registry
    this.open = config.GRID_SQL_CONSOLE
    this.console = new SqlConsole(db, config.GRID_QUERY_COST_MAX)
  }

  async close(): Promise<void> {
    await Promise.all([this.console.close(), this.parser?.close()])
  }

  /** The views and what their columns mean. */
  async views(): Promise<View[]> {
    // A look-up that failed is tried again.
    this.known ??= readViews(this.db).catch((error: unknown) => {
      this.known = null
      throw error
    })
    return await this.known
  }

  /**
   * Answers a statement; every one is written to the audit log, also one that is refused.
   * @throws 403 where the console is closed or a scope is missing; 422 for a statement that may not run or fails.
   */
  async run(caller: Caller, actor: Actor, { sql, limit }: SqlRequest): Promise<SqlResult> {
    let views: readonly string[] = []
    try {
      this.requireOpen(caller)
      views = await this.judged(sql)
      for (const view of views) this.requireRead(caller, view)
      const result = await this.console.run(caller.org_id, sql, limit)
      const { cost, ms, limit_hit } = result
      const ran = { outcome: limit_hit ? `limit_${limit_hit}` : 'ok', views, cost, ms }
      await this.note(caller.org_id, actor, sql, { ...ran, rows: result.rows.length })
      return result
    } catch (error) {
      const outcome = error instanceof ApiError ? error.code : 'internal'
      const cost =
        error instanceof ApiError ? ((error.extra['cost'] as number | undefined) ?? null) : null
      await this.note(caller.org_id, actor, sql, { outcome, views, cost, rows: null, ms: null })
      throw error
    }
  }

  private requireOpen({ environment }: Caller): void {
    if (this.open === 'all' || (this.open === 'sandbox' && environment === 'sandbox')) return
    const whose = this.open === 'none' ? 'nobody' : 'sandboxes only'
    throw new ApiError('console_closed', `SQL is open to ${whose} on this service.`)
  }

  private async judged(sql: string): Promise<readonly string[]> {
    this.parser ??= new SqlParser(readable(await this.views()))
    const judged = await this.parser.read(sql)
    if ('syntax' in judged) throw refusal([{ code: 'syntax', message: judged.syntax }])
    if ('broken' in judged)
      throw refusal([{ code: 'too_deep', message: 'nests too deep, or cannot be read' }])
    const { views, refusals } = judged.verdict
    if (refusals.length > 0) throw refusal(refusals)
    return views
  }

  /** A view of a type is read with the scope of the type. @throws 403 */
  private requireRead({ scopes }: Caller, view: string): void {
    const types = view === 'objects' ? [...this.registry.values()] : [this.registry.get(view)]
    const named = types.flatMap((type) => (type ? [`read:${type.scope}` as Scope] : []))
    const needed = view === 'facts' ? (['read:facts'] as const) : named
    const missing = needed.find((scope) => !scopes.has(scope))
    if (!missing) return
    throw new ApiError('insufficient_scope', `The view ${view} needs the scope ${missing}.`, {
      required_scope: missing,
      granted_scopes: [...scopes].sort(),
    })
  }

  private async note(org_id: number, actor: Actor, sql: string, ran: Ran): Promise<void> {
    const what = { type: 'sql.run', object_type: 'organization', object_id: org_id, object: null }
    await this.db.transaction(org_id, async (tx) => {
      await record(tx, org_id, actor, [{ ...what, details: { sql, ...ran } }])
    })
  }
}

function readable(views: readonly View[]): { views: string[]; columns: string[] } {
  const columns = new Set(views.flatMap((view) => view.columns.map(({ name }) => name)))
  return { views: views.map(({ name }) => name), columns: [...columns] }
}

function refusal(refusals: readonly Refusal[]): ApiError {
  const errors = refusals.map((one) => ({ field: 'sql', pointer: '/sql', ...one }))
  const [first] = refusals
  const detail =
    refusals.length === 1 && first ? first.message : `${refusals.length} things are not allowed.`
  return new ApiError('sql_refused', detail, { errors })
}
