import type { FastifyInstance, FastifyReply } from 'fastify'
import { etagOf } from '../../kit/etags.ts'
import { notFound } from '../../kit/errors.ts'
import { pathId, publicId } from '../../kit/ids.ts'
import { once } from '../../kit/once.ts'
import { paging } from '../../kit/paging.ts'
import { JSON_TYPE } from '../../kit/object-routes.ts'
import { ifMatch, sendAnswered, sendPage, writeRequest } from '../../kit/routes.ts'
import { requestOf } from '../../kit/write.ts'
import * as docs from './schedule-docs.ts'
import { deleteSchedule, findSchedule, listSchedules, lockSchedule } from './schedule-queries.ts'
import { changeSchedule, createSchedule, scheduleView, tellOf } from './schedules.ts'
import type { Schedule, ScheduleBody } from './schedules.ts'

interface IdParams {
  Params: { id: string }
}

export function scheduleRoutes(app: FastifyInstance): void {
  app.post<{ Body: Required<Pick<ScheduleBody, 'adapter' | 'cron'>> & ScheduleBody }>(
    '/sdis/schedules',
    docs.createSchedule,
    async (request, reply) => {
      const write = writeRequest(request)
      const [id] = (await app.db.ids(1)) as [number]
      const answered = await once(app.store, write, async (tx) => {
        const zone = request.caller.time_zone
        const made = await createSchedule(tx, app.store, { ...write, id }, request.body, zone)
        const headers = { location: `/api/v1/sdis/schedules/sch_${id}`, etag: etagOf(1) }
        return { status: 201, headers, body: JSON.stringify(scheduleView(made)) }
      })
      return sendAnswered(reply, answered)
    },
  )

  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/sdis/schedules',
    docs.listSchedules,
    async (request, reply) => {
      const { org_id } = request.caller
      const { limit, cursor } = request.query
      const page = paging(app.store, org_id, ['schedules'], cursor)
      const found = await listSchedules(app.db, org_id, { before: page.after, limit: limit + 1 })
      return sendPage(
        reply,
        page.of(found.map(scheduleView), limit, (_, i) => String(found[i]?.id)),
      )
    },
  )
  single(app)
}

function single(app: FastifyInstance): void {
  app.get<IdParams>('/sdis/schedules/:id', docs.getSchedule, async (request, reply) => {
    const id = pathId('sch', request.params.id)
    const found = await findSchedule(app.db, request.caller.org_id, id)
    if (!found) throw notFound(`Schedule ${publicId('sch', id)}`)
    return send(reply, found)
  })

  app.patch<IdParams & { Body: ScheduleBody }>(
    '/sdis/schedules/:id',
    docs.patchSchedule,
    async (request, reply) => {
      const { org_id, actor } = requestOf(request.caller, request.id)
      const of = { org_id, actor, id: pathId('sch', request.params.id) }
      const after = await app.db.transaction(
        org_id,
        async (tx) => await changeSchedule(tx, app.store, of, request.body, ifMatch(request)),
      )
      return send(reply, after)
    },
  )

  app.delete<IdParams>('/sdis/schedules/:id', docs.deleteSchedule, async (request, reply) => {
    const { org_id, actor } = requestOf(request.caller, request.id)
    const id = pathId('sch', request.params.id)
    await app.db.transaction(org_id, async (tx) => {
      const found = await lockSchedule(tx, org_id, id)
      if (!found) throw notFound(`Schedule ${publicId('sch', id)}`)
      await deleteSchedule(tx, org_id, id)
      await tellOf(tx, actor, 'schedule.deleted', found)
    })
    return reply.code(204).send()
  })
}

function send(reply: FastifyReply, schedule: Schedule): FastifyReply {
  const body = JSON.stringify(scheduleView(schedule))
  return reply.header('etag', etagOf(schedule.version)).type(JSON_TYPE).send(body)
}
