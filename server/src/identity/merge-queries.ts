/** SQL of merges: the log, the pointers, what stands in the way. */
import { inOrder } from '../db/db.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'

export interface Merge {
  id: number
  object_type: string
  winner_id: number
  loser_id: number
  rule: string
  score: number | null
  evidence: Row[]
  reason: string | null
  actor_type: string
  actor_id: string | null
  actor_name: string
  tx_id: number
  merged_at: Date
  unmerged_at: Date | null
}

const COLUMNS = `id, object_type, winner_id, loser_id, rule, score, evidence, reason, actor_type, actor_id, actor_name, tx_id,
  merged_at, unmerged_at`

type MergeRow = Omit<Merge, NumberName> & Record<NumberName, string>

type NumberName = 'id' | 'winner_id' | 'loser_id' | 'tx_id'

function mergeOf(row: MergeRow): Merge {
  return {
    ...row,
    id: Number(row.id),
    winner_id: Number(row.winner_id),
    loser_id: Number(row.loser_id),
    tx_id: Number(row.tx_id),
  }
}

/** Merges below an id, latest first. */
export async function listMerges(
  db: OrgDb,
  org_id: number,
  filter: {
    object_id: number | null
    state: string | null
    before: number | null
    limit: number
  },
): Promise<Merge[]> {
  const rows = await db.query<MergeRow>(
    org_id,
    `select ${COLUMNS} from object_merge where org_id = $1 and ($2::bigint is null or id < $2)
       and ($3::bigint is null or winner_id = $3 or loser_id = $3)
       and ($4::text is null or ($4 = 'merged') = (unmerged_at is null))
     order by id desc limit $5`,
    [org_id, filter.before, filter.object_id, filter.state, filter.limit],
  )
  return rows.map(mergeOf)
}

export async function findMerge(db: OrgDb, org_id: number, id: number): Promise<Merge | undefined> {
  const rows = await db.query<MergeRow>(
    org_id,
    `select ${COLUMNS} from object_merge where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(mergeOf)[0]
}

/** The same, kept from other changes until the transaction ends. */
export async function lockMerge(tx: Tx, org_id: number, id: number): Promise<Merge | undefined> {
  const rows = await tx.prepared<MergeRow>(
    `select ${COLUMNS} from object_merge where org_id = $1 and id = $2 for update`,
    [org_id, id],
  )
  return rows.map(mergeOf)[0]
}

/** An object as its table has it. */
export interface Present {
  id: number
  version: number
  contested: boolean
  deleted: boolean
  row: Row
}

/** The objects, in the order of their ids; writes of them and new references to them wait until the transaction ends. */
export async function lockObjects(
  tx: Tx,
  org_id: number,
  table: string,
  ids: readonly number[],
): Promise<Map<number, Present>> {
  const rows = await tx.prepared<{ id: string; body: string } & Omit<Present, 'id' | 'row'>>(
    `select id, version, contested, deleted_at is not null as deleted, body from ${table}
     where org_id = $1 and id = any($2::bigint[]) order by id for update`,
    [org_id, ids],
  )
  return new Map(
    rows.map(({ id, body, ...rest }) => [
      Number(id),
      { ...rest, id: Number(id), row: JSON.parse(body) as Row },
    ]),
  )
}

/** SQL of the members `part(head, id)` of the two clusters at $2 and $3. */
const PARTS = `with part(head, id) as (
    select $2::bigint, $2::bigint union all select $3::bigint, $3::bigint
    union all select m.head_id, m.object_id from cluster_member m where m.org_id = $1 and m.head_id in ($2::bigint, $3::bigint)
  )`

export interface Obstacles {
  /** Id of the pair that says that they are to stay two. */
  apart: number | null
  /** A source that lists both now, as two records of one stream. */
  same_source: { source: string; stream: string; keys: string[] } | null
}

/** What speaks against two clusters being one. */
export async function obstaclesTo(
  tx: Tx,
  org_id: number,
  a: number,
  b: number,
): Promise<Obstacles> {
  const [row] = await tx.prepared<{ apart: string | null } & Pick<Obstacles, 'same_source'>>(
    `${PARTS}, listed as (
       select p.head, r.source_id, r.stream, r.ext_key from part p
       join source_record r on r.org_id = $1 and r.object_id = p.id and r.gone_tx is null
     )
     select (
       select d.id from part x join part y on y.head <> x.head
       join do_not_link d on d.org_id = $1 and d.low_id = x.id and d.high_id = y.id limit 1
     ) as apart, (
       select json_build_object('source', coalesce(s.name, 'unknown'), 'stream', x.stream, 'keys', json_build_array(x.ext_key, y.ext_key))
       from listed x join listed y on y.source_id = x.source_id and y.stream = x.stream and y.head <> x.head
       left join source s on s.org_id = $1 and s.id = x.source_id
       where x.head = $2::bigint limit 1
     ) as same_source`,
    [org_id, a, b],
  )
  return { apart: row?.apart ? Number(row.apart) : null, same_source: row?.same_source ?? null }
}

/** Writes the merge into the log and lets the loser, with all that was merged into it, stand at the winner. */
export async function saveMerge(
  tx: Tx,
  org_id: number,
  merge: Merge,
  public_id: string,
): Promise<void> {
  const { id, object_type, winner_id, loser_id, actor_type, actor_id, actor_name } = merge
  await inOrder([
    tx.prepared(
      `insert into object_merge (org_id, id, object_type, winner_id, loser_id, rule, score, evidence, reason, actor_type, actor_id,
       actor_name, tx_id, merged_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
      [
        org_id,
        id,
        object_type,
        winner_id,
        loser_id,
        merge.rule,
        merge.score,
        JSON.stringify(merge.evidence),
        merge.reason,
        actor_type,
        actor_id,
        actor_name,
        merge.tx_id,
        merge.merged_at,
      ],
    ),
    tx.prepared('update cluster_member set head_id = $3 where org_id = $1 and head_id = $2', [
      org_id,
      loser_id,
      winner_id,
    ]),
    tx.prepared(
      'insert into cluster_member (org_id, object_id, head_id, object_type, public_id) values ($1, $2, $3, $4, $5)',
      [org_id, loser_id, winner_id, object_type, public_id],
    ),
    // What was still to be decided within the new cluster is.
    tx.prepared(
      `with part(id) as (
       select $2::bigint union all select object_id from cluster_member where org_id = $1 and head_id = $2::bigint
     )
     update match_candidate c set state = 'accepted', merge_id = $3, decided_at = $4, actor_type = $5, actor_id = $6, actor_name = $7
     where c.org_id = $1 and c.state = 'open' and c.low_id in (select id from part) and c.high_id in (select id from part)`,
      [org_id, winner_id, id, merge.merged_at, actor_type, actor_id, actor_name],
    ),
  ])
}

/** What was merged into an object, directly or not, by merges that hold. */
export async function partsOf(tx: Tx, org_id: number, id: number): Promise<number[]> {
  const rows = await tx.prepared<{ id: string }>(
    `with recursive part(id) as (
       select loser_id from object_merge where org_id = $1 and winner_id = $2 and unmerged_at is null
       union select g.loser_id from part p join object_merge g on g.org_id = $1 and g.winner_id = p.id and g.unmerged_at is null
     ) select id from part`,
    [org_id, id],
  )
  return rows.map((row) => Number(row.id))
}

/** Ends the merge and lets the loser stand for itself and for what was merged into it. */
export async function endMerge(
  tx: Tx,
  org_id: number,
  { id, loser_id }: Merge,
  parts: readonly number[],
  ended: { tx_id: number; at: Date },
): Promise<void> {
  await inOrder([
    tx.prepared(
      'update object_merge set unmerged_at = $3, unmerge_tx = $4 where org_id = $1 and id = $2',
      [org_id, id, ended.at, ended.tx_id],
    ),
    tx.prepared('delete from cluster_member where org_id = $1 and object_id = $2', [
      org_id,
      loser_id,
    ]),
    tx.prepared(
      'update cluster_member set head_id = $2 where org_id = $1 and object_id = any($3::bigint[])',
      [org_id, loser_id, parts],
    ),
  ])
}

/** Asks that what refers to an object follows it. */
export async function askToFollow(
  tx: Tx,
  org_id: number,
  object: { type: string; id: number },
  reread: boolean,
): Promise<void> {
  await tx.prepared(
    `insert into reference_move as m (org_id, object_id, object_type, reread, asked_at) values ($1, $2, $3, $4, clock_timestamp())
     on conflict (org_id, object_id) do update set reread = m.reread or excluded.reread, asked_at = excluded.asked_at`,
    [org_id, object.id, object.type, reread],
  )
}
