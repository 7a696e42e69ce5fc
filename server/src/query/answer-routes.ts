/** The answer of a query, as JSON or as CSV. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { JSON_TYPE } from '../kit/object-routes.ts'
import type { Row } from '../kit/resource.ts'
import { csvHeader, csvLine } from '../kit/tables/csv.ts'
import { csvColumn } from './csv.ts'
import { planWarnings } from './plan.ts'
import type { QueryPage } from './run.ts'
import { kindOf } from './select.ts'
import type { QueryBody } from './types.ts'

/** Sends a page in the form that was asked for. */
export function sendQuery(
  request: FastifyRequest,
  reply: FastifyReply,
  { explain = false, format }: Pick<QueryBody, 'explain' | 'format'>,
  page: QueryPage,
  cost_max: number,
): FastifyReply {
  if (!explain && wantsCsv(request, format)) return sendCsv(reply, page)
  const { compiled, plan, has_more, next_cursor } = page
  const names = compiled.outputs.map(({ name }) => name)
  const data = page.rows.map((values) =>
    Object.fromEntries(names.map((name, i) => [name, values[i]])),
  )
  const columns = compiled.outputs.map((output) => {
    const { name, path, aggregate } = output
    return { name, kind: kindOf(output), path, aggregate }
  })
  const { cost, rows, scans } = plan
  const told = explain
    ? {
        estimated_cost: cost,
        max_cost: cost_max,
        allowed: cost <= cost_max,
        estimated_rows: rows,
        scans,
      }
    : null
  const cut =
    compiled.grouped && has_more ? [`Only the first ${data.length} groups are shown.`] : []
  const warnings = [...compiled.warnings, ...cut, ...planWarnings(plan)]
  const body: Row = { object: 'list', columns, data, has_more, next_cursor, warnings, plan: told }
  return reply.type(JSON_TYPE).send(JSON.stringify(body))
}

/** `format` outdoes the header. */
function wantsCsv({ headers }: FastifyRequest, format: QueryBody['format']): boolean {
  if (format) return format === 'csv'
  return /\btext\/csv\b/.test(headers.accept ?? '')
}

/** Where the next page begins stands in a header, as a table has no place for it. */
function sendCsv(
  reply: FastifyReply,
  { compiled, rows, has_more, next_cursor }: QueryPage,
): FastifyReply {
  const columns = compiled.outputs.map((output) => csvColumn(output))
  const lines = rows.map((values) => {
    const row = Object.fromEntries(columns.map(({ name }, i) => [name, values[i]]))
    return csvLine(columns, row)
  })
  const text = `${csvHeader(columns)}${lines.join('')}`
  reply.headers({
    'x-has-more': String(has_more),
    ...(next_cursor ? { 'x-next-cursor': next_cursor } : {}),
  })
  return reply.type('text/csv; charset=utf-8').send(text)
}
