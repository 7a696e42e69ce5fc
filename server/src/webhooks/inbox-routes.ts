import type { FastifyInstance } from 'fastify'
import { ownUrl } from '../http/own-url.ts'
import { notFound } from '../kit/errors.ts'
import { pathId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendPage } from '../kit/routes.ts'
import * as docs from './inbox-docs.ts'
import { createInbox, getInbox, receive, receivedView, removeInbox } from './inbox.ts'
import { findInbox, listRequests } from './inbox-queries.ts'
import { SigningKeys } from './request.ts'

/** Largest request an inbox takes, in bytes. */
const RECEIVED_MAX = 256 * 1024

interface InboxParams {
  Params: { id: string }
}

export function inboxRoutes(app: FastifyInstance): void {
  app.post<{ Body: { answer_status?: number } }>(
    '/webhooks/inbox',
    docs.createInbox,
    async (request, reply) => {
      const { answer_status = 200 } = request.body
      const view = await createInbox(app.db, request.caller.org_id, answer_status, ownUrl(app))
      const location = `/api/v1/webhooks/inbox/${String(view['id'])}`
      return await reply.code(201).header('location', location).send(view)
    },
  )

  app.get<InboxParams>('/webhooks/inbox/:id', docs.getInbox, async (request) => {
    const id = pathId('inbox', request.params.id)
    return await getInbox(app.db, request.caller.org_id, id, ownUrl(app))
  })

  app.delete<InboxParams>('/webhooks/inbox/:id', docs.deleteInbox, async (request, reply) => {
    await removeInbox(app.db, request.caller.org_id, pathId('inbox', request.params.id))
    return reply.code(204).send()
  })

  app.get<InboxParams & { Querystring: { limit: number; cursor?: string } }>(
    '/webhooks/inbox/:id/requests',
    docs.listInboxRequests,
    async (request, reply) => {
      const { org_id } = request.caller
      const id = pathId('inbox', request.params.id)
      if (!(await findInbox(app.db, org_id, id))) throw notFound(`Inbox ${request.params.id}`)
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['inbox', String(id)], cursor)
      const received = await listRequests(app.db, org_id, id, page.after, limit + 1)
      return sendPage(
        reply,
        page.of(received.map(receivedView), limit, (_, i) => String(received[i]?.id)),
      )
    },
  )

  publicRoute(app)
}

/** What is sent to an inbox is kept as it came: nothing of it is parsed. */
function publicRoute(app: FastifyInstance): void {
  const keys = new SigningKeys(app.secrets)
  void app.register(async (raw) => {
    raw.removeAllContentTypeParsers()
    raw.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    raw.post<{ Params: { token: string }; Body: Buffer | undefined }>(
      '/inbox/:token',
      { ...docs.receive, bodyLimit: RECEIVED_MAX },
      async (request, reply) => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [
            name,
            [value ?? ''].flat().join(', '),
          ]),
        )
        const body = request.body ?? Buffer.alloc(0)
        const status = await receive(app.db, keys, request.params.token, { headers, body })
        return await reply.code(status).type(JSON_TYPE).send('{"received":true}')
      },
    )
  })
}
