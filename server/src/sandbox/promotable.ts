/** The settings that can be taken from a sandbox to the organization it belongs to, each kind as one entry of a list. */
import { publicId } from '../kit/ids.ts'
import { rowsIn } from '../kit/once.ts'
import type { Row } from '../kit/resource.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Actor, OrgDb, OrgRows, Tx } from '../kit/types.ts'
import { registry } from '../resources.ts'
import { additionsOf } from '../schema/index.ts'
import type { Addition } from '../schema/index.ts'
import { deployAtOnce } from '../schema/service.ts'
import { copiesOf, keepCopy } from '../sdis/adapters/copies.ts'
import type { AdapterCopy } from '../sdis/adapters/copies.ts'
import type { Secrets } from '../secrets.ts'
import { addWebhook, changeChoices, listWebhooks, targetIssue } from '../webhooks/index.ts'
import type { Choices, Rules, Webhook } from '../webhooks/index.ts'

/** One setting: what tells it from others of its kind, and what it says. */
export interface Item {
  key: string
  settings: Row
  /** Why it stays in the sandbox. */
  reason: string | null
  /** What goes with it when it is written, and makes no difference. */
  along?: Row
}

/** What a kind is applied with. */
export interface Applying {
  tx: Tx
  org_id: number
  actor: Actor
  secrets: Secrets
  ids: OrgDb['ids']
}

export interface Promotable {
  kind: string
  /** What the live key needs to have. */
  scope: Scope
  /** Every setting of the kind in an organization. */
  read: (db: OrgRows, org_id: number, rules: Rules) => Promise<Item[]>
  /** Writes new ones; settings are those of the sandbox. @returns what is shown this once, such as secrets. */
  create: (to: Applying, items: readonly Item[]) => Promise<Row[]>
  /** Null for what is left as the organization has it. */
  update: ((to: Applying, item: Item) => Promise<void>) | null
}

/** A field is told from others by its type and name. */
const fields: Promotable = {
  kind: 'fields',
  scope: 'deploy:schema',
  read: async (db, org_id) => (await additionsOf(db, org_id)).map(fieldItem),
  create: async ({ tx, org_id, actor, ids }, items) => {
    const operations = items.map(({ along }) => along as unknown as Addition['operation'])
    const by = { ids: await ids(operations.length + 1), confirm: [] }
    await deployAtOnce(tx, { registry }, { org_id, actor }, operations, by)
    return []
  },
  update: null,
}

function fieldItem({ operation, reason }: Addition): Item {
  const { op: _, object_type, api_name, ...settings } = operation
  const along = operation as unknown as Row
  return { key: `${object_type}.${api_name}`, settings: { ...settings }, reason, along }
}

/** An adapter is told from others by its name. */
const adapters: Promotable = {
  kind: 'adapters',
  scope: 'promote:adapters',
  read: async (db, org_id) => (await copiesOf(db, org_id)).map(adapterItem),
  create: async (to, items) => {
    for (const item of items) await keepAdapter(to, item)
    return []
  },
  update: keepAdapter,
}

function adapterItem(copy: AdapterCopy): Item {
  const { name, document, tested } = copy
  const reason = tested ? null : 'no version of it was tested'
  const settings = { tested: tested !== null, document }
  return { key: name, settings, reason, along: { ...copy } }
}

async function keepAdapter({ tx, ids, ...by }: Applying, { along }: Item): Promise<void> {
  const [id] = (await ids(1)) as [number]
  await keepCopy(tx, registry, by, id, along as unknown as AdapterCopy)
}

/** More than an organization can have. */
const WEBHOOKS_MOST = 1_000

/** A webhook is told from others by its address. */
const webhooks: Promotable = {
  kind: 'webhooks',
  scope: 'write:webhooks',
  read: async (db, org_id, rules) =>
    (await all(db, org_id)).map((webhook) => itemOf(webhook, rules)),
  create: async ({ tx, secrets, ids, ...by }, items) => {
    const shown: Row[] = []
    const new_ids = await ids(items.length)
    for (const [i, { key, settings }] of items.entries()) {
      const choices = { ...settings, url: key, property_ids: null } as unknown as Choices
      const to = { ...by, id: new_ids[i] as number }
      const made = await addWebhook(tx, secrets, to, { ...choices, inbox_id: null })
      shown.push({ key, id: publicId('wh', made.webhook.id), secret: made.secret })
    }
    return shown
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
export const PROMOTABLE: readonly Promotable[] = [fields, adapters, webhooks]
