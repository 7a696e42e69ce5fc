/** kill -9 of workers at any moment between claim, send and completion. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { accept, outOfOrder, Receiver } from '../receiver.ts'
import { pause, until } from '../service.ts'
import { committed, hook, startService } from '../webhooks.ts'
import { Writers } from '../writers.ts'

const EVENTS = 10_000
const KILL_EVERY = 400
const CONCURRENCY = 20

export const workerKilled: Scenario = {
  row: 2,
  fault: 'kill -9 of API and worker while deliveries are claimed, sent and completed',
  pass: 'nothing lost; at most the deliveries in flight of each kill come twice; in order where that was asked for',
  run: async (size) => {
    const service = await startService()
    const receiver = await Receiver.start((response, receipt) => {
      setTimeout(() => accept(response, receipt), Math.random() * 20)
    })
    const ordered = await Receiver.start()
    try {
      await hook(service, receiver, { max_concurrency: CONCURRENCY })
      await hook(service, ordered, { max_concurrency: CONCURRENCY, ordering: 'resource' })
      const writers = new Writers(service, 8)
      const wanted = Math.round(EVENTS * size)
      let kills = 0
      while (receiver.events.size < wanted) {
        const target = Math.min(wanted, receiver.events.size + KILL_EVERY)
        await until('events come', () => Promise.resolve(receiver.events.size >= target), 90_000)
        await pause(Math.random() * 100)
        await service.kill()
        await service.launch()
        kills++
      }
      await writers.stop()
      const events = await committed(service)
      const all = async (): Promise<boolean> =>
        Promise.resolve(
          [receiver, ordered].every((one) => events.difference(one.events).size === 0),
        )
      await until('every event has come', all, 120_000)
      const twice = receiver.receipts.length - receiver.events.size
      const bound = kills * CONCURRENCY
      return counted(
        events.size,
        {
          lost: events.difference(receiver.events).size,
          out_of_order: outOfOrder(ordered.receipts),
        },
        `${kills} kills, ${twice} deliveries came twice (at most ${bound})`,
        twice <= bound,
      )
    } finally {
      await Promise.all([receiver.end(), ordered.end()])
      await service.end()
    }
  },
}
