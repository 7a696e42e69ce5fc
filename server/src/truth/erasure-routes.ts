import type { FastifyInstance } from 'fastify'
import { paging } from '../kit/paging.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import * as docs from './erasure-docs.ts'
import { listErasures } from './erasure-queries.ts'
import { askErasure, erasureView, getErasure } from './erasures.ts'
import type { ErasureBody } from './erasures.ts'

export function erasureRoutes(app: FastifyInstance): void {
  app.post<{ Body: ErasureBody }>('/grid/v2/erasures', docs.createErasure, async (request, reply) =>
    sendAnswered(reply, await askErasure(app.store, writeRequest(request), request.body)),
  )

  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/grid/v2/erasures',
    docs.listErasures,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['erasures'], cursor)
      const erasures = await listErasures(app.db, org_id, page.after, limit + 1)
      return sendPage(
        reply,
        page.of(erasures.map(erasureView), limit, (_, i) => String(erasures[i]?.id)),
      )
    },
  )

  app.get<{ Params: { id: string } }>('/grid/v2/erasures/:id', docs.getErasure, async (request) =>
    erasureView(await getErasure(app.db, request.caller.org_id, request.params.id)),
  )
}
