/** Several sandboxes of one organization, and what is taken from them to it. */
import { describe, expect, it } from 'vitest'
import { clientWith, grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { auditKey } from '../audit/key.ts'
import type { Row } from '../kit/resource.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { storageOf } from '../documents/storage.ts'
import { sealing } from '../queue/work.ts'
import { takeTask } from './work.ts'

const NAME = { name: 'Lease imports' }

async function made(live: TestClient, body: Row = NAME): Promise<TestClient & { answer: Answer }> {
  const answer = await live.post('/sandboxes', body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  const id = Number(String(answer.body.id).replace('org_', ''))
  return { ...clientWith(answer.body.api_key.key, id), answer }
}

const idsOf = (answer: Answer): unknown[] => answer.body.data.map((row: Row) => row['id'])

describe('a sandbox of an organization', () => {
  it('has the defaults of its parent, data of its own, and a key that is shown once', async () => {
    const live = await newOrganization()
    const header = { 'idempotency-key': 'one' }
    const answer = await live.post('/sandboxes', NAME, header)
    expect(answer).toMatchObject({
      status: 201,
      body: {
        object: 'organization',
        name: 'Lease imports',
        slug: 'lease-imports',
        environment: 'sandbox',
        parent_organization_id: live.organization_id,
        time_zone: 'America/New_York',
        api_key: { key: expect.stringMatching(/^grid_sbx_/), key_shown: true },
      },
    })
    const again = await live.post('/sandboxes', NAME, header)
    expect(again.body).toMatchObject({
      id: answer.body.id,
      api_key: { key: null, key_shown: false },
    })
    const sandbox = clientWith(answer.body.api_key.key, 0)
    expect((await sandbox.post('/parties', samples.party())).status).toBe(201)
    expect((await live.get('/parties')).body.data).toEqual([])
    expect((await sandbox.get('/sandbox')).body).toMatchObject({
      environment: 'sandbox',
      objects: { party: 1 },
    })
  })

  it('is seen by its parent alone, page by page', async () => {
    const [live, stranger] = await Promise.all([newOrganization(), newOrganization()])
    const ids = []
    for (const name of ['A', 'B', 'C']) ids.push((await made(live, { name })).organization_id)
    expect(idsOf(await live.get('/sandboxes'))).toEqual(ids)
    const first = await live.get('/sandboxes?limit=2')
    expect(idsOf(first)).toEqual(ids.slice(0, 2))
    expect(idsOf(await live.get(`/sandboxes?limit=2&cursor=${first.body.next_cursor}`))).toEqual([
      ids[2],
    ])
    expect(idsOf(await stranger.get('/sandboxes'))).toEqual([])
    expect((await stranger.delete(`/sandboxes/${ids[0]}`)).status).toBe(404)
    expect((await live.get('/sandboxes?format=csv')).body.split('\r\n')).toHaveLength(5)
  })

  it.each([
    ['community', 1],
    ['professional', 5],
  ] as const)('there are as many as the %s plan has: %i', async (plan, most) => {
    const live = await newOrganization({ standing: { plan } })
    const answers = await Promise.all(
      Array.from({ length: most + 1 }, (_, i) => live.post('/sandboxes', { name: `S ${i}` })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array<number>(most).fill(201),
      409,
    ])
    expect(idsOf(await live.get('/sandboxes'))).toHaveLength(most)
  })

  it('takes no more scopes than the key has that makes it', async () => {
    const live = await newOrganization()
    const scopes = ['write:sandbox', 'read:leases', 'read:organizations'] as const
    const some = await newClient(live.org_id, scopes)
    const more = await some.post('/sandboxes', { ...NAME, scopes: ['admin:keys'] })
    expect(more).toMatchObject({ status: 403, body: { required_scope: 'admin:keys' } })
    const sandbox = await made(some)
    expect(sandbox.answer.body.api_key.scopes.toSorted()).toEqual([...scopes].toSorted())
    expect((await sandbox.get('/leases')).status).toBe(200)
    expect((await sandbox.get('/parties')).status).toBe(403)
  })

  it.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'x', slug: 'Not a slug' }, 'slug'],
    [{ name: 'x', scopes: ['no:scope'] }, 'scopes[0]'],
  ])('%j is 422', async (body, field) => {
    const live = await newOrganization()
    const answer = await live.post('/sandboxes', body)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field }] } })
  })

  it('is made and deleted with a live key', async () => {
    const live = await newOrganization()
    const sandbox = await made(live)
    const refusal = { status: 403, body: { code: 'live_only' } }
    expect(await sandbox.post('/sandboxes', NAME)).toMatchObject(refusal)
    expect(await sandbox.delete(`/sandboxes/${sandbox.organization_id}`)).toMatchObject(refusal)
    const promotion = { sandbox: sandbox.organization_id }
    expect(await sandbox.post('/sandbox/promote', promotion)).toMatchObject(refusal)
  })

  it('is deleted with its keys at once, and with what it holds', async () => {
    const { app, db } = await grid()
    const live = await newOrganization()
    const sandbox = await made(live)
    await sandbox.post('/parties', samples.party())
    const path = `/sandboxes/${sandbox.organization_id}`
    expect((await live.delete(path)).status).toBe(204)
    expect((await sandbox.get('/parties')).status).toBe(401)
    expect((await live.delete(path)).status).toBe(404)
    expect(idsOf(await live.get('/sandboxes'))).toEqual([])
    expect((await live.delete(`/sandboxes/${live.organization_id}`)).status).toBe(404)
    const client = await owner()
    const left = async (): Promise<number> => {
      const sql = 'select count(*)::integer as n from party where org_id = $1'
      return (await client.query<{ n: number }>(sql, [sandbox.org_id])).rows[0]?.n ?? -1
    }
    const stopping = new AbortController().signal
    const storage = storageOf(app.config)
    // Other tests may have tasks of their own.
    for (let n = 0; n < 10 && (await left()) > 0; n++)
      await takeTask({
        db,
        storage,
        seal: sealing(db, auditKey(app.config)),
        log: () => {},
        stopping,
      })
    expect(await left()).toBe(0)
    await client.end()
  })
})

describe('taking settings live', () => {
  const hook = (path: string, events = ['lease.*']): Row => ({
    url: `https://hooks.example/${path}`,
    events,
    description: path,
  })

  it('shows the difference, applies exactly that, and nothing twice', async () => {
    const live = await newOrganization()
    const sandbox = await made(live)
    await sandbox.post('/webhooks', hook('new'))
    await sandbox.post('/webhooks', hook('changed', ['*']))
    await sandbox.post('/webhooks', hook('same'))
    const inbox = await sandbox.post('/webhooks/inbox', {})
    expect(inbox.status, JSON.stringify(inbox.body)).toBe(201)
    await sandbox.post('/webhooks', { url: inbox.body.url })
    const changed = await live.post('/webhooks', hook('changed'))
    await live.post('/webhooks', hook('same'))
    await live.post('/webhooks', hook('live-only'))
    const body = { sandbox: sandbox.organization_id }
    const dry = await live.post('/sandbox/promote', body)
    expect(dry).toMatchObject({
      status: 200,
      body: { applied: false, counts: { create: 1, update: 1, unchanged: 1, skipped: 1 } },
    })
    const of = (key: string): Row =>
      dry.body.changes.find((row: Row) => row['key'] === `https://hooks.example/${key}`)
    expect(of('new')).toMatchObject({ action: 'create', before: null })
    expect(of('changed')).toMatchObject({ action: 'update', changed: ['events'] })
    expect((await live.post('/sandbox/promote', body)).body.hash).toBe(dry.body.hash)
    expect((await live.get('/webhooks')).body.data).toHaveLength(3)
    const apply = { ...body, dry_run: false, hash: dry.body.hash }
    const header = { 'idempotency-key': 'promote-1' }
    const applied = await live.post('/sandbox/promote', apply, header)
    expect(applied).toMatchObject({ status: 200, body: { applied: true, hash: dry.body.hash } })
    expect(applied.body.created).toMatchObject([
      {
        kind: 'webhooks',
        key: 'https://hooks.example/new',
        secret: expect.stringMatching(/^whsec_/),
      },
    ])
    const repeat = await live.post('/sandbox/promote', apply, header)
    expect(repeat.body.created).toMatchObject([{ secret: null }])
    const after = await live.get(`/webhooks/${changed.body.id}`)
    expect(after.body).toMatchObject({ events: ['*'], version: 2 })
    expect((await live.get('/webhooks')).body.data).toHaveLength(4)
    const rest = await live.post('/sandbox/promote', body)
    expect(rest.body.counts).toEqual({ create: 0, update: 0, unchanged: 3, skipped: 1 })
  })

  it('is done once when it is asked for twice at the same time', async () => {
    const live = await newOrganization()
    const sandbox = await made(live)
    for (const path of ['a', 'b', 'c']) await sandbox.post('/webhooks', hook(path))
    const body = { sandbox: sandbox.organization_id }
    const { hash } = (await live.post('/sandbox/promote', body)).body
    const apply = async (): Promise<Answer> =>
      await live.post('/sandbox/promote', { ...body, dry_run: false, hash })
    const answers = await Promise.all([apply(), apply(), apply()])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
    expect((await live.get('/webhooks')).body.data).toHaveLength(3)
  })

  it('leaves webhooks of one address, which cannot be told apart', async () => {
    const live = await newOrganization()
    const sandbox = await made(live)
    const property = await sandbox.post('/properties', samples.property())
    const property_ids = [property.body.id]
    const restricted = await sandbox.post('/webhooks', { ...hook('two'), property_ids })
    expect(restricted.status, JSON.stringify(restricted.body)).toBe(201)
    await sandbox.post('/webhooks', hook('two'))
    await sandbox.post('/webhooks', hook('one', ['*']))
    await live.post('/webhooks', hook('one'))
    await live.post('/webhooks', hook('one'))
    const body = { sandbox: sandbox.organization_id }
    const seen = (await live.post('/sandbox/promote', body)).body
    expect(seen.counts).toEqual({ create: 0, update: 0, unchanged: 0, skipped: 3 })
    const answer = await live.post('/sandbox/promote', { ...body, dry_run: false, hash: seen.hash })
    expect(answer).toMatchObject({ status: 200, body: { created: [] } })
    const hooks = (await live.get('/webhooks')).body.data
    expect(hooks).toMatchObject([{ events: ['lease.*'] }, { events: ['lease.*'] }])
  })

  it('refuses a difference that is another one by now', async () => {
    const live = await newOrganization()
    const sandbox = await made(live)
    await sandbox.post('/webhooks', hook('a'))
    const body = { sandbox: sandbox.organization_id }
    const { hash } = (await live.post('/sandbox/promote', body)).body
    await sandbox.post('/webhooks', hook('b'))
    const answer = await live.post('/sandbox/promote', { ...body, dry_run: false, hash })
    expect(answer).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await live.get('/webhooks')).body.data).toEqual([])
  })

  it('needs a sandbox of one’s own, a hash, and the scope of each kind', async () => {
    const [live, stranger] = await Promise.all([newOrganization(), newOrganization()])
    const sandbox = await made(live)
    const body = { sandbox: sandbox.organization_id }
    const table: [TestClient, Row, number, string][] = [
      [stranger, body, 422, 'sandbox'],
      [live, { sandbox: live.organization_id }, 422, 'sandbox'],
      [live, { sandbox: 'org_1x' }, 422, 'sandbox'],
      [live, { ...body, kinds: ['keys'] }, 422, 'kinds[0]'],
      [live, { ...body, dry_run: false }, 422, 'hash'],
    ]
    for (const [client, sent, status, field] of table)
      expect(await client.post('/sandbox/promote', sent), field).toMatchObject({
        status,
        body: { errors: [{ field }] },
      })
    const scopes = ALL_SCOPES.filter((scope) => scope !== 'write:webhooks')
    const some = await newClient(live.org_id, scopes)
    expect(await some.post('/sandbox/promote', body)).toMatchObject({
      status: 403,
      body: { required_scope: 'write:webhooks' },
    })
  })
})
