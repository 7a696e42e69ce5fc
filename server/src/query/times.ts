/** Queries of another time: the objects are folded from their facts and stand in for the tables, under the same statement. */
import { instant, isDate } from '../kit/dates.ts'
import { ApiError } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { assertionsOf, byOwner, ownerOf, ranksOf, rowAt, settle } from '../kit/history.ts'
import { idDigits } from '../kit/ids.ts'
import { idsAfter, STEP_MAX } from '../kit/past-lists.ts'
import { endOfDay } from '../kit/query.ts'
import type { Times } from '../kit/query.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { columns, columnValue, render } from '../kit/row.ts'
import { ownSql } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { Sources } from './sources.ts'
import type { QueryBody, Tree } from './types.ts'
import { isTree } from './where.ts'

/** Objects of the type asked for that one query of another time folds, at most. */
export const FOLD_MAX = 10_000

/** The times of a query; a day counts to its end in the organization's time zone. */
export function timesOf(body: QueryBody, timeZone: string, issues: Issue[]): Times {
  const { valid_at, known_at } = body.as_of ?? {}
  return {
    as_of: moment(valid_at, 'as_of.valid_at', timeZone, issues),
    known_at: moment(known_at, 'as_of.known_at', timeZone, issues),
  }
}

function moment(
  text: string | undefined,
  field: string,
  timeZone: string,
  issues: Issue[],
): number | null {
  if (text === undefined) return null
  if (isDate(text)) return endOfDay(text, timeZone)
  const time = instant(text)
  if (time !== null) return Date.parse(time)
  const message = `must be a date such as 2026-03-31 or a time such as 2026-04-15T00:00:00Z, got '${text}'`
  issues.push({ field, code: 'invalid_format', message })
  return null
}

/** Tables of a statement by the name of their type, each as the JSON of its rows. */
export type Tables = ReadonlyMap<string, string>

/**
 * The rows that the query reads, as they were. What relations lead to is folded for the rows that lead there.
 * @throws 422 `query_too_costly` where there are more objects than one query folds.
 */
export async function tablesAt(
  store: Store,
  org_id: number,
  { base, joins }: Sources,
  body: QueryBody,
  times: Times,
): Promise<Tables> {
  await settle(store.db, org_id, times.known_at)
  const found = new Map<string, Map<number, Row>>()
  const resource = base.resource as Resource
  const named = idsNamed(resource, body.where)
  const ids = named
    ? await visible(store, org_id, resource, named)
    : await allIds(store, org_id, resource, times)
  found.set(base.name, await rowsAt(store, org_id, resource, ids, times))
  for (const { parent, column, entity } of joins.values()) {
    const target = entity.resource as Resource
    const known = found.get(target.name) ?? new Map<number, Row>()
    const led = [...(found.get(parent.name)?.values() ?? [])].map((row) => row[column])
    const digits = [...new Set(led)].map((id) => idDigits(target.prefix, String(id)))
    const more = digits.flatMap((id) => (id === null || known.has(id) ? [] : [id]))
    const rows = await rowsAt(
      store,
      org_id,
      target,
      await visible(store, org_id, target, more),
      times,
    )
    found.set(target.name, new Map([...known, ...rows]))
  }
  return new Map(
    [...found].map(([name, rows]) => [
      name,
      recordsOf(store.registry.get(name) as Resource, org_id, rows),
    ]),
  )
}

async function allIds(
  { db }: Store,
  org_id: number,
  resource: Resource,
  { known_at }: Times,
): Promise<number[]> {
  const ids = await idsAfter(db, org_id, resource, known_at, false, null, FOLD_MAX + 1)
  if (ids.length <= FOLD_MAX) return ids
  const detail = `A query of another time reads at most ${FOLD_MAX} ${resource.path.replaceAll('_', ' ')} and there are more; name them by id, or ask for the present.`
  throw new ApiError('query_too_costly', detail, { max_objects: FOLD_MAX })
}

/** Ids that a row must have for the conditions to hold, null when it may be any. */
function idsNamed(resource: Resource, where: Tree | undefined): number[] | null {
  if (!where) return null
  const value = where['id']
  const named = isTree(value) ? (value['eq'] ?? value['in']) : value
  if (named !== undefined && named !== null)
    return [named]
      .flat()
      .flatMap((id) => idDigits(resource.prefix, String(id)) ?? [])
      .slice(0, FOLD_MAX)
  const all = where['and']
  if (!Array.isArray(all)) return null
  for (const one of all) {
    const ids = isTree(one) ? idsNamed(resource, one) : null
    if (ids) return ids
  }
  return null
}

/** Those of the ids that are objects of the type which the caller may see; what is archived or deleted by now is among them. */
async function visible(
  { db }: Store,
  org_id: number,
  resource: Resource,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return []
  const sql = `select t.id from ${resource.name} t where ${ownSql(resource, '$1::bigint')} and t.id = any($2::bigint[])`
  const [rows] = await db.fly(org_id, [{ sql, params: [org_id, `{${ids.join(',')}}`] }])
  return (rows ?? []).map((row) => Number(String(row[0])))
}

async function rowsAt(
  store: Store,
  org_id: number,
  resource: Resource,
  ids: readonly number[],
  times: Times,
): Promise<Map<number, Row>> {
  const ranks = await ranksOf(store.db, org_id)
  const rows = new Map<number, Row>()
  for (let start = 0; start < ids.length; start += STEP_MAX) {
    const step = ids.slice(start, start + STEP_MAX)
    const known = await byOwner(resource, org_id, step, (owner, own) =>
      assertionsOf(store.db, owner, own, times.known_at),
    )
    for (const id of step) {
      const owner = ownerOf(resource, org_id, id)
      const row = rowAt(resource, owner, id, known.get(id) ?? [], ranks, times)
      if (row) rows.set(id, row)
    }
  }
  return rows
}

/** Rows as the table of the type would hold them. */
function recordsOf(resource: Resource, org_id: number, rows: ReadonlyMap<number, Row>): string {
  const records = [...rows].map(([id, row]) => ({
    ...Object.fromEntries(
      columns(resource).map((column) => [column.name, columnValue(column, row[column.name])]),
    ),
    org_id: ownerOf(resource, org_id, id),
    id,
    version: row['version'],
    created_at: row['created_at'],
    updated_at: row['updated_at'],
    ext: row['ext'],
    body: render(row),
  }))
  return JSON.stringify(records)
}
