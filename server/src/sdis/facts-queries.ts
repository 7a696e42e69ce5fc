/** The facts a job wrote, in the order of its transactions. */
import { ownSchema } from '../kit/extended.ts'
import { claimName, shownClaim } from '../kit/extension.ts'
import { ranksOf } from '../kit/history.ts'
import type { Known } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { claimView } from '../kit/shape.ts'
import type { Store } from '../kit/store.ts'

interface FactRow {
  tx_id: string
  object_id: string
  object_type: string
  valid_from: Date
  field: string
  value: unknown
  valid_to: Date | null
  source_id: string
  confidence: number
  row_no: number | null
  at: Date
  actor_type: string
  actor_id: string | null
  actor_name: string
}

/** @param after `tx:object:valid_from:field` of the last fact shown, or null. */
export async function factsOfJob(
  store: Store,
  org_id: number,
  job_id: number,
  after: string | null,
  limit: number,
): Promise<{ view: Row; position: string }[]> {
  const [tx = '0', object = '0', from = '0', ...field] = (after ?? '').split(':')
  const rows = await store.db.query<FactRow>(
    org_id,
    `select t.tx_id, a.object_id, e.object_type, a.valid_from, f.key as field, f.value, a.valid_to, a.source_id, a.confidence, a.row_no,
       t.at, t.actor_type, t.actor_id, t.actor_name
     from tx t
     join assertion a on a.org_id = t.org_id and a.tx_id = t.tx_id
     join lateral (select e.object_type from event e where e.org_id = t.org_id and e.tx_id = t.tx_id limit 1) e on true
     cross join lateral jsonb_each(a.attrs) as f(key, value)
     where t.org_id = $1 and t.job_id = $2 and t.tx_id >= $3::bigint and (t.tx_id > $3::bigint or a.object_id >= $4::bigint)
       and (t.tx_id, a.object_id, a.valid_from, f.key) > ($3::bigint, $4::bigint, to_timestamp($5::numeric / 1000), $6::text)
     order by t.tx_id, a.object_id, a.valid_from, f.key limit $7`,
    [org_id, job_id, tx || '0', object, from, field.join(':'), limit],
  )
  const sources = await ranksOf(store.db, org_id)
  const { registry: own } = await ownSchema(store, org_id)
  return rows.map((row) => {
    const claim: Known = {
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
      job_id,
      row_no: row.row_no,
    }
    const prefix = store.registry.get(row.object_type)?.prefix ?? 'obj'
    const { extensions = [] } = own.get(row.object_type) ?? {}
    const view = {
      object_id: publicId(prefix, row.object_id),
      field: claimName(extensions, row.field),
      ...shownClaim(extensions, row.field, claimView(claim, row.field, sources)),
    }
    return {
      view,
      position: `${row.tx_id}:${row.object_id}:${row.valid_from.getTime()}:${row.field}`,
    }
  })
}
