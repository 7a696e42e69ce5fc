/** Which addresses a webhook may have. What its host resolves to is checked with every connection, in egress.ts. */
import { isIP } from 'node:net'
import { allowing } from '../addresses.ts'
import type { Config } from '../config.ts'
import type { Issue } from '../kit/errors.ts'

export const URL_MAX = 2_048

const PORT_MIN = 1_024
const LOW_PORTS = new Set(['443'])

/** Ports of services that are not receivers: databases, caches, queues, orchestration, mail. */
const DENIED_PORTS = new Set(
  [
    1_433, 1_521, 2_049, 2_181, 2_375, 2_376, 2_379, 2_380, 3_306, 3_389, 4_369, 5_432, 5_672,
    5_984, 6_379, 6_443, 8_500, 9_042, 9_092, 9_200, 9_300, 10_250, 11_211, 15_672, 27_017,
  ].map(String),
)

/** What the operator says of addresses. */
export type Rules = Pick<Config, 'GRID_ENV' | 'GRID_WEBHOOK_ALLOW_CIDRS'>

/** What is wrong with an address; null when a webhook may have it. */
export function targetIssue(text: string, rules: Rules): Issue | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const issue = (code: string, message: string): Issue => ({ field: 'url', code, message })
  if (!url || text.length > URL_MAX)
    return issue('invalid_format', `must be an address of at most ${URL_MAX} characters`)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const literal = isIP(host) !== 0
  const allowed = literal
    ? rules.GRID_WEBHOOK_ALLOW_CIDRS.length > 0 && allowing(rules.GRID_WEBHOOK_ALLOW_CIDRS)(host)
    : rules.GRID_WEBHOOK_ALLOW_CIDRS.length > 0 && host === 'localhost'
  const relaxed = allowed || rules.GRID_ENV === 'development'
  if (url.protocol !== 'https:' && !(relaxed && url.protocol === 'http:'))
    return issue('invalid_scheme', 'must begin with https://')
  if (url.username || url.password)
    return issue('invalid_format', 'must not hold a user name or a password')
  if (literal && !allowed)
    return issue('invalid_host', 'must name a host; an IP address is allowed by the operator only')
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  if (!relaxed && (DENIED_PORTS.has(port) || (Number(port) < PORT_MIN && !LOW_PORTS.has(port))))
    return issue('invalid_port', `must not use port ${port}`)
  return null
}
