import { describe, expect, test } from 'vitest'
import { newClient, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import type { Row } from '../kit/resource.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'

const CHILD = {
  name: 'Harbor branch',
  slug: 'harbor',
  default_currency: 'EUR',
  default_area_unit: 'sqm',
  time_zone: 'Europe/Berlin',
  locale: 'de-DE',
}

/** A child of the client's organization, and a client of its own. */
async function childOf(client: TestClient, body: Row = {}): Promise<TestClient> {
  const { status, body: made } = await client.post('/organizations', { ...CHILD, ...body })
  expect(status).toBe(201)
  return newClient(Number(String(made.id).replace('org_', '')))
}

const idsOf = (body: { data: Row[] }): unknown[] => body.data.map((row) => row['id'])

describe('creating an organization', () => {
  test('makes a child of the plan and environment of the caller', async () => {
    for (const environment of ['production', 'sandbox'] as const) {
      const client = await newOrganization({ standing: { plan: 'professional', environment } })
      const { status, body, headers } = await client.post('/organizations', CHILD)
      expect(status).toBe(201)
      expect(body).toMatchObject({
        ...CHILD,
        object: 'organization',
        organization_id: body.id,
        parent_organization_id: client.organization_id,
        plan: 'professional',
        environment,
        version: 1,
      })
      expect(headers.get('location')).toBe(`/api/v1/organizations/${body.id}`)
      expect((await client.get(`/organizations/${body.id}`)).body).toEqual(body)
    }
  })

  const refused: [string, Row, string, string][] = [
    ['without a slug', { slug: undefined }, 'slug', 'required'],
    ['with a slug in capitals', { slug: 'Harbor' }, 'slug', 'invalid_format'],
    ['with an unknown zone', { time_zone: 'Mars/Base' }, 'time_zone', 'unknown_time_zone'],
    ['with a plan of its choice', { plan: 'enterprise' }, 'plan', 'read_only'],
    ['with an environment', { environment: 'sandbox' }, 'environment', 'read_only'],
    ['below another', { parent_organization_id: 'org_1' }, 'parent_organization_id', 'read_only'],
  ]
  test.each(refused)('%s is 422', async (_, more, field, code) => {
    const client = await newOrganization()
    const answer = await client.post('/organizations', { ...CHILD, ...more })
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } })
    expect(idsOf((await client.get('/organizations')).body)).toEqual([client.organization_id])
  })

  test('once per idempotency key, however often and at once it is asked for', async () => {
    const [client, other] = await Promise.all([newOrganization(), newOrganization()])
    const header = { 'idempotency-key': 'branch-1' }
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => client.post('/organizations', CHILD, header)),
    )
    const again = await client.post('/organizations', CHILD, header)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    for (const answer of [...answers, again]) {
      expect([answer.status, answer.body.id]).toEqual([201, again.body.id])
      expect(answer.headers.get('location')).toBe(`/api/v1/organizations/${again.body.id}`)
    }
    const listed = await client.get('/organizations?sort=id')
    expect(idsOf(listed.body)).toEqual([client.organization_id, again.body.id])
    const changed = await client.post('/organizations', { ...CHILD, name: 'Else' }, header)
    expect(changed).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
    const foreign = await other.post('/organizations', CHILD, header)
    expect(foreign.status).toBe(201)
    expect(foreign.body.id).not.toBe(again.body.id)
  })
})

describe('organizations', () => {
  test('what each caller sees: itself and its children, in both generations', async () => {
    const [parent, stranger] = await Promise.all([newOrganization(), newOrganization()])
    const child = await childOf(parent)
    const grandchild = await childOf(child)
    const sees: [TestClient, TestClient[]][] = [
      [parent, [parent, child]],
      [child, [child, grandchild]],
      [grandchild, [grandchild]],
      [stranger, [stranger]],
    ]
    for (const [client, visible] of sees) {
      for (const base of ['', '/grid/v2']) {
        const list = await client.get(`${base}/organizations?sort=id&include=total_count`)
        const ids = visible.map(({ organization_id }) => organization_id)
        expect(idsOf(list.body)).toEqual(ids)
        expect(list.body.total_count).toBe(ids.length)
        for (const { organization_id } of [parent, child, grandchild, stranger]) {
          const { status } = await client.get(`${base}/organizations/${organization_id}`)
          expect(status).toBe(ids.includes(organization_id) ? 200 : 404)
        }
      }
    }
  })

  test('filters, cursors and expanded parents work over parent and children', async () => {
    const client = await newOrganization()
    const ids = [client.organization_id]
    for (const name of ['Alpha', 'Beta', 'Gamma', 'Delta'])
      ids.push((await childOf(client, { name })).organization_id)
    for (const base of ['', '/grid/v2']) {
      const seen: unknown[] = []
      let query = '?limit=2&sort=id'
      for (;;) {
        const { status, body } = await client.get(`${base}/organizations${query}`)
        expect(status).toBe(200)
        seen.push(...idsOf(body))
        if (!body.has_more) break
        query = `?limit=2&sort=id&cursor=${body.next_cursor}`
      }
      expect(seen).toEqual(ids)
      const found = async (filter: string): Promise<unknown[]> =>
        idsOf((await client.get(`${base}/organizations?sort=id&${filter}`)).body)
      expect(await found('default_currency=EUR')).toEqual(ids.slice(1))
      expect(await found('name[in]=Alpha,Gamma')).toEqual([ids[1], ids[3]])
      expect(await found('q=delta')).toEqual([ids[4]])
      expect(await found(`parent_organization_id=${ids[0]}`)).toEqual(ids.slice(1))
      expect(await found('parent_organization_id[is_null]=true')).toEqual([ids[0]])
      expect(await found('parent_organization.locale=en-US')).toEqual(ids.slice(1))
    }
    const { body } = await client.get(`/organizations/${ids[1]}?expand=parent_organization`)
    expect(body.parent_organization.id).toBe(ids[0])
  })

  test('claims on a child are shown to its parent, now and at another time', async () => {
    const [parent, stranger] = await Promise.all([newOrganization(), newOrganization()])
    const child = await childOf(parent)
    const path = `/organizations/${child.organization_id}`
    const known_at = new Date().toISOString()
    await parent.patch(path, { name: 'Renamed' })
    for (const client of [parent, child]) {
      const named = await client.get(`${path}?include=provenance`)
      expect(named.body.provenance.name).toMatchObject({
        value: 'Renamed',
        source: { kind: 'api' },
        actor: { type: 'api_key' },
      })
      const facts = await client.get('/grid/v2/organizations?include=facts&sort=id')
      const row = facts.body.data.find((found: Row) => found['id'] === child.organization_id)
      expect(row.facts.name.value).toBe('Renamed')
      const then = await client.get(`${path}?known_at=${known_at}`)
      expect(then.body).toMatchObject({ name: CHILD.name, organization_id: child.organization_id })
      const list = await client.get(`/organizations?known_at=${known_at}&sort=id`)
      expect(list.body.data.find((found: Row) => found['id'] === child.organization_id)).toEqual(
        then.body,
      )
    }
    const own = await parent.get(`/organizations/${parent.organization_id}?include=provenance`)
    expect(own.body.provenance.name.value).toBe('Test organization')
    for (const query of ['', '?include=provenance', `?known_at=${known_at}`, '?as_of=2099-01-01'])
      expect((await stranger.get(path + query)).status).toBe(404)
    const seen = await stranger.get(`/organizations?known_at=${known_at}`)
    expect(idsOf(seen.body)).toEqual([stranger.organization_id])
  })
})

describe('changing an organization', () => {
  test('each caller changes itself and its children, and nobody else', async () => {
    const [parent, stranger] = await Promise.all([newOrganization(), newOrganization()])
    const child = await childOf(parent)
    const grandchild = await childOf(child)
    const table: [string, TestClient, TestClient, Row, number, string?][] = [
      ['itself', parent, parent, { name: 'New name' }, 200],
      ['a child', parent, child, { name: 'New name' }, 200],
      ['the child itself', child, child, { locale: 'fr-FR' }, 200],
      ['a grandchild', parent, grandchild, { name: 'Mine' }, 404, 'not_found'],
      ['a parent', child, parent, { name: 'Mine' }, 404, 'not_found'],
      ['a stranger', stranger, parent, { name: 'Mine' }, 404, 'not_found'],
      ['a child of a stranger', stranger, child, { name: 'Mine' }, 404, 'not_found'],
      ['a plan', parent, child, { plan: 'community' }, 422, 'validation_failed'],
      ['an unknown field', parent, child, { nmae: 'x' }, 422, 'validation_failed'],
      ['a required field taken away', parent, child, { slug: null }, 422, 'validation_failed'],
    ]
    for (const [name, client, target, body, status, code] of table) {
      const path = `/organizations/${target.organization_id}`
      const before = (await target.get(path)).body
      const answer = await client.patch(path, body)
      expect(answer.status, name).toBe(status)
      if (code) expect(answer.body.code, name).toBe(code)
      const after = (await target.get(path)).body
      if (status === 200) {
        expect(after, name).toEqual(answer.body)
        expect(after, name).toMatchObject({ ...body, version: before.version + 1 })
      } else expect(after, name).toEqual(before)
    }
  })

  test('holds the version that If-Match names', async () => {
    const parent = await newOrganization()
    const child = await childOf(parent)
    const path = `/organizations/${child.organization_id}`
    const first = await parent.patch(path, { name: 'One' }, { 'if-match': '"v1"' })
    expect([first.status, first.headers.get('etag')]).toEqual([200, '"v2"'])
    const second = await parent.patch(path, { name: 'Two' }, { 'if-match': '"v1"' })
    expect(second).toMatchObject({ status: 412, body: { code: 'version_conflict' } })
    const removal = await parent.delete(path, { 'if-match': '"v1"' })
    expect(removal.status).toBe(412)
  })
})

describe('deleting an organization', () => {
  test('a parent deletes a child without children, and its keys stop working', async () => {
    const [parent, stranger] = await Promise.all([newOrganization(), newOrganization()])
    const child = await childOf(parent)
    const grandchild = await childOf(child)
    const at = ({ organization_id }: TestClient): string => `/organizations/${organization_id}`
    const table: [string, TestClient, TestClient, number][] = [
      ['itself', parent, parent, 409],
      ['the child itself', child, child, 409],
      ['a stranger', stranger, child, 404],
      ['its parent', child, parent, 404],
      ['a grandchild', parent, grandchild, 404],
      ['a child with children', parent, child, 409],
      ['the child of the child', child, grandchild, 204],
      ['the child', parent, child, 204],
      ['the child again', parent, child, 404],
    ]
    for (const [name, client, target, status] of table)
      expect((await client.delete(at(target))).status, name).toBe(status)
    expect((await child.get('/leases')).status).toBe(401)
    expect((await parent.get(at(child))).status).toBe(404)
    expect(idsOf((await parent.get('/organizations')).body)).toEqual([parent.organization_id])
    const tombs = await parent.get('/organizations?include=deleted&sort=id')
    expect(idsOf(tombs.body)).toEqual([parent.organization_id, child.organization_id])
  })

  test('needs the scope', async () => {
    const parent = await newOrganization()
    const child = await childOf(parent)
    const reader = await newClient(
      parent.org_id,
      ALL_SCOPES.filter((scope) => scope !== 'write:organizations'),
    )
    const path = `/organizations/${child.organization_id}`
    expect((await reader.delete(path)).status).toBe(403)
    expect((await reader.patch(path, { name: 'x' })).status).toBe(403)
    expect((await reader.post('/organizations', CHILD)).status).toBe(403)
    expect((await reader.get(path)).status).toBe(200)
  })
})
