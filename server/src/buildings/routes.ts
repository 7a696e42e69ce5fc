import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { inherit } from '../kit/inherit.ts'
import { property } from '../properties/resource.ts'
import { building } from './resource.ts'

export function buildingRoutes(app: FastifyInstance): void {
  listRoute(app, building)
  getRoute(app, building)
  createRoute(app, building, { prepare: inherit(property, 'property_id') })
  patchRoute(app, building)
  deleteRoute(app, building)
}
