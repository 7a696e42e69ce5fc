import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { inherit } from '../kit/inherit.ts'
import { property } from '../properties/resource.ts'
import { lease } from './resource.ts'

export function leaseRoutes(app: FastifyInstance): void {
  listRoute(app, lease)
  getRoute(app, lease)
  createRoute(app, lease, { prepare: inherit(property, 'property_id') })
  patchRoute(app, lease)
  deleteRoute(app, lease)
}
