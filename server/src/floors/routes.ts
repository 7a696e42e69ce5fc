import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { building } from '../buildings/resource.ts'
import { inherit } from '../kit/inherit.ts'
import { floor } from './resource.ts'

export function floorRoutes(app: FastifyInstance): void {
  listRoute(app, floor)
  getRoute(app, floor)
  createRoute(app, floor, { prepare: inherit(building, 'building_id') })
  patchRoute(app, floor)
  deleteRoute(app, floor)
  const under = { parent: building, field: 'building_id' }
  listRoute(app, floor, { under })
  createRoute(app, floor, { under, prepare: inherit(building, 'building_id') })
}
