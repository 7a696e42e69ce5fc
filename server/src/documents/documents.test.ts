import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildApp } from '../app.ts'
import { grid, newClient, newOrganization } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import { content, form, PDF, sha256, stored, uploaded } from './upload-fixture.ts'

describe('documents', () => {
  test('a form makes a document that is available at once', async () => {
    const client = await newOrganization()
    const created = await client.post('/documents', form({ document_type: 'lease' }, {}))
    expect(created).toMatchObject({
      status: 201,
      body: {
        title: 'lease.pdf',
        document_type: 'lease',
        status: 'available',
        filename: 'lease.pdf',
        content_type: 'application/pdf',
        byte_size: PDF.length,
        sha256: sha256(PDF),
        page_count: null,
        version: 1,
        version_number: 1,
        versions: [{ number: 1, filename: 'lease.pdf', sha256: sha256(PDF), note: null }],
      },
    })
    const { id, current_version_id, content_url } = created.body
    expect(created.headers.get('location')).toBe(`/api/v1/documents/${id}`)
    expect(content_url).toBe(`/api/v1/documents/${id}/content`)
    expect((await client.get(`/documents/${id}`)).body).toEqual(created.body)
    expect((await content(client, id)).bytes).toEqual(PDF)
    expect(await stored(client)).toEqual([`${id}/${current_version_id}`])

    const { app } = await grid()
    const folder = join(app.config.GRID_DATA_DIR, 'files', client.organization_id, id)
    const file = await stat(join(folder, current_version_id))
    expect([file.mode & 0o777, (await stat(folder)).mode & 0o777]).toEqual([0o600, 0o700])
    expect(file.nlink).toBe(1)
  })

  test('JSON makes a document that waits for its file', async () => {
    const client = await newOrganization()
    const created = await client.post('/documents', {
      title: 'Estoppel',
      document_type: 'estoppel',
    })
    expect(created).toMatchObject({
      status: 201,
      body: { status: 'pending_upload', filename: null, content_url: null, versions: [] },
    })
    const { id } = created.body
    const early = await client.get(`/documents/${id}/content`)
    expect(early).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(early.body.detail).toBe(
      `Document ${id} has no file yet; add one with POST /documents/${id}/versions.`,
    )
    const added = await client.post(`/documents/${id}/versions`, form({ note: 'signed' }, {}))
    expect(added).toMatchObject({
      status: 201,
      body: {
        title: 'Estoppel',
        status: 'available',
        version: 2,
        version_number: 1,
        versions: [{ number: 1, note: 'signed', uploaded_by: { type: 'api_key' } }],
        status_history: [{ to: 'pending_upload' }, { from: 'pending_upload', to: 'available' }],
      },
    })
    expect(added.headers.get('etag')).toBe('"v2"')
    expect((await content(client, id)).bytes).toEqual(PDF)
  })

  test('fields come as parts, as JSON parts, or in one metadata part', async () => {
    const client = await newOrganization()
    const { property_id } = await leaseParents(client)
    const links = [{ object_type: 'property', object_id: property_id, role: 'evidence' }]
    const fields = {
      title: 'Certificate 2026',
      document_type: 'coi',
      expires_date: '2027-01-31',
      legal_hold: 'false',
      tags: ['insurance', 'checked'],
      links: JSON.stringify(links),
      signed_date: '',
    }
    const parts = await client.post('/documents', form(fields, {}))
    expect(parts).toMatchObject({
      status: 201,
      body: { ...fields, legal_hold: false, links, signed_date: null, linked_to: [property_id] },
    })
    const metadata = JSON.stringify({ title: 'Certificate 2027', document_type: 'coi', links })
    const text = await client.post('/documents', form({ metadata }, {}))
    expect(text).toMatchObject({ status: 201, body: { title: 'Certificate 2027', links } })
    const blob = form({}, {}, { part: 'metadata', bytes: Buffer.from(metadata), name: 'blob' })
    expect(await client.post('/documents', blob)).toMatchObject({ status: 201, body: { links } })
  })

  test('versions follow each other and stay readable', async () => {
    const client = await newOrganization()
    const id = await uploaded(client)
    const files = Array.from({ length: 6 }, (_, i) => Buffer.from(`version of round ${i}`))
    const answers = await Promise.all(
      files.map(
        async (bytes) => await client.post(`/documents/${id}/versions`, form({}, { bytes })),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(files.map(() => 201))
    const { body } = await client.get(`/documents/${id}`)
    expect(body).toMatchObject({ version: 7, version_number: 7 })
    expect(body.versions.map((v: { number: number }) => v.number)).toEqual([1, 2, 3, 4, 5, 6, 7])
    for (const { number, sha256: expected } of body.versions) {
      expect(sha256((await content(client, id, `?version=${number}`)).bytes)).toBe(expected)
    }
    expect((await content(client, id)).bytes.length).toBe(body.byte_size)
    expect((await stored(client)).length).toBe(7)

    const list = await client.get(`/documents/${id}/versions`)
    expect(list.body).toMatchObject({ object: 'list', has_more: false, next_cursor: null })
    expect(list.body.data).toEqual(body.versions)
    const first = await client.get(`/documents/${id}/versions?limit=5`)
    const rest = await client.get(`/documents/${id}/versions?cursor=${first.body.next_cursor}`)
    expect([...first.body.data, ...rest.body.data]).toEqual(body.versions)
    expect(first.headers.get('link')).toContain('rel="next"')
  })

  test('a document is found by what it is linked to', async () => {
    const client = await newOrganization()
    const parents = await leaseParents(client)
    const lease = await client.post(
      '/leases',
      samples.lease(parents.property_id, parents.tenant_party_id),
    )
    const linksTo = (object_type: string, object_id: string) => [{ object_type, object_id }]
    const made = await client.post('/documents', {
      title: 'Lease',
      document_type: 'lease',
      links: linksTo('lease', lease.body.id),
    })
    expect(made.status).toBe(201)
    await uploaded(client)
    const find = async (id: string): Promise<string[]> => {
      const { body } = await client.get(`/documents?linked_to[contains]=${id}`)
      return body.data.map((row: { id: string }) => row.id)
    }
    expect(await find(lease.body.id)).toEqual([made.body.id])
    expect(await find(parents.property_id)).toEqual([])
    const moved = await client.patch(`/documents/${made.body.id}`, {
      links: linksTo('property', parents.property_id),
    })
    expect(moved).toMatchObject({ status: 200, body: { linked_to: [parents.property_id] } })
    expect(await find(lease.body.id)).toEqual([])
    expect(await find(parents.property_id)).toEqual([made.body.id])
    const own = await client.patch(`/documents/${made.body.id}`, {
      links: linksTo('organization', client.organization_id),
    })
    expect(own.status).toBe(200)
  })

  test('a legal hold keeps a document from being deleted', async () => {
    const client = await newOrganization()
    const id = await uploaded(client)
    await client.patch(`/documents/${id}`, { legal_hold: true })
    const refused = await client.delete(`/documents/${id}`)
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict', legal_hold: true } })
    await client.patch(`/documents/${id}`, { legal_hold: false })
    expect((await client.delete(`/documents/${id}`, { 'if-match': '"v1"' })).status).toBe(412)
    expect((await client.delete(`/documents/${id}`, { 'if-match': '"v3"' })).status).toBe(204)
    for (const path of ['', '/content', '/versions'])
      expect((await client.get(`/documents/${id}${path}`)).status).toBe(404)
    expect((await client.post(`/documents/${id}/versions`, form({}, {}))).status).toBe(404)
    expect((await client.delete(`/documents/${id}`)).status).toBe(404)
    const { body } = await client.get('/documents?include=deleted')
    expect(body.data).toMatchObject([{ id, deleted_at: expect.any(String) }])
  })

  test('a repeated upload with the same key is answered again and stored once', async () => {
    const client = await newOrganization()
    const key = { 'idempotency-key': 'upload-1' }
    const send = async (path: string, title: string, bytes = PDF) =>
      await client.post(path, form({ document_type: 'lease', title }, { bytes }), key)
    const first = await send('/documents', 'Lease')
    const second = await send('/documents', 'Lease')
    expect(second).toMatchObject({ status: 201, body: first.body })
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('location')).toBe(first.headers.get('location'))
    const conflict = { status: 409, body: { code: 'idempotency_conflict' } }
    expect(await send('/documents', 'Lease', Buffer.from('other bytes'))).toMatchObject(conflict)
    expect(await send('/documents', 'Another title')).toMatchObject(conflict)

    const path = `/documents/${first.body.id}/versions`
    const add = async () => await client.post(path, form({}, {}), { ...key, 'if-match': '"v1"' })
    const added = await add()
    const again = await Promise.all([add(), add()])
    for (const repeat of again) {
      expect(repeat).toMatchObject({ status: 201, body: added.body })
      expect(repeat.headers.get('idempotent-replayed')).toBe('true')
      expect(repeat.headers.get('etag')).toBe('"v2"')
    }
    expect((await stored(client)).length).toBe(2)
    expect((await client.get('/documents?include=total_count')).body.total_count).toBe(1)
  })

  test('two equal uploads at once with one key make one document', async () => {
    const client = await newOrganization()
    const send = async () =>
      await client.post('/documents', form({ document_type: 'lease' }, {}), {
        'idempotency-key': 'twice',
      })
    const answers = await Promise.all([send(), send(), send()])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect((await stored(client)).length).toBe(1)
  })

  test('another organization and a key without the scope see nothing', async () => {
    const client = await newOrganization()
    const stranger = await newOrganization()
    const id = await uploaded(client)
    const version = form({}, {})
    expect((await content(stranger, id)).status).toBe(404)
    expect((await stranger.get(`/documents/${id}/versions`)).status).toBe(404)
    expect((await stranger.post(`/documents/${id}/versions`, version)).status).toBe(404)
    expect((await stranger.patch(`/documents/${id}`, { title: 'Mine' })).status).toBe(404)
    expect((await stranger.delete(`/documents/${id}`)).status).toBe(404)
    const foreign = await stranger.post('/documents', {
      title: 'Borrowed',
      document_type: 'other',
      links: [{ object_type: 'organization', object_id: client.organization_id }],
    })
    expect(foreign.body.errors).toMatchObject([{ field: 'links[0].object_id', code: 'not_found' }])
    expect(await stored(stranger)).toEqual([])
    const writer = await newClient(client.org_id, ['write:documents'])
    expect((await content(writer, id)).status).toBe(403)
    const reader = await newClient(client.org_id, ['read:documents'])
    expect((await reader.post('/documents', form({ document_type: 'lease' }, {}))).status).toBe(403)
    expect((await content(reader, id)).status).toBe(200)
  })

  test('a file outlives the process that stored it', async () => {
    const { app, db } = await grid()
    const client = await newOrganization()
    const id = await uploaded(client)
    const restarted = await buildApp(app.config, db)
    const answer = await restarted.inject({
      url: `/api/v1/documents/${id}/content`,
      headers: { 'x-api-key': client.key },
    })
    expect(answer.rawPayload).toEqual(PDF)
    await restarted.close()
  })
})
