/** SQL of app registrations. Rows come as JSON: numbers are numbers, times are text. */
import type { Db } from '../db/db.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { App } from './apps.ts'

/** Any app that was not removed with its organization, whoever registered it. */
export async function findApp(db: Db, id: number): Promise<App | null> {
  const [row] = await db.flyControl('select app.find_app($1::bigint)', [id])
  const text = row?.[0]
  return text ? (JSON.parse(text.toString()) as App) : null
}

/** The same, and the app stays as it is until the transaction ends. */
export async function holdApp(tx: Tx, id: number): Promise<App | null> {
  const [row] = await tx.query<{ app: App | null }>('select app.hold_app($1) as app', [id])
  return row?.app ?? null
}

/** An app of the organization itself. */
export async function findOwnApp(db: OrgDb, org_id: number, id: number): Promise<App | null> {
  const [row] = await db.query<{ app: App }>(
    org_id,
    'select row_to_json(a) as app from app_registration a where org_id = $1 and id = $2',
    [org_id, id],
  )
  return row?.app ?? null
}

/** An app of the organization itself, locked until the transaction ends. */
export async function lockApp(tx: Tx, org_id: number, id: number): Promise<App | null> {
  const [row] = await tx.query<{ app: App }>(
    'select row_to_json(a) as app from app_registration a where org_id = $1 and id = $2 for update',
    [org_id, id],
  )
  return row?.app ?? null
}

/** Apps of the organization, newest first; removed ones only when asked for. */
export async function listApps(
  db: OrgDb,
  org_id: number,
  filter: { status: string | null; before: number | null; limit: number },
): Promise<App[]> {
  const rows = await db.query<{ app: App }>(
    org_id,
    `select row_to_json(a) as app from app_registration a
     where org_id = $1 and (status = $2 or ($2::text is null and status <> 'removed')) and ($3::bigint is null or id < $3)
     order by id desc limit $4`,
    [org_id, filter.status, filter.before, filter.limit],
  )
  return rows.map(({ app }) => app)
}

/** Apps of every organization, for the operator. */
export async function appsIn(db: Db, status: string | null): Promise<App[]> {
  const rows = await db.flyControl('select app.apps_in($1::text)', [status])
  return rows.map((row) => JSON.parse(String(row[0])) as App)
}

export async function countApps(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    `select count(*) from app_registration where org_id = $1 and status <> 'removed'`,
    [org_id],
  )
  return Number(row?.count)
}

/** Writes a new app, or all of one that was locked. */
export async function saveApp(tx: Tx, app: App): Promise<void> {
  await tx.query(
    `insert into app_registration (id, org_id, status, status_reason, visibility, client_name, description, homepage_url,
       redirect_uris, scopes, grant_types, auth_method, webhook, secrets, version, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
     on conflict (id) do update set status = excluded.status, status_reason = excluded.status_reason,
       client_name = excluded.client_name, description = excluded.description, homepage_url = excluded.homepage_url,
       redirect_uris = excluded.redirect_uris, scopes = excluded.scopes, webhook = excluded.webhook,
       secrets = excluded.secrets, version = excluded.version, updated_at = excluded.updated_at`,
    [
      app.id,
      app.org_id,
      app.status,
      app.status_reason,
      app.visibility,
      app.client_name,
      app.description,
      app.homepage_url,
      app.redirect_uris,
      app.scopes,
      app.grant_types,
      app.auth_method,
      app.webhook && JSON.stringify(app.webhook),
      JSON.stringify(app.secrets),
      app.version,
      app.created_at,
      app.updated_at,
    ],
  )
}

/** Ends every access token of an app, in every organization. */
export async function revokeAppTokens(tx: Tx, app_id: number): Promise<void> {
  await tx.query('select app.revoke_app_tokens($1)', [app_id])
}
