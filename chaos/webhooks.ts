/** What scenarios of deliveries share: an installation that may send to this machine, its webhooks, its events. */
import { send, Service } from './service.ts'
import type { Receiver } from './receiver.ts'

export interface Hook {
  id: string
  secret: string
}

/** Retries after seconds instead of hours, so that all five attempts are seen. */
export const QUICK = {
  GRID_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  GRID_WEBHOOK_RETRY_S: '1,2,4,8',
  GRID_WEBHOOK_RETRY_SANDBOX_S: '1,2,4,8',
}

export async function startService(env: Record<string, string> = {}): Promise<Service> {
  return await Service.start({ ...QUICK, ...env })
}

export async function hook(
  service: Service,
  receiver: Pick<Receiver, 'url'>,
  options: Record<string, unknown> = {},
  key = service.key,
): Promise<Hook> {
  const choices = { url: receiver.url, events: ['party.*'], max_concurrency: 50, ...options }
  const { status, body } = await send(service.base, key, 'POST', '/webhooks', choices)
  if (status !== 201) throw new Error(`no webhook: ${JSON.stringify(body)}`)
  return body
}

/** Public ids of every event of parties that was committed. */
export async function committed(service: Service): Promise<Set<string>> {
  const owner = await service.owner()
  const { rows } = await owner.query<{ id: string }>(
    `select 'evt_' || (tx_id * 100000 + n) as id from event where org_id = $1 and object_type = 'party'`,
    [service.org_id],
  )
  await owner.end()
  return new Set(rows.map(({ id }) => id))
}

/** Creates parties, some at once. @returns how many there are now. */
export async function makeParties(service: Service, count: number, parallel = 16): Promise<void> {
  let made = 0
  const client = async (): Promise<void> => {
    while (made < count) {
      const n = made++
      await service.must('POST', '/parties', { kind: 'company', legal_name: `Party ${n}` })
    }
  }
  await Promise.all(Array.from({ length: parallel }, client))
}
