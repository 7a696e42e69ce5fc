import { describe, expect, it } from 'vitest'
import { newClient, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import type { Row } from '../kit/resource.ts'
import { callWith, eventTypes, newApp, send, token } from './app-fixture.ts'

const INSTALLATIONS = '/apps/installations'

const install = async (
  client: TestClient,
  client_id: string,
  scopes: string[] = ['read:leases'],
): ReturnType<TestClient['post']> => await client.post(INSTALLATIONS, { client_id, scopes })

describe('installing an app', () => {
  it('answers 201, and the app acts for itself within the consent', async () => {
    const client = await newOrganization()
    const app = await newApp(client)
    const answer = await install(client, app.id)
    expect(answer).toMatchObject({
      status: 201,
      body: {
        object: 'app_installation',
        organization_id: client.organization_id,
        client_id: app.id,
        client_name: 'Rent Roll Studio',
        scope: 'read:leases',
        installed_by: 'Test key',
      },
    })
    const at = `${INSTALLATIONS}/${answer.body.id}`
    expect(answer.headers.get('location')).toBe(`/api/v1${at}`)
    expect((await client.get(at)).body).toEqual(answer.body)
    for (const place of [
      { installation_id: answer.body.id },
      { organization_id: client.organization_id },
    ]) {
      const { status, body } = await token(app, { grant_type: 'client_credentials', ...place })
      expect([status, body.scope, body.refresh_token]).toEqual([200, 'read:leases', undefined])
      expect(await callWith(body.access_token)).toBe(200)
      expect(await callWith(body.access_token, '/parties')).toBe(403)
    }
    expect((await client.delete(at)).status).toBe(204)
    expect(await eventTypes(client.org_id)).toEqual([
      'app.registered',
      'app.installed',
      'app.uninstalled',
    ])
  })

  it.each<[string, Row, number, Row]>([
    ['an app that is none', { client_id: 'app_999999999' }, 422, { field: 'client_id' }],
    ['an id that is none', { client_id: 'x' }, 422, { field: 'client_id', code: 'not_found' }],
    ['no scope', { scopes: [] }, 422, { field: 'scopes' }],
    ['what the app does not ask for', { scopes: ['read:logs'] }, 422, { field: 'scopes' }],
    ['what no app may have', { scopes: ['admin:keys'] }, 422, { field: 'scopes[0]' }],
    ['a field it does not know', { days: 1 }, 422, { field: 'days', code: 'unknown_field' }],
  ])('refuses %s', async (_, body, status, issue) => {
    const client = await newOrganization()
    const { id } = await newApp(client)
    const asked = { client_id: id, scopes: ['read:leases'], ...body }
    const answer = await client.post(INSTALLATIONS, asked)
    expect(answer).toMatchObject({ status, body: { errors: [issue] } })
  })

  it('takes a key that holds what it gives away', async () => {
    const client = await newOrganization()
    const { id } = await newApp(client)
    const bare = await newClient(client.org_id, ['admin:keys', 'read:leases'])
    expect(await install(bare, id, ['read:leases', 'read:parties'])).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', required_scope: 'read:parties' },
    })
    const holder = await newClient(client.org_id, ['read:leases'])
    expect(await install(holder, id)).toMatchObject({
      status: 403,
      body: { required_scope: 'admin:keys' },
    })
    expect((await install(bare, id)).status).toBe(201)
  })

  it('gives away only what the plan includes', async () => {
    const client = await newOrganization({ standing: { plan: 'community' } })
    const scope = 'read:leases read:intelligence'
    const { id } = await newApp(client, { scope })
    expect(await install(client, id, scope.split(' '))).toMatchObject({
      status: 403,
      body: { code: 'plan_required', plan_required: 'enterprise' },
    })
  })

  it('is done once: 409 while it is installed, and once per idempotency key', async () => {
    const client = await newOrganization()
    const { id } = await newApp(client)
    const header = { 'idempotency-key': 'install-1' }
    const body = { client_id: id, scopes: ['read:leases'] }
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => client.post(INSTALLATIONS, body, header)),
    )
    // A repeat that comes while the first is under way may be told to wait.
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
    const again = await client.post(INSTALLATIONS, body, header)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    for (const { status, body: made } of answers)
      if (status === 201) expect(made).toEqual(again.body)
    expect(await install(client, id)).toMatchObject({
      status: 409,
      body: { code: 'conflict', installation_id: again.body.id },
    })
    expect((await client.get(INSTALLATIONS)).body.data).toHaveLength(1)
  })
})

describe('a private app', () => {
  it('can be installed by the organizations of its owner, and is nothing to others', async () => {
    const parent = await newOrganization()
    const child = await newOrganization({
      standing: { parent_organization_id: parent.organization_id, environment: 'sandbox' },
    })
    const stranger = await newOrganization()
    const { id } = await newApp(parent)
    const { id: childs } = await newApp(child)
    const rows: [TestClient, string, number][] = [
      [parent, id, 201],
      [child, id, 201],
      [parent, childs, 201],
      [stranger, id, 422],
      [stranger, childs, 422],
    ]
    for (const [client, app, status] of rows)
      expect((await install(client, app)).status).toBe(status)
  })
})

describe('what is installed', () => {
  it('is seen and ended by its own organization alone', async () => {
    const [client, other] = [await newOrganization(), await newOrganization()]
    const app = await newApp(client)
    const { body } = await install(client, app.id)
    const at = `${INSTALLATIONS}/${body.id}`
    expect((await other.get(at)).status).toBe(404)
    expect((await other.delete(at)).status).toBe(404)
    expect((await other.get(INSTALLATIONS)).body.data).toEqual([])
    const reader = await newClient(client.org_id, ['read:apps'])
    expect((await reader.get(at)).status).toBe(200)
    expect((await reader.delete(at)).status).toBe(403)
    const mine = await newApp(other)
    for (const place of [{ installation_id: body.id }, { organization_id: body.organization_id }]) {
      const answer = await token(mine, { grant_type: 'client_credentials', ...place })
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    }
  })

  it('can be told apart by app', async () => {
    const client = await newOrganization()
    const [first, second] = [await newApp(client), await newApp(client)]
    await install(client, first.id)
    const { body } = await install(client, second.id)
    const found = await client.get(`${INSTALLATIONS}?client_id=${second.id}`)
    expect(found.body.data).toEqual([body])
    expect((await client.get(`${INSTALLATIONS}?client_id=x`)).status).toBe(422)
    const page = await client.get(`${INSTALLATIONS}?limit=1`)
    expect(page.body).toMatchObject({ data: [{ id: body.id }], has_more: true })
  })

  it('does not let a token install or register more', async () => {
    const client = await newOrganization()
    const app = await newApp(client)
    await install(client, app.id)
    const form = { grant_type: 'client_credentials', organization_id: client.organization_id }
    const { body } = await token(app, form)
    const headers = { authorization: `Bearer ${body.access_token}` }
    expect((await send(INSTALLATIONS, null, headers)).status).toBe(403)
  })
})
