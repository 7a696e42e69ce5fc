/** Making a plan the schema, and taking it back: metadata rows and a version, in one transaction. */
import { ApiError, invalid } from '../kit/errors.ts'
import type { Extension } from '../kit/extension.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import { publicId } from '../kit/ids.ts'
import type { Registry } from '../kit/query.ts'
import { record } from '../kit/record.ts'
import type { Happening } from '../kit/record.ts'
import type { Actor, Tx } from '../kit/types.ts'
import {
  addVersion,
  allFields,
  countValues,
  emptyIndex,
  insertPlan,
  lockSchema,
  saveFields,
  savePlan,
  whoOf,
} from './queries.ts'
import type { Field, Plan, VersionChange } from './queries.ts'
import { resolve } from './resolve.ts'
import type { FieldChange } from './resolve.ts'
import { fieldView, planView } from './views.ts'

export interface Deploying {
  registry: Registry
  actor: Actor
  /** Fresh ids, one for each operation. */
  ids: readonly number[]
}

/**
 * Deploys a plan. Its operations are carried out on the schema as it is now, which may have moved since it was previewed.
 * @param isNew the plan has no row yet.
 * @throws 422 when an operation does not fit the schema any more.
 */
export async function deploy(
  tx: Tx,
  plan: Plan,
  { registry, actor, ids }: Deploying,
  isNew = false,
): Promise<Plan> {
  await lockSchema(tx, plan.org_id)
  const at = new Date()
  const extensions = await allFields(tx, plan.org_id)
  const resolved = resolve(plan.operations, { registry, extensions, ids, now: at })
  if (resolved.issues.length > 0) throw invalid(resolved.issues)
  const changes = resolved.changes.map(({ before, after }) => ({
    before: before && plain(before),
    after: plain(after),
  }))
  const deployed: Plan = {
    ...plan,
    state: 'deployed',
    operations: resolved.planned,
    inverse: changes,
    fields: changes.map(({ after }) => after.id),
    deployed_at: at,
    updated_at: at,
  }
  return await put(tx, deployed, changes, actor, at, isNew)
}

/**
 * Takes a deployed plan back. A field it added goes when nothing was written to it, and is deprecated otherwise; options
 * it added are kept for the values that use them.
 * @throws 409 when a later plan changed the same field.
 */
export async function rollBack(tx: Tx, plan: Plan, actor: Actor): Promise<Plan> {
  if (plan.state !== 'deployed') {
    const detail = `The plan is ${plan.state}; only a deployed one can be rolled back.`
    throw new ApiError('conflict', detail)
  }
  await lockSchema(tx, plan.org_id)
  const at = new Date()
  const fields = new Map((await allFields(tx, plan.org_id)).map((field) => [field.id, field]))
  const inverse = plan.inverse ?? []
  for (const { after } of inverse) requireUnchanged(fields.get(after.id), after)
  const added = inverse.filter(({ before }) => before === null).map(({ after }) => after)
  const values = await countValues(tx, plan.org_id, added)
  const changes = inverse.map(({ before, after }): FieldChange => {
    const now = plain(fields.get(after.id) as Field)
    return { before: now, after: before ? restored(before, now, at) : gone(now, values) }
  })
  requireFreeNames([...fields.values()], changes)
  const rolled: Plan = { ...plan, state: 'rolled_back', rolled_back_at: at, updated_at: at }
  return await put(tx, rolled, changes, actor, at, false)
}

function gone(field: Extension, values: ReadonlyMap<number, number>): Extension {
  return { ...field, state: (values.get(field.id) ?? 0) > 0 ? 'deprecated' : 'removed' }
}

/** A field as it was before the plan; what clients may have used meanwhile is still understood. */
function restored(before: Extension, now: Extension, at: Date): Extension {
  const until = new Date(at.getTime() + LIMITS.alias_days * 86_400_000).toISOString()
  const newer = now.options.filter(({ id }) => !before.options.some((option) => option.id === id))
  return {
    ...before,
    options: [...before.options, ...newer.map((o) => ({ ...o, state: 'deprecated' as const }))],
    aliases:
      now.name === before.name ? before.aliases : [...before.aliases, { name: now.name, until }],
    indexed: before.filterable && now.filterable && now.indexed,
  }
}

function requireUnchanged(field: Field | undefined, after: Extension): void {
  if (field && alike(plain(field), after)) return
  const detail = `The field ${after.name} of ${after.object_type} was changed since; roll that back first.`
  throw new ApiError('conflict', detail, { field_id: publicId('fld', after.id) })
}

/** What work in the background sets is left out. */
function alike(a: Extension, b: Extension): boolean {
  const text = (field: Extension): string => {
    const settings = { ...field.settings, converts: undefined }
    return JSON.stringify([sorted(settings), sorted({ ...field, indexed: null, settings: null })])
  }
  return text(a) === text(b)
}

function sorted(value: object): unknown {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}

function requireFreeNames(fields: readonly Field[], changes: readonly FieldChange[]): void {
  const after = new Map(changes.map((change) => [change.after.id, change.after]))
  const taken = new Set<string>()
  for (const field of fields.map((one) => after.get(one.id) ?? one)) {
    if (field.state !== 'deployed') continue
    const name = `${field.object_type} ${field.name}`
    if (taken.has(name))
      throw new ApiError(
        'conflict',
        `Another field of ${field.object_type} is called ${field.name} now.`,
      )
    taken.add(name)
  }
}

/** Writes fields, version, plan and what others hear of them. */
async function put(
  tx: Tx,
  plan: Plan,
  changes: readonly FieldChange[],
  actor: Actor,
  at: Date,
  isNew: boolean,
): Promise<Plan> {
  const { org_id } = plan
  await saveFields(
    tx,
    org_id,
    changes.map(({ after }) => after),
    at,
  )
  const turned = changes.filter(({ before, after }) => !before?.filterable && after.filterable)
  await emptyIndex(
    tx,
    org_id,
    turned.map(({ after }) => after.id),
  )
  const told = changes.map(changeView)
  const version = await addVersion(tx, org_id, {
    at,
    plan_id: plan.id,
    actor: whoOf(actor),
    changes: told,
  })
  const saved = { ...plan, schema_version: version, version: plan.version + (isNew ? 0 : 1) }
  await (isNew ? insertPlan(tx, saved) : savePlan(tx, saved))
  const fields = await allFields(tx, org_id)
  const happenings = changes.flatMap((change) => fieldHappening(change, fields))
  await record(tx, org_id, actor, [
    ...happenings,
    {
      type: 'schema.changed',
      object_type: 'schema_plan',
      object_id: saved.id,
      object: planView(saved),
      version: saved.version,
      about: { schema_version: version, changes: told },
    },
  ])
  return saved
}

function changeView({ before, after }: FieldChange): VersionChange {
  const { id, object_type, name } = after
  const was = before?.state === 'deployed'
  const is = after.state === 'deployed'
  const op = before === null ? 'added' : was === is ? 'changed' : is ? 'restored' : after.state
  return { op, field_id: publicId('fld', id), object_type, name }
}

function fieldHappening({ before, after }: FieldChange, fields: readonly Field[]): Happening[] {
  const field = fields.find(({ id }) => id === after.id) as Field
  const was = before?.state === 'deployed'
  const is = after.state === 'deployed'
  if (was === is && before !== null) return []
  const type = is ? 'schema.field_deployed' : 'schema.field_deprecated'
  const object = fieldView(field, fields)
  return [{ type, object_type: 'schema_field', object_id: after.id, object }]
}

/** A field without what its row has beside. */
function plain(field: Extension): Extension {
  const { id, object_type, name, label, description, type, settings, options } = field
  const { aliases, required, filterable, indexed, state } = field
  return {
    id,
    object_type,
    name,
    label,
    description,
    type,
    settings,
    options,
    aliases,
    required,
    filterable,
    indexed,
    state,
  }
}
