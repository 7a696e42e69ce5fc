/** A key of some properties: what it sees and writes, over every resource and every way to reach one. */
import { beforeAll, describe, expect, it } from 'vitest'
import { clientWith, grid, newOrganization, owner } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { exampleBody, operations, pathOf } from '../../test/openapi.ts'
import { insert, sampleOf, samples } from '../../test/samples.ts'
import type { Ids } from '../../test/samples.ts'
import { PROPERTY_SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'
import { resources } from '../resources.ts'
import { placeTransactions } from '../events/sequencer.ts'

let all: TestClient
let some: TestClient
let mine: Ids
let theirs: Ids

/** Types that belong to a property; the others belong to the organization. */
const BELONGING = ['property', 'building', 'floor', 'space', 'lease', 'document', 'work_order']

async function branch(client: TestClient, party: string): Promise<Ids> {
  const ids: Record<string, string> = { organization: client.organization_id, party }
  for (const resource of resources) {
    if (resource.name in ids) continue
    const sample = sampleOf(resource, ids)
    const links = [{ object_type: 'lease', object_id: ids['lease'] }]
    const input = resource.name === 'document' ? { ...sample, links } : sample
    ids[resource.name] = await insert(client.org_id, resource, input)
  }
  return ids
}

beforeAll(async () => {
  all = await newOrganization()
  const party = (await all.post('/parties', samples.party())).body.id as string
  mine = await branch(all, party)
  theirs = await branch(all, party)
  const made = await all.post('/api-keys', {
    name: 'One property',
    scopes: [...PROPERTY_SCOPES],
    property_ids: [mine['property']],
  })
  expect(made.status).toBe(201)
  some = clientWith(made.body.key, all.org_id)
  const { db } = await grid()
  while ((await placeTransactions(db)) > 0);
})

const belonging = resources.filter(({ name }) => BELONGING.includes(name))

describe('a key of one property', () => {
  it.each(belonging.map((resource) => [resource.name, resource] as const))(
    'sees, of %s, only what belongs to it',
    async (name, { path }) => {
      for (const base of ['', '/grid/v2']) {
        const list = await some.get(`${base}/${path}?include=total_count,rollups,provenance`)
        expect(list).toMatchObject({ status: 200, body: { total_count: 1 } })
        expect(list.body.data.map((row: { id: string }) => row.id)).toEqual([mine[name]])
        expect((await some.get(`${base}/${path}/${mine[name]}`)).status).toBe(200)
        expect((await some.get(`${base}/${path}/${theirs[name]}`)).status).toBe(404)
      }
      for (const view of ['', '/facts', '/timeline', '/conflicts', '/relations', '/provenance']) {
        expect((await some.get(`/grid/v2/objects/${mine[name]}${view}`)).status).toBe(200)
        expect((await some.get(`/grid/v2/objects/${theirs[name]}${view}`)).status).toBe(404)
      }
      const dated = await some.get(`/${path}?as_of=2099-01-01&sort=id`)
      expect(dated.body.data.map((row: { id: string }) => row.id)).toEqual([mine[name]])
    },
  )

  it.each(belonging.map((resource) => [resource.name, resource] as const))(
    'changes and deletes, of %s, nothing that does not belong to it',
    async (name, { path }) => {
      const tags = { tags: ['seen'] }
      expect((await some.patch(`/${path}/${theirs[name]}`, tags)).status).toBe(404)
      expect((await some.delete(`/${path}/${theirs[name]}`)).status).toBe(404)
      const changed = await some.patch(`/${path}/${mine[name]}`, tags)
      expect(changed).toMatchObject({ status: 200, body: { tags: ['seen'] } })
      const audited = await owner()
      const { rows } = await audited.query(
        `select action from audit_entry where org_id = $1 and object_id = $2 and action = $3`,
        [all.org_id, Number(String(mine[name]).split('_')[1]), `${name}.updated`],
      )
      await audited.end()
      expect(rows).toHaveLength(1)
    },
  )

  it('creates only below it', async () => {
    const own = await some.post('/buildings', samples.building(mine['property'] as string))
    expect(own.status).toBe(201)
    const floor = await some.post(`/buildings/${own.body.id}/floors`, {
      label: '1',
      level_number: 1,
    })
    expect(floor.status).toBe(201)
    expect((await some.delete(`/floors/${floor.body.id}`)).status).toBe(204)
    expect((await some.delete(`/buildings/${own.body.id}`)).status).toBe(204)
    const elsewhere = [
      ['/properties', samples.property(), 403],
      ['/buildings', samples.building(theirs['property'] as string), 403],
      ['/leases', samples.lease(theirs['property'] as string, mine['party'] as string), 403],
      ['/work_orders', samples.work_order(theirs['property'] as string), 403],
      ['/documents', samples.document(), 403],
      [`/buildings/${theirs['building']}/floors`, { label: '2', level_number: 2 }, 404],
      ['/floors', samples.floor(theirs['building'] as string), 422],
    ] as const
    for (const [path, body, status] of elsewhere) {
      const answer = await some.post(path, body)
      expect([path, answer.status]).toEqual([path, status])
      if (status === 403) expect(answer.body.code).toBe('property_restricted')
    }
    const links = [{ object_type: 'property', object_id: theirs['property'] }]
    expect((await some.post('/documents', { ...samples.document(), links })).status).toBe(422)
    const linked = [{ object_type: 'property', object_id: mine['property'] }]
    const made = await some.post('/documents', { ...samples.document(), links: linked })
    expect(made.status).toBe(201)
    expect((await some.delete(`/documents/${made.body.id}`)).status).toBe(204)
  })

  it('uploads and downloads only files of what belongs to it', async () => {
    const upload = (object_id: string | undefined): FormData => {
      const form = new FormData()
      form.append('document_type', 'lease')
      form.append('metadata', JSON.stringify({ links: [{ object_type: 'lease', object_id }] }))
      form.append('file', new Blob(['text'], { type: 'text/plain' }), 'file.txt')
      return form
    }
    const sent = await some.post('/documents', upload(mine['lease']))
    expect(sent.status).toBe(201)
    expect((await some.get(`/documents/${sent.body.id}/content`)).body).toBe('text')
    expect((await some.post('/documents', upload(theirs['lease']))).status).toBe(422)
    const form = new FormData()
    form.append('document_type', 'lease')
    form.append('file', new Blob(['text']), 'file.txt')
    expect(await some.post('/documents', form)).toMatchObject({
      status: 403,
      body: { code: 'property_restricted' },
    })
    const hidden = await all.post('/documents', upload(theirs['lease']))
    expect(hidden.status).toBe(201)
    for (const part of ['', '/content', '/versions'])
      expect((await some.get(`/documents/${hidden.body.id}${part}`)).status).toBe(404)
    expect((await some.delete(`/documents/${sent.body.id}`)).status).toBe(204)
  })

  it('is not answered what another key was', async () => {
    const body = samples.work_order(mine['property'] as string)
    const headers = { 'idempotency-key': 'shared' }
    expect((await all.post('/work_orders', body, headers)).status).toBe(201)
    const answer = await some.post('/work_orders', body, headers)
    expect(answer).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
  })

  it('moves nothing out of it', async () => {
    const property_id = theirs['property']
    const moved = await some.patch(`/work_orders/${mine['work_order']}`, { property_id })
    expect([403, 422]).toContain(moved.status)
    const links = [{ object_type: 'party', object_id: mine['party'] }]
    const unlinked = await some.patch(`/documents/${mine['document']}`, { links })
    expect(unlinked).toMatchObject({ status: 403, body: { code: 'property_restricted' } })
  })

  it('reads parties, and the organization, and writes neither', async () => {
    expect((await some.get(`/parties/${mine['party']}`)).status).toBe(200)
    expect((await some.get('/organizations')).body.data).toHaveLength(1)
    const made = await some.post('/parties', samples.party())
    expect(made).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  })

  it('finds nothing else by filter, search, sort, external id and expand', async () => {
    const queries = [
      `property_id=${theirs['property']}`,
      `id=${theirs['lease']}`,
      `property.name=Harbor%20Point&property_id[ne]=${mine['property']}`,
    ]
    for (const query of queries)
      expect((await some.get(`/leases?${query}`)).body).toMatchObject({ data: [] })
    const found = await some.get('/buildings?q=tower&sort=-name')
    expect(found.body.data.map((row: { id: string }) => row.id)).toEqual([mine['building']])
    const expanded = await some.get(`/work_orders?expand=property,lease`)
    expect(expanded.body.data[0].property.id).toBe(mine['property'])
    const rollups = await some.get(`/properties?include=rollups`)
    expect(rollups.body.data).toMatchObject([
      { id: mine['property'], rollups: { building_count: 1 } },
    ])
  })

  it('follows the changes of it and of parties', async () => {
    const { db } = await grid()
    while ((await placeTransactions(db)) > 0);
    const { body } = await some.get('/changes?limit=200')
    const seen = new Set(body.data.map((row: { object_id: string }) => row.object_id))
    for (const { name } of belonging) {
      expect(seen, name).toContain(mine[name])
      expect(seen, name).not.toContain(theirs[name])
    }
    expect(seen).toContain(mine['party'])
  })

  it('counts, reads and writes as before with a key of all properties', async () => {
    const { body } = await all.get('/leases?include=total_count')
    expect(body.total_count).toBe(2)
  })

  it('is refused where an endpoint concerns the whole organization', async () => {
    const { db } = await grid()
    const { createKey } = await import('./service.ts')
    const { ALL_SCOPES } = await import('../kit/scopes.ts')
    const { text } = await createKey(db, all.org_id, {
      name: 'All scopes, one property',
      scopes: ALL_SCOPES,
      environment: 'production',
      property_ids: [Number(String(mine['property']).split('_')[1])],
    })
    const client = clientWith(text, all.org_id)
    const whole = operations.filter(
      ({ scope }) => scope !== 'public' && !PROPERTY_SCOPES.has(scope as Scope),
    )
    expect(whole.length).toBeGreaterThan(10)
    for (const operation of whole) {
      const path = pathOf(operation, (prefix) => `${prefix || 'le'}_1`)
      const body = exampleBody(operation) ?? undefined
      const answer = await (operation.method === 'GET'
        ? client.get(path)
        : operation.method === 'DELETE'
          ? client.delete(path)
          : operation.method === 'PATCH'
            ? client.patch(path, body)
            : client.post(path, body))
      expect([operation.name, answer.status, answer.body.code]).toEqual([
        operation.name,
        403,
        'property_restricted',
      ])
    }
  })

  it('sees facts and conflicts of its property alone, and writes by the rules of the organization', async () => {
    for (const ids of [mine, theirs])
      for (const [source, value] of [
        ['src_1', 'Told'],
        ['src_3', 'Read'],
      ])
        expect(
          await all.post('/grid/v2/facts', {
            object: ids['lease'],
            op: 'assert',
            attribute: 'name',
            value,
            source,
            reason: 'Test',
          }),
        ).toMatchObject({ status: 201 })
    const leases = async (client: TestClient, path: string): Promise<Set<string>> =>
      new Set((await client.get(path)).body.data.map((row: { object_id: string }) => row.object_id))
    for (const path of ['/grid/v2/facts?attribute=name&limit=200', '/grid/v2/conflicts']) {
      expect(await leases(some, path)).not.toContain(theirs['lease'])
      expect(await leases(some, path)).toContain(mine['lease'])
      expect(await leases(all, path)).toContain(theirs['lease'])
    }
    const rule = { type: 'lease', attribute: 'name', strategy: 'min' }
    expect(await all.post('/grid/v2/survivorship', rule)).toMatchObject({ status: 201 })
    const patched = await some.patch(`/leases/${mine['lease']}`, { name: 'Zulu' })
    expect(patched).toMatchObject({ status: 200, body: { name: 'Read' } })
    for (const path of ['/sources', '/survivorship', '/survivorship/changes'])
      expect((await some.get(`/grid/v2${path}`)).status).toBe(200)
  })
})
