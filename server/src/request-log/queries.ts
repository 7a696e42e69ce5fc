/** The request log of one organization, newest first. */
import type { OrgDb } from '../kit/types.ts'

export interface LogFilter {
  status_from: number | null
  status_to: number | null
  method: string | null
  path: string | null
  key_id: number | null
  request_id: string | null
  since: string | null
  until: string | null
  min_latency_ms: number | null
  /** Time and number of the last entry shown. */
  before: { at: string; id: string } | null
  limit: number
}

export interface LogRow {
  id: string
  at: Date
  request_id: string
  method: string
  route: string
  path: string
  status: number
  latency_ms: number
  key_id: string | null
  key_name: string | null
  error_code: string | null
}

const COLUMNS =
  'id, at, request_id, method, route, path, status, latency_ms, key_id, key_name, error_code'

export async function listLog(db: OrgDb, org_id: number, filter: LogFilter): Promise<LogRow[]> {
  return await db.query<LogRow>(
    org_id,
    `select ${COLUMNS} from request_log
     where org_id = $1
       and ($2::smallint is null or status between $2 and $3)
       and ($4::text is null or method = $4)
       and ($5::text is null or starts_with(path, $5))
       and ($6::bigint is null or key_id = $6)
       and ($7::text is null or request_id = $7)
       and ($8::timestamptz is null or at >= $8)
       and ($9::timestamptz is null or at < $9)
       and ($10::real is null or latency_ms >= $10)
       and ($11::timestamptz is null or (at, id) < ($11, $12::bigint))
     order by at desc, id desc limit $13`,
    [
      org_id,
      filter.status_from,
      filter.status_to,
      filter.method,
      filter.path,
      filter.key_id,
      filter.request_id,
      filter.since,
      filter.until,
      filter.min_latency_ms,
      filter.before?.at ?? null,
      filter.before?.id ?? null,
      filter.limit,
    ],
  )
}

export async function findLog(db: OrgDb, org_id: number, id: number): Promise<LogRow | undefined> {
  const rows = await db.query<LogRow>(
    org_id,
    `select ${COLUMNS} from request_log where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows[0]
}
