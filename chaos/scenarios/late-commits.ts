/** Transactions with low numbers that commit after higher ones, while a reader follows the feed. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { pause, Service, until } from '../service.ts'
import { Writers } from '../writers.ts'

const SECONDS = 20

export const lateCommits: Scenario = {
  row: 15,
  fault: 'long transactions with low ids commit late while others commit at once',
  pass: 'a reader of the feed meets every event once, in order, without a gap',
  run: async (size) => {
    const service = await Service.start()
    try {
      const writers = new Writers(service, 4)
      let going = true
      const seen: number[] = []
      const reading = follow(service, seen, () => going)
      const late = await holdBack(service, Math.max(2, SECONDS * size))
      await writers.stop()
      const owner = await service.owner()
      await until('every transaction is numbered', async () => {
        const { rows } = await owner.query('select from tx where first_seq is null')
        return rows.length === 0
      })
      const { rows } = await owner.query<{ events: string }>(
        'select count(*) as events from event where org_id = $1 and operation is not null',
        [service.org_id],
      )
      await owner.end()
      const events = Number(rows[0]?.events)
      await until('the reader has caught up', () => Promise.resolve(seen.length >= events))
      going = false
      await reading
      const duplicated = seen.length - new Set(seen).size
      const out_of_order = seen.filter((seq, i) => i > 0 && seq <= (seen[i - 1] as number)).length
      return counted(
        events,
        { lost: events - new Set(seen).size, duplicated, out_of_order },
        `${late} transactions held open beside ${writers.acknowledged.size} parties`,
      )
    } finally {
      await service.end()
    }
  },
}

/** Writes whose transaction stays open for a while after it got its id. @returns how many. */
async function holdBack(service: Service, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1_000
  let held = 0
  const owner = await service.owner()
  while (performance.now() < end) {
    await owner.query('begin')
    await owner.query(
      `with t as (
         insert into tx (org_id, tx_id, at, events, source_id, actor_type, actor_name)
         values ($1, nextval('app.tx_seq'), now(), 1, 1, 'system', 'Chaos') returning tx_id
       )
       insert into event (org_id, tx_id, n, at, type, object_type, object_id, operation, version, changed, previous, body)
       select $1, tx_id, 0, now(), 'party.updated', 'party', 1, 'updated', 1, '{}', '{}', '{}' from t`,
      [service.org_id],
    )
    await pause(20 + Math.random() * 400)
    await owner.query('commit')
    held++
  }
  await owner.end()
  return held
}

async function follow(service: Service, seen: number[], going: () => boolean): Promise<void> {
  let cursor: string | null = null
  while (going()) {
    const query: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const page = await service.must('GET', `/changes?limit=200${query}`)
    for (const change of page.data) seen.push(Number(change.seq ?? change.position))
    cursor = page.next_cursor
    if (page.data.length === 0) await pause(20)
  }
}
