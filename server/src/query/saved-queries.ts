/** SQL of queries that are kept. */
import type { Row } from '../kit/resource.ts'
import type { OrgRows, Tx } from '../kit/types.ts'
import type { QueryBody } from './types.ts'

export interface SavedQuery {
  org_id: number
  id: number
  name: string
  description: string | null
  query: QueryBody
  defaults: Row
  version: number
  created_at: Date
  updated_at: Date
}

const COLUMNS = 'org_id, id, name, description, query, defaults, version, created_at, updated_at'

type SavedRow = Omit<SavedQuery, 'org_id' | 'id'> & { org_id: string; id: string }

/** bigint columns arrive as text. */
function savedOf(row: SavedRow): SavedQuery {
  return { ...row, org_id: Number(row.org_id), id: Number(row.id) }
}

export async function findSaved(
  db: OrgRows,
  org_id: number,
  id: number,
): Promise<SavedQuery | null> {
  const sql = `select ${COLUMNS} from saved_query where org_id = $1 and id = $2`
  const [row] = await db.query<SavedRow>(org_id, sql, [org_id, id])
  return row ? savedOf(row) : null
}

/** The same, unchanged until the transaction ends. */
export async function lockSaved(tx: Tx, org_id: number, id: number): Promise<SavedQuery | null> {
  const sql = `select ${COLUMNS} from saved_query where org_id = $1 and id = $2 for update`
  const [row] = await tx.query<SavedRow>(sql, [org_id, id])
  return row ? savedOf(row) : null
}

/** Newest first. */
export async function listSaved(
  db: OrgRows,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<SavedQuery[]> {
  const sql = `select ${COLUMNS} from saved_query where org_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`
  return (await db.query<SavedRow>(org_id, sql, [org_id, before, limit])).map(savedOf)
}

export async function countSaved(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    'select count(*)::integer as n from saved_query where org_id = $1',
    [org_id],
  )
  return row?.n ?? 0
}

/** @returns whether the name was free. */
export async function insertSaved(tx: Tx, saved: SavedQuery): Promise<boolean> {
  const rows = await tx.query(
    `insert into saved_query (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (org_id, name) do nothing returning id`,
    valuesOf(saved),
  )
  return rows.length === 1
}

/** @returns whether the name was free. */
export async function updateSaved(tx: Tx, saved: SavedQuery): Promise<boolean> {
  const rows = await tx.query(
    `update saved_query q set name = $3, description = $4, query = $5, defaults = $6, version = $7, created_at = $8, updated_at = $9
     where q.org_id = $1 and q.id = $2
       and not exists (select from saved_query o where o.org_id = $1 and o.name = $3 and o.id <> $2) returning q.id`,
    valuesOf(saved),
  )
  return rows.length === 1
}

export async function deleteSaved(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query('delete from saved_query where org_id = $1 and id = $2', [org_id, id])
}

function valuesOf(saved: SavedQuery): unknown[] {
  const { org_id, id, name, description, query, defaults, version, created_at, updated_at } = saved
  const documents = [JSON.stringify(query), JSON.stringify(defaults)]
  return [org_id, id, name, description, ...documents, version, created_at, updated_at]
}
