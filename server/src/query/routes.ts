import type { FastifyInstance } from 'fastify'
import { sendQuery } from './answer-routes.ts'
import * as docs from './docs.ts'
import { runQuery } from './run.ts'
import { savedRoutes } from './saved-routes.ts'
import { sqlRoutes } from './sql/routes.ts'
import type { QueryBody } from './types.ts'

/** Questions about the portfolio: one at a time, saved, or as SQL. */
export function queryRoutes(app: FastifyInstance): void {
  app.post<{ Body: QueryBody }>('/grid/v2/query', docs.runQuery, async (request, reply) => {
    const { body, caller } = request
    const cost_max = app.config.GRID_QUERY_COST_MAX
    return sendQuery(
      request,
      reply,
      body,
      await runQuery(app.store, caller, body, cost_max),
      cost_max,
    )
  })
  savedRoutes(app)
  sqlRoutes(app)
}
