/** One receiver that never answers among a thousand webhooks that do. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { lags, percentile, Receiver } from '../receiver.ts'
import { until } from '../service.ts'
import { hook, makeParties, startService } from '../webhooks.ts'

const WEBHOOKS = 1_000
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
      await hook(service, dead)
      for (let n = 1; n < webhooks; n += 20)
        await Promise.all(
          Array.from(
            { length: Math.min(20, webhooks - n) },
            async () => await hook(service, healthy),
          ),
        )
      const spread: number[] = []
      for (let n = 0; n < EVENTS; n++) {
        const before = healthy.receipts.length
        await makeParties(service, 1, 1)
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
