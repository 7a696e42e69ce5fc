/** Requests per minute and key: an exact sliding window, and the headers that tell a client where it stands. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Config } from '../config.ts'
import { ApiError } from '../kit/errors.ts'
import type { Caller } from '../kit/types.ts'

const WINDOW_MS = 60_000

/** Times of the requests admitted within the last minute, as a ring that grows up to the quota. */
class Window {
  private times = new Float64Array(128)
  private first = 0
  count = 0

  /** Drops what has left the window. @returns milliseconds until the oldest request leaves it. */
  advance(now: number): number {
    while (this.count > 0 && (this.times[this.first] as number) <= now - WINDOW_MS) {
      this.first = (this.first + 1) % this.times.length
      this.count--
    }
    return this.count > 0 ? (this.times[this.first] as number) + WINDOW_MS - now : WINDOW_MS
  }

  add(now: number): void {
    if (this.count === this.times.length) this.grow()
    this.times[(this.first + this.count) % this.times.length] = now
    this.count++
  }

  private grow(): void {
    const larger = new Float64Array(this.times.length * 2)
    for (let i = 0; i < this.count; i++) {
      larger[i] = this.times[(this.first + i) % this.times.length] as number
    }
    this.times = larger
    this.first = 0
  }
}

/** Name and size of the quota a caller has. */
export function quotaOf(config: Config, caller: Caller): { policy: string; quota: number } {
  if (caller.environment === 'sandbox')
    return { policy: 'sandbox', quota: config.GRID_LIMIT_SANDBOX }
  if (caller.plan === 'enterprise')
    return { policy: 'enterprise', quota: config.GRID_LIMIT_ENTERPRISE }
  if (caller.plan === 'professional')
    return { policy: 'professional', quota: config.GRID_LIMIT_PROFESSIONAL }
  return { policy: 'community', quota: config.GRID_LIMIT_COMMUNITY }
}

export function limits(app: FastifyInstance): void {
  const windows = new Map<number, Window>()
  app.addHook('onRequest', (request, reply, done) => {
    const caller = request.caller as Caller | null
    if (!caller) return done()
    const now = performance.now()
    let window = windows.get(caller.key_id)
    if (!window) windows.set(caller.key_id, (window = new Window()))
    const { policy, quota } = quotaOf(app.config, caller)
    const reset_s = Math.ceil(window.advance(now) / 1_000)
    const admitted = window.count < quota
    if (admitted) window.add(now)
    limitHeaders(reply, policy, quota, quota - window.count, reset_s)
    if (admitted) return done()
    reply.header('retry-after', String(reset_s))
    done(
      new ApiError(
        'rate_limited',
        `${quota} requests per minute are allowed; try again in ${reset_s} s.`,
        {
          violated_policies: [policy],
          retry_after_s: reset_s,
        },
      ),
    )
  })
}

/** IETF draft-ietf-httpapi-ratelimit-headers-10 beside the older names. */
function limitHeaders(
  reply: FastifyReply,
  policy: string,
  quota: number,
  left: number,
  reset_s: number,
): void {
  reply.headers({
    'ratelimit-policy': `"${policy}";q=${quota};w=60`,
    ratelimit: `"${policy}";r=${left};t=${reset_s}`,
    'x-ratelimit-limit': quota,
    'x-ratelimit-remaining': left,
    'x-ratelimit-reset': reset_s,
  })
}
