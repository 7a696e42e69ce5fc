/** SQL of references that follow their objects. */
import type { Use } from '../kit/door.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'

export interface Move {
  object_id: number
  object_type: string
  reread: boolean
  /** With all the digits the database has, to see whether it was asked for again meanwhile. */
  asked_at: string
}

/** What is to follow, oldest first. */
export async function movesOf(db: OrgDb, org_id: number, limit: number): Promise<Move[]> {
  const rows = await db.query<Omit<Move, 'object_id'> & { object_id: string }>(
    org_id,
    `select object_id, object_type, reread, asked_at::text from reference_move where org_id = $1
     order by object_type, asked_at, object_id limit $2`,
    [org_id, limit],
  )
  return rows.map((row) => ({ ...row, object_id: Number(row.object_id) }))
}

/** Forgets what has followed and was not asked for again meanwhile. */
export async function endMoves(db: OrgDb, org_id: number, moves: readonly Move[]): Promise<void> {
  await db.query(
    org_id,
    `delete from reference_move m using unnest($2::bigint[], $3::text[]) as d(object_id, asked_at)
     where m.org_id = $1 and m.object_id = d.object_id and m.asked_at = d.asked_at::timestamptz`,
    [org_id, moves.map(({ object_id }) => object_id), moves.map(({ asked_at }) => asked_at)],
  )
}

/** Objects that refer to one by a field, at most `limit`. */
export async function usersOf(
  db: OrgDb,
  org_id: number,
  { table, column }: Use,
  id: number,
  limit: number,
): Promise<number[]> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select id from ${table} where org_id = $1::bigint and ${column} = $2::bigint and deleted_at is null order by id limit $3::integer`,
      params: [org_id, id, limit],
    },
  ])
  return (rows ?? []).map(([text]) => Number(String(text)))
}

/** Objects above an id whose JSON matches the pattern. */
export async function namersAfter(
  db: OrgDb,
  org_id: number,
  table: string,
  pattern: string,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await db.query<{ id: string }>(
    org_id,
    `select id from ${table} where org_id = $1 and id > $2 and deleted_at is null and body ~ $3 order by id limit $4`,
    [org_id, after, pattern, limit],
  )
  return rows.map(({ id }) => Number(id))
}

export interface Namer {
  id: number
  version: number
  contested: boolean
  row: Row
}

export async function namers(
  db: OrgDb,
  org_id: number,
  table: string,
  ids: readonly number[],
): Promise<Namer[]> {
  const rows = await db.query<Omit<Namer, 'id' | 'row'> & { id: string; body: string }>(
    org_id,
    `select id, version, contested, body from ${table} where org_id = $1 and id = any($2::bigint[]) and deleted_at is null order by id`,
    [org_id, ids],
  )
  return rows.map(({ body, ...rest }) => ({
    ...rest,
    id: Number(rest.id),
    row: JSON.parse(body) as Row,
  }))
}

/** Lets the next load read the records of these objects again, though their rows be the same. */
export async function readAgain(tx: Tx, org_id: number, ids: readonly number[]): Promise<void> {
  await tx.query(
    'update source_record set row_hash = 0 where org_id = $1 and object_id = any($2::bigint[])',
    [org_id, ids],
  )
}
