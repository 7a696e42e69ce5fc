/** SQL of reading the sealed audit log. */
import type { OrgDb } from '../kit/types.ts'
import { DIGEST_SQL } from './seal-queries.ts'

export interface SealedRow {
  position: string
  /** In hexadecimal digits. */
  hash: string
  body: string
  /** The entry that says that values of this one were erased, as the number of its transaction; null for most. */
  erased_tx: string | null
}

export interface AuditFilter {
  /** Patterns for `like`. */
  actions: readonly string[] | null
  object_id: number | null
  actor_id: string | null
  request_id: string | null
  since: string | null
  until: string | null
  /** Position of the last entry shown. */
  before: number | null
  limit: number
}

const COLUMNS = `s.position, encode(s.hash, 'hex') as hash, s.body, s.erased_tx`

/** Newest first. What happened from a time on was sealed from then on, so older partitions are not looked at. */
export async function listEntries(
  db: OrgDb,
  org_id: number,
  filter: AuditFilter,
): Promise<SealedRow[]> {
  return await db.query<SealedRow>(
    org_id,
    `select ${COLUMNS} from audit_seal s
     where s.org_id = $1
       and ($2::text[] is null or s.action like any($2))
       and ($3::bigint is null or s.object_id = $3)
       and ($4::text is null or s.actor_id = $4)
       and ($5::text is null or s.request_id = $5)
       and ($6::timestamptz is null or (s.happened_at >= $6 and s.at >= $6))
       and ($7::timestamptz is null or s.happened_at < $7)
       and ($8::bigint is null or s.position < $8)
     order by s.position desc limit $9`,
    [
      org_id,
      filter.actions,
      filter.object_id,
      filter.actor_id,
      filter.request_id,
      filter.since,
      filter.until,
      filter.before,
      filter.limit,
    ],
  )
}

export async function findEntry(
  db: OrgDb,
  org_id: number,
  tx_id: number,
  n: number,
): Promise<SealedRow | undefined> {
  const [row] = await db.query<SealedRow>(
    org_id,
    `select ${COLUMNS} from audit_seal s where s.org_id = $1 and s.tx_id = $2 and s.n = $3`,
    [org_id, tx_id, n],
  )
  return row
}

/** Entries from a position on, oldest first. */
export async function entriesFrom(
  db: OrgDb,
  org_id: number,
  from: number,
  to: number,
  limit: number,
): Promise<SealedRow[]> {
  return await db.query<SealedRow>(
    org_id,
    `select ${COLUMNS} from audit_seal s where s.org_id = $1 and s.position between $2 and $3 order by s.position limit $4`,
    [org_id, from, to, limit],
  )
}

/** First and last position sealed from one time on and before another; null when there is none. */
export async function positionsBetween(
  db: OrgDb,
  org_id: number,
  since: string | null,
  until: string | null,
): Promise<{ first: number; last: number } | null> {
  const [row] = await db.query<{ first: string | null; last: string | null }>(
    org_id,
    `select (select s.position from audit_seal s where s.org_id = $1 and ($2::timestamptz is null or s.at >= $2)
         order by s.position limit 1) as first,
       (select s.position from audit_seal s where s.org_id = $1 and ($3::timestamptz is null or s.at < $3)
         order by s.position desc limit 1) as last`,
    [org_id, since, until],
  )
  if (!row?.first || !row.last || Number(row.first) > Number(row.last)) return null
  return { first: Number(row.first), last: Number(row.last) }
}

/** Hash of the entry at a position, in hexadecimal digits; from the checkpoint when the entry was dropped. */
export async function hashAt(db: OrgDb, org_id: number, position: number): Promise<string | null> {
  const [row] = await db.query<{ hash: string | null }>(
    org_id,
    `select encode(coalesce(
       (select s.hash from audit_seal s where s.org_id = $1 and s.position = $2 limit 1),
       (select c.hash from audit_checkpoint c where c.org_id = $1 and c.position = $2)), 'hex') as hash`,
    [org_id, position],
  )
  return row?.hash ?? null
}

export interface CheckpointRow {
  position: string
  at: Date
  hash: string
  public_key: string
  signature: string
  /** Hash that the chain has there now; null when it has no such entry. */
  sealed_hash: string | null
  /** The partition it lies in was dropped. */
  dropped: boolean
}

const CHECKPOINT = `c.position, c.at, encode(c.hash, 'hex') as hash, encode(c.public_key, 'base64') as public_key,
  replace(encode(c.signature, 'base64'), e'\\n', '') as signature,
  (select encode(s.hash, 'hex') from audit_seal s where s.org_id = c.org_id and s.position = c.position limit 1) as sealed_hash,
  to_regclass('public.audit_seal_' || to_char(c.sealed_at at time zone 'UTC', 'YYYYMM')) is null as dropped`

/** Newest first. */
export async function listCheckpoints(
  db: OrgDb,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<CheckpointRow[]> {
  return await db.query<CheckpointRow>(
    org_id,
    `select ${CHECKPOINT} from audit_checkpoint c where c.org_id = $1 and ($2::bigint is null or c.position < $2)
     order by c.position desc limit $3`,
    [org_id, before, limit],
  )
}

/** Oldest first. */
export async function checkpointsFrom(
  db: OrgDb,
  org_id: number,
  from: number,
  to: number,
  limit: number,
): Promise<CheckpointRow[]> {
  return await db.query<CheckpointRow>(
    org_id,
    `select ${CHECKPOINT} from audit_checkpoint c where c.org_id = $1 and c.position between $2 and $3
     order by c.position limit $4`,
    [org_id, from, to, limit],
  )
}

/** The last position the chain should have: of its head, an entry or a checkpoint, whichever is furthest. */
export async function lastPosition(db: OrgDb, org_id: number): Promise<number> {
  const [row] = await db.query<{ last: string }>(
    org_id,
    `select greatest(
       (select h.position from audit_head h where h.org_id = $1),
       (select s.position from audit_seal s where s.org_id = $1 order by s.position desc limit 1),
       (select max(c.position) from audit_checkpoint c where c.org_id = $1), 0) as last`,
    [org_id],
  )
  return Number(row?.last)
}

export async function firstPosition(db: OrgDb, org_id: number): Promise<number | null> {
  const [row] = await db.query<{ position: string }>(
    org_id,
    'select s.position from audit_seal s where s.org_id = $1 order by s.position limit 1',
    [org_id],
  )
  return row ? Number(row.position) : null
}

/** How the canonical JSON of an entry begins and ends. */
const HEAD_SQL = `'{"action":' || to_json(s.action) || ',"actor":{"id":' || coalesce(to_json(s.actor_id)::text, 'null') || ','`
const TAIL_SQL = `('_' || s.object_id || '","object_type":"' || a.object_type || '","object_version":'
  || coalesce(nullif(a.version, 0)::text, 'null') || ',"organization_id":"org_' || s.org_id || '","position":' || s.position
  || ',"request_id":' || coalesce(to_json(s.request_id)::text, 'null') || '}')`

/** Bytes: to find a place in a text its characters would have to be counted. */
const ENDS_SQL = `substring(convert_to(s.body, 'UTF8') from octet_length(s.body) - octet_length(${TAIL_SQL}) + 1)
  = convert_to(${TAIL_SQL}, 'UTF8')`

/** Hash of what an erasure left of an entry, and what the entry that tells of the erasure says that it is. */
const REST_SQL = `encode(sha256(convert_to(s.body, 'UTF8')), 'hex')`
const NAMED_SQL = `(select e.details -> 'entries' ->> s.position::text from audit_entry e
  where e.org_id = $1 and e.tx_id = s.erased_tx and e.action = 'erasure.redacted' limit 1)`

/** What a batch of the chain came to. */
export interface Judged {
  entries: number
  /** Position and hash of the last entry of the batch. */
  position: number | null
  hash: string | null
  /** Of them those whose values were erased, as a later entry says. */
  erased: number
  fault_position: number | null
  fault: 'missing' | 'moved' | 'changed' | 'entry_missing' | 'entry_changed' | null
}

/**
 * Recomputes the hashes of a batch of the chain, compares the columns that entries are found by with what was hashed,
 * and looks whether the row each was made from is still the same. Keys of canonical JSON stand in order, so the text
 * before and behind the values is known; parsing it would take several times as long. What was erased of an entry is proved by
 * the entry that names it with the hash of the rest.
 * @param previous hash of the entry before the first, in hexadecimal digits.
 */
export async function judgeChain(
  db: OrgDb,
  org_id: number,
  from: number,
  to: number,
  previous: string,
): Promise<Judged> {
  const [row] = await db.query<Record<keyof Judged, string | null>>(
    org_id,
    `with judged as materialized (
       select s.position, s.hash, s.erased_tx, coalesce(lag(s.position) over w, $2 - 1) as before, case
         when s.position <> coalesce(lag(s.position) over w, $2 - 1) + 1 then 'missing'
         when s.erased_tx is not null then case when ${NAMED_SQL} is distinct from ${REST_SQL} then 'changed' end
         when s.hash <> sha256(coalesce(lag(s.hash) over w, decode($4, 'hex')) || convert_to(s.body, 'UTF8')) then
           case when substring(s.body from '"position":([0-9]+),"request_id":[^:]*}$') <> s.position::text then 'moved' else 'changed' end
         when a.n is null then 'entry_missing'
         when ${DIGEST_SQL} <> s.source_digest then 'entry_changed'
         when not starts_with(s.body, ${HEAD_SQL}) or not (${ENDS_SQL}) then 'changed' end as fault
       from audit_seal s
       left join audit_entry a on a.org_id = $1 and a.tx_id = s.tx_id and a.n = s.n and a.at = s.happened_at
       where s.org_id = $1 and s.position between $2 and $3
       window w as (order by s.position)
     ), bad as (
       select case j.fault when 'missing' then j.before + 1 else j.position end as position, j.fault
       from judged j where j.fault is not null order by j.position limit 1
     ), last as (
       select j.position, j.hash from judged j order by j.position desc limit 1
     )
     select (select count(*) from judged) as entries, (select count(erased_tx) from judged) as erased, (select position from last) as position,
       (select encode(hash, 'hex') from last) as hash, (select position from bad) as fault_position, (select fault from bad) as fault`,
    [org_id, from, to, previous],
  )
  const number = (text: string | null | undefined): number | null => (text ? Number(text) : null)
  return {
    entries: Number(row?.entries),
    erased: Number(row?.erased),
    position: number(row?.position),
    hash: row?.hash ?? null,
    fault_position: number(row?.fault_position),
    fault: (row?.fault ?? null) as Judged['fault'],
  }
}
