import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { grid, newOrganization, owner } from '../../../test/grid.ts'
import { Secrets } from '../../secrets.ts'
import { requireConnectionKeys, rewrapConnections } from './connections.ts'
import { greater, lookedBack } from './fetch.ts'

const REST = { base_url: 'https://pms.example/api', auth: { kind: 'bearer' } }
const POSTGRES = { host: 'db.pms.example', database: 'pms', user: 'reader' }

describe('connections', () => {
  it('are made, changed, listed and forgotten, and never show their secret', async () => {
    const client = await newOrganization()
    const made = await client.post('/sdis/connections', {
      name: 'pms',
      rest: REST,
      secret: 'very secret',
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      object: 'connection',
      name: 'pms',
      kind: 'rest',
      postgres: null,
      has_secret: true,
      version: 1,
    })
    const path = `/sdis/connections/${made.body.id}`
    expect(made.headers.get('location')).toBe(`/api/v1${path}`)
    const changed = await client.patch(path, { name: 'other' }, { 'if-match': '"v1"' })
    expect(changed.body).toMatchObject({ name: 'other', version: 2, has_secret: true })
    const read = await client.get(path)
    expect(read.body).toEqual(changed.body)
    const second = await client.post('/sdis/connections', { name: 'db', postgres: POSTGRES })
    const listed = await client.get('/sdis/connections')
    expect(listed.body.data).toEqual([second.body, read.body])
    const logged = await client.get('/audit-logs?limit=200')
    expect(JSON.stringify([made.body, read.body, listed.body, logged.body])).not.toContain(
      'very secret',
    )
    const look = await owner()
    const stored = await look.query(
      'select secret from connection where org_id = $1 and name = $2',
      [client.org_id, 'other'],
    )
    await look.end()
    expect(stored.rows[0].secret).toMatch(/^s1\./)
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get(path)).status).toBe(404)
  })

  it.each<[string, unknown, string[]]>([
    ['neither', { name: 'a' }, ['rest']],
    ['both', { name: 'a', rest: REST, postgres: POSTGRES }, ['postgres']],
    ['no name', { rest: REST }, ['name']],
    ['another scheme', { name: 'a', rest: { base_url: 'ftp://pms.example' } }, ['rest.base_url']],
    [
      'a password in the address',
      { name: 'a', rest: { base_url: 'https://me:pw@pms.example' } },
      ['rest.base_url'],
    ],
    ['an unknown member', { name: 'a', rest: REST, password: 'x' }, ['password']],
    ['half an auth', { name: 'a', rest: { ...REST, auth: { kind: 'basic' } } }, ['rest.auth']],
  ])('are refused: %s', async (_, body, fields) => {
    const client = await newOrganization()
    const { status, body: problem } = await client.post('/sdis/connections', body)
    expect([
      status,
      problem.errors?.map(({ field }: { field: string }) =>
        field.replace(/\.(kind|username)$/, ''),
      ),
    ]).toEqual([422, expect.arrayContaining(fields)])
    expect((await client.get('/sdis/connections')).body.data).toEqual([])
  })

  it('have names of their own, and ask for the secret again when the source moves', async () => {
    const client = await newOrganization()
    const { body } = await client.post('/sdis/connections', {
      name: 'pms',
      rest: REST,
      secret: 's',
    })
    expect((await client.post('/sdis/connections', { name: 'pms', rest: REST })).status).toBe(422)
    const path = `/sdis/connections/${body.id}`
    const moved = { ...REST, base_url: 'https://evil.example' }
    const refused = await client.patch(path, { rest: moved })
    expect([refused.status, refused.body.errors[0].field]).toEqual([422, 'secret'])
    expect((await client.patch(path, { rest: moved, secret: 'new' })).status).toBe(200)
    expect((await client.patch(path, { postgres: POSTGRES })).status).toBe(422)
    expect((await client.patch(path, { name: 'x' }, { 'if-match': '"v1"' })).status).toBe(412)
  })

  it('are tried', async () => {
    const server = createServer((request, response) => {
      if (request.headers.authorization !== 'Bearer right')
        return void response.writeHead(401).end()
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ items: [1, 2, 3, 4, 5, 6, 7] }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = await newOrganization()
    const { body } = await client.post('/sdis/connections', {
      name: 'pms',
      rest: { base_url, auth: { kind: 'bearer' } },
      secret: 'wrong',
    })
    const path = `/sdis/connections/${body.id}`
    const refused = await client.post(`${path}/test`, { path: '/x', records: 'items' })
    expect([refused.status, refused.body.ok, refused.body.error.code]).toEqual([
      200,
      false,
      'source_refused',
    ])
    await client.patch(path, { secret: 'right' })
    const fine = await client.post(`${path}/test`, { path: '/x', records: 'items' })
    expect(fine.body).toMatchObject({ ok: true, records: [1, 2, 3, 4, 5], error: null })
    server.closeAllConnections()
    server.close()
  })

  it('are sealed anew with another master key', async () => {
    const { app, db } = await grid()
    const client = await newOrganization()
    await client.post('/sdis/connections', { name: 'pms', rest: REST, secret: 's' })
    const keys = app.secrets as unknown as { load: () => string }
    const fresh = Buffer.alloc(32, 7).toString('base64')
    const only = new Secrets(() => fresh)
    await expect(requireConnectionKeys(db, only)).rejects.toThrow(/set GRID_MASTER_KEY/)
    const both = new Secrets(() => `${fresh}\n${keys.load()}`)
    expect(await rewrapConnections(db, both)).toBeGreaterThan(0)
    await requireConnectionKeys(db, only)
    expect(
      await rewrapConnections(db, new Secrets(() => `${keys.load()}\n${fresh}`)),
    ).toBeGreaterThan(0)
  })
})

describe('the cursor of a source', () => {
  it.each([
    ['2026-05-12T08:00:00Z', '2d', '2026-05-10T08:00:00.000Z'],
    ['2026-05-12 08:00:00+00', '30m', '2026-05-12T07:30:00.000Z'],
    ['1042', '42', '1000'],
    ['1042', undefined, '1042'],
    ['abc', '2d', 'abc'],
  ])('%s looked back %s is %s', (last, lookback, wanted) => {
    expect(lookedBack(last, lookback)).toBe(wanted)
  })

  it('is the greatest met, as number, time or text', () => {
    expect(greater('9', '10')).toBe('10')
    expect(greater('2026-05-12T08:00:00+02:00', '2026-05-12T07:00:00Z')).toBe(
      '2026-05-12T07:00:00Z',
    )
    expect(greater(null, 'a')).toBe('a')
    expect(greater('b', 'a')).toBe('b')
  })
})
