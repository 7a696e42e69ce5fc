import { afterAll, describe, expect, it } from 'vitest'
import { eventsOf, placeAll } from '../../test/feed.ts'
import { grid, newClient, newOrganization } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { Db } from '../db/db.ts'
import { record } from '../kit/record.ts'
import { placeTransactions } from './sequencer.ts'

const { db } = await grid()

/** A connection like that of the worker, whose commits do not wait for the disk. */
const quick = new Db(
  { ...db.config, options: `${db.config.options ?? ''} -c synchronous_commit=off` },
  { pipelined: 1, pooled: 1 },
)
afterAll(async () => await quick.close())

const SYSTEM = { type: 'system', id: null, name: 'Test', request_id: null } as const
const happening = {
  type: 'key.made',
  object_type: 'api_key',
  object_id: 7,
  object: { name: 'New' },
}

const types = async (org_id: number): Promise<string[]> =>
  (await eventsOf(org_id, ['key.*', 'party.*'])).map(({ type }) => type)

describe('placing', () => {
  it('is not held up by a transaction that is open; it is placed when it has committed', async () => {
    const client = await newOrganization()
    await db.transaction(client.org_id, async (tx) => {
      await record(tx, client.org_id, SYSTEM, [happening])
      await client.post('/parties', samples.party())
      await placeAll(client.org_id)
      expect(await types(client.org_id)).toEqual(['party.created'])
    })
    await client.post('/parties', samples.party())
    expect(await types(client.org_id)).toEqual(['party.created', 'key.made', 'party.created'])
  })

  it('keeps the order of each object and leaves no gap, with several writers and placers', async () => {
    const client = await newOrganization()
    const clients = [client, await newClient(client.org_id), await newClient(client.org_id)]
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push((await client.post('/parties', samples.party())).body.id)
    const done = new AbortController()
    const placers = [db, quick].map(async (one) => {
      do await placeTransactions(one)
      while (!done.signal.aborted)
    })
    await Promise.all(
      clients.map(async (one, n) => {
        for (let i = 0; i < 60; i++)
          await one.patch(`/parties/${ids[i % 3]}`, { dba_name: `${n}-${i}` })
      }),
    )
    done.abort()
    await Promise.all(placers)
    const events = await eventsOf(client.org_id)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    const updates = events.filter(({ type }) => type === 'party.updated')
    expect(updates.length).toBeGreaterThan(60)
    for (const [, own] of Map.groupBy(updates, ({ object_id }) => object_id))
      expect(own.map(({ version }) => version)).toEqual(own.map((_, i) => i + 2))
  })

  it('waits for the disk where the connection does not: numbers that were read stay', async () => {
    const client = await newOrganization()
    const place = async (): Promise<[placed: number, commit: string]> =>
      await quick.control(async (tx) => {
        const [row] = await tx.query<{ placed: number }>(
          'select app.place_transactions(10) as placed',
        )
        const [now] = await tx.query<{ mode: string }>(
          `select current_setting('synchronous_commit') as mode`,
        )
        return [row?.placed as number, now?.mode as string]
      })
    await placeAll(client.org_id)
    await client.post('/parties', samples.party())
    let [placed, mode] = await place()
    // Another worker of these tests may have been faster.
    for (; placed === 0; [placed, mode] = await place()) {
      expect(mode).toBe('off')
      await client.post('/parties', samples.party())
    }
    expect(mode).toBe('on')
  })
})
