/** What an app may say of itself: addresses it is reached at, scopes and grant types that fit together. */
import type { Issue } from '../kit/errors.ts'
import { closest } from '../kit/validate.ts'
import { APP_SCOPES, parseScope } from './apps.ts'
import type { App } from './apps.ts'

const URL_MAX = 2_048

/** Hosts of the same machine, which a native app may listen on without TLS (RFC 8252). */
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])

/**
 * Why an address cannot be redirected to; null when it can. `https`, `http` on the same machine, or a scheme of the app's
 * own in reverse domain order (`com.example.app:/done`).
 */
export function redirectFault(text: string): string | null {
  const url = URL.canParse(text) && text.length <= URL_MAX ? new URL(text) : null
  if (!url) return 'must be an absolute address of at most 2,048 characters'
  if (text.includes('#')) return 'must not have a fragment'
  if (/[\s\\*]/.test(text)) return 'must be one exact address, without spaces and wildcards'
  if (url.username || url.password) return 'must not hold a user name or a password'
  if (url.protocol === 'https:') return null
  if (url.protocol === 'http:')
    return LOOPBACK.has(url.hostname) ? null : 'must be https unless it is on the same machine'
  return url.protocol.includes('.')
    ? null
    : 'must be https, http on the same machine, or a scheme such as com.example.app'
}

/** Why a web address cannot be shown; null when it can. */
export function webFault(text: string): string | null {
  const url = URL.canParse(text) && text.length <= URL_MAX ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) return 'must be a http or https address'
  return url.username || url.password ? 'must not hold a user name or a password' : null
}

/** What an app is made of, as a client says it. */
export type AppInput = Pick<
  App,
  | 'client_name'
  | 'description'
  | 'homepage_url'
  | 'redirect_uris'
  | 'grant_types'
  | 'auth_method'
  | 'webhook'
> & { scope: string }

/** Every failing field of an app's description of itself. */
export function appIssues(input: AppInput): Issue[] {
  const issues: Issue[] = scopeIssues(input.scope)
  const add = (field: string, code: string, message: string | null): void => {
    if (message) issues.push({ field, code, message })
  }
  for (const [i, uri] of input.redirect_uris.entries())
    add(`redirect_uris[${i}]`, 'invalid_address', redirectFault(uri))
  if (input.homepage_url) add('homepage_url', 'invalid_address', webFault(input.homepage_url))
  const grants = new Set(input.grant_types)
  if (grants.has('authorization_code') && input.redirect_uris.length === 0)
    add('redirect_uris', 'required', 'is required for the grant type authorization_code')
  if (grants.has('refresh_token') && !grants.has('authorization_code'))
    add('grant_types', 'invalid_combination', 'refresh_token comes with authorization_code')
  if (grants.has('client_credentials') && input.auth_method === 'none')
    add('grant_types', 'invalid_combination', 'client_credentials needs a client secret')
  return issues
}

function scopeIssues(text: string): Issue[] {
  const words = text.split(' ').filter((word) => word !== '')
  const issue = (code: string, message: string, more: Partial<Issue> = {}): Issue[] => [
    { field: 'scope', code, message, ...more },
  ]
  if (words.length === 0) return issue('required', 'must name at least one scope')
  const unknown = words.find((word) => !APP_SCOPES.some((scope) => scope === word))
  if (unknown === undefined) return []
  const suggestion = closest(unknown, APP_SCOPES)
  const message = parseScope(unknown)
    ? `${unknown} cannot be given to an app`
    : `unknown scope '${unknown}'`
  return issue('unknown_scope', message, {
    allowed: APP_SCOPES,
    ...(suggestion ? { suggestion } : {}),
  })
}

/** The fields in which an app that was reviewed asks for more than it did then. */
export function widened(before: App, after: App): Issue[] {
  const more = (field: string, old: readonly string[], now: readonly string[]): Issue[] =>
    now.every((value) => old.includes(value))
      ? []
      : [
          {
            field,
            code: 'needs_review',
            message: 'may only lose values once the app was submitted',
          },
        ]
  return [
    ...more('redirect_uris', before.redirect_uris, after.redirect_uris),
    ...more('scope', before.scopes, after.scopes),
    ...more('client_name', [before.client_name], [after.client_name]),
    ...more('webhook.url', urlsOf(before), urlsOf(after)),
  ]
}

function urlsOf({ webhook }: App): string[] {
  return webhook ? [webhook.url] : []
}
