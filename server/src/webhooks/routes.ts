import type { FastifyInstance, FastifyReply } from 'fastify'
import { ownUrl } from '../http/own-url.ts'
import { invalid } from '../kit/errors.ts'
import { pathId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { etagOf } from '../kit/etags.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { ifMatch, sendPage, writeRequest } from '../kit/routes.ts'
import { requestOf } from '../kit/write.ts'
import { deliveryRoutes } from './delivery-routes.ts'
import * as docs from './docs.ts'
import { changesOf, choicesOf, requireKnownTypes } from './fields.ts'
import type { ChoicesBody } from './fields.ts'
import { inboxAt } from './inbox.ts'
import { testWebhook } from './inbox-docs.ts'
import { inboxRoutes } from './inbox-routes.ts'
import { listWebhooks } from './queries.ts'
import { SigningKeys } from './request.ts'
import {
  createWebhook,
  enableWebhook,
  getWebhook,
  patchWebhook,
  pauseWebhook,
  removeWebhook,
  rotateSecret,
  viewsOf,
} from './service.ts'
import type { Answer } from './service.ts'
import { keyOf, newSecret } from './signature.ts'
import { targetIssue } from './target.ts'
import { sendTest } from './test-delivery.ts'
import type { Tested } from './test-delivery.ts'
import type { Webhook, WebhookState } from './types.ts'

const GRACE_S = 86_400

interface WebhookParams {
  Params: { id: string }
}

export function webhookRoutes(app: FastifyInstance): void {
  collection(app)
  single(app)
  states(app)
  testing(app)
  deliveryRoutes(app)
  inboxRoutes(app)
}

/** Whether a URL may be delivered to, and which inbox it is that of. @throws 422 when it may not. */
async function inboxOrTarget(
  app: FastifyInstance,
  org_id: number,
  url: string,
): Promise<number | null> {
  const inbox_id = await inboxAt(app.db, org_id, url, ownUrl(app))
  const issue = inbox_id === null ? targetIssue(url, app.config) : null
  if (issue) throw invalid([issue])
  return inbox_id
}

function collection(app: FastifyInstance): void {
  app.post<{ Body: Partial<ChoicesBody> }>(
    '/webhooks',
    docs.createWebhook,
    async (request, reply) => {
      const choices = choicesOf(request.body)
      requireKnownTypes(choices.events)
      const inbox_id = await inboxOrTarget(app, request.caller.org_id, choices.url)
      const write = writeRequest(request)
      const answer = await createWebhook(app.store, app.secrets, write, { ...choices, inbox_id })
      const { id } = JSON.parse(answer.body) as { id: string }
      reply.code(201).header('location', `/api/v1/webhooks/${id}`)
      return sendAnswer(reply, answer)
    },
  )

  app.get<{ Querystring: { limit: number; cursor?: string; state?: WebhookState } }>(
    '/webhooks',
    docs.listWebhooks,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor, state = null } = request.query
      const page = paging(app.store, org_id, ['webhooks', state ?? ''], cursor)
      const filter = { state, before: page.after, limit: limit + 1 }
      const webhooks = await listWebhooks(app.db, org_id, filter)
      const views = await viewsOf(app.db, org_id, webhooks)
      return sendPage(
        reply,
        page.of(views, limit, (_, i) => String(webhooks[i]?.id)),
      )
    },
  )
}

function sendAnswer(reply: FastifyReply, { body, version, replayed }: Answer): FastifyReply {
  if (replayed) reply.header('idempotent-replayed', 'true')
  return reply.header('etag', etagOf(version)).type(JSON_TYPE).send(body)
}

async function sendWebhook(
  app: FastifyInstance,
  reply: FastifyReply,
  webhook: Webhook,
): Promise<FastifyReply> {
  const [view] = await viewsOf(app.db, webhook.org_id, [webhook])
  return reply.header('etag', etagOf(webhook.version)).type(JSON_TYPE).send(JSON.stringify(view))
}

function single(app: FastifyInstance): void {
  app.get<WebhookParams>('/webhooks/:id', docs.getWebhook, async (request, reply) => {
    const id = pathId('wh', request.params.id)
    return await sendWebhook(app, reply, await getWebhook(app.db, request.caller.org_id, id))
  })

  app.patch<WebhookParams & { Body: Partial<ChoicesBody> }>(
    '/webhooks/:id',
    docs.patchWebhook,
    async (request, reply) => {
      const id = pathId('wh', request.params.id)
      const { caller, body } = request
      await getWebhook(app.db, caller.org_id, id)
      const changes = changesOf(body)
      requireKnownTypes(changes.events ?? [])
      const target =
        body.url === undefined
          ? {}
          : { inbox_id: await inboxOrTarget(app, caller.org_id, body.url) }
      const write = requestOf(caller, request.id)
      const all = { ...changes, ...target }
      return sendWebhook(app, reply, await patchWebhook(app.db, write, id, all, ifMatch(request)))
    },
  )

  app.delete<WebhookParams>('/webhooks/:id', docs.deleteWebhook, async (request, reply) => {
    const id = pathId('wh', request.params.id)
    await removeWebhook(app.db, requestOf(request.caller, request.id), id, ifMatch(request))
    return reply.code(204).send()
  })
}

function states(app: FastifyInstance): void {
  app.post<WebhookParams>('/webhooks/:id/pause', docs.pauseWebhook, async (request, reply) => {
    const id = pathId('wh', request.params.id)
    const webhook = await pauseWebhook(app.db, requestOf(request.caller, request.id), id)
    return await sendWebhook(app, reply, webhook)
  })

  app.post<WebhookParams & { Body: { held?: 'replay' | 'drop'; since?: string } }>(
    '/webhooks/:id/enable',
    docs.enableWebhook,
    async (request, reply) => {
      const id = pathId('wh', request.params.id)
      const { held = 'replay', since = null } = request.body
      if (held === 'drop' && since !== null) {
        const message = 'is for replay only; drop cancels everything'
        throw invalid([{ field: 'since', code: 'conflicting', message }])
      }
      const write = requestOf(request.caller, request.id)
      return await sendWebhook(app, reply, await enableWebhook(app.db, write, id, { held, since }))
    },
  )

  app.post<WebhookParams & { Body: { grace_seconds?: number } }>(
    '/webhooks/:id/rotate-secret',
    docs.rotateSecret,
    async (request, reply) => {
      const id = pathId('wh', request.params.id)
      const { grace_seconds = GRACE_S } = request.body
      const write = writeRequest(request)
      return sendAnswer(reply, await rotateSecret(app.store, app.secrets, write, id, grace_seconds))
    },
  )
}

interface TestBody {
  webhook_id?: string
  url?: string
  secret?: string
}

function testing(app: FastifyInstance): void {
  const keys = new SigningKeys(app.secrets)

  const documented = { ...testWebhook, config: { ...testWebhook.config, limit: 'webhook_test' } }
  app.post<{ Body: TestBody }>('/webhooks/test', documented, async (request) => {
    const { caller, body } = request
    const made = body.url !== undefined && body.secret === undefined ? newSecret() : null
    const tested = await testedOf(app, keys, caller.org_id, {
      ...(made ? { secret: made } : {}),
      ...body,
    })
    const { actor } = requestOf(caller, request.id)
    return { ...(await sendTest(app, caller, actor, tested)), secret: made }
  })
}

/** @throws 422 unless the body names a webhook or an address; 404 for a webhook that does not exist. */
async function testedOf(
  app: FastifyInstance,
  keys: SigningKeys,
  org_id: number,
  { webhook_id, url, secret }: TestBody,
): Promise<Tested> {
  if ((webhook_id === undefined) === (url === undefined)) {
    const message = 'is needed: one of webhook_id and url'
    const code = url === undefined ? 'required' : 'conflicting'
    throw invalid([{ field: 'webhook_id', code, message }])
  }
  if (url !== undefined && secret !== undefined) {
    const own_inbox = (await inboxOrTarget(app, org_id, url)) !== null
    return { target: { url, own_inbox }, keys: [keyOf(secret)], webhook_id: null }
  }
  const webhook = await getWebhook(app.db, org_id, pathId('wh', webhook_id as string))
  const target = { url: webhook.url, own_inbox: webhook.inbox_id !== null }
  return { target, keys: keys.of(webhook), webhook_id: webhook.id }
}
