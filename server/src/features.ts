/** The product as a list: every feature that serves endpoints below the base URL. */
import type { FastifyInstance } from 'fastify'
import { auditRoutes } from './audit/routes.ts'
import { oauthRoutes } from './apps/oauth-routes.ts'
import { appRoutes } from './apps/routes.ts'
import { buildingRollup } from './buildings/rollups.ts'
import { buildingRoutes } from './buildings/routes.ts'
import { changeRoutes } from './changes/routes.ts'
import { documentRoutes } from './documents/routes.ts'
import { eventRoutes } from './events/routes.ts'
import { exportRoutes } from './exports/routes.ts'
import { floorRollup } from './floors/rollups.ts'
import { floorRoutes } from './floors/routes.ts'
import { gridRoutes } from './grid/routes.ts'
import { identityRoutes } from './identity/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import type { Rollup } from './kit/store.ts'
import { leaseRollup } from './leases/rollups.ts'
import { leaseRoutes } from './leases/routes.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { partyRollup } from './parties/rollups.ts'
import { partyRoutes } from './parties/routes.ts'
import { planRoutes } from './plans/routes.ts'
import { propertyRollup } from './properties/rollups.ts'
import { propertyRoutes } from './properties/routes.ts'
import { queryRoutes } from './query/routes.ts'
import { requestLogRoutes } from './request-log/routes.ts'
import { adapterRoutes } from './sdis/adapters/routes.ts'
import { pullRoutes } from './sdis/pull/routes.ts'
import { namedSandboxRoutes } from './sandbox/named-routes.ts'
import { sandboxRoutes } from './sandbox/routes.ts'
import { sdisRoutes } from './sdis/routes.ts'
import { schemaRoutes } from './schema/routes.ts'
import { spaceRollup } from './spaces/rollups.ts'
import { spaceRoutes } from './spaces/routes.ts'
import { truthRoutes } from './truth/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { workOrderRollup } from './work-orders/rollups.ts'
import { workOrderRoutes } from './work-orders/routes.ts'

export const features: readonly ((app: FastifyInstance) => void | Promise<void>)[] = [
  organizationRoutes,
  partyRoutes,
  propertyRoutes,
  buildingRoutes,
  floorRoutes,
  spaceRoutes,
  leaseRoutes,
  documentRoutes,
  workOrderRoutes,
  gridRoutes,
  queryRoutes,
  schemaRoutes,
  truthRoutes,
  identityRoutes,
  changeRoutes,
  eventRoutes,
  adapterRoutes,
  sdisRoutes,
  pullRoutes,
  requestLogRoutes,
  appRoutes,
  oauthRoutes,
  webhookRoutes,
  keyRoutes,
  planRoutes,
  auditRoutes,
  usageRoutes,
  sandboxRoutes,
  namedSandboxRoutes,
  exportRoutes,
]

/** Values computed from other objects, by resource name. */
export const rollups: ReadonlyMap<string, Rollup> = new Map([
  ['party', partyRollup],
  ['property', propertyRollup],
  ['building', buildingRollup],
  ['floor', floorRollup],
  ['space', spaceRollup],
  ['lease', leaseRollup],
  ['work_order', workOrderRollup],
])
