import type { FastifyInstance } from 'fastify'
import { limitsOf } from '../http/limits.ts'
import type { JsonSchema } from '../kit/field.ts'
import { PLAN_NAMES, PLANS, scopesOf } from '../kit/plans.ts'
import type { Row } from '../kit/resource.ts'
import { sendPage } from '../kit/routes.ts'
import { listSchema } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'

const limit = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  description,
  examples: [example],
})

const requests: JsonSchema = {
  type: 'object',
  description: 'Requests per minute.',
  properties: {
    per_key: limit('Of each key.', 3_000),
    per_organization: limit('Of all keys together.', 12_000),
  },
  required: ['per_key', 'per_organization'],
}

const planSchema: JsonSchema = {
  title: 'Plan',
  type: 'object',
  description: 'What an organization of this plan can have on this installation.',
  properties: {
    name: { type: 'string', description: 'Name of the plan.', examples: ['professional'] },
    title: { type: 'string', description: 'The same for people.', examples: ['Professional'] },
    description: { type: 'string', description: 'For whom it is.' },
    requests_per_minute: requests,
    sandbox_requests_per_minute: { ...requests, description: 'The same of its sandboxes.' },
    scopes: {
      type: 'array',
      items: { type: 'string' },
      description: 'Scopes its keys can hold.',
      examples: [['read:leases']],
    },
  },
  required: ['name', 'title', 'description', 'requests_per_minute', 'scopes'],
}

const listDocs: RouteDocs = {
  config: { scope: 'public' },
  schema: {
    operationId: 'listPlans',
    summary: 'List plans',
    description: 'The plans with their limits, as this installation has them, and their scopes.',
    tags: ['plans'],
    response: { 200: listSchema(planSchema, 'PlanList') },
    parameters: [],
    problems: [422],
  },
}

export function planRoutes(app: FastifyInstance): void {
  app.get('/plans', listDocs, (_request, reply) => {
    const data = PLAN_NAMES.map((name): Row => {
      const { title, description } = PLANS[name]
      return {
        name,
        title,
        description,
        requests_per_minute: limitView(app, name, 'production'),
        sandbox_requests_per_minute: limitView(app, name, 'sandbox'),
        scopes: scopesOf(name),
      }
    })
    return sendPage(reply, { data, has_more: false, next_cursor: null, total_count: null })
  })
}

function limitView(
  { config }: FastifyInstance,
  plan: string,
  environment: 'production' | 'sandbox',
): Row {
  const { per_key, per_organization } = limitsOf(config, { plan, environment })
  return { per_key, per_organization }
}
