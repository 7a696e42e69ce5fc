/** SQL of pairs that are to stay two. */
import { inOrder } from '../db/db.ts'
import { ApiError } from '../kit/errors.ts'
import { record } from '../kit/record.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Doer } from './merge.ts'
import { pairView } from './views.ts'

export interface Pair {
  id: number
  object_type: string
  low_id: number
  high_id: number
  reason: string | null
  actor_type: string
  actor_id: string | null
  actor_name: string
  created_at: Date
}

const COLUMNS =
  'id, object_type, low_id, high_id, reason, actor_type, actor_id, actor_name, created_at'

type PairRow = Omit<Pair, NumberName> & Record<NumberName, string>

type NumberName = 'id' | 'low_id' | 'high_id'

function pairOf(row: PairRow): Pair {
  return { ...row, id: Number(row.id), low_id: Number(row.low_id), high_id: Number(row.high_id) }
}

/**
 * Notes under a new id that two objects are to stay two, and closes what asks whether they are one. A pair that is noted stays as it was.
 * @throws 409 `conflict` while they are merged, by themselves or by way of others.
 */
export async function keepApart(
  tx: Tx,
  { org_id, actor, store }: Pick<Doer, 'org_id' | 'actor' | 'store'>,
  object_type: string,
  { id, a, b, reason }: { id: number; a: number; b: number; reason: string | null },
): Promise<Pair> {
  const [low, high] = a < b ? [a, b] : [b, a]
  const [same] = await tx.prepared<{ one: boolean }>(
    `select count(distinct coalesce(m.head_id, i.id)) = 1 as one from unnest($2::bigint[]) as i(id)
     left join cluster_member m on m.org_id = $1 and m.object_id = i.id`,
    [org_id, [low, high]],
  )
  if (same?.one) throw new ApiError('conflict', 'Both are one object now; undo that merge instead.')
  const now = new Date()
  const [row] = await tx.prepared<PairRow>(
    `with noted as (
       insert into do_not_link (org_id, id, object_type, low_id, high_id, reason, actor_type, actor_id, actor_name, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (org_id, low_id, high_id) do nothing
       returning ${COLUMNS}
     )
     select * from noted union all
     select ${COLUMNS} from do_not_link where org_id = $1 and low_id = $4 and high_id = $5 limit 1`,
    [org_id, id, object_type, low, high, reason, actor.type, actor.id, actor.name, now],
  )
  const pair = pairOf(row as PairRow)
  await inOrder([
    tx.prepared(
      `update match_candidate set state = 'rejected', decided_at = $4, actor_type = $5, actor_id = $6, actor_name = $7
       where org_id = $1 and low_id = $2 and high_id = $3 and state = 'open'`,
      [org_id, low, high, now, actor.type, actor.id, actor.name],
    ),
    ...(pair.id === id
      ? [tellPair(tx, { org_id, actor, store }, 'do_not_link.created', pair)]
      : []),
  ])
  return pair
}

/** Audits what was said of a pair. */
export async function tellPair(
  tx: Tx,
  { org_id, actor, store }: Pick<Doer, 'org_id' | 'actor' | 'store'>,
  type: 'do_not_link.created' | 'do_not_link.deleted',
  pair: Pair,
): Promise<void> {
  const { objects, reason } = pairView(store.registry, pair)
  const of = { object_type: 'do_not_link', object_id: pair.id, object: null }
  await record(tx, org_id, actor, [{ type, ...of, details: { objects, reason } }])
}

/** Pairs below an id, latest first. */
export async function listPairs(
  db: OrgDb,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<Pair[]> {
  const rows = await db.query<PairRow>(
    org_id,
    `select ${COLUMNS} from do_not_link where org_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [org_id, before, limit],
  )
  return rows.map(pairOf)
}

/** Forgets the pair. @returns it, or undefined when there was none. */
export async function deletePair(tx: Tx, org_id: number, id: number): Promise<Pair | undefined> {
  const rows = await tx.prepared<PairRow>(
    `delete from do_not_link where org_id = $1 and id = $2 returning ${COLUMNS}`,
    [org_id, id],
  )
  return rows.map(pairOf)[0]
}
