/**
 * Objects that are one. A merged object keeps its id and its claims; a pointer says at which object it stands now. Reads
 * of that one take in the claims of all its members.
 */
import type { Row } from './resource.ts'
import type { Flights } from './types.ts'

/** Where each of the objects stands now that was merged into another one, by id; the others are left out. */
export async function headsOf(
  db: Flights,
  org_id: number,
  ids: readonly number[],
): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map()
  const [rows] = await db.fly(org_id, [
    {
      sql: 'select object_id, head_id from cluster_member where org_id = $1::bigint and object_id = any($2::bigint[])',
      params: [org_id, `{${ids.join(',')}}`],
    },
  ])
  return new Map((rows ?? []).map(([id, head]) => [Number(String(id)), Number(String(head))]))
}

/** Public ids of what was merged into the object, in the order of the ids; at most `limit`. */
export async function membersOf(
  db: Flights,
  org_id: number,
  id: number,
  limit: number,
): Promise<string[]> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select public_id from cluster_member where org_id = $1::bigint and head_id = $2::bigint
        order by object_id limit $3::integer`,
      params: [org_id, id, limit],
    },
  ])
  return (rows ?? []).map(([text]) => String(text))
}

/** Fields that hold ids of objects are named so, at any depth. */
const ID_FIELD = /_ids?$/

const PUBLIC_ID = /^[a-z]+_[1-9][0-9]{0,15}$/

/** Ids of objects that a value names, added to `found`. */
export function namedIds(value: unknown, found: Set<string>, named = false): Set<string> {
  if (typeof value === 'string') {
    if (named && PUBLIC_ID.test(value)) found.add(value)
  } else if (Array.isArray(value)) {
    for (const item of value) namedIds(item, found, named && typeof item === 'string')
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value)) namedIds(part, found, ID_FIELD.test(name))
  }
  return found
}

/** The value with every merged object it names replaced by the one it stands at; itself when it names none. */
export function withHeads<T>(value: T, heads: ReadonlyMap<string, string>, named = false): T {
  if (typeof value === 'string') return ((named && heads.get(value)) || value) as T
  if (Array.isArray(value)) {
    const list = value.map((item) => withHeads(item, heads, named && typeof item === 'string'))
    return (list.some((item, i) => item !== value[i]) ? list : value) as T
  }
  if (typeof value !== 'object' || value === null) return value
  let changed: Row | null = null
  for (const [name, part] of Object.entries(value)) {
    const moved = withHeads(part, heads, ID_FIELD.test(name))
    if (moved !== part) (changed ??= { ...(value as Row) })[name] = moved
  }
  return (changed ?? value) as T
}

/** By public id, the object that each of these stands at now; those that were not merged are left out. */
export async function headsNamed(
  db: Flights,
  org_id: number,
  names: ReadonlySet<string>,
): Promise<Map<string, string>> {
  if (names.size === 0) return new Map()
  const digits = [...names].map((name) => name.replace(/^.*_/, ''))
  // Ids of other things than objects may have the same digits.
  const [rows] = await db.fly(org_id, [
    {
      sql: `select public_id, head_id from cluster_member
        where org_id = $1::bigint and object_id = any($2::bigint[]) and public_id = any($3::text[])`,
      params: [org_id, `{${digits.join(',')}}`, `{${[...names].join(',')}}`],
    },
  ])
  return new Map(
    (rows ?? []).map(([name, head]) => [
      String(name),
      String(name).replace(/[0-9]+$/, String(head)),
    ]),
  )
}

/**
 * Puts the objects that stand for merged ones in the place of those that claims name.
 * @param keys of fields of the organization's own that lead to objects, which they hold by number.
 */
export async function standIn(
  db: Flights,
  org_id: number,
  claims: readonly { attrs: Row }[],
  keys: readonly string[],
): Promise<void> {
  const names = new Set<string>()
  const ids = new Set<number>()
  for (const { attrs } of claims) {
    namedIds(attrs, names)
    for (const key of keys) if (typeof attrs[key] === 'number') ids.add(attrs[key])
  }
  const heads = await headsNamed(db, org_id, names)
  const standing = await headsOf(db, org_id, [...ids])
  for (const claim of claims) {
    if (heads.size > 0) claim.attrs = withHeads(claim.attrs, heads)
    for (const key of keys) {
      const head = standing.get(claim.attrs[key] as number)
      if (head !== undefined) claim.attrs = { ...claim.attrs, [key]: head }
    }
  }
}
