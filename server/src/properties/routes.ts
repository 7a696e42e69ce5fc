import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { property } from './resource.ts'

export function propertyRoutes(app: FastifyInstance): void {
  listRoute(app, property)
  getRoute(app, property)
  createRoute(app, property)
  patchRoute(app, property)
  deleteRoute(app, property)
}
