/** SQL of sealing: which organizations are due, what is not sealed yet, and the sealed rows. */
import type { Db } from '../db/db.ts'
import type { Tx } from '../kit/types.ts'
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
       a.details, t.actor_type, t.actor_id, t.actor_name, t.request_id, t.job_id, e.body,
       case when e.n is not null and e.body is null and a.changed <> '{}' then (
         select jsonb_object_agg(v.key, v.value order by c.valid_from)
         from assertion c cross join lateral jsonb_each(c.attrs) v
         where c.org_id = $1 and c.tx_id = a.tx_id and c.object_id = a.object_id) end as claimed
     from tx t
     join audit_entry a on a.org_id = $1 and a.tx_id = t.tx_id and a.at = t.at
     left join event e on e.org_id = $1 and e.tx_id = a.tx_id and e.n = a.n and e.at = a.at
     where t.org_id = $1 and t.first_seq >= $2
       and (select true from audit_seal s where s.org_id = $1 and s.tx_id = a.tx_id and s.n = a.n limit 1) is null
     order by t.first_seq, t.tx_id, a.n limit $3`,
    [org_id, first_seq, limit],
  )
}

/** Writes sealed entries and checkpoints, and moves the head. */
export async function seal(
  tx: Tx,
  org_id: number,
  rows: { head: object; seals: readonly object[]; checkpoints: readonly object[] },
): Promise<void> {
  await tx.query('select app.seal_audit($1, $2::json, $3::json, $4::json)', [
    org_id,
    JSON.stringify(rows.head),
    JSON.stringify(rows.seals),
    JSON.stringify(rows.checkpoints),
  ])
}
