/** One receiver that never answers among a thousand webhooks that do. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { lags, percentile, Receiver } from '../receiver.ts'
import { send, until } from '../service.ts'
import type { Service } from '../service.ts'
import { hook, startService } from '../webhooks.ts'

const WEBHOOKS = 1_000

/** As many as an organization may have. */
const PER_ORGANIZATION = 100
const EVENTS = 10

export const deadReceiver: Scenario = {
  row: 6,
  fault: 'one receiver that never answers among 999 that do',
  pass: 'the others get their deliveries within 1 s at the 99th percentile',
  run: async (size) => {
    const service = await startService()
    const healthy = await Receiver.start()
    const dead = await Receiver.start(() => {})
    try {
      const webhooks = Math.round(WEBHOOKS * Math.max(size, 0.1))
      const keys = await subscribe(service, healthy, dead, webhooks)
      const spread: number[] = []
      for (let n = 0; n < EVENTS; n++) {
        const before = healthy.receipts.length
        for (const key of keys)
          await send(service.base, key, 'POST', '/parties', { kind: 'company', legal_name: 'Acme' })
        const due = before + webhooks - 1
        await until('all healthy ones have it', () =>
          Promise.resolve(healthy.receipts.length >= due),
        )
        spread.push(...healthy.receipts.slice(before).map(({ at, created }) => at - created))
      }
      spread.sort((a, b) => a - b)
      const p99 = percentile(spread, 0.99)
      return counted(
        spread.length,
        { lost: EVENTS * (webhooks - 1) - spread.length },
        `${webhooks} webhooks; healthy ones after ${percentile(spread, 0.5)} ms (p50), ${p99} ms (p99); the first of each event after ${percentile(lags(healthy.receipts), 0.5)} ms`,
        p99 < 1_000 && dead.receipts.length > 0,
      )
    } finally {
      await Promise.all([healthy.end(), dead.end()])
      await service.end()
    }
  },
}

/** Webhooks of as many organizations as they need; one of them is dead. @returns a key of each organization. */
async function subscribe(
  service: Service,
  healthy: Receiver,
  dead: Receiver,
  webhooks: number,
): Promise<string[]> {
  const keys = [service.key]
  await hook(service, dead)
  for (let made = 1; made < webhooks; made++) {
    if (made % PER_ORGANIZATION === 0)
      keys.push(await service.organization(`Owner ${made / PER_ORGANIZATION}`))
    await hook(service, healthy, {}, keys.at(-1))
  }
  return keys
}
