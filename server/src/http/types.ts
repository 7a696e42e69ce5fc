import type { Egress } from '../egress.ts'
import type { Secrets } from '../secrets.ts'
import type { Keys } from './auth.ts'
import type { Limiter } from './limiter.ts'
import type { Documented } from './openapi-document.ts'
import type { RequestCounts } from './metrics.ts'
import type { RequestLog } from './request-log.ts'
import type { Throttle } from './throttle.ts'
import type { Caller } from '../kit/types.ts'
import type { Walk } from '../kit/routes.ts'
import type { Store } from '../kit/store.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Db } from '../db/db.ts'
import type { Config } from '../config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    db: Db
    store: Store
    keys: Keys
    secrets: Secrets
    egress: Egress
    /** The way to sources that tenants name. */
    sourceEgress: Egress
    limiter: Limiter
    /** For addresses that try keys and secrets that are not known. */
    throttle: Throttle
    routes: Documented[]
    requestLog: RequestLog
    requestCounts: RequestCounts
    /** The OpenAPI document as text. */
    openapi: () => string
  }
  interface FastifyRequest {
    /** Who calls; set by http/auth.ts on every route that is not public. */
    caller: Caller

    /** Problem code of the answer, for the request log. */
    problem: string | null

    /** Set while the pages of a list are read for a table; see http/tables.ts. */
    walk: Walk | null
  }
  interface FastifyContextConfig {
    scope?: RouteDocs['config']['scope']
    /** Where a public route needs a key for what this request asks of it. */
    scopeFor?: (request: FastifyRequest) => Scope | null
    /** A limit of its own, declared with `smallLimit`. */
    limit?: string
  }
  interface FastifySchema {
    operationId?: string
    summary?: string
    description?: string
    tags?: string[]
    parameters?: RouteDocs['schema']['parameters']
    problems?: number[]
    /** Documentation of a body that the route reads itself, such as a form. */
    requestBody?: unknown
  }
}
