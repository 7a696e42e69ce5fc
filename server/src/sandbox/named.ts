/** The sandboxes of an organization: made with a key of their own, deleted with all they hold. */
import { ApiError, notFound } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import type { Answer } from '../kit/once.ts'
import { PLAN_NAMES } from '../kit/plans.ts'
import type { PlanName } from '../kit/plans.ts'
import { record } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import type { Scope } from '../kit/scopes.ts'
import { find, get, parseBody } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { Caller, Tx } from '../kit/types.ts'
import { remove } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import { makeKey } from '../keys/service.ts'
import { organization } from '../organizations/resource.ts'
import { createOrganization } from '../organizations/service.ts'
import type { Standing } from '../organizations/service.ts'
import {
  countSandboxes,
  enterOrganization,
  hasOrganizations,
  insertTask,
  lockSandboxes,
} from './queries.ts'
import { newTask, taskAsked, underWay } from './service.ts'

/** Sandboxes that an organization may have, by its plan. */
export const SANDBOXES_MAX: Readonly<Record<PlanName, number>> = {
  community: 1,
  professional: 5,
  enterprise: 20,
}

/** @throws 403 `live_only` for the key of a sandbox. */
export function requireLive({ environment, org_id }: Caller): void {
  if (environment === 'production') return
  const detail = `${publicId('org', org_id)} is a sandbox; sandboxes belong to live organizations.`
  throw new ApiError('live_only', detail)
}

export interface SandboxBody {
  name: string
  slug?: string
  scopes?: Scope[]
}

/**
 * Makes a sandbox with the defaults of its parent, and a key for it. It stands before its key does: a crash between the two
 * leaves a sandbox that can be seen and deleted.
 * @throws 409 when the plan allows no more.
 */
export async function createSandbox(
  store: Store,
  tx: Tx,
  caller: Caller,
  { org_id, actor }: WriteRequest,
  body: SandboxBody,
): Promise<Answer> {
  await lockSandboxes(tx, org_id)
  const plan = PLAN_NAMES.find((name) => name === caller.plan) ?? 'community'
  const most = SANDBOXES_MAX[plan]
  if ((await countSandboxes(tx, org_id)) >= most) {
    const detail = `The ${plan} plan has ${most} sandbox${most > 1 ? 'es' : ''}; delete one first.`
    throw new ApiError('conflict', detail, { max_sandboxes: most })
  }
  const parent = parseBody((await get(store, org_id, organization, org_id)).body)
  const standing: Standing = {
    plan,
    environment: 'sandbox',
    parent_organization_id: publicId(organization.prefix, org_id),
  }
  const made = await createOrganization(
    store,
    { actor, defaults: {} },
    { ...inherited(parent), name: body.name, slug: body.slug ?? slugOf(body.name) },
    standing,
  )
  const scopes = body.scopes ?? [...caller.scopes]
  const name = `${body.name} key`
  const [key_id = 0] = await store.db.ids(1)
  const wanted = { name, scopes, environment: 'sandbox' as const }
  // In this transaction, for another could wait for a connection that the likes of this one hold.
  await enterOrganization(tx, made.id)
  const { text } = await makeKey(tx, made.id, key_id, wanted, actor)
  await enterOrganization(tx, org_id)
  await note(tx, org_id, actor, 'created', made.id, { name: body.name })
  const row = JSON.parse(made.body) as Row
  const shown = (secret: string | null): string => {
    const api_key = {
      id: publicId('key', key_id),
      name,
      scopes,
      key: secret,
      key_shown: secret !== null,
    }
    return JSON.stringify({ ...row, api_key })
  }
  const headers = { location: `/api/v1/organizations/${publicId('org', made.id)}` }
  return { status: 201, headers, body: shown(text), repeated: shown(null) }
}

const INHERITED = [
  'kind',
  'default_currency',
  'default_area_unit',
  'time_zone',
  'locale',
  'fiscal_year_start_month',
]

function inherited(parent: Row): Row {
  return Object.fromEntries(INHERITED.map((name) => [name, parent[name] ?? null]))
}

/** `Lease imports, 2nd try` -> `lease-imports-2nd-try`. */
function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ['sandbox']
  return words.join('-').slice(0, 63).replace(/-$/, '')
}

/** A sandbox of the organization; null for anything else. */
export async function findSandbox(store: Store, org_id: number, id: number): Promise<Row | null> {
  const stored = await find(store, org_id, organization, id)
  const row = stored && !stored.deleted ? parseBody(stored.body) : null
  return row?.['environment'] === 'sandbox' && id !== org_id ? row : null
}

/** Deletes a sandbox: its keys stop at once, what it holds is removed in the background. */
export async function deleteSandbox(
  store: Store,
  request: WriteRequest,
  id: number,
): Promise<void> {
  const { org_id, actor } = request
  const sandbox = await findSandbox(store, org_id, id)
  if (!sandbox) throw notFound(`Sandbox ${publicId('org', id)}`)
  if (await hasOrganizations(store.db, id)) {
    const detail = `${publicId('org', id)} still has organizations; delete them first.`
    throw new ApiError('conflict', detail, { used_by: [organization.path] })
  }
  const [task_id = 0] = await store.db.ids(1)
  const task = newTask(id, task_id, 'reset', {}, actor)
  if (!(await store.db.transaction(id, async (tx) => await insertTask(tx, task))))
    throw underWay(id)
  await remove(store, organization, { ...request, org_id: id }, id, null)
  taskAsked.wake()
  await store.db.transaction(org_id, async (tx) => {
    await note(tx, org_id, actor, 'deleted', id, { name: sandbox['name'] })
  })
}

/** What is done to sandboxes stands in the audit log of the organization they belong to. */
export async function note(
  tx: Tx,
  org_id: number,
  actor: WriteRequest['actor'],
  verb: 'created' | 'deleted' | 'promoted',
  sandbox: number,
  details: Row,
): Promise<void> {
  await record(tx, org_id, actor, [
    {
      type: `sandbox.${verb}`,
      object_type: 'organization',
      object_id: sandbox,
      object: null,
      details,
    },
  ])
}
