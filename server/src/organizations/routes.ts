import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../kit/errors.ts'
import { pathId, publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { getRoute, ifMatch, listRoute, sendCreated, writeRequest } from '../kit/routes.ts'
import { etagOf } from '../kit/etags.ts'
import { createDocs, deleteDocs, patchDocs } from '../kit/schemas.ts'
import { get } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import { remove, requestOf, update } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import { hasChildren } from './queries.ts'
import { organization } from './resource.ts'
import { createChild } from './service.ts'

interface OrganizationRequest {
  Params: { id: string }
  Body: Row
}

/** The caller's organization and its children. Each is written in its own context, by the key of the caller. */
export function organizationRoutes(app: FastifyInstance): void {
  listRoute(app, organization)
  getRoute(app, organization)
  app.post<OrganizationRequest>(
    '/organizations',
    createDocs(organization),
    async (request, reply) => {
      const outcome = await createChild(
        app.store,
        request.caller,
        writeRequest(request),
        request.body,
      )
      return sendCreated(reply, outcome)
    },
  )
  app.patch<OrganizationRequest>(
    '/organizations/:id',
    patchDocs(organization),
    async (request, reply) => {
      const { id, write } = await writeTo(app.store, request)
      const outcome = await update(
        app.store,
        organization,
        write,
        id,
        request.body,
        ifMatch(request),
      )
      // Callers carry the organization's defaults; they hold from now on.
      app.keys.forget()
      return reply.header('etag', etagOf(outcome.version)).type(JSON_TYPE).send(outcome.body)
    },
  )
  app.delete<OrganizationRequest>(
    '/organizations/:id',
    deleteDocs(organization),
    async (request, reply) => {
      const { id, write } = await writeTo(app.store, request)
      await refuseDeletion(app.store, request.caller.org_id, id)
      await remove(app.store, organization, write, id, ifMatch(request))
      app.keys.forget()
      return reply.code(204).send()
    },
  )
}

/** The write of a request in the context of the organization it names. @throws 404 for one the caller does not see. */
async function writeTo(
  store: Store,
  request: FastifyRequest<OrganizationRequest>,
): Promise<{ id: number; write: WriteRequest }> {
  const { caller, params } = request
  const id = pathId(organization.prefix, params.id)
  await get(store, caller.org_id, organization, id)
  return { id, write: { ...requestOf(caller, request.id), org_id: id } }
}

/** @throws 409 for the caller's own organization and for one that has children. */
async function refuseDeletion(store: Store, org_id: number, id: number): Promise<void> {
  if (id === org_id)
    throw new ApiError('conflict', 'An organization cannot delete itself; its parent can.')
  if (!(await hasChildren(store.db, id))) return
  const detail = `Organization ${publicId('org', id)} still has organizations; delete them first.`
  throw new ApiError('conflict', detail, { used_by: [organization.path] })
}
