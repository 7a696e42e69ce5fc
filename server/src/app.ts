/** The whole HTTP pipeline: what a request passes, in order. */
import { createSecretKey, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import Fastify, { LogController } from 'fastify'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import { storageOf } from './documents/storage.ts'
import { Egress } from './egress.ts'
import { eventHooks } from './events/catalogue.ts'
import { written } from './events/wake.ts'
import { features, rollups } from './features.ts'
import { auth, Keys } from './http/auth.ts'
import { errors, unreadable } from './http/errors.ts'
import { health } from './http/health.ts'
import { limits } from './http/limits.ts'
import { RequestCounts } from './http/metrics.ts'
import { openapi, refuseUndocumented } from './http/openapi.ts'
import { RequestLog, requestLog } from './http/request-log.ts'
import './http/types.ts'
import { invalid } from './kit/errors.ts'
import type { JsonSchema } from './kit/field.ts'
import { validate } from './kit/validate.ts'
import { referenceRoutes } from './reference/routes.ts'
import { registry } from './resources.ts'
import { secretsOf } from './secrets.ts'
import { tags } from './tags.ts'

/** Largest JSON body, in bytes. Files have limits of their own. */
const BODY_MAX = 1024 * 1024

export async function buildApp(config: Config, db: Db): Promise<FastifyInstance> {
  const prefix = `req_${randomBytes(6).toString('hex')}`
  let serial = 0
  const app = Fastify({
    bodyLimit: BODY_MAX,
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
  media(app)
  const keys = new Keys(db)
  const log = new RequestLog(db, (error) =>
    app.log.error({ err: error }, 'request log not written'),
  )
  app.decorate('config', config)
  app.decorate('db', db)
  app.decorate('keys', keys)
  app.decorate('requestLog', log)
  app.decorate('requestCounts', new RequestCounts())
  app.decorate('storage', storageOf(config))
  app.decorate('secrets', secretsOf(config))
  app.decorate('egress', new Egress({ allow_networks: config.GRID_WEBHOOK_ALLOW_CIDRS }))
  app.decorate('store', { db, registry, secret: await cursorSecret(db), rollups, pages: [] })
  app.decorateRequest('caller')
  app.decorateRequest('problem', null)

  if (config.GRID_OPS_PORT > 0) app.requestCounts.watch(app)
  // A request's way: id -> key and scope -> limit -> body and its validation -> handler -> log.
  refuseUndocumented(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (request.method !== 'GET' && reply.statusCode < 300) written.wake()
    done()
  })
  auth(app, keys)
  limits(app)
  requestLog(app, log)
  errors(app)
  openapi(app, tags, eventHooks)
  await app.register(
    async (api) => {
      for (const feature of features) await feature(api)
    },
    { prefix: '/api/v1' },
  )
  health(app)
  referenceRoutes(app)
  const touch = setInterval(() => void touchKeys(db, keys).catch(() => {}), 10_000)
  app.addHook('onClose', async () => {
    clearInterval(touch)
    await app.egress.close()
    await log.flush()
    // A service that lost its database still stops in order.
    await touchKeys(db, keys).catch(() => {})
  })
  return app
}

/** How bodies are read, checked and written. */
function media(app: FastifyInstance): void {
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
}

async function touchKeys(db: Db, keys: Keys): Promise<void> {
  const used = keys.takeUsed()
  if (used.length > 0)
    await db.flyControl('select app.touch_keys($1::json)', [JSON.stringify(used)])
}

async function cursorSecret(db: Db): Promise<KeyObject> {
  const rows = await db.flyControl(
    `select encode(value, 'base64') from app_secret where name = 'cursor'`,
    [],
  )
  return createSecretKey(String(rows[0]?.[0]), 'base64')
}
