/** The webhook of an installation: for what the consent lets the app read, verified by the secret its token brings. */
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grid, newOrganization } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { receiver, startWorker, until } from '../webhooks/delivery-fixture.ts'
import { APP, newApp, signedIn, token } from './app-fixture.ts'
import { moveApp } from './review.ts'
import { readableEvents } from './webhook.ts'

let worker: Awaited<ReturnType<typeof startWorker>>
beforeAll(async () => {
  worker = await startWorker()
})
afterAll(async () => await worker.stop())

describe('events that an app may hear of', () => {
  it.each<[string[], Parameters<typeof readableEvents>[1], string[]]>([
    [['*'], ['read:parties'], ['party.*', 'contact.*']],
    [['*'], ['write:parties'], []],
    [['lease.*', 'party.updated'], ['read:leases'], ['lease.*']],
    [['party.updated', 'party.*'], ['read:parties'], ['party.updated', 'party.*']],
    [['job.completed'], ['read:jobs'], ['job.completed']],
    [['api_key.*', 'webhook.*', 'app.*'], ['read:leases', 'read:apps', 'read:webhooks'], []],
    [['lease'], ['read:leases'], []],
  ])('%j with %j are %j', (wanted, scopes, events) => {
    expect(readableEvents(wanted, scopes)).toEqual(events)
  })
})

describe('the webhook of an app', () => {
  it('delivers to the app what happens, until the app is uninstalled', async () => {
    const there = await receiver()
    const client = await newOrganization()
    const webhook = { url: there.url, events: ['*'] }
    const app = await newApp(client, { webhook })
    const installed = await client.post('/apps/installations', {
      client_id: app.id,
      scopes: ['read:parties'],
    })
    const { id, webhook_id } = installed.body
    const hook = await client.get(`/webhooks/${webhook_id}`)
    expect(hook.body).toMatchObject({ url: there.url, events: ['party.*', 'contact.*'] })
    expect(hook.body.description).toBe(`Rent Roll Studio (${app.id})`)
    const form = { grant_type: 'client_credentials', installation_id: id }
    const { secret } = (await token(app, form)).body.webhook
    await client.post('/properties', samples.property())
    const { body: party } = await client.post('/parties', samples.party())
    const [arrived] = await until(
      () => there.arrived,
      (found) => found.length > 0,
    )
    expect(arrived?.event).toMatchObject({
      type: 'party.created',
      data: { object: { id: party.id } },
    })
    const verified = new Webhook(secret).verify(arrived?.text ?? '', arrived?.headers ?? {})
    expect(verified).toMatchObject({ type: 'party.created' })
    expect((await client.delete(`/apps/installations/${id}`)).status).toBe(204)
    expect((await client.get(`/webhooks/${webhook_id}`)).status).toBe(404)
    await there.close()
  })

  it('follows what more is consented to, and goes while the app is suspended', async () => {
    const there = await receiver()
    const client = await newOrganization()
    const app = await newApp(client, { webhook: { url: there.url, events: ['*'] } })
    await signedIn(app, client, { scope: 'read:parties' })
    const hooks = async (): Promise<unknown[]> =>
      (await client.get('/webhooks')).body.data.map(({ events }: { events: string[] }) => events)
    expect(await hooks()).toEqual([['party.*', 'contact.*']])
    await signedIn(app, client, { scope: 'read:leases' })
    expect(await hooks()).toEqual([['party.*', 'contact.*', 'lease.*']])
    const { app: server, db } = await grid()
    const own = { db, secrets: server.secrets }
    const id = Number(app.id.slice(4))
    await moveApp(own, id, 'suspended', null)
    expect(await hooks()).toEqual([])
    await moveApp(own, id, 'published', null)
    expect(await hooks()).toEqual([['party.*', 'contact.*', 'lease.*']])
    await client.patch(`/developer/apps/${app.id}`, { status: 'deprecated' })
    expect((await client.delete(`/developer/apps/${app.id}`)).status).toBe(204)
    expect(await hooks()).toEqual([])
    expect((await client.get('/apps/installations')).body.data).toEqual([])
    await there.close()
  })

  it('is refused where no webhook may be', async () => {
    const client = await newOrganization()
    for (const url of [
      'http://app.example.com/',
      'https://10.0.0.1/',
      'https://a:b@example.com/',
      'x',
    ]) {
      const body = { ...APP, webhook: { url, events: ['*'] } }
      const answer = await client.post('/developer/apps/register', body)
      expect(answer, url).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'webhook.url' }] },
      })
    }
    const { id } = await newApp(client)
    const webhook = { url: 'https://10.0.0.1/', events: ['*'] }
    expect((await client.patch(`/developer/apps/${id}`, { webhook })).status).toBe(422)
  })
})
