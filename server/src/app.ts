/** The whole HTTP pipeline: what a request passes, in order. */
import { createSecretKey, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import Fastify, { LogController } from 'fastify'
import type { FastifyInstance } from 'fastify'
import { oauthMetadata } from './apps/oauth-routes.ts'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import { storageOf } from './documents/storage.ts'
import { eventHooks } from './events/catalogue.ts'
import { Egress } from './egress.ts'
import { written } from './events/wake.ts'
import { features, rollups } from './features.ts'
import { auth, Keys } from './http/auth.ts'
import { errors, unreadable } from './http/errors.ts'
import { health } from './http/health.ts'
import { ledgerOf } from './http/ledger.ts'
import { Limiter } from './http/limiter.ts'
import { limits } from './http/limits.ts'
import { RequestCounts } from './http/metrics.ts'
import { openapi, refuseUndocumented } from './http/openapi.ts'
import { RequestLog, requestLog } from './http/request-log.ts'
import { tables } from './http/tables.ts'
import { Throttle } from './http/throttle.ts'
import './http/types.ts'
import { KeyWatch } from './keys/watch.ts'
import { invalid } from './kit/errors.ts'
import type { JsonSchema } from './kit/field.ts'
import { validate } from './kit/validate.ts'
import { referenceRoutes } from './reference/routes.ts'
import { registry } from './resources.ts'
import { secretsOf } from './secrets.ts'
import { tags } from './tags.ts'
import { flushCounts } from './usage/service.ts'

/** Largest JSON body, in bytes. Files have limits of their own. */
const BODY_MAX = 1024 * 1024

export async function buildApp(config: Config, db: Db): Promise<FastifyInstance> {
  const app = server(config)
  const keys = new Keys(db)
  const limiter = new Limiter(ledgerOf(db))
  const watch = new KeyWatch(db, keys, limiter, (error) =>
    app.log.error({ err: error }, 'use of keys not noted'),
  )
  const log = new RequestLog(db, (error) =>
    app.log.error({ err: error }, 'request log not written'),
  )
  app.decorate('config', config)
  app.decorate('db', db)
  app.decorate('keys', keys)
  app.decorate('limiter', limiter)
  app.decorate('throttle', new Throttle(config.GRID_LIMIT_FAILED_KEYS))
  app.decorate('keyWatch', watch)
  app.decorate('requestLog', log)
  app.decorate('requestCounts', new RequestCounts())
  app.decorate('storage', storageOf(config))
  app.decorate('secrets', secretsOf(config))
  app.decorate('egress', new Egress({ allow_networks: config.GRID_WEBHOOK_ALLOW_CIDRS }))
  app.decorate('sourceEgress', new Egress({ allow_networks: config.GRID_SOURCE_ALLOW_CIDRS }))
  app.decorate('store', { db, registry, secret: await cursorSecret(db), rollups, pages: [] })
  app.decorateRequest('caller')
  app.decorateRequest('problem', null)

  if (config.GRID_OPS_PORT > 0) app.requestCounts.watch(app)
  // A request's way: id -> key and scope -> limit -> body and its validation -> handler -> log.
  refuseUndocumented(app)
  marks(app)
  auth(app, keys, app.throttle, watch.refused)
  limits(app, limiter)
  requestLog(app, log)
  errors(app)
  tables(app, config.GRID_LIST_MAX_ROWS)
  openapi(app, tags, eventHooks)
  await app.register(
    async (api) => {
      for (const feature of features) await feature(api)
    },
    { prefix: '/api/v1' },
  )
  health(app)
  oauthMetadata(app)
  referenceRoutes(app)
  upkeep(app)
  return app
}

/** The server with what it reads and writes, before anything of ours. */
function server(config: Config): FastifyInstance {
  const prefix = `req_${randomBytes(6).toString('hex')}`
  let serial = 0
  const app = Fastify({
    bodyLimit: BODY_MAX,
    trustProxy: config.GRID_TRUST_PROXY ?? false,
    logger: {
      level: config.GRID_LOG,
      redact: ['req.headers["x-api-key"]', 'req.headers.authorization'],
    },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => prefix + (serial++).toString(36).padStart(6, '0'),
    routerOptions: { maxParamLength: 200 },
    forceCloseConnections: 'idle',
    frameworkErrors: unreadable,
  })
  app.setValidatorCompiler(({ schema, httpPart }) => (data: unknown) => {
    const issues = validate(schema as JsonSchema, data, httpPart === 'body' ? 'body' : 'query')
    return issues.length > 0 ? { error: invalid(issues) } : { value: data }
  })
  // A text body is a mistake, not a JSON string; a merge patch is JSON by another name.
  app.removeContentTypeParser('text/plain')
  app.addContentTypeParser(
    'application/merge-patch+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  )
  // Handlers send bytes they rendered; what little is left needs no compiled serializer.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  return app
}

/** The id in front of every answer; with that of a write, the call to number its events. */
function marks(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.method !== 'GET' && reply.statusCode < 300) written.wake()
    done(null, payload)
  })
}

/** What a serving process does beside its requests, and what it still writes before it ends. */
function upkeep(app: FastifyInstance): void {
  const { keyWatch, limiter, requestLog: requests } = app
  const touch = setInterval(() => {
    limiter.sweep()
    keyWatch
      .flush()
      .catch((error: unknown) => app.log.warn({ err: error }, 'use of keys not noted'))
  }, 10_000)
  app.addHook('onClose', async () => {
    clearInterval(touch)
    // A service that lost its database still stops in order.
    await Promise.allSettled([
      app.egress.close(),
      app.sourceEgress.close(),
      requests.flush(),
      flushCounts(app.db),
      keyWatch.flush(),
      limiter.close(),
    ])
  })
}

async function cursorSecret(db: Db): Promise<KeyObject> {
  const rows = await db.flyControl(
    `select encode(value, 'base64') from app_secret where name = 'cursor'`,
    [],
  )
  return createSecretKey(String(rows[0]?.[0]), 'base64')
}
