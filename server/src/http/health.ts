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
  let wasReady = true
  app.get(
    '/health/ready',
    docs('getReady', 'Can it serve requests?', 'ready'),
    async (request, reply) => {
      const isReady = await ready()
      // A probe asks every few seconds: the log tells when the answer changes, not each time.
      if (isReady !== wasReady) {
        if (isReady) app.log.warn('ready again: the database answers')
        else app.log.error('not ready: the database does not answer')
      }
      wasReady = isReady
      if (isReady) return { status: 'ready' }
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

function docs(operationId: string, summary: string, status: string): RouteDocs {
  const response: JsonSchema = {
    type: 'object',
    description: 'It is.',
    properties: { status: { type: 'string', const: status, description: `Always ${status}.` } },
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
