/** SQL of references that wait for their object. */
import { textArray, timeArray } from '../kit/arrays.ts'
import { arrayLiteral } from '../kit/filter.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Place } from './record-queries.ts'

/** By what a related object is looked up: its key in a stream of the source, or what its fields say. */
export interface Lookup {
  type: string
  stream: string | null
  by: readonly string[] | null
}

/** A field of a record whose object has not arrived. */
export interface Pending {
  key: string
  object_type: string
  field: string
  lookup: Lookup
  value: string
}

/** A pending reference as it is stored. */
export interface Waiting extends Pending {
  source_id: number
  stream: string
  valid_from: Date
  /** The object of the record. */
  object_id: number
}

/**
 * The objects of a type with one of these values in a field, by value; null where several have it.
 * @param field a text column of the type.
 */
export async function objectsWith(
  db: OrgDb,
  org_id: number,
  { type, field }: { type: string; field: string },
  values: readonly string[],
): Promise<Map<string, number | null>> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select u.v, min(t.id), count(*) from unnest($2::text[]) as u(v)
        join ${type} t on t.org_id = $1::bigint and t.${field}::text = u.v and t.deleted_at is null
        group by u.v`,
      params: [org_id, arrayLiteral(values)],
    },
  ])
  return new Map(
    (rows ?? []).map(([value, id, count]) => [
      String(value),
      String(count) === '1' ? Number(String(id)) : null,
    ]),
  )
}

/** Notes references that wait, and forgets those of the records that wait no longer. */
export async function savePending(
  tx: Tx,
  { org_id, source_id, stream }: Place,
  at: Date,
  pending: readonly Pending[],
): Promise<void> {
  if (pending.length === 0) return
  await tx.query(
    `insert into pending_reference as p
       (org_id, source_id, stream, ext_key, field, object_type, target_type, target_stream, target_fields, value, valid_from)
     select $1::bigint, $2::bigint, $3::text, r.key, r.field, r.object_type, r.type, r.target_stream, r.fields::text[], r.value, r.at
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[])
       as r(key, field, object_type, type, target_stream, fields, value, at)
     on conflict (org_id, source_id, stream, ext_key, field) do update
     set target_type = excluded.target_type, target_stream = excluded.target_stream,
       target_fields = excluded.target_fields, value = excluded.value, valid_from = excluded.valid_from, filled_by = null`,
    [
      org_id,
      source_id,
      stream,
      textArray(pending.map(({ key }) => key)),
      textArray(pending.map(({ field }) => field)),
      textArray(pending.map(({ object_type }) => object_type)),
      textArray(pending.map(({ lookup }) => lookup.type)),
      textArray(pending.map(({ lookup }) => lookup.stream)),
      textArray(pending.map(({ lookup }) => lookup.by && arrayLiteral(lookup.by))),
      textArray(pending.map(({ value }) => value)),
      timeArray(pending.map(() => at.getTime())),
    ],
  )
}

/** Forgets what waits for the fields of these records. */
export async function dropPending(
  tx: Tx,
  { org_id, source_id, stream }: Place,
  settled: readonly { key: string; field: string }[],
): Promise<void> {
  if (settled.length === 0) return
  await tx.query(
    `delete from pending_reference p using unnest($4::text[], $5::text[]) as r(key, field)
     where p.org_id = $1 and p.source_id = $2 and p.stream = $3 and p.ext_key = r.key and p.field = r.field`,
    [
      org_id,
      source_id,
      stream,
      textArray(settled.map(({ key }) => key)),
      textArray(settled.map(({ field }) => field)),
    ],
  )
}

/** Notes that a job filled these fields; what they had waited for is kept, so that the job can be undone. */
export async function noteFilled(
  tx: Tx,
  { org_id, source_id, stream }: Place,
  job_id: number,
  filled: readonly { key: string; field: string }[],
): Promise<void> {
  await tx.query(
    `update pending_reference p set filled_by = $4 from unnest($5::text[], $6::text[]) as r(key, field)
     where p.org_id = $1 and p.source_id = $2 and p.stream = $3 and p.ext_key = r.key and p.field = r.field`,
    [
      org_id,
      source_id,
      stream,
      job_id,
      textArray(filled.map(({ key }) => key)),
      textArray(filled.map(({ field }) => field)),
    ],
  )
}

/** What a job filled waits again. */
export async function waitAgain(tx: Tx, org_id: number, job_id: number): Promise<void> {
  await tx.query(
    'update pending_reference set filled_by = null where org_id = $1 and filled_by = $2',
    [org_id, job_id],
  )
}

/** References that wait for an object of a type, a batch at a time in key order. */
export async function pendingAfter(
  db: OrgDb,
  org_id: number,
  target_type: string,
  after: Waiting | undefined,
  count: number,
): Promise<Waiting[]> {
  const rows = await db.query<{
    key: string
    source_id: string
    stream: string
    field: string
    object_type: string
    target_stream: string | null
    target_fields: string[] | null
    value: string
    valid_from: Date
    object_id: string
  }>(
    org_id,
    `select p.ext_key as key, p.source_id, p.stream, p.field, p.object_type, p.target_stream, p.target_fields, p.value,
       p.valid_from, s.object_id
     from pending_reference p join source_record s
       on s.org_id = p.org_id and s.source_id = p.source_id and s.stream = p.stream and s.ext_key = p.ext_key
     where p.org_id = $1 and p.target_type = $2 and p.filled_by is null
       and (p.source_id, p.stream, p.ext_key, p.field) > ($3::bigint, $4::text, $5::text, $6::text)
     order by p.source_id, p.stream, p.ext_key, p.field limit $7`,
    [
      org_id,
      target_type,
      after?.source_id ?? 0,
      after?.stream ?? '',
      after?.key ?? '',
      after?.field ?? '',
      count,
    ],
  )
  return rows.map(({ target_stream, target_fields, source_id, object_id, ...row }) => ({
    ...row,
    source_id: Number(source_id),
    object_id: Number(object_id),
    lookup: { type: target_type, stream: target_stream, by: target_fields },
  }))
}
