/** What a write needs of other objects: that they exist, and what else must hold for them to be named together. */
import type { Reference, Written } from './door.ts'
import type { Issue } from './errors.ts'
import { invalid } from './errors.ts'
import { deployed, extensionKey } from './extension.ts'
import { idDigits, publicId } from './ids.ts'
import { writableFields } from './resource.ts'
import type { Resource, Row } from './resource.ts'
import { referencesOf } from './row.ts'
import type { OrgDb } from './types.ts'

/** One thing that must hold of another object. */
export interface Need {
  /** Name of its kind. */
  need: string
  /** Digits of the other object's id. */
  id: number
  /** Path of the field that is at fault when the need is not met. */
  field: string
  /** What the SQL of the kind reads as `r.args`. */
  args: Row
}

/** Needs that are looked up in the same way. */
export interface NeedKind {
  name: string
  /** SQL over `r(id bigint, args json)` in organization $1: null when met, else the id of what is in the way, or 0. */
  sql: string
  /** @param other id in digits of what is in the way. */
  issue: (need: Need, other: number) => Issue
  /** Whether two rows that are not written yet both need the object for themselves, for kinds with `locks`. */
  clash?: (a: Need, b: Need) => boolean
  /** Table of the objects, which are locked first: of two writes that need the same, the second sees the first. */
  locks?: string
}

/** The needs of a resource's rows. */
export interface Needs {
  kinds: readonly NeedKind[]
  /** Pure; fields that are not known yet may be missing. */
  of: (row: Row) => Need[]
}

/** What one write needs, with the fields that say so. */
export interface Needed {
  references: (Reference & { text: string; field: string })[]
  needs: Need[]
}

export const NOTHING: Needed = { references: [], needs: [] }

/** What the row needs and the one before it did not: what was accepted once is not questioned again. */
export function neededBy(resource: Resource, after: Row, before: Row | null): Needed {
  const fields = writableFields(resource)
  const named = new Set(before ? referencesOf(fields, before).map(({ id }) => id) : [])
  const references = referencesOf(fields, after)
    .filter(({ id }) => !named.has(id))
    .map(({ target, id, field }) => ({ target, id: digitsOf(id), text: id, field }))
  references.push(...extensionReferences(resource, after, before))
  return { references, needs: newNeeds(resource, after, before) }
}

/** Objects that fields of the organization's own lead to, and did not before. */
function extensionReferences(
  { extensions }: Resource,
  after: Row,
  before: Row | null,
): Needed['references'] {
  const values = (after['ext'] ?? {}) as Row
  const old = (before?.['ext'] ?? {}) as Row
  return deployed(extensions).flatMap(({ id: field_id, name, settings }) => {
    const key = extensionKey(field_id)
    const id = values[key]
    if (!settings.target || typeof id !== 'number' || id === old[key]) return []
    const text = publicId(settings.target_prefix ?? '', id)
    return [{ target: settings.target, id, text, field: `ext.${name}` }]
  })
}

function newNeeds({ needs }: Resource, after: Row, before: Row | null): Need[] {
  if (!needs) return []
  const known = new Set(before ? needs.of(before).map(keyOf) : [])
  return needs.of(after).filter((need) => !known.has(keyOf(need)))
}

function keyOf({ need, id, args }: Need): string {
  return JSON.stringify([need, id, args])
}

/** Digits of the id of any type; 0, which no object has, for one that is not in its usual form. */
export function digitsOf(id: string): number {
  return idDigits(id.slice(0, id.indexOf('_')), id) ?? 0
}

/** Ids of the objects to lock, by table. */
export function locksOf({ needs }: Resource, needed: readonly Need[]): [string, number[]][] {
  return (needs?.kinds ?? []).flatMap(({ name, locks }) => {
    const ids = needed.filter(({ need }) => need === name).map(({ id }) => id)
    return locks && ids.length > 0 ? [[locks, ids] as [string, number[]]] : []
  })
}

/** SQL: what is in the way of `r`, by the kind of its need. */
export function unmetSql({ kinds }: Needs): string {
  const cases = kinds.map(({ name, sql }) => `when '${name}' then ${sql}`)
  return `case r.need ${cases.join('\n      ')} end`
}

/**
 * Looks up many needs at once, for loads, which warn instead of refusing.
 * @returns the issue of each need that is not met.
 */
export async function unmetIssues(
  db: OrgDb,
  org_id: number,
  { needs }: Resource,
  needed: readonly Need[],
): Promise<Map<Need, Issue>> {
  if (!needs || needed.length === 0) return new Map()
  // Rows of one building ask the same again and again.
  const same = Map.groupBy(needed, keyOf)
  const first = [...same.values()].map(([need]) => need as Need)
  const sql = `select u.n, u.other from (
      select r.n, ${unmetSql(needs)} as other
      from json_to_recordset($2::json) as r(n integer, need text, id bigint, args json)
    ) u where u.other is not null`
  const given = first.map((need, n) => ({ ...need, n }))
  const rows = await db.query<{ n: number; other: string }>(org_id, sql, [
    org_id,
    JSON.stringify(given),
  ])
  return new Map(
    rows.flatMap(({ n, other }) =>
      (same.get(keyOf(first[n] as Need)) ?? []).map((need) => [
        need,
        issueOf(needs, need, Number(other)),
      ]),
    ),
  )
}

/** Why a write was refused; null when it lacked nothing. */
export function refusal(
  { needs }: Resource,
  needed: Needed,
  written: Pick<Written, 'missing' | 'unmet'>,
): Error | null {
  const missing = new Set(written.missing.map(({ target, id }) => `${target} ${id}`))
  const absent = needed.references.filter(({ target, id }) => missing.has(`${target} ${id}`))
  const issues: Issue[] = absent.map(({ field, text, target }) => ({
    field,
    code: 'not_found',
    message: `no ${target.replaceAll('_', ' ')} has the id ${text}`,
  }))
  for (const { n, other } of written.unmet) {
    const need = needed.needs[n] as Need
    // Nothing lies in what does not exist; that it does not is said already.
    const follows = absent.some(({ text }) => Object.values(need.args).includes(text))
    if (needs && !follows) issues.push(issueOf(needs, need, other))
  }
  return issues.length > 0 ? invalid(issues) : null
}

function issueOf({ kinds }: Needs, need: Need, other: number): Issue {
  const kind = kinds.find(({ name }) => name === need.need) as NeedKind
  return kind.issue(need, other)
}

/**
 * Does the referenced object exist? Only the types this resource can refer to are looked up. A scalar subquery with a
 * limit stays an index lookup per id; `exists` may be turned into a hash of the whole table. The lock keeps
 * the object from being deleted before this write is done; it does not hinder changes.
 */
export function existsSql(resource: Resource): string {
  const targets = resource.targets.map(
    (target) =>
      `when '${target}' then (select true from ${target} t where t.org_id = $1::bigint and t.id = r.id and t.deleted_at is null limit 1 for key share)`,
  )
  return targets.length > 0 ? `coalesce(case r.target ${targets.join(' ')} end, false)` : 'false'
}
