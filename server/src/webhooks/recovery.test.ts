import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { grid, newOrganization, ownDatabase } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { Egress } from '../egress.ts'
import { placeTransactions } from '../events/sequencer.ts'
import { secretsOf } from '../secrets.ts'
import {
  behind,
  deliveries,
  makeParties,
  receiver,
  startWorker,
  subscribe,
  until,
  workerConfig,
} from './delivery-fixture.ts'
import type { Receiver } from './delivery-fixture.ts'
import { claim, complete, fanOut, recover } from './delivery-queries.ts'
import type { Result } from './delivery-queries.ts'
import { Dispatcher } from './dispatcher.ts'
import { judgeFailing } from './work.ts'

await ownDatabase()
const { db } = await grid()

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function listen(...args: Parameters<typeof receiver>): Promise<Receiver> {
  const one = await receiver(...args)
  ends.push(one.close)
  return one
}

async function work(settings: Record<string, string> = {}): Promise<void> {
  const { stop } = await startWorker(settings)
  ends.push(stop)
}

/** A worker that is driven step by step. */
function dispatcher(over: object = {}): Dispatcher {
  const config = workerConfig()
  const egress = new Egress({ allow_networks: config.GRID_WEBHOOK_ALLOW_CIDRS })
  ends.push(async () => await egress.close())
  const told = async (): Promise<void> => {}
  const parts = {
    config,
    db,
    results: db,
    egress,
    secrets: secretsOf(config),
    base_url: '',
    log: () => {},
    told,
    counted: () => {},
  }
  return new Dispatcher({ ...parts, ...over })
}

/** Makes parties and the deliveries of them, and sends none. */
async function prepared(client: TestClient, count: number): Promise<void> {
  await makeParties(client, count)
  await until(
    async () => {
      await placeTransactions(db)
      await fanOut(db, 1_000)
      return (await behind('select from delivery where org_id = $1', [client.org_id])).length
    },
    (made) => made === count,
  )
}

const expire = async (client: TestClient): Promise<unknown> =>
  await behind(
    `update delivery set locked_until = now() - interval '1 second' where org_id = $1 and state = 'in_flight'`,
    [client.org_id],
  )

/** A worker's result of success. */
function success(
  { org_id, webhook_id, id }: { org_id: number; webhook_id: number; id: number },
  lease_id: number,
): Result {
  const at = new Date().toISOString()
  const attempt = { at, status: 200, error: null, first_byte_ms: 1, total_ms: 1 }
  const rest = {
    reason: null,
    wait_s: 0,
    slow: false,
    attempt,
    headers: null,
    body: null,
    base64: null,
  }
  return { org_id, webhook_id, id, lease_id, outcome: 'succeeded', ...rest }
}

describe('a worker that dies', () => {
  it('before it sends loses nothing, and costs no attempt', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const webhook = await subscribe(client, target.url)
    await prepared(client, 3)
    expect((await claim(db, 100, [])).deliveries).toHaveLength(3)
    expect((await claim(db, 100, [])).deliveries).toHaveLength(0)
    await expire(client)
    await recover(db, 30)
    await work()
    const rows = await deliveries(client, webhook.id, 3, ['succeeded'])
    expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1])
    expect(target.arrived).toHaveLength(3)
  })

  it('after it sent and before it wrote so sends again, with the same event id', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const webhook = await subscribe(client, target.url)
    await prepared(client, 2)
    let written = false
    const dying = dispatcher({
      results: {
        flyControl: async () => {
          throw new Error('killed')
        },
      },
      log: () => (written = true),
    })
    await dying.take(100)
    await until(() => written)
    await expire(client)
    await recover(db, 30)
    await work()
    const rows = await deliveries(client, webhook.id, 2, ['succeeded'])
    expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1])
    expect(target.arrived).toHaveLength(4)
    expect(new Set(target.arrived.map(({ event }) => event.id)).size).toBe(2)
  })

  it('and comes back late changes nothing that another worker has', async () => {
    const client = await newOrganization()
    await subscribe(client, (await listen()).url)
    await prepared(client, 1)
    const first = await claim(db, 100, [])
    const [delivery] = first.deliveries as [(typeof first.deliveries)[0]]
    await expire(client)
    await recover(db, 30)
    const second = await claim(db, 100, [])
    expect(second.deliveries.map(({ id }) => id)).toEqual([delivery.id])
    await complete(db, [success(delivery, first.lease_id)])
    const state = async (): Promise<unknown> =>
      await behind('select state, lost from delivery where org_id = $1', [client.org_id])
    expect(await state()).toEqual([{ state: 'in_flight', lost: 1 }])
    await complete(db, [success(delivery, second.lease_id)])
    expect(await state()).toEqual([])
  })

  it('three times with the same delivery gives it up', async () => {
    const client = await newOrganization()
    const webhook = await subscribe(client, (await listen()).url)
    await prepared(client, 1)
    for (let i = 0; i < 3; i++) {
      await claim(db, 100, [])
      await expire(client)
      await recover(db, 30)
    }
    expect(await deliveries(client, webhook.id, 1, ['failed'])).toMatchObject([
      { state: 'failed', reason: 'worker_crashed', attempts: 0 },
    ])
  })

  it('in order gives back what it has not sent', async () => {
    const client = await newOrganization()
    const target = await listen((response) => void setTimeout(() => response.end(), 50))
    await subscribe(client, target.url, { max_concurrency: 1 })
    await prepared(client, 3)
    const ending = dispatcher()
    await behind('update webhook set max_concurrency = 3 where org_id = $1', [client.org_id])
    const [row] = (await behind('select id from webhook where org_id = $1', [client.org_id])) as [
      { id: string },
    ]
    await ending.take(100)
    await ending.drain()
    const left = await behind('select state, attempt from delivery where org_id = $1', [
      client.org_id,
    ])
    expect(left.length + target.arrived.length).toBe(3)
    expect(left.every((one) => (one as { state: string }).state === 'pending')).toBe(true)
    expect(row.id).toBeTruthy()
  })
})

describe('making deliveries', () => {
  it('is done once for every event, however often it is tried', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    await subscribe(client, target.url)
    await prepared(client, 5)
    await Promise.all([fanOut(db, 1_000), fanOut(db, 1_000), fanOut(db, 1_000)])
    await fanOut(db, 1_000)
    expect(await behind('select from delivery where org_id = $1', [client.org_id])).toHaveLength(5)
  })
})

describe('an endpoint that fails', () => {
  const health = async (client: TestClient, set: string): Promise<unknown> =>
    await behind(`update webhook_health set ${set} where org_id = $1 returning 1`, [client.org_id])
  const circuit = async (client: TestClient, id: string): Promise<string> =>
    (await client.get(`/webhooks/${id}`)).body.stats.circuit

  it('opens its circuit, spares the attempts of what waits, and begins slowly when it works again', async () => {
    const client = await newOrganization()
    let broken = true
    const target = await listen((response) => void response.writeHead(broken ? 503 : 200).end())
    const webhook = await subscribe(client, target.url, { redrive_on_recovery: true })
    await work({ GRID_WEBHOOK_RETRY_S: '0' })
    await makeParties(client, 20)
    await until(async () => (await circuit(client, webhook.id)) === 'open')
    // What was on its way then comes to its end.
    await until(
      async () =>
        await behind(`select id from delivery where org_id = $1 and state = 'in_flight'`, [
          client.org_id,
        ]),
      (rows) => rows.length === 0,
    )
    const sent = target.arrived.length
    await makeParties(client, 5)
    const waiting = await deliveries(client, webhook.id, 25, ['pending', 'failed'])
    expect(waiting.slice(-5).map(({ attempts }) => attempts)).toEqual([0, 0, 0, 0, 0])
    // Another webhook of the organization is none the worse for it.
    const healthy = await listen()
    const other = await subscribe(client, healthy.url)
    await makeParties(client, 1)
    await deliveries(client, other.id, 1, ['succeeded'])
    expect(target.arrived.length).toBe(sent)
    // One attempt tells that it still fails, and the pause doubles.
    await health(
      client,
      `open_until = now() where circuit = 'open' and webhook_id = ${webhook.id.slice(3)} and org_id = $1 --`,
    )
    await until(() => target.arrived.length === sent + 1)
    await until(
      async () =>
        (await behind('select open_s from webhook_health where org_id = $1 and circuit = $2', [
          client.org_id,
          'open',
        ])) as { open_s: number }[],
      (rows) => rows[0]?.open_s === 60,
    )
    broken = false
    await health(client, `open_until = now() where circuit = 'open' and org_id = $1 --`)
    await deliveries(client, webhook.id, 26, ['succeeded'])
    expect(await circuit(client, webhook.id)).toBe('closed')
    // What was given up during the outage has been delivered again.
    const rows = await deliveries(client, webhook.id, 26, ['succeeded'])
    const failed = rows.filter(({ state }) => state === 'failed').map(({ event_id }) => event_id)
    const again = rows.filter(({ trigger, state }) => trigger === 'replay' && state === 'succeeded')
    expect(new Set(again.map(({ event_id }) => event_id))).toEqual(new Set(failed))
    expect(again).toHaveLength(failed.length)
  })

  it('is told of after a day and three, and suspended after five days', async () => {
    const client = await newOrganization()
    const webhook = await subscribe(client, (await listen()).url)
    const told = async (): Promise<unknown[]> =>
      await behind(
        `select e.type, a.details ->> 'hours' as hours from event e join audit_entry a on a.org_id = e.org_id and a.tx_id = e.tx_id
         where e.org_id = $1 and e.type in ('webhook.failing', 'webhook.suspended') order by e.tx_id`,
        [client.org_id],
      )
    for (const [since, failures] of [
      ['23 hours', 300],
      ['25 hours', 300],
      ['26 hours', 300],
      ['73 hours', 300],
      ['121 hours', 49],
      ['121 hours', 250],
    ] as const) {
      await health(
        client,
        `failing_since = now() - interval '${since}', failures = ${failures}`.concat(''),
      )
      await judgeFailing(db)
    }
    expect(await told()).toEqual([
      { type: 'webhook.failing', hours: '24' },
      { type: 'webhook.failing', hours: '72' },
      { type: 'webhook.suspended', hours: null },
    ])
    const { body } = await client.get(`/webhooks/${webhook.id}`)
    expect(body).toMatchObject({ state: 'suspended', reason: 'failing' })
  })

  it('and is dead does not delay the others', async () => {
    const client = await newOrganization()
    const [dead, alive] = [await listen(() => {}), await listen()]
    await subscribe(client, dead.url)
    const healthy = await subscribe(client, alive.url)
    await work({ GRID_WEBHOOK_TIMEOUT_S: '3' })
    const start = performance.now()
    await makeParties(client, 40)
    await deliveries(client, healthy.id, 40, ['succeeded'])
    expect(performance.now() - start).toBeLessThan(3_000)
    expect(dead.arrived.length).toBeLessThanOrEqual(10)
  })
})

describe('a replay', () => {
  it('delivers one event, several, or those of a time again; to the same ids and bytes', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const webhook = await subscribe(client, target.url)
    await work()
    const [id] = await makeParties(client, 3)
    await client.patch(`/parties/${id}`, { legal_name: 'Later' })
    await deliveries(client, webhook.id, 4, ['succeeded'])
    const first = target.arrived.map(({ event, text }) => [event.id, text])
    const path = `/webhooks/${webhook.id}/replay`
    const replay = async (body: object): Promise<string[]> => {
      const before = target.arrived.length
      const answer = await client.post(path, body)
      expect(answer).toMatchObject({ status: 202, body: { state: 'running' } })
      const location = answer.headers.get('location')?.slice('/api/v1'.length) as string
      const done = await until(
        async () => (await client.get(location)).body,
        ({ state }) => state === 'completed',
      )
      const came = target.arrived.slice(before)
      expect(done).toMatchObject({
        total: came.length,
        queued: came.length,
        succeeded: came.length,
      })
      expect(came.every(({ headers }) => headers['x-grid-trigger'] === 'replay')).toBe(true)
      for (const { event, text } of came) expect(first).toContainEqual([event.id, text])
      return came.map(({ event }) => event.id as string).toSorted()
    }
    const all = first.map(([event_id]) => event_id as string).toSorted()
    const since = '2020-01-01T00:00:00Z'
    expect(await replay({ event_id: all[0] })).toEqual([all[0]])
    expect(await replay({ event_ids: all.slice(1, 3) })).toEqual(all.slice(1, 3))
    expect(await replay({ since })).toEqual(all)
    expect(
      await replay({ since, types: ['party.updated'], in_order: true, rate: 100 }),
    ).toHaveLength(1)
    expect(await replay({ since, until: since })).toEqual([])
    expect(await replay({ since, status: 'failed' })).toEqual([])
    const count = await client.post(path, { since, dry_run: true })
    expect(count).toMatchObject({ status: 200, body: { object: 'replay_estimate', total: 4 } })
  })

  it('is paced and can be cancelled', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const webhook = await subscribe(client, target.url)
    await work()
    await makeParties(client, 5)
    await deliveries(client, webhook.id, 5, ['succeeded'])
    const { body } = await client.post(`/webhooks/${webhook.id}/replay`, {
      since: '2020-01-01T00:00:00Z',
      rate: 1,
    })
    await until(() => target.arrived.length >= 6)
    const path = `/webhooks/${webhook.id}/replays/${body.id}`
    expect((await client.delete(path)).status).toBe(204)
    const done = await until(
      async () => (await client.get(path)).body,
      ({ waiting }) => waiting === 0,
    )
    expect(done).toMatchObject({ state: 'cancelled', total: 5, cancelled: 5 - done.succeeded })
    expect(done.succeeded).toBeLessThan(4)
  })

  it('of what failed leaves out what a replay has delivered', async () => {
    const client = await newOrganization()
    let broken = true
    const target = await listen((response) => void response.writeHead(broken ? 500 : 200).end())
    const webhook = await subscribe(client, target.url)
    await work({ GRID_WEBHOOK_RETRY_S: '0' })
    await makeParties(client, 2)
    await deliveries(client, webhook.id, 2, ['failed'])
    broken = false
    const path = `/webhooks/${webhook.id}/replay`
    const failed = { since: '2020-01-01T00:00:00Z', status: 'failed' }
    await client.post(path, failed)
    await deliveries(client, webhook.id, 2, ['succeeded'])
    expect((await client.post(path, { ...failed, dry_run: true })).body.total).toBe(0)
  })
})

afterAll(async () => {
  expect(await behind(`select from delivery_log where attempt > 5`)).toEqual([])
})
