/** What holds for every endpoint, walked from the OpenAPI document: a new route is covered before its author tests it. */
import { afterAll, describe, expect, inject, it } from 'vitest'
import { buildApp } from '../src/app.ts'
import { Db } from '../src/db/db.ts'
import { ALL_SCOPES } from '../src/kit/scopes.ts'
import type { Scope } from '../src/kit/scopes.ts'
import { encodeCursor, queryHash } from '../src/kit/page.ts'
import { installedApp } from './apps.ts'
import { clientWith, grid, newClient, newOrganization, owner } from './grid.ts'
import type { Answer, TestClient } from './grid.ts'
import { exampleBody, faultsOf, idWith, operations, pathOf } from './openapi.ts'
import type { Operation } from './openapi.ts'
import { portfolio, samples } from './samples.ts'

const [own, foreign] = await Promise.all([newOrganization(), newOrganization()])
const [ids, foreignIds] = await Promise.all([portfolio(own), portfolio(foreign)])
for (const [client, known] of [
  [own, ids],
  [foreign, foreignIds],
] as const)
  Object.assign(known, await installedApp(client))
const nobody = clientWith('', 0)

// A document made without HTTP has no file yet, and so no content to read.
const file = new FormData()
file.append('file', new Blob(['text'], { type: 'application/octet-stream' }), 'file.bin')
await own.post(`/documents/${ids['document']}/versions`, file)

const named = operations.map((operation) => [operation.name, operation] as const)
const closed = named.filter(([, { scope }]) => scope !== 'public')
const withId = closed.filter(([, { path }]) => path.includes('{'))
const withJson = closed.filter(([, { bodies }]) => 'application/json' in bodies)
const lists = closed.filter(([, { parameters }]) =>
  parameters.some(({ name }) => name === 'cursor'),
)

const exampleLease = samples.lease(ids['property'] as string, ids['party'] as string)

/** Every answer of this file, to be looked for in the request log. */
const answers: { request_id: string; status: number; logged: boolean }[] = []

/** Sends the operation's request and checks what every answer must keep to. */
async function call(
  client: TestClient,
  operation: Operation,
  path: string,
  body: unknown = exampleBody(operation) ?? undefined,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { method } = operation
  const answer = await (method === 'GET'
    ? client.get(path, headers)
    : method === 'DELETE'
      ? client.delete(path, headers)
      : method === 'PATCH'
        ? client.patch(path, body, headers)
        : client.post(path, body, headers))
  const request_id = answer.headers.get('x-request-id') ?? ''
  expect(request_id).toMatch(/^req_/)
  answers.push({ request_id, status: answer.status, logged: answer.status !== 401 })
  expect(faultsOf(operation, answer), `${operation.name} ${path}`).toEqual([])
  if (answer.status >= 400) expect(answer.body).toMatchObject({ status: answer.status, request_id })
  return answer
}

const ownPath = (operation: Operation): string => pathOf(operation, (prefix) => idWith(ids, prefix))

/** Objects that the portfolio has none of are 404 before anything else is looked at. */
const isAbsent = (operation: Operation): boolean => ownPath(operation).includes('_999999999')

describe('every route', () => {
  it.each(closed)('%s needs a key', async (_, operation) => {
    const answer = await call(nobody, operation, ownPath(operation))
    expect(answer).toMatchObject({ status: 401, body: { code: 'missing_key' } })
  })

  it.each(closed)('%s needs its scope', async (_, operation) => {
    const { scope } = operation
    const client = await newClient(
      own.org_id,
      ALL_SCOPES.filter((other) => other !== scope),
    )
    const answer = await call(client, operation, ownPath(operation))
    expect(answer).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', required_scope: scope },
    })
  })

  it.each(withId)('%s knows no ids of another organization', async (_, operation) => {
    const path = pathOf(operation, (prefix) => idWith(foreignIds, prefix))
    const answer = await call(own, operation, path)
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  it.each(withId)('%s tells a mistyped id', async (_, operation) => {
    const answer = await call(
      own,
      operation,
      pathOf(operation, () => 'no-id'),
    )
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
  })

  it.each(closed.filter(([, { method }]) => method === 'GET'))(
    '%s answers as documented',
    async (_, operation) => {
      const answer = await call(own, operation, ownPath(operation))
      // A document may have no file yet.
      if (operation.path.endsWith('/content') && answer.status === 404) return
      expect(answer.status).toBe(isAbsent(operation) ? 404 : 200)
    },
  )

  it.each(closed.filter(([, { bodies }]) => !('multipart/form-data' in bodies)))(
    '%s refuses parameters it does not know',
    async (_, operation) => {
      const answer = await call(own, operation, `${ownPath(operation)}?no_such_parameter=1`)
      if (answer.status === 404 && isAbsent(operation)) return
      const errors = [{ field: 'no_such_parameter' }]
      expect(answer).toMatchObject({ status: 422, body: { errors } })
    },
  )

  it.each(lists)('%s shows nothing of another organization', async (_, operation) => {
    const answer = await call(own, operation, ownPath(operation))
    const text = JSON.stringify(answer.body)
    for (const id of Object.values(foreignIds)) expect(text).not.toContain(`"${id}"`)
  })

  it.each(lists)('%s refuses a cursor it did not make', async (_, operation) => {
    const answer = await call(own, operation, `${ownPath(operation)}?cursor=W10.c2lnbmF0dXJl`)
    if (answer.status === 404 && isAbsent(operation)) return
    expect(answer).toMatchObject({ status: 422, body: { code: 'cursor_mismatch' } })
  })

  it.each(withJson)('%s refuses a field it does not know', async (_, operation) => {
    const body = { ...exampleBody(operation), no_such_field: 1 }
    const answer = await call(own, operation, ownPath(operation), body)
    expect(answer).toMatchObject({
      status: 422,
      body: {
        errors: [{ field: 'no_such_field', pointer: '/no_such_field', code: 'unknown_field' }],
      },
    })
  })

  it.each(withJson)('%s refuses what is no JSON', async (_, operation) => {
    const send = async (body: string, type: string): Promise<Answer> =>
      await call(own, operation, ownPath(operation), body, { 'content-type': type })
    const json = 'application/json'
    expect(await send('{"a": ', json)).toMatchObject({
      status: 400,
      body: { code: 'malformed_json' },
    })
    expect(await send('', json)).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
    expect(await send('{}', 'text/plain')).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    })
    // Jobs take data in their bodies.
    const megabytes = operation.path.startsWith('/sdis/jobs') ? 12 : 2
    const huge = JSON.stringify({ text: 'x'.repeat(megabytes * 1024 * 1024) })
    expect(await send(huge, json)).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large' },
    })
  })
})

describe('a path', () => {
  const byPath = [...Map.groupBy(operations, ({ path }) => path)]

  it.each(byPath)('%s names the methods it takes', async (_, here) => {
    const methods = here.map(({ method }) => method)
    const other = ['PUT', 'POST', 'PATCH', 'DELETE', 'GET'].find(
      (m) => !methods.includes(m),
    ) as string
    const { base } = await grid()
    const headers = { 'x-api-key': own.key }
    const response = await fetch(base + ownPath(here[0] as Operation), { method: other, headers })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')?.split(', ').toSorted()).toEqual(methods.toSorted())
    expect(await response.json()).toMatchObject({ code: 'method_not_allowed' })
  })

  it('that does not exist is 404 with a problem', async () => {
    for (const path of ['/no-such-thing', '/leases/le_1/no-such-thing', '/grid/v3/parties', '']) {
      const answer = await own.get(path)
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found', title: 'Not found' } })
      expect(answer.headers.get('x-request-id')).toBe(answer.body.request_id)
    }
  })
})

describe('without its database', () => {
  it('the service says that it is not available, and nothing else', async () => {
    const { app } = await grid()
    const { host, port, app: user } = inject('database')
    const db = new Db({ host, port, user, database: 'postgres' }, { pipelined: 1, pooled: 2 })
    const other = await buildApp(app.config, db)
    other.log.level = 'silent'
    const url = '/api/v1/leases'
    const headers = { 'x-api-key': own.key }
    expect((await other.inject({ url, headers })).statusCode).toBe(200)
    await db.close()
    for (const method of ['GET', 'POST'] as const) {
      const answer = await other.inject({ url, headers, method, payload: exampleLease })
      expect(answer.statusCode).toBe(503)
      expect(answer.json()).toMatchObject({ code: 'unavailable', request_id: expect.any(String) })
      expect(answer.body).not.toMatch(/closed|connection/)
    }
    await other.close()
  })
})

describe('a cursor', () => {
  it('belongs to its list, filter and sort, and to no other organization', async () => {
    await Promise.all([own.post('/parties', party('B')), own.post('/parties', party('C'))])
    const first = await own.get('/parties?limit=1&sort=legal_name')
    const { next_cursor } = first.body
    const statuses = await Promise.all(
      [
        `/parties?limit=1&sort=legal_name&cursor=${next_cursor}`,
        `/parties?limit=2&sort=legal_name&cursor=${next_cursor}`,
        `/parties?limit=1&sort=-legal_name&cursor=${next_cursor}`,
        `/parties?limit=1&cursor=${next_cursor}`,
        `/parties?limit=1&sort=legal_name&kind=company&cursor=${next_cursor}`,
        `/contacts?limit=1&cursor=${next_cursor}`,
        `/parties?limit=1&sort=legal_name&cursor=${next_cursor.slice(0, -1)}`,
        `/parties?limit=1&sort=legal_name&cursor=x${next_cursor}`,
      ].map(async (path) => (await own.get(path)).status),
    )
    expect(statuses).toEqual([200, 200, 422, 422, 422, 422, 422, 422])
    const path = `/parties?limit=1&sort=legal_name&cursor=${next_cursor}`
    expect(await foreign.get(path)).toMatchObject({
      status: 422,
      body: { code: 'cursor_mismatch' },
    })
  })

  it('is good for a day', async () => {
    const { app } = await grid()
    const age = (hours: number): string =>
      encodeCursor(
        app.store.secret,
        queryHash(own.org_id, ['party']),
        ['1'],
        Date.now() - hours * 3_600_000,
      )
    expect(await own.get(`/parties?cursor=${age(23)}`)).toMatchObject({ status: 200 })
    expect(await own.get(`/parties?cursor=${age(25)}`)).toMatchObject({
      status: 422,
      body: { code: 'cursor_expired' },
    })
  })
})

function party(legal_name: string): object {
  return { kind: 'company', legal_name }
}

describe('scopes', () => {
  it('are each asked for by some route, unless their endpoints are still to come', () => {
    const used = new Set(operations.map(({ scope }) => scope))
    const unknown = [...used].filter((s) => s !== 'public' && !ALL_SCOPES.includes(s as Scope))
    expect(unknown).toEqual([])
  })
})

afterAll(async () => {
  const { app } = await grid()
  await app.requestLog.flush()
  const client = await owner()
  const { rows } = await client.query<{ request_id: string; status: number }>(
    'select request_id, status from request_log where org_id = $1',
    [own.org_id],
  )
  await client.end()
  const logged = new Map(rows.map(({ request_id, status }) => [request_id, status]))
  const missing = answers.filter(
    ({ request_id, status, logged: expected }) => expected && logged.get(request_id) !== status,
  )
  expect(missing).toEqual([])
})
