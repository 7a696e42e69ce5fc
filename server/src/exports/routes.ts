import type { FastifyInstance, FastifyRequest } from 'fastify'
import { contentAnswer } from '../documents/content.ts'
import { allow } from '../http/auth.ts'
import { ApiError } from '../kit/errors.ts'
import { pathId } from '../kit/ids.ts'
import { once, rowsIn } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import type { Resource } from '../kit/resource.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Caller } from '../kit/types.ts'
import { requestOf } from '../kit/write.ts'
import * as docs from './docs.ts'
import type { ExportBody } from './list-query.ts'
import { EXPORT_TYPES, exportView } from './model.ts'
import { listExports } from './queries.ts'
import { askForExport, cancelExport, fileOf, getExport, removeExport } from './service.ts'

interface ExportParams {
  Params: { id: string }
}

const idOf = ({ params }: FastifyRequest<ExportParams>): number => pathId('xpt', params.id)

export function exportRoutes(app: FastifyInstance): void {
  app.post<{ Body: ExportBody }>('/exports', docs.createExport, async (request, reply) => {
    const { caller, body } = request
    const resource = readable(app, caller, body.type)
    const write = writeRequest(request)
    return sendAnswered(reply, await askForExport(app.store, write, caller, resource, body))
  })
  listRoute(app)
  app.get<ExportParams>('/exports/:id', docs.getExport, async (request) =>
    exportView(await getExport(app.db, request.caller.org_id, idOf(request))),
  )
  app.post<ExportParams>('/exports/:id/cancel', docs.cancelExport, async (request, reply) => {
    const write = writeRequest(request)
    const id = idOf(request)
    const answered = await once(app.store, write, async (tx) => {
      const one = await cancelExport(tx, rowsIn(tx), write.org_id, id, write.actor)
      return { status: 200, headers: {}, body: JSON.stringify(exportView(one)) }
    })
    return sendAnswered(reply, answered)
  })
  app.delete<ExportParams>('/exports/:id', docs.deleteExport, async (request, reply) => {
    const write = requestOf(request.caller, request.id)
    await removeExport(app.store, app.storage, write, idOf(request))
    return reply.code(204).send()
  })
  contentRoute(app)
}

/** The type, which the key must be allowed to read. @throws 403 */
function readable(app: FastifyInstance, caller: Caller, type: string): Resource {
  const resource = app.store.registry.get(type) as Resource
  allow(caller, `read:${resource.scope}` as Scope)
  return resource
}

function listRoute(app: FastifyInstance): void {
  app.get<{ Querystring: { limit: number; cursor?: string; state?: string } }>(
    '/exports',
    docs.listExports,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor, state = null } = request.query
      const page = paging(app.store, org_id, ['exports', state ?? ''], cursor)
      const filter = { state, before: page.after, limit: limit + 1 }
      const found = await listExports(app.db, org_id, filter)
      return sendPage(
        reply,
        page.of(found.map(exportView), limit, (_, i) => String(found[i]?.id)),
      )
    },
  )
}

function contentRoute(app: FastifyInstance): void {
  app.route<ExportParams>({
    method: ['GET', 'HEAD'],
    url: '/exports/:id/content',
    ...docs.getExportContent,
    handler: async (request, reply) => {
      const { method, headers, caller } = request
      const one = await getExport(app.db, caller.org_id, idOf(request))
      readable(app, caller, one.type)
      const served = {
        sha256: one.sha256 ?? '',
        byte_size: one.byte_size ?? 0,
        content_type: EXPORT_TYPES[one.format],
        filename: one.file_name,
      }
      const answer = contentAnswer(served, { method, headers, inline: false })
      const sends = answer.status < 300 && method === 'GET'
      const key = await fileOf(app.db, requestOf(caller, request.id), one, sends)
      reply.code(answer.status).headers(answer.headers)
      if (answer.status === 416) {
        const detail = `The file has ${served.byte_size} bytes; ask for a range of them such as bytes=0-0.`
        throw new ApiError('range_not_satisfiable', detail)
      }
      return sends ? reply.send(await app.storage.open(key, answer.range)) : reply.send()
    },
  })
}
