/** Facts across objects, in the order of their transactions. */
import { ownSchema } from '../kit/extended.ts'
import { claimName, shownClaim } from '../kit/extension.ts'
import { ranksOf } from '../kit/history.ts'
import type { Known } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { claimView } from '../kit/shape.ts'
import type { Store } from '../kit/store.ts'
import { typesOf } from './object-queries.ts'

interface FactRow {
  tx_id: string
  object_id: string
  valid_from: Date
  field: string
  value: unknown
  /** Taken back instead of stated. */
  retracted: boolean
  valid_to: Date | null
  source_id: string
  confidence: number
  row_no: number | null
  at: Date
  actor_type: string
  actor_id: string | null
  actor_name: string
  job_id: string | null
  reason: string | null
}

/** Which facts are looked for; null is any. */
export interface FactFilter {
  job_id: number | null
  source_id: number | null
  object_id: number | null
  /** Names under which facts hold it. */
  attributes: readonly string[] | null
}

/** A fact with what it is paged by. */
export interface Found {
  view: Row
  object_id: number
  claim: Known
  field: string
  position: string
}

/**
 * Of a job by its transactions, of an object by its claims; otherwise by all transactions in turn.
 * @param after `tx:object:valid_from:field` of the last fact shown, or null.
 */
export async function factsWhere(
  store: Store,
  org_id: number,
  filter: Partial<FactFilter>,
  after: string | null,
  limit: number,
): Promise<Found[]> {
  const [tx = '0', object = '0', from = '0', ...field] = (after ?? '').split(':')
  const { job_id = null, source_id = null, object_id = null, attributes = null } = filter
  const rows = await store.db.query<FactRow>(
    org_id,
    `select t.tx_id, a.object_id, a.valid_from, f.key as field, f.value, f.retracted, a.valid_to, a.source_id, a.confidence, a.row_no,
       t.at, t.actor_type, t.actor_id, t.actor_name, t.job_id, t.reason
     from tx t
     join assertion a on a.org_id = t.org_id and a.tx_id = t.tx_id
     cross join lateral (
       select key, value, false as retracted from jsonb_each(a.attrs)
       union all select key, 'null'::jsonb, true from unnest(a.retracts) as r(key) where not a.attrs ? key
     ) as f
     where t.org_id = $1 and t.tx_id >= $2::bigint and (t.tx_id > $2::bigint or a.object_id >= $3::bigint)
       and (t.tx_id, a.object_id, a.valid_from, f.key) > ($2::bigint, $3::bigint, to_timestamp($4::numeric / 1000), $5::text)
       and ($6::bigint is null or t.job_id = $6) and ($7::bigint is null or a.source_id = $7)
       and ($8::bigint is null or a.object_id = $8) and ($9::text[] is null or f.key = any($9)) and f.key <> '_pin'
     order by t.tx_id, a.object_id, a.valid_from, f.key limit $10`,
    [
      org_id,
      tx || '0',
      object,
      from,
      field.join(':'),
      job_id,
      source_id,
      object_id,
      attributes,
      limit,
    ],
  )
  const ids = [...new Set(rows.map((row) => Number(row.object_id)))]
  const [sources, { registry: own }, types] = await Promise.all([
    ranksOf(store.db, org_id),
    ownSchema(store, org_id),
    typesOf(store.db, org_id, ids),
  ])
  return rows.map((row) => {
    const claim = claimOf(row)
    const id = Number(row.object_id)
    const { prefix = 'obj', name = '' } = types.get(id) ?? {}
    const { extensions = [] } = own.get(name) ?? {}
    return {
      view: {
        object_id: publicId(prefix, id),
        field: claimName(extensions, row.field),
        ...shownClaim(extensions, row.field, claimView(claim, row.field, sources)),
        ...(row.retracted ? { status: 'retracted' } : {}),
      },
      object_id: id,
      claim,
      field: row.field,
      position: `${row.tx_id}:${row.object_id}:${row.valid_from.getTime()}:${row.field}`,
    }
  })
}

function claimOf(row: FactRow): Known {
  return {
    source_id: Number(row.source_id),
    valid_from: row.valid_from.getTime(),
    valid_to: row.valid_to?.getTime() ?? null,
    tx_id: Number(row.tx_id),
    attrs: { [row.field]: row.value },
    retracts: null,
    confidence: row.confidence,
    recorded_at: row.at.getTime(),
    actor_type: row.actor_type,
    actor_id: row.actor_id,
    actor_name: row.actor_name,
    job_id: row.job_id === null ? null : Number(row.job_id),
    row_no: row.row_no,
    reason: row.reason,
  }
}
