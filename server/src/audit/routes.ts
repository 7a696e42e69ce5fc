import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { instant } from '../kit/dates.ts'
import { invalid, notFound } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { pathId } from '../kit/ids.ts'
import { paging } from '../kit/paging.ts'
import { record } from '../kit/record.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendPage } from '../kit/routes.ts'
import { requestOf } from '../kit/write.ts'
import { auditActions } from './actions.ts'
import { withHash } from './chain.ts'
import * as docs from './docs.ts'
import { ENTRIES_MAX } from './entry.ts'
import { exportHead, exportLines } from './export.ts'
import type { ExportHead, Format } from './export.ts'
import { auditKey } from './key.ts'
import type { AuditKey } from './key.ts'
import { findEntry, listCheckpoints, listEntries } from './queries.ts'
import type { AuditFilter } from './queries.ts'
import { checkpointView, verifyChain } from './verify.ts'

interface ListQuery {
  limit: number
  cursor?: string
  action?: string
  object_id?: string
  actor?: string
  request_id?: string
  since?: string
  until?: string
}

interface ExportQuery {
  format: Format
  since?: string
  until?: string
}

const TYPES: Readonly<Record<Format, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
}

export function auditRoutes(app: FastifyInstance): void {
  let loaded: Promise<AuditKey> | null = null
  const key = async (): Promise<AuditKey> => await (loaded ??= auditKey(app.config))
  readRoutes(app)

  app.get<{ Querystring: { from?: number; to?: number } }>(
    '/audit-logs/verify',
    docs.verifyAudit,
    async ({ caller, query: { from = null, to = null } }, reply) => {
      if (from !== null && to !== null && from > to)
        throw invalid([{ field: 'to', code: 'out_of_range', message: 'must not be below from' }])
      const { public: own } = await key()
      const trusted = [own, ...app.config.GRID_AUDIT_KEYS_BEFORE]
      const found = await verifyChain(app.db, caller.org_id, { from, to }, trusted)
      const body = { object: 'audit_verification', ...found, public_key: own }
      return reply.type(JSON_TYPE).send(JSON.stringify(body))
    },
  )

  app.get<{ Querystring: ExportQuery }>(
    '/audit-logs/export',
    docs.exportAudit,
    async (request, reply) => {
      const { since, until } = timesOf(request.query)
      const { org_id } = request.caller
      const head = await exportHead(app.db, org_id, await key(), since, until)
      return await sendExport(app, request, reply, head)
    },
  )
}

function readRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: ListQuery }>('/audit-logs', docs.listAudit, async (request, reply) => {
    const { org_id } = request.caller
    const { cursor, limit, ...bound } = request.query
    const page = paging(app.store, org_id, ['audit-logs', JSON.stringify(bound)], cursor)
    const filter = { ...filterOf(bound), before: page.after, limit: limit + 1 }
    const rows = await listEntries(app.db, org_id, filter)
    const views = rows.map((row) => JSON.parse(withHash(row)))
    return sendPage(
      reply,
      page.of(views, limit, (_, i) => String(rows[i]?.position)),
    )
  })

  app.get<{ Params: { id: string } }>('/audit-logs/:id', docs.getAudit, async (request, reply) => {
    const id = pathId('aud', request.params.id)
    const tx_id = Math.floor(id / ENTRIES_MAX)
    const row = await findEntry(app.db, request.caller.org_id, tx_id, id % ENTRIES_MAX)
    if (!row) throw notFound(`Audit entry ${request.params.id}`)
    return reply.type(JSON_TYPE).send(withHash(row))
  })

  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/audit-logs/checkpoints',
    docs.checkpoints,
    async ({ caller: { org_id }, query: { limit, cursor } }, reply) => {
      const page = paging(app.store, org_id, ['audit-checkpoints'], cursor)
      const rows = await listCheckpoints(app.db, org_id, page.after, limit + 1)
      const views = rows.map((row) => ({ ...checkpointView(org_id, row) }))
      return sendPage(
        reply,
        page.of(views, limit, (row) => String(row['position'])),
      )
    },
  )

  app.get('/audit-logs/actions', docs.actions, (_request, reply) =>
    sendPage(reply, {
      data: auditActions(),
      has_more: false,
      next_cursor: null,
      total_count: null,
    }),
  )
}

/** Notes the export in the log, then sends it piece by piece as the client takes it. */
async function sendExport(
  app: FastifyInstance,
  request: FastifyRequest<{ Querystring: ExportQuery }>,
  reply: FastifyReply,
  head: ExportHead,
): Promise<FastifyReply> {
  const { caller, query } = request
  const { since, until, first_position, last_position } = head
  const { actor } = requestOf(caller, request.id)
  const details = { format: query.format, since, until, first_position, last_position }
  await app.db.transaction(caller.org_id, async (tx) => {
    const what = { type: 'audit.exported', object_type: 'organization', object_id: caller.org_id }
    await record(tx, caller.org_id, actor, [{ ...what, object: null, details }])
  })
  const lines = exportLines(app.db, caller.org_id, query.format, head)
  const name = `audit-${head.organization_id}.${query.format}`
  return reply
    .type(TYPES[query.format])
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(Readable.from(lines))
}

function filterOf(
  query: Omit<ListQuery, 'limit' | 'cursor'>,
): Omit<AuditFilter, 'before' | 'limit'> {
  const object = query.object_id === undefined ? null : /_([0-9]{1,15})$/.exec(query.object_id)
  if (query.object_id !== undefined && !object) {
    const message = `must look like le_1042, got '${query.object_id}'`
    throw invalid([{ field: 'object_id', code: 'invalid_id', message }])
  }
  return {
    ...timesOf(query),
    actions: query.action?.split(',').map(likePattern) ?? null,
    object_id: object ? Number(object[1]) : null,
    actor_id: query.actor ?? null,
    request_id: query.request_id ?? null,
  }
}

/** `lease.*` as a pattern of SQL. */
function likePattern(pattern: string): string {
  return pattern.replaceAll(/[\\%_]/g, '\\$&').replace(/\*$/, '%')
}

function timesOf(query: { since?: string; until?: string }): {
  since: string | null
  until: string | null
} {
  const issues: Issue[] = []
  const time = (field: 'since' | 'until'): string | null => {
    const text = query[field]
    const found = text === undefined ? null : instant(text)
    if (text !== undefined && found === null)
      issues.push({
        field,
        code: 'invalid_format',
        message: 'must be a time such as 2026-05-12T08:00:00Z',
      })
    return found
  }
  const times = { since: time('since'), until: time('until') }
  if (issues.length > 0) throw invalid(issues)
  return times
}
