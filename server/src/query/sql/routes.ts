import type { FastifyInstance } from 'fastify'
import { JSON_TYPE } from '../../kit/object-routes.ts'
import { sendPage } from '../../kit/routes.ts'
import { requestOf } from '../../kit/write.ts'
import { ROWS_MAX } from '../types.ts'
import * as docs from './docs.ts'
import { SqlService } from './service.ts'
import type { SqlRequest } from './service.ts'

export function sqlRoutes(app: FastifyInstance): void {
  const service = new SqlService(app.db, app.store.registry, app.config)
  app.addHook('onClose', async () => await service.close())

  app.post<{ Body: Partial<SqlRequest> & Pick<SqlRequest, 'sql'> }>(
    '/grid/v2/sql',
    docs.runSql,
    async ({ caller, body, id }, reply) => {
      const { actor } = requestOf(caller, id)
      const { sql, limit = ROWS_MAX } = body
      const { columns, rows, limit_hit, cost, ms } = await service.run(caller, actor, {
        sql,
        limit,
      })
      const answer = {
        object: 'sql_result',
        columns,
        rows,
        row_count: rows.length,
        limit_hit,
        cost,
        ms,
      }
      return reply.type(JSON_TYPE).send(JSON.stringify(answer))
    },
  )

  app.get('/grid/v2/sql/views', docs.listViews, async (_request, reply) => {
    const views = await service.views()
    const data = views.map((view) => ({ object: 'sql_view', ...view }))
    return sendPage(reply, { data, has_more: false, next_cursor: null, total_count: null })
  })
}
