import type { FastifyInstance, FastifyReply } from 'fastify'
import { etagOf } from '../kit/etags.ts'
import { paging } from '../kit/paging.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { ifMatch, sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import type { Row } from '../kit/resource.ts'
import * as docs from './docs.ts'
import { erasureRoutes } from './erasure-routes.ts'
import { factRoutes } from './fact-routes.ts'
import { ruleView, sourceView } from './proposals.ts'
import type { PreviewBody, RuleBody, SourceBody } from './proposals.ts'
import { listChanges, listRules, listSources } from './queries.ts'
import {
  changeRule,
  changeSource,
  changeView,
  createRule,
  getChange,
  getRule,
  getSource,
  previewOf,
  removeRule,
} from './service.ts'

interface IdParams {
  Params: { id: string }
}

interface PageQuery {
  Querystring: { limit: number; cursor?: string; type?: string; attribute?: string }
}

interface Approved {
  preview_hash?: string
}

export function truthRoutes(app: FastifyInstance): void {
  sourceRoutes(app)
  ruleRoutes(app)
  changeRoutes(app)
  factRoutes(app)
  erasureRoutes(app)
}

function sendVersioned(reply: FastifyReply, view: Row): FastifyReply {
  return reply
    .header('etag', etagOf(view['version'] as number))
    .type(JSON_TYPE)
    .send(JSON.stringify(view))
}

function sourceRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/grid/v2/sources', docs.listSources, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor } = request.query
    const page = paging(app.store, org_id, ['sources'], cursor)
    const sources = await listSources(app.db, org_id, page.after ?? 0, limit + 1)
    return sendPage(
      reply,
      page.of(sources.map(sourceView), limit, (_, i) => String(sources[i]?.id)),
    )
  })

  app.get<IdParams>('/grid/v2/sources/:id', docs.getSource, async (request, reply) => {
    const source = await getSource(app.db, request.caller.org_id, request.params.id)
    return sendVersioned(reply, sourceView(source))
  })

  app.patch<IdParams & { Body: SourceBody & Approved }>(
    '/grid/v2/sources/:id',
    docs.patchSource,
    async (request, reply) => {
      const { preview_hash = null, ...body } = request.body
      const making = { preview_hash, expected: ifMatch(request) }
      const { id } = request.params
      return sendAnswered(
        reply,
        await changeSource(app.store, writeRequest(request), id, body, making),
      )
    },
  )
}

function ruleRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/grid/v2/survivorship', docs.listRules, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, type = null, attribute = null } = request.query
    const page = paging(app.store, org_id, ['rules', type ?? '', attribute ?? ''], cursor)
    const filter = { type, attribute, after: page.after ?? 0, limit: limit + 1 }
    const rules = await listRules(app.db, org_id, filter)
    return sendPage(
      reply,
      page.of(rules.map(ruleView), limit, (_, i) => String(rules[i]?.id)),
    )
  })

  app.post<{ Body: RuleBody & Approved }>(
    '/grid/v2/survivorship',
    docs.createRule,
    async (request, reply) => {
      const { preview_hash = null, ...body } = request.body
      const making = { preview_hash, expected: null }
      return sendAnswered(reply, await createRule(app.store, writeRequest(request), body, making))
    },
  )

  app.post<{ Body: PreviewBody }>(
    '/grid/v2/survivorship/preview',
    docs.previewRules,
    async (request) => ({
      object: 'survivorship_preview',
      ...(await previewOf(app.store, request.caller.org_id, request.body)),
    }),
  )

  app.get<IdParams>('/grid/v2/survivorship/:id', docs.getRule, async (request, reply) => {
    const rule = await getRule(app.db, request.caller.org_id, request.params.id)
    return sendVersioned(reply, ruleView(rule))
  })

  app.patch<IdParams & { Body: RuleBody & Approved }>(
    '/grid/v2/survivorship/:id',
    docs.patchRule,
    async (request, reply) => {
      const { preview_hash = null, ...body } = request.body
      const making = { preview_hash, expected: ifMatch(request) }
      const write = writeRequest(request)
      return sendAnswered(
        reply,
        await changeRule(app.store, write, request.params.id, body, making),
      )
    },
  )

  app.delete<IdParams & { Querystring: Approved }>(
    '/grid/v2/survivorship/:id',
    docs.deleteRule,
    async (request, reply) => {
      const { preview_hash = null } = request.query
      const making = { preview_hash, expected: ifMatch(request) }
      const write = writeRequest(request)
      return sendAnswered(reply, await removeRule(app.store, write, request.params.id, making))
    },
  )
}

function changeRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/grid/v2/survivorship/changes', docs.listChanges, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor } = request.query
    const page = paging(app.store, org_id, ['rule changes'], cursor)
    const changes = await listChanges(app.db, org_id, page.after, limit + 1)
    return sendPage(
      reply,
      page.of(changes.map(changeView), limit, (_, i) => String(changes[i]?.id)),
    )
  })

  app.get<IdParams>('/grid/v2/survivorship/changes/:id', docs.getChange, async (request) => {
    const { params, caller } = request
    return changeView(await getChange(app.db, caller.org_id, params.id))
  })
}
