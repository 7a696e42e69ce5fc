import { describe, expect, it } from 'vitest'
import { grid, newClient, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import type { Row } from '../kit/resource.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { APP, appWith, audited, callWith, eventTypes, newApp, REDIRECT } from './app-fixture.ts'
import { send, signedIn, token } from './app-fixture.ts'
import { APP_STATUSES, OPERATOR_MOVES, OWNER_MOVES } from './apps.ts'
import type { AppStatus } from './apps.ts'
import { appsIn, moveApp } from './review.ts'

const REGISTER = '/developer/apps/register'

const PUBLIC = { ...APP, visibility: 'public' }

/** The operator moves an app. */
async function move(id: string, status: AppStatus, reason: string | null = null): Promise<void> {
  const { app, db } = await grid()
  await moveApp({ db, secrets: app.secrets }, Number(id.replace('app_', '')), status, reason)
  app.keys.forget()
}

/** Takes a new public app up to where everyone may install it. */
async function publish(client: TestClient, body: Row = {}): Promise<string> {
  const { id } = await newApp(client, { ...PUBLIC, ...body })
  await client.post(`/developer/apps/${id}/submit`, undefined)
  for (const status of ['in_review', 'approved'] as const) await move(id, status)
  expect(await patch(client, id, { status: 'published' })).toMatchObject({ status: 200 })
  return id
}

const patch = async (client: TestClient, id: string, body: Row): ReturnType<TestClient['patch']> =>
  await client.patch(`/developer/apps/${id}`, body)

describe('registering an app', () => {
  it('answers 201 in the words of RFC 7591, with the secret this once', async () => {
    const client = await newOrganization()
    const answer = await client.post(REGISTER, APP)
    const { body } = answer
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(`/api/v1/developer/apps/${body.id}`)
    expect(body).toMatchObject({
      ...APP,
      object: 'app',
      client_id: body.id,
      client_secret: expect.stringMatching(/^grid_app_[0-9A-Za-z]{49}$/),
      client_secret_expires_at: 0,
      client_id_issued_at: expect.any(Number),
      secret_shown: true,
      organization_id: client.organization_id,
      token_endpoint_auth_method: 'client_secret_basic',
      visibility: 'private',
      status: 'published',
      webhook: null,
      version: 1,
    })
    const { body: read, headers } = await client.get(`/developer/apps/${body.id}`)
    expect(headers.get('etag')).toBe('"v1"')
    expect(read).not.toHaveProperty('client_secret')
    expect(read.secrets).toEqual([
      {
        hint: `…${body.client_secret.slice(-4)}`,
        created_at: expect.any(String),
        expires_at: null,
      },
    ])
    expect((await client.get('/developer/apps')).body.data).toEqual([read])
    expect(await eventTypes(client.org_id)).toEqual(['app.registered'])
  })

  it('gives an app that cannot keep a secret none', async () => {
    const client = await newOrganization()
    const grants = { grant_types: ['authorization_code'], token_endpoint_auth_method: 'none' }
    const { status, body } = await client.post(REGISTER, { ...APP, ...grants })
    expect(status).toBe(201)
    expect(body).toMatchObject({ secrets: [], secret_shown: false })
    expect(body).not.toHaveProperty('client_secret')
    expect(await client.post(`/developer/apps/${body.id}/rotate-secret`, {})).toMatchObject({
      status: 422,
      body: { errors: [{ code: 'no_secret' }] },
    })
  })

  it.each<[string, Row, string, string?]>([
    ['no name', { client_name: undefined }, 'client_name', 'required'],
    ['a status', { status: 'published' }, 'status', 'unknown_field'],
    ['no scope', { scope: ' ' }, 'scope', 'required'],
    ['an unknown scope', { scope: 'read:leasse' }, 'scope', 'unknown_scope'],
    ['a scope that makes keys', { scope: 'read:leases admin:keys' }, 'scope', 'unknown_scope'],
    ['a scope that makes apps', { scope: 'write:apps' }, 'scope', 'unknown_scope'],
    ['no address to go to', { redirect_uris: [] }, 'redirect_uris', 'required'],
    ['an open http address', { redirect_uris: ['http://app.example.com/'] }, 'redirect_uris[0]'],
    ['a fragment', { redirect_uris: [`${REDIRECT}#a`] }, 'redirect_uris[0]'],
    ['an empty fragment', { redirect_uris: [`${REDIRECT}#`] }, 'redirect_uris[0]'],
    ['a wildcard', { redirect_uris: ['https://*.example.com/'] }, 'redirect_uris[0]'],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }, 'redirect_uris[0]'],
    ['data', { redirect_uris: [REDIRECT, 'data:text/html,x'] }, 'redirect_uris[1]'],
    ['a password', { redirect_uris: ['https://a:b@app.example.com/'] }, 'redirect_uris[0]'],
    ['a relative address', { redirect_uris: ['/done'] }, 'redirect_uris[0]'],
    ['a page that is none', { homepage_url: 'ftp://x' }, 'homepage_url', 'invalid_address'],
    ['a webhook that is none', { webhook: { url: 'x', events: ['*'] } }, 'webhook.url'],
    ['no events', { webhook: { url: REDIRECT, events: [] } }, 'webhook.events', 'min_items'],
    ['refreshing nothing', { grant_types: ['refresh_token'] }, 'grant_types'],
    ['acting alone without a secret', { token_endpoint_auth_method: 'none' }, 'grant_types'],
  ])('refuses %s', async (_, body, field, code) => {
    const client = await newOrganization()
    const answer = await client.post(REGISTER, { ...APP, ...body })
    const issue = { field, ...(code ? { code } : {}) }
    expect(answer).toMatchObject({ status: 422, body: { errors: [issue] } })
    expect((await client.get('/developer/apps')).body.data).toEqual([])
  })

  it.each([
    'https://app.example.com/done?x=1',
    'http://127.0.0.1:7777/done',
    'http://localhost/done',
    'com.example.app:/done',
  ])('takes %s', async (uri) => {
    const client = await newOrganization()
    expect(await client.post(REGISTER, { ...APP, redirect_uris: [uri] })).toMatchObject({
      status: 201,
      body: { redirect_uris: [uri] },
    })
  })

  it('is done once per idempotency key, whose answer does not keep the secret', async () => {
    const client = await newOrganization()
    const header = { 'idempotency-key': 'register-1' }
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => client.post(REGISTER, APP, header)),
    )
    // A repeat that comes while the first is under way may be told to wait.
    const done = answers.filter(({ status }) => status === 201)
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
    const shown = done.filter(({ body }) => body.secret_shown)
    expect(shown).toHaveLength(1)
    const again = await client.post(REGISTER, APP, header)
    expect(again).toMatchObject({ status: 201, body: { id: shown[0]?.body.id } })
    for (const { body, headers } of [...done, again]) {
      expect(body.id).toBe(again.body.id)
      if (body.secret_shown) continue
      expect(body).not.toHaveProperty('client_secret')
      expect(headers.get('idempotent-replayed')).toBe('true')
    }
    expect((await client.get('/developer/apps')).body.data).toHaveLength(1)
    const other = await client.post(REGISTER, { ...APP, client_name: 'Else' }, header)
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
  })
})

describe('changing an app', () => {
  it('counts versions and guards against overwriting', async () => {
    const client = await newOrganization()
    const { id } = await newApp(client)
    const first = await client.patch(
      `/developer/apps/${id}`,
      { client_name: 'Renamed', homepage_url: null },
      { 'if-match': '"v1"' },
    )
    expect(first).toMatchObject({
      status: 200,
      body: { client_name: 'Renamed', homepage_url: null, version: 2 },
    })
    const stale = await client.patch(
      `/developer/apps/${id}`,
      { description: 'x' },
      { 'if-match': '"v1"' },
    )
    expect(stale).toMatchObject({ status: 412, body: { code: 'version_conflict' } })
    expect(await patch(client, id, { visibility: 'public' })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'visibility', code: 'read_only' }] },
    })
  })

  it('ends tokens at once when the app asks for less', async () => {
    const client = await newOrganization()
    const app = await newApp(client)
    const { access, refresh } = await signedIn(app, client)
    expect(await patch(client, app.id, { scope: 'read:parties' })).toMatchObject({ status: 200 })
    expect(await callWith(access)).toBe(401)
    const next = await token(app, { grant_type: 'refresh_token', refresh_token: refresh })
    expect(next).toMatchObject({ status: 200, body: { scope: 'read:parties' } })
  })

  it('lets a reviewed app only lose what it asks for', async () => {
    const client = await newOrganization()
    const id = await publish(client)
    const rows: [Row, number][] = [
      [{ scope: `${APP.scope} read:documents` }, 422],
      [{ redirect_uris: [REDIRECT, 'https://evil.example.com/'] }, 422],
      [{ client_name: 'Your Bank' }, 422],
      [{ webhook: { url: 'https://evil.example.com/', events: ['*'] } }, 422],
      [{ scope: 'read:leases' }, 200],
      [{ description: 'Draws better rent rolls.' }, 200],
    ]
    for (const [body, status] of rows) expect((await patch(client, id, body)).status).toBe(status)
  })
})

describe('the way of a public app', () => {
  it('leads through the review to everyone, and is told to its owner', async () => {
    const client = await newOrganization()
    const bare = await newApp(client, { ...PUBLIC, description: null, homepage_url: null })
    expect(await client.post(`/developer/apps/${bare.id}/submit`, undefined)).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'description' }, { field: 'homepage_url' }] },
    })
    const { id } = await newApp(client, PUBLIC)
    const submit = async (): Promise<string> =>
      (await client.post(`/developer/apps/${id}/submit`, undefined)).body.status
    expect(await submit()).toBe('submitted')
    const { db } = await grid()
    expect((await appsIn(db, 'submitted')).map((app) => app.id)).toContain(Number(id.slice(4)))
    await move(id, 'in_review')
    await move(id, 'rejected', 'Say what it does.')
    const { body: rejected } = await client.get(`/developer/apps/${id}`)
    expect(rejected).toMatchObject({ status: 'rejected', status_reason: 'Say what it does.' })
    await patch(client, id, { status: 'draft', description: 'Draws rent rolls from leases.' })
    expect(await submit()).toBe('submitted')
    await move(id, 'in_review')
    await move(id, 'approved')
    await client.post('/apps/installations', { client_id: id, scopes: ['read:leases'] })
    for (const status of ['published', 'deprecated'])
      expect((await patch(client, id, { status })).body.status).toBe(status)
    expect((await client.delete(`/developer/apps/${id}`)).status).toBe(204)
    expect((await client.get(`/developer/apps/${id}`)).status).toBe(404)
    expect((await client.get('/apps/installations')).body.data).toEqual([])
    const removed = await client.get('/developer/apps?status=removed')
    expect(removed.body.data).toMatchObject([{ id, status: 'removed', secrets: [] }])
    const told = await eventTypes(client.org_id)
    expect(told.filter((type) => type === 'app.status_changed')).toHaveLength(10)
  })

  const asked = APP_STATUSES.filter((status) => status !== 'removed')
  it.each(asked)('knows what its owner may do with one that is %s', async (from) => {
    const client = await newOrganization()
    const { id } = await newApp(client, PUBLIC)
    const { db } = await grid()
    await db.query(
      client.org_id,
      'update app_registration set status = $3 where org_id = $1 and id = $2',
      [client.org_id, id.slice(4), from],
    )
    const allowed = OWNER_MOVES[from] ?? []
    const others = new Set(Object.values(OWNER_MOVES).flat())
    for (const status of others) {
      if (allowed.includes(status) || status === from || status === 'removed') continue
      const refused = await patch(client, id, { status })
      expect(refused, status).toMatchObject({
        status: 422,
        body: { code: 'invalid_transition', allowed },
      })
    }
    const deleted = await client.delete(`/developer/apps/${id}`)
    expect(deleted.status).toBe(allowed.includes('removed') ? 204 : 422)
  })

  it('is not the operator’s to shorten', async () => {
    const client = await newOrganization()
    const { id } = await newApp(client, PUBLIC)
    for (const status of Object.values(OPERATOR_MOVES).flat())
      await expect(move(id, status)).rejects.toThrow(/cannot change from draft/)
    await expect(move('app_999999999', 'suspended')).rejects.toThrow(/there is no app/)
  })
})

describe('a suspended app', () => {
  it('loses its tokens everywhere, and who installed it is told', async () => {
    const [publisher, client] = [await newOrganization(), await newOrganization()]
    const { id } = await newApp(publisher, PUBLIC)
    const { body } = await publisher.post(`/developer/apps/${id}/rotate-secret`, {
      overlap_hours: 0,
    })
    await publisher.post(`/developer/apps/${id}/submit`, undefined)
    for (const status of ['in_review', 'approved'] as const) await move(id, status)
    await patch(publisher, id, { status: 'published' })
    const app = appWith(id, body.client_secret)
    const held = await signedIn(app, client)
    expect(await callWith(held.access)).toBe(200)
    await move(id, 'suspended', 'It sells data.')
    expect(await callWith(held.access)).toBe(401)
    const refresh = { grant_type: 'refresh_token', refresh_token: held.refresh }
    expect(await token(app, refresh)).toMatchObject({ status: 401 })
    expect((await send(`/oauth/authorize?client_id=${id}`, null)).status).toBe(400)
    expect(await audited(client.org_id, 'app.suspended')).toMatchObject([
      {
        actor_type: 'system',
        object_type: 'app_installation',
        details: { reason: 'It sells data.' },
      },
    ])
    expect(await eventTypes(client.org_id)).toEqual(['app.installed', 'app.suspended'])
    await move(id, 'published')
    expect((await token(app, refresh)).status).toBe(200)
  })
})

describe('rotating a secret', () => {
  it('keeps the one before for the overlap, and two at most', async () => {
    const client = await newOrganization()
    const old = await newApp(client)
    await client.post('/apps/installations', { client_id: old.id, scopes: ['read:leases'] })
    const path = `/developer/apps/${old.id}/rotate-secret`
    const works = async (secret: string): Promise<boolean> => {
      const form = { grant_type: 'client_credentials', organization_id: client.organization_id }
      return (await token(appWith(old.id, secret), form)).status === 200
    }
    const header = { 'idempotency-key': 'rotate-1' }
    const { status, body } = await client.post(path, { overlap_hours: 1 }, header)
    expect(status).toBe(200)
    expect(body.secrets.map((secret: Row) => secret['expires_at'] === null)).toEqual([true, false])
    const repeated = await client.post(path, { overlap_hours: 1 }, header)
    expect(repeated.body).toMatchObject({ secret_shown: false, version: 2 })
    expect([await works(old.secret), await works(body.client_secret)]).toEqual([true, true])
    expect(await client.post(path, {})).toMatchObject({ status: 409, body: { code: 'conflict' } })
    const leaked = await client.post(path, { overlap_hours: 0 })
    expect(leaked.status).toBe(200)
    const secrets = [old.secret, body.client_secret, leaked.body.client_secret]
    expect(await Promise.all(secrets.map(works))).toEqual([false, false, true])
    expect(await audited(client.org_id, 'app.secret_rotated')).toHaveLength(2)
  })

  it.each([-1, 169, 1.5, 'a day'])('refuses an overlap of %s', async (overlap_hours) => {
    const client = await newOrganization()
    const { id } = await newApp(client)
    const answer = await client.post(`/developer/apps/${id}/rotate-secret`, { overlap_hours })
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field: 'overlap_hours' }] } })
  })
})

describe('apps of another organization', () => {
  it('do not exist, and neither read:apps nor a token is enough to change one’s own', async () => {
    const [client, other] = [await newOrganization(), await newOrganization()]
    const app = await newApp(client, { scope: 'read:apps' })
    for (const path of ['', '/submit', '/rotate-secret']) {
      const at = `/developer/apps/${app.id}${path}`
      const answer = await (path
        ? other.post(at, path === '/submit' ? undefined : {})
        : other.get(at))
      expect(answer.status, path).toBe(404)
    }
    expect((await patch(other, app.id, {})).status).toBe(404)
    expect((await other.delete(`/developer/apps/${app.id}`)).status).toBe(404)
    expect((await other.get('/developer/apps')).body.data).toEqual([])
    const reader = await newClient(client.org_id, ['read:apps'])
    expect((await reader.get(`/developer/apps/${app.id}`)).status).toBe(200)
    expect((await patch(reader, app.id, {})).status).toBe(403)
    expect((await reader.post(REGISTER, APP)).status).toBe(403)
  })

  it('page like any list', async () => {
    const client = await newOrganization()
    const ids = []
    for (let i = 0; i < 3; i++) ids.unshift((await newApp(client)).id)
    const seen = []
    let cursor = ''
    do {
      const { body } = await client.get(`/developer/apps?limit=2${cursor}`)
      seen.push(...body.data.map((app: Row) => app['id']))
      cursor = body.next_cursor ? `&cursor=${body.next_cursor}` : ''
    } while (cursor)
    expect(seen).toEqual(ids)
  })
})

describe('scopes of apps', () => {
  it('are all but those that would outlive it', async () => {
    const client = await newOrganization()
    const scope = ALL_SCOPES.filter((s) => s !== 'admin:keys' && s !== 'write:apps').join(' ')
    expect((await client.post(REGISTER, { ...APP, scope })).status).toBe(201)
  })
})
