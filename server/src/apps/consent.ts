/** A person's consent on the page: proven with a key, kept as an installation, answered with a code. */
import type { Db } from '../db/db.ts'
import { newSecret } from '../http/auth.ts'
import type { Keys } from '../http/auth.ts'
import { ApiError } from '../kit/errors.ts'
import type { Caller } from '../kit/types.ts'
import { requestOf } from '../kit/write.ts'
import type { Secrets } from '../secrets.ts'
import { withinPlan } from './apps.ts'
import type { Asked, Target } from './authorization.ts'
import { listInstallations } from './installation-queries.ts'
import { installOrWiden, maySee } from './installations.ts'
import { insertGrant } from './token-queries.ts'
import { CODE_TTL_S } from './tokens.ts'

/** Why a person's consent does not count, said to that person. */
export class ConsentFault extends Error {
  readonly status: 401 | 403 | 429
  /** When to try again; null for now. */
  readonly retry_after_s: number | null

  constructor(status: 401 | 403 | 429, message: string, retry_after_s: number | null = null) {
    super(message)
    this.status = status
    this.retry_after_s = retry_after_s
  }
}

/** Who holds the key. @throws ConsentFault when it is not known or may not consent. */
export async function readConsenter(keys: Keys, key: string, address: string): Promise<Caller> {
  const caller = await keys.find(key, address).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 401)
      throw new ConsentFault(401, 'This API key is not known, was revoked or has expired.')
    if (error instanceof ApiError && error.status === 403)
      throw new ConsentFault(403, error.message)
    throw error
  })
  if (caller.scopes.has('admin:keys') && caller.property_ids === null) return caller
  throw new ConsentFault(403, 'This API key does not hold admin:keys, which consent needs.')
}

/**
 * Installs the app in the caller's organization, or adds to what it may do there.
 * @returns a code for the app, good once and for a minute.
 * @throws ConsentFault when the organization may not have the app, or the key does not hold what is asked for.
 */
export async function consentTo(
  { db, secrets }: { db: Db; secrets: Secrets },
  caller: Caller,
  request_id: string,
  { app, redirect_uri }: Target,
  { scopes: wanted, code_challenge }: Asked,
): Promise<string> {
  const { org_id } = caller
  const filter = { app_id: app.id, before: null, limit: 1 }
  const installed = (await listInstallations(db, org_id, filter)).length > 0
  if (!installed && !(await maySee(db, org_id, app)))
    throw new ConsentFault(403, `${app.client_name} cannot be installed in your organization.`)
  const scopes = withinPlan(wanted, caller.plan)
  const missing = scopes.filter((scope) => !caller.scopes.has(scope))
  if (missing.length > 0)
    throw new ConsentFault(403, `This API key does not hold ${missing.join(', ')} itself.`)
  if (scopes.length === 0)
    throw new ConsentFault(403, 'The plan of your organization includes nothing of this.')
  const [id, webhook_id, consent_id] = (await db.ids(3)) as [number, number, number]
  const code = newSecret('grid_code_')
  const { actor } = requestOf(caller, request_id)
  const by = { org_id, actor, secrets, id, webhook_id }
  await db.transaction(org_id, async (tx) => {
    const { id: installation_id } = await installOrWiden(tx, by, app, scopes)
    const grant = { org_id, app_id: app.id, installation_id, consent_id, kind: 'code' } as const
    await insertGrant(tx, code, { ...grant, scopes, redirect_uri, code_challenge }, CODE_TTL_S)
  })
  return code
}

/** A fault that a person can do something about, in the words of the page. */
export function pageFault(error: unknown): ConsentFault {
  if (error instanceof ConsentFault) return error
  if (error instanceof ApiError && error.code === 'rate_limited')
    return new ConsentFault(429, error.message, Number(error.extra['retry_after_s']))
  if (error instanceof ApiError && error.code === 'conflict')
    return new ConsentFault(403, error.message)
  throw error
}
