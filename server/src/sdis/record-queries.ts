/** SQL of loads: which objects the records of a source became, what the source said before, its runs. */
import { headsOf } from '../kit/cluster-queries.ts'
import { bigintArray, booleanArray, textArray, timeArray } from '../kit/arrays.ts'
import { arrayLiteral } from '../kit/filter.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Blanks } from './plan.ts'

/** Records of one kind from one source. */
export interface Place {
  org_id: number
  source_id: number
  stream: string
}

/**
 * Those of the records that must be looked at: new ones, ended ones and those whose row has changed.
 * The lateral subquery pins an index lookup per key: a plain join reads the whole table once statistics are stale.
 * @param all also the unchanged ones.
 * @returns the object of each, null when it is new, by its place in `records`.
 */
export async function changedRecords(
  db: OrgDb,
  { org_id, source_id, stream }: Place,
  records: readonly { key: string; hash: string }[],
  all: boolean,
): Promise<Map<number, number | null>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select u.n - 1, r.object_id
        from unnest($4::text[], $5::bigint[]) with ordinality as u(k, h, n)
        left join lateral (
          select s.object_id, s.row_hash, s.gone_tx from source_record s
          where s.org_id = $1::bigint and s.source_id = $2::bigint and s.stream = $3::text and s.ext_key = u.k limit 1
        ) r on true
        where $6::boolean or r.object_id is null or r.row_hash <> u.h or r.gone_tx is not null`,
      params: [
        org_id,
        source_id,
        stream,
        arrayLiteral(records.map(({ key }) => key)),
        `{${records.map(({ hash }) => hash).join(',')}}`,
        all,
      ],
    },
  ])
  return new Map((rows ?? []).map(([n, id]) => [Number(String(n)), id ? Number(String(id)) : null]))
}

/** Objects that a source's records became and stand at, by key; null for those that have been deleted since. */
export async function relatedObjects(
  db: OrgDb,
  { org_id, source_id }: { org_id: number; source_id: number },
  { type, stream }: { type: string; stream: string },
  keys: readonly string[],
): Promise<Map<string, number | null>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select u.k, r.object_id, t.deleted from unnest($4::text[]) as u(k)
        cross join lateral (
          select s.object_id from source_record s
          where s.org_id = $1::bigint and s.source_id = $2::bigint and s.stream = $3::text and s.ext_key = u.k limit 1
        ) r
        cross join lateral (
          select t.deleted_at is not null as deleted from ${type} t where t.org_id = $1::bigint and t.id = r.object_id limit 1
        ) t`,
      params: [org_id, source_id, stream, arrayLiteral(keys)],
    },
  ])
  const found = (rows ?? []).map(([key, id, deleted]) => ({
    key: String(key),
    id: Number(String(id)),
    deleted: isTrue(deleted),
  }))
  // What was merged into another object left the lists as if it were deleted.
  const gone = found.flatMap(({ id, deleted }) => (deleted ? [id] : []))
  const heads = gone.length > 0 ? await headsOf(db, org_id, gone) : new Map<number, number>()
  return new Map(found.map(({ key, id, deleted }) => [key, deleted ? (heads.get(id) ?? null) : id]))
}

/** The objects of a type that have one of these external ids, by `system id`. */
export async function externalOwners(
  db: OrgDb,
  org_id: number,
  type: string,
  keys: readonly { system: string; id: string }[],
): Promise<Map<string, number>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select k.system, k.external_id, k.object_id
        from unnest($3::text[], $4::text[]) as u(s, i)
        cross join lateral (
          select e.system, e.external_id, e.object_id from external_key e
          where e.org_id = $1::bigint and e.object_type = $2::text and e.system = u.s and e.external_id = u.i limit 1
        ) k`,
      params: [
        org_id,
        type,
        arrayLiteral(keys.map(({ system }) => system)),
        arrayLiteral(keys.map(({ id }) => id)),
      ],
    },
  ])
  return new Map(
    (rows ?? []).map(([system, id, owner]) => [
      `${String(system)} ${String(id)}`,
      Number(String(owner)),
    ]),
  )
}

function isTrue(cell: Buffer | null | undefined): boolean {
  return cell?.[0] === 0x74
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
    const list = result.get(Number(String(id)))
    if (list) list.push(blanks)
    else result.set(Number(String(id)), [blanks])
  }
  return result
}

/** The first of the source's runs of a stream that lie after a time, null when there is none. */
export async function runAfter(
  db: OrgDb,
  { org_id, source_id, stream }: Place,
  at: number,
): Promise<{ at: number; complete: boolean } | null> {
  const [run] = await db.query<{ valid_from: Date; complete: boolean }>(
    org_id,
    `select valid_from, bool_or(complete) as complete from stream_run
     where org_id = $1 and source_id = $2 and stream = $3 and valid_from > $4
     group by valid_from order by valid_from limit 1`,
    [org_id, source_id, stream, new Date(at)],
  )
  return run ? { at: run.valid_from.getTime(), complete: run.complete } : null
}

/** Notes that the stream was loaded as of a time. */
export async function saveRun(
  tx: Tx,
  { org_id, source_id, stream }: Place,
  run: { valid_from: Date; job_id: number; complete: boolean },
): Promise<void> {
  await tx.query(
    `insert into stream_run (org_id, source_id, stream, valid_from, job_id, complete)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [org_id, source_id, stream, run.valid_from, run.job_id, run.complete],
  )
}

/** The id of the adapter's source in the organization, null before its first load. */
export async function findSource(
  db: OrgDb,
  org_id: number,
  { name, kind }: { name: string; kind: string },
): Promise<number | null> {
  const [row] = await db.query<{ id: string }>(
    org_id,
    'select id from source where org_id = $1 and kind = $2 and name = $3',
    [org_id, kind, name],
  )
  return row ? Number(row.id) : null
}

/**
 * The id of the adapter's source in the organization, created on first use with the adapter's rank. Later its rank is the
 * organization's to change, and each load says that it is still heard of.
 */
export async function sourceId(
  db: OrgDb,
  org_id: number,
  { name, rank, kind }: { name: string; rank: number; kind: string },
): Promise<number> {
  const [id] = (await db.ids(1)) as [number]
  const rows = await db.query<{ id: string }>(
    org_id,
    `insert into source (org_id, id, kind, name, rank, created_at, seen_at, freshness_days) values ($1, $2, $6, $3, $4, $5, $5, 90)
     on conflict (org_id, kind, name) do update set seen_at = excluded.seen_at returning id`,
    [org_id, id, name, rank, new Date(), kind],
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

/** @param written whether the transaction has passed the write door: then the records carry the id it got there. */
export async function saveRecords(
  tx: Tx,
  { org_id, source_id }: Omit<Place, 'stream'>,
  stream: string,
  written: boolean,
  records: readonly RecordRow[],
): Promise<void> {
  const rows = records.filter((record) => !record.keep_hash)
  if (rows.length === 0) return
  await tx.query(
    `insert into source_record as s (org_id, source_id, stream, ext_key, object_id, row_hash, first_tx, last_tx, gone_tx)
     select $1::bigint, $2::bigint, $3::text, r.key, r.object_id, r.hash, w.tx, w.tx, case when r.gone then w.tx end
     from (select case when $4::boolean then currval('app.tx_seq') else 0 end) as w(tx), unnest($5::text[], $6::bigint[], $7::bigint[], $8::boolean[]) as r(key, object_id, hash, gone)
     on conflict (org_id, source_id, stream, ext_key) do update
     set row_hash = excluded.row_hash, last_tx = greatest(excluded.last_tx, s.last_tx), gone_tx = excluded.gone_tx`,
    [
      org_id,
      source_id,
      stream,
      written,
      textArray(rows.map(({ key }) => key)),
      bigintArray(rows.map(({ object_id }) => object_id)),
      bigintArray(rows.map(({ hash }) => BigInt(hash))),
      booleanArray(rows.map(({ gone }) => gone)),
    ],
  )
}

/** Notes blanks, and how they were before the job, so that it can be undone. */
export async function saveBlanks(
  tx: Tx,
  { org_id, source_id, job_id }: { org_id: number; source_id: number; job_id: number },
  blanks: readonly (Blanks & { object_id: number })[],
): Promise<void> {
  if (blanks.length === 0) return
  await tx.query(
    `with input as materialized (
       select r.object_id, r.valid_from, r.fields::text[] as fields
       from unnest($4::bigint[], $5::timestamptz[], $6::text[]) as r(object_id, valid_from, fields)
     ), before as (
       insert into job_blank (org_id, job_id, object_id, source_id, valid_from, fields)
       select $1::bigint, $3::bigint, i.object_id, $2::bigint, i.valid_from, (
         select b.fields from source_blank b where b.org_id = $1::bigint and b.object_id = i.object_id and b.source_id = $2::bigint
           and b.valid_from = i.valid_from)
       from input i on conflict do nothing
     )
     insert into source_blank (org_id, object_id, source_id, valid_from, fields)
     select $1::bigint, i.object_id, $2::bigint, i.valid_from, i.fields from input i
     on conflict (org_id, object_id, source_id, valid_from) do update set fields = excluded.fields`,
    [
      org_id,
      source_id,
      job_id,
      bigintArray(blanks.map(({ object_id }) => object_id)),
      timeArray(blanks.map(({ valid_from }) => valid_from)),
      textArray(blanks.map(({ fields }) => arrayLiteral(fields))),
    ],
  )
}

/** An object that a load may change. */
export interface Present {
  version: number
  contested: boolean
  deleted: boolean
  body: string
}

/** Present state of objects that an import may change; deleted ones say so. */
export async function presentRows(
  db: OrgDb,
  org_id: number,
  table: string,
  ids: readonly number[],
): Promise<Map<number, Present>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select id, version, contested, deleted_at is not null, body from ${table}
        where org_id = $1::bigint and id = any($2::bigint[])`,
      params: [org_id, `{${ids.join(',')}}`],
    },
  ])
  return new Map(
    (rows ?? []).map(([id, version, contested, deleted, body]) => [
      Number(String(id)),
      {
        version: Number(String(version)),
        contested: isTrue(contested),
        deleted: isTrue(deleted),
        body: String(body),
      },
    ]),
  )
}

/** Makes other writers of the objects wait for the transaction. */
export async function lockRows(
  tx: Tx,
  org_id: number,
  table: string,
  ids: readonly number[],
): Promise<void> {
  await tx.query(
    `select from ${table} where org_id = $1 and id = any($2::bigint[]) order by id for update`,
    [org_id, bigintArray(ids)],
  )
}

/** Keys of the source's records, a batch at a time in key order, with what they became. */
export async function recordsAfter(
  db: OrgDb,
  { org_id, source_id, stream }: Place,
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

/** How many records the source's latest run listed. */
export async function liveRecords(
  db: OrgDb,
  { org_id, source_id, stream }: Place,
): Promise<number> {
  const rows = await db.query<{ count: string }>(
    org_id,
    `select count(*) from source_record where org_id = $1 and source_id = $2 and stream = $3 and gone_tx is null`,
    [org_id, source_id, stream],
  )
  return Number(rows[0]?.count)
}
