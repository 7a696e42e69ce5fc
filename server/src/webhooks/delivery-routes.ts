import type { FastifyInstance } from 'fastify'
import { patternSql } from '../events/feed.ts'
import { ownUrl } from '../http/own-url.ts'
import { notFound } from '../kit/errors.ts'
import { pathId, publicId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { sendPage } from '../kit/routes.ts'
import { requestOf } from '../kit/write.ts'
import { deliveryDetail, deliveryView } from './deliveries.ts'
import * as docs from './delivery-docs.ts'
import { findDelivery, listDeliveries } from './delivery-queries.ts'
import { estimate, getReplay, replayRequest, startReplay, stopReplay } from './replays.ts'
import type { ReplayBody } from './replays.ts'
import { requireKnownTypes } from './fields.ts'
import { getWebhook } from './service.ts'

interface ListQuery {
  limit: number
  cursor?: string
  state?: string
  type?: string
  trigger?: string
  since?: string
}

interface WebhookParams {
  Params: { id: string }
}

/** What became of events, and sending them again. */
export function deliveryRoutes(app: FastifyInstance): void {
  app.get<WebhookParams & { Querystring: ListQuery }>(
    '/webhooks/:id/deliveries',
    docs.listDeliveries,
    async (request, reply) => {
      const { org_id } = request.caller
      const id = pathId('wh', request.params.id)
      await getWebhook(app.db, org_id, id)
      const { limit, cursor, ...filter } = request.query
      const { state = null, type, trigger = null, since = null } = filter
      const page = paging(
        app.store,
        org_id,
        ['deliveries', id, JSON.stringify(filter)].map(String),
        cursor,
      )
      const rows = await listDeliveries(app.db, org_id, id, {
        state,
        type: type === undefined ? null : (patternSql([type])[0] as string),
        trigger,
        since,
        before: page.after,
        limit: limit + 1,
      })
      return sendPage(
        reply,
        page.of(rows.map(deliveryView), limit, (_, i) => rows[i]?.id ?? ''),
      )
    },
  )

  app.get<{ Params: { id: string; delivery_id: string } }>(
    '/webhooks/:id/deliveries/:delivery_id',
    docs.getDelivery,
    async (request) => {
      const { org_id } = request.caller
      const webhook = await getWebhook(app.db, org_id, pathId('wh', request.params.id))
      const id = pathId('del', request.params.delivery_id)
      const row = await findDelivery(app.db, org_id, webhook.id, id)
      if (!row) throw notFound(`Delivery ${request.params.delivery_id}`)
      return await deliveryDetail(app.store, webhook, row, ownUrl(app))
    },
  )

  replayRoutes(app)
}

function replayRoutes(app: FastifyInstance): void {
  app.post<WebhookParams & { Body: ReplayBody }>(
    '/webhooks/:id/replay',
    { ...docs.replay, config: { ...docs.replay.config, limit: 'webhook_replay' } },
    async (request, reply) => {
      const { caller, body } = request
      const webhook = await getWebhook(app.db, caller.org_id, pathId('wh', request.params.id))
      requireKnownTypes(body.types ?? [], 'types')
      const wanted = await replayRequest(app.store, webhook, body)
      if (body.dry_run)
        return { object: 'replay_estimate', total: await estimate(app.store, webhook, wanted) }
      const view = await startReplay(app.store, requestOf(caller, request.id), webhook, wanted)
      const location = `/api/v1/webhooks/${publicId('wh', webhook.id)}/replays/${String(view['id'])}`
      return await reply.code(202).header('location', location).send(view)
    },
  )

  interface ReplayParams {
    Params: { id: string; replay_id: string }
  }
  const path = '/webhooks/:id/replays/:replay_id'

  app.get<ReplayParams>(path, docs.getReplay, async (request) => {
    const { id, replay_id } = request.params
    const { org_id } = request.caller
    return await getReplay(app.db, org_id, pathId('wh', id), pathId('replay', replay_id))
  })

  app.delete<ReplayParams>(path, docs.deleteReplay, async (request, reply) => {
    const { id, replay_id } = request.params
    const { org_id } = request.caller
    await stopReplay(app.db, org_id, pathId('wh', id), pathId('replay', replay_id))
    return reply.code(204).send()
  })
}
