/** Registering and changing apps, and their way from draft to removed. */
import { invalid, notFound, ApiError } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Happening } from '../kit/record.ts'
import type { Actor, OrgDb, Tx } from '../kit/types.ts'
import { targetIssue } from '../webhooks/index.ts'
import type { Rules } from '../webhooks/index.ts'
import { keyHash, newSecret } from '../http/auth.ts'
import { countApps, findOwnApp, lockApp, revokeAppTokens, saveApp } from './app-queries.ts'
import { appView, isUsable, OWNER_MOVES, parseScope, requireMove } from './apps.ts'
import type { App, AppStatus, ClientSecret, GrantType } from './apps.ts'
import { appIssues, widened } from './checks.ts'
import type { AppInput } from './checks.ts'

/** Apps an organization may have. */
const APPS_MAX = 100

/** Secrets of an app that may be live at once: the present one and the one before. */
const SECRETS_MAX = 2

const HOUR_MS = 60 * 60 * 1_000

/** The body of a registration, in the words of RFC 7591. */
export interface Registration {
  client_name: string
  description?: string | null
  homepage_url?: string | null
  redirect_uris?: string[]
  scope: string
  grant_types?: GrantType[]
  token_endpoint_auth_method?: App['auth_method']
  webhook?: App['webhook']
  visibility?: App['visibility']
}

export type AppPatch = Partial<
  Pick<
    Registration,
    'client_name' | 'description' | 'homepage_url' | 'redirect_uris' | 'scope' | 'webhook'
  >
> & { status?: AppStatus }

/** Who does it, and in which organization. */
export interface By {
  org_id: number
  actor: Actor
}

/**
 * Registers an app. A private one is for the organizations of its owner and needs no review.
 * @returns it, and its secret, which is shown once; null for an app that cannot keep one.
 * @throws 422 naming every failing field, 409 when the organization has too many apps.
 */
export async function registerApp(
  tx: Tx,
  { org_id, actor }: By,
  id: number,
  asked: Registration,
  rules: Rules,
): Promise<{ app: App; secret: string | null }> {
  if ((await countApps(tx, org_id)) >= APPS_MAX)
    throw new ApiError('conflict', `${APPS_MAX} apps are registered already; remove one first.`)
  const now = new Date().toISOString()
  const { visibility = 'private', token_endpoint_auth_method = 'client_secret_basic' } = asked
  const { scope, ...fields } = checked({
    client_name: asked.client_name,
    description: asked.description ?? null,
    homepage_url: asked.homepage_url ?? null,
    redirect_uris: asked.redirect_uris ?? [],
    grant_types: asked.grant_types ?? ['authorization_code', 'refresh_token'],
    auth_method: token_endpoint_auth_method,
    webhook: asked.webhook ?? null,
    scope: asked.scope,
  })
  requireTarget(fields.webhook, rules)
  const made = fields.auth_method === 'none' ? null : newClientSecret(now)
  const app: App = {
    ...fields,
    id,
    org_id,
    scopes: parseScope(scope) ?? [],
    visibility,
    status: visibility === 'private' ? 'published' : 'draft',
    status_reason: null,
    secrets: made ? [made.kept] : [],
    version: 1,
    created_at: now,
    updated_at: now,
  }
  await saveApp(tx, app)
  await record(tx, org_id, actor, [happening('app.registered', app, true)])
  return { app, secret: made?.text ?? null }
}

function checked(input: AppInput): AppInput {
  const issues = appIssues(input)
  if (issues.length > 0) throw invalid(issues)
  return input
}

function newClientSecret(now: string): { text: string; kept: ClientSecret } {
  const text = newSecret('grid_app_')
  const hash = keyHash(text).toString('hex')
  return { text, kept: { hash, hint: `…${text.slice(-4)}`, created_at: now, expires_at: null } }
}

/** @throws 422 for an address that no webhook may have. */
function requireTarget(webhook: App['webhook'], rules: Rules): void {
  const issue = webhook && targetIssue(webhook.url, rules)
  if (issue) throw invalid([{ ...issue, field: 'webhook.url' }])
}

/** @throws 404 for an app of another organization, and for one that was removed. */
export async function getApp(db: OrgDb, org_id: number, id: number): Promise<App> {
  const app = await findOwnApp(db, org_id, id)
  if (!app || app.status === 'removed') throw notFound(`App ${publicId('app', id)}`)
  return app
}

/**
 * A merge patch, the status among the fields. What a reviewed app asks for may only become less; when it does, or when the
 * app is removed, the tokens made before end at once.
 * @param version the version the caller has seen; null when it does not matter.
 * @param rules for the address of a webhook, where the patch may hold one.
 */
export async function patchApp(
  db: OrgDb,
  { org_id, actor }: By,
  id: number,
  patch: AppPatch,
  version: number | null,
  rules: Rules | null = null,
): Promise<App> {
  if (rules) requireTarget(patch.webhook ?? null, rules)
  return await db.transaction(org_id, async (tx) => {
    const before = await locked(tx, org_id, id)
    if (version !== null && version !== before.version) {
      const detail = `The app is at version ${before.version}, not ${version}.`
      throw new ApiError('version_conflict', detail)
    }
    const after = await save(tx, patched(before, patch))
    const less = before.scopes.some((old) => !after.scopes.includes(old))
    if (less || !isUsable(after)) await revokeAppTokens(tx, id)
    await record(tx, org_id, actor, [updated(before, after)])
    return after
  })
}

/** @throws 422 naming every field that may not become what the patch says. */
function patched(before: App, patch: AppPatch): App {
  const { scope = before.scopes.join(' '), status = before.status, ...fields } = patch
  checked({ ...before, ...fields, scope })
  const app: App = { ...before, ...fields, scopes: parseScope(scope) ?? [], status }
  const reviewed = before.visibility === 'public' && !/^(draft|rejected)$/.test(before.status)
  const issues = reviewed ? widened(before, app) : []
  if (issues.length > 0) throw invalid(issues)
  if (status === before.status) return app
  requireMove(OWNER_MOVES, before.status, status)
  if (status === 'submitted') requireComplete(app)
  return { ...app, status_reason: null, secrets: status === 'removed' ? [] : app.secrets }
}

/** @throws 422 when something is missing that others would want to know. */
function requireComplete(app: App): void {
  const missing = (['description', 'homepage_url'] as const).filter((field) => !app[field])
  if (missing.length === 0) return
  const message = 'is required before the app is submitted'
  throw invalid(missing.map((field) => ({ field, code: 'required', message })))
}

async function locked(tx: Tx, org_id: number, id: number): Promise<App> {
  const app = await lockApp(tx, org_id, id)
  if (!app || app.status === 'removed') throw notFound(`App ${publicId('app', id)}`)
  return app
}

/** Writes a changed app as its next version. */
export async function save(tx: Tx, app: App): Promise<App> {
  const next = { ...app, version: app.version + 1, updated_at: new Date().toISOString() }
  await saveApp(tx, next)
  return next
}

/**
 * Gives an app a new secret; the one before stays good for the overlap.
 * @throws 409 while the one before that is still good, 422 for an app without a secret.
 */
export async function rotateSecret(
  tx: Tx,
  { org_id, actor }: By,
  id: number,
  overlap_hours: number,
): Promise<{ app: App; secret: string }> {
  const before = await locked(tx, org_id, id)
  if (before.auth_method === 'none') {
    const message = 'is none: the app has no secret'
    throw invalid([{ field: 'token_endpoint_auth_method', code: 'no_secret', message }])
  }
  const now = Date.now()
  const live = liveSecrets(before, now)
  // With no overlap all secrets before end at once: that is how a leaked one is replaced.
  if (overlap_hours > 0 && live.length >= SECRETS_MAX) {
    const until = live.find(({ expires_at }) => expires_at)?.expires_at
    const detail = `Two secrets are good until ${until}; wait, or rotate with overlap_hours 0.`
    throw new ApiError('conflict', detail)
  }
  const end = new Date(now + overlap_hours * HOUR_MS).toISOString()
  const kept = overlap_hours > 0 ? live.map((old) => ({ ...old, expires_at: end })) : []
  const made = newClientSecret(new Date(now).toISOString())
  const app = await save(tx, { ...before, secrets: [made.kept, ...kept] })
  await record(tx, org_id, actor, [
    { ...happening('app.secret_rotated', app, false), details: { overlap_hours } },
  ])
  return { app, secret: made.text }
}

/** Secrets that are good now. @param now in milliseconds. */
export function liveSecrets(app: App, now: number): ClientSecret[] {
  return app.secrets.filter(({ expires_at }) => !expires_at || Date.parse(expires_at) > now)
}

const SHOWN = [
  'client_name',
  'description',
  'homepage_url',
  'redirect_uris',
  'scope',
  'webhook',
  'status',
  'status_reason',
] as const

/** A change of an app, with what it was before; others hear of a change of its status. */
export function updated(before: App, after: App): Happening {
  const [old, now] = [appView(before), appView(after)]
  const changed = SHOWN.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
  const previous = Object.fromEntries(changed.map((name) => [name, old[name]]))
  const moved = before.status !== after.status
  const type = moved ? 'app.status_changed' : 'app.updated'
  return { ...happening(type, after, moved), changed, previous }
}

/** @param told whether it is an event too, not only an audit entry. */
function happening(type: string, app: App, told: boolean): Happening {
  const { id: object_id, version } = app
  return { type, object_type: 'app', object_id, object: told ? appView(app) : null, version }
}
