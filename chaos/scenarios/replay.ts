/** Replays beside live traffic, cancelled, and their webhook deleted in the middle. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { Receiver } from '../receiver.ts'
import { pause, until } from '../service.ts'
import type { Service } from '../service.ts'
import { committed, hook, makeParties, startService } from '../webhooks.ts'
import { Writers } from '../writers.ts'

const EVENTS = 5_000

export const replay: Scenario = {
  row: 18,
  fault: 'replays beside live traffic, one cancelled, one whose webhook is deleted',
  pass: 'every event is replayed once, live ones come once, cancel and delete end a replay',
  run: async (size) => {
    const service = await startService()
    const receiver = await Receiver.start()
    try {
      const { id } = await hook(service, receiver)
      const events = Math.max(200, Math.round(EVENTS * size))
      const since = new Date(Date.now() - 60_000).toISOString()
      await makeParties(service, events)
      const old = await committed(service)
      const until_ = new Date().toISOString()
      await until('all have come', () =>
        Promise.resolve(old.difference(receiver.events).size === 0),
      )
      const dry = await service.must('POST', `/webhooks/${id}/replay`, {
        since,
        until: until_,
        status: 'all',
        dry_run: true,
      })
      const writers = new Writers(service, 2)
      const started = await service.must('POST', `/webhooks/${id}/replay`, {
        since,
        until: until_,
        status: 'all',
      })
      await until(
        'the replay is done',
        async () => (await state(service, id, started.id)) === 'completed',
        120_000,
      )
      await until(
        'all are replayed',
        () => Promise.resolve(replayed(receiver).size >= old.size),
        60_000,
      )
      await writers.stop()
      const all = await committed(service)
      await until('live ones have come', () =>
        Promise.resolve(all.difference(live(receiver)).size === 0),
      )
      const twice = receiver.receipts.length - replayed(receiver).size - live(receiver).size
      const cancelled = await cancel(service, id, since)
      const deleted = await remove(service, receiver, id, since)
      return counted(
        all.size + old.size,
        { lost: old.difference(replayed(receiver)).size, duplicated: twice },
        `dry run counted ${dry.total ?? dry.deliveries} of ${old.size}; cancelled one ended as ${cancelled}; ${deleted} deliveries later than 1 s after the webhook was deleted`,
        cancelled === 'cancelled' && deleted === 0,
      )
    } finally {
      await receiver.end()
      await service.end()
    }
  },
}

function replayed(receiver: Receiver): Set<string> {
  return new Set(receiver.receipts.flatMap(({ id, trigger }) => (trigger === 'replay' ? [id] : [])))
}

function live(receiver: Receiver): Set<string> {
  return new Set(receiver.receipts.flatMap(({ id, trigger }) => (trigger === 'event' ? [id] : [])))
}

async function state(service: Service, webhook: string, id: string): Promise<string> {
  return (await service.must('GET', `/webhooks/${webhook}/replays/${id}`)).state
}

/** @returns the state of a slow replay that was cancelled. */
async function cancel(service: Service, webhook: string, since: string): Promise<string> {
  const slow = { since, status: 'all', rate: 20 }
  const { id } = await service.must('POST', `/webhooks/${webhook}/replay`, slow)
  await pause(500)
  await service.call('DELETE', `/webhooks/${webhook}/replays/${id}`)
  await pause(500)
  return await state(service, webhook, id)
}

/** @returns how many deliveries came long after the webhook was gone. */
async function remove(
  service: Service,
  receiver: Receiver,
  webhook: string,
  since: string,
): Promise<number> {
  await service.must('POST', `/webhooks/${webhook}/replay`, { since, status: 'all', rate: 50 })
  await pause(500)
  const answer = await service.call('DELETE', `/webhooks/${webhook}`)
  if (answer?.status !== 204) throw new Error(`the webhook was not deleted: ${answer?.status}`)
  await pause(1_000)
  const before = receiver.receipts.length
  await pause(2_000)
  return receiver.receipts.length - before
}
