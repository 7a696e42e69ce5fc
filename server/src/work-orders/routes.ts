import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { inherit } from '../kit/inherit.ts'
import { property } from '../properties/resource.ts'
import { workOrder } from './resource.ts'

export function workOrderRoutes(app: FastifyInstance): void {
  listRoute(app, workOrder)
  getRoute(app, workOrder)
  createRoute(app, workOrder, { prepare: inherit(property, 'property_id') })
  patchRoute(app, workOrder)
  deleteRoute(app, workOrder)
}
