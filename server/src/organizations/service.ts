/** Organizations: the first ones of an installation, and children created through the API. */
import { createSecretKey } from 'node:crypto'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { registry } from '../resources.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Caller } from '../kit/types.ts'
import { create } from '../kit/write.ts'
import type { Outcome, WriteRequest } from '../kit/write.ts'
import { organization } from './resource.ts'

export const SYSTEM: Actor = { type: 'system', id: null, name: 'Portfolio Grid', request_id: null }

/** What only the platform decides about an organization. */
export interface Standing {
  plan: 'community' | 'professional' | 'enterprise'
  environment: 'production' | 'sandbox'
  parent_organization_id: string | null
}

/** An organization owns itself: it is written in its own context. */
export async function createOrganization(
  store: Store,
  request: Omit<WriteRequest, 'org_id'>,
  input: Row,
  standing: Standing,
): Promise<Outcome> {
  const [id] = (await store.db.ids(1)) as [number]
  return await create(store, organization, { ...request, org_id: id }, input, {
    id,
    extra: { ...standing },
  })
}

/** A child of the caller's organization: of the same plan and environment. The idempotency key stays the caller's. */
export async function createChild(
  store: Store,
  caller: Caller,
  request: WriteRequest,
  input: Row,
): Promise<Outcome> {
  const { org_id, plan, environment } = caller
  const { idempotency } = request
  const write = { ...request, idempotency: idempotency && { ...idempotency, org_id } }
  const parent_organization_id = publicId(organization.prefix, org_id)
  const standing = { plan: plan as Standing['plan'], environment, parent_organization_id }
  return createOrganization(store, write, input, standing)
}

/** A store for work outside the HTTP service: seeding, commands. */
export function bareStore(db: Store['db']): Store {
  return { db, registry, secret: createSecretKey(Buffer.alloc(32)), rollups: new Map(), pages: [] }
}
