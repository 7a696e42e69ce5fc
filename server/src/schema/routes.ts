/** Endpoints by which organizations add fields to the schema. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../kit/errors.ts'
import { ownSchema } from '../kit/extended.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import { publicId, pathId } from '../kit/ids.ts'
import type { Answered } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import type { Row } from '../kit/resource.ts'
import type { Tx } from '../kit/types.ts'
import * as docs from './docs.ts'
import * as overviewDocs from './overview-docs.ts'
import type { Operation } from './operations.ts'
import { preview } from './preview.ts'
import { allFields, findField, listFields, listPlans, listVersions } from './queries.ts'
import type { Field } from './queries.ts'
import {
  approve,
  changeField,
  createPlan,
  deployPlan,
  getPlan,
  propose,
  rollBackPlan,
} from './service.ts'
import { fieldView, planView, versionView } from './views.ts'

interface WithId {
  Params: { id: string }
}

interface ListQuery {
  limit: number
  cursor?: string
  state?: string
  object_type?: string
}

export function schemaRoutes(app: FastifyInstance): void {
  planRoutes(app)
  stepRoutes(app)
  fieldRoutes(app)
  fieldChanges(app)
  overviews(app)
}

function sendJson(reply: FastifyReply, body: Row): FastifyReply {
  return reply.type(JSON_TYPE).send(JSON.stringify(body))
}

function planRoutes(app: FastifyInstance): void {
  const { store } = app
  app.post<{ Body: { text: string; answers?: Record<string, string> } }>(
    '/schema-extensions/propose',
    docs.propose,
    async (request, reply) => {
      const { text, answers = {} } = request.body
      return sendAnswered(reply, await propose(store, writeRequest(request), text, answers))
    },
  )
  app.post<{ Body: { operations: Operation[] } }>(
    '/schema-extensions',
    docs.createPlan,
    async (request, reply) =>
      sendAnswered(reply, await createPlan(store, writeRequest(request), request.body.operations)),
  )
  app.get<{ Querystring: ListQuery }>(
    '/schema-extensions',
    docs.listPlans,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor, state = null } = request.query
      const page = paging(store, org_id, ['schema-extensions', state ?? ''], cursor)
      const plans = await listPlans(app.db, org_id, { state, before: page.after, limit: limit + 1 })
      return sendPage(
        reply,
        page.of(plans.map(planView), limit, (_, i) => String(plans[i]?.id)),
      )
    },
  )
  app.get<WithId>('/schema-extensions/:id', docs.getPlan, async (request, reply) => {
    const id = pathId('pln', request.params.id)
    const { org_id } = request.caller
    const plan = await app.db.transaction(org_id, async (tx) => await getPlan(tx, org_id, id))
    return sendJson(reply, planView(plan))
  })
}

function stepRoutes(app: FastifyInstance): void {
  const { store } = app
  app.get<WithId>('/schema-extensions/:id/preview', docs.previewPlan, async (request, reply) => {
    const id = pathId('pln', request.params.id)
    const { org_id } = request.caller
    const view = await app.db.transaction(
      org_id,
      async (tx) => await preview(tx, store, await getPlan(tx, org_id, id)),
    )
    return sendJson(reply, view)
  })
  app.post<WithId & { Body: { confirm?: string[] } }>(
    '/schema-extensions/:id/approve',
    docs.approvePlan,
    async (request, reply) => {
      const id = pathId('pln', request.params.id)
      const { confirm = [] } = request.body
      return sendAnswered(reply, await approve(store, writeRequest(request), id, confirm))
    },
  )
  app.post<WithId>('/schema-extensions/:id/deploy', docs.deployPlan, async (request, reply) => {
    const id = pathId('pln', request.params.id)
    return sendAnswered(reply, await deployPlan(store, writeRequest(request), id))
  })
  app.post<WithId>('/schema-extensions/:id/rollback', docs.rollbackPlan, async (request, reply) => {
    const id = pathId('pln', request.params.id)
    return sendAnswered(reply, await rollBackPlan(store, writeRequest(request), id))
  })
}

/** @throws 404 */
async function requireField(app: FastifyInstance, request: FastifyRequest<WithId>): Promise<Field> {
  const id = pathId('fld', request.params.id)
  const field = await findField(app.db, request.caller.org_id, id)
  if (!field) throw notFound(`Field ${publicId('fld', id)}`)
  return field
}

function fieldRoutes(app: FastifyInstance): void {
  const { store } = app
  app.get<{ Querystring: ListQuery }>(
    '/schema-fields',
    overviewDocs.listFields,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor, state = null, object_type = null } = request.query
      const page = paging(store, org_id, ['schema-fields', state ?? '', object_type ?? ''], cursor)
      const filter = { state, object_type, after: page.after ?? 0, limit: limit + 1 }
      const fields = await listFields(app.db, org_id, filter)
      const { extensions } = await ownSchema(store, org_id)
      const views = fields.map((field) => fieldView(field, extensions))
      return sendPage(
        reply,
        page.of(views, limit, (_, i) => String(fields[i]?.id)),
      )
    },
  )
  app.get<WithId>('/schema-fields/:id', overviewDocs.getField, async (request, reply) => {
    const field = await requireField(app, request)
    const { extensions } = await ownSchema(store, request.caller.org_id)
    return sendJson(reply, fieldView(field, extensions))
  })
}

function fieldChanges(app: FastifyInstance): void {
  const { store } = app
  const changed = async (
    request: FastifyRequest<WithId>,
    change: Omit<Operation, 'object_type' | 'field'>,
    confirm: readonly string[] = [],
  ): Promise<Answered> => {
    const { id, object_type, name } = await requireField(app, request)
    const { op, ...rest } = change
    const operation: Operation = { op, object_type, field: publicId('fld', id), ...rest }
    const named = confirm.includes(name) ? [publicId('fld', id)] : confirm
    const view = async (tx: Tx): Promise<Row> => {
      const fields = await allFields(tx, request.caller.org_id)
      return fieldView(fields.find((field) => field.id === id) as Field, fields)
    }
    return await changeField(store, writeRequest(request), operation, named, view)
  }
  app.post<WithId & { Body: { confirm?: string[] } }>(
    '/schema-fields/:id/deprecate',
    overviewDocs.deprecateField,
    async (request, reply) =>
      sendAnswered(
        reply,
        await changed(request, { op: 'deprecate_attribute' }, request.body.confirm),
      ),
  )
  app.post<WithId>(
    '/schema-fields/:id/restore',
    overviewDocs.restoreField,
    async (request, reply) =>
      sendAnswered(reply, await changed(request, { op: 'restore_attribute' })),
  )
  app.post<WithId & { Body: { label?: string; api_name?: string; description?: string } }>(
    '/schema-fields/:id/rename',
    overviewDocs.renameField,
    async (request, reply) =>
      sendAnswered(reply, await changed(request, { op: 'rename_label', ...request.body })),
  )
}

function overviews(app: FastifyInstance): void {
  const { store } = app
  app.get('/grid/v2/schema/limits', overviewDocs.getLimits, async (request, reply) => {
    const { registry } = await ownSchema(store, request.caller.org_id)
    const used = [...registry.values()].flatMap(({ name, extensions }) => {
      const live = extensions.filter(({ state }) => state === 'deployed')
      if (live.length === 0) return []
      const filterable = live.filter((field) => field.filterable).length
      const formulas = live.filter(({ type }) => type === 'formula').length
      return [{ object_type: name, fields: live.length, filterable, formulas }]
    })
    return sendJson(reply, { object: 'schema_limits', limits: LIMITS, used })
  })
  app.get<{ Querystring: ListQuery }>(
    '/grid/v2/schema/changes',
    overviewDocs.listChanges,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor } = request.query
      const page = paging(store, org_id, ['schema-changes'], cursor)
      const versions = await listVersions(app.db, org_id, page.after, limit + 1)
      return sendPage(
        reply,
        page.of(versions.map(versionView), limit, (_, i) => String(versions[i]?.version)),
      )
    },
  )
}
