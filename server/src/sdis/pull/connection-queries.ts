/** SQL of connections. */
import { idDigits } from '../../kit/ids.ts'
import type { OrgDb, OrgRows, Tx } from '../../kit/types.ts'
import type { Secrets } from '../../secrets.ts'
import type { Connection } from './types.ts'

const COLUMNS = 'org_id, id, name, kind, settings, secret, version, created_at, updated_at'

/** bigint columns arrive as text. */
function connectionOf(row: Connection): Connection {
  const [org_id, id] = [row.org_id, row.id].map(Number)
  return { ...row, org_id, id } as Connection
}

export async function findConnection(
  db: OrgRows,
  org_id: number,
  id: number,
): Promise<Connection | undefined> {
  const rows = await db.query<Connection>(
    org_id,
    `select ${COLUMNS} from connection where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(connectionOf)[0]
}

/** The connection that an adapter names, by its id or its name. */
export async function findNamed(
  db: OrgRows,
  org_id: number,
  named: string,
): Promise<Connection | undefined> {
  const id = idDigits('cnx', named)
  if (id !== null) return await findConnection(db, org_id, id)
  const rows = await db.query<Connection>(
    org_id,
    `select ${COLUMNS} from connection where org_id = $1 and name = $2`,
    [org_id, named],
  )
  return rows.map(connectionOf)[0]
}

/** The connection, which nobody else may change before the transaction ends. */
export async function lockConnection(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<Connection | undefined> {
  const rows = await tx.query<Connection>(
    `select ${COLUMNS} from connection where org_id = $1 and id = $2 for update`,
    [org_id, id],
  )
  return rows.map(connectionOf)[0]
}

export async function listConnections(
  db: OrgDb,
  org_id: number,
  filter: { before: number | null; limit: number },
): Promise<Connection[]> {
  const rows = await db.query<Connection>(
    org_id,
    `select ${COLUMNS} from connection where org_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [org_id, filter.before, filter.limit],
  )
  return rows.map(connectionOf)
}

export async function countConnections(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    'select count(*) from connection where org_id = $1',
    [org_id],
  )
  return Number(row?.count)
}

export async function saveConnection(tx: Tx, connection: Connection): Promise<void> {
  await tx.query(
    `insert into connection (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict on constraint connection_pkey do update set name = excluded.name, settings = excluded.settings,
       secret = excluded.secret, version = excluded.version, updated_at = excluded.updated_at`,
    [
      connection.org_id,
      connection.id,
      connection.name,
      connection.kind,
      JSON.stringify(connection.settings),
      connection.secret,
      connection.version,
      connection.created_at,
      connection.updated_at,
    ],
  )
}

export async function deleteConnection(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query('delete from connection where org_id = $1 and id = $2', [org_id, id])
}

/** What the secret is sealed to: it opens nowhere else. */
export function secretContext(org_id: number, id: number): string {
  return `connection:${org_id}:${id}`
}

/** The secret itself; null without one. */
export function connectionSecret(
  secrets: Secrets,
  { org_id, id, secret }: Connection,
): string | null {
  return secret === null ? null : secrets.open(secret, secretContext(org_id, id))
}

/** Connections of all organizations whose secret another master key sealed. */
export async function sealedOtherwise(
  db: { flyControl: (sql: string, params: readonly string[]) => Promise<(Buffer | null)[][]> },
  key_id: string,
): Promise<{ org_id: number; id: number; sealed_by: string }[]> {
  const rows = await db.flyControl(
    'select org_id, id, sealed_by from app.connections_sealed_otherwise($1)',
    [key_id],
  )
  return rows.map(([org_id, id, sealed_by]) => ({
    org_id: Number(String(org_id)),
    id: Number(String(id)),
    sealed_by: String(sealed_by),
  }))
}
