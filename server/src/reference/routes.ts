/** The reference for people: pages made from the OpenAPI document, and what the `type` of a problem leads to. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { limitsOf } from '../http/limits.ts'
import { notFound } from '../kit/errors.ts'
import type { JsonSchema } from '../kit/field.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { errorEntries, errorEntry, errorMain, errorsMain, isErrorCode } from './errors-view.ts'
import { groupMain } from './group-view.ts'
import { layout } from './layout.ts'
import type { Page } from './layout.ts'
import { readReference } from './model.ts'
import type { Reference } from './model.ts'
import { overviewMain, scopesMain } from './overview.ts'
import { searchIndex } from './search-index.ts'

/** A page or a file of the pages, ready to be sent. */
interface Asset {
  type: string
  plain: Buffer
  zipped: Buffer
  etag: string
}

const HTML = 'text/html; charset=utf-8'

/** Nothing but what this host serves is ever loaded, whatever a description says. */
const POLICY =
  "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'none'"

const FILES = {
  'style.css': 'text/css; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

/** Register after every documented route: the pages are made from them when first asked for. */
export function referenceRoutes(app: FastifyInstance): void {
  const pages = pagesOf(app)
  app.get('/', docs('getRoot', 'Find the reference', PAGE), (_request, reply) =>
    reply.redirect('/docs'),
  )
  app.get('/docs', docs('getReference', 'Read the reference', PAGE), (_request, reply) =>
    send(reply, pages('/docs')),
  )
  app.get<{ Params: { page: string } }>(
    '/docs/:page',
    docs('getReferencePage', 'Read a page of the reference', PAGE),
    (request, reply) => send(reply, pages(`/docs/${request.params.page}`)),
  )
  app.get('/errors', docs('listErrors', 'List the error codes', ENTRIES), (request, reply) => {
    if (prefersHtml(request.headers.accept)) return send(reply, pages('/errors'))
    return reply.header('vary', 'accept').send({ object: 'list', data: errorEntries() })
  })
  app.get<{ Params: { code: string } }>(
    '/errors/:code',
    docs('getError', 'Read what an error code means', ENTRY),
    (request, reply) => {
      const { code } = request.params
      if (!isErrorCode(code)) throw notFound(`Error code ${code}`)
      if (prefersHtml(request.headers.accept)) return send(reply, pages(`/errors/${code}`))
      return reply.header('vary', 'accept').send(errorEntry(code))
    },
  )
}

const PAGE: JsonSchema = { type: 'string', description: 'A page.', 'x-content-type': 'text/html' }

const ENTRY: JsonSchema = { type: 'object', description: 'A code, its status and what to do.' }

const ENTRIES: JsonSchema = { type: 'object', description: 'Every code.' }

function docs(operationId: string, summary: string, response: JsonSchema): RouteDocs {
  const description = 'For people and programs alike; needs no key.'
  const schema = { operationId, summary, description, tags: ['reference'], parameters: [] }
  return {
    config: { scope: 'public' },
    schema: { ...schema, response: { 200: response }, problems: [404] },
  }
}

function prefersHtml(accept = ''): boolean {
  return accept.includes('text/html')
}

/** Finds a page by its path, made when first asked for and then kept. @throws 404 for a path that is none. */
function pagesOf(app: FastifyInstance): (path: string) => Asset {
  const made = new Map<string, Asset>()
  let reference: Reference | null = null
  return (path) => {
    let found = made.get(path)
    if (!found) {
      reference ??= readReference(app.openapi())
      found =
        fileAt(path, reference) ?? asset(HTML, layout(reference, pageAt(path, reference, app)))
      made.set(path, found)
    }
    return found
  }
}

function fileAt(path: string, reference: Reference): Asset | null {
  const name = path.slice('/docs/'.length)
  if (name === 'search.json') return asset('application/json', searchIndex(reference))
  if (!Object.hasOwn(FILES, name)) return null
  return asset(
    FILES[name as keyof typeof FILES],
    readFileSync(new URL(name, import.meta.url), 'utf8'),
  )
}

function pageAt(path: string, reference: Reference, app: FastifyInstance): Page {
  const { config } = app
  const base = config.GRID_BASE_URL ?? `http://${config.GRID_HOST}:${config.GRID_PORT}/api/v1`
  if (path === '/docs')
    return { title: 'Overview', path, main: overviewMain(reference, base, quotasOf(app)) }
  if (path === '/docs/scopes') return { title: 'Scopes', path, main: scopesMain() }
  if (path === '/errors') return { title: 'Errors', path, main: errorsMain() }
  const code = path.slice('/errors/'.length)
  if (isErrorCode(code)) return { title: code, path: '/errors', main: errorMain(errorEntry(code)) }
  const group = reference.groups.find(({ slug }) => path === `/docs/${slug}`)
  if (!group) throw notFound(`Page ${path}`)
  return { title: group.title, path, main: groupMain(reference, group, base) }
}

function quotasOf({ config }: FastifyInstance): Parameters<typeof overviewMain>[2] {
  const perKey = (plan: string, environment: 'production' | 'sandbox' = 'production'): number =>
    limitsOf(config, { plan, environment }).per_key
  return {
    sandbox: perKey('community', 'sandbox'),
    community: perKey('community'),
    professional: perKey('professional'),
    enterprise: perKey('enterprise'),
  }
}

function asset(type: string, text: string): Asset {
  const plain = Buffer.from(text)
  const etag = `"${createHash('sha256').update(plain).digest('hex').slice(0, 16)}"`
  return { type, plain, zipped: gzipSync(plain), etag }
}

function send(reply: FastifyReply, { type, plain, zipped, etag }: Asset): FastifyReply {
  reply.headers({
    'cache-control': 'no-cache',
    'content-security-policy': POLICY,
    etag,
    'referrer-policy': 'no-referrer',
    vary: 'accept, accept-encoding',
    'x-content-type-options': 'nosniff',
  })
  const { headers } = reply.request
  if (headers['if-none-match'] === etag) return reply.code(304).send()
  const zips = /\bgzip\b/.test(headers['accept-encoding'] ?? '')
  if (zips) reply.header('content-encoding', 'gzip')
  return reply.type(type).send(zips ? zipped : plain)
}
