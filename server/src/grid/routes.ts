import type { FastifyInstance } from 'fastify'
import { getRoute, listRoute } from '../kit/routes.ts'
import { resources } from '../resources.ts'

/** The second-generation model: every resource in one shape, and the facts behind it. */
export function gridRoutes(app: FastifyInstance): void {
  for (const resource of resources) {
    listRoute(app, resource, { model: 'grid' })
    getRoute(app, resource, 'grid')
  }
}
