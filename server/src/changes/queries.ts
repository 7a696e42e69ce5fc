/** The change feed: events of placed transactions, in the order of their numbers. */
import type { OrgDb } from '../kit/types.ts'

export interface ChangeRow {
  seq: string
  tx_id: string
  n: number
  at: Date
  object_type: string
  object_id: string
  operation: string
  version: number
  changed: string[]
  actor_type: string
  actor_id: string | null
  actor_name: string
  request_id: string | null
  job_id: string | null
}

/**
 * Events numbered above `after`. Only transactions that the sequencer has placed are seen, so none that was still open
 * is passed by. The inner bound finds the transaction the position lies in, so a page costs what it shows.
 */
export async function changesAfter(
  db: OrgDb,
  org_id: number,
  after: number,
  types: readonly string[] | null,
  limit: number,
): Promise<ChangeRow[]> {
  return await db.query<ChangeRow>(
    org_id,
    `select t.first_seq + e.n as seq, e.tx_id, e.n, e.at, e.object_type, e.object_id, e.operation, e.version, e.changed,
       t.actor_type, t.actor_id, t.actor_name, t.request_id, t.job_id
     from tx t join event e on e.org_id = t.org_id and e.tx_id = t.tx_id and e.at = t.at
     where t.org_id = $1
       and t.first_seq >= (select coalesce(max(b.first_seq), 0) from tx b where b.org_id = $1 and b.first_seq <= $2)
       and t.first_seq + e.n > $2 and e.operation is not null and ($3::text[] is null or e.object_type = any($3))
     order by t.first_seq, e.n limit $4`,
    [org_id, after, types, limit],
  )
}
