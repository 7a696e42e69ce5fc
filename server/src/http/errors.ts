/** The only place that builds a problem body (RFC 9457). */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DatabaseError } from 'pg'
import { ApiError } from '../kit/errors.ts'
import type { Caller } from '../kit/types.ts'

export function errors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const known = asApiError(error, request)
    if (known.status >= 500)
      request.log.error({ err: known.cause ?? error, request_id: request.id }, known.message)
    return sendProblem(request, reply, known)
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] as string
    const allowed = methodsOf(app, path).filter((method) => method !== request.method)
    if (allowed.length === 0) {
      return sendProblem(
        request,
        reply,
        new ApiError('not_found', `There is no ${request.method} ${path}.`),
      )
    }
    reply.header('allow', allowed.join(', '))
    const detail = `${path} takes ${allowed.join(', ')}, not ${request.method}.`
    return sendProblem(request, reply, new ApiError('method_not_allowed', detail))
  })
}

/** The methods a path takes. Where one route names it and another has a parameter there, it is that of the first. */
function methodsOf(app: FastifyInstance, path: string): string[] {
  const found = (['GET', 'POST', 'PATCH', 'DELETE'] as const).flatMap((method) => {
    const route = app.findRoute({ url: path, method })
    return route ? [{ method, parameters: Object.keys(route.params).length }] : []
  })
  const fewest = Math.min(...found.map(({ parameters }) => parameters))
  return found.filter(({ parameters }) => parameters === fewest).map(({ method }) => method)
}

/** A path that cannot be decoded is refused before any hook runs. */
export function unreadable(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  void sendProblem(request, reply.header('x-request-id', request.id), asApiError(error, request))
}

export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ApiError,
): FastifyReply {
  request.problem = error.code
  if (error.status === 401) reply.header('www-authenticate', 'Bearer')
  const { retry_after_s } = error.extra
  if (typeof retry_after_s === 'number') reply.header('retry-after', String(retry_after_s))
  const body = {
    type: `/errors/${error.code}`,
    title: error.title,
    status: error.status,
    code: error.code,
    detail: error.message,
    instance: request.url.split('?')[0],
    request_id: request.id,
    ...error.extra,
  }
  return reply
    .code(error.status)
    .type('application/problem+json; charset=utf-8')
    .send(JSON.stringify(body))
}

/** Which types the endpoint takes. Those that take files say so themselves. */
function mediaTypes({ method, headers }: FastifyRequest): string {
  const patch = method === 'PATCH' ? ' or application/merge-patch+json' : ''
  const sent = headers['content-type']
  return `Send the body as application/json${patch}${sent ? `, not as ${sent}` : ''}.`
}

function isRestricted({ caller }: FastifyRequest): boolean {
  return (caller as Caller | null)?.property_ids !== null
}

/** What the pipeline and the pool say when the database is gone. */
const LOST = /database (closed|connections)|Connection terminated|ECONNREFUSED/

/** Framework and database errors in our words; anything unknown is a 500 whose cause only the log sees. */
function asApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error
  const { code, message } = error as FastifyError
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('unsupported_media_type', mediaTypes(request))
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
    case 'FST_REQ_FILE_TOO_LARGE':
      return new ApiError('payload_too_large', message)
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new ApiError('malformed_json', 'The body is empty.')
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new ApiError('malformed_json', message)
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
      return new ApiError('bad_request', message)
    case undefined:
    default:
  }
  if (error instanceof SyntaxError && (error as FastifyError).statusCode === 400) {
    return new ApiError('malformed_json', message)
  }
  // The database keeps a key of some properties from all others: a write outside of them ends here.
  if (error instanceof DatabaseError && error.code === '42501' && isRestricted(request)) {
    const detail = 'The key is restricted to some properties; this lies outside of them.'
    return new ApiError('property_restricted', detail, {}, error)
  }
  if (error instanceof DatabaseError && /^(57014|57P|53)/.test(error.code ?? '')) {
    return new ApiError(
      'unavailable',
      'The database is too busy or about to stop; try again.',
      {},
      error,
    )
  }
  if (error instanceof Error && LOST.test(message)) {
    return new ApiError('unavailable', 'The database is not reachable; try again.', {}, error)
  }
  return new ApiError(
    'internal',
    'The request failed on our side; quote the request id.',
    {},
    error,
  )
}
