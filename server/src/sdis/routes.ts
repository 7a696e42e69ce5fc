import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { discardRest, FORM_LIMITS, receiveFrom } from '../documents/index.ts'
import type { FormPart } from '../documents/index.ts'
import { ApiError } from '../kit/errors.ts'
import { fingerprintOf } from '../kit/idempotency.ts'
import { pathId } from '../kit/ids.ts'
import { once, rowsIn } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import type { Paging } from '../kit/paging.ts'
import type { Row } from '../kit/resource.ts'
import {
  idempotencyKey,
  JSON_TYPE,
  sendAnswered,
  sendPage,
  sendReplayed,
  writeRequest,
} from '../kit/routes.ts'
import { requestOf } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import * as docs from './docs.ts'
import { factsOfJob } from './facts-queries.ts'
import { listErrors, listJobs } from './job-queries.ts'
import { jobView } from './jobs.ts'
import {
  approveJob,
  cancelJob,
  dayOfFile,
  enqueue,
  getJob,
  importSpool,
  jobFileKey,
  jobPath,
  readForm,
  requireReferences,
} from './service.ts'

const MEGABYTE = 1024 * 1024

interface JobParams {
  Params: { id: string }
}

interface PageQuery {
  Querystring: { limit: number; cursor?: string; state?: string }
}

export async function sdisRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (form) => {
    await form.register(multipart, { limits: FORM_LIMITS, throwFileSizeLimit: false })
    form.addHook('onError', (request, _reply, _error, done) => {
      discardRest(request.raw)
      done()
    })
    form.post(
      '/sdis/jobs',
      { ...docs.createJob, bodyLimit: (app.config.GRID_IMPORT_MAX_MB + 2) * MEGABYTE },
      async (request, reply) => {
        const outcome = await createJob(app, request)
        const { replayed } = outcome
        if (replayed) return sendReplayed(reply, replayed)
        const location = jobPath(outcome.id)
        return reply.code(202).header('location', location).type(JSON_TYPE).send(outcome.body)
      },
    )
  })
  listRoutes(app)
  for (const [path, act, route] of [
    ['/sdis/jobs/:id/cancel', cancelJob, docs.cancelJob],
    ['/sdis/jobs/:id/approve', approveJob, docs.approveJob],
  ] as const) {
    app.post<JobParams>(path, route, async (request, reply) => {
      const write = writeRequest(request)
      const id = pathId('job', request.params.id)
      const answered = await once(app.store, write, async (tx) => {
        const body = JSON.stringify(jobView(await act(rowsIn(tx), write.org_id, id, write.actor)))
        return { status: 200, headers: {}, body }
      })
      return sendAnswered(reply, answered)
    })
  }
  for (const [method, act, route] of [
    ['DELETE', cancelJob, docs.deleteJob],
    ['GET', getJob, docs.getJob],
  ] as const) {
    app.route<JobParams>({
      method,
      url: '/sdis/jobs/:id',
      ...route,
      handler: async (request) => {
        const { org_id, actor } = requestOf(request.caller, request.id)
        return jobView(await act(app.db, org_id, pathId('job', request.params.id), actor))
      },
    })
  }
}

function listRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/sdis/jobs', docs.listJobs, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, state = null } = request.query
    const page = paging(app.store, org_id, ['jobs', state ?? ''], cursor)
    const jobs = await listJobs(app.db, org_id, { state, before: page.after, limit: limit + 1 })
    return sendPage(
      reply,
      page.of(jobs.map(jobView), limit, (_, i) => String(jobs[i]?.id)),
    )
  })

  for (const [path, of, route] of [
    ['errors', errorsOf, docs.listJobErrors],
    ['facts', factsOf, docs.listJobFacts],
  ] as const) {
    app.get<JobParams & PageQuery>(`/sdis/jobs/:id/${path}`, route, async (request, reply) => {
      const { org_id } = request.caller
      const id = pathId('job', request.params.id)
      await getJob(app.db, org_id, id)
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, [path, String(id)], cursor)
      const found = await of(app, org_id, id, page, limit + 1)
      const views = found.map(({ view }) => view)
      return sendPage(
        reply,
        page.of(views, limit, (_, i) => found[i]?.position ?? ''),
      )
    })
  }
}

interface Found {
  view: Row
  /** Where it stands in the list, for the cursor. */
  position: string
}

function errorsOf(
  app: FastifyInstance,
  org_id: number,
  id: number,
  page: Paging,
  limit: number,
): Promise<Found[]> {
  return listErrors(app.db, org_id, id, page.after ?? 0, limit)
}

function factsOf(
  app: FastifyInstance,
  org_id: number,
  id: number,
  page: Paging,
  limit: number,
): Promise<Found[]> {
  return factsOfJob(app.store, org_id, id, page.values, limit)
}

async function createJob(
  app: FastifyInstance,
  request: FastifyRequest,
): ReturnType<typeof enqueue> {
  if (!request.isMultipart()) {
    throw new ApiError(
      'unsupported_media_type',
      'Send multipart/form-data with the parts adapter and file.',
    )
  }
  const { caller } = request
  const [id] = (await app.db.ids(1)) as [number]
  const key = jobFileKey(caller.org_id, id)
  const spool = importSpool(app.config.GRID_DATA_DIR)
  const max = app.config.GRID_IMPORT_MAX_MB * MEGABYTE
  const parts = request.parts() as AsyncIterable<FormPart>
  const { fields, metadata, file } = await receiveFrom(request.raw, parts, spool, key, max, [
    'adapter',
  ])
  try {
    if (Object.keys(metadata).length > 0) fields.set('metadata', [''])
    const form = await readForm(fields, app.store, caller)
    const { document, adapter } = form
    await requireReferences(app.store, caller.org_id, adapter)
    const day = fields.has('as_of') ? null : await dayOfFile(file.path, adapter, caller)
    const as_of = day ?? form.as_of
    const idempotency = idempotencyKey(request)
    const write: WriteRequest = {
      ...requestOf(caller, request.id),
      idempotency: idempotency
        ? {
            key: idempotency,
            route: 'POST /sdis/jobs',
            fingerprint: fingerprintOf([document, adapter.version, as_of, file.sha256]),
          }
        : undefined,
    }
    const { filename: name, path, byte_size, sha256 } = file
    const outcome = await enqueue(app.store, write, caller, {
      id,
      adapter,
      as_of,
      file: { name, path, byte_size, sha256 },
    })
    if (outcome.replayed) await spool.drop(key)
    return outcome
  } catch (error) {
    await spool.drop(key)
    throw error
  }
}
