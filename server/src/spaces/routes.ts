import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { building } from '../buildings/resource.ts'
import { inherit } from '../kit/inherit.ts'
import { property } from '../properties/resource.ts'
import { space } from './resource.ts'

export function spaceRoutes(app: FastifyInstance): void {
  const prepare = inherit(building, 'building_id', inherit(property, 'property_id'))
  listRoute(app, space)
  getRoute(app, space)
  createRoute(app, space, { prepare })
  patchRoute(app, space)
  deleteRoute(app, space)
  const under = { parent: building, field: 'building_id' }
  listRoute(app, space, { under })
  createRoute(app, space, { under, prepare })
}
