import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { pathId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import type { Query } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { getRoute, ifMatch, listRoute, sendCreated, sendPage, writeRequest } from '../kit/routes.ts'
import { etagOf } from '../kit/etags.ts'
import { deleteDocs, patchDocs } from '../kit/schemas.ts'
import { closest } from '../kit/validate.ts'
import { requestOf } from '../kit/write.ts'
import { contentAnswer } from './content.ts'
import { addVersionDocs, contentDocs, createDocumentDocs, listVersionsDocs } from './docs.ts'
import type { FileKey } from './files.ts'
import { document } from './resource.ts'
import {
  addVersion,
  changeDocument,
  createPending,
  createWithFile,
  deleteDocument,
  getVersion,
  listVersions,
  newKey,
  presentDocument,
} from './service.ts'
import type { Storage } from './storage.ts'
import { sweepOrphans } from './sweep.ts'
import { discardRest, FORM_LIMITS, receiveFrom } from './upload.ts'
import type { FormPart, Upload } from './upload.ts'

declare module 'fastify' {
  interface FastifyInstance {
    storage: Storage
  }
}

interface DocumentRequest {
  Params: { id: string }
  Querystring: Query
  Body: Row
}

/** `byte_size` is a 32-bit number, so no setting allows more. */
const FILE_MAX_BYTES = 2 ** 31 - 1

export async function documentRoutes(app: FastifyInstance): Promise<void> {
  listRoute(app, document)
  getRoute(app, document)
  changeRoutes(app)
  versionRoutes(app)
  contentRoute(app)
  await app.register(async (forms) => {
    await forms.register(multipart, { limits: FORM_LIMITS, throwFileSizeLimit: false })
    // Forms have no body to validate before they are read; the service checks them and JSON alike.
    const compile = forms.validatorCompiler
    forms.setValidatorCompiler((route) =>
      compile && route.httpPart !== 'body' ? compile(route) : (value: unknown) => ({ value }),
    )
    forms.addHook('onError', (request, _reply, _error, done) => {
      discardRest(request.raw)
      done()
    })
    uploadRoutes(forms)
  })
  // A host that only serves has no background work to do this.
  app.addHook('onReady', (done) => {
    sweepOrphans(app.storage, app.db).catch((error: Error) =>
      app.log.warn({ err: error }, 'uploads left behind could not be cleared away'),
    )
    done()
  })
  app.addHook('onClose', async () => await app.storage.close())
}

function changeRoutes(app: FastifyInstance): void {
  app.patch<DocumentRequest>('/documents/:id', patchDocs(document), async (request, reply) => {
    const id = pathId(document.prefix, request.params.id)
    const write = requestOf(request.caller, request.id)
    const outcome = await changeDocument(app, write, id, request.body, ifMatch(request))
    return reply.header('etag', etagOf(outcome.version)).type(JSON_TYPE).send(outcome.body)
  })
  app.delete<DocumentRequest>('/documents/:id', deleteDocs(document), async (request, reply) => {
    const id = pathId(document.prefix, request.params.id)
    await deleteDocument(app, requestOf(request.caller, request.id), id, ifMatch(request))
    return reply.code(204).send()
  })
}

function uploadRoutes(app: FastifyInstance): void {
  app.post<DocumentRequest>('/documents', createDocumentDocs, async (request, reply) => {
    const write = writeRequest(request)
    if (!request.isMultipart())
      return sendCreated(reply, await createPending(app, write, request.body))
    const key = await newKey(app.store, request.caller.org_id)
    const upload = await received(request, key)
    return sendCreated(reply, await createWithFile(app, write, key, upload))
  })
  app.post<DocumentRequest>('/documents/:id/versions', addVersionDocs, async (request, reply) => {
    const { org_id } = request.caller
    const id = pathId(document.prefix, request.params.id)
    const write = writeRequest(request)
    if (write.idempotency) write.idempotency.status = 201
    const expected = ifMatch(request)
    // Before the first byte is read, unless the answer may be that of an earlier request.
    if (!write.idempotency) await presentDocument(app.store, org_id, id, expected)
    if (!request.isMultipart())
      throw new ApiError('unsupported_media_type', 'Send multipart/form-data with a part `file`.')
    const key = await newKey(app.store, org_id, id)
    const upload = await received(request, key)
    return sendCreated(reply, await addVersion(app, write, key, upload, expected))
  })
}

/** Reads the form of a request into the spool. */
async function received(request: FastifyRequest, key: FileKey): Promise<Upload> {
  const { config, storage } = request.server
  const max_bytes = Math.min(config.GRID_UPLOAD_MAX_MB * 1024 * 1024, FILE_MAX_BYTES)
  const parts = request.parts() as AsyncIterable<FormPart>
  return receiveFrom(request.raw, parts, storage.spool, key, max_bytes)
}

function versionRoutes(app: FastifyInstance): void {
  app.get<DocumentRequest>('/documents/:id/versions', listVersionsDocs, async (request, reply) => {
    const id = pathId(document.prefix, request.params.id)
    const query = parsed(request.query, ['limit', 'cursor'])
    const limit = wholeNumber(query, 'limit', LIMIT_MAX) ?? LIMIT_DEFAULT
    const page = paging(
      app.store,
      request.caller.org_id,
      ['versions', request.params.id],
      query.get('cursor'),
    )
    const versions = await listVersions(app.store, request.caller.org_id, id)
    // Numbers are counted from 1 without a gap, so the last one shown is also how many were shown.
    const shown = page.after ?? 0
    const rows = versions.slice(shown, shown + limit + 1).map((version) => ({ ...version }))
    return sendPage(
      reply,
      page.of(rows, limit, ({ number }) => String(number)),
    )
  })
}

function contentRoute(app: FastifyInstance): void {
  app.route<DocumentRequest>({
    method: ['GET', 'HEAD'],
    url: '/documents/:id/content',
    ...contentDocs,
    handler: async (request, reply) => {
      const { method, headers } = request
      const id = pathId(document.prefix, request.params.id)
      const query = parsed(request.query, ['version', 'disposition'])
      const number = wholeNumber(query, 'version', 2 ** 31 - 1)
      const inline = dispositionOf(query) === 'inline'
      const file = await getVersion(app.store, request.caller.org_id, id, number)
      const answer = contentAnswer(file.version, { method, headers, inline })
      reply.code(answer.status).headers(answer.headers)
      if (answer.status === 416) {
        const detail = `The file has ${file.version.byte_size} bytes; ask for a range of them such as bytes=0-0.`
        throw new ApiError('range_not_satisfiable', detail)
      }
      if (answer.status === 304 || method === 'HEAD') return reply.send()
      return reply.send(await app.storage.open(file.key, answer.range))
    },
  })
}

/** The query by name. @throws 422 for parameters that are unknown or repeated. */
function parsed(query: Query, known: readonly string[]): Map<string, string> {
  const issues: Issue[] = []
  const map = new Map<string, string>()
  for (const [field, value] of Object.entries(query)) {
    if (!known.includes(field)) {
      const suggestion = closest(field, known)
      const message = `unknown parameter '${field}'`
      const guess = suggestion ? { suggestion } : {}
      issues.push({ field, code: 'unknown_parameter', message, ...guess })
    } else if (typeof value === 'string') map.set(field, value)
    else issues.push({ field, code: 'repeated', message: 'may be given once' })
  }
  if (issues.length > 0) throw invalid(issues)
  return map
}

function wholeNumber(query: Map<string, string>, field: string, max: number): number | null {
  const text = query.get(field)
  if (text === undefined) return null
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value
  const message = `must be a whole number from 1 to ${max}, got '${text}'`
  throw invalid([{ field, code: 'out_of_range', message }])
}

function dispositionOf(query: Map<string, string>): string {
  const allowed = ['attachment', 'inline']
  const value = query.get('disposition') ?? 'attachment'
  if (allowed.includes(value)) return value
  const message = `unknown value '${value}'`
  throw invalid([{ field: 'disposition', code: 'unknown_value', message, allowed }])
}
