/** How much an organization may add, and what is refused because it would read too much. */
import { invalid } from './errors.ts'
import type { Issue } from './errors.ts'
import type { ExtensionColumn } from './extension-column.ts'
import type { ListQuery } from './query.ts'
import type { Resource } from './resource.ts'
import { unrestricted } from './restriction.ts'
import type { OrgDb } from './types.ts'

/** Shown by GET /grid/v2/schema/limits. */
export const LIMITS = {
  attributes_per_type: 200,
  options_per_field: 500,
  filterable_per_type: 20,
  formulas_per_type: 50,
  operations_per_plan: 50,
  drafts: 100,
  /** Objects of a type up to which every field can be filtered and sorted by; above, filterable ones only. */
  unindexed_objects: 20_000,
  /** Characters of a text that can be filterable. */
  indexed_text: 500,
  alias_days: 180,
  restorable_days: 30,
} as const

/** How long a count is trusted, in milliseconds: organizations grow slowly against the limit. */
const COUNT_FRESH_MS = 60_000

const counts = new WeakMap<object, Map<string, { above: boolean; until: number }>>()

/** A field by which rows of a type are chosen or ordered, and where the request says so. */
export interface AskedOf {
  own: ExtensionColumn
  type: Resource
  at: string
}

/** @throws 422 for a filter or sort that would read every row of a type with too many. */
export async function refuseUnindexed(
  db: Pick<OrgDb, 'fly'>,
  org_id: number,
  resource: Resource,
  { conditions, sort }: ListQuery,
): Promise<void> {
  const asked = [
    ...conditions.map(({ column: { own }, via }) => ({ own, type: via?.target ?? resource })),
    ...sort.map(({ own }) => ({ own, type: resource })),
  ]
  const known = asked.flatMap(({ own, type }) =>
    own ? [{ own, type, at: `ext.${own.extension.name}` }] : [],
  )
  await refuseLarge(db, org_id, known)
}

/** The same for what any request asks. */
export async function refuseLarge(
  db: Pick<OrgDb, 'fly'>,
  org_id: number,
  asked: readonly AskedOf[],
): Promise<void> {
  const issues: Issue[] = []
  for (const { own, type, at } of asked) {
    if (own.extension.indexed || !(await isLarge(db, org_id, type))) continue
    issues.push(issueOf(own, at))
  }
  if (issues.length > 0) throw invalid(issues)
}

function issueOf({ extension: { filterable } }: ExtensionColumn, field: string): Issue {
  const most = LIMITS.unindexed_objects.toLocaleString('en-US')
  const message = filterable
    ? 'is being indexed; try again in a minute'
    : `is not filterable: with more than ${most} objects of the type, make it so with set_filterable`
  return { field, code: 'not_filterable', message }
}

async function isLarge(
  db: Pick<OrgDb, 'fly'>,
  org_id: number,
  { name }: Resource,
): Promise<boolean> {
  let known = counts.get(db)
  if (!known) counts.set(db, (known = new Map()))
  const key = `${org_id} ${name}`
  const found = known.get(key)
  if (found && found.until > performance.now()) return found.above
  const count = {
    sql: `select count(*) > $2::integer from (select from ${name} t where t.org_id = $1::bigint limit $2::integer + 1) c`,
    params: [org_id, LIMITS.unindexed_objects],
  }
  const [rows] = await unrestricted(async () => await db.fly(org_id, [count]))
  const above = rows?.[0]?.[0]?.[0] === 0x74
  if (known.size > 10_000) known.clear()
  known.set(key, { above, until: performance.now() + COUNT_FRESH_MS })
  return above
}
