/** A receiver comes back after an outage, and everything that was kept for it is due at once. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { Receiver } from '../receiver.ts'
import { until } from '../service.ts'
import { hook, startService } from '../webhooks.ts'

const EVENTS = 50_000
const CONCURRENCY = 10

export const herd: Scenario = {
  row: 7,
  fault: '50,000 deliveries due at one instant after an outage',
  pass: 'never more at once than the webhook allows; the API goes on answering',
  run: async (size) => {
    const service = await startService()
    const receiver = await Receiver.start()
    try {
      const { id } = await hook(service, receiver, {
        max_concurrency: CONCURRENCY,
        events: ['building.*'],
      })
      await service.must('POST', `/webhooks/${id}/pause`, {})
      const events = Math.round(EVENTS * size)
      await loadBuildings(service.base, service.key, events)
      await until(
        'all of them are held',
        async () => {
          const { stats } = await service.must('GET', `/webhooks/${id}`)
          return stats.held >= events
        },
        120_000,
      )
      const started = performance.now()
      await service.must('POST', `/webhooks/${id}/enable`, { held: 'replay' })
      let slowest = 0
      await until(
        'all have come',
        async () => {
          const asked = performance.now()
          await service.must('GET', '/parties?limit=1')
          slowest = Math.max(slowest, performance.now() - asked)
          return receiver.events.size >= events
        },
        300_000,
      )
      const seconds = (performance.now() - started) / 1_000
      return counted(
        events,
        {
          lost: events - receiver.events.size,
          duplicated: receiver.receipts.length - receiver.events.size,
        },
        `${Math.round(events / seconds)} deliveries/s, at most ${receiver.most} at once of ${CONCURRENCY}, slowest read of the API ${Math.round(slowest)} ms`,
        receiver.most <= CONCURRENCY && slowest < 1_000,
      )
    } finally {
      await receiver.end()
      await service.end()
    }
  },
}

const ADAPTER = `
adapter: herd
source: { name: Herd, kind: csv }
mode: full_snapshot
streams:
  - type: building
    key: row.Code
    map: { code: row.Code, name: row.Name }
`

/** One event for each row of a file. */
async function loadBuildings(base: string, key: string, rows: number): Promise<void> {
  const form = new FormData()
  const lines = Array.from({ length: rows }, (_, n) => `B-${n},Building ${n}`)
  form.set('adapter', ADAPTER)
  form.set('file', new Blob([`Code,Name\n${lines.join('\n')}\n`]), 'buildings.csv')
  const headers = { 'x-api-key': key }
  const sent = await fetch(`${base}/sdis/jobs`, { method: 'POST', headers, body: form })
  const { id } = (await sent.json()) as { id: string }
  await until(
    'the file is loaded',
    async () => {
      const answer = await fetch(`${base}/sdis/jobs/${id}`, { headers })
      return ((await answer.json()) as { state: string }).state === 'completed'
    },
    180_000,
  )
}
