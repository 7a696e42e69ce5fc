import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pathId } from '../kit/ids.ts'
import type { Answered } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import type { Row } from '../kit/resource.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import * as docs from './docs.ts'
import { listTasks } from './queries.ts'
import {
  askFor,
  awaited,
  clockArgs,
  getTask,
  requireSandbox,
  seedArgs,
  stateOf,
} from './service.ts'
import { hasEnded, taskView } from './tasks.ts'
import type { TaskArgs } from './tasks.ts'

/** The portfolio that a sandbox gets who asks for no other: that of the first start. */
const SEED = 11

type SeedBody = Partial<TaskArgs['seed']> &
  Pick<TaskArgs['seed'], 'portfolio'> & { replace?: boolean }

export function sandboxRoutes(app: FastifyInstance): void {
  app.get('/sandbox', docs.getSandbox, async (request) => await stateOf(app.db, request.caller))
  taskRoutes(app)
  app.post('/sandbox/reset', docs.reset, async (request, reply) => {
    requireSandbox(request.caller)
    const asked = await askFor(app.store, writeRequest(request), 'reset', async () => ({}))
    return await sendTask(app, request, reply, asked)
  })
  app.post<{ Body: SeedBody }>('/sandbox/seed', docs.seed, async (request, reply) => {
    requireSandbox(request.caller)
    const { portfolio, size = 's', seed = SEED, replace = false } = request.body
    const { org_id } = request.caller
    const asked = await askFor(app.store, writeRequest(request), 'seed', async (db) =>
      seedArgs(db, org_id, { portfolio, size, seed, replace }),
    )
    return await sendTask(app, request, reply, asked)
  })
  app.post<{ Body: { advance_days: number } }>(
    '/sandbox/clock',
    docs.clock,
    async (request, reply) => {
      requireSandbox(request.caller)
      const { advance_days } = request.body
      const { org_id } = request.caller
      const asked = await askFor(app.store, writeRequest(request), 'clock', async (db) =>
        clockArgs(db, org_id, advance_days),
      )
      return await sendTask(app, request, reply, asked)
    },
  )
}

function taskRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/sandbox/tasks',
    docs.listTasks,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['sandbox_tasks'], cursor)
      const tasks = await listTasks(app.db, org_id, page.after, limit + 1)
      return sendPage(
        reply,
        page.of(tasks.map(taskView), limit, (_, i) => String(tasks[i]?.id)),
      )
    },
  )
  app.get<{ Params: { id: string } }>('/sandbox/tasks/:id', docs.getTask, async (request) =>
    taskView(await getTask(app.db, request.caller.org_id, pathId('sbt', request.params.id))),
  )
}

/** Answers with the ended task where the client can wait for it. */
async function sendTask(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Answered,
): Promise<FastifyReply> {
  const asynchronous = /\brespond-async\b/i.test(String(request.headers['prefer'] ?? ''))
  if (asynchronous || asked.replayed) return sendAnswered(reply, asked)
  const { id } = JSON.parse(asked.answer.body) as Row
  const task = await awaited(app.db, request.caller.org_id, pathId('sbt', String(id)))
  if (!hasEnded(task)) return sendAnswered(reply, asked)
  return reply
    .code(200)
    .type(JSON_TYPE)
    .send(JSON.stringify(taskView(task)))
}
