/** Requests per minute by key, by organization and by what is asked for, and the headers that tell a client where it stands. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Config } from '../config.ts'
import { ApiError } from '../kit/errors.ts'
import { PLANS, SANDBOX } from '../kit/plans.ts'
import type { Limits } from '../kit/plans.ts'
import type { Caller } from '../kit/types.ts'
import { REFUSED } from './limiter.ts'
import type { Limiter } from './limiter.ts'

/** Limits of single endpoints, per organization and minute, by name. */
const small = new Map<string, number>()

/** Declares a limit of its own for endpoints that say so: `config: { scope, ...smallLimit('webhook_test', 30) }`. */
export function smallLimit(name: string, per_minute: number): { limit: string } {
  small.set(name, per_minute)
  return { limit: name }
}

smallLimit('webhook_test', 30)
smallLimit('webhook_replay', 30)
smallLimit('app_registration', 10)

/** One quota as answers name it. */
interface Policy {
  name: string
  quota: number
  /** Whose it is. Ids are unique over keys and organizations, so those stand for themselves. */
  subject: string | number
}

/** The limits of a plan, and of a sandbox whatever its plan, with what the settings say instead. */
export function limitsOf(
  config: Config,
  { environment, plan }: Pick<Caller, 'environment' | 'plan'>,
): Limits & { policy: string } {
  const policy = environment === 'sandbox' ? 'sandbox' : plan in PLANS ? plan : 'community'
  const known: Limits = policy === 'sandbox' ? SANDBOX : PLANS[policy as keyof typeof PLANS]
  const settings: Record<string, number | null> = {
    sandbox: config.GRID_LIMIT_SANDBOX,
    community: config.GRID_LIMIT_COMMUNITY,
    professional: config.GRID_LIMIT_PROFESSIONAL,
    enterprise: config.GRID_LIMIT_ENTERPRISE,
  }
  const per_key = settings[policy] ?? known.per_key
  const per_organization = Math.round((known.per_organization / known.per_key) * per_key)
  return { policy, per_key, per_organization }
}

export function limits(app: FastifyInstance, limiter: Limiter): void {
  const plans = new Map<string, ReturnType<typeof limitsOf>>()
  app.addHook('onRequest', (request, reply, done) => {
    const caller = request.caller as Caller | null
    if (!caller) return done()
    const name = caller.environment === 'sandbox' ? 'sandbox' : caller.plan
    let plan = plans.get(name)
    if (!plan) plans.set(name, (plan = limitsOf(app.config, caller)))
    // Tokens of an app are as many as it asks for; together they are one key.
    const subject = caller.installation_id ?? caller.key_id
    const key = { name: plan.policy, quota: plan.per_key, subject }
    const organization = {
      name: `${plan.policy}_organization`,
      quota: plan.per_organization,
      subject: caller.org_id,
    }
    const special = request.routeOptions.config.limit
    const policies = special
      ? [smallPolicy(special, caller), key, organization]
      : [key, organization]
    admit(limiter, policies, (left, error) => {
      if (error) return done(error)
      const refused = policies.find((_, i) => left[i] === REFUSED)
      const shown = refused ?? tightest(policies, left)
      const reset_s = limiter.reset_s(shown.subject)
      const remaining = refused ? 0 : (left[policies.indexOf(shown)] as number)
      limitHeaders(reply, shown, remaining, reset_s)
      done(refused ? exceeded(refused, reset_s) : undefined)
    })
  })
}

function exceeded({ name, quota }: Policy, reset_s: number): ApiError {
  const detail = `${quota} requests per minute are allowed; try again in ${reset_s} s.`
  return new ApiError('rate_limited', detail, {
    'violated-policies': [name],
    retry_after_s: reset_s,
  })
}

function smallPolicy(name: string, { org_id }: Caller): Policy {
  const quota = small.get(name)
  if (quota === undefined) throw new Error(`the limit ${name} was not declared`)
  return { name, quota, subject: `${name}:${org_id}` }
}

/**
 * Takes from every quota, or from none when one is used up; in the same tick where nothing has to be asked.
 * @param done gets what is left of each.
 */
function admit(
  limiter: Limiter,
  policies: readonly Policy[],
  done: (left: readonly number[], error?: Error) => void,
): void {
  const left: number[] = []
  const next = (): void => {
    const policy = policies[left.length]
    if (!policy) return done(left)
    const go = (remaining: number): void => {
      if (remaining === REFUSED)
        for (const { subject } of policies.slice(0, left.length)) limiter.giveBack(subject)
      left.push(remaining)
      if (remaining === REFUSED) done(left)
      else next()
    }
    const answer = limiter.take(policy.subject, policy.quota)
    if (typeof answer === 'number') return go(answer)
    answer.then(go, (error: Error) => done(left, error))
  }
  next()
}

/** The policy of which least is left, which is the one to mind. */
function tightest(policies: readonly Policy[], left: readonly number[]): Policy {
  return policies.reduce((a, b) =>
    (left[policies.indexOf(b)] as number) < (left[policies.indexOf(a)] as number) ? b : a,
  )
}

/** IETF draft-ietf-httpapi-ratelimit-headers-10 beside the older names. */
function limitHeaders(
  reply: FastifyReply,
  { name, quota }: Policy,
  left: number,
  reset_s: number,
): void {
  reply.headers({
    'ratelimit-policy': `"${name}";q=${quota};w=60`,
    ratelimit: `"${name}";r=${left};t=${reset_s}`,
    'x-ratelimit-limit': quota,
    'x-ratelimit-remaining': left,
    'x-ratelimit-reset': reset_s,
  })
}
