/** SQL of installations: an organization's consents to apps. */
import type { Db } from '../db/db.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { Scope } from '../kit/scopes.ts'
import type { Installation } from './apps.ts'

const LIVE = `select row_to_json(i) as installation from app_installation i where i.org_id = $1 and i.uninstalled_at is null`

interface Found {
  installation: Installation
}

export async function findInstallation(
  db: OrgDb,
  org_id: number,
  id: number,
): Promise<Installation | null> {
  const [row] = await db.query<Found>(org_id, `${LIVE} and i.id = $2`, [org_id, id])
  return row?.installation ?? null
}

/** Newest first. */
export async function listInstallations(
  db: OrgDb,
  org_id: number,
  filter: { app_id: number | null; before: number | null; limit: number },
): Promise<Installation[]> {
  const rows = await db.query<Found>(
    org_id,
    `${LIVE} and ($2::bigint is null or i.app_id = $2) and ($3::bigint is null or i.id < $3)
     order by i.id desc limit $4`,
    [org_id, filter.app_id, filter.before, filter.limit],
  )
  return rows.map(({ installation }) => installation)
}

/** The installation of an app, locked against others who install or uninstall it. */
export async function lockInstallationOf(
  tx: Tx,
  org_id: number,
  app_id: number,
): Promise<Installation | null> {
  const [row] = await tx.query<Found>(`${LIVE} and i.app_id = $2 for update`, [org_id, app_id])
  return row?.installation ?? null
}

/** An installation that cannot be uninstalled before the transaction ends. */
export async function holdInstallation(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<Installation | null> {
  const [row] = await tx.query<Found>(`${LIVE} and i.id = $2 for share`, [org_id, id])
  return row?.installation ?? null
}

/** Installations of an app, whatever the organization: all, or the one that is named. */
export async function installationsOfApp(
  db: Db,
  app_id: number,
  named: { id: number | null; org_id: number | null } = { id: null, org_id: null },
): Promise<Installation[]> {
  const rows = await db.flyControl(
    'select app.installations_of_app($1::bigint, $2::bigint, $3::bigint)',
    [app_id, named.id, named.org_id],
  )
  return rows.map((row) => JSON.parse(String(row[0])) as Installation)
}

/** @returns false when another request installed the app meanwhile. */
export async function insertInstallation(tx: Tx, installation: Installation): Promise<boolean> {
  const { id, org_id, app_id, client_name, scopes, installed_by, created_at, updated_at } =
    installation
  const rows = await tx.query(
    `insert into app_installation (org_id, id, app_id, client_name, scopes, installed_by, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (org_id, app_id) where uninstalled_at is null do nothing returning id`,
    [org_id, id, app_id, client_name, scopes, installed_by, created_at, updated_at],
  )
  return rows.length > 0
}

export async function widenInstallation(
  tx: Tx,
  org_id: number,
  id: number,
  scopes: readonly Scope[],
): Promise<void> {
  await tx.query(
    'update app_installation set scopes = $3, updated_at = $4 where org_id = $1 and id = $2',
    [org_id, id, scopes, new Date()],
  )
}

/** Keeps which webhook belongs to an installation. */
export async function noteWebhook(
  tx: Tx,
  org_id: number,
  id: number,
  webhook_id: number | null,
): Promise<void> {
  await tx.query('update app_installation set webhook_id = $3 where org_id = $1 and id = $2', [
    org_id,
    id,
    webhook_id,
  ])
}

/** @returns what was uninstalled; null when it is not installed. */
export async function endInstallation(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<Installation | null> {
  const [row] = await tx.query<Found>(
    `update app_installation i set uninstalled_at = $3, updated_at = $3
     where i.org_id = $1 and i.id = $2 and i.uninstalled_at is null returning row_to_json(i) as installation`,
    [org_id, id, new Date()],
  )
  return row?.installation ?? null
}

/** Whether an app is one of the organization's own: registered by itself, its parent or a child of it. */
export async function isOwnApp(db: OrgDb, org_id: number, app_org_id: number): Promise<boolean> {
  if (org_id === app_org_id) return true
  const rows = await db.query(
    org_id,
    `select id from organization where deleted_at is null
       and ((id = $1 and parent_organization_id = $2) or (id = $2 and parent_organization_id = $1))`,
    [org_id, app_org_id],
  )
  return rows.length > 0
}
