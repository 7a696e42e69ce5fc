import type { FastifyInstance } from 'fastify'
import { limitsOf } from '../http/limits.ts'
import { instant, isDate } from '../kit/dates.ts'
import { invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { usageDocs } from './docs.ts'
import { countsOf, GROUPS, requestsOf, storedBytes } from './queries.ts'
import type { Group, Span, UsageRow } from './queries.ts'
import { flushCounts } from './service.ts'

/** Rows of one answer; more groups than this are asked for in parts. */
const ROWS_MAX = 10_000

const HOUR_MS = 60 * 60 * 1_000

interface UsageQuery {
  Querystring: { from?: string; to?: string; group_by?: string }
}

export function usageRoutes(app: FastifyInstance): void {
  app.get<UsageQuery>('/usage', usageDocs, async ({ caller, query }, reply) => {
    const { org_id } = caller
    const now = new Date()
    const span = spanOf(query, now)
    const groups = groupsOf(query.group_by)
    // What this process has answered and counted so far is part of the usage it shows.
    await Promise.all([app.requestLog.flush(), flushCounts(app.db)])
    const requests = await requestsOf(app.db, org_id, span, groups, ROWS_MAX + 1)
    if (requests.length > ROWS_MAX) throw invalid([tooMany])
    const counts = await countsOf(app.db, org_id, span, groups)
    const storage_bytes = await storedBytes(app.db, org_id)
    const { policy, per_key, per_organization } = limitsOf(app.config, caller)
    const body = {
      object: 'usage',
      organization_id: publicId('org', org_id),
      ...span,
      totals: { ...sums([...requests, ...counts]), storage_bytes },
      forecast: await forecast(app, org_id, now),
      limits: {
        plan: caller.plan,
        policy,
        requests_per_minute: per_key,
        organization_requests_per_minute: per_organization,
      },
      data: [...requests, ...counts].map((row) => rowView(row, groups)),
    }
    return reply.type(JSON_TYPE).send(JSON.stringify(body))
  })
}

const tooMany: Issue = {
  field: 'group_by',
  code: 'out_of_range',
  message: `makes more than ${ROWS_MAX} rows; ask for a shorter time or fewer groups`,
}

/** Sums of a month that goes on as it has begun. */
async function forecast(app: FastifyInstance, org_id: number, now: Date): Promise<Row> {
  const [start, end] = [monthOf(now), monthOf(now, 1)]
  const span = { from: new Date(start).toISOString(), to: new Date(end).toISOString() }
  const rows = [
    ...(await requestsOf(app.db, org_id, span, [], 1)),
    ...(await countsOf(app.db, org_id, span, [])),
  ]
  const passed_ms = Math.max(now.getTime() - start, HOUR_MS)
  const factor = (end - start) / passed_ms
  const expected = Object.entries(sums(rows)).map(([meter, n]) => [meter, Math.round(n * factor)])
  return { ...span, totals: Object.fromEntries(expected) as Row }
}

/** Start of a time's month, or of one after it, in UTC. */
function monthOf(time: Date, later = 0): number {
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + later)
}

/** Every meter but the stored bytes, which are no sum over time. */
function sums(rows: readonly UsageRow[]): Record<string, number> {
  const totals: Record<string, number> = { requests: 0, deliveries: 0, job_rows: 0, skill_runs: 0 }
  for (const { meter, amount } of rows) totals[meter] = (totals[meter] ?? 0) + amount
  return totals
}

function rowView(row: UsageRow, groups: readonly Group[]): Row {
  const shown: Record<Group, () => Row> = {
    key: () => ({
      key_id: row.key_id === null ? null : publicId('key', row.key_id),
      key_name: row.key_name,
    }),
    route_group: () => ({ route_group: row.route_group }),
    status_class: () => ({ status_class: row.status_class }),
    day: () => ({ day: row.at?.toISOString().slice(0, 10) }),
    hour: () => ({ hour: row.at?.toISOString() }),
  }
  const parts = groups.map((group) => shown[group]())
  return Object.assign({ meter: row.meter }, ...parts, { quantity: row.amount }) as Row
}

/** Whole hours around the times asked for; by default from the start of the month in which they end. */
function spanOf(query: UsageQuery['Querystring'], now: Date): Span {
  const issues: Issue[] = []
  const time = (field: 'from' | 'to', fallback: number): number => {
    const text = query[field]
    if (text === undefined) return fallback
    const found = instant(isDate(text) ? `${text}T00:00:00Z` : text)
    if (found !== null) return Date.parse(found)
    const message = 'must be a day such as 2026-05-01 or a time such as 2026-05-12T08:00:00Z'
    issues.push({ field, code: 'invalid_format', message })
    return fallback
  }
  const to = time('to', now.getTime())
  const from = time('from', monthOf(new Date(to)))
  if (issues.length === 0 && from > to)
    issues.push({ field: 'to', code: 'out_of_range', message: 'must not be before from' })
  if (issues.length > 0) throw invalid(issues)
  const hour = (ms: number, round: (n: number) => number): string =>
    new Date(round(ms / HOUR_MS) * HOUR_MS).toISOString()
  return { from: hour(from, Math.floor), to: hour(to, Math.ceil) }
}

function groupsOf(text: string | undefined): Group[] {
  const names = text === undefined ? [] : [...new Set(text.split(','))]
  const unknown = names.find((name) => !GROUPS.some((group) => group === name))
  const issue = { field: 'group_by', allowed: GROUPS }
  if (unknown !== undefined)
    throw invalid([{ ...issue, code: 'unknown_value', message: `unknown group '${unknown}'` }])
  if (names.includes('day') && names.includes('hour'))
    throw invalid([{ ...issue, code: 'conflicting', message: 'takes day or hour, not both' }])
  return names as Group[]
}
