/** Where a deployed field shows: feeds, webhooks' payloads, documents, the audit log, other keys and other processes. */
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { eventsOf, payloadsOf, placeAll } from '../../test/feed.ts'
import { clientWith, grid, newOrganization, owner } from '../../test/grid.ts'
import { buildApp } from '../app.ts'
import { Db } from '../db/db.ts'
import { deployed, deployOperations, newLease } from './schema-fixture.ts'

describe('a field', () => {
  it('is in the next event, with the names of now; the schema tells of itself', async () => {
    const client = await newOrganization()
    await deployed(client, 'add a percent field green share to leases')
    const { body: lease } = await newLease(client, { ext: { green_share: 5 } })
    await client.patch(`/leases/${lease.id}`, { ext: { green_share: 6 } })
    await placeAll(client.org_id)
    const { body } = await client.get('/events?types=lease.*,schema.*&limit=200')
    const told = body.data.map(
      ({ type, data }: { type: string; data: { object: { ext?: object } } }) => [
        type,
        data.object.ext,
      ],
    )
    expect(told).toEqual([
      ['schema.field_deployed', undefined],
      ['schema.changed', undefined],
      ['lease.created', { green_share: 5 }],
      ['lease.updated', { green_share: 6 }],
    ])
    expect(body.data[0].data.object).toMatchObject({
      object: 'schema_field',
      api_name: 'green_share',
    })
    expect(body.data[3].data).toMatchObject({
      changed: ['ext.green_share'],
      previous: { 'ext.green_share': 5 },
    })
    const changes = await client.get('/changes?types=lease')
    expect(changes.body.data[1].changed_fields).toEqual(['ext.green_share'])
    const payloads = await payloadsOf(
      client.org_id,
      await eventsOf(client.org_id, ['lease.updated']),
    )
    expect(payloads[0]).toMatchObject({ data: { object: { ext: { green_share: 6 } } } })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('is in the OpenAPI document of its organization, and of no other', async () => {
    const [client, other] = await Promise.all([newOrganization(), newOrganization()])
    await deployed(
      client,
      'select fit-out: shell, warm, required on spaces; add percent field very own share to leases, 0 to 40',
    )
    const { base } = await grid()
    const url = `${base.replace('/api/v1', '')}/openapi.json?org=me`
    const [own, foreign, open] = await Promise.all([
      client.get(url),
      other.get(url),
      clientWith('', 0).get(url),
    ])
    expect(open.status).toBe(401)
    const { schemas } = own.body.components
    expect(schemas.Lease.properties.ext.properties.very_own_share).toMatchObject({
      type: ['number', 'null'],
      maximum: 40,
    })
    expect(schemas.LeasePatch.properties.ext.properties).toHaveProperty('very_own_share')
    expect(schemas.SpaceCreate.properties.ext).toMatchObject({ required: ['fit_out'] })
    expect(schemas.SpaceCreate.required).toContain('ext')
    const names = own.body.paths['/leases'].get.parameters.map(
      ({ name }: { name?: string }) => name,
    )
    expect(names).toContain('ext.very_own_share')
    expect(JSON.stringify(foreign.body)).not.toContain('very_own_share')
    expect((await client.get(url.replace('=me', '=1'))).status).toBe(422)
  })

  it('is in the audit log by name, with its values before and after', async () => {
    const client = await newOrganization()
    await deployed(client, 'add a percent field green share to leases')
    const { body: lease } = await newLease(client, { ext: { green_share: 5 } })
    await client.patch(`/leases/${lease.id}`, { ext: { green_share: 6 } })
    const entry = await auditEntry(client.org_id, 'lease.updated')
    expect(entry).toMatchObject({
      changed: ['ext.green_share'],
      previous: { 'ext.green_share': 5 },
      details: { ext_after: { 'ext.green_share': 6 } },
    })
  })

  it('is filtered and written by keys of some properties, within these', async () => {
    const client = await newOrganization()
    await deployed(client, 'add a filterable percent field green share to leases')
    const { body: mine } = await newLease(client, { ext: { green_share: 5 } })
    await newLease(client, { ext: { green_share: 5 } })
    const key = await client.post('/api-keys', {
      name: 'One property',
      scopes: ['read:leases', 'write:leases'],
      property_ids: [mine.property_id],
    })
    const restricted = clientWith(key.body.key, client.org_id)
    const list = await restricted.get('/leases?ext.green_share[gte]=5')
    expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([mine.id])
    const patched = await restricted.patch(`/leases/${mine.id}`, { ext: { green_share: 9 } })
    expect(patched).toMatchObject({ status: 200, body: { ext: { green_share: 9 } } })
    expect((await client.get('/leases?ext.green_share=9')).body.data).toHaveLength(1)
  })

  it('deployed by one process is known to another within a second', async () => {
    const client = await newOrganization()
    const { app, db } = await grid()
    const own = new Db(db.config, { pipelined: 1, pooled: 2 })
    const second = await buildApp({ ...app.config, GRID_OPS_PORT: 0 }, own)
    try {
      const read = async (): Promise<object> => {
        const answer = await second.inject({
          url: '/api/v1/grid/v2/schema/limits',
          headers: { 'x-api-key': client.key },
        })
        return answer.json() as object
      }
      expect(await read()).toMatchObject({ used: [] })
      await deployed(client, 'add a percent field green share to leases')
      await expect
        .poll(read, { timeout: 1_000 })
        .toMatchObject({ used: [{ object_type: 'lease', fields: 1 }] })
    } finally {
      await second.close()
      await own.close()
    }
  })

  it('gives lists and single reads an ETag that a deploy changes, and that If-Match takes', async () => {
    const client = await newOrganization()
    await deployed(client, 'add a percent field green share to leases')
    const { body } = await newLease(client)
    const path = `/leases/${body.id}`
    const etag = (await client.get(path)).headers.get('etag') as string
    expect((await client.get(path, { 'if-none-match': etag })).status).toBe(304)
    await deployed(client, 'add a yes/no smoke free to leases')
    const after = await client.get(path, { 'if-none-match': etag })
    expect(after).toMatchObject({ status: 200, body: { ext: { smoke_free: null } } })
    expect(
      (await client.patch(path, { ext: { smoke_free: true } }, { 'if-match': etag })).status,
    ).toBe(200)
    const grid2 = await client.get(`/grid/v2${path}?include=provenance`)
    expect(grid2.body).toMatchObject({
      ext: { smoke_free: true },
      provenance: { 'ext.smoke_free': { value: true } },
    })
  })
})

async function auditEntry(org_id: number, action: string): Promise<object> {
  const client = await owner()
  try {
    const { rows } = await client.query(
      'select changed, previous, details from audit_entry where org_id = $1 and action = $2',
      [org_id, action],
    )
    return rows[0] as object
  } finally {
    await client.end()
  }
}

it('a preview tells what would change, and changes nothing', async () => {
  const client = await newOrganization()
  await deployOperations(client, [
    { op: 'add_attribute', object_type: 'lease', label: 'Cap', type: 'percent' },
  ])
  await newLease(client, { ext: { cap: 80 } })
  const plan = await client.post('/schema-extensions/propose', {
    text: 'limit cap to 50; add a date field seen to leases',
  })
  const preview = await client.get(`/schema-extensions/${plan.body.id}/preview`)
  expect(preview.body).toMatchObject({
    openapi: [
      {
        path: 'Lease.ext.cap',
        change: 'changed',
        before: { maximum: 100 },
        after: { maximum: 50 },
      },
      { path: 'Lease.ext.seen', change: 'added', before: null },
    ],
    conversions: [{ field: 'lease.cap', values: 1, failing: 1 }],
    affected: { formulas: [], webhooks: 0 },
  })
  expect((await client.get('/schema-fields')).body.data).toHaveLength(1)
})

it('organizations, and documents sent as a form, keep what they had', async () => {
  const client = await newOrganization()
  await deployed(client, 'add a yes/no field signed to documents')
  const form = new FormData()
  form.append('file', new Blob(['text']), 'a.txt')
  form.append('title', 'A')
  form.append('document_type', 'lease')
  const made = await client.post('/documents', form)
  expect(made).toMatchObject({ status: 201, body: { ext: { signed: null } } })
  const patched = await client.patch(`/documents/${made.body.id}`, { ext: { signed: true } })
  expect(patched.body.ext).toEqual({ signed: true })
  const organization = await client.get(`/organizations/${client.organization_id}`)
  expect(organization.body.ext).toEqual({})
})
