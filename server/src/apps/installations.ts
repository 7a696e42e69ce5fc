/** Consents: installing an app in an organization, and ending it with everything it holds. */
import type { Db } from '../db/db.ts'
import { allow } from '../http/auth.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Happening } from '../kit/record.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Actor, Caller, OrgDb, Tx } from '../kit/types.ts'
import { SYSTEM } from '../organizations/service.ts'
import type { Secrets } from '../secrets.ts'
import { findApp } from './app-queries.ts'
import { installationView, isInstallable, OWNER_MOVES, requireMove } from './apps.ts'
import type { App, Installation } from './apps.ts'
import {
  endInstallation,
  findInstallation,
  insertInstallation,
  installationsOfApp,
  isOwnApp,
  lockInstallationOf,
  widenInstallation,
} from './installation-queries.ts'
import { getApp, patchApp } from './service.ts'
import type { By } from './service.ts'
import { endTokens } from './token-queries.ts'
import { installWebhook, uninstallWebhook, widenWebhook } from './webhook.ts'

/** Whether an organization may install an app it does not have yet. */
export async function maySee(db: OrgDb, org_id: number, app: App): Promise<boolean> {
  return isInstallable(app, await isOwnApp(db, org_id, app.org_id))
}

/**
 * The app and the scopes that a request wants to install.
 * @throws 422 for an app the organization cannot see and for scopes it does not ask for, 403 for what the key that
 *   consents does not hold itself.
 */
export async function readConsent(
  db: Db,
  caller: Caller,
  asked: { client_id: string; scopes: readonly Scope[] },
): Promise<App> {
  const id = idDigits('app', asked.client_id)
  const app = id === null ? null : await findApp(db, id)
  if (!app || !(await maySee(db, caller.org_id, app))) {
    const message = `no app has the id ${asked.client_id}`
    throw invalid([{ field: 'client_id', code: 'not_found', message }])
  }
  const foreign = asked.scopes.find((scope) => !app.scopes.includes(scope))
  if (foreign) {
    const message = `the app does not ask for ${foreign}`
    throw invalid([{ field: 'scopes', code: 'invalid_enum', message, allowed: app.scopes }])
  }
  for (const scope of asked.scopes) allow(caller, scope)
  return app
}

/** Who installs, and the ids that what is new gets. */
export interface Installing {
  org_id: number
  actor: Actor
  secrets: Secrets
  id: number
  webhook_id: number
}

/** @throws 409 when it is installed already. */
export async function installOnce(
  tx: Tx,
  by: Installing,
  app: App,
  scopes: readonly Scope[],
): Promise<Installation> {
  const present = await lockInstallationOf(tx, by.org_id, app.id)
  if (present) {
    const installation_id = publicId('inst', present.id)
    const detail = `${app.client_name} is installed already as ${installation_id}; uninstall it to consent anew.`
    throw new ApiError('conflict', detail, { installation_id })
  }
  return await install(tx, by, app, scopes)
}

/** Installs an app, or adds scopes to its installation. */
export async function installOrWiden(
  tx: Tx,
  by: Installing,
  app: App,
  scopes: readonly Scope[],
): Promise<Installation> {
  const present = await lockInstallationOf(tx, by.org_id, app.id)
  if (!present) return await install(tx, by, app, scopes)
  const all = [...new Set([...present.scopes, ...scopes])]
  if (all.length === present.scopes.length) return present
  await widenInstallation(tx, by.org_id, present.id, all)
  const installation = { ...present, scopes: all }
  await widenWebhook(tx, by, installation, app)
  await record(tx, by.org_id, by.actor, [
    {
      ...happening('app.consented', installation, false),
      changed: ['scope'],
      previous: { scope: present.scopes.join(' ') },
    },
  ])
  return installation
}

async function install(
  tx: Tx,
  by: Installing,
  app: App,
  scopes: readonly Scope[],
): Promise<Installation> {
  const { org_id, actor } = by
  const now = new Date().toISOString()
  const installation: Installation = {
    id: by.id,
    org_id,
    app_id: app.id,
    client_name: app.client_name,
    scopes: [...new Set(scopes)],
    installed_by: actor.name,
    webhook_id: null,
    created_at: now,
    updated_at: now,
    uninstalled_at: null,
  }
  if (!(await insertInstallation(tx, installation)))
    throw new ApiError('conflict', `${app.client_name} was just installed by another request.`)
  const webhook_id = await installWebhook(tx, by, installation, app)
  const installed = { ...installation, webhook_id }
  await record(tx, org_id, actor, [happening('app.installed', installed, true)])
  return installed
}

/** @throws 404 for what is not installed in this organization. */
export async function getInstallation(
  db: OrgDb,
  org_id: number,
  id: number,
): Promise<Installation> {
  const installation = await findInstallation(db, org_id, id)
  if (!installation) throw notFound(`Installation ${publicId('inst', id)}`)
  return installation
}

/** Uninstalls an app: its tokens end in the same transaction. @throws 404 for what is not installed. */
export async function uninstall(db: OrgDb, { org_id, actor }: By, id: number): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const installation = await endInstallation(tx, org_id, id)
    if (!installation) throw notFound(`Installation ${publicId('inst', id)}`)
    await endTokens(tx, org_id, id, null)
    await uninstallWebhook(tx, actor, installation)
    await record(tx, org_id, actor, [happening('app.uninstalled', installation, true)])
  })
}

/**
 * Removes an app: first wherever it is installed, then itself, so that a removal that breaks off can be repeated.
 * @throws 422 while it is offered: it is deprecated first.
 */
export async function removeApp(db: Db, by: By, id: number): Promise<void> {
  const { status } = await getApp(db, by.org_id, id)
  requireMove(OWNER_MOVES, status, 'removed')
  for (const { org_id, id: installed } of await installationsOfApp(db, id))
    await uninstall(db, { org_id, actor: SYSTEM }, installed)
  await patchApp(db, by, id, { status: 'removed' }, null)
}

/** @param told whether it is an event too, not only an audit entry. */
function happening(type: string, installation: Installation, told: boolean): Happening {
  const object = told ? installationView(installation) : null
  return { type, object_type: 'app_installation', object_id: installation.id, object }
}
