import type { FastifyInstance } from 'fastify'
import { assertionsOf, ranksOf } from '../kit/history.ts'
import { invalid } from '../kit/errors.ts'
import { ownResource, ownSchema } from '../kit/extended.ts'
import { factKey } from '../kit/extension.ts'
import { paging } from '../kit/paging.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import { getStanding } from '../kit/store.ts'
import { factNames } from '../kit/row.ts'
import type { Resource } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { conflictsWhere } from './conflicts.ts'
import * as docs from './fact-docs.ts'
import { factsWith } from './fact-list.ts'
import type { FactQuery } from './fact-list.ts'
import { stateFacts } from './facts.ts'
import type { FactBody } from './facts.ts'
import { objectOf } from './object.ts'
import { pin, pinViews, unpin } from './pins.ts'
import type { PinBody } from './pins.ts'
import { unknownAttribute } from './proposals.ts'

interface Page {
  limit: number
  cursor?: string
}

interface IdParams {
  Params: { id: string }
}

/** Facts across objects, claims made by hand, pins, conflicts. */
export function factRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: Page & FactQuery }>(
    '/grid/v2/facts',
    docs.listFacts,
    async (request, reply) => {
      const { limit, cursor, ...query } = request.query
      const { org_id } = request.caller
      const page = paging(app.store, org_id, ['facts', JSON.stringify(query)], cursor)
      const found = await factsWith(app.store, org_id, query, page.values, limit)
      return sendPage(reply, page.from(found.data, found.next))
    },
  )

  app.post<{ Body: FactBody }>('/grid/v2/facts', docs.stateFacts, async (request, reply) =>
    sendAnswered(reply, await stateFacts(app.store, writeRequest(request), request.body)),
  )

  app.get<{ Querystring: Page & { type?: string; attribute?: string } }>(
    '/grid/v2/conflicts',
    docs.listConflicts,
    async (request, reply) => {
      const { limit, cursor, type = null, attribute = null } = request.query
      const { org_id } = request.caller
      await requireAttribute(app.store, org_id, type, attribute)
      const page = paging(app.store, org_id, ['conflicts', type ?? '', attribute ?? ''], cursor)
      const filter = { type, attribute }
      const found = await conflictsWhere(app.store, org_id, filter, page.values, limit)
      return sendPage(reply, page.from(found.data, found.next))
    },
  )
  pinRoutes(app)
}

/** @throws 422 for an attribute that no type meant has. */
async function requireAttribute(
  store: Store,
  org_id: number,
  type: string | null,
  attribute: string | null,
): Promise<void> {
  if (attribute === null) return
  const { registry } = await ownSchema(store, org_id)
  const types = [...registry.values()].filter(({ name }) => type === null || name === type)
  if (types.some((resource) => isAttribute(resource, attribute))) return
  const [first] = types
  if (first) throw invalid([unknownAttribute('attribute', first, attribute)])
}

function isAttribute(resource: Resource, name: string): boolean {
  if (name.startsWith('ext.')) return factKey(resource.extensions, name) !== null
  return factNames(resource).includes(name)
}

function pinRoutes(app: FastifyInstance): void {
  app.get<IdParams & { Querystring: Page }>(
    '/grid/v2/objects/:id/pins',
    docs.listPins,
    async (request, reply) => {
      const { org_id } = request.caller
      const { resource, id: named } = objectOf(app.store.registry, request.params.id)
      const { id } = await getStanding(app.store, org_id, resource, named)
      const [known, sources] = await Promise.all([
        assertionsOf(app.db, org_id, [id]),
        ranksOf(app.db, org_id),
      ])
      const own = await ownResource(app.store, org_id, resource)
      const views = pinViews({ resource: own, known: known.get(id) ?? [], sources }, null)
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['pins', request.params.id], cursor)
      const start = page.after ?? 0
      const rows = views.slice(start, start + limit + 1)
      return sendPage(
        reply,
        page.of(rows, limit, () => String(start + limit)),
      )
    },
  )

  app.post<IdParams & { Body: PinBody }>(
    '/grid/v2/objects/:id/pins',
    docs.createPin,
    async (request, reply) => {
      const { params, body } = request
      return sendAnswered(reply, await pin(app.store, writeRequest(request), params.id, body))
    },
  )

  app.delete<{ Params: { id: string; attribute: string } }>(
    '/grid/v2/objects/:id/pins/:attribute',
    docs.deletePin,
    async (request, reply) => {
      const { id, attribute } = request.params
      await unpin(app.store, writeRequest(request), id, attribute)
      return reply.code(204).send()
    },
  )
}
