import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { inherit } from '../kit/inherit.ts'
import { partRoute } from '../kit/part-routes.ts'
import { property } from '../properties/resource.ts'
import { lease } from './resource.ts'

export function leaseRoutes(app: FastifyInstance): void {
  listRoute(app, lease)
  getRoute(app, lease)
  createRoute(app, lease, { prepare: inherit(property, 'property_id') })
  patchRoute(app, lease)
  deleteRoute(app, lease)
  partRoute(app, lease, 'rent_schedule')
  partRoute(app, lease, 'charges')
  partRoute(app, lease, 'recoveries')
  partRoute(app, lease, 'options')
  partRoute(app, lease, 'security_deposits', 'deposits')
  partRoute(app, lease, 'critical_dates')
  partRoute(app, lease, 'amendments')
  partRoute(app, lease, 'terms')
  partRoute(app, lease, 'escalations')
  partRoute(app, lease, 'premises')
  partRoute(app, lease, 'parties')
  partRoute(app, lease, 'insurance_requirements')
}
