import type { FastifyInstance } from 'fastify'
import { invalid, notFound } from '../../../kit/errors.ts'
import { JSON_TYPE } from '../../../kit/object-routes.ts'
import { sendPage } from '../../../kit/routes.ts'
import { getTemplate, listTemplates } from './docs.ts'
import { TEMPLATES } from './templates.ts'

export function templateRoutes(app: FastifyInstance): void {
  app.get('/sdis/adapters/templates', listTemplates, async (_request, reply) => {
    const data = TEMPLATES.map(({ id, system, kind, title, description }) => {
      return { id, object: 'adapter_template', system, kind, title, description }
    })
    return sendPage(reply, { data, has_more: false, next_cursor: null, total_count: null })
  })

  app.get<{ Params: { id: string } }>(
    '/sdis/adapters/templates/:id',
    getTemplate,
    async (request, reply) => {
      const { id } = request.params
      if (!/^tpl_[a-z0-9-]+$/.test(id)) {
        const message = `must look like tpl_yardi-rent-roll, got '${id}'`
        throw invalid([{ field: 'id', code: 'invalid_id', message }])
      }
      const template = TEMPLATES.find((one) => one.id === id)
      if (!template) throw notFound(`Template ${id}`)
      const body = JSON.stringify({ ...template, object: 'adapter_template' })
      return reply.type(JSON_TYPE).send(body)
    },
  )
}
