/** SQL of webhooks and of how they fare. */
import { patternSql } from '../events/feed.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Health, StoredSecret, Webhook, WebhookState } from './types.ts'

const COLUMNS = `org_id, id, url, description, events, state, reason, payload, ordering, coalesce_seconds, property_ids, max_concurrency,
  rate, redrive_on_recovery, schema_version, secrets, inbox_id, version, created_at, updated_at`

type WebhookRow = Omit<Webhook, 'org_id' | 'id' | 'inbox_id' | 'property_ids'> & {
  org_id: string
  id: string
  inbox_id: string | null
  property_ids: string[] | null
}

/** bigint columns arrive as text. */
function webhookOf(row: WebhookRow): Webhook {
  return {
    ...row,
    org_id: Number(row.org_id),
    id: Number(row.id),
    inbox_id: row.inbox_id === null ? null : Number(row.inbox_id),
    property_ids: row.property_ids?.map(Number) ?? null,
  }
}

export async function insertWebhook(tx: Tx, webhook: Webhook): Promise<void> {
  await tx.query(
    `insert into webhook (org_id, id, url, description, events, types, state, payload, ordering, coalesce_seconds, property_ids,
       max_concurrency, rate, redrive_on_recovery, schema_version, secrets, inbox_id, position, version, created_at, updated_at)
     select $1::bigint, $2::bigint, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
       coalesce((select t.first_seq + t.events - 1 from tx t where t.org_id = $1 and t.first_seq is not null
         order by t.first_seq desc, t.events desc limit 1), 0), 1, $18, $18`,
    [
      webhook.org_id,
      webhook.id,
      webhook.url,
      webhook.description,
      webhook.events,
      patternSql(webhook.events),
      webhook.state,
      webhook.payload,
      webhook.ordering,
      webhook.coalesce_seconds,
      webhook.property_ids,
      webhook.max_concurrency,
      webhook.rate,
      webhook.redrive_on_recovery,
      webhook.schema_version,
      JSON.stringify(webhook.secrets),
      webhook.inbox_id,
      webhook.created_at,
    ],
  )
  await tx.query('insert into webhook_health (org_id, webhook_id) values ($1, $2)', [
    webhook.org_id,
    webhook.id,
  ])
}

/** Writes what its owner chose, or what became of it. */
export async function updateWebhook(tx: Tx, webhook: Webhook): Promise<void> {
  await tx.query(
    `update webhook set url = $3, description = $4, events = $5, types = $6, state = $7, reason = $8, payload = $9, ordering = $10,
       coalesce_seconds = $11, property_ids = $12, max_concurrency = $13, rate = $14, redrive_on_recovery = $15, schema_version = $16,
       secrets = $17, inbox_id = $18, version = $19, updated_at = $20
     where org_id = $1 and id = $2`,
    [
      webhook.org_id,
      webhook.id,
      webhook.url,
      webhook.description,
      webhook.events,
      patternSql(webhook.events),
      webhook.state,
      webhook.reason,
      webhook.payload,
      webhook.ordering,
      webhook.coalesce_seconds,
      webhook.property_ids,
      webhook.max_concurrency,
      webhook.rate,
      webhook.redrive_on_recovery,
      webhook.schema_version,
      JSON.stringify(webhook.secrets),
      webhook.inbox_id,
      webhook.version,
      webhook.updated_at,
    ],
  )
}

export async function findWebhook(
  db: OrgDb,
  org_id: number,
  id: number,
): Promise<Webhook | undefined> {
  const rows = await db.query<WebhookRow>(
    org_id,
    `select ${COLUMNS} from webhook where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(webhookOf)[0]
}

/** The webhook, and nobody else may change it before the transaction ends. */
export async function lockWebhook(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<Webhook | undefined> {
  const rows = await tx.query<WebhookRow>(
    `select ${COLUMNS} from webhook where org_id = $1 and id = $2 for update`,
    [org_id, id],
  )
  return rows.map(webhookOf)[0]
}

export async function listWebhooks(
  db: Pick<OrgDb, 'query'>,
  org_id: number,
  filter: { state: WebhookState | null; before: number | null; limit: number },
): Promise<Webhook[]> {
  const rows = await db.query<WebhookRow>(
    org_id,
    `select ${COLUMNS} from webhook where org_id = $1 and ($2::text is null or state = $2) and ($3::bigint is null or id < $3)
     order by id desc limit $4`,
    [org_id, filter.state, filter.before, filter.limit],
  )
  return rows.map(webhookOf)
}

export async function countWebhooks(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    'select count(*) from webhook where org_id = $1',
    [org_id],
  )
  return Number(row?.count)
}

/** How deliveries to each of the webhooks fare. */
export async function healthOf(
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
): Promise<Map<number, Health>> {
  const rows = await db.query<Health & { webhook_id: string }>(
    org_id,
    `select h.webhook_id, h.last_success_at, h.last_failure_at, h.failures, h.failing_since, h.circuit, h.open_until, d.waiting, d.held
     from webhook_health h cross join lateral (
       select (count(*) filter (where d.state <> 'held'))::integer as waiting, (count(*) filter (where d.state = 'held'))::integer as held
       from delivery d where d.org_id = $1 and d.webhook_id = h.webhook_id) d
     where h.org_id = $1 and h.webhook_id = any($2)`,
    [org_id, ids],
  )
  return new Map(rows.map((row) => [Number(row.webhook_id), row]))
}

/** Forgets a webhook; what waited for it is cancelled, what is on its way is when it comes back. */
export async function deleteWebhook(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query('delete from webhook where org_id = $1 and id = $2', [org_id, id])
  await tx.query('delete from webhook_health where org_id = $1 and webhook_id = $2', [org_id, id])
  await tx.query(
    `update replay set state = 'cancelled', finished_at = now() where org_id = $1 and webhook_id = $2 and state = 'running'`,
    [org_id, id],
  )
  await cancelWaiting(tx, org_id, id, ['pending', 'held'], 'webhook_deleted', null)
}

/** Cancels what waits in one of the states. @param before only what was made before this time. */
export async function cancelWaiting(
  tx: Tx,
  org_id: number,
  id: number,
  states: readonly string[],
  reason: string,
  before: string | null,
): Promise<number> {
  const rows = await tx.query(
    `with gone as (
       delete from delivery d where d.org_id = $1 and d.webhook_id = $2 and d.state = any($3)
         and ($5::timestamptz is null or coalesce((select t.at from tx t where t.org_id = d.org_id and t.tx_id = d.tx_id), d.created_at) < $5)
       returning d.*
     )
     insert into delivery_log (org_id, webhook_id, id, at, tx_id, n, type, object_id, created_at, state, reason, trigger, replay_id,
       attempt, attempts, coalesced)
     select g.org_id, g.webhook_id, g.id, now(), g.tx_id, g.n, g.type, g.object_id, g.created_at, 'cancelled', $4, g.trigger, g.replay_id,
       g.attempt, g.attempts, g.coalesced from gone g returning 1`,
    [org_id, id, states, reason, before],
  )
  return rows.length
}

/** Holds what waits for a webhook that takes nothing now. */
export async function holdWaiting(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query(
    `update delivery set state = 'held' where org_id = $1 and webhook_id = $2 and state = 'pending'`,
    [org_id, id],
  )
}

/** Lets what was held go on, oldest first. */
export async function resumeHeld(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query(
    `update delivery set state = 'pending', next_at = now() where org_id = $1 and webhook_id = $2 and state = 'held'`,
    [org_id, id],
  )
}

/** Gives a webhook that is enabled again a fresh start. */
export async function resetHealth(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query(
    `update webhook_health set failures = 0, exhausted = 0, failing_since = null, warned_hours = 0, circuit = 'closed', open_until = null,
       open_s = 30, window_start = null, window_total = 0, window_failed = 0, pace = null
     where org_id = $1 and webhook_id = $2`,
    [org_id, id],
  )
}

/** Notes that the owner has been told. @returns false when another process has told already. */
export async function noteWarning(
  tx: Tx,
  org_id: number,
  id: number,
  hours: number,
): Promise<boolean> {
  const rows = await tx.query(
    `update webhook_health set warned_hours = $3 where org_id = $1 and webhook_id = $2 and warned_hours < $3 returning 1`,
    [org_id, id, hours],
  )
  return rows.length > 0
}

/** Which of the ids are no properties of the organization. */
export async function missingProperties(
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await db.query<{ id: string }>(
    org_id,
    `select i.id from unnest($2::bigint[]) as i(id)
     where not exists (select from property p where p.org_id = $1 and p.id = i.id and p.deleted_at is null)`,
    [org_id, ids],
  )
  return rows.map(({ id }) => Number(id))
}

export async function saveSecrets(
  tx: Tx,
  org_id: number,
  id: number,
  secrets: readonly StoredSecret[],
): Promise<void> {
  await tx.query('update webhook set secrets = $3 where org_id = $1 and id = $2', [
    org_id,
    id,
    JSON.stringify(secrets),
  ])
}

/** Webhooks of all organizations with secrets that another master key sealed. */
export async function sealedOtherwise(
  db: { flyControl: (sql: string, params: readonly string[]) => Promise<(Buffer | null)[][]> },
  key_id: string,
): Promise<{ org_id: number; webhook_id: number; sealed_by: string }[]> {
  const rows = await db.flyControl(
    'select org_id, webhook_id, sealed_by from app.secrets_sealed_otherwise($1)',
    [key_id],
  )
  return rows.map(([org_id, webhook_id, sealed_by]) => ({
    org_id: Number(String(org_id)),
    webhook_id: Number(String(webhook_id)),
    sealed_by: String(sealed_by),
  }))
}
