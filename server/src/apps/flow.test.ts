/** The whole way of an app, from its registration to its end, over real HTTP with a real receiver of the redirect. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { buildApp } from '../app.ts'
import { clientWith, grid, newOrganization, owner } from '../../test/grid.ts'
import {
  audited,
  authorization,
  callWith,
  codeForm,
  consent,
  eventTypes,
  newApp,
  pkce,
  refreshForm,
  send,
  sentTo,
  signedIn,
  token,
} from './app-fixture.ts'

describe('an app', () => {
  it('is registered, allowed, calls within its scopes, refreshes, is robbed and ends', async () => {
    const visits: URLSearchParams[] = []
    const receiver = createServer((request, response) => {
      visits.push(new URL(request.url ?? '', 'http://app').searchParams)
      response.end('Thank you.')
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const redirect_uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/done?from=grid`
    const client = await newOrganization()
    const app = await newApp(client, { redirect_uris: [redirect_uri] })
    const { app: server, base } = await grid()

    const found = await fetch(new URL('/.well-known/oauth-authorization-server', base))
    const metadata = (await found.json()) as Record<string, string>
    expect(metadata).toMatchObject({
      issuer: new URL(base).origin,
      token_endpoint: `${base}/oauth/token`,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    })

    const { verifier, challenge } = pkce()
    const asked = authorization(app, challenge, { redirect_uri })
    const page = await fetch(
      `${metadata['authorization_endpoint']}?${new URLSearchParams(asked).toString()}`,
    )
    expect(page.status).toBe(200)
    const text = await page.text()
    expect(text).toContain('Allow Rent Roll Studio')
    expect(text).toContain('See leases.')
    // What the form of the page holds is what is sent.
    const hidden = [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
    const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
    expect(fields).toEqual(asked)
    const answer = await send('/oauth/consent', {
      ...fields,
      api_key: client.key,
      decision: 'allow',
    })
    expect((await fetch(sentTo(answer))).status).toBe(200)
    receiver.close()
    const [visit] = visits
    expect(visit?.get('from')).toBe('grid')
    expect(visit?.get('state')).toBe('state-1')
    expect(visit?.get('iss')).toBe(metadata['issuer'])

    const first = await token(app, {
      ...codeForm(visit?.get('code') ?? '', verifier),
      redirect_uri,
    })
    expect(first.status).toBe(200)
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect(first.body).toMatchObject({
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'read:leases read:parties',
    })

    const bearer = { authorization: `Bearer ${first.body.access_token}` }
    expect((await send('/leases', null, bearer)).status).toBe(200)
    expect(await callWith(first.body.access_token)).toBe(200)
    const outside = await send('/buildings', null, bearer)
    expect(outside).toMatchObject({
      status: 403,
      body: { required_scope: 'read:buildings', granted_scopes: ['read:leases', 'read:parties'] },
    })

    const second = await token(app, refreshForm(first.body.refresh_token))
    expect(second.status).toBe(200)
    expect(second.body.refresh_token).not.toBe(first.body.refresh_token)
    expect(await callWith(second.body.access_token)).toBe(200)

    // Someone else comes with the refresh token that was used: all that came of the consent ends.
    const stolen = await token(app, refreshForm(first.body.refresh_token))
    expect(stolen).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(await callWith(first.body.access_token)).toBe(401)
    expect(await callWith(second.body.access_token)).toBe(401)
    expect((await token(app, refreshForm(second.body.refresh_token))).status).toBe(400)
    expect(await audited(client.org_id, 'token.reused')).toMatchObject([
      { actor_type: 'app', actor_name: 'Rent Roll Studio', object_type: 'app_installation' },
    ])

    const [installation] = (await client.get('/apps/installations')).body.data
    expect(installation).toMatchObject({ client_id: app.id, scope: 'read:leases read:parties' })
    await server.requestLog.flush()
    const log = (await client.get('/request-logs?path=/api/v1/buildings')).body.data
    expect(log[0]).toMatchObject({ key_name: 'Rent Roll Studio', status: 403 })
  })

  it('loses all it holds when it is uninstalled, in another process within a second', async () => {
    const [publisher, client] = [await newOrganization(), await newOrganization()]
    const app = await newApp(publisher)
    const own = await signedIn(app, publisher)
    const { body: list } = await publisher.get(`/apps/installations?client_id=${app.id}`)
    expect(list.data).toHaveLength(1)
    const { id } = list.data[0]
    const { app: server, db } = await grid()
    const other = await buildApp(server.config, db)
    const there = async (): Promise<number> => {
      const headers = { 'x-api-key': own.access }
      return (await other.inject({ url: '/api/v1/leases', headers })).statusCode
    }
    expect([await callWith(own.access), await there()]).toEqual([200, 200])
    expect((await client.delete(`/apps/installations/${id}`)).status).toBe(404)
    expect((await publisher.delete(`/apps/installations/${id}`)).status).toBe(204)
    const ended = performance.now()
    expect(await callWith(own.access)).toBe(401)
    while ((await there()) === 200) expect(performance.now() - ended).toBeLessThan(1_000)
    await other.close()
    expect(await token(app, refreshForm(own.refresh))).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
    expect((await publisher.get(`/apps/installations/${id}`)).status).toBe(404)
    expect((await publisher.get('/apps/installations')).body.data).toEqual([])
    expect(await eventTypes(publisher.org_id)).toEqual([
      'app.registered',
      'app.installed',
      'app.uninstalled',
    ])
    // It may be installed again, by a new consent.
    expect(await callWith((await signedIn(app, publisher)).access)).toBe(200)
  })

  it('keeps no secret where it can be read: neither in rows, nor in logs and events', async () => {
    const client = await newOrganization()
    const app = await newApp(client)
    const { verifier, challenge } = pkce()
    const code = await consent(app, client, challenge)
    const { body } = await token(app, codeForm(code, verifier))
    const { body: again } = await token(app, refreshForm(body.refresh_token))
    await token(app, { grant_type: 'client_credentials', organization_id: client.organization_id })
    const rotated = await client.post(`/developer/apps/${app.id}/rotate-secret`, {})
    const secrets = [
      app.secret,
      code,
      verifier,
      body.access_token,
      body.refresh_token,
      again.access_token,
      again.refresh_token,
      rotated.body.client_secret,
      client.key,
    ]
    for (const secret of secrets) expect(secret).toMatch(/.{20}/)
    const { app: server } = await grid()
    await server.requestLog.flush()
    const behind = await owner()
    const tables = await behind.query<{ name: string; owned: boolean }>(
      `select relname as name, exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id') as owned
       from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
    )
    for (const { name, owned } of tables.rows) {
      const { rows } = await behind.query(
        `select row_to_json(t)::text as text from ${name} t where ${owned ? 't.org_id' : '$2::bigint'} = $2::bigint and row_to_json(t)::text like any($1)`,
        [secrets.map((secret) => `%${secret}%`), client.org_id],
      )
      expect(rows, name).toEqual([])
    }
    await behind.end()
    expect(await audited(client.org_id, 'token.issued')).toHaveLength(3)
  })
})

describe('a token', () => {
  it('is a key of the organization, and not one of its keys', async () => {
    const client = await newOrganization()
    const app = await newApp(client)
    const { access } = await signedIn(app, client)
    expect(access).toMatch(/^grid_live_[0-9A-Za-z]{49}$/)
    const holder = clientWith(access, client.org_id)
    expect((await holder.get('/leases')).headers.get('ratelimit')).toBeTruthy()
    const sandbox = await newOrganization({ standing: { environment: 'sandbox' } })
    const inSandbox = await signedIn(await newApp(sandbox), sandbox)
    expect(inSandbox.access).toMatch(/^grid_sbx_/)
    expect(await callWith(inSandbox.access)).toBe(200)
  })

  it('shares the limit of its installation, however many there are', async () => {
    const client = await newOrganization({ standing: { environment: 'sandbox' } })
    const app = await newApp(client)
    const [first, second] = [await signedIn(app, client), await signedIn(app, client)]
    const statuses: number[] = []
    for (let i = 0; i < 101; i++)
      statuses.push(await callWith(i % 2 === 0 ? first.access : second.access, '/leases?limit=1'))
    expect(statuses.slice(0, 100).every((status) => status === 200)).toBe(true)
    expect(statuses[100]).toBe(429)
  })
})
