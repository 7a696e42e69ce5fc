import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { grid, newOrganization, ownDatabase } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
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
import { Secrets, secretsOf } from '../secrets.ts'
import { getWebhook, requireMasterKeys, rewrapSecrets } from './service.ts'
import { targetIssue } from './target.ts'
import { secretContext } from './types.ts'

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

describe('POST /webhooks', () => {
  it('answers 201 with the webhook and its secret, this once', async () => {
    const answer = await client.post('/webhooks', { url })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(`/api/v1/webhooks/${answer.body.id}`)
    expect(answer.headers.get('etag')).toBe('"v1"')
    expect(answer.body).toMatchObject({
      object: 'webhook',
      organization_id: client.organization_id,
      url,
      events: ['*'],
      state: 'active',
      payload: 'full',
      ordering: 'none',
      coalesce_seconds: 0,
      property_ids: null,
      max_concurrency: 10,
      rate: null,
      redrive_on_recovery: false,
      version: 1,
    })
    const { secret, id } = answer.body
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const hint = `whsec_...${secret.slice(-4)}`
    const again = await client.get(`/webhooks/${id}`)
    expect(again.body).toMatchObject({ secret: hint, secrets: [{ hint, expires_at: null }] })
    const stored = JSON.stringify(
      await behind('select * from webhook where org_id = $1', [client.org_id]),
    )
    expect(stored).not.toContain(secret.slice(6, 40))
  })

  it('gives the first answer again for the same key, and keeps it sealed', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const first = await client.post('/webhooks', { url }, headers)
    const again = await client.post('/webhooks', { url }, headers)
    expect(again.body).toEqual(first.body)
    expect(again.status).toBe(201)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const other = await client.post('/webhooks', { url: `${url}/2` }, headers)
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
    const kept = await behind('select body from idempotency where org_id = $1', [client.org_id])
    expect(JSON.stringify(kept)).not.toContain(first.body.secret.slice(6, 40))
    // What was kept would open nowhere else: another organization's key is its own.
    expect(
      (await foreign.post('/webhooks', { url }, headers)).headers.get('idempotent-replayed'),
    ).toBeNull()
  })

  it.each([
    [{}, ['url']],
    [{ url: 'no address' }, ['url']],
    [{ url: 'http://hooks.example.com/' }, ['url']],
    [{ url: 'ftp://hooks.example.com/' }, ['url']],
    [{ url: 'https://10.0.0.1/' }, ['url']],
    [{ url: 'https://169.254.169.254/' }, ['url']],
    [{ url: 'https://[::1]/' }, ['url']],
    [{ url: 'https://2130706433/', events: [] }, ['events']],
    [{ url: 'https://user:secret@hooks.example.com/' }, ['url']],
    [{ url: 'https://hooks.example.com:22/' }, ['url']],
    [{ url: 'https://hooks.example.com:5432/' }, ['url']],
    [{ url: `https://hooks.example.com/${'a'.repeat(2_100)}` }, ['url']],
    [{ url, events: ['lease.updatd'] }, ['events[0]']],
    [{ url, events: ['party.*', 'nothing.*'] }, ['events[1]']],
    [{ url, events: ['*.created'] }, ['events[0]']],
    [{ url, payload: 'tiny', ordering: 'all' }, ['ordering', 'payload']],
    [{ url, max_concurrency: 0, rate: 0 }, ['max_concurrency', 'rate']],
    [{ url, max_concurrency: 101 }, ['max_concurrency']],
    [{ url, coalesce_seconds: 3_601 }, ['coalesce_seconds']],
    [{ url, property_ids: ['bld_1'] }, ['property_ids[0]']],
    [{ url, property_ids: ['prop_999999999'] }, ['property_ids']],
    [{ url, schema_version: '2020-01-01' }, ['schema_version']],
    [{ url, secret: 'mine' }, ['secret']],
  ])('refuses %j', async (body, fields) => {
    const answer = await client.post('/webhooks', body)
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
    const named = answer.body.errors.map(({ field }: { field: string }) => field)
    expect(named.toSorted()).toEqual(fields)
  })

  it('refuses properties of another organization', async () => {
    const { body } = await foreign.post('/properties', samples.property())
    const answer = await client.post('/webhooks', { url, property_ids: [body.id] })
    expect(answer.status).toBe(422)
  })

  it('allows a hundred', async () => {
    const own = await newOrganization()
    await behind(
      `insert into webhook (org_id, id, url, events, types, state, payload, ordering, coalesce_seconds, max_concurrency, redrive_on_recovery,
         schema_version, secrets, position, version, created_at, updated_at)
       select $1, n, 'https://a.example', '{*}', '{%}', 'paused', 'full', 'none', 0, 1, false, '', '[]', 0, 1, now(), now()
       from generate_series(1, 100) n`,
      [own.org_id],
    )
    expect(await own.post('/webhooks', { url })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })
  })
})

test.each([
  ['https://hooks.example.com/', '', true],
  ['https://hooks.example.com:8443/', '', true],
  ['https://hooks.example.com:80/', '', false],
  ['http://hooks.example.com/', 'development', true],
  ['http://127.0.0.1:3000/', 'development', false],
  ['http://127.0.0.1:3000/', '127.0.0.0/8', true],
  ['http://localhost:3000/', '127.0.0.0/8', true],
  ['http://169.254.169.254/', '169.254.0.0/16', false],
  ['http://[fd00:ec2::254]/', 'fd00::/8', false],
])('the address %s with %j is allowed: %s', (address, rule, fine) => {
  const rules = {
    GRID_ENV: rule === 'development' ? 'development' : 'production',
    GRID_WEBHOOK_ALLOW_CIDRS: rule.includes('/') ? [rule] : [],
  } as const
  expect(targetIssue(address, rules) === null).toBe(fine)
})

describe('a webhook', () => {
  it('is listed newest first, by pages and by state', async () => {
    const own = await newOrganization()
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push((await own.post('/webhooks', { url })).body.id)
    await own.post(`/webhooks/${ids[1]}/pause`, {})
    const first = await own.get('/webhooks?limit=2')
    expect(first.body.data.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1]])
    const second = await own.get(`/webhooks?limit=2&cursor=${first.body.next_cursor}`)
    expect(second.body).toMatchObject({
      data: [{ id: ids[0] }],
      has_more: false,
      next_cursor: null,
    })
    const paused = await own.get('/webhooks?state=paused')
    expect(paused.body.data).toMatchObject([
      { id: ids[1], state: 'paused', stats: { circuit: 'closed' } },
    ])
  })

  it('is changed by a merge patch, guarded by its version', async () => {
    const { id } = await subscribe(client, url, { description: 'First', rate: 5 })
    const path = `/webhooks/${id}`
    const changed = await client.patch(
      path,
      { description: null, events: ['lease.*'], rate: null },
      { 'if-match': '"v1"' },
    )
    expect(changed).toMatchObject({
      status: 200,
      body: { description: null, events: ['lease.*'], rate: null, version: 2 },
    })
    expect(changed.headers.get('etag')).toBe('"v2"')
    expect((await client.patch(path, { events: ['lease.*'] })).body.version).toBe(2)
    expect((await client.patch(path, { url: 'http://10.0.0.1/' })).status).toBe(422)
    expect((await client.patch(path, { rate: 1 }, { 'if-match': '"v1"' })).status).toBe(412)
    expect((await client.delete(path, { 'if-match': '"v1"' })).status).toBe(412)
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get(path)).status).toBe(404)
    expect((await client.delete(path)).status).toBe(404)
    const audited = await behind(
      `select action, actor_name, changed, a.details ->> 'url' as url from audit_entry a join tx t using (org_id, tx_id)
       where a.org_id = $1 and a.object_id = $2 order by tx_id`,
      [client.org_id, id.slice(3)],
    )
    const entry = { actor_name: 'Test key', url }
    expect(audited).toMatchObject([
      { ...entry, action: 'webhook.created' },
      { ...entry, action: 'webhook.updated', changed: ['description', 'events', 'rate'] },
      { ...entry, action: 'webhook.deleted' },
    ])
  })

  it('of another organization does not exist', async () => {
    const { id } = await subscribe(foreign, url)
    const paths = ['', '/deliveries', '/deliveries/del_1', '/replays/replay_1']
    for (const path of paths) expect((await client.get(`/webhooks/${id}${path}`)).status).toBe(404)
    for (const [path, body] of [
      ['/pause', {}],
      ['/enable', {}],
      ['/rotate-secret', {}],
      ['/replay', { event_id: 'evt_1' }],
    ] as const)
      expect((await client.post(`/webhooks/${id}${path}`, body)).status).toBe(404)
    expect((await client.patch(`/webhooks/${id}`, { rate: 1 })).status).toBe(404)
    expect((await client.delete(`/webhooks/${id}`)).status).toBe(404)
    expect((await client.post('/webhooks/test', { webhook_id: id })).status).toBe(404)
  })

  it('is paused once, and enabled as often as one likes', async () => {
    const { id } = await subscribe(client, url)
    expect((await client.post(`/webhooks/${id}/pause`, {})).status).toBe(200)
    expect(await client.post(`/webhooks/${id}/pause`, {})).toMatchObject({
      status: 422,
      body: { code: 'invalid_transition' },
    })
    const enable = async (body: object): Promise<number> =>
      (await client.post(`/webhooks/${id}/enable`, body)).status
    expect(await enable({ held: 'drop', since: '2026-01-01T00:00:00Z' })).toBe(422)
    expect(await enable({ since: 'yesterday' })).toBe(422)
    expect([await enable({}), await enable({})]).toEqual([200, 200])
  })

  it('signs with its old secrets until their grace ends', async () => {
    const made = await subscribe(client, target.url)
    const rotate = async (body: object): ReturnType<TestClient['post']> =>
      await client.post(`/webhooks/${made.id}/rotate-secret`, body)
    const second = (await rotate({ grace_seconds: 60 })).body
    expect(second.secrets).toHaveLength(2)
    const delivered = async (): Promise<(secret: string) => boolean> => {
      const before = target.arrived.length
      await makeParties(client, 1)
      await until(() => target.arrived.length > before)
      const { text, headers } = target.arrived.at(-1) as (typeof target.arrived)[0]
      return (secret) => {
        try {
          new Webhook(secret).verify(text, headers)
          return true
        } catch {
          return false
        }
      }
    }
    const verifies = await delivered()
    expect([verifies(made.secret), verifies(second.secret)]).toEqual([true, true])
    expect((await rotate({ grace_seconds: 60 })).status).toBe(200)
    expect(await rotate({})).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await rotate({ grace_seconds: 604_801 })).status).toBe(422)
    const last = (await rotate({ grace_seconds: 0 })).body
    expect(last.secrets).toHaveLength(1)
    const after = await delivered()
    expect([after(made.secret), after(second.secret), after(last.secret)]).toEqual([
      false,
      false,
      true,
    ])
    await client.delete(`/webhooks/${made.id}`)
  })
})

it('keeps its secret when the master key is replaced', async () => {
  const { app, db } = await grid()
  const own = await newOrganization()
  const made = await subscribe(own, url)
  const old = secretsOf(app.config)
  const keys = readFileSync(join(app.config.GRID_DATA_DIR, 'master.key'), 'utf8')
  const fresh = randomBytes(32).toString('base64')
  const both = new Secrets(() => `${fresh}\n${keys}`)
  expect(await rewrapSecrets(db, both)).toBeGreaterThan(0)
  const webhook = await getWebhook(db, own.org_id, Number(made.id.slice(3)))
  const context = secretContext(own.org_id, webhook.id)
  expect(both.open(webhook.secrets[0]?.sealed ?? '', context)).toBe(made.secret)
  await requireMasterKeys(db, both)
  await expect(requireMasterKeys(db, old)).rejects.toThrow(/set GRID_MASTER_KEY/)
  expect(await rewrapSecrets(db, new Secrets(() => `${keys}\n${fresh}`))).toBeGreaterThan(0)
})

describe('POST /webhooks/test and /replay', () => {
  it.each([
    ['test', (id: string) => ['/webhooks/test', { webhook_id: id }]],
    ['replay', (id: string) => [`/webhooks/${id}/replay`, { event_ids: [], dry_run: true }]],
  ] as const)('%s takes no more than 30 requests a minute', async (_, asked) => {
    const client = await newOrganization()
    const { body } = await client.post('/webhooks', { url: target.url, events: ['party.*'] })
    const [path, request] = asked(body.id) as [string, object]
    const statuses: number[] = []
    for (let n = 0; n < 31; n++) statuses.push((await client.post(path, request)).status)
    expect(statuses.slice(0, 30)).not.toContain(429)
    expect(statuses[30]).toBe(429)
  })
})

describe('GET /webhooks/{id}/deliveries', () => {
  it('filters by state, type, trigger and time, and pages', async () => {
    const own = await newOrganization()
    const { id } = await subscribe(own, target.url)
    const [party] = await makeParties(own, 2)
    await own.patch(`/parties/${party}`, { legal_name: 'New' })
    await deliveries(own, id, 3, ['succeeded'])
    await own.post('/webhooks/test', { webhook_id: id })
    const found = async (query: string): Promise<number> =>
      (await own.get(`/webhooks/${id}/deliveries?${query}`)).body.data.length
    expect(await found('state=succeeded')).toBe(4)
    expect(await found('state=failed')).toBe(0)
    expect(await found('type=party.*')).toBe(3)
    expect(await found('type=party.updated')).toBe(1)
    expect(await found('trigger=test')).toBe(1)
    expect(await found('since=2999-01-01T00:00:00Z')).toBe(0)
    const first = await own.get(`/webhooks/${id}/deliveries?limit=3`)
    expect(first.body.data).toHaveLength(3)
    expect(await found(`limit=3&cursor=${first.body.next_cursor}`)).toBe(1)
    const wrong = await own.get(`/webhooks/${id}/deliveries?state=lost`)
    expect(wrong.status).toBe(422)
    expect((await own.get(`/webhooks/${id}/deliveries/del_1`)).status).toBe(404)
  })
})

describe('POST /webhooks/{id}/replay', () => {
  it.each([
    [{}, ['since']],
    [{ event_id: 'evt_1', since: '2026-01-01T00:00:00Z' }, ['since']],
    [{ event_ids: [] }, ['event_ids']],
    [{ event_ids: ['evt_999999999999'] }, ['event_ids']],
    [{ event_id: 'le_1' }, ['event_id']],
    [{ since: 'long ago' }, ['since']],
    [{ since: '2026-01-01T00:00:00Z', status: 'lost' }, ['status']],
    [{ since: '2026-01-01T00:00:00Z', types: ['nothing.*'] }, ['types[0]']],
    [{ since: '2026-01-01T00:00:00Z', rate: 0 }, ['rate']],
  ])('refuses %j', async (body, fields) => {
    const { id } = await subscribe(client, url)
    const answer = await client.post(`/webhooks/${id}/replay`, body)
    expect(answer.status).toBe(422)
    expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual(fields)
    await client.delete(`/webhooks/${id}`)
  })

  it('refuses while the webhook takes nothing, and events of others', async () => {
    const { id } = await subscribe(client, url)
    const since = '2026-01-01T00:00:00Z'
    await client.post(`/webhooks/${id}/pause`, {})
    expect((await client.post(`/webhooks/${id}/replay`, { since })).status).toBe(409)
    const theirs = await subscribe(foreign, target.url)
    await makeParties(foreign, 1)
    const [row] = await deliveries(foreign, theirs.id, 1, ['succeeded'])
    const answer = await client.post(`/webhooks/${id}/replay`, { event_id: row.event_id })
    expect(answer.status).toBe(422)
    await foreign.delete(`/webhooks/${theirs.id}`)
  })
})
