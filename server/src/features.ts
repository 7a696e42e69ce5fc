/** The product as a list: every feature that serves endpoints below the base URL. */
import type { FastifyInstance } from 'fastify'
import { buildingRoutes } from './buildings/routes.ts'
import { floorRoutes } from './floors/routes.ts'
import { gridRoutes } from './grid/routes.ts'
import type { Rollup } from './kit/store.ts'
import { leaseRoutes } from './leases/routes.ts'
import { partyRoutes } from './parties/routes.ts'
import { propertyRoutes } from './properties/routes.ts'
import { spaceRoutes } from './spaces/routes.ts'
import { workOrderRoutes } from './work-orders/routes.ts'

export const features: readonly ((app: FastifyInstance) => void | Promise<void>)[] = [
  partyRoutes,
  propertyRoutes,
  buildingRoutes,
  floorRoutes,
  spaceRoutes,
  leaseRoutes,
  workOrderRoutes,
  gridRoutes,
]

/** Values computed from other objects, by resource name. */
export const rollups: ReadonlyMap<string, Rollup> = new Map()
