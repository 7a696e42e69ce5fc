/** SQL of inboxes and of what they received. */
import type { Db } from '../db/db.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { StoredSecret } from './types.ts'

/** Requests an inbox keeps; older ones go. */
const REQUESTS_MAX = 200

export interface Inbox {
  id: number
  token: string
  /** What it answers. */
  status: number
  created_at: Date
}

export interface Received {
  id: number
  at: Date
  headers: Record<string, string>
  body: string
  base64: boolean
  webhook_id: number | null
  secret_hint: string | null
}

type InboxRow = Omit<Inbox, 'id'> & { id: string }
type ReceivedRow = Omit<Received, 'id' | 'webhook_id'> & { id: string; webhook_id: string | null }

export async function insertInbox(tx: Tx, org_id: number, inbox: Inbox): Promise<void> {
  await tx.query(
    'insert into inbox (org_id, id, token, status, created_at) values ($1, $2, $3, $4, $5)',
    [org_id, inbox.id, inbox.token, inbox.status, inbox.created_at],
  )
}

export async function countInboxes(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>('select count(*) from inbox where org_id = $1', [
    org_id,
  ])
  return Number(row?.count)
}

export async function findInbox(db: OrgDb, org_id: number, id: number): Promise<Inbox | undefined> {
  const rows = await db.query<InboxRow>(
    org_id,
    'select id, token, status, created_at from inbox where org_id = $1 and id = $2',
    [org_id, id],
  )
  return rows.map((row) => ({ ...row, id: Number(row.id) }))[0]
}

/** The organization's inbox with this token. */
export async function inboxWithToken(
  db: OrgDb,
  org_id: number,
  token: string,
): Promise<number | null> {
  const [row] = await db.query<{ id: string }>(
    org_id,
    'select id from inbox where org_id = $1 and token = $2',
    [org_id, token],
  )
  return row ? Number(row.id) : null
}

/** Whose inbox a token is for. */
export async function inboxOf(
  db: Pick<Db, 'flyControl'>,
  token: string,
): Promise<{ org_id: number; id: number; status: number } | null> {
  const [row] = await db.flyControl('select org_id, id, status from app.find_inbox($1)', [token])
  if (!row) return null
  const [org_id, id, status] = row.map((cell) => Number(String(cell))) as [number, number, number]
  return { org_id, id, status }
}

/** Secrets of the webhooks that deliver to an inbox. */
export async function inboxSecrets(
  db: OrgDb,
  org_id: number,
  inbox_id: number,
): Promise<{ org_id: number; id: number; secrets: StoredSecret[] }[]> {
  const rows = await db.query<{ id: string; secrets: StoredSecret[] }>(
    org_id,
    'select id, secrets from webhook where org_id = $1 and inbox_id = $2 order by id',
    [org_id, inbox_id],
  )
  return rows.map(({ id, secrets }) => ({ org_id, id: Number(id), secrets }))
}

/** Keeps a request, and forgets the oldest when there are too many. */
export async function keepRequest(
  db: OrgDb,
  org_id: number,
  inbox_id: number,
  received: Received,
): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    await tx.query(
      `insert into inbox_request (org_id, inbox_id, id, at, headers, body, base64, webhook_id, secret_hint)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        org_id,
        inbox_id,
        received.id,
        received.at,
        JSON.stringify(received.headers),
        received.body,
        received.base64,
        received.webhook_id,
        received.secret_hint,
      ],
    )
    await tx.query(
      `delete from inbox_request where org_id = $1 and inbox_id = $2 and id <= (
         select r.id from inbox_request r where r.org_id = $1 and r.inbox_id = $2 order by r.id desc offset $3 limit 1)`,
      [org_id, inbox_id, REQUESTS_MAX],
    )
  })
}

/** What an inbox received, newest first. */
export async function listRequests(
  db: OrgDb,
  org_id: number,
  inbox_id: number,
  before: number | null,
  limit: number,
): Promise<Received[]> {
  const rows = await db.query<ReceivedRow>(
    org_id,
    `select id, at, headers, body, base64, webhook_id, secret_hint from inbox_request
     where org_id = $1 and inbox_id = $2 and ($3::bigint is null or id < $3) order by id desc limit $4`,
    [org_id, inbox_id, before, limit],
  )
  return rows.map((row) => ({
    ...row,
    id: Number(row.id),
    webhook_id: row.webhook_id === null ? null : Number(row.webhook_id),
  }))
}

export async function countRequests(
  db: OrgDb,
  org_id: number,
  inbox_id: number,
): Promise<{ total: number; verified: number }> {
  const [row] = await db.query<{ total: number; verified: number }>(
    org_id,
    `select count(*)::integer as total, (count(*) filter (where webhook_id is not null))::integer as verified
     from inbox_request where org_id = $1 and inbox_id = $2`,
    [org_id, inbox_id],
  )
  return row as { total: number; verified: number }
}

/** Forgets an inbox and what it received. @returns false when there was none. */
export async function deleteInbox(db: OrgDb, org_id: number, id: number): Promise<boolean> {
  return await db.transaction(org_id, async (tx) => {
    const gone = await tx.query('delete from inbox where org_id = $1 and id = $2 returning 1', [
      org_id,
      id,
    ])
    await tx.query('delete from inbox_request where org_id = $1 and inbox_id = $2', [org_id, id])
    return gone.length > 0
  })
}
