/** Refusals in the words of OAuth (RFC 6749 4.1.2.1 and 5.2), which its clients understand instead of problems. */
export type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'

export class OAuthError extends Error {
  readonly code: OAuthCode
  readonly status: 400 | 401

  /** @param description for the developer of the client; never shows a secret. */
  constructor(code: OAuthCode, description: string) {
    super(description)
    this.code = code
    this.status = code === 'invalid_client' ? 401 : 400
  }
}

/** Parameters of a request: each named once, empty ones left out (RFC 6749 3.1). */
export type Params = ReadonlyMap<string, string>

/** @throws `invalid_request` for a parameter that was sent twice. */
export function readParams(pairs: Iterable<readonly [string, string]>): Params {
  const params = new Map<string, string>()
  const seen = new Set<string>()
  for (const [name, value] of pairs) {
    if (seen.has(name)) throw new OAuthError('invalid_request', `${name} was sent more than once.`)
    seen.add(name)
    if (value !== '') params.set(name, value)
  }
  return params
}

/** @throws `invalid_request` when the parameter is missing. */
export function required(params: Params, name: string): string {
  const value = params.get(name)
  if (value !== undefined) return value
  throw new OAuthError('invalid_request', `${name} is missing.`)
}
