/** Inboxes: receivers on this host, to see deliveries without a server of one's own. */
import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { Db } from '../db/db.ts'
import { ApiError, notFound } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb } from '../kit/types.ts'
import {
  countInboxes,
  countRequests,
  deleteInbox,
  findInbox,
  inboxOf,
  inboxSecrets,
  inboxWithToken,
  insertInbox,
  keepRequest,
} from './inbox-queries.ts'
import type { Inbox, Received } from './inbox-queries.ts'
import type { SigningKeys } from './request.ts'
import { verify } from './signature.ts'
import { liveSecrets } from './types.ts'

/** Inboxes that an organization may have. */
const INBOXES_MAX = 20

export async function createInbox(
  db: OrgDb,
  org_id: number,
  status: number,
  base_url: string,
): Promise<Row> {
  const [id] = (await db.ids(1)) as [number]
  const token = randomBytes(24).toString('base64url')
  const inbox: Inbox = { id, token, status, created_at: new Date() }
  await db.transaction(org_id, async (tx) => {
    if ((await countInboxes(tx, org_id)) >= INBOXES_MAX)
      throw new ApiError('conflict', `An organization may have ${INBOXES_MAX} inboxes.`)
    await insertInbox(tx, org_id, inbox)
  })
  return inboxView(inbox, base_url, { total: 0, verified: 0 })
}

export async function getInbox(
  db: OrgDb,
  org_id: number,
  id: number,
  base_url: string,
): Promise<Row> {
  const inbox = await findInbox(db, org_id, id)
  if (!inbox) throw notFound(`Inbox ${publicId('inbox', id)}`)
  return inboxView(inbox, base_url, await countRequests(db, org_id, id))
}

export async function removeInbox(db: OrgDb, org_id: number, id: number): Promise<void> {
  if (!(await deleteInbox(db, org_id, id))) throw notFound(`Inbox ${publicId('inbox', id)}`)
}

function inboxView(
  { id, token, status, created_at }: Inbox,
  base_url: string,
  { total, verified }: { total: number; verified: number },
): Row {
  return {
    id: publicId('inbox', id),
    object: 'inbox',
    url: inboxUrl(base_url, token),
    answer_status: status,
    requests: total,
    verified,
    created_at: created_at.toISOString(),
  }
}

function inboxUrl(base_url: string, token: string): string {
  return `${base_url}/inbox/${token}`
}

/** The organization's own inbox that the URL is exactly that of, if any. */
export async function inboxAt(
  db: OrgDb,
  org_id: number,
  url: string,
  base_url: string,
): Promise<number | null> {
  const token = url.slice(inboxUrl(base_url, '').length)
  if (url !== inboxUrl(base_url, token) || !/^[\w-]{32}$/.test(token)) return null
  return await inboxWithToken(db, org_id, token)
}

/** Keeps a request with who signed it. @returns the status to answer. @throws 404 for an unknown token. */
export async function receive(
  db: Db,
  keys: SigningKeys,
  token: string,
  request: { headers: Record<string, string>; body: Buffer },
): Promise<number> {
  const inbox = await inboxOf(db, token)
  if (!inbox) throw notFound('This inbox')
  const { org_id, id, status } = inbox
  const { headers, body } = request
  const signer = await signerOf(db, keys, org_id, id, headers, body)
  const plain = isUtf8(body) && !body.includes(0)
  const [own] = (await db.ids(1)) as [number]
  const received: Received = {
    id: own,
    at: new Date(),
    headers,
    body: body.toString(plain ? 'utf8' : 'base64'),
    base64: !plain,
    webhook_id: signer?.webhook_id ?? null,
    secret_hint: signer?.hint ?? null,
  }
  await keepRequest(db, org_id, id, received)
  return status
}

/** The webhook with whose secret the request was signed, and which of its secrets it was. */
async function signerOf(
  db: OrgDb,
  keys: SigningKeys,
  org_id: number,
  inbox_id: number,
  headers: Record<string, string>,
  body: Buffer,
): Promise<{ webhook_id: number; hint: string } | null> {
  const now = Math.floor(Date.now() / 1_000)
  for (const webhook of await inboxSecrets(db, org_id, inbox_id)) {
    const place = verify(
      keys.of(webhook),
      headers['x-grid-signature'],
      headers['x-grid-event-id'],
      body,
      now,
    )
    const secret = place === null ? undefined : liveSecrets(webhook.secrets)[place]
    if (secret) return { webhook_id: webhook.id, hint: secret.hint }
  }
  return null
}

export function receivedView({ id, at, headers, body, base64, ...signed }: Received): Row {
  return {
    id: publicId('ireq', id),
    object: 'inbox_request',
    at: at.toISOString(),
    headers,
    body,
    body_base64: base64,
    verified: signed.webhook_id !== null,
    webhook_id: signed.webhook_id === null ? null : publicId('wh', signed.webhook_id),
    secret: signed.secret_hint,
  }
}
