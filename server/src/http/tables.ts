/**
 * Every list as a file: `Accept: text/csv` or `format=csv` (ndjson, xlsx) sends all its pages as one table.
 *
 * The pages are those that the list's own handler gives, asked for one behind the other with the cursor of the one before:
 * so filters, sort, rights and tenancy are those of the list, and only one page is in memory. A route takes part by
 * answering through `sendPage` or `sendTexts`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { JsonSchema } from '../kit/field.ts'
import type { Query } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { nextLink } from '../kit/routes.ts'
import type { Walk } from '../kit/routes.ts'
import { FORMAT, TABLE_TYPES, tableFormat } from '../kit/tables/formats.ts'
import type { TableFormat } from '../kit/tables/formats.ts'
import { tableStream } from '../kit/tables/render.ts'

/** How a list gives one page, as the query of the request stands. */
type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown

/** What a list's route declares of itself. */
interface List {
  /** Schema of an object of the list. */
  item: JsonSchema
  /** Most objects a page has; null where there are no pages. */
  page_size: number | null
}

/** Lets every list registered after this call be had as a file. @param most rows of a resource's list. */
export function tables(app: FastifyInstance, most: number): void {
  app.decorateRequest('walk', null)
  app.addHook('onRoute', (route) => {
    const list = listOf(route)
    if (!list) return
    const handler = route.handler as unknown as Handler
    route.schema = withFormat(route.schema ?? {})
    route.handler = async function (request, reply) {
      const { format: asked, ...query } = request.query as Query
      const format = tableFormat(asked, request.headers.accept)
      request.query = query
      const page = handler.bind(this)
      return format
        ? await sendTable(request, reply, { format, list, page, most })
        : await page(request, reply)
    }
  })
}

/** A list is what answers the envelope of lists; one that has a `format` of its own stays as it is. */
function listOf({ method, schema = {} }: RouteOptions): List | null {
  const answer = (schema.response as Record<number, JsonSchema> | undefined)?.[200]
  const properties = answer?.['properties'] as Record<string, JsonSchema> | undefined
  const item = properties?.['data']?.['items'] as JsonSchema | undefined
  const { parameters = [] } = schema
  if (method !== 'GET' || properties?.['object']?.['const'] !== 'list' || !item) return null
  if (parameters.some(({ name }) => name === 'format')) return null
  const limit = parameters.find(({ name }) => name === 'limit')
  return { item, page_size: limit ? Number(limit.schema['maximum']) : null }
}

function withFormat(schema: NonNullable<RouteOptions['schema']>): typeof schema {
  const { parameters = [], querystring } = schema as typeof schema & { querystring?: JsonSchema }
  const properties = querystring?.['properties'] as Record<string, JsonSchema> | undefined
  return {
    ...schema,
    parameters: [...parameters, FORMAT],
    ...(querystring
      ? {
          querystring: {
            ...querystring,
            properties: { ...properties, format: { type: 'string' } },
          },
        }
      : {}),
  }
}

interface Wanted {
  format: TableFormat
  list: List
  page: Handler
  most: number
}

/** Whoever awaits a reply waits until it is sent, which that of a page never is. */
// oxlint-disable-next-line unicorn/no-thenable
const NO_THENABLE = { then: { value: undefined } }

async function sendTable(
  request: FastifyRequest,
  reply: FastifyReply,
  { format, list, page, most }: Wanted,
): Promise<FastifyReply> {
  const query = request.query as Query
  const given = new URL(request.url, 'http://self').searchParams
  const whole = !given.has('limit')
  const walk: Walk = { most: whole ? most : null, item: list.item, page: null }
  // Whether numbers in the query are text is the route's own matter.
  const { page_size } = list
  const size = typeof query['limit'] === 'number' ? page_size : String(page_size)
  const paged = whole && page_size !== null ? { limit: size } : {}
  // Whoever's event asks for a page, it is read as the request was let in.
  const standIn = Object.create(reply, NO_THENABLE) as FastifyReply
  const asRequest = AsyncLocalStorage.snapshot()
  const read = async (cursor: string | null): Promise<Walk['page']> => {
    request.query = { ...query, ...paged, ...(cursor ? { cursor } : {}) }
    request.walk = walk
    walk.page = null
    await page(request, standIn)
    request.walk = null
    return walk.page
  }
  const first = await read(null)
  // A list that has not changed since the client last saw it answers that, in whatever form.
  if (!first) return reply
  if (!whole) nextLink(reply, first.next_cursor)
  const name = (request.routeOptions.url ?? '').split('/').findLast((part) => !part.startsWith(':'))
  return reply
    .removeHeader('etag')
    .headers({
      'content-type': `${TABLE_TYPES[format]}${format === 'csv' ? '; charset=utf-8; header=present' : ''}`,
      'content-disposition': `attachment; filename="${name}.${format}"`,
      vary: 'Accept',
    })
    .send(
      tableStream(
        format,
        walk.item,
        pagesFrom(first, whole, (cursor) => asRequest(read, cursor)),
      ),
    )
}

/** Pages one behind the other, or the first alone. */
async function* pagesFrom(
  first: NonNullable<Walk['page']>,
  whole: boolean,
  read: (cursor: string) => Promise<Walk['page']>,
): AsyncGenerator<Row[]> {
  let page: Walk['page'] = first
  while (page) {
    yield page.data
    // The last page of a feed has a cursor too, for what is still to come.
    const { has_more, next_cursor }: NonNullable<Walk['page']> = page
    if (!whole || !has_more || next_cursor === null) return
    page = await read(next_cursor)
  }
}
