/** The lists inside an object as collections of their own: `/leases/{id}/rent_schedule`. */
import type { FastifyInstance } from 'fastify'
import { pathId } from './ids.ts'
import { parseTimesQuery } from './query.ts'
import type { Query } from './query.ts'
import type { Resource, Row } from './resource.ts'
import { rowThen, tellVersion } from './object-routes.ts'
import { sendPage } from './routes.ts'
import { partDocs } from './schemas.ts'
import { get, parseBody } from './store.ts'

interface PartRequest {
  Params: { id: string }
  Querystring: Query
}

/**
 * GET one list of an object, whole: lists have at most 1,000 items. Takes as_of and known_at as the object does, and has
 * the object's ETag.
 */
export function partRoute(
  app: FastifyInstance,
  resource: Resource,
  name: string,
  path: string = name,
): void {
  const url = `/${resource.path}/:id/${path}`
  app.get<PartRequest>(url, partDocs(resource, name, path), async (request, reply) => {
    const { caller, params, query } = request
    const id = pathId(resource.prefix, params.id)
    const times = parseTimesQuery(query, caller.time_zone)
    let row: Row
    if (times.as_of === null && times.known_at === null) {
      const stored = await get(app.store, caller.org_id, resource, id)
      if (tellVersion(reply, stored.version)) return reply.code(304).send()
      row = parseBody(stored.body)
    } else row = (await rowThen(app.store, caller.org_id, resource, id, times)).row
    const data = (row[name] ?? []) as Row[]
    return sendPage(reply, { data, has_more: false, next_cursor: null, total_count: null })
  })
}
