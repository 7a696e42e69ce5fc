/** Rows of the schema: fields, plans and versions. */
import type { Extension } from '../kit/extension.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import type { Actor, OrgRows, Tx } from '../kit/types.ts'
import type { Planned } from './operations.ts'
import type { FieldChange } from './resolve.ts'

export type PlanState = 'draft' | 'validating' | 'deployed' | 'rolled_back'

export interface Field extends Extension {
  created_at: Date
  updated_at: Date
  deprecated_at: Date | null
}

/** Something the text leaves open. */
export interface Question {
  id: string
  question: string
  /** Answers it takes; null for any text. */
  choices: string[] | null
  text: string
  start: number
  end: number
}

export interface Plan {
  org_id: number
  id: number
  state: PlanState
  text: string | null
  operations: Planned[]
  questions: Question[]
  unread: { text: string; start: number; end: number }[]
  /** What it changed, once it is deployed: taken back from `after` to `before`. */
  inverse: FieldChange[] | null
  fields: number[]
  schema_version: number | null
  created_by: Who
  approved_by: Who | null
  approved_at: Date | null
  deployed_at: Date | null
  rolled_back_at: Date | null
  version: number
  created_at: Date
  updated_at: Date
}

export interface Who {
  type: string
  id: string | null
  name: string
}

export function whoOf({ type, id, name }: Actor): Who {
  return { type, id, name }
}

/** What was deprecated long enough ago cannot be restored any more. */
const STATE = `case when state = 'deprecated' and deprecated_at < now() - interval '${LIMITS.restorable_days} days' then 'removed' else state end`

const FIELD = `id::float8 as id, object_type, api_name as name, label, description, type, settings, options, aliases, required,
  filterable, indexed, ${STATE} as state, created_at, updated_at, deprecated_at`

/** Deploys of one organization follow each other. */
export async function lockSchema(tx: Tx, org_id: number): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('schema ' || $1::text, 7016))`, [
    String(org_id),
  ])
}

/** Every field that was ever deployed, in the order of their ids. There are some hundreds at most. */
export async function allFields(db: Tx, org_id: number): Promise<Field[]> {
  return await db.query<Field>(`select ${FIELD} from schema_field where org_id = $1 order by id`, [
    org_id,
  ])
}

export async function listFields(
  db: Pick<OrgRows, 'query'>,
  org_id: number,
  filter: { object_type: string | null; state: string | null; after: number; limit: number },
): Promise<Field[]> {
  return await db.query<Field>(
    org_id,
    `select ${FIELD} from schema_field where org_id = $1 and ($2::text is null or object_type = $2)
       and ($3::text is null or ${STATE} = $3) and id > $4 order by id limit $5`,
    [org_id, filter.object_type, filter.state, filter.after, filter.limit],
  )
}

export async function findField(
  db: Pick<OrgRows, 'query'>,
  org_id: number,
  id: number,
): Promise<Field | undefined> {
  const [row] = await db.query<Field>(
    org_id,
    `select ${FIELD} from schema_field where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return row
}

/** Writes fields as they are to be; those without a row get one. */
export async function saveFields(
  tx: Tx,
  org_id: number,
  fields: readonly Extension[],
  at: Date,
): Promise<void> {
  // Names change hands within a plan: those that give theirs up go first.
  const order = fields.toSorted(
    (a, b) => Number(a.state === 'deployed') - Number(b.state === 'deployed'),
  )
  for (const field of order) {
    await tx.query(
      `insert into schema_field (org_id, id, object_type, api_name, label, description, type, settings, options, aliases, required,
         filterable, indexed, state, created_at, updated_at, deprecated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::text, $15::timestamptz, $15::timestamptz,
         case when $14::text = 'deployed' then null else $15::timestamptz end)
       on conflict (org_id, id) do update set api_name = excluded.api_name, label = excluded.label, description = excluded.description,
         settings = excluded.settings, options = excluded.options, aliases = excluded.aliases, required = excluded.required,
         filterable = excluded.filterable, indexed = excluded.indexed, state = excluded.state, updated_at = excluded.updated_at,
         deprecated_at = case when excluded.state = 'deployed' then null else coalesce(schema_field.deprecated_at, excluded.updated_at) end`,
      [
        org_id,
        field.id,
        field.object_type,
        field.name,
        field.label,
        field.description,
        field.type,
        JSON.stringify(field.settings),
        JSON.stringify(field.options),
        JSON.stringify(field.aliases),
        field.required,
        field.filterable,
        field.indexed,
        field.state,
        at,
      ],
    )
  }
}

/** Empties the index of fields: it was not kept while they were not filterable. */
export async function emptyIndex(tx: Tx, org_id: number, fields: readonly number[]): Promise<void> {
  if (fields.length === 0) return
  await tx.query('delete from ext_index where org_id = $1 and field_id = any($2::bigint[])', [
    org_id,
    fields,
  ])
}

const PLAN = `org_id::float8 as org_id, id::float8 as id, state, text, operations, questions, unread, inverse, fields, schema_version,
  created_by, approved_by, approved_at, deployed_at, rolled_back_at, version, created_at, updated_at`

export async function insertPlan(tx: Tx, plan: Plan): Promise<void> {
  await tx.query(
    `insert into schema_plan (org_id, id, state, text, operations, questions, unread, inverse, fields, schema_version, created_by,
       approved_by, approved_at, deployed_at, rolled_back_at, version, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
    [plan.org_id, plan.id, ...planValues(plan), plan.created_at, plan.updated_at],
  )
}

export async function savePlan(tx: Tx, plan: Plan): Promise<void> {
  await tx.query(
    `update schema_plan set state = $3, text = $4, operations = $5, questions = $6, unread = $7, inverse = $8, fields = $9,
       schema_version = $10, created_by = $11, approved_by = $12, approved_at = $13, deployed_at = $14, rolled_back_at = $15,
       version = $16, updated_at = $17 where org_id = $1 and id = $2`,
    [plan.org_id, plan.id, ...planValues(plan), plan.updated_at],
  )
}

function planValues(plan: Plan): unknown[] {
  const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))
  return [
    plan.state,
    plan.text,
    json(plan.operations),
    json(plan.questions),
    json(plan.unread),
    json(plan.inverse),
    json(plan.fields),
    plan.schema_version,
    json(plan.created_by),
    json(plan.approved_by),
    plan.approved_at,
    plan.deployed_at,
    plan.rolled_back_at,
    plan.version,
  ]
}

export async function findPlan(tx: Tx, org_id: number, id: number): Promise<Plan | undefined> {
  const [row] = await tx.query<Plan>(
    `select ${PLAN} from schema_plan where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return row
}

export async function listPlans(
  db: Pick<OrgRows, 'query'>,
  org_id: number,
  filter: { state: string | null; before: number | null; limit: number },
): Promise<Plan[]> {
  return await db.query<Plan>(
    org_id,
    `select ${PLAN} from schema_plan where org_id = $1 and ($2::text is null or state = $2)
       and ($3::bigint is null or id < $3) order by id desc limit $4`,
    [org_id, filter.state, filter.before, filter.limit],
  )
}

/** Drops the oldest drafts, so that `most` are left: what was proposed and never approved is no history. */
export async function trimDrafts(tx: Tx, org_id: number, most: number): Promise<void> {
  await tx.query(
    `delete from schema_plan where org_id = $1 and id in (
       select id from schema_plan where org_id = $1 and state = 'draft' order by id desc offset $2)`,
    [org_id, most],
  )
}

/** What a deploy did to one field. */
export interface VersionChange {
  op: string
  field_id: string
  object_type: string
  name: string
}

export interface Version {
  version: number
  at: Date
  plan_id: number
  actor: Who
  changes: VersionChange[]
}

/** Notes the next version of the schema. @returns its number. */
export async function addVersion(
  tx: Tx,
  org_id: number,
  version: Omit<Version, 'version'>,
): Promise<number> {
  const [row] = await tx.query<{ version: number }>(
    `insert into schema_version (org_id, version, at, plan_id, actor, changes)
     select $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5 from schema_version where org_id = $1 returning version`,
    [
      org_id,
      version.at,
      version.plan_id,
      JSON.stringify(version.actor),
      JSON.stringify(version.changes),
    ],
  )
  return (row as { version: number }).version
}

export async function listVersions(
  db: Pick<OrgRows, 'query'>,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<Version[]> {
  return await db.query<Version>(
    org_id,
    `select version, at, plan_id::float8 as plan_id, actor, changes from schema_version
     where org_id = $1 and ($2::integer is null or version < $2) order by version desc limit $3`,
    [org_id, before, limit],
  )
}

/** How many objects of the type hold a value of each field. */
export async function countValues(
  tx: Tx,
  org_id: number,
  fields: readonly Extension[],
): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  for (const [type, own] of Map.groupBy(fields, ({ object_type }) => object_type)) {
    const [row] = await tx.query<Record<string, number>>(
      `select ${own.map(({ id }) => `count(ext->'x${id}')::int as x${id}`).join(', ')} from ${type} where org_id = $1 and ext is not null`,
      [org_id],
    )
    for (const { id } of own) counts.set(id, row?.[`x${id}`] ?? 0)
  }
  return counts
}
