/** What other features may do with webhooks: have one of their own in an organization. */
import { sameValue } from '../kit/row.ts'
import type { Actor, OrgDb, Tx } from '../kit/types.ts'
import type { Secrets } from '../secrets.ts'
import { deleteWebhook, findWebhook, lockWebhook, updateWebhook } from './queries.ts'
import { next, tell } from './service.ts'
import { secretContext } from './types.ts'
import type { Choices } from './types.ts'

export { choicesOf } from './fields.ts'
export { listWebhooks } from './queries.ts'
export { addWebhook } from './service.ts'
export { targetIssue } from './target.ts'
export type { Rules } from './target.ts'
export type { Choices, Webhook } from './types.ts'

/** Changes what the owner of a webhook chose in a transaction that may do more; nothing when it is gone. */
export async function changeChoices(
  tx: Tx,
  { org_id, actor, id }: { org_id: number; actor: Actor; id: number },
  choices: Partial<Choices>,
): Promise<void> {
  const before = await lockWebhook(tx, org_id, id)
  if (!before) return
  const after = next(before, choices)
  const names = Object.keys(choices) as (keyof Choices)[]
  if (names.every((name) => sameValue(before[name], after[name]))) return
  await updateWebhook(tx, after)
  await tell(tx, actor, 'webhook.updated', after, before)
}

/** Removes a webhook in a transaction that may do more; nothing when it is gone. */
export async function dropWebhook(
  tx: Tx,
  { org_id, actor, id }: { org_id: number; actor: Actor; id: number },
): Promise<void> {
  const webhook = await lockWebhook(tx, org_id, id)
  if (!webhook) return
  await deleteWebhook(tx, org_id, id)
  await tell(tx, actor, 'webhook.deleted', webhook)
}

/** The present secret of a webhook, for the app that receives its deliveries; null when it is gone. */
export async function secretOf(
  db: OrgDb,
  secrets: Secrets,
  org_id: number,
  id: number,
): Promise<string | null> {
  const webhook = await findWebhook(db, org_id, id)
  const sealed = webhook?.secrets[0]?.sealed
  return sealed ? secrets.open(sealed, secretContext(org_id, id)) : null
}
