/** An event that cannot be rendered, among others that can. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { Receiver } from '../receiver.ts'
import { until } from '../service.ts'
import { committed, hook, makeParties, startService } from '../webhooks.ts'

const EVENTS = 500

export const poison: Scenario = {
  row: 8,
  fault: 'an event whose rendering fails',
  pass: 'it is parked with its reason, all others flow',
  run: async (size) => {
    const service = await startService()
    const receiver = await Receiver.start()
    try {
      const { id } = await hook(service, receiver, { events: ['party.*', 'lease.*'] })
      const events = Math.max(50, Math.round(EVENTS * size))
      await makeParties(service, events / 2)
      const owner = await service.owner()
      await owner.query(
        // A claim that no source could have made: folding it fails.
        `with t as (
           insert into tx (org_id, tx_id, at, events, source_id, actor_type, actor_name)
           values ($1, nextval('app.tx_seq'), now(), 1, 1, 'system', 'Chaos') returning tx_id, at
         ), a as (
           insert into assertion (org_id, object_id, source_id, valid_from, tx_id, attrs)
           select $1, 1, 1, at, tx_id, '{"rent_schedule": 7}' from t
         )
         insert into event (org_id, tx_id, n, at, type, object_type, object_id, operation, version, changed, previous, body)
         select $1, tx_id, 0, at, 'lease.updated', 'lease', 1, null, 1, '{}', '{}', null from t`,
        [service.org_id],
      )
      await owner.end()
      await makeParties(service, events / 2)
      const good = await committed(service)
      await until('all others come', () =>
        Promise.resolve(good.difference(receiver.events).size === 0),
      )
      const parked = async (): Promise<{ state: string; reason?: string }[]> =>
        (await service.must('GET', `/webhooks/${id}/deliveries?state=failed`)).data
      await until('the poisoned one is parked', async () => (await parked()).length === 1, 400_000)
      const [one] = await parked()
      return counted(
        good.size + 1,
        { duplicated: receiver.receipts.length - receiver.events.size },
        `parked as ${one?.state}: ${one?.reason}`,
      )
    } finally {
      await receiver.end()
      await service.end()
    }
  },
}
