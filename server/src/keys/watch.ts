/** What keys are used for and refused: noted in batches, and written to the organization's audit log. */
import type { Db } from '../db/db.ts'
import type { Keys, Refusal } from '../http/auth.ts'
import { REFUSED } from '../http/limiter.ts'
import type { Limiter } from '../http/limiter.ts'
import { publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import type { Actor } from '../kit/types.ts'
import { TOUCH_KEYS } from './queries.ts'
import type { NewAddress } from './queries.ts'

/** Refusals waiting to be written, at most; beyond it they are in the request log alone. */
const WAITING_MAX = 1_000

declare module 'fastify' {
  interface FastifyInstance {
    keyWatch: KeyWatch
  }
}

export class KeyWatch {
  private readonly db: Db
  private readonly keys: Keys
  private readonly limiter: Limiter
  private readonly warn: (error: unknown) => void
  private readonly writing = new Set<Promise<void>>()

  constructor(db: Db, keys: Keys, limiter: Limiter, warn: (error: unknown) => void) {
    this.db = db
    this.keys = keys
    this.limiter = limiter
    this.warn = warn
  }

  /** Audits a refusal, the same one at most once a minute: of a scope per key and route, of a key per reason. */
  readonly refused = (refusal: Refusal): void => {
    if (this.writing.size >= WAITING_MAX) return
    const writing = this.audit(refusal)
      .catch(this.warn)
      .finally(() => this.writing.delete(writing))
    this.writing.add(writing)
  }

  /** Notes which keys were used since the last time, and waits for what is being written. */
  async flush(): Promise<void> {
    const used = this.keys.takeUsed()
    if (used.length > 0) {
      const rows = await this.db.flyControl(TOUCH_KEYS, [JSON.stringify(used)])
      for (const [row] of rows) await this.newAddress(JSON.parse(String(row)) as NewAddress)
    }
    await Promise.all(this.writing)
  }

  private async audit({
    caller,
    error,
    method,
    route,
    address,
    request_id,
  }: Refusal): Promise<void> {
    const { org_id, key_id, key_name } = caller
    const denied = error.status === 403 && error.code !== 'ip_not_allowed'
    const what = denied ? `denied:${key_id}:${method} ${route}` : `failed:${key_id}:${error.code}`
    if ((await this.limiter.take(what, 1)) === REFUSED) return
    const { required_scope, plan_required } = error.extra
    const details = { code: error.code, method, route, ip: address, required_scope, plan_required }
    const type = denied ? 'scope.denied' : 'authentication.failed'
    await this.write(org_id, key_id, key_name, request_id, type, details)
  }

  private async newAddress({ org_id, key_id, key_name, address }: NewAddress): Promise<void> {
    const type = 'api_key.used_from_new_address'
    await this.write(org_id, key_id, key_name, null, type, { ip: address })
  }

  private async write(
    org_id: number,
    key_id: number,
    key_name: string,
    request_id: string | null,
    type: string,
    details: Row,
  ): Promise<void> {
    const actor: Actor = {
      type: 'api_key',
      id: publicId('key', key_id),
      name: key_name,
      request_id,
    }
    const happening = { type, object_type: 'api_key', object_id: key_id, object: null, details }
    await this.db.transaction(org_id, async (tx) => await record(tx, org_id, actor, [happening]))
  }
}
