/** The settings that can be taken from a sandbox to the organization it belongs to, each kind as one entry of a list. */
import { publicId } from '../kit/ids.ts'
import { rowsIn } from '../kit/once.ts'
import type { Row } from '../kit/resource.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Actor, OrgRows, Tx } from '../kit/types.ts'
import type { Secrets } from '../secrets.ts'
import { addWebhook, changeChoices, listWebhooks, targetIssue } from '../webhooks/index.ts'
import type { Choices, Rules, Webhook } from '../webhooks/index.ts'

/** One setting: what tells it from others of its kind, and what it says. */
export interface Item {
  key: string
  settings: Row
  /** Why it stays in the sandbox. */
  reason: string | null
}

/** What a kind is applied with. */
export interface Applying {
  tx: Tx
  org_id: number
  actor: Actor
  secrets: Secrets
  /** A new id, for what is created. */
  id: number
}

export interface Promotable {
  kind: string
  /** What the live key needs to have. */
  scope: Scope
  /** Every setting of the kind in an organization. */
  read: (db: OrgRows, org_id: number, rules: Rules) => Promise<Item[]>
  /** Writes one; settings are those of the sandbox. @returns what is shown this once, such as a secret. */
  create: (to: Applying, item: Item) => Promise<Row | null>
  update: (to: Applying, item: Item) => Promise<void>
}

/** More than an organization can have. */
const WEBHOOKS_MOST = 1_000

/** A webhook is told from others by its address. */
const webhooks: Promotable = {
  kind: 'webhooks',
  scope: 'write:webhooks',
  read: async (db, org_id, rules) =>
    (await all(db, org_id)).map((webhook) => itemOf(webhook, rules)),
  create: async ({ tx, secrets, ...by }, { key, settings }) => {
    const choices = { ...settings, url: key, property_ids: null } as unknown as Choices
    const made = await addWebhook(tx, secrets, by, { ...choices, inbox_id: null })
    return { id: publicId('wh', made.webhook.id), secret: made.secret }
  },
  update: async ({ tx, org_id, actor }, { key, settings }) => {
    for (const { id } of (await all(rowsIn(tx), org_id)).filter(({ url }) => url === key))
      await changeChoices(tx, { org_id, actor, id }, settings)
  },
}

async function all(db: OrgRows, org_id: number): Promise<Webhook[]> {
  return await listWebhooks(db, org_id, { state: null, before: null, limit: WEBHOOKS_MOST })
}

function itemOf(webhook: Webhook, rules: Rules): Item {
  const { url, description, events, payload, ordering, coalesce_seconds } = webhook
  const { max_concurrency, rate, redrive_on_recovery, schema_version } = webhook
  const settings = {
    description,
    events,
    payload,
    ordering,
    coalesce_seconds,
    max_concurrency,
    rate,
    redrive_on_recovery,
    schema_version,
  }
  return { key: url, settings, reason: reasonOf(webhook, rules) }
}

function reasonOf({ url, inbox_id, property_ids }: Webhook, rules: Rules): string | null {
  if (inbox_id !== null) return 'it delivers to an inbox of the sandbox'
  if (property_ids) return 'it is restricted to properties of the sandbox'
  return targetIssue(url, rules)?.message ?? null
}

/** In the order in which they are taken: what others name comes first. */
export const PROMOTABLE: readonly Promotable[] = [webhooks]
