/** The webhook that an app brings along: made with its installation, for what it may read, and gone with it. */
import type { Scope } from '../kit/scopes.ts'
import type { Actor, Tx } from '../kit/types.ts'
import { publicId } from '../kit/ids.ts'
import { registry } from '../resources.ts'
import type { Secrets } from '../secrets.ts'
import { addWebhook, changeChoices, choicesOf, dropWebhook } from '../webhooks/index.ts'
import type { App, Installation } from './apps.ts'
import { noteWebhook } from './installation-queries.ts'

/** Events that are not of a resource, by what they begin with, and the scope that reads what they tell of. */
const OTHERS: Readonly<Record<string, Scope>> = { job: 'read:jobs' }

/** What of the events an app wants the scopes let it read: of `*` the kinds, of others those of such a kind. */
export function readableEvents(wanted: readonly string[], scopes: readonly Scope[]): string[] {
  const kinds = [...registry.values()].map(({ name, scope }) => [name, `read:${scope}`] as const)
  const readable = [...kinds, ...Object.entries(OTHERS)].filter(([, scope]) =>
    scopes.some((held) => held === scope),
  )
  const found = wanted.flatMap((pattern) =>
    readable.flatMap(([kind]) => {
      if (pattern === '*') return [`${kind}.*`]
      return pattern.startsWith(`${kind}.`) ? [pattern] : []
    }),
  )
  return [...new Set(found)]
}

/** Who installs, and the id that a new webhook gets. */
interface Installing {
  actor: Actor
  secrets: Secrets
  webhook_id: number
}

/** @returns the webhook of the installation; null when the app wants none or may hear of nothing. */
export async function installWebhook(
  tx: Tx,
  { actor, secrets, webhook_id }: Installing,
  { org_id, id, scopes }: Installation,
  app: App,
): Promise<number | null> {
  const events = readableEvents(app.webhook?.events ?? [], scopes)
  if (!app.webhook || events.length === 0) return null
  const description = `${app.client_name} (${publicId('app', app.id)})`
  const choices = choicesOf({ url: app.webhook.url, events, description })
  const owner = { org_id, actor, id: webhook_id }
  await addWebhook(tx, secrets, owner, { ...choices, inbox_id: null })
  await noteWebhook(tx, org_id, id, webhook_id)
  return webhook_id
}

/** Follows the scopes of the installation: more of them may let the app hear of more. */
export async function widenWebhook(
  tx: Tx,
  by: Installing,
  installation: Installation,
  app: App,
): Promise<void> {
  const { org_id, webhook_id: id, scopes } = installation
  if (id === null) return void (await installWebhook(tx, by, installation, app))
  const events = readableEvents(app.webhook?.events ?? [], scopes)
  if (events.length > 0) await changeChoices(tx, { org_id, actor: by.actor, id }, { events })
}

export async function uninstallWebhook(
  tx: Tx,
  actor: Actor,
  { id, org_id, webhook_id }: Installation,
): Promise<void> {
  if (webhook_id === null) return
  await dropWebhook(tx, { org_id, actor, id: webhook_id })
  await noteWebhook(tx, org_id, id, null)
}
