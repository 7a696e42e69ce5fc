import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { building } from '../buildings/resource.ts'
import { inherit } from '../kit/inherit.ts'
import { space } from './resource.ts'

export function spaceRoutes(app: FastifyInstance): void {
  listRoute(app, space)
  getRoute(app, space)
  createRoute(app, space, { prepare: inherit(building, 'building_id') })
  patchRoute(app, space)
  deleteRoute(app, space)
  const under = { parent: building, field: 'building_id' }
  listRoute(app, space, { under })
  createRoute(app, space, { under, prepare: inherit(building, 'building_id') })
}
