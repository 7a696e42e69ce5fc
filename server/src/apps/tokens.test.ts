/** Tokens: the list of RFC 9700 and of the RFCs below it, a row each. */
import { describe, expect, it } from 'vitest'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import type { Answer } from '../../test/grid.ts'
import {
  appWith,
  audited,
  callWith,
  checked,
  codeForm,
  consent,
  newApp,
  party,
  pkce,
  REDIRECT,
  refreshForm,
  send,
  signedIn,
  token,
} from './app-fixture.ts'
import type { TestApp } from './app-fixture.ts'

function without(form: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(form).filter(([other]) => other !== name))
}

describe('POST /oauth/token', () => {
  const ask = async (...args: Parameters<typeof token>): Promise<Answer> =>
    await checked('POST /oauth/token', token(...args))

  it.each<[string, (form: Record<string, string>) => Record<string, string>, string]>([
    ['another verifier', (f) => ({ ...f, code_verifier: pkce().verifier }), 'invalid_grant'],
    ['no verifier', (f) => without(f, 'code_verifier'), 'invalid_request'],
    ['a short verifier', (f) => ({ ...f, code_verifier: 'short' }), 'invalid_grant'],
    ['another address', (f) => ({ ...f, redirect_uri: `${REDIRECT}x` }), 'invalid_grant'],
    ['no code', (f) => without(f, 'code'), 'invalid_request'],
    ['an unknown code', (f) => ({ ...f, code: `grid_code_${'x'.repeat(49)}` }), 'invalid_grant'],
    ['a code as a refresh token', (f) => refreshForm(f['code'] ?? ''), 'invalid_grant'],
    ['no grant type', (f) => without(f, 'grant_type'), 'invalid_request'],
    ['a password', (f) => ({ ...f, grant_type: 'password' }), 'unsupported_grant_type'],
    ['a name of every object', (f) => ({ ...f, grant_type: 'toString' }), 'unsupported_grant_type'],
  ])('refuses %s, and the code stays good for its owner', async (_, change, error) => {
    const { app, client } = await party()
    const { verifier, challenge } = pkce()
    const code = await consent(app, client, challenge)
    const refused = await ask(app, change(codeForm(code, verifier)))
    expect(refused).toMatchObject({ status: 400, body: { error } })
    expect((await ask(app, codeForm(code, verifier))).status).toBe(200)
  })

  it('takes a code from the app it was made for alone', async () => {
    const { app, client } = await party()
    const thief = await newApp(client)
    const { verifier, challenge } = pkce()
    const code = await consent(app, client, challenge)
    const refused = await ask(thief, codeForm(code, verifier))
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect((await ask(app, codeForm(code, verifier))).status).toBe(200)
  })

  it('takes a code once: the second time all that came of it ends', async () => {
    const { app, client } = await party()
    const { code, verifier, access, refresh } = await signedIn(app, client)
    const other = await signedIn(app, client)
    const again = await ask(app, codeForm(code, verifier))
    expect(again).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(await callWith(access)).toBe(401)
    expect((await ask(app, refreshForm(refresh))).status).toBe(400)
    // Another consent is not concerned.
    expect(await callWith(other.access)).toBe(200)
    expect(await audited(client.org_id, 'token.reused')).toMatchObject([
      { details: { kind: 'code' } },
    ])
  })

  it.each(['code', 'refresh token'])(
    'takes a %s once when it comes ten times at once',
    async (what) => {
      const { app, client } = await party()
      const { verifier, challenge } = pkce()
      const form =
        what === 'code'
          ? codeForm(await consent(app, client, challenge), verifier)
          : refreshForm((await signedIn(app, client)).refresh)
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(app, form)))
      const given = answers.filter(({ status }) => status === 200)
      expect(given).toHaveLength(1)
      expect(answers.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(9)
      expect(await callWith(given[0]?.body.access_token)).toBe(401)
    },
  )

  it.each([
    ['code', 'app_grant'],
    ['refresh token', 'app_grant'],
    ['token', 'api_key'],
  ])('knows when a %s has ended', async (what, table) => {
    const { app, client } = await party()
    const { verifier, challenge } = pkce()
    const code = await consent(app, client, challenge)
    const held = what === 'code' ? null : (await ask(app, codeForm(code, verifier))).body
    const behind = await owner()
    const left = await behind.query<{ seconds: number }>(
      `select round(extract(epoch from expires_at - created_at))::int as seconds from ${table}
       where org_id = $1 and (${table === 'api_key' ? "kind = 'token'" : 'used_at is null'})`,
      [client.org_id],
    )
    const lifetime = { code: 60, 'refresh token': 30 * 24 * 3_600, token: 3_600 }[what]
    expect(left.rows).toEqual([{ seconds: lifetime }])
    await behind.query(
      `update ${table} set expires_at = now() - interval '1 second' where org_id = $1 and expires_at is not null`,
      [client.org_id],
    )
    await behind.end()
    if (what === 'token') expect(await callWith(held.access_token)).toBe(401)
    else {
      const form = held ? refreshForm(held.refresh_token) : codeForm(code, verifier)
      expect(await ask(app, form)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    }
  })

  it('narrows a token when asked, and never widens one', async () => {
    const { app, client } = await party()
    const { refresh } = await signedIn(app, client, { scope: 'read:leases read:parties' })
    const narrow = await ask(app, { ...refreshForm(refresh), scope: 'read:leases' })
    expect(narrow.body.scope).toBe('read:leases')
    const next = refreshForm(narrow.body.refresh_token)
    const wide = await ask(app, { ...next, scope: 'read:leases read:buildings' })
    expect(wide).toMatchObject({ status: 400, body: { error: 'invalid_scope' } })
    expect((await ask(app, next)).body.scope).toBe('read:leases read:parties')
  })

  it('leaves out what the plan does not include any more', async () => {
    const client = await newOrganization()
    const scope = 'read:leases read:intelligence'
    const app = await newApp(client, { scope })
    const { refresh, scope: first } = await signedIn(app, client, { scope })
    expect(first).toBe(scope)
    const behind = await owner()
    await behind.query(`update organization set plan = 'community' where id = $1`, [client.org_id])
    await behind.end()
    expect((await ask(app, refreshForm(refresh))).body.scope).toBe('read:leases')
  })

  it('makes nothing of grant types the app did not register', async () => {
    const client = await newOrganization()
    const app = await newApp(client, { grant_types: ['authorization_code'] })
    const held = await signedIn(app, client)
    expect(held.refresh).toBeUndefined()
    const forms = [refreshForm('x'), { grant_type: 'client_credentials', organization_id: 'org_1' }]
    for (const form of forms)
      expect(await ask(app, form)).toMatchObject({
        status: 400,
        body: { error: 'unauthorized_client' },
      })
  })

  it('asks where an app acts for itself', async () => {
    const { app } = await party()
    for (const place of [{}, { organization_id: 'x' }])
      expect(await ask(app, { grant_type: 'client_credentials', ...place })).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      })
  })

  it('lets an app prove itself the one way it registered', async () => {
    const { app, client } = await party()
    const poster = await newApp(client, { token_endpoint_auth_method: 'client_secret_post' })
    const form = { grant_type: 'refresh_token', refresh_token: 'x' }
    const post = { client_id: app.id, client_secret: app.secret }
    const posted = { client_id: poster.id, client_secret: poster.secret }
    const wrong = appWith(app.id, poster.secret).basic
    const rows: [Record<string, string>, Record<string, string>, number, string][] = [
      [form, app.basic, 400, 'invalid_grant'],
      [{ ...form, client_id: app.id }, app.basic, 400, 'invalid_grant'],
      [{ ...form, ...posted }, {}, 400, 'invalid_grant'],
      [form, poster.basic, 401, 'invalid_client'],
      [{ ...form, ...post }, {}, 401, 'invalid_client'],
      [{ ...form, ...post }, app.basic, 400, 'invalid_request'],
      [{ ...form, client_id: poster.id }, app.basic, 400, 'invalid_request'],
      [form, wrong, 401, 'invalid_client'],
      [form, appWith(app.id, '').basic, 401, 'invalid_client'],
      [form, appWith('app_999999999', app.secret).basic, 401, 'invalid_client'],
      [{ ...form, client_id: app.id }, {}, 401, 'invalid_client'],
      [form, {}, 401, 'invalid_client'],
      [form, { authorization: `Bearer ${client.key}` }, 401, 'invalid_client'],
      [form, { authorization: 'Basic !!!' }, 401, 'invalid_client'],
    ]
    for (const [body, headers, status, error] of rows) {
      const answer = await ask(app, body, headers)
      expect(answer, JSON.stringify([body, headers])).toMatchObject({ status, body: { error } })
      expect(answer.headers.get('www-authenticate') !== null).toBe(status === 401)
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  it('takes an app without a secret at its word and its proof of the code', async () => {
    const client = await newOrganization()
    const app = await newApp(client, {
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    })
    const { verifier, challenge } = pkce()
    const code = await consent(app, client, challenge)
    const named = { client_id: app.id }
    const first = await ask(app, { ...codeForm(code, verifier), ...named }, {})
    expect(first.status).toBe(200)
    const second = await ask(app, { ...refreshForm(first.body.refresh_token), ...named }, {})
    expect(second.status).toBe(200)
    const looked = await send('/oauth/introspect', { token: second.body.access_token, ...named })
    expect(looked).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(
      (await send('/oauth/revoke', { token: second.body.refresh_token, ...named })).status,
    ).toBe(200)
    expect(await callWith(second.body.access_token)).toBe(401)
  })

  it('takes forms alone, each parameter once', async () => {
    const { app } = await party()
    const twice = 'grant_type=refresh_token&refresh_token=x&refresh_token=y'
    const { base } = await grid()
    const raw = async (body: string, type: string): Promise<number> =>
      (
        await fetch(`${base}/oauth/token`, {
          method: 'POST',
          body,
          headers: { ...app.basic, 'content-type': type },
        })
      ).status
    expect(await raw(twice, 'application/x-www-form-urlencoded')).toBe(400)
    expect(await raw('{"grant_type":"refresh_token"}', 'application/json')).toBe(415)
    expect(await raw(`a=${'x'.repeat(40_000)}`, 'application/x-www-form-urlencoded')).toBe(413)
    expect((await send(`/oauth/token?${twice}`, '', app.basic)).status).toBe(422)
  })
})

describe('a client', () => {
  it('that asks too often is told to wait, whatever it asks for', async () => {
    const { app } = await party()
    const answers = await Promise.all(
      Array.from({ length: 601 }, () => send('/oauth/introspect', { token: 'x' }, app.basic)),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(1)
    expect(refused[0]?.body).toMatchObject({ code: 'rate_limited' })
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^[0-9]+$/)
  })
})

describe('POST /oauth/revoke', () => {
  const revoke = async (app: TestApp, text: string): Promise<number> =>
    (await checked('POST /oauth/revoke', send('/oauth/revoke', { token: text }, app.basic))).status

  it('ends a token, or with a refresh token all of its consent, and nothing of others', async () => {
    const { app, client } = await party()
    const thief = await newApp(client)
    const [first, second] = [await signedIn(app, client), await signedIn(app, client)]
    for (const text of [first.access, first.refresh, 'unknown', client.key])
      expect(await revoke(thief, text)).toBe(200)
    expect(await callWith(first.access)).toBe(200)
    expect(await revoke(app, client.key)).toBe(200)
    expect((await client.get('/leases')).status).toBe(200)
    expect(await revoke(app, first.access)).toBe(200)
    expect(await callWith(first.access)).toBe(401)
    const { body } = await token(app, refreshForm(first.refresh))
    expect(await revoke(app, body.refresh_token)).toBe(200)
    expect(await callWith(body.access_token)).toBe(401)
    expect(await callWith(second.access)).toBe(200)
    expect(await revoke(app, first.access)).toBe(200)
    expect(await audited(client.org_id, 'token.revoked')).toMatchObject([
      { object_type: 'api_key', actor_type: 'app' },
      { object_type: 'app_installation' },
    ])
    const nothing = await send('/oauth/revoke', {}, app.basic)
    expect(nothing).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect((await send('/oauth/revoke', { token: 'x' })).status).toBe(401)
  })
})

describe('POST /oauth/introspect', () => {
  const look = async (app: TestApp, text: string): Promise<Answer['body']> =>
    (await checked('POST /oauth/introspect', send('/oauth/introspect', { token: text }, app.basic)))
      .body

  it('tells an app of its own tokens while they are good', async () => {
    const { app, client } = await party()
    const other = await newApp(client)
    const { access, refresh, code } = await signedIn(app, client)
    const info = {
      active: true,
      scope: 'read:leases read:parties',
      client_id: app.id,
      sub: client.organization_id,
      iss: new URL((await grid()).base).origin,
    }
    const seen = await look(app, access)
    expect(seen).toMatchObject({ ...info, token_type: 'Bearer' })
    expect(seen.exp - seen.iat).toBe(3_600)
    expect(await look(app, refresh)).toMatchObject(info)
    for (const text of [code, client.key, 'unknown'])
      expect(await look(app, text)).toEqual({ active: false })
    for (const text of [access, refresh]) expect(await look(other, text)).toEqual({ active: false })
    const { body } = await token(app, refreshForm(refresh))
    expect(await look(app, refresh)).toEqual({ active: false })
    await send('/oauth/revoke', { token: body.refresh_token }, app.basic)
    for (const text of [access, body.access_token, body.refresh_token])
      expect(await look(app, text)).toEqual({ active: false })
  })
})

describe('the upkeep', () => {
  it('forgets codes and refresh tokens a day after their end, and tokens after 30', async () => {
    const { app, client } = await party()
    await signedIn(app, client)
    const { db } = await grid()
    const behind = await owner()
    const left = async (days: number): Promise<number[]> => {
      const at = `now() - interval '${days} days 1 hour'`
      await behind.query(`update app_grant set expires_at = ${at} where org_id = $1`, [
        client.org_id,
      ])
      await behind.query(
        `update api_key set expires_at = ${at} where org_id = $1 and kind = 'token'`,
        [client.org_id],
      )
      await db.flyControl('select app.forget_tokens()', [])
      const { rows } = await behind.query<{ grants: number; tokens: number; keys: number }>(
        `select (select count(*)::int from app_grant where org_id = $1) as grants,
           count(*) filter (where kind = 'token')::int as tokens, count(*) filter (where kind = 'key')::int as keys
         from api_key where org_id = $1`,
        [client.org_id],
      )
      return Object.values(rows[0] ?? {})
    }
    expect(await left(0)).toEqual([2, 1, 1])
    expect(await left(1)).toEqual([0, 1, 1])
    expect(await left(30)).toEqual([0, 0, 1])
    expect((await client.get('/leases')).status).toBe(200)
    await behind.end()
  })
})
