import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, describe, expect, it, test } from 'vitest'
import { newOrganization, ownDatabase } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import {
  behind,
  deliveries,
  makeParties,
  receiver,
  startWorker,
  subscribe,
  until,
} from './delivery-fixture.ts'
import type { Receiver } from './delivery-fixture.ts'

await ownDatabase()
const worker = await startWorker()
afterAll(async () => {
  await worker.stop()
  expect(worker.said).toEqual([])
})

const open: Receiver[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (one) => await one.close()))
})

async function listen(...args: Parameters<typeof receiver>): Promise<Receiver> {
  const one = await receiver(...args)
  open.push(one)
  return one
}

const digits = (id: string): number => Number(id.split('_').at(-1))

describe('a delivery', () => {
  it('carries the event, signed in both notations', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const webhook = await subscribe(client, target.url)
    const [party] = await makeParties(client, 1)
    const [row] = await deliveries(client, webhook.id, 1, ['succeeded'])
    const [{ headers, event, text }] = target.arrived as [(typeof target.arrived)[0]]
    expect(new Webhook(webhook.secret).verify(text, headers)).toEqual(event)
    const mac = Buffer.from((headers['webhook-signature'] as string).slice(3), 'base64')
    expect(headers['x-grid-signature']).toBe(
      `t=${headers['webhook-timestamp']},v1=${mac.toString('hex')}`,
    )
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'accept-encoding': 'identity',
      'user-agent': 'PortfolioGrid-Webhooks/1',
      'x-grid-event-id': event.id,
      'webhook-id': event.id,
      'x-grid-event-type': 'party.created',
      'x-grid-delivery-id': row.id,
      'x-grid-attempt': '1',
      'x-grid-trigger': 'event',
    })
    expect(event).toMatchObject({ type: 'party.created', data: { object: { id: party } } })
    await expect
      .poll(async () => (await client.get('/usage')).body.totals)
      .toMatchObject({ deliveries: 1 })
    expect(row).toMatchObject({
      event_id: event.id,
      state: 'succeeded',
      reason: null,
      attempts: 1,
      last_status: 204,
      last_error: null,
      next_attempt_at: null,
    })
    const detail = await client.get(`/webhooks/${webhook.id}/deliveries/${row.id}`)
    expect(detail.body).toMatchObject({
      attempt_log: [
        {
          number: 1,
          status: 204,
          error: null,
          opening: { dns_ms: null, connect_ms: expect.any(Number), tls_ms: null },
          answer: null,
        },
      ],
      request: { body: text, headers: { 'x-grid-event-id': event.id } },
    })
    expect(detail.body.request.headers).not.toHaveProperty('x-grid-signature')
  })

  it('goes to every webhook whose patterns fit, once, and of one organization only', async () => {
    const [client, other] = [await newOrganization(), await newOrganization()]
    const [all, one, none, foreign] = [
      await listen(),
      await listen(),
      await listen(),
      await listen(),
    ]
    await subscribe(client, all.url, { events: ['*'] })
    await subscribe(client, one.url, { events: ['party.created'] })
    await subscribe(client, none.url, { events: ['lease.*'] })
    await subscribe(other, foreign.url, { events: ['*'] })
    const [id] = await makeParties(client, 2)
    await client.patch(`/parties/${id}`, { legal_name: 'New name' })
    await until(
      () => all.arrived.filter(({ event }) => event.type.startsWith('party.')).length === 3,
    )
    await until(() => one.arrived.length === 2)
    expect([none.arrived.length, foreign.arrived.length]).toEqual([0, 0])
    expect(new Set(all.arrived.map(({ event }) => event.id)).size).toBe(all.arrived.length)
  })

  it('is thin when its webhook wants so, and about its properties only', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const [mine, other] = [
      (await client.post('/properties', samples.property())).body.id,
      (await client.post('/properties', samples.property())).body.id,
    ]
    const choices = { events: ['building.*'], payload: 'thin', property_ids: [mine] }
    await subscribe(client, target.url, choices)
    await client.post('/buildings', samples.building(other))
    const { body } = await client.post('/buildings', samples.building(mine))
    await until(() => target.arrived.length > 0)
    expect(target.arrived.map(({ event }) => event.data.object)).toEqual([
      { id: body.id, object: 'building', url: expect.stringMatching(`/buildings/${body.id}$`) },
    ])
  })

  it('is tried again with growing delays, up to five times, and then given up', async () => {
    const client = await newOrganization()
    const target = await listen((response) => void response.writeHead(500).end('no'))
    const webhook = await subscribe(client, target.url)
    await makeParties(client, 1)
    const [row] = await deliveries(client, webhook.id, 1, ['failed'])
    expect(row).toMatchObject({ reason: 'exhausted', attempts: 5, last_status: 500 })
    const numbers = target.arrived.map(({ headers }) => headers['x-grid-attempt'])
    expect(numbers).toEqual(['1', '2', '3', '4', '5'])
    expect(new Set(target.arrived.map(({ event }) => event.id)).size).toBe(1)
    const { body } = await client.get(`/webhooks/${webhook.id}`)
    expect(body.stats).toMatchObject({ consecutive_failures: 5, waiting: 0, circuit: 'closed' })
  })

  it('that the receiver asks to delay waits', async () => {
    const client = await newOrganization()
    const target = await listen(
      (response) => void response.writeHead(429, { 'retry-after': '3600' }).end(),
    )
    const slow = await startWorker({ GRID_WEBHOOK_RETRY_S: '100,100' })
    await worker.stop()
    try {
      const webhook = await subscribe(client, target.url)
      const before = Date.now()
      await makeParties(client, 1)
      const row = await until(
        async () => (await client.get(`/webhooks/${webhook.id}/deliveries`)).body.data[0],
        (found) => found?.attempts === 1,
      )
      const wait_s = (Date.parse(row.next_attempt_at) - before) / 1_000
      expect(row.state).toBe('pending')
      expect(wait_s).toBeGreaterThan(4 * 80 - 1)
      expect(wait_s).toBeLessThan(4 * 120 + 5)
    } finally {
      await slow.stop()
      Object.assign(worker, await startWorker())
    }
  })

  test.each<[string, Parameters<typeof receiver>[0], object]>([
    [
      'a redirect, which is not followed',
      (response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      { status: 302, error: 'http', answer: { headers: { location: 'http://169.254.169.254/' } } },
    ],
    [
      'a reset',
      (response) => void response.destroy(),
      { status: null, error: 'reset', answer: null },
    ],
    ['silence', () => {}, { status: null, error: 'timeout' }],
    [
      'a body that never ends',
      (response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write('.'), 20)
        response.on('close', () => clearInterval(drip))
      },
      { status: 200, error: 'timeout' },
    ],
    [
      'headers without end',
      (response) => {
        for (let i = 0; i < 300; i++) response.setHeader(`x-${i}`, 'x'.repeat(200))
        response.writeHead(200).end()
      },
      { status: null, error: 'too_large' },
    ],
    [
      'a refusal in bytes that are no text',
      (response) => void response.writeHead(400).end(Buffer.from([0xff, 0xfe, 0])),
      { status: 400, error: 'http', answer: { body: '//4A', body_base64: true } },
    ],
    [
      'a refusal that is compressed, which is kept as it came',
      (response) =>
        void response.writeHead(500, { 'content-encoding': 'gzip' }).end(Buffer.alloc(8, 0x9f)),
      { status: 500, error: 'http', answer: { body_base64: true } },
    ],
    [
      'a refusal of many bytes, of which the head is kept',
      (response) => void response.writeHead(500).end('é'.repeat(1024 * 1024)),
      { status: 500, error: 'http', answer: { body: 'é'.repeat(2048), body_base64: false } },
    ],
  ])('meets %s', async (_, answer, first) => {
    const client = await newOrganization()
    const target = await listen((response, ...rest) =>
      rest[1] > 1 ? response.writeHead(200).end() : answer?.(response, ...rest),
    )
    const webhook = await subscribe(client, target.url)
    await makeParties(client, 1)
    const [row] = await deliveries(client, webhook.id, 1, ['succeeded'])
    const detail = await client.get(`/webhooks/${webhook.id}/deliveries/${row.id}`)
    expect(detail.body.attempt_log).toMatchObject([first, { status: 200, error: null }])
  })

  it('that succeeds with a large body is a success, and its connection is dropped', async () => {
    const client = await newOrganization()
    const target = await listen((response) => {
      response.writeHead(200)
      const flood = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 0x78)));
      }
      response.on('drain', flood)
      flood()
    })
    const webhook = await subscribe(client, target.url)
    await makeParties(client, 1)
    const [row] = await deliveries(client, webhook.id, 1, ['succeeded'])
    expect(row.attempts).toBe(1)
  })
})

describe('a webhook', () => {
  it('whose receiver is gone is suspended at once; what follows is held, and delivered when enabled', async () => {
    const client = await newOrganization()
    const target = await listen(
      (response, _, count) => void response.writeHead(count === 1 ? 410 : 200).end(),
    )
    const webhook = await subscribe(client, target.url)
    await makeParties(client, 1)
    const suspended = await until(
      async () => (await client.get(`/webhooks/${webhook.id}`)).body,
      ({ state }) => state === 'suspended',
    )
    expect(suspended.reason).toBe('gone')
    expect(await deliveries(client, webhook.id, 1, ['cancelled'])).toMatchObject([
      { state: 'cancelled', reason: 'gone', last_status: 410 },
    ])
    await makeParties(client, 2)
    await deliveries(client, webhook.id, 2, ['held'])
    expect((await client.get(`/webhooks/${webhook.id}`)).body.stats.held).toBe(2)
    const enabled = await client.post(`/webhooks/${webhook.id}/enable`, {})
    expect(enabled).toMatchObject({ status: 200, body: { state: 'active', reason: null } })
    await deliveries(client, webhook.id, 2, ['succeeded'])
    expect(target.arrived.length).toBe(3)
    const told = await behind(
      `select type, object_id from event where org_id = $1 and object_type = 'webhook' order by tx_id`,
      [client.org_id],
    )
    expect(told).toMatchObject([
      { type: 'webhook.created', object_id: String(digits(webhook.id)) },
      { type: 'webhook.suspended' },
      { type: 'webhook.updated' },
    ])
  })

  it('that is enabled drops what was held, or takes it from a time on', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const webhook = await subscribe(client, target.url)
    const path = `/webhooks/${webhook.id}`
    expect((await client.post(`${path}/pause`, {})).body.state).toBe('paused')
    await makeParties(client, 2)
    await deliveries(client, webhook.id, 2, ['held'])
    await client.post(`${path}/enable`, { held: 'drop' })
    const dropped = await deliveries(client, webhook.id, 2, ['cancelled'])
    expect(dropped).toMatchObject([{ reason: 'dropped' }, { reason: 'dropped' }])
    await client.post(`${path}/pause`, {})
    await makeParties(client, 1)
    const since = (await client.post('/parties', samples.party())).body.created_at
    await deliveries(client, webhook.id, 2, ['held'])
    await client.post(`${path}/enable`, { held: 'replay', since })
    await deliveries(client, webhook.id, 1, ['succeeded'])
    expect(target.arrived).toHaveLength(1)
    expect(await deliveries(client, webhook.id, 3, ['cancelled'])).toHaveLength(4)
    // What was dropped can still be asked for.
    const replay = { since: '2020-01-01T00:00:00Z', status: 'held' }
    const estimate = await client.post(`${path}/replay`, { ...replay, dry_run: true })
    expect(estimate).toMatchObject({ status: 200, body: { total: 3 } })
    await client.post(`${path}/replay`, replay)
    await until(() => target.arrived.length === 4)
  })

  it('that keeps order never has two deliveries about one object on their way', async () => {
    const client = await newOrganization()
    const busy = new Set<string>()
    let overlaps = 0
    const target = await listen((response, { event }, count) => {
      const { id } = event.data.object
      if (busy.has(id)) overlaps++
      busy.add(id)
      setTimeout(() => {
        busy.delete(id)
        response.writeHead(count % 3 === 0 ? 500 : 200).end()
      }, 3)
    })
    await subscribe(client, target.url, { ordering: 'resource' })
    const ids = await makeParties(client, 3)
    for (let i = 0; i < 5; i++)
      for (const id of ids) await client.patch(`/parties/${id}`, { legal_name: `Name ${i}` })
    const versions = (id: string): number[] =>
      target.arrived
        .filter(({ event }) => event.data.object.id === id)
        .map(({ event }) => event.resource_seq)
    await until(() => ids.every((id) => versions(id).includes(6)))
    expect(overlaps).toBe(0)
    for (const id of ids) expect(versions(id)).toEqual(versions(id).toSorted((a, b) => a - b))
  })

  it('that coalesces gets the last of several updates, and how many there were', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    await subscribe(client, target.url, { events: ['party.updated'], coalesce_seconds: 1 })
    const [id] = await makeParties(client, 1)
    for (const name of ['A', 'B', 'C']) await client.patch(`/parties/${id}`, { legal_name: name })
    await until(() => target.arrived.length > 0)
    expect(target.arrived.map(({ event }) => event.data.object.legal_name)).toEqual(['C'])
    expect(target.arrived[0]?.headers['x-grid-coalesced']).toBe('3')
  })

  it('with a rate gets no more than that a second', async () => {
    const [client, target] = [await newOrganization(), await listen()]
    const webhook = await subscribe(client, target.url, { rate: 10 })
    const start = performance.now()
    await makeParties(client, 25)
    await deliveries(client, webhook.id, 25, ['succeeded'])
    expect(performance.now() - start).toBeGreaterThan(1_000)
  })

  it.each([
    ['waits to be tried again', 0],
    ['is on its way', 300],
  ])('that is deleted while a delivery %s gets nothing more', async (_, answers_ms) => {
    const client = await newOrganization()
    const target = await listen((response) => {
      setTimeout(() => response.writeHead(500).end(), answers_ms)
    })
    const webhook = await subscribe(client, target.url)
    await makeParties(client, 1)
    await until(() => target.arrived.length > 0)
    expect((await client.delete(`/webhooks/${webhook.id}`)).status).toBe(204)
    const ended = await until(
      async () =>
        await behind('select state, reason from delivery_log where org_id = $1', [client.org_id]),
      (rows) => rows.length === 1,
    )
    expect(ended).toEqual([{ state: 'cancelled', reason: 'webhook_deleted' }])
    expect(await behind('select from delivery where org_id = $1', [client.org_id])).toEqual([])
  })
})
