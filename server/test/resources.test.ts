/** What every resource promises, one row per promised answer. */
import { describe, expect, it } from 'vitest'
import { allFields, writableFields } from '../src/kit/resource.ts'
import type { Resource, Row } from '../src/kit/resource.ts'
import { resources } from '../src/resources.ts'
import { newOrganization } from './grid.ts'
import type { Answer } from './grid.ts'
import { faultsOf, operations } from './openapi.ts'
import { insert, portfolio, sampleOf } from './samples.ts'
import type { Ids } from './samples.ts'

const client = await newOrganization()
const stranger = await newOrganization()
const [ids, foreign] = await Promise.all([portfolio(client), portfolio(stranger)])

/** Those with the five common endpoints; organizations and documents are made in ways of their own. */
const common = resources.filter(({ name }) => name !== 'organization' && name !== 'document')
const cases = common.map((resource) => [resource.name, resource] as const)

/** Sends a request of a resource's endpoint and holds the answer against the OpenAPI document. */
async function send(
  method: 'get' | 'post' | 'patch' | 'delete',
  resource: Resource,
  rest: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const path = `/${resource.path}${rest}`
  const answer = await (method === 'get' || method === 'delete'
    ? client[method](path, headers)
    : client[method](path, body, headers))
  const template = `/${resource.path}${rest.startsWith('/') ? '/{id}' : ''}`
  const operation = operations.find((o) => o.name === `${method.toUpperCase()} ${template}`)
  if (operation && answer.status !== 304) expect(faultsOf(operation, answer)).toEqual([])
  return answer
}

async function made(resource: Resource, more: Row = {}): Promise<Row & { id: string }> {
  const answer = await send('post', resource, '', { ...sampleOf(resource, ids), ...more })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body
}

const codes = (answer: Answer): string[] =>
  ((answer.body.errors ?? []) as { field: string; code: string }[]).map(
    (e) => `${e.field} ${e.code}`,
  )

describe.each(cases)('%s', (_, resource) => {
  it('is created with a place and a version, and reads back the same in both models', async () => {
    const created = await send('post', resource, '', sampleOf(resource, ids))
    const { id } = created.body
    expect(created.status).toBe(201)
    expect(id).toMatch(new RegExp(`^${resource.prefix}_[0-9]+$`))
    expect(created.headers.get('location')).toBe(`/api/v1/${resource.path}/${id}`)
    expect(created.headers.get('etag')).toBe('"v1"')
    expect(created.body).toMatchObject(sampleOf(resource, ids))
    const read = await send('get', resource, `/${id}`)
    expect(read.headers.get('etag')).toBe('"v1"')
    expect(read.body).toEqual(created.body)
    const listed = await send('get', resource, `?id=${id}`)
    expect(listed.body.data).toEqual([created.body])
    const { attributes, relations, ...rest } = (await client.get(`/grid/v2/${resource.path}/${id}`))
      .body
    expect({ ...attributes, ...relations, ...rest }).toMatchObject({
      id,
      type: resource.name,
      version: 1,
    })
    for (const name of Object.keys(resource.fields)) {
      if (name in created.body)
        expect({ ...attributes, ...relations }[name]).toEqual(created.body[name])
    }
  })

  it('is not sent again to who has it', async () => {
    const { id } = await made(resource)
    const seen = await send('get', resource, `/${id}`, undefined, { 'if-none-match': '"v7", "v1"' })
    expect(seen).toMatchObject({ status: 304, body: '' })
    expect(seen.headers.get('etag')).toBe('"v1"')
    const stale = await send('get', resource, `/${id}`, undefined, { 'if-none-match': '"v2"' })
    expect(stale.status).toBe(200)
  })

  it('changes by merge patch, guarded by its version', async () => {
    const { id } = await made(resource)
    const change = async (tags: string[], match?: string): Promise<Answer> =>
      await send('patch', resource, `/${id}`, { tags }, match ? { 'if-match': match } : {})
    const second = await change(['a'], '"v1"')
    expect(second).toMatchObject({ status: 200, body: { version: 2, tags: ['a'] } })
    expect(second.headers.get('etag')).toBe('"v2"')
    expect(second.body.updated_at >= second.body.created_at).toBe(true)
    expect(await change(['b'], '"v1"')).toMatchObject({
      status: 412,
      body: { code: 'version_conflict', version: 2 },
    })
    expect(await change(['b'], '*')).toMatchObject({ status: 200, body: { version: 3 } })
    expect(await change(['b'])).toMatchObject({ status: 200, body: { version: 3 } })
    expect(await change(['c'], 'v3')).toMatchObject({ status: 422 })
    expect(
      (await send('delete', resource, `/${id}`, undefined, { 'if-match': '"v2"' })).status,
    ).toBe(412)
  })

  it('is deleted softly: gone from reads, kept as a tombstone', async () => {
    const { id } = await made(resource, { external_ids: [{ system: 'gone', id: resource.name }] })
    expect(await send('delete', resource, `/${id}`)).toMatchObject({ status: 204, body: '' })
    expect((await send('get', resource, `/${id}`)).status).toBe(404)
    expect((await client.get(`/grid/v2/${resource.path}/${id}`)).status).toBe(404)
    expect((await send('patch', resource, `/${id}`, { tags: [] })).status).toBe(404)
    expect((await send('delete', resource, `/${id}`)).status).toBe(404)
    expect((await send('get', resource, `?id=${id}`)).body.data).toEqual([])
    const [tombstone] = (await send('get', resource, `?id=${id}&include=deleted`)).body.data
    expect(tombstone).toMatchObject({ id, version: 2 })
    expect(tombstone.deleted_at).toBe(tombstone.updated_at)
    // Its keys in other systems are free again.
    await made(resource, { external_ids: [{ system: 'gone', id: resource.name }] })
  })

  it('names every required field that is missing', async () => {
    const required = Object.entries(writableFields(resource)).filter(([, field]) => field.required)
    const answer = await send('post', resource, '', {})
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
    expect(codes(answer).toSorted()).toEqual(
      required.map(([name]) => `${name} required`).toSorted(),
    )
    const { id } = await made(resource)
    for (const [name, field] of required) {
      if (field.kind === 'object') continue
      const cleared = await send('patch', resource, `/${id}`, { [name]: null })
      expect(cleared.status, name).toBe(422)
      expect(codes(cleared), name).toContain(`${name} required`)
    }
  })

  it('tells what it sets itself, what it does not know, and what was probably meant', async () => {
    const fields = allFields(resource)
    // Fields of the organization's own are written under ext; what may stand there depends on its schema.
    const readOnly = Object.keys(fields).filter((name) => fields[name]?.readOnly && name !== 'ext')
    const body = {
      ...sampleOf(resource, ids),
      ...Object.fromEntries(readOnly.map((name) => [name, 'x'])),
    }
    const answer = await send('post', resource, '', { ...body, external_idz: [] })
    expect(codes(answer).toSorted()).toEqual(
      [...readOnly.map((name) => `${name} read_only`), 'external_idz unknown_field'].toSorted(),
    )
    const unknown = answer.body.errors.find((e: Row) => e['field'] === 'external_idz')
    expect(unknown).toMatchObject({ pointer: '/external_idz', suggestion: 'external_ids' })
    const choice = Object.entries(writableFields(resource)).find(
      ([, field]) => field.kind === 'choice',
    )
    if (!choice) return
    const [name, field] = choice
    const [value] = field.schema['enum'] as string[]
    const typo = await send('post', resource, '', {
      ...sampleOf(resource, ids),
      [name]: `${value}e`,
    })
    const { errors } = typo.body
    expect(errors).toMatchObject([{ field: name, code: 'invalid_enum', suggestion: value }])
    expect(errors[0].allowed).toEqual(field.schema['enum'])
  })

  it('refers only to what exists in its organization', async () => {
    const references = Object.entries(writableFields(resource)).filter(([, field]) => field.target)
    for (const [name, field] of references) {
      const prefix = String((ids as Record<string, string>)[field.target as string]).split('_')[0]
      const values = [`${prefix}_999999999999`, `${prefix}_001`, foreign[field.target as string]]
      for (const value of values) {
        const single = field.kind === 'reference'
        const body = { ...sampleOf(resource, ids), [name]: single ? value : [value] }
        const answer = await send('post', resource, '', body)
        expect(answer.status, `${name} ${value}`).toBe(422)
        expect(codes(answer)).toEqual([`${single ? name : `${name}[0]`} not_found`])
        expect(answer.body.errors[0].message).toContain(value)
      }
    }
  })

  it('keeps money as exact decimal text, whatever form it came in', async () => {
    const money = Object.entries(writableFields(resource)).filter(
      ([, field]) => field.kind === 'money',
    )
    for (const [name, { digits }] of money) {
      const zeros = '0'.repeat(digits - 1)
      const row = await made(resource, { [name]: '0012.5' })
      expect(row[name], name).toBe(`12.5${zeros}`)
      const change = async (value: unknown): Promise<unknown> =>
        (await send('patch', resource, `/${row.id}`, { [name]: value })).body[name]
      expect(await change(0.1 + 0.2)).toBe(`0.3${zeros}`)
      expect(await change('123456789012345.01')).toBe(`123456789012345.01${'0'.repeat(digits - 2)}`)
      expect(await change('0')).toBe(`0.0${zeros}`)
      expect(await change(null)).toBeNull()
      const long = await send('patch', resource, `/${row.id}`, {
        [name]: `1.${'1'.repeat(digits + 1)}`,
      })
      expect(codes(long)).toEqual([`${name} invalid_format`])
    }
  })

  it('is found by its key in another system, which is unique', async () => {
    const key = { system: 'yardi', id: `a:b ${resource.name}`, url: null }
    const one = await made(resource, { external_ids: [key] })
    const query = `?external_id=${encodeURIComponent(`yardi:${key.id}`)}`
    expect((await send('get', resource, query)).body.data).toEqual([one])
    const again = await send('post', resource, '', {
      ...sampleOf(resource, ids),
      external_ids: [key],
    })
    expect(again).toMatchObject({ status: 409, body: { code: 'duplicate_external_id' } })
    const other = await made(resource)
    const taken = await send('patch', resource, `/${other.id}`, { external_ids: [key] })
    expect(taken).toMatchObject({ status: 409, body: { code: 'duplicate_external_id' } })
    const moved = [{ ...key, id: `${key.id} 2` }]
    expect((await send('patch', resource, `/${one.id}`, { external_ids: moved })).status).toBe(200)
    expect((await send('get', resource, query)).body.data).toEqual([])
    expect((await send('patch', resource, `/${other.id}`, { external_ids: [key] })).status).toBe(
      200,
    )
    const twice = await send('patch', resource, `/${other.id}`, { external_ids: [key, key] })
    expect(codes(twice)).toEqual(['external_ids[1] duplicate'])
  })

  it('is created once however often the request is repeated', async () => {
    const headers = { 'idempotency-key': `once-${resource.name}` }
    const body = {
      ...sampleOf(resource, ids),
      external_ids: [{ system: 'once', id: resource.name }],
    }
    const first = await send('post', resource, '', body, headers)
    const second = await send('post', resource, '', body, headers)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual(first.body)
    for (const name of ['location', 'etag'])
      expect(second.headers.get(name)).toBe(first.headers.get(name))
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    const other = await send('post', resource, '', { ...body, tags: ['other'] }, headers)
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
  })
})

describe('an object that others need', () => {
  const users = common.flatMap((user) =>
    Object.entries(user.fields)
      .filter(([, field]) => field.kind === 'reference' && field.required)
      .map(([name, field]) => [field.target as string, user.path, user, name] as const),
  )

  const byName = (name: string): Resource => common.find((r) => r.name === name) as Resource

  it.each(users)('%s is not deleted while %s refer to it', async (target, path, user, name) => {
    const parent = byName(target)
    const { id } = await made(parent)
    // A space lies on a floor of its building, which would need the building too.
    const lies = user.name === 'space' && target === 'building'
    const floor = lies ? await made(byName('floor'), { building_id: id }) : null
    const own = floor ? { ...ids, floor: floor.id } : ids
    const child = await insert(client.org_id, user, { ...sampleOf(user, own), [name]: id })
    if (floor) await send('delete', byName('floor'), `/${floor.id}`)
    expect(await send('delete', parent, `/${id}`)).toMatchObject({
      status: 409,
      body: { code: 'conflict', used_by: [path] },
    })
    expect((await send('delete', user, `/${child}`)).status).toBe(204)
    expect((await send('delete', parent, `/${id}`)).status).toBe(204)
  })
})

describe('what children leave out', () => {
  const bodies = (own: Ids): [string, Row, Row][] => [
    ['building', { area_unit: 'sqm' }, {}],
    ['floor', { area_unit: 'sqm' }, {}],
    ['space', { area_unit: 'sqm', currency: 'EUR' }, {}],
    ['lease', { area_unit: 'sqm', currency: 'EUR' }, {}],
    ['work_order', { currency: 'EUR' }, {}],
    ['lease', { area_unit: 'sqft', currency: 'CHF' }, { area_unit: 'sqft', currency: 'CHF' }],
    [
      'space',
      { area_unit: 'sqm', currency: 'CHF' },
      { currency: 'CHF', floor_ids: [own['floor']] },
    ],
  ]

  it('comes from the property they belong to, not from the organization', async () => {
    const find = (name: string): Resource => resources.find((r) => r.name === name) as Resource
    const property = await made(find('property'), { currency: 'EUR', area_unit: 'sqm' })
    const building = await made(find('building'), { property_id: property.id })
    const floor = await made(find('floor'), { building_id: building.id })
    const own: Ids = { ...ids, property: property.id, building: building.id, floor: floor.id }
    for (const [name, expected, given] of bodies(own)) {
      const body = { ...sampleOf(find(name), own), ...given }
      expect((await send('post', find(name), '', body)).body, name).toMatchObject(expected)
    }
    const under = await client.post(`/buildings/${building.id}/floors`, {
      label: 'M',
      level_number: 1,
    })
    expect(under).toMatchObject({
      status: 201,
      body: { area_unit: 'sqm', building_id: building.id },
    })
  })
})

describe('many at once', () => {
  it('a hundred identical requests with one key make one object and one answer', async () => {
    const headers = { 'idempotency-key': 'a hundred' }
    const body = {
      kind: 'company',
      legal_name: 'Hundredfold',
      external_ids: [{ system: 'h', id: '1' }],
    }
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => await client.post('/parties', body, headers)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
    const replayed = answers.filter(({ headers: h }) => h.get('idempotent-replayed') === 'true')
    expect(replayed.length).toBe(99)
    const found = await client.get('/parties?legal_name=Hundredfold&include=total_count')
    expect(found.body.total_count).toBe(1)
  })

  it('changes of one object by forty clients all take effect', async () => {
    const { id } = (await client.post('/parties', { kind: 'company', legal_name: 'Crowd' })).body
    const fields = ['dba_name', 'display_name', 'ticker', 'registration_number']
    const answers = await Promise.all(
      Array.from(
        { length: 40 },
        async (_, i) =>
          await client.patch(`/parties/${id}`, { [fields[i % 4] as string]: `V${i}` }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(answers.map(({ body }) => body.version).toSorted((a, b) => a - b)).toEqual(
      answers.map((_, i) => i + 2),
    )
  })

  it('no object is deleted under one that is being made to refer to it', async () => {
    const party = resources.find(({ name }) => name === 'party') as Resource
    const contact = resources.find(({ name }) => name === 'contact') as Resource
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const { id } = await made(party)
        const body = { ...sampleOf(contact, ids), party_id: id }
        const wait = async (): Promise<void> =>
          await new Promise((resolve) => setTimeout(resolve, i % 4))
        const [deleted, child] = await Promise.all([
          wait().then(async () => await client.delete(`/parties/${id}`)),
          client.post('/contacts', body),
        ])
        return `${deleted.status} ${child.status}`
      }),
    )
    for (const outcome of outcomes) expect(['204 422', '409 201']).toContain(outcome)
  })
})
