import type { FastifyInstance } from 'fastify'
import { createRoute, deleteRoute, getRoute, listRoute, patchRoute } from '../kit/routes.ts'
import { contact, party } from './resource.ts'

export function partyRoutes(app: FastifyInstance): void {
  listRoute(app, party)
  getRoute(app, party)
  createRoute(app, party)
  patchRoute(app, party)
  deleteRoute(app, party)
  listRoute(app, contact)
  getRoute(app, contact)
  createRoute(app, contact)
  patchRoute(app, contact)
  deleteRoute(app, contact)
  const under = { parent: party, field: 'party_id' }
  listRoute(app, contact, { under })
  createRoute(app, contact, { under })
}
