import type { FastifyInstance, FastifyReply } from 'fastify'
import { idDigits, pathId, publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answer, Answered } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import type { Row } from '../kit/resource.ts'
import type { Scope } from '../kit/scopes.ts'
import { etagOf } from '../kit/etags.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { ifMatch, sendPage, writeRequest } from '../kit/routes.ts'
import { listApps } from './app-queries.ts'
import { appView, installationView } from './apps.ts'
import type { App } from './apps.ts'
import * as docs from './docs.ts'
import { listInstallations } from './installation-queries.ts'
import { getInstallation, installOnce, readConsent, removeApp, uninstall } from './installations.ts'
import { getApp, patchApp, registerApp, rotateSecret } from './service.ts'
import type { AppPatch, Registration } from './service.ts'

interface IdParams {
  Params: { id: string }
}

interface PageQuery {
  Querystring: { limit: number; cursor?: string; status?: string; client_id?: string }
}

export function appRoutes(app: FastifyInstance): void {
  registrationRoutes(app)
  ownAppRoutes(app)
  installationRoutes(app)
}

function registrationRoutes(app: FastifyInstance): void {
  app.post<{ Body: Registration }>(
    '/developer/apps/register',
    { ...docs.register, config: { ...docs.register.config, limit: 'app_registration' } },
    async (request, reply) => {
      const write = writeRequest(request)
      const [id] = (await app.db.ids(1)) as [number]
      const answer = await once(app.store, write, async (tx) => {
        const { app: made, secret } = await registerApp(tx, write, id, request.body, app.config)
        const issued = { client_id_issued_at: Math.floor(Date.parse(made.created_at) / 1_000) }
        const ends = secret === null ? {} : { client_secret_expires_at: 0 }
        const headers = { location: `/api/v1/developer/apps/${publicId('app', id)}` }
        return secretAnswer(201, headers, { ...appView(made), ...issued, ...ends }, secret)
      })
      return sendOnce(reply, answer)
    },
  )
  app.post<IdParams & { Body: { overlap_hours?: number } }>(
    '/developer/apps/:id/rotate-secret',
    docs.rotate,
    async (request, reply) => {
      const write = writeRequest(request)
      const id = pathId('app', request.params.id)
      const { overlap_hours = 24 } = request.body
      const answer = await once(app.store, write, async (tx) => {
        const { app: rotated, secret } = await rotateSecret(tx, write, id, overlap_hours)
        return secretAnswer(200, {}, appView(rotated), secret)
      })
      return sendOnce(reply, answer)
    },
  )
}

/** A secret is part of the first answer and not of what is kept for a repeat. */
function secretAnswer(
  status: number,
  headers: Record<string, string>,
  view: Row,
  client_secret: string | null,
): Answer {
  const repeated = JSON.stringify({ ...view, secret_shown: false })
  if (client_secret === null) return { status, headers, body: repeated }
  const body = JSON.stringify({ ...view, client_secret, secret_shown: true })
  return { status, headers, body, repeated }
}

function sendOnce(reply: FastifyReply, { answer, replayed }: Answered): FastifyReply {
  const { status, headers, body } = answer
  return reply
    .code(status)
    .headers({ ...headers, ...(replayed ? { 'idempotent-replayed': 'true' } : {}) })
    .type(JSON_TYPE)
    .send(body)
}

function ownAppRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/developer/apps', docs.list, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, status = null } = request.query
    const page = paging(app.store, org_id, ['apps', status ?? ''], cursor)
    const apps = await listApps(app.db, org_id, { status, before: page.after, limit: limit + 1 })
    return sendPage(
      reply,
      page.of(apps.map(appView), limit, (_, i) => String(apps[i]?.id)),
    )
  })
  app.get<IdParams>('/developer/apps/:id', docs.get, async (request, reply) =>
    sendApp(reply, await getApp(app.db, request.caller.org_id, pathId('app', request.params.id))),
  )
  app.patch<IdParams & { Body: AppPatch }>(
    '/developer/apps/:id',
    docs.patch,
    async (request, reply) => {
      const id = pathId('app', request.params.id)
      const write = writeRequest(request)
      const patched = await patchApp(app.db, write, id, request.body, ifMatch(request), app.config)
      app.keys.forget()
      return sendApp(reply, patched)
    },
  )
  app.post<IdParams>('/developer/apps/:id/submit', docs.submit, async (request, reply) => {
    const id = pathId('app', request.params.id)
    const patch = { status: 'submitted' } as const
    return sendApp(reply, await patchApp(app.db, writeRequest(request), id, patch, null))
  })
  app.delete<IdParams>('/developer/apps/:id', docs.remove, async (request, reply) => {
    const id = pathId('app', request.params.id)
    await removeApp(app.db, writeRequest(request), id)
    app.keys.forget()
    return reply.code(204).send()
  })
}

function sendApp(reply: FastifyReply, app: App): FastifyReply {
  return reply
    .header('etag', etagOf(app.version))
    .type(JSON_TYPE)
    .send(JSON.stringify(appView(app)))
}

function installationRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/apps/installations', docs.listInstalled, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, client_id } = request.query
    const app_id = client_id === undefined ? null : idDigits('app', client_id)
    const page = paging(app.store, org_id, ['installations', client_id ?? ''], cursor)
    const filter = { app_id, before: page.after, limit: limit + 1 }
    const found = await listInstallations(app.db, org_id, filter)
    return sendPage(
      reply,
      page.of(found.map(installationView), limit, (_, i) => String(found[i]?.id)),
    )
  })
  app.post<{ Body: { client_id: string; scopes: Scope[] } }>(
    '/apps/installations',
    docs.install,
    async (request, reply) => {
      const { body, caller } = request
      const wanted = await readConsent(app.db, caller, body)
      const write = writeRequest(request)
      const [id, webhook_id] = (await app.db.ids(2)) as [number, number]
      const by = { ...write, secrets: app.secrets, id, webhook_id }
      const answer = await once(app.store, write, async (tx) => {
        const view = installationView(await installOnce(tx, by, wanted, body.scopes))
        const headers = { location: `/api/v1/apps/installations/${publicId('inst', id)}` }
        return { status: 201, headers, body: JSON.stringify(view) }
      })
      return sendOnce(reply, answer)
    },
  )
  app.get<IdParams>('/apps/installations/:id', docs.getInstalled, async (request) => {
    const id = pathId('inst', request.params.id)
    return installationView(await getInstallation(app.db, request.caller.org_id, id))
  })
  app.delete<IdParams>('/apps/installations/:id', docs.uninstall, async (request, reply) => {
    const id = pathId('inst', request.params.id)
    await uninstall(app.db, writeRequest(request), id)
    app.keys.forget()
    return reply.code(204).send()
  })
}
