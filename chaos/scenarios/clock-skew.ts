/** A worker whose clock is wrong by ten minutes, either way. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { accept, Receiver } from '../receiver.ts'
import { until } from '../service.ts'
import { committed, hook, makeParties, startService } from '../webhooks.ts'

const EVENTS = 400

/** Of so many events the first attempt of one fails: more would open the circuit, which has a pace of its own. */
const FAILS_EVERY = 3

export const clockSkew: Scenario = {
  row: 9,
  fault: 'the clock of the worker is 10 minutes fast, then 10 minutes slow',
  pass: 'retries come when the database says they are due; no event is lost; signatures carry the worker’s time',
  run: async (size) => {
    let events = 0
    let lost = 0
    const figures: string[] = []
    for (const minutes of [10, -10]) {
      const skew = `data:text/javascript,const now=Date.now;Date.now=()=>now()+${minutes * 60_000}`
      const service = await startService({ NODE_OPTIONS: `--import=${JSON.stringify(skew)}` })
      const seen = new Set<string>()
      const failed = new Set<string>()
      const receiver = await Receiver.start((response, receipt) => {
        const fails = !seen.has(receipt.id) && seen.size % FAILS_EVERY === 0
        seen.add(receipt.id)
        if (!fails) return accept(response, receipt)
        failed.add(receipt.id)
        response.writeHead(500).end()
      })
      try {
        await hook(service, receiver)
        await makeParties(service, Math.max(40, Math.round(EVENTS * size)))
        const all = await committed(service)
        const again = (): boolean => receiver.receipts.length >= all.size + failed.size
        const whole = (): boolean => seen.size >= all.size && again()
        await until('each that failed has come again', () => Promise.resolve(whole()), 60_000)
        lost += all.difference(receiver.events).size
        events += all.size
        const byEvent = Map.groupBy(receiver.receipts, ({ id }) => id)
        const waits = [...failed].map((id) => {
          const [first, second] = byEvent.get(id) ?? []
          return (second?.at ?? 0) - (first?.at ?? 0)
        })
        const stamp = Number(/t=(\d+)/.exec(receiver.receipts[0]?.signature ?? '')?.[1])
        const off = Math.round((stamp * 1_000 - (receiver.receipts[0]?.at ?? 0)) / 60_000)
        figures.push(
          `${minutes} min: second attempt after ${Math.min(...waits)} to ${Math.max(...waits)} ms, signed ${off} min off`,
        )
        if (Math.min(...waits) < 700) lost++
      } finally {
        await receiver.end()
        await service.end()
      }
    }
    return counted(events, { lost }, figures.join('; '))
  },
}
