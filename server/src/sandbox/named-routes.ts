import type { FastifyInstance } from 'fastify'
import { allow } from '../http/auth.ts'
import { invalid } from '../kit/errors.ts'
import { forgetSchema } from '../kit/extended.ts'
import { idDigits, pathId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendAnswered, sendTexts, writeRequest } from '../kit/routes.ts'
import type { Caller } from '../kit/types.ts'
import { requestOf } from '../kit/write.ts'
import { requireScopes } from '../keys/service.ts'
import * as docs from './named-docs.ts'
import { createSandbox, deleteSandbox, findSandbox, requireLive } from './named.ts'
import type { SandboxBody } from './named.ts'
import { differences, kindsOf, promote, promotionView, settingsOf } from './promotion.ts'
import type { Between } from './promotion.ts'
import { listSandboxes } from './queries.ts'

interface PromoteBody {
  sandbox: string
  kinds?: string[]
  dry_run?: boolean
  hash?: string
}

export function namedSandboxRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/sandboxes',
    docs.listSandboxes,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['sandboxes'], cursor)
      const rows = await listSandboxes(app.db, org_id, page.after ?? 0, limit + 1)
      const shown = page.of(
        rows.map((row) => ({ ...row })),
        limit,
        ({ id }) => String(id),
      )
      return sendTexts(reply, { ...shown, data: shown.data.map(({ body }) => String(body)) })
    },
  )
  app.post<{ Body: SandboxBody }>('/sandboxes', docs.createSandbox, async (request, reply) => {
    const { caller, body } = request
    requireLive(caller)
    if (body.scopes) requireScopes(caller, body.scopes)
    const write = writeRequest(request)
    const answered = await once(app.store, write, async (tx) =>
      createSandbox(app.store, tx, caller, write, body),
    )
    return sendAnswered(reply, answered)
  })
  app.delete<{ Params: { id: string } }>(
    '/sandboxes/:id',
    docs.deleteSandbox,
    async (request, reply) => {
      const { caller, params } = request
      requireLive(caller)
      await deleteSandbox(app.store, requestOf(caller, request.id), pathId('org', params.id))
      app.keys.forget()
      return reply.code(204).send()
    },
  )
  promoteRoute(app)
}

function promoteRoute(app: FastifyInstance): void {
  app.post<{ Body: PromoteBody }>('/sandbox/promote', docs.promote, async (request, reply) => {
    const { caller, body } = request
    const { dry_run = true, hash } = body
    const between = await betweenOf(app, caller, body)
    if (dry_run) {
      const all = await differences(app.db, between)
      return reply.type(JSON_TYPE).send(JSON.stringify(promotionView(between, all, false)))
    }
    if (!hash) {
      const message = 'is required unless dry_run: the hash of the difference you have seen'
      throw invalid([{ field: 'hash', code: 'required', message }])
    }
    const write = writeRequest(request)
    const given = { hash, secrets: app.secrets }
    const answered = await once(app.store, write, async (tx) =>
      promote(tx, app.db, write, between, given),
    )
    forgetSchema(app.store.db, write.org_id)
    return sendAnswered(reply, answered)
  })
}

/** @throws 403 for a sandbox key or one that may not write a kind, 422 for what is no sandbox of the organization. */
async function betweenOf(
  app: FastifyInstance,
  caller: Caller,
  { sandbox, kinds: names }: PromoteBody,
): Promise<Between> {
  requireLive(caller)
  const kinds = kindsOf(names)
  for (const { scope } of kinds) allow(caller, scope)
  const id = idDigits('org', sandbox)
  const found = id === null ? null : await findSandbox(app.store, caller.org_id, id)
  if (id !== null && found) {
    const rules = app.config
    const theirs = await settingsOf(app.db, id, { kinds, rules })
    return { sandbox: id, live: caller.org_id, kinds, rules, theirs }
  }
  const message = `no sandbox of the organization has the id ${sandbox}`
  throw invalid([{ field: 'sandbox', code: 'not_found', message }])
}
