/** Kept adapters: documents in versions, what may still change, and who may make one live. */
import { beforeAll, describe, expect, it } from 'vitest'
import { newClient, newOrganization } from '../../../test/grid.ts'
import type { Answer, TestClient } from '../../../test/grid.ts'
import { finished, sendJob } from '../../../test/jobs.ts'
import { eventFaults } from '../../../test/event-schemas.ts'
import { eventsOf, payloadsOf } from '../../../test/feed.ts'
import { ALL_SCOPES } from '../../kit/scopes.ts'
import { fileOf } from '../load-fixture.ts'
import { created, CSV, document, dryRun, previewed, promoted, tested } from './adapter-fixture.ts'
import type { Part } from './adapter-fixture.ts'

/** What adapters told, by the verb. */
async function told({ org_id }: TestClient): Promise<string[]> {
  const payloads = await payloadsOf(org_id, await eventsOf(org_id, ['adapter.*']))
  expect(payloads.flatMap(eventFaults)).toEqual([])
  return payloads.map(({ type }) => String(type).slice('adapter.'.length))
}

let client: TestClient
beforeAll(async () => {
  client = await newOrganization()
})

describe('POST /sdis/adapters', () => {
  it('keeps a document as the first draft', async () => {
    const own = await newOrganization()
    const answer = await own.post('/sdis/adapters', { document: document('first') })
    expect(answer).toMatchObject({
      status: 201,
      body: {
        object: 'adapter',
        organization_id: own.organization_id,
        name: 'first',
        latest_version: 1,
        live_version: null,
        previous_version: null,
        require_second_person: false,
        version: 1,
        created_by: 'Test key',
      },
    })
    const { id } = answer.body
    expect(answer.headers.get('location')).toBe(`/api/v1/sdis/adapters/${id}`)
    expect(await own.get(`/sdis/adapters/${id}`)).toMatchObject({ status: 200, body: answer.body })
    const version = await own.get(`/sdis/adapters/${id}/versions/1`)
    expect(version.body).toMatchObject({
      object: 'adapter_version',
      adapter_id: id,
      version: 1,
      state: 'draft',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      document: { adapter: 'first', version: 1 },
      preview: null,
      tested: null,
    })
    expect(await told(own)).toEqual(['created'])
  })

  it('takes YAML, and hashes what it means', async () => {
    const yaml = `
adapter: yaml
version: 12
source: { kind: csv, name: Test }
streams:
  - { type: party, key: row.Code, map: { legal_name: row.Name } }`
    const { body } = await client.post('/sdis/adapters', { document: yaml })
    const first = await client.get(`/sdis/adapters/${body.id}/versions/1`)
    const same = {
      adapter: 'yaml',
      mode: 'upsert',
      streams: [{ map: { legal_name: 'row.Name' }, type: 'party', key: 'row.Code' }],
      source: { name: 'Test', kind: 'csv' },
    }
    const second = await client.post(`/sdis/adapters/${body.id}/versions`, { document: same })
    expect(second).toMatchObject({ status: 201, body: { version: 2, hash: first.body.hash } })
  })

  const wrong = { adapter: 'a', source: { name: 'S', kind: 'pdf?' }, streams: [{ type: 'party' }] }
  it.each<[string, unknown, number, string[]]>([
    ['no document', {}, 422, ['document']],
    ['text that is no document', { document: 'a: [' }, 422, ['document']],
    [
      'every failing part',
      { document: wrong },
      422,
      ['document.source.kind', 'document.streams[0].key', 'document.streams[0].map'],
    ],
    [
      'an unknown field',
      {
        document: {
          ...document(),
          streams: [{ type: 'party', key: 'row.A', map: { nam: 'row.B' } }],
        },
      },
      422,
      ['document.streams[0].map.nam'],
    ],
    ['what is no setting', { document: document(), live: true }, 422, ['live']],
  ])('refuses %s', async (_, body, status, fields) => {
    const answer = await client.post('/sdis/adapters', body)
    expect(answer.status).toBe(status)
    const named = answer.body.errors.map(({ field }: { field: string }) => field)
    expect(named.toSorted()).toEqual(fields.toSorted())
  })

  it('refuses a name that is taken, until it is free again', async () => {
    const id = await created(client, 'taken')
    const again = await client.post('/sdis/adapters', { document: document('taken') })
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await client.delete(`/sdis/adapters/${id}`)).status).toBe(204)
    expect((await client.get(`/sdis/adapters/${id}`)).status).toBe(404)
    expect(await created(client, 'taken')).not.toBe(id)
  })

  it('does once what is asked twice', async () => {
    const headers = { 'idempotency-key': 'adapter' }
    const body = { document: document('once') }
    const first = await client.post('/sdis/adapters', body, headers)
    const second = await client.post('/sdis/adapters', body, headers)
    expect(second).toMatchObject({ status: 201, body: first.body })
    expect(second.headers.get('idempotent-replayed')).toBe('true')
  })

  it('of two at once with one name lets one through', async () => {
    const sent = [1, 2, 3].map(() => client.post('/sdis/adapters', { document: document('race') }))
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 409, 409])
  })
})

describe('lists', () => {
  it('page adapters and versions, newest first', async () => {
    const own = await newOrganization()
    const ids = [await created(own, 'a'), await created(own, 'b'), await created(own, 'c')]
    const first = await own.get('/sdis/adapters?limit=2')
    expect(first.body.data.map(({ id }: Part) => id)).toEqual([ids[2], ids[1]])
    const rest = await own.get(`/sdis/adapters?limit=2&cursor=${first.body.next_cursor}`)
    expect(rest.body).toMatchObject({ data: [{ id: ids[0] }], has_more: false })
    await own.post(`/sdis/adapters/${ids[0]}/versions`, { document: document('a') })
    const versions = await own.get(`/sdis/adapters/${ids[0]}/versions?limit=1`)
    expect(versions.body).toMatchObject({ data: [{ version: 2 }], has_more: true })
    const next = versions.body.next_cursor
    const last = await own.get(`/sdis/adapters/${ids[0]}/versions?limit=1&cursor=${next}`)
    expect(last.body).toMatchObject({ data: [{ version: 1 }], has_more: false })
  })
})

describe('a version', () => {
  it('changes while it is a draft, and not any more once it was tested', async () => {
    const id = await created(client, 'fixed')
    const path = `/sdis/adapters/${id}/versions/1`
    const before = await client.get(path)
    const other = { document: document('fixed', { description: 'Better.' }) }
    const stale = await client.patch(path, other, { 'if-match': '"v9"' })
    expect(stale).toMatchObject({ status: 412, body: { code: 'version_conflict' } })
    const changed = await client.patch(path, other, { 'if-match': '"v1"' })
    expect(changed).toMatchObject({ status: 200, body: { state: 'draft', version: 1 } })
    expect(changed.headers.get('etag')).toBe('"v2"')
    expect(changed.body.hash).not.toBe(before.body.hash)
    await tested(client, id)
    expect(await client.patch(path, other)).toMatchObject({ status: 409 })
    expect((await client.get(path)).body).toMatchObject({
      state: 'tested',
      hash: changed.body.hash,
      tested: { by: 'preview', rows: 2 },
    })
  })

  it.each([
    ['another name', 'other', 422],
    ['its own', 'named', 201],
  ])('takes a document of %s', async (_, name, status) => {
    const own = await newOrganization()
    const id = await created(own, 'named')
    const answer = await own.post(`/sdis/adapters/${id}/versions`, { document: document(name) })
    expect(answer.status).toBe(status)
  })

  it.each<[string, string | null, string, number]>([
    ['of no adapter', 'adp_999999999', '1', 404],
    ['with a number too high', null, '7', 404],
    ['with no number', null, 'x', 422],
  ])('%s is refused', async (what, absent, number, status) => {
    const id = absent ?? (await created(client, what.replaceAll(' ', '-')))
    const at = `/sdis/adapters/${id}/versions/${number}`
    expect((await client.get(at)).status).toBe(status)
    expect((await client.patch(at, { document: document() })).status).toBe(status)
    expect((await client.post(`${at}/test`, {})).status).toBe(status)
  })
})

describe('POST /sdis/adapters/{id}/versions/{version}/test', () => {
  it('needs a preview without errors of this very document', async () => {
    const id = await created(client, 'previewed')
    const test = async (): Promise<Answer> =>
      await client.post(`/sdis/adapters/${id}/versions/1/test`, {})
    expect(await test()).toMatchObject({ status: 409, body: { code: 'not_tested' } })
    await previewed(client, id, 'Code,Name,Area\nA,Alpha,big\n')
    expect(await test()).toMatchObject({ status: 409, body: { code: 'not_tested' } })
    await previewed(client, id)
    const other = { document: document('previewed', { description: 'Another.' }) }
    await client.patch(`/sdis/adapters/${id}/versions/1`, other)
    expect(await test()).toMatchObject({ status: 409, body: { code: 'not_tested' } })
    await previewed(client, id)
    expect(await test()).toMatchObject({ status: 200, body: { state: 'tested' } })
    expect(await test()).toMatchObject({ status: 200, body: { state: 'tested' } })
  })

  it('takes a completed job of a sandbox that ran the same document', async () => {
    const parent = await newOrganization()
    const sandbox = await newOrganization({
      standing: { environment: 'sandbox', parent_organization_id: parent.organization_id },
    })
    const stranger = await newOrganization()
    const id = await created(parent, 'sandboxed')
    const run = async (to: TestClient, name: string): Promise<string> => {
      const sent = await sendJob(to, JSON.stringify(document(name)), fileOf(CSV))
      return (await finished(to, sent.body.id)).id as string
    }
    const test = async (job_id: string): Promise<Answer> =>
      await parent.post(`/sdis/adapters/${id}/versions/1/test`, { job_id })
    const [foreign, other, same] = [
      await run(stranger, 'sandboxed'),
      await run(sandbox, 'other'),
      await run(sandbox, 'sandboxed'),
    ]
    expect(await test(foreign)).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'job_id' }] },
    })
    expect(await test(other)).toMatchObject({ status: 409, body: { code: 'not_tested' } })
    expect(await test(same)).toMatchObject({
      status: 200,
      body: { state: 'tested', tested: { by: 'job', job_id: same, rows: 2, quarantined: 0 } },
    })
  })
})

describe('POST /sdis/adapters/{id}/promote', () => {
  it('makes a tested version live, and a rollback the one before', async () => {
    const own = await newOrganization()
    const id = await created(own, 'live')
    await tested(own, id)
    expect(await promoted(own, id, 1)).toMatchObject({ status: 200, body: { live_version: 1 } })
    expect(await own.post(`/sdis/adapters/${id}/rollback`, {})).toMatchObject({ status: 409 })
    const second = { document: document('live', { description: 'Second.' }) }
    await own.post(`/sdis/adapters/${id}/versions`, second)
    await tested(own, id, 2)
    expect(await promoted(own, id, 2)).toMatchObject({
      status: 200,
      body: { live_version: 2, previous_version: 1 },
    })
    const { body: list } = await own.get(`/sdis/adapters/${id}/versions`)
    expect(list.data.map(({ state }: Part) => state)).toEqual(['live', 'superseded'])
    const back = await own.post(`/sdis/adapters/${id}/rollback`, { reason: 'Wrong areas.' })
    expect(back).toMatchObject({
      status: 200,
      body: {
        object: 'adapter_rollback',
        from_version: 2,
        to_version: 1,
        adapter: { live_version: 1, previous_version: null },
        undo: [],
      },
    })
    expect(await told(own)).toEqual([
      'created',
      'tested',
      'promoted',
      'updated',
      'tested',
      'promoted',
      'rolled_back',
    ])
  })

  it('needs a test, and the diff of a dry run of this very version', async () => {
    const own = await newOrganization()
    const id = await created(own, 'strict')
    const promote = async (job_id: string, diff_hash: string, version = 1): Promise<Answer> =>
      await own.post(`/sdis/adapters/${id}/promote`, { version, job_id, diff_hash })
    const right = await dryRun(own, document('strict'))
    expect(await promote(right.job_id, right.diff_hash)).toMatchObject({
      body: { code: 'not_tested' },
    })
    await tested(own, id)
    const other = await dryRun(own, document('other'))
    const sent = await sendJob(own, JSON.stringify(document('strict')), fileOf(CSV))
    const applied = (await finished(own, sent.body.id)).id as string
    for (const [job, hash] of [
      [other.job_id, other.diff_hash],
      [right.job_id, 'wrong'],
      [applied, right.diff_hash],
    ] as const)
      expect(await promote(job, hash)).toMatchObject({
        status: 409,
        body: { code: 'diff_mismatch' },
      })
    expect(await promote('job_999999999', 'x')).toMatchObject({ status: 422 })
    expect(await promote(right.job_id, right.diff_hash, 9)).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'version', code: 'not_found' }] },
    })
    expect(await promote(right.job_id, right.diff_hash)).toMatchObject({ status: 200 })
    expect(await promote(right.job_id, right.diff_hash)).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })
  })

  it('is for somebody else where a second person is required', async () => {
    const own = await newOrganization()
    const id = await created(own, 'two', { require_second_person: true })
    await tested(own, id)
    expect(await promoted(own, id, 1)).toMatchObject({
      status: 409,
      body: { code: 'second_person_required' },
    })
    const path = `/sdis/adapters/${id}`
    const off = { require_second_person: false }
    expect(await own.patch(path, off)).toMatchObject({ body: { code: 'second_person_required' } })
    const colleague = await newClient(own.org_id)
    expect(await promoted(colleague, id, 1)).toMatchObject({ status: 200 })
    expect(await colleague.patch(path, off)).toMatchObject({ status: 200, body: off })
    expect(await own.patch(path, { require_second_person: true })).toMatchObject({ status: 200 })
  })

  it('needs its scope', async () => {
    const own = await newOrganization()
    const id = await created(own, 'scoped')
    const without = ALL_SCOPES.filter((scope) => scope !== 'promote:adapters')
    const plain = await newClient(own.org_id, without)
    const promotion = { version: 1, job_id: 'job_1', diff_hash: 'x' }
    for (const [path, body] of [
      ['promote', promotion],
      ['rollback', {}],
    ] as const)
      expect(await plain.post(`/sdis/adapters/${id}/${path}`, body)).toMatchObject({
        status: 403,
        body: { required_scope: 'promote:adapters' },
      })
  })
})
