/** Is the process up, and can it do its work? For supervisors and load balancers, without a key. */
import type { FastifyInstance } from 'fastify'
import type { Db } from '../db/db.ts'
import { ApiError } from '../kit/errors.ts'
import { sendProblem } from './errors.ts'
import type { JsonSchema } from '../kit/field.ts'
import type { RouteDocs } from '../kit/schemas.ts'

/** A database that takes longer to say anything cannot serve requests. */
const READY_MS = 1_000

export function health(app: FastifyInstance): void {
  const ready = readiness(app.db)
  app.get('/health/live', docs('getLive', 'Is the process up?', 'live'), () => ({ status: 'live' }))
  const networks = app.config.GRID_WEBHOOK_ALLOW_CIDRS
  // Whoever looks after the service is to see that its webhooks reach further than usual.
  const answer = { status: 'ready', ...(networks.length > 0 ? { webhook_networks: networks } : {}) }
  let wasReady = true
  app.get(
    '/health/ready',
    docs('getReady', 'Can it serve requests?', 'ready', NETWORKS),
    async (request, reply) => {
      const isReady = await ready()
      // A probe asks every few seconds: the log tells when the answer changes, not each time.
      if (isReady !== wasReady) {
        if (isReady) app.log.warn('ready again: the database answers')
        else app.log.error('not ready: the database does not answer')
      }
      wasReady = isReady
      if (isReady) return answer
      const detail = `The database did not answer within ${READY_MS} ms.`
      return sendProblem(request, reply, new ApiError('unavailable', detail))
    },
  )
}

/** Asks the database for a sign of life. However often it is called, one question is on its way. */
export function readiness(db: Db): () => Promise<boolean> {
  let asked: Promise<boolean> | null = null
  return async () => {
    asked ??= db
      .flyControl('select 1', [])
      .then(
        () => true,
        () => false,
      )
      .finally(() => (asked = null))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), READY_MS)
    })
    const answer = await Promise.race([asked, late])
    clearTimeout(timer)
    return answer
  }
}

const NETWORKS: Record<string, JsonSchema> = {
  webhook_networks: {
    type: 'array',
    items: { type: 'string' },
    description:
      'Networks that are not public and that webhooks may reach all the same; only where the operator allows some.',
    examples: [['10.1.0.0/16']],
  },
}

function docs(
  operationId: string,
  summary: string,
  status: string,
  more: Record<string, JsonSchema> = {},
): RouteDocs {
  const response: JsonSchema = {
    type: 'object',
    description: 'It is.',
    properties: {
      status: { type: 'string', const: status, description: `Always ${status}.` },
      ...more,
    },
  }
  return {
    config: { scope: 'public' },
    schema: {
      operationId,
      summary,
      description: 'Answers at once; no key is needed.',
      tags: ['health'],
      response: { 200: response },
      parameters: [],
      problems: [503],
    },
  }
}
