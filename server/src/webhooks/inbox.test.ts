import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grid, newClient, newOrganization, ownDatabase } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { behind, makeParties, receiver, startWorker, subscribe, until } from './delivery-fixture.ts'
import { Egress } from '../egress.ts'
import { send } from './attempt.ts'
import { keyOf, signatureHeaders, verify } from './signature.ts'
import { targetIssue } from './target.ts'

await ownDatabase()
const worker = await startWorker()
const target = await receiver()
afterAll(async () => {
  await worker.stop()
  await target.close()
})

let client: TestClient
let foreign: TestClient
beforeAll(async () => {
  client = await newOrganization()
  foreign = await newOrganization()
})

const url = 'https://hooks.example.com/grid'

const unreached = {
  error: 'connect',
  status: null,
  opening: null,
  total_ms: 0,
  first_byte_ms: null,
  answer: null,
}

describe('POST /webhooks/test', () => {
  it('tells what a saved webhook answered, and keeps the delivery', async () => {
    const { id } = await subscribe(client, target.url)
    const { status, body } = await client.post('/webhooks/test', { webhook_id: id })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      webhook_id: id,
      succeeded: true,
      status: 204,
      error: null,
      secret: null,
    })
    const detail = await client.get(`/webhooks/${id}/deliveries/${body.delivery_id}`)
    expect(detail.body).toMatchObject({
      trigger: 'test',
      state: 'succeeded',
      event_id: body.event_id,
    })
    expect(target.arrived.at(-1)?.event).toMatchObject({ id: body.event_id, type: 'webhook.test' })
  })

  it('signs a request to an address that is not saved with the secret given, or tells the one it made', async () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const given = await client.post('/webhooks/test', { url: target.url, secret })
    const verified = (by: string): number | null => {
      const { text, headers } = target.arrived.at(-1) as (typeof target.arrived)[0]
      const now = Number(headers['webhook-timestamp'])
      return verify(
        [keyOf(by)],
        headers['x-grid-signature'],
        headers['webhook-id'],
        Buffer.from(text),
        now,
      )
    }
    expect(given.body).toMatchObject({ succeeded: true, delivery_id: null, secret: null })
    expect(verified(secret)).toBe(0)
    const made = await client.post('/webhooks/test', { url: target.url })
    expect(verified(made.body.secret)).toBe(0)
  })

  it('tells an address that cannot be reached after a second, and nothing of why', async () => {
    const closed = await receiver()
    await closed.close()
    const start = performance.now()
    const { body } = await client.post('/webhooks/test', { url: closed.url })
    expect(performance.now() - start).toBeGreaterThan(990)
    expect(body).toMatchObject(unreached)
  })

  it('tells an address that must not be reached in the same words', async () => {
    const resolve = async (): Promise<{ address: string; family: number }[]> => [
      { address: '10.0.0.1', family: 4 },
    ]
    const egress = new Egress({ resolve })
    const inside = { url: 'https://inside.example/', own_inbox: false }
    expect(await send(egress, inside, {}, Buffer.from('{}'), 1_000)).toMatchObject(unreached)
    await egress.close()
  })

  it.each([
    [{}],
    [{ url: 'http://10.0.0.1/' }],
    [{ webhook_id: 'le_1' }],
    [{ webhook_id: 'wh_1', url }],
    [{ url, secret: 'short' }],
  ])('refuses %j', async (body) => {
    expect((await client.post('/webhooks/test', body)).status).toBe(422)
  })
})

describe('an inbox', () => {
  it('receives what is delivered, and says who signed it', async () => {
    const own = await newOrganization()
    const made = await own.post('/webhooks/inbox', {})
    expect(made).toMatchObject({ status: 201, body: { answer_status: 200, requests: 0 } })
    const { id, url: address } = made.body
    const webhook = await subscribe(own, address)
    await makeParties(own, 1)
    const list = await until(
      async () => (await own.get(`/webhooks/inbox/${id}/requests`)).body.data,
      (rows) => rows.length > 0,
    )
    const hint = `whsec_...${webhook.secret.slice(-4)}`
    expect(list).toMatchObject([
      { verified: true, webhook_id: webhook.id, secret: hint, headers: { 'x-grid-attempt': '1' } },
    ])
    expect(JSON.parse(list[0].body)).toMatchObject({ type: 'party.created' })
    const old = signatureHeaders([keyOf(webhook.secret)], 'evt_1', 1_750_000_000, '{}')
    const headers = { ...old, 'x-grid-event-id': 'evt_1' }
    const answer = await fetch(address, { method: 'POST', body: '{}', headers })
    expect([answer.status, await answer.json()]).toEqual([200, { received: true }])
    await fetch(address, { method: 'POST', body: Buffer.from([0, 255]) })
    const all = (await own.get(`/webhooks/inbox/${id}/requests`)).body.data
    expect(all.map(({ verified }: { verified: boolean }) => verified)).toEqual([false, false, true])
    expect(all[0]).toMatchObject({ body: 'AP8=', body_base64: true })
    expect((await own.get(`/webhooks/inbox/${id}`)).body).toMatchObject({
      requests: 3,
      verified: 1,
    })
  })

  it('answers as it was told, keeps the last 200 requests, and is forgotten', async () => {
    const made = (await client.post('/webhooks/inbox', { answer_status: 503 })).body
    const post = async (body: string): Promise<number> =>
      (await fetch(made.url, { method: 'POST', body })).status
    for (let i = 0; i < 205; i++) expect(await post(String(i))).toBe(503)
    expect(await post('x'.repeat(300 * 1024))).toBe(413)
    const path = `/webhooks/inbox/${made.id}`
    const page = await client.get(`${path}/requests?limit=200`)
    expect(page.body.has_more).toBe(false)
    expect(page.body.data).toHaveLength(200)
    expect(page.body.data[0].body).toBe('204')
    for (const tail of ['', '/requests']) expect((await foreign.get(path + tail)).status).toBe(404)
    expect((await foreign.delete(path)).status).toBe(404)
    expect((await client.delete(path)).status).toBe(204)
    expect([(await client.get(path)).status, await post('late')]).toEqual([404, 404])
  })

  it('may only be delivered to by its own organization, and at its exact address', async () => {
    const { app } = await grid()
    const strict = app.config.GRID_WEBHOOK_ALLOW_CIDRS
    const { url: address } = (await foreign.post('/webhooks/inbox', {})).body
    // Loopback is allowed to these tests; what a plain installation refuses is told by the rule itself.
    const rules = { GRID_ENV: 'production', GRID_WEBHOOK_ALLOW_CIDRS: [] } as const
    expect(targetIssue(address, rules)?.code).toBe('invalid_scheme')
    expect(strict).toEqual(['127.0.0.1/32'])
    const { id } = (await client.post('/webhooks', { url: address })).body
    const [row] = await behind('select inbox_id from webhook where id = $1', [id.slice(3)])
    expect(row).toEqual({ inbox_id: null })
  })

  it('needs the scope to write webhooks', async () => {
    const reader = await newClient(client.org_id, ['read:webhooks'])
    expect((await reader.post('/webhooks/inbox', {})).status).toBe(403)
    expect((await client.post('/webhooks/inbox', { answer_status: 100 })).status).toBe(422)
  })
})
