/** Jobs over HTTP: started with a file or with data, listed, followed to their end. */
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { discardRest, FORM_LIMITS, receiveFrom } from '../documents/index.ts'
import type { FormPart } from '../documents/index.ts'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { fingerprintOf } from '../kit/idempotency.ts'
import { pathId } from '../kit/ids.ts'
import { once, rowsIn } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import {
  idempotencyKey,
  sendAnswered,
  sendPage,
  sendReplayed,
  writeRequest,
} from '../kit/routes.ts'
import { validate } from '../kit/validate.ts'
import { requestOf } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import * as docs from './docs.ts'
import { takeInput } from './input.ts'
import type { Input } from './input.ts'
import { listJobs } from './job-queries.ts'
import { jobView } from './jobs.ts'
import { limitsOf } from './limits.ts'
import { dayOfFile, formGiven, readAsked } from './request.ts'
import type { Asked, Given } from './request.ts'
import { JOB_SCHEMA } from './request-schema.ts'
import { resultRoutes } from './result-routes.ts'
import {
  approveJob,
  cancelJob,
  enqueue,
  getJob,
  importSpool,
  jobFileKey,
  jobPath,
  requireReferences,
} from './service.ts'
import type { JobRequest } from './service.ts'

const MEGABYTE = 1024 * 1024

export interface JobParams {
  Params: { id: string }
}

interface ListRequest {
  Querystring: { limit: number; cursor?: string; state?: string }
}

export async function sdisRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (form) => {
    await form.register(multipart, { limits: FORM_LIMITS, throwFileSizeLimit: false })
    form.addHook('onError', (request, _reply, _error, done) => {
      discardRest(request.raw)
      done()
    })
    // Of JSON; files in forms have a limit of their own.
    const bodyLimit = limitsOf(app.config).inline_bytes + MEGABYTE
    form.post('/sdis/jobs', { ...docs.createJob, bodyLimit }, async (request, reply) => {
      const outcome = await createJob(app, request)
      const { replayed } = outcome
      if (replayed) return sendReplayed(reply, replayed)
      const location = jobPath(outcome.id)
      return reply.code(202).header('location', location).type(JSON_TYPE).send(outcome.body)
    })
  })
  app.get<ListRequest>('/sdis/jobs', docs.listJobs, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, state = null } = request.query
    const page = paging(app.store, org_id, ['jobs', state ?? ''], cursor)
    const jobs = await listJobs(app.db, org_id, { state, before: page.after, limit: limit + 1 })
    return sendPage(
      reply,
      page.of(jobs.map(jobView), limit, (_, i) => String(jobs[i]?.id)),
    )
  })
  moveRoutes(app)
  await resultRoutes(app)
}

function moveRoutes(app: FastifyInstance): void {
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

async function createJob(
  app: FastifyInstance,
  request: FastifyRequest,
): ReturnType<typeof enqueue> {
  if (request.isMultipart()) return await createFromForm(app, request)
  if (request.body !== undefined) return await createFromJson(app, request)
  throw new ApiError(
    'unsupported_media_type',
    'Send multipart/form-data with the parts adapter and file, or JSON.',
  )
}

async function createFromForm(
  app: FastifyInstance,
  request: FastifyRequest,
): ReturnType<typeof enqueue> {
  const { caller } = request
  const [id] = (await app.db.ids(1)) as [number]
  const key = jobFileKey(caller.org_id, id)
  const spool = importSpool(app.config.GRID_DATA_DIR)
  const max = limitsOf(app.config).file_bytes
  const parts = request.parts() as AsyncIterable<FormPart>
  const { fields, metadata, file } = await receiveFrom(request.raw, parts, spool, key, max, [
    'adapter',
  ])
  try {
    if (Object.keys(metadata).length > 0) fields.set('metadata', [''])
    const issues: Issue[] = []
    const given = formGiven(fields, issues)
    const asked = await readAsked(given, app.store, caller, issues)
    const { filename: name, path, byte_size, sha256 } = file
    return await accept(app, request, given, asked, {
      id,
      adapter: asked.adapter,
      file: { name, path, byte_size, sha256 },
    })
  } catch (error) {
    await spool.drop(key)
    throw error
  }
}

async function createFromJson(
  app: FastifyInstance,
  request: FastifyRequest,
): ReturnType<typeof enqueue> {
  const issues = validate(JOB_SCHEMA, request.body)
  if (issues.length > 0) throw invalid(issues)
  const given = request.body as Given & { input?: Input }
  const asked = await readAsked(given, app.store, request.caller)
  const [id] = (await app.db.ids(1)) as [number]
  const spool = importSpool(app.config.GRID_DATA_DIR)
  try {
    const taken = await takeInput(app, request.caller, id, asked.adapter, given.input)
    return await accept(app, request, given, asked, { id, ...taken })
  } catch (error) {
    await spool.drop(jobFileKey(request.caller.org_id, id))
    throw error
  }
}

/** Queues the job; the file of a repeated request is not needed. */
async function accept(
  app: FastifyInstance,
  request: FastifyRequest,
  given: Given,
  { as_of: asked, dry_run, options }: Asked,
  taken: Pick<JobRequest, 'id' | 'adapter' | 'file'>,
): ReturnType<typeof enqueue> {
  const { caller } = request
  await requireReferences(app.store, caller.org_id, taken.adapter)
  const named = given.as_of === undefined && taken.file.byte_size > 0
  const day = named ? await dayOfFile(taken.file.path, taken.adapter, caller) : null
  const as_of = day ?? asked
  const key = idempotencyKey(request)
  const { adapter, version = null } = given
  const same = [adapter, as_of, taken.file.sha256]
  const more = dry_run || version !== null || Object.keys(options).length > 0
  const write: WriteRequest = {
    ...requestOf(caller, request.id),
    idempotency: key
      ? {
          key,
          route: 'POST /sdis/jobs',
          fingerprint: fingerprintOf(more ? [...same, dry_run, version, options] : same),
        }
      : undefined,
  }
  const wanted = { ...taken, as_of, dry_run, options }
  const outcome = await enqueue(app.store, write, caller, wanted, limitsOf(app.config))
  if (outcome.replayed)
    await importSpool(app.config.GRID_DATA_DIR).drop(jobFileKey(caller.org_id, taken.id))
  return outcome
}
