import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { FORM_LIMITS, receive } from '../documents/upload.ts'
import type { FormPart } from '../documents/upload.ts'
import { ApiError } from '../kit/errors.ts'
import { fingerprintOf } from '../kit/idempotency.ts'
import { pathId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { idempotencyKey, JSON_TYPE, sendPage } from '../kit/routes.ts'
import { requestOf } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import * as docs from './docs.ts'
import { factsOfJob } from './facts-queries.ts'
import { listErrors, listJobs } from './job-queries.ts'
import { jobView } from './jobs.ts'
import {
  approveJob,
  cancelJob,
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
    await form.register(multipart, { limits: FORM_LIMITS })
    form.post(
      '/sdis/jobs',
      { ...docs.createJob, bodyLimit: (app.config.GRID_IMPORT_MAX_MB + 2) * MEGABYTE },
      async (request, reply) => {
        const outcome = await createJob(app, request)
        const { replayed } = outcome
        if (replayed) reply.header('idempotent-replayed', 'true')
        const location = replayed?.headers['location'] ?? jobPath(outcome.id)
        return reply.code(202).header('location', location).type(JSON_TYPE).send(outcome.body)
      },
    )
  })

  app.get<PageQuery>('/sdis/jobs', docs.listJobs, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, state = null } = request.query
    const page = paging(app.store, ['jobs', state ?? ''], cursor)
    const jobs = await listJobs(app.db, org_id, { state, before: page.after, limit: limit + 1 })
    return sendPage(
      reply,
      page.of(jobs.map(jobView), limit, (_, i) => String(jobs[i]?.id)),
    )
  })

  app.get<JobParams>('/sdis/jobs/:id', docs.getJob, async (request) =>
    jobView(await getJob(app.db, request.caller.org_id, pathId('job', request.params.id))),
  )

  app.get<JobParams & PageQuery>(
    '/sdis/jobs/:id/errors',
    docs.listJobErrors,
    async (request, reply) => {
      const { org_id } = request.caller
      const id = pathId('job', request.params.id)
      await getJob(app.db, org_id, id)
      const { limit, cursor } = request.query
      const page = paging(app.store, ['errors', String(id)], cursor)
      const rows = await listErrors(app.db, org_id, id, page.after ?? 0, limit + 1)
      return sendPage(
        reply,
        page.of(
          rows.map(({ n: _, ...row }) => row),
          limit,
          (_, i) => String(rows[i]?.n),
        ),
      )
    },
  )

  app.get<JobParams & PageQuery>(
    '/sdis/jobs/:id/facts',
    docs.listJobFacts,
    async (request, reply) => {
      const { org_id } = request.caller
      const id = pathId('job', request.params.id)
      await getJob(app.db, org_id, id)
      const { limit, cursor } = request.query
      const page = paging(app.store, ['facts', String(id)], cursor)
      const facts = await factsOfJob(app.store, org_id, id, page.values, limit + 1)
      return sendPage(
        reply,
        page.of(
          facts.map(({ view }) => view),
          limit,
          (_, i) => facts[i]?.position ?? '',
        ),
      )
    },
  )

  app.post<JobParams>('/sdis/jobs/:id/cancel', docs.cancelJob, async (request) =>
    jobView(await cancelJob(app.db, request.caller.org_id, pathId('job', request.params.id))),
  )
  app.delete<JobParams>('/sdis/jobs/:id', docs.deleteJob, async (request) =>
    jobView(await cancelJob(app.db, request.caller.org_id, pathId('job', request.params.id))),
  )
  app.post<JobParams>('/sdis/jobs/:id/approve', docs.approveJob, async (request) =>
    jobView(await approveJob(app.db, request.caller.org_id, pathId('job', request.params.id))),
  )
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
  const { fields, metadata, file } = await receive(
    request.parts() as AsyncIterable<FormPart>,
    spool,
    key,
    max,
    ['adapter'],
  )
  try {
    if (Object.keys(metadata).length > 0) fields.set('metadata', [''])
    const { document, adapter, as_of } = readForm(fields, app.store, caller)
    await requireReferences(app.store, caller.org_id, adapter)
    const idempotency = idempotencyKey(request)
    const write: WriteRequest = {
      ...requestOf(caller, request.id),
      idempotency: idempotency
        ? {
            key: idempotency,
            route: 'POST /sdis/jobs',
            fingerprint: fingerprintOf([document, as_of, file.sha256]),
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
