/** SQL of exports. */
import type { Db } from '../db/db.ts'
import type { OrgRows, Tx } from '../kit/types.ts'
import type { Held, Release } from '../queue/held.ts'
import type { Export, ExportState } from './model.ts'

const COLUMNS = `org_id, id, state, type, format, query, time_zone, rows_total, rows_written, file_version, file_name, byte_size,
  sha256, error, attempts, actor_type, actor_id, actor_name, request_id, created_at, started_at, finished_at, expires_at`

type BigintName = 'org_id' | 'id' | 'file_version' | 'byte_size'

/** Bigints come as text. */
type ExportRow = Omit<Export, BigintName> &
  Record<'org_id' | 'id', string> &
  Record<'file_version' | 'byte_size', string | null>

function exportOf(row: ExportRow): Export {
  const number = (text: string | null): number | null => (text === null ? null : Number(text))
  return {
    ...row,
    org_id: Number(row.org_id),
    id: Number(row.id),
    file_version: number(row.file_version),
    byte_size: number(row.byte_size),
  }
}

export async function insertExport(tx: Tx, one: Export): Promise<void> {
  await tx.query(
    `insert into export (org_id, id, state, type, format, query, time_zone, file_name, actor_type, actor_id, actor_name,
       request_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      one.org_id,
      one.id,
      one.state,
      one.type,
      one.format,
      JSON.stringify(one.query),
      one.time_zone,
      one.file_name,
      one.actor_type,
      one.actor_id,
      one.actor_name,
      one.request_id,
      one.created_at,
    ],
  )
}

export async function countOpen(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ open: number }>(
    `select count(*)::integer as open from export where org_id = $1 and state in ('queued', 'running', 'cancelling')`,
    [org_id],
  )
  return row?.open ?? 0
}

export async function findExport(
  db: OrgRows,
  org_id: number,
  id: number,
): Promise<Export | undefined> {
  const rows = await db.query<ExportRow>(
    org_id,
    `select ${COLUMNS} from export where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(exportOf)[0]
}

/** Newest first. */
export async function listExports(
  db: OrgRows,
  org_id: number,
  filter: { state: string | null; before: number | null; limit: number },
): Promise<Export[]> {
  const rows = await db.query<ExportRow>(
    org_id,
    `select ${COLUMNS} from export where org_id = $1 and ($2::text is null or state = $2) and ($3::bigint is null or id < $3)
     order by id desc limit $4`,
    [org_id, filter.state, filter.before, filter.limit],
  )
  return rows.map(exportOf)
}

/** A waiting export is cancelled at once, a running one at its next page. @returns it; undefined when it has ended. */
export async function requestCancel(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<Export | undefined> {
  const rows = await tx.query<ExportRow>(
    `update export set state = case state when 'queued' then 'cancelled' else 'cancelling' end,
       finished_at = case state when 'queued' then now() end
     where org_id = $1 and id = $2 and state in ('queued', 'running', 'cancelling') returning ${COLUMNS}`,
    [org_id, id],
  )
  return rows.map(exportOf)[0]
}

/** From now on nobody gets the file, and the sweep removes it where this process does not come to it. */
export async function expireNow(db: OrgRows, org_id: number, id: number): Promise<void> {
  await db.query(
    org_id,
    `update export set expires_at = now() where org_id = $1 and id = $2 and state = 'completed'`,
    [org_id, id],
  )
}

export async function deleteExport(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query('delete from export where org_id = $1 and id = $2', [org_id, id])
}

/** Takes the oldest export that nobody works on. */
export async function claimExport(
  db: Db,
  lease_id: number,
  pid: number,
): Promise<{ org_id: number; id: number } | undefined> {
  const [row] = await db.control(async (tx) =>
    tx.query<{ org_id: string; id: string }>('select org_id, id from app.claim_export($1, $2)', [
      lease_id,
      pid,
    ]),
  )
  return row && { org_id: Number(row.org_id), id: Number(row.id) }
}

const HELD = `org_id = $1 and id = $2 and lease_id = $3 and state in ('running', 'cancelling')`

/** Keeps an export for another minute. */
export async function renewExport(db: OrgRows, { org_id, id, lease_id }: Held): Promise<void> {
  await db.query(
    org_id,
    `update export set locked_until = now() + interval '60 seconds' where ${HELD}`,
    [org_id, id, lease_id],
  )
}

/** Notes how far an export is. @returns its state; undefined when another worker has it. */
export async function keepExport(
  db: OrgRows,
  { org_id, id, lease_id }: Held,
  { rows_total, rows_written }: { rows_total: number; rows_written: number },
): Promise<ExportState | undefined> {
  const [row] = await db.query<{ state: ExportState }>(
    org_id,
    `update export set rows_total = $4, rows_written = $5 where ${HELD} returning state`,
    [org_id, id, lease_id, rows_total, rows_written],
  )
  return row?.state
}

/** Gives an export back, to be begun again. */
export async function releaseExport(
  db: OrgRows,
  { org_id, id, lease_id }: Held,
  { pause_s, tried }: Release,
): Promise<void> {
  await db.query(
    org_id,
    `update export set state = case state when 'running' then 'queued' else state end, lease_id = null, backend_pid = null,
       locked_until = now() + make_interval(secs => $4), attempts = attempts - $5, rows_written = 0
     where ${HELD}`,
    [org_id, id, lease_id, pause_s, tried ? 0 : 1],
  )
}

/** How an export ended. */
export interface Ending {
  state: 'completed' | 'failed' | 'cancelled'
  error: Export['error']
  /** Null leaves those that were noted. */
  rows_written: number | null
  file: { byte_size: number; sha256: string } | null
  /** Hours until the file is removed; 0 keeps it. */
  kept_hours: number
}

/** Ends an export in a transaction that may do more. @returns it; undefined when another worker has taken it. */
export async function endExport(
  tx: Tx,
  { org_id, id, lease_id }: Held,
  { state, error, rows_written, file, kept_hours }: Ending,
): Promise<Export | undefined> {
  const rows = await tx.query<ExportRow>(
    `update export set state = $4, error = $5, rows_written = coalesce($6, rows_written), byte_size = $7, sha256 = $8,
       file_version = case when $7::bigint is not null then $3 end, finished_at = now(),
       expires_at = case when $7::bigint is not null and $9 > 0 then now() + make_interval(hours => $9) end,
       lease_id = null, backend_pid = null
     where ${HELD} returning ${COLUMNS}`,
    [
      org_id,
      id,
      lease_id,
      state,
      error && JSON.stringify(error),
      rows_written,
      file?.byte_size ?? null,
      file?.sha256 ?? null,
      kept_hours,
    ],
  )
  return rows.map(exportOf)[0]
}

/** Exports of any organization whose files are past their time. */
export async function exportsPast(db: Db, most: number): Promise<{ org_id: number; id: number }[]> {
  const rows = await db.control(async (tx) =>
    tx.query<{ org_id: string; id: string }>('select org_id, id from app.exports_past($1)', [most]),
  )
  return rows.map(({ org_id, id }) => ({ org_id: Number(org_id), id: Number(id) }))
}

export async function markExpired(db: OrgRows, org_id: number, id: number): Promise<void> {
  await db.query(
    org_id,
    `update export set state = 'expired', file_version = null where org_id = $1 and id = $2 and state = 'completed'`,
    [org_id, id],
  )
}

/** The files of an organization's exports. */
export async function exportFiles(
  db: OrgRows,
  org_id: number,
): Promise<{ id: number; file_version: number }[]> {
  const rows = await db.query<{ id: string; file_version: string }>(
    org_id,
    'select id, file_version from export where org_id = $1 and file_version is not null',
    [org_id],
  )
  return rows.map(({ id, file_version }) => ({
    id: Number(id),
    file_version: Number(file_version),
  }))
}
