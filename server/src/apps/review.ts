/** The operator's side of apps: reviewing what was submitted, stopping what harms. */
import type { Db } from '../db/db.ts'
import { SYSTEM } from '../organizations/service.ts'
import { record } from '../kit/record.ts'
import type { Secrets } from '../secrets.ts'
import { findApp, lockApp, revokeAppTokens } from './app-queries.ts'
import { installationView, isUsable, OPERATOR_MOVES, requireMove } from './apps.ts'
import type { App, AppStatus } from './apps.ts'
import { installationsOfApp } from './installation-queries.ts'
import { save, updated } from './service.ts'
import { installWebhook, uninstallWebhook } from './webhook.ts'

export { appsIn } from './app-queries.ts'

/**
 * Moves an app on. Suspending it ends its tokens in the same transaction; afterwards its webhooks go, and every
 * organization that has it installed is told.
 * @throws when there is no such app, or it may not move so.
 */
export async function moveApp(
  { db, secrets }: { db: Db; secrets: Secrets },
  id: number,
  status: AppStatus,
  reason: string | null,
): Promise<App> {
  const found = await findApp(db, id)
  if (!found) throw new Error(`there is no app_${id}`)
  const { org_id } = found
  const app = await db.transaction(org_id, async (tx) => {
    const before = (await lockApp(tx, org_id, id)) as App
    requireMove(OPERATOR_MOVES, before.status, status)
    const after = await save(tx, { ...before, status, status_reason: reason })
    if (!isUsable(after)) await revokeAppTokens(tx, id)
    await record(tx, org_id, SYSTEM, [updated(before, after)])
    return after
  })
  if (status === 'suspended') await stopInstallations(db, id, reason)
  if (found.status === 'suspended') await resumeInstallations(db, secrets, app)
  return app
}

/** Its webhooks go, and each organization hears of it. */
async function stopInstallations(db: Db, app_id: number, reason: string | null): Promise<void> {
  for (const installation of await installationsOfApp(db, app_id)) {
    const { org_id, id: object_id } = installation
    const object = installationView({ ...installation, webhook_id: null })
    const details = { reason }
    await db.transaction(org_id, async (tx) => {
      await uninstallWebhook(tx, SYSTEM, installation)
      await record(tx, org_id, SYSTEM, [
        { type: 'app.suspended', object_type: 'app_installation', object_id, object, details },
      ])
    })
  }
}

/** Its webhooks come back, for what happens from now on. */
async function resumeInstallations(db: Db, secrets: Secrets, app: App): Promise<void> {
  for (const installation of await installationsOfApp(db, app.id)) {
    const [webhook_id] = (await db.ids(1)) as [number]
    const by = { actor: SYSTEM, secrets, webhook_id }
    await db.transaction(
      installation.org_id,
      async (tx) => await installWebhook(tx, by, installation, app),
    )
  }
}
