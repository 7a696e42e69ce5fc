import type { FastifyInstance } from 'fastify'
import { instant } from '../kit/dates.ts'
import { invalid, notFound } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { idDigits, pathId } from '../kit/ids.ts'
import { decodeCursor, encodeCursor, queryHash } from '../kit/page.ts'
import type { Row } from '../kit/resource.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendPage, sendTexts } from '../kit/routes.ts'
import { catalogue, exampleEvent, referringSchema, unknownPatterns } from './catalogue.ts'
import type { EventType } from './catalogue.ts'
import * as docs from './docs.ts'
import { eventsAfter, findEvent, lastSeq, matchesType } from './feed.ts'
import type { FeedFilter } from './feed.ts'
import { renderEvents } from './payload.ts'

interface EventsQuery {
  limit: number
  cursor?: string
  types?: string
  object_id?: string
  since?: string
  until?: string
}

export function eventRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: EventsQuery }>('/events', docs.listEvents, async (request, reply) => {
    const { org_id } = request.caller
    const { limit, cursor, ...bound } = request.query
    const { db, secret } = app.store
    const patterns = patternsOf(bound.types)
    const filter = filterOf(bound)
    const hash = queryHash(org_id, ['events', JSON.stringify(bound)])
    const [position = '0'] = cursor ? decodeCursor(secret, hash, cursor, Date.now(), Infinity) : []
    const after = Number(position)
    // Asked for first: what is placed meanwhile belongs to the next page.
    const last = await lastSeq(db, org_id)
    const events = await eventsAfter(db, org_id, after, limit + 1, patterns, filter)
    const has_more = events.length > limit
    const page = events.slice(0, limit)
    const seen = has_more
      ? (page.at(-1)?.seq ?? after)
      : Math.max(after, last, page.at(-1)?.seq ?? 0)
    return sendTexts(reply, {
      data: await renderEvents(app.store, org_id, page),
      has_more,
      next_cursor: encodeCursor(secret, hash, [String(seen)], Date.now()),
      total_count: null,
    })
  })

  app.get<{ Querystring: { types?: string } }>(
    '/events/types',
    docs.listEventTypes,
    async (request, reply) => {
      const patterns = patternsOf(request.query.types)
      const types = catalogue.filter(({ type }) => matchesType(patterns, type))
      const data = types.map(typeView)
      return sendPage(reply, { data, has_more: false, next_cursor: null, total_count: null })
    },
  )

  app.get<{ Params: { id: string } }>('/events/:id', docs.getEvent, async (request, reply) => {
    const { org_id } = request.caller
    const { id } = request.params
    pathId('evt', id)
    const event = await findEvent(app.db, org_id, id)
    if (!event) throw notFound(`Event ${id}`)
    const [text] = await renderEvents(app.store, org_id, [event])
    return reply.type(JSON_TYPE).send(text)
  })
}

/** @throws 422 for a pattern that no type fits. */
function patternsOf(text: string | undefined): string[] | null {
  if (text === undefined) return null
  const patterns = text.split(',')
  const [unknown] = unknownPatterns(patterns)
  if (unknown === undefined) return patterns
  const allowed = catalogue.map(({ type }) => type)
  const message = `no type of event is called '${unknown}'`
  throw invalid([{ field: 'types', code: 'unknown_value', message, allowed }])
}

function filterOf({ object_id, since, until }: Omit<EventsQuery, 'limit'>): FeedFilter {
  const issues: Issue[] = Object.entries({ since, until })
    .filter(([, text]) => text !== undefined && instant(text) === null)
    .map(([field]) => ({
      field,
      code: 'invalid_format',
      message: 'must be a time such as 2026-05-12T08:00:00Z',
    }))
  const digits = object_id ? idDigits(object_id.slice(0, object_id.indexOf('_')), object_id) : null
  if (object_id !== undefined && digits === null)
    issues.push({ field: 'object_id', code: 'invalid_id', message: 'must look like le_1042' })
  if (issues.length > 0) throw invalid(issues)
  return { object_id: digits, since: since ?? null, until: until ?? null }
}

function typeView(entry: EventType): Row {
  const { type, title, description, object_type, schema_version } = entry
  return {
    type,
    object: 'event_type',
    title,
    description,
    object_type,
    schema_version,
    schema: referringSchema(entry),
    example: exampleEvent(entry),
  }
}
