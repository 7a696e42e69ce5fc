/** SQL of sealing: which organizations are due, what is not sealed yet, and the sealed rows. */
import type { Db } from '../db/db.ts'
import { bigintArray, integerArray, textArray } from '../kit/arrays.ts'
import type { OrgRows, Tx } from '../kit/types.ts'
import type { WrittenEntry } from './entry.ts'

/** Organizations with entries to seal or to sign. */
export async function auditsDue(db: Db, most: number): Promise<number[]> {
  const rows = await db.flyControl('select app.audits_due($1::integer)', [most])
  return rows.map(([org_id]) => Number(String(org_id)))
}

/** The end of an organization's chain. */
export interface Head {
  position: number
  hash: Buffer
  /** When its last entry was sealed. */
  at: Date | null
  first_seq: string
  /** Transactions placed so far. */
  placed: string
  signed_position: number
  unsigned_since: Date | null
  now: Date
}

/** Takes the chain until the end of the transaction. @returns null when another has it. */
export async function takeAudit(tx: Tx, org_id: number): Promise<Head | null> {
  const [row] = await tx.query<Omit<Head, 'position' | 'signed_position'> & Numbers>(
    `select head_position as position, head_hash as hash, head_at as at, head_first_seq as first_seq, placed_now as placed,
       head_signed as signed_position, head_unsigned_since as unsigned_since, now() as now from app.take_audit($1)`,
    [org_id],
  )
  if (!row) return null
  return { ...row, position: Number(row.position), signed_position: Number(row.signed_position) }
}

/** bigints arrive as text. */
interface Numbers {
  position: string
  signed_position: string
}

/** Digest of a row `a` of audit_entry, to see later whether it is still the same. */
export const DIGEST_SQL = `substr(sha256(convert_to(concat_ws('|', a.action, a.object_type, a.object_id, a.version,
  a.changed::text, a.previous::text, a.details::text), 'UTF8')), 1, 16)`

/**
 * Entries of placed transactions that are not sealed, in the order of placing. Transactions without events share the
 * number of the next one, so what is sealed already is looked up rather than passed by.
 */
export async function unsealedEntries(
  tx: Tx,
  org_id: number,
  first_seq: string,
  limit: number,
): Promise<WrittenEntry[]> {
  return await tx.query<WrittenEntry>(
    `select a.tx_id, t.first_seq, a.n, a.at::text as at, a.action, a.object_type, a.object_id, a.version, a.changed, a.previous,
       a.details, encode(${DIGEST_SQL}, 'hex') as digest, t.actor_type, t.actor_id, t.actor_name, t.request_id, t.job_id, e.body,
       case when e.n is not null and e.body is null and a.changed <> '{}' then (
         select jsonb_agg(c.attrs order by c.valid_from) from assertion c
         where c.org_id = $1 and c.tx_id = a.tx_id and c.object_id = a.object_id) end as claims
     from tx t
     join audit_entry a on a.org_id = $1 and a.tx_id = t.tx_id and a.at = t.at
     left join event e on e.org_id = $1 and e.tx_id = a.tx_id and e.n = a.n and e.at = a.at
     where t.org_id = $1 and t.first_seq >= $2
       and (select true from audit_seal s where s.org_id = $1 and s.tx_id = a.tx_id and s.n = a.n limit 1) is null
     order by t.first_seq, t.tx_id, a.n limit $3`,
    [org_id, first_seq, limit],
  )
}

/** Whether entries written by a time wait to be sealed, and the time of the question. @param until null for any time. */
export async function unsealedBy(
  db: OrgRows,
  org_id: number,
  until: string | null,
): Promise<{ waits: boolean; now: string }> {
  const sql = `select now()::text as now, exists (select from app.unsealed_transactions($1)
    where $2::timestamptz is null or at <= $2::timestamptz) as waits`
  const [row] = await db.query<{ waits: boolean; now: string }>(org_id, sql, [org_id, until])
  return row as { waits: boolean; now: string }
}

/** An entry with its place in the chain. */
export interface Sealed {
  position: number
  hash: Buffer
  body: string
  entry: WrittenEntry
}

/** Writes sealed entries and checkpoints, and moves the head. */
export async function seal(
  tx: Tx,
  org_id: number,
  rows: { head: object; checkpoints: readonly object[]; at: string; seals: readonly Sealed[] },
): Promise<void> {
  const { head, checkpoints, at, seals } = rows
  const hex = seals.map(({ hash }) => hash.toString('hex'))
  const texts = (of: (entry: WrittenEntry) => string | null): Buffer =>
    textArray(seals.map(({ entry }) => of(entry)))
  const numbers = (of: (entry: WrittenEntry) => string): Buffer =>
    bigintArray(seals.map(({ entry }) => Number(of(entry))))
  await tx.query(
    `select app.seal_audit($1, $2::json, $3::json, $4::timestamptz, $5::bigint[], $6::text[], $7::bigint[], $8::integer[],
       $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[])`,
    [
      org_id,
      JSON.stringify(head),
      JSON.stringify(checkpoints),
      at,
      bigintArray(seals.map(({ position }) => position)),
      textArray(hex),
      numbers(({ tx_id }) => tx_id),
      integerArray(seals.map(({ entry }) => entry.n)),
      texts((entry) => entry.at),
      texts(({ action }) => action),
      numbers(({ object_id }) => object_id),
      texts(({ actor_id }) => actor_id),
      texts(({ request_id }) => request_id),
      texts(({ digest }) => digest),
      textArray(seals.map(({ body }) => body)),
    ],
  )
}
