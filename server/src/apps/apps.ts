/** What an app is, how it moves from draft to removed, and how the API shows it. */
import { invalid } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { ALL_SCOPES, isScope, PLAN_SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'

export const APP_STATUSES = [
  'draft',
  'submitted',
  'in_review',
  'approved',
  'published',
  'rejected',
  'suspended',
  'deprecated',
  'removed',
] as const

export type AppStatus = (typeof APP_STATUSES)[number]

export const GRANT_TYPES = ['authorization_code', 'refresh_token', 'client_credentials'] as const

export type GrantType = (typeof GRANT_TYPES)[number]

export const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const

/** A client secret as it is kept. */
export interface ClientSecret {
  /** SHA-256 of the text, in hex. */
  hash: string
  hint: string
  created_at: string
  /** When one that was replaced ends; null for the present one. */
  expires_at: string | null
}

export interface AppWebhook {
  url: string
  events: string[]
}

/** A row of app_registration; times as text. */
export interface App {
  id: number
  org_id: number
  /** Of the organization that registered it; present where others look at the app. */
  organization_name?: string
  status: AppStatus
  status_reason: string | null
  visibility: 'private' | 'public'
  client_name: string
  description: string | null
  homepage_url: string | null
  redirect_uris: string[]
  scopes: Scope[]
  grant_types: GrantType[]
  auth_method: (typeof AUTH_METHODS)[number]
  webhook: AppWebhook | null
  secrets: ClientSecret[]
  version: number
  created_at: string
  updated_at: string
}

/** A row of app_installation; times as text. */
export interface Installation {
  id: number
  org_id: number
  app_id: number
  client_name: string
  scopes: Scope[]
  installed_by: string
  webhook_id: number | null
  created_at: string
  updated_at: string
  uninstalled_at: string | null
}

/** Scopes with which an app could outlive its own removal: make keys or apps that nobody consented to. */
const NOT_FOR_APPS: readonly Scope[] = ['admin:keys', 'write:apps']

export const APP_SCOPES: readonly Scope[] = ALL_SCOPES.filter((s) => !NOT_FOR_APPS.includes(s))

type Moves = Partial<Record<AppStatus, readonly AppStatus[]>>

/** What the organization that registered an app may do with it. */
export const OWNER_MOVES: Moves = {
  draft: ['submitted', 'removed'],
  rejected: ['draft', 'removed'],
  approved: ['published'],
  published: ['deprecated'],
  deprecated: ['removed'],
}

/** What the operator decides. An app that its owner deprecated can be stopped as well. */
export const OPERATOR_MOVES: Moves = {
  submitted: ['in_review'],
  in_review: ['approved', 'rejected'],
  published: ['suspended'],
  deprecated: ['suspended'],
  suspended: ['published'],
}

/** @throws 422 `invalid_transition` naming the states that are allowed. */
export function requireMove(moves: Moves, from: AppStatus, to: AppStatus): void {
  const allowed = moves[from] ?? []
  if (allowed.includes(to)) return
  const message = `cannot change from ${from} to ${to}`
  throw invalid([{ field: 'status', code: 'invalid_transition', message, allowed }])
}

/** Whether tokens of the app work at all. */
export function isUsable({ status }: Pick<App, 'status'>): boolean {
  return status !== 'suspended' && status !== 'removed'
}

/**
 * Whether the app may be installed where it is not. Its own organizations may try out what nobody has reviewed; others
 * see what is published for everyone.
 */
export function isInstallable(app: Pick<App, 'status' | 'visibility'>, own: boolean): boolean {
  if (own) return isUsable(app) && app.status !== 'deprecated'
  return app.status === 'published' && app.visibility === 'public'
}

/** Scopes that the plan of an organization includes. */
export function withinPlan(scopes: readonly Scope[], plan: string): Scope[] {
  return scopes.filter((scope) => (PLAN_SCOPES[scope] ?? plan) === plan)
}

/** `read:leases read:parties`, each once, as OAuth writes scopes. @returns null when one is not known. */
export function parseScope(text: string): Scope[] | null {
  const scopes = [...new Set(text.split(' ').filter((word) => word !== ''))]
  return scopes.every(isScope) ? scopes : null
}

export function appView(app: App): Row {
  const id = publicId('app', app.id)
  return {
    id,
    object: 'app',
    organization_id: publicId('org', app.org_id),
    client_id: id,
    client_name: app.client_name,
    description: app.description,
    homepage_url: app.homepage_url,
    redirect_uris: app.redirect_uris,
    scope: app.scopes.join(' '),
    grant_types: app.grant_types,
    token_endpoint_auth_method: app.auth_method,
    webhook: app.webhook,
    visibility: app.visibility,
    status: app.status,
    status_reason: app.status_reason,
    secrets: app.secrets.map(({ hint, created_at, expires_at }) => ({
      hint,
      created_at,
      expires_at,
    })),
    version: app.version,
    created_at: isoTime(app.created_at),
    updated_at: isoTime(app.updated_at),
  }
}

export function installationView(installation: Installation): Row {
  return {
    id: publicId('inst', installation.id),
    object: 'app_installation',
    organization_id: publicId('org', installation.org_id),
    client_id: publicId('app', installation.app_id),
    client_name: installation.client_name,
    scope: installation.scopes.join(' '),
    installed_by: installation.installed_by,
    webhook_id: installation.webhook_id === null ? null : publicId('wh', installation.webhook_id),
    created_at: isoTime(installation.created_at),
    updated_at: isoTime(installation.updated_at),
  }
}

/** PostgreSQL's text of a time as the API writes times. */
export function isoTime(text: string): string {
  return new Date(text).toISOString()
}
