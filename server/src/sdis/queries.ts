/** SQL of the import: identity of source records, what a source said before, progress and errors. */
import { arrayLiteral } from '../kit/filter.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Blanks } from './plan.ts'

export interface KnownRecord {
  object_id: number
  row_hash: string
  gone: boolean
}

/**
 * What the source's records with these keys became, in the order of the keys. The lateral subquery pins an index lookup
 * per key: a plain join reads the whole table once statistics are stale.
 */
export async function knownRecords(
  db: OrgDb,
  org_id: number,
  source_id: number,
  stream: string,
  keys: readonly string[],
): Promise<(KnownRecord | null)[]> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select r.object_id, r.row_hash, r.gone_tx is not null
        from unnest($4::text[]) with ordinality as u(k, n)
        left join lateral (
          select s.object_id, s.row_hash, s.gone_tx from source_record s
          where s.org_id = $1::bigint and s.source_id = $2::bigint and s.stream = $3::text and s.ext_key = u.k limit 1
        ) r on true order by u.n`,
      params: [org_id, source_id, stream, arrayLiteral(keys)],
    },
  ])
  return (rows ?? []).map(([object_id, row_hash, gone]) =>
    object_id
      ? {
          object_id: Number(String(object_id)),
          row_hash: String(row_hash),
          gone: gone?.[0] === 0x74,
        }
      : null,
  )
}

/** Blank attributes noted for objects of a source, by object id. */
export async function blanksOf(
  db: OrgDb,
  org_id: number,
  source_id: number,
  ids: readonly number[],
): Promise<Map<number, Blanks[]>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select object_id, extract(epoch from valid_from) * 1000, array_to_json(fields) from source_blank
        where org_id = $1::bigint and source_id = $2::bigint and object_id = any($3::bigint[])`,
      params: [org_id, source_id, `{${ids.join(',')}}`],
    },
  ])
  const result = new Map<number, Blanks[]>()
  for (const [id, at, fields] of rows ?? []) {
    const blanks = {
      valid_from: Number(String(at)),
      fields: JSON.parse(String(fields)) as string[],
    }
    const object_id = Number(String(id))
    result.set(object_id, [...(result.get(object_id) ?? []), blanks])
  }
  return result
}

export interface RunTimes {
  /** Latest run before or at the time, and whether any run lies after it. */
  latest: number | null
  next: { at: number; complete: boolean } | null
}

/** The source's runs of a stream around a time. */
export async function runsAround(
  db: OrgDb,
  org_id: number,
  source_id: number,
  stream: string,
  at: number,
): Promise<RunTimes> {
  const rows = await db.query<{ valid_from: Date; complete: boolean }>(
    org_id,
    `select valid_from, bool_or(complete) as complete from stream_run
     where org_id = $1 and source_id = $2 and stream = $3 group by valid_from order by valid_from`,
    [org_id, source_id, stream],
  )
  const runs = rows.map((row) => ({ at: row.valid_from.getTime(), complete: row.complete }))
  return {
    latest: runs.at(-1)?.at ?? null,
    next: runs.find((run) => run.at > at) ?? null,
  }
}

/** The id of the adapter's source in the organization, created on first use. */
export async function sourceId(
  db: OrgDb,
  org_id: number,
  name: string,
  rank: number,
): Promise<number> {
  const [id] = (await db.ids(1)) as [number]
  const rows = await db.query<{ id: string }>(
    org_id,
    `insert into source (org_id, id, kind, name, rank, created_at) values ($1, $2, 'adapter', $3, $4, $5)
     on conflict (org_id, kind, name) do update set rank = excluded.rank returning id`,
    [org_id, id, name, rank, new Date()],
  )
  return Number(rows[0]?.id)
}

export interface RecordRow {
  key: string
  object_id: number
  hash: string
  gone: boolean
  /** Loads between two earlier ones leave the hash of the latest row as it is. */
  keep_hash: boolean
}

export async function saveRecords(
  tx: Tx,
  org_id: number,
  source_id: number,
  stream: string,
  tx_id: number,
  records: readonly RecordRow[],
): Promise<void> {
  if (records.length === 0) return
  await tx.query(
    `insert into source_record as s (org_id, source_id, stream, ext_key, object_id, row_hash, first_tx, last_tx, gone_tx)
     select $1, $2, $3, r.key, r.object_id, r.hash, $4::bigint, $4::bigint, case when r.gone then $4::bigint end
     from json_to_recordset($5::json) as r(key text, object_id bigint, hash bigint, gone boolean)
     on conflict (org_id, source_id, stream, ext_key) do update
     set row_hash = excluded.row_hash, last_tx = greatest(excluded.last_tx, s.last_tx), gone_tx = excluded.gone_tx`,
    [
      org_id,
      source_id,
      stream,
      tx_id,
      JSON.stringify(records.filter((record) => !record.keep_hash)),
    ],
  )
}

export async function saveBlanks(
  tx: Tx,
  org_id: number,
  source_id: number,
  blanks: readonly (Blanks & { object_id: number })[],
): Promise<void> {
  if (blanks.length === 0) return
  const rows = blanks.map((b) => ({
    o: b.object_id,
    f: new Date(b.valid_from).toISOString(),
    b: b.fields,
  }))
  await tx.query(
    `insert into source_blank as s (org_id, object_id, source_id, valid_from, fields)
     select $1, r.o, $2, r.f, r.b from json_to_recordset($3::json) as r(o bigint, f timestamptz, b text[])
     on conflict (org_id, object_id, source_id, valid_from) do update set fields = excluded.fields`,
    [org_id, source_id, JSON.stringify(rows)],
  )
}

/** Present state of objects that an import may change; deleted ones say so. */
export async function presentRows(
  db: OrgDb,
  org_id: number,
  table: string,
  ids: readonly number[],
): Promise<Map<number, { version: number; contested: boolean; deleted: boolean; body: string }>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select id, version, contested, deleted_at is not null, body from ${table} where org_id = $1::bigint and id = any($2::bigint[])`,
      params: [org_id, `{${ids.join(',')}}`],
    },
  ])
  return new Map(
    (rows ?? []).map(([id, version, contested, deleted, body]) => [
      Number(String(id)),
      {
        version: Number(String(version)),
        contested: contested?.[0] === 0x74,
        deleted: deleted?.[0] === 0x74,
        body: String(body),
      },
    ]),
  )
}

/** Keys of the source's records, a batch at a time in key order, with what they became. */
export async function recordsAfter(
  db: OrgDb,
  org_id: number,
  source_id: number,
  stream: string,
  after: string,
  count: number,
): Promise<{ ext_key: string; object_id: number; gone: boolean }[]> {
  const rows = await db.query<{ ext_key: string; object_id: string; gone: boolean }>(
    org_id,
    `select ext_key, object_id, gone_tx is not null as gone from source_record
     where org_id = $1 and source_id = $2 and stream = $3 and ext_key > $4 order by ext_key limit $5`,
    [org_id, source_id, stream, after, count],
  )
  return rows.map((row) => ({ ...row, object_id: Number(row.object_id) }))
}

export async function liveRecords(
  db: OrgDb,
  org_id: number,
  source_id: number,
  stream: string,
): Promise<number> {
  const rows = await db.query<{ count: string }>(
    org_id,
    `select count(*) from source_record where org_id = $1 and source_id = $2 and stream = $3 and gone_tx is null`,
    [org_id, source_id, stream],
  )
  return Number(rows[0]?.count)
}
