/** Locks that go before statements of the write door, in one transaction with them. */
import type { Statement } from '../db/pipeline.ts'
import type { Resource } from './resource.ts'

/**
 * Goes before the delete of an object that others may need, in one transaction with it: waits for writes that are about
 * to refer to the object and makes later ones wait.
 */
export function lockStatement(resource: Resource, org_id: number, id: number): Statement {
  const sql = `select from ${resource.name} where org_id = $1::bigint and id = $2::bigint for update`
  return { sql, params: [org_id, id] }
}

/** Goes before a write that needs the objects for itself: makes other such writes wait, changes of the objects too. */
export function holdStatement(table: string, org_id: number, ids: readonly number[]): Statement {
  const sql = `select from ${table} where org_id = $1::bigint and id = any($2::bigint[]) order by id for no key update`
  return { sql, params: [org_id, `{${ids.join(',')}}`] }
}

/** Holds while the rules are those by which the rows were weighed; who changes them waits until the rows are written. */
export const SAME_RULES = ` and coalesce((select h.revision from survivorship_head h where h.org_id = $1::bigint for share), 0) = $19::integer`
