import type { FastifyInstance, FastifyReply } from 'fastify'
import { etagOf } from '../../kit/etags.ts'
import { pathId } from '../../kit/ids.ts'
import { once } from '../../kit/once.ts'
import { paging } from '../../kit/paging.ts'
import { JSON_TYPE } from '../../kit/object-routes.ts'
import { ifMatch, sendAnswered, sendPage, writeRequest } from '../../kit/routes.ts'
import { requestOf } from '../../kit/write.ts'
import { listConnections } from './connection-queries.ts'
import {
  changeConnection,
  connectionView,
  createConnection,
  getConnection,
  removeConnection,
} from './connections.ts'
import type { ConnectionBody } from './connections.ts'
import * as docs from './docs.ts'
import type { Pulling } from './fetch.ts'
import { scheduleRoutes } from './schedule-routes.ts'
import { tryConnection } from './trial.ts'
import type { TrialBody } from './trial.ts'
import type { Connection } from './types.ts'

interface IdParams {
  Params: { id: string }
}

/** Connections to sources, and when they are asked. */
export function pullRoutes(app: FastifyInstance): void {
  const pulling: Pulling = { egress: app.sourceEgress, secrets: app.secrets, config: app.config }
  collection(app)
  single(app)
  app.post<IdParams & { Body: TrialBody }>(
    '/sdis/connections/:id/test',
    docs.testConnection,
    async (request) => {
      const id = pathId('cnx', request.params.id)
      const connection = await getConnection(app.db, request.caller.org_id, id)
      return {
        object: 'connection_test',
        ...(await tryConnection(connection, request.body, pulling)),
      }
    },
  )
  scheduleRoutes(app)
}

function collection(app: FastifyInstance): void {
  app.post<{ Body: ConnectionBody }>(
    '/sdis/connections',
    docs.createConnection,
    async (request, reply) => {
      const write = writeRequest(request)
      const [id] = (await app.db.ids(1)) as [number]
      const answered = await once(app.store, write, async (tx) => {
        const made = await createConnection(tx, app.secrets, { ...write, id }, request.body)
        const headers = { location: `/api/v1/sdis/connections/cnx_${id}`, etag: etagOf(1) }
        return { status: 201, headers, body: JSON.stringify(connectionView(made)) }
      })
      return sendAnswered(reply, answered)
    },
  )

  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/sdis/connections',
    docs.listConnections,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['connections'], cursor)
      const found = await listConnections(app.db, org_id, { before: page.after, limit: limit + 1 })
      return sendPage(
        reply,
        page.of(found.map(connectionView), limit, (_, i) => String(found[i]?.id)),
      )
    },
  )
}

function single(app: FastifyInstance): void {
  app.get<IdParams>('/sdis/connections/:id', docs.getConnection, async (request, reply) => {
    const id = pathId('cnx', request.params.id)
    return send(reply, await getConnection(app.db, request.caller.org_id, id))
  })

  app.patch<IdParams & { Body: ConnectionBody }>(
    '/sdis/connections/:id',
    docs.patchConnection,
    async (request, reply) => {
      const { org_id, actor } = requestOf(request.caller, request.id)
      const of = { org_id, actor, id: pathId('cnx', request.params.id) }
      const after = await app.db.transaction(
        org_id,
        async (tx) => await changeConnection(tx, app.secrets, of, request.body, ifMatch(request)),
      )
      return send(reply, after)
    },
  )

  app.delete<IdParams>('/sdis/connections/:id', docs.deleteConnection, async (request, reply) => {
    const { org_id, actor } = requestOf(request.caller, request.id)
    const of = { org_id, actor, id: pathId('cnx', request.params.id) }
    await app.db.transaction(org_id, async (tx) => await removeConnection(tx, of))
    return reply.code(204).send()
  })
}

function send(reply: FastifyReply, connection: Connection): FastifyReply {
  const body = JSON.stringify(connectionView(connection))
  return reply.header('etag', etagOf(connection.version)).type(JSON_TYPE).send(body)
}
