/** What jobs leave behind, over HTTP, and what follows from it: replay and undo. */
import { Readable } from 'node:stream'
import { basename } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalid, notFound } from '../kit/errors.ts'
import { pathId, publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answer, Answered } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import type { Row } from '../kit/resource.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import { validate } from '../kit/validate.ts'
import { factsWhere } from '../truth/index.ts'
import { listDiffRows } from './diff-queries.ts'
import { listJobFacts } from './docs.ts'
import type { EffectAction } from './effects.ts'
import { errorLines } from './error-file.ts'
import { listErrors, setErrorState } from './error-queries.ts'
import type { ErrorState } from './error-queries.ts'
import * as following from './following-docs.ts'
import { jobView } from './jobs.ts'
import type { Job } from './jobs.ts'
import { limitsOf, limitsView } from './limits.ts'
import { queueReplay, replayAdapter, requireReplayable, writeReplay } from './replay.ts'
import { adapterGiven } from './request.ts'
import { REPLAY_SCHEMA } from './request-schema.ts'
import * as docs from './result-docs.ts'
import type { JobParams } from './routes.ts'
import { runEventsOf } from './run-event-queries.ts'
import {
  getJob,
  importSpool,
  jobFileKey,
  jobPath,
  queueUndo,
  requireReferences,
} from './service.ts'
import { JobStreams } from './stream.ts'

const MEGABYTE = 1024 * 1024

interface PageQuery extends JobParams {
  Querystring: {
    limit: number
    cursor?: string
    status?: ErrorState
    format?: string
    action?: EffectAction
  }
}

interface ReplayBody {
  adapter?: string | Row
  version?: number
  rows?: string | Row[]
}

export async function resultRoutes(app: FastifyInstance): Promise<void> {
  app.get('/sdis/limits', following.getLimits, async ({ caller }) =>
    limitsView(app.db, caller.org_id, limitsOf(app.config)),
  )
  errorRoutes(app)
  readRoutes(app)
  streamRoute(app)
  app.post<JobParams>('/sdis/jobs/:id/undo', docs.undoJob, async (request, reply) => {
    const { caller } = request
    const undone = await getJob(app.db, caller.org_id, pathId('job', request.params.id))
    const [id] = (await app.db.ids(1)) as [number]
    const write = writeRequest(request)
    const limits = limitsOf(app.config)
    const answered = await once(app.store, write, async (tx) =>
      accepted(await queueUndo(tx, id, undone, write.actor, limits)),
    )
    return sendAnswered(reply, answered)
  })
  await app.register(async (scope) => {
    for (const type of ['text/csv', 'application/x-ndjson'])
      scope.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => {
        done(null, { rows: body })
      })
    const bodyLimit = limitsOf(app.config).inline_bytes + MEGABYTE
    scope.post<JobParams & { Body: ReplayBody | undefined }>(
      '/sdis/jobs/:id/replay',
      { ...docs.replayJob, bodyLimit },
      async (request, reply) => sendAnswered(reply, await replay(app, request)),
    )
  })
}

function accepted(job: Job): Answer {
  const headers = { location: jobPath(job.id) }
  return { status: 202, headers, body: JSON.stringify(jobView(job)) }
}

function errorRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/sdis/jobs/:id/errors', docs.listJobErrors, async (request, reply) => {
    const { org_id } = request.caller
    const id = pathId('job', request.params.id)
    await getJob(app.db, org_id, id)
    const { limit, cursor, status = null, format } = request.query
    if (format === 'csv') return sendTable(reply, id, errorLines(app.db, org_id, id, status))
    const page = paging(app.store, org_id, ['errors', String(id), status ?? ''], cursor)
    const filter = { status, after: page.after ?? 0, limit: limit + 1 }
    const errors = await listErrors(app.db, org_id, id, filter)
    return sendPage(
      reply,
      page.of(errors, limit, (row) => String(row['n'])),
    )
  })
  app.patch<{ Params: { id: string; n: string }; Body: { status: ErrorState } }>(
    '/sdis/jobs/:id/errors/:n',
    docs.patchJobError,
    async ({ caller: { org_id }, params, body }) => {
      const id = pathId('job', params.id)
      await getJob(app.db, org_id, id)
      const n = /^[0-9]{1,15}$/.test(params.n) ? Number(params.n) : null
      if (n === null) {
        const message = 'must be the number of an error'
        throw invalid([{ field: 'n', code: 'invalid_format', message }])
      }
      const error = await setErrorState(app.db, org_id, id, n, body.status)
      if (!error) throw notFound(`Error ${n} of job_${id}`)
      return error
    },
  )
}

function sendTable(reply: FastifyReply, id: number, lines: AsyncGenerator<string>): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="job_${id}-errors.csv"`)
    .send(Readable.from(lines))
}

function readRoutes(app: FastifyInstance): void {
  app.get<PageQuery>('/sdis/jobs/:id/facts', listJobFacts, async (request, reply) => {
    const { org_id } = request.caller
    const id = pathId('job', request.params.id)
    await getJob(app.db, org_id, id)
    const { limit, cursor } = request.query
    const page = paging(app.store, org_id, ['facts', String(id)], cursor)
    const found = await factsWhere(app.store, org_id, { job_id: id }, page.values, limit + 1)
    const views = found.map(({ view }) => view)
    return sendPage(
      reply,
      page.of(views, limit, (_, i) => found[i]?.position ?? ''),
    )
  })
  app.get<PageQuery>('/sdis/jobs/:id/diff', docs.getJobDiff, async (request) => {
    const { org_id } = request.caller
    const id = pathId('job', request.params.id)
    const job = await getJob(app.db, org_id, id)
    const { limit, cursor, action = null } = request.query
    const page = paging(app.store, org_id, ['diff', String(id), action ?? ''], cursor)
    if (!job.diff) throw notFound(`A diff of job_${id}`)
    const filter = { action, after: page.after ?? 0, limit: limit + 1 }
    const found = await listDiffRows(app.db, org_id, id, filter)
    const { data, has_more, next_cursor } = page.of(
      found.map(({ view }) => view),
      limit,
      (_, i) => found[i]?.position ?? '',
    )
    const { diff: summary, diff_hash: hash } = job
    const job_id = publicId('job', id)
    return { object: 'list', job_id, hash, summary, data, has_more, next_cursor }
  })
  app.get<JobParams>('/sdis/jobs/:id/lineage', following.listRunEvents, async (request) => {
    const { org_id } = request.caller
    const id = pathId('job', request.params.id)
    await getJob(app.db, org_id, id)
    return { object: 'list', data: await runEventsOf(app.db, org_id, id) }
  })
}

function streamRoute(app: FastifyInstance): void {
  const stopping = new AbortController()
  const streams = new JobStreams(app.db, stopping.signal)
  app.addHook('preClose', (done) => {
    stopping.abort()
    done()
  })
  app.get<JobParams>('/sdis/jobs/:id/stream', following.streamJob, async (request, reply) => {
    const { org_id } = request.caller
    const id = pathId('job', request.params.id)
    await getJob(app.db, org_id, id)
    return reply
      .type('text/event-stream; charset=utf-8')
      .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(Readable.from(streams.take(org_id, id)))
  })
}

async function replay(
  app: FastifyInstance,
  request: FastifyRequest<JobParams & { Body: ReplayBody | undefined }>,
): Promise<Answered> {
  const { caller, body = {} } = request
  const issues = validate(REPLAY_SCHEMA, body)
  if (issues.length > 0) throw invalid(issues)
  const parent = await getJob(app.db, caller.org_id, pathId('job', request.params.id))
  requireReplayable(parent)
  const given = body.adapter
    ? await adapterGiven(app.store, caller, body.adapter, body.version)
    : parent.adapter
  const adapter = replayAdapter(given)
  await requireReferences(app.store, caller.org_id, adapter)
  const [id] = (await app.db.ids(1)) as [number]
  const spool = importSpool(app.config.GRID_DATA_DIR)
  const limits = limitsOf(app.config)
  const rows = body.rows ?? null
  try {
    const written = await writeReplay(app.store, spool, parent, id, adapter, rows, limits)
    const write = writeRequest(request)
    const child = { id, adapter, file_key: basename(written.file.path) }
    const answered = await once(app.store, write, async (tx) =>
      accepted(await queueReplay(tx, parent, child, written, write.actor, limits)),
    )
    if (answered.replayed) await spool.drop(jobFileKey(caller.org_id, id))
    return answered
  } catch (error) {
    await spool.drop(jobFileKey(caller.org_id, id))
    throw error
  }
}
