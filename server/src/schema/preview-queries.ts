/** What a preview counts and reads. */
import { extensionKey } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import type { Tx } from '../kit/types.ts'

export interface StoredValue {
  id: string
  value: unknown
}

/** Values of a field in stored form, by the id of their object, above `after`. */
export async function valuesAfter(
  tx: Tx,
  org_id: number,
  { id, object_type }: Extension,
  after: number,
  limit: number,
): Promise<StoredValue[]> {
  const key = extensionKey(id)
  return await tx.query<StoredValue>(
    `select id, ext->'${key}' as value from ${object_type} where org_id = $1 and id > $2 and ext->'${key}' is not null
       and deleted_at is null order by id limit $3`,
    [org_id, after, limit],
  )
}

export async function countWebhooks(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    'select count(*)::int as count from webhook where org_id = $1',
    [org_id],
  )
  return row?.count ?? 0
}

/** How many objects there are of some types. */
export async function countObjects(
  tx: Tx,
  org_id: number,
  types: readonly string[],
): Promise<number> {
  if (types.length === 0) return 0
  const counts = types.map(
    (type) => `(select count(*) from ${type} where org_id = $1 and deleted_at is null)`,
  )
  const [row] = await tx.query<{ count: string }>(`select ${counts.join(' + ')} as count`, [org_id])
  return Number(row?.count ?? 0)
}
