import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { etagOf } from '../../kit/etags.ts'
import { pathId, publicId } from '../../kit/ids.ts'
import { once } from '../../kit/once.ts'
import { paging } from '../../kit/paging.ts'
import type { Row } from '../../kit/resource.ts'
import { JSON_TYPE } from '../../kit/object-routes.ts'
import { ifMatch, sendAnswered, sendPage, writeRequest } from '../../kit/routes.ts'
import type { RouteDocs } from '../../kit/schemas.ts'
import type { Tx } from '../../kit/types.ts'
import { requestOf } from '../../kit/write.ts'
import * as docs from './docs.ts'
import { promote, rollBack, testVersion } from './promotion.ts'
import type { Promotion } from './promotion.ts'
import { listAdapters, listVersions } from './queries.ts'
import { sampleRoutes } from './sample-routes.ts'
import {
  addVersion,
  changeDraft,
  changeSettings,
  createAdapter,
  getAdapter,
  getVersion,
  readDocument,
  removeAdapter,
} from './service.ts'
import type { By } from './service.ts'
import { templateRoutes } from './templates/routes.ts'
import { adapterView, versionView } from './types.ts'
import type { KeptAdapter, KeptVersion, Sent } from './types.ts'

interface AdapterParams {
  Params: { id: string }
}

interface VersionParams {
  Params: { id: string; version: string }
}

interface PageQuery {
  Querystring: { limit: number; cursor?: string }
}

interface DocumentBody {
  Body: { document: Sent }
}

const PATH = '/sdis/adapters'

export async function adapterRoutes(app: FastifyInstance): Promise<void> {
  collection(app)
  single(app)
  versions(app)
  drafts(app)
  promotion(app)
  templateRoutes(app)
  await sampleRoutes(app)
}

/** What a POST that changes an adapter answers: status, view, ETag and, for something new, where it is. */
interface Done {
  view: Row
  etag?: string
  location?: string
}

/** Runs a POST once per idempotency key. */
async function act(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  run: (tx: Tx, by: By) => Promise<Done>,
): Promise<FastifyReply> {
  const write = writeRequest(request)
  const answered = await once(app.store, write, async (tx) => {
    const { view, ...headers } = await run(tx, write)
    const status = headers.location ? 201 : 200
    return { status, headers, body: JSON.stringify(view) }
  })
  return sendAnswered(reply.type(JSON_TYPE), answered)
}

const pathOf = (id: number): string => `/api/v1${PATH}/${publicId('adp', id)}`

const doneAdapter = (adapter: KeptAdapter): Done => ({
  view: adapterView(adapter),
  etag: etagOf(adapter.version),
})

const doneVersion = (version: KeptVersion): Done => ({
  view: versionView(version),
  etag: etagOf(version.revision),
})

function send(reply: FastifyReply, { view, etag }: Done): FastifyReply {
  if (etag) reply.header('etag', etag)
  return reply.type(JSON_TYPE).send(JSON.stringify(view))
}

function collection(app: FastifyInstance): void {
  app.post<{ Body: { document: Sent; require_second_person?: boolean } }>(
    PATH,
    docs.createAdapter,
    async (request, reply) => {
      const { document, require_second_person = false } = request.body
      const read = await readDocument(app.store, request.caller.org_id, document)
      const [id] = (await app.db.ids(1)) as [number]
      return await act(app, request, reply, async (tx, by) => {
        const adapter = await createAdapter(tx, by, id, read, require_second_person)
        return { ...doneAdapter(adapter), location: pathOf(id) }
      })
    },
  )

  app.get<PageQuery>(PATH, docs.listAdapters, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor } = request.query
    const page = paging(app.store, org_id, ['adapters'], cursor)
    const found = await listAdapters(app.db, org_id, { before: page.after, limit: limit + 1 })
    return sendPage(
      reply,
      page.of(found.map(adapterView), limit, (_, i) => String(found[i]?.id)),
    )
  })
}

function single(app: FastifyInstance): void {
  const path = `${PATH}/:id`
  app.get<AdapterParams>(path, docs.getAdapter, async (request, reply) => {
    const id = pathId('adp', request.params.id)
    const adapter = await getAdapter(app.db, request.caller.org_id, id)
    return send(reply, doneAdapter(adapter))
  })

  app.patch<AdapterParams & { Body: { require_second_person?: boolean } }>(
    path,
    docs.patchAdapter,
    async (request, reply) => {
      const id = pathId('adp', request.params.id)
      const by = requestOf(request.caller, request.id)
      const adapter = await app.db.transaction(
        by.org_id,
        async (tx) => await changeSettings(tx, by, id, request.body, ifMatch(request)),
      )
      return send(reply, doneAdapter(adapter))
    },
  )

  app.delete<AdapterParams>(path, docs.deleteAdapter, async (request, reply) => {
    const id = pathId('adp', request.params.id)
    const by = requestOf(request.caller, request.id)
    await app.db.transaction(
      by.org_id,
      async (tx) => await removeAdapter(tx, by, id, ifMatch(request)),
    )
    return reply.code(204).send()
  })
}

function versions(app: FastifyInstance): void {
  app.get<AdapterParams & PageQuery>(
    `${PATH}/:id/versions`,
    docs.listVersions,
    async (request, reply) => {
      const { org_id } = request.caller
      const id = pathId('adp', request.params.id)
      await getAdapter(app.db, org_id, id)
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['adapter versions', String(id)], cursor)
      const found = await listVersions(app.db, org_id, id, { before: page.after, limit: limit + 1 })
      return sendPage(
        reply,
        page.of(found.map(versionView), limit, (_, i) => String(found[i]?.version)),
      )
    },
  )

  app.get<VersionParams>(
    `${PATH}/:id/versions/:version`,
    docs.getVersion,
    async (request, reply) => {
      const { org_id } = request.caller
      const id = pathId('adp', request.params.id)
      const version = await getVersion(app.db, org_id, id, request.params.version)
      return send(reply, doneVersion(version))
    },
  )
}

function drafts(app: FastifyInstance): void {
  app.post<AdapterParams & DocumentBody>(
    `${PATH}/:id/versions`,
    docs.createVersion,
    async (request, reply) => {
      const id = pathId('adp', request.params.id)
      await getAdapter(app.db, request.caller.org_id, id)
      const read = await readDocument(app.store, request.caller.org_id, request.body.document)
      return await act(app, request, reply, async (tx, by) => {
        const version = await addVersion(tx, by, id, read)
        return { ...doneVersion(version), location: `${pathOf(id)}/versions/${version.version}` }
      })
    },
  )

  app.patch<VersionParams & DocumentBody>(
    `${PATH}/:id/versions/:version`,
    docs.patchVersion,
    async (request, reply) => {
      const id = pathId('adp', request.params.id)
      const by = requestOf(request.caller, request.id)
      const { version: number } = request.params
      await getVersion(app.db, by.org_id, id, number)
      const read = await readDocument(app.store, request.caller.org_id, request.body.document)
      const expected = ifMatch(request)
      const version = await app.db.transaction(
        by.org_id,
        async (tx) => await changeDraft(tx, by, id, number, read, expected),
      )
      return send(reply, doneVersion(version))
    },
  )
}

function promotion(app: FastifyInstance): void {
  app.post<VersionParams & { Body: { job_id?: string } }>(
    `${PATH}/:id/versions/:version/test`,
    docs.testVersion,
    async (request, reply) => {
      const id = pathId('adp', request.params.id)
      const { params, body } = request
      return await act(app, request, reply, async (tx, by) =>
        doneVersion(await testVersion(tx, by, id, params.version, body.job_id)),
      )
    },
  )

  const moves: [string, RouteDocs, (tx: Tx, by: By, id: number, body: Row) => Promise<Done>][] = [
    [
      'promote',
      docs.promoteAdapter,
      async (tx, by, id, body) =>
        doneAdapter(await promote(tx, by, id, body as unknown as Promotion)),
    ],
    [
      'rollback',
      docs.rollbackAdapter,
      async (tx, by, id, { reason }) => ({
        view: await rollBack(tx, by, id, reason as string | undefined),
      }),
    ],
  ]
  for (const [name, documented, move] of moves) {
    app.post<AdapterParams & { Body: Row }>(
      `${PATH}/:id/${name}`,
      documented,
      async (request, reply) => {
        const id = pathId('adp', request.params.id)
        return await act(
          app,
          request,
          reply,
          async (tx, by) => await move(tx, by, id, request.body),
        )
      },
    )
  }
}
