/** Creating, changing, pausing and forgetting webhooks; each with its audit entry and event in the same transaction. */
import { invalid, notFound, ApiError } from '../kit/errors.ts'
import { earlierAnswer, rememberIn } from '../kit/idempotency.ts'
import { publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, OrgDb, Tx } from '../kit/types.ts'
import { versionConflict } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import { SYSTEM } from '../organizations/service.ts'
import { sealedBy } from '../secrets.ts'
import type { Secrets } from '../secrets.ts'
import {
  cancelWaiting,
  countWebhooks,
  deleteWebhook,
  findWebhook,
  healthOf,
  holdWaiting,
  insertWebhook,
  lockWebhook,
  missingProperties,
  noteWarning,
  resetHealth,
  resumeHeld,
  saveSecrets,
  sealedOtherwise,
  updateWebhook,
} from './queries.ts'
import { newSecret } from './signature.ts'
import { liveSecrets, secretContext, statsView, webhookView } from './types.ts'
import type { Choices, StoredSecret, Webhook } from './types.ts'

/** Webhooks that an organization may have. */
const WEBHOOKS_MAX = 100

/** Old secrets that may be in use beside the newest. */
const OLD_SECRETS_MAX = 2

/** What was answered: JSON, and whether it had been answered before. */
export interface Answer {
  body: string
  version: number
  replayed: boolean
}

export async function getWebhook(db: OrgDb, org_id: number, id: number): Promise<Webhook> {
  const webhook = await findWebhook(db, org_id, id)
  if (!webhook) throw notFound(`Webhook ${publicId('wh', id)}`)
  return webhook
}

/** The webhooks as their owner sees them, with how they fare. */
export async function viewsOf(
  db: OrgDb,
  org_id: number,
  webhooks: readonly Webhook[],
): Promise<Row[]> {
  const ids = webhooks.map(({ id }) => id)
  const health = await healthOf(db, org_id, ids)
  return webhooks.map((webhook) => {
    const own = health.get(webhook.id)
    return { ...webhookView(webhook), stats: own ? statsView(own) : null }
  })
}

/** A new webhook, with its secret in the answer this once. */
export async function createWebhook(
  store: Store,
  secrets: Secrets,
  request: WriteRequest,
  choices: Choices & { inbox_id: number | null },
): Promise<Answer> {
  const { org_id, actor } = request
  await requireProperties(store.db, org_id, choices.property_ids)
  const [id] = (await store.db.ids(1)) as [number]
  return await once(store, secrets, request, 201, async (tx) => {
    const { webhook, secret } = await addWebhook(tx, secrets, { org_id, actor, id }, choices)
    return { ...webhookView(webhook), stats: null, secret }
  })
}

/**
 * Adds a webhook in a transaction that may do more.
 * @throws 409 when the organization has too many.
 */
export async function addWebhook(
  tx: Tx,
  secrets: Secrets,
  { org_id, actor, id }: { org_id: number; actor: Actor; id: number },
  choices: Choices & { inbox_id: number | null },
): Promise<{ webhook: Webhook; secret: string }> {
  if ((await countWebhooks(tx, org_id)) >= WEBHOOKS_MAX)
    throw new ApiError('conflict', `An organization may have ${WEBHOOKS_MAX} webhooks.`)
  const secret = newSecret()
  const at = new Date()
  const webhook: Webhook = {
    ...choices,
    org_id,
    id,
    state: 'active',
    reason: null,
    secrets: [storedSecret(secrets, org_id, id, secret, at)],
    version: 1,
    created_at: at,
    updated_at: at,
  }
  await insertWebhook(tx, webhook)
  await tell(tx, actor, 'webhook.created', webhook)
  return { webhook, secret }
}

/**
 * Runs a change in one transaction with the answer that a repetition of the request gets. The answer holds a secret, so
 * it is kept sealed.
 */
async function once(
  store: Store,
  secrets: Secrets,
  request: WriteRequest,
  status: number,
  run: (tx: Tx) => Promise<Row>,
): Promise<Answer> {
  const { org_id, idempotency } = request
  const context = `answer:${org_id}:${idempotency?.key}`
  const before = await earlierAnswer(store, request)
  if (before) return { body: secrets.open(before.body, context), version: 1, replayed: true }
  return await store.db.transaction(org_id, async (tx) => {
    const answer = await run(tx)
    const body = JSON.stringify(answer)
    if (idempotency) {
      const kept = { ...idempotency, status, headers: {}, body: secrets.seal(body, context) }
      for (const { sql, params } of rememberIn(org_id, kept, new Date()))
        await tx.query(sql, params)
    }
    return { body, version: answer['version'] as number, replayed: false }
  })
}

function storedSecret(
  secrets: Secrets,
  org_id: number,
  id: number,
  secret: string,
  at: Date,
): StoredSecret {
  return {
    sealed: secrets.seal(secret, secretContext(org_id, id)),
    hint: `whsec_...${secret.slice(-4)}`,
    created_at: at.toISOString(),
    expires_at: null,
  }
}

async function requireProperties(
  db: OrgDb,
  org_id: number,
  ids: readonly number[] | null,
): Promise<void> {
  if (!ids) return
  const missing = await missingProperties(db, org_id, ids)
  const issues = missing.map((id) => ({
    field: 'property_ids',
    code: 'not_found',
    message: `no property has the id ${publicId('prop', id)}`,
  }))
  if (issues.length > 0) throw invalid(issues)
}

/** Writes the audit entry and the event of a change of a webhook. */
export async function tell(
  tx: Tx,
  actor: Actor,
  type: string,
  webhook: Webhook,
  before?: Webhook,
  details?: Row,
): Promise<void> {
  const [now, old] = [webhookView(webhook), before ? webhookView(before) : null]
  const changed = old
    ? Object.keys(now).filter(
        (name) =>
          !['version', 'updated_at'].includes(name) &&
          JSON.stringify(now[name]) !== JSON.stringify(old[name]),
      )
    : []
  await record(tx, webhook.org_id, actor, [
    {
      type,
      object_type: 'webhook',
      object_id: webhook.id,
      object: now,
      version: webhook.version,
      changed,
      previous: Object.fromEntries(changed.map((name) => [name, old?.[name]])),
      details: { url: webhook.url, ...details },
    },
  ])
}

/** Locks a webhook and has it changed. @throws 404 for none, 412 for another version than `expected`. */
async function change(
  db: OrgDb,
  org_id: number,
  id: number,
  expected: number | null,
  run: (tx: Tx, webhook: Webhook) => Promise<Webhook>,
): Promise<Webhook> {
  return await db.transaction(org_id, async (tx) => {
    const webhook = await lockWebhook(tx, org_id, id)
    if (!webhook) throw notFound(`Webhook ${publicId('wh', id)}`)
    if (expected !== null && webhook.version !== expected) throw versionConflict(webhook.version)
    return await run(tx, webhook)
  })
}

export function next(webhook: Webhook, changes: Partial<Webhook>): Webhook {
  const { version } = webhook
  return { ...webhook, ...changes, version: version + 1, updated_at: new Date() }
}

/** Changes what its owner chose; without a change, nothing is written. */
export async function patchWebhook(
  db: OrgDb,
  request: WriteRequest,
  id: number,
  choices: Partial<Choices> & { inbox_id?: number | null },
  expected: number | null,
): Promise<Webhook> {
  const { org_id, actor } = request
  await requireProperties(db, org_id, choices.property_ids ?? null)
  return await change(db, org_id, id, expected, async (tx, before) => {
    const after = next(before, choices)
    const same = { version: before.version, updated_at: before.updated_at }
    if (JSON.stringify({ ...after, ...same }) === JSON.stringify(before)) return before
    await updateWebhook(tx, after)
    await tell(tx, actor, 'webhook.updated', after, before)
    return after
  })
}

export async function removeWebhook(
  db: OrgDb,
  request: WriteRequest,
  id: number,
  expected: number | null,
): Promise<void> {
  await change(db, request.org_id, id, expected, async (tx, webhook) => {
    await deleteWebhook(tx, request.org_id, id)
    await tell(tx, request.actor, 'webhook.deleted', webhook)
    return webhook
  })
}

/** Takes nothing from now on; what waits and what is to come is held. */
export async function pauseWebhook(db: OrgDb, request: WriteRequest, id: number): Promise<Webhook> {
  return await change(db, request.org_id, id, null, async (tx, before) => {
    if (before.state !== 'active') {
      const message = `cannot change from ${before.state} to paused`
      throw invalid([{ field: 'state', code: 'invalid_transition', message, allowed: ['active'] }])
    }
    const after = next(before, { state: 'paused' })
    await updateWebhook(tx, after)
    await holdWaiting(tx, request.org_id, id)
    await tell(tx, request.actor, 'webhook.updated', after, before)
    return after
  })
}

/** What becomes of held deliveries when a webhook is enabled. */
export interface Resumption {
  held: 'replay' | 'drop'
  /** Only what happened from this time on is replayed. */
  since: string | null
}

/** Takes deliveries again, with a fresh start for its circuit. */
export async function enableWebhook(
  db: OrgDb,
  request: WriteRequest,
  id: number,
  { held, since }: Resumption,
): Promise<Webhook> {
  const { org_id, actor } = request
  return await change(db, org_id, id, null, async (tx, before) => {
    if (before.state === 'active') return before
    const after = next(before, { state: 'active', reason: null })
    await updateWebhook(tx, after)
    await resetHealth(tx, org_id, id)
    const dropped =
      held === 'drop' || since !== null
        ? await cancelWaiting(tx, org_id, id, ['held'], 'dropped', held === 'drop' ? null : since)
        : 0
    await resumeHeld(tx, org_id, id)
    await tell(tx, actor, 'webhook.updated', after, before, { held, since, dropped })
    return after
  })
}

/**
 * A new secret; the present one stays valid for `grace_seconds`. Without grace no old one does: what has leaked must not
 * be used any more.
 */
export async function rotateSecret(
  store: Store,
  secrets: Secrets,
  request: WriteRequest,
  id: number,
  grace_seconds: number,
): Promise<Answer> {
  const { org_id, actor } = request
  await getWebhook(store.db, org_id, id)
  return await once(store, secrets, request, 200, async (tx) => {
    const before = (await lockWebhook(tx, org_id, id)) as Webhook
    const at = new Date()
    const live = grace_seconds === 0 ? [] : liveSecrets(before.secrets, at.getTime())
    if (live.length > OLD_SECRETS_MAX) {
      const detail = `${OLD_SECRETS_MAX} old secrets are in use already; wait until one has ended, or rotate with grace_seconds 0.`
      throw new ApiError('conflict', detail)
    }
    const end = new Date(at.getTime() + grace_seconds * 1_000).toISOString()
    const old = live.map((one) => ({ ...one, expires_at: one.expires_at ?? end }))
    const secret = newSecret()
    const after = next(before, {
      secrets: [storedSecret(secrets, org_id, id, secret, at), ...old],
    })
    await updateWebhook(tx, after)
    await tell(tx, actor, 'webhook.secret_rotated', after, before, { grace_seconds })
    return { ...webhookView(after), stats: null, secret }
  })
}

/** Stops a webhook that is of no use: its receiver is gone, or has failed for days. What is to come is held. */
export async function suspendWebhook(
  db: OrgDb,
  org_id: number,
  id: number,
  reason: 'gone' | 'failing',
): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const before = await lockWebhook(tx, org_id, id)
    if (before?.state !== 'active') return
    const after = next(before, { state: 'suspended', reason })
    await updateWebhook(tx, after)
    await holdWaiting(tx, org_id, id)
    await tell(tx, SYSTEM, 'webhook.suspended', after, before, { reason })
  })
}

/** Tells that a webhook has had no success for so many hours, once. */
export async function warnOfFailing(
  db: OrgDb,
  org_id: number,
  id: number,
  hours: number,
): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const webhook = await lockWebhook(tx, org_id, id)
    if (!webhook || !(await noteWarning(tx, org_id, id, hours))) return
    await tell(tx, SYSTEM, 'webhook.failing', webhook, undefined, { hours })
  })
}

/** Seals every secret with the newest master key. @returns how many webhooks had another. */
export async function rewrapSecrets(
  db: OrgDb & Parameters<typeof sealedOtherwise>[0],
  secrets: Secrets,
): Promise<number> {
  const found = await sealedOtherwise(db, secrets.keyId)
  const webhooks = new Map(found.map(({ org_id, webhook_id }) => [webhook_id, org_id]))
  for (const [id, org_id] of webhooks) {
    await db.transaction(org_id, async (tx) => {
      const webhook = await lockWebhook(tx, org_id, id)
      if (!webhook) return
      const context = secretContext(org_id, id)
      const again = webhook.secrets.map((one) =>
        sealedBy(one.sealed) === secrets.keyId
          ? one
          : { ...one, sealed: secrets.rewrap(one.sealed, context) },
      )
      await saveSecrets(tx, org_id, id, again)
    })
  }
  return webhooks.size
}

/** @throws a sentence on what to do when a secret was sealed with a master key that is not at hand. */
export async function requireMasterKeys(
  db: Parameters<typeof sealedOtherwise>[0],
  secrets: Secrets,
): Promise<void> {
  const found = await sealedOtherwise(db, secrets.keyId)
  secrets.requireKeys([...new Set(found.map(({ sealed_by }) => sealed_by))])
}
