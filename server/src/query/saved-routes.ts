import type { FastifyInstance, FastifyReply } from 'fastify'
import { etagOf } from '../kit/etags.ts'
import { pathId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { ifMatch, sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import { requestOf } from '../kit/write.ts'
import { sendQuery } from './answer-routes.ts'
import { runQuery } from './run.ts'
import * as docs from './saved-docs.ts'
import { listSaved } from './saved-queries.ts'
import type { SavedQuery } from './saved-queries.ts'
import { createSaved, getSaved, patchSaved, removeSaved, runOf, savedView } from './saved.ts'
import type { RunChoices, SavedChoices } from './saved.ts'

interface ById {
  Params: { id: string }
}

export function savedRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/grid/v2/queries',
    docs.listSavedQueries,
    async ({ caller: { org_id }, query: { limit, cursor } }, reply) => {
      const page = paging(app.store, org_id, ['queries'], cursor)
      const saved = await listSaved(app.db, org_id, page.after, limit + 1)
      const position = (_: unknown, i: number): string => String(saved[i]?.id)
      return sendPage(reply, page.of(saved.map(savedView), limit, position))
    },
  )

  app.post<{ Body: SavedChoices }>(
    '/grid/v2/queries',
    docs.createSavedQuery,
    async (request, reply) =>
      sendAnswered(
        reply,
        await createSaved(app.store, request.caller, writeRequest(request), request.body),
      ),
  )

  app.get<ById>('/grid/v2/queries/:id', docs.getSavedQuery, async ({ caller, params }, reply) =>
    send(reply, await getSaved(app.db, caller.org_id, pathId('qry', params.id))),
  )

  app.patch<ById & { Body: Partial<SavedChoices> }>(
    '/grid/v2/queries/:id',
    docs.updateSavedQuery,
    async (request, reply) => {
      const { caller, params, body } = request
      const id = pathId('qry', params.id)
      const write = requestOf(caller, request.id)
      return send(reply, await patchSaved(app.store, caller, write, id, body, ifMatch(request)))
    },
  )

  app.delete<ById>('/grid/v2/queries/:id', docs.deleteSavedQuery, async (request, reply) => {
    const { caller, params } = request
    await removeSaved(
      app.db,
      requestOf(caller, request.id),
      pathId('qry', params.id),
      ifMatch(request),
    )
    return reply.code(204).send()
  })

  app.post<ById & { Body: RunChoices }>(
    '/grid/v2/queries/:id/run',
    docs.runSavedQuery,
    async (request, reply) => {
      const { caller, params } = request
      const cost_max = app.config.GRID_QUERY_COST_MAX
      const body = runOf(
        await getSaved(app.db, caller.org_id, pathId('qry', params.id)),
        request.body,
      )
      return sendQuery(
        request,
        reply,
        body,
        await runQuery(app.store, caller, body, cost_max),
        cost_max,
      )
    },
  )
}

function send(reply: FastifyReply, saved: SavedQuery): FastifyReply {
  return reply
    .header('etag', etagOf(saved.version))
    .type(JSON_TYPE)
    .send(JSON.stringify(savedView(saved)))
}
