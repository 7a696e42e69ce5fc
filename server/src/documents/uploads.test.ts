import { createHash } from 'node:crypto'
import { mkdtemp, readdir } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, asyncProperty, integer } from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildApp } from '../app.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import {
  abortedUpload,
  BOUNDARY,
  content,
  form,
  FORM_TYPE,
  formBytes,
  formFrame,
  PDF,
  sha256,
  stored,
  uploaded,
} from './upload-fixture.ts'

const type = { document_type: 'lease' }
const link = (object_type: string, object_id: string): string =>
  JSON.stringify([{ object_type, object_id }])
const forms = { 'content-type': FORM_TYPE }
const json = (bytes: string) => ({ part: 'metadata', bytes: Buffer.from(bytes), name: 'blob' })
const many = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`field${i}`, 'x']))

type Refused = [name: string, body: unknown, status: number, expected: object, headers?: object]

const named = (field: string, code: string): object => ({ errors: [{ field, code }] })

const refused: Refused[] = [
  [
    'no form at all',
    'a,b',
    415,
    { code: 'unsupported_media_type' },
    { 'content-type': 'text/csv' },
  ],
  [
    'JSON that is none',
    '{',
    400,
    { code: 'malformed_json' },
    { 'content-type': 'application/json' },
  ],
  ['JSON that is a list', [], 422, { code: 'validation_failed' }],
  ['JSON without a title', type, 422, named('title', 'required')],
  [
    'a merge patch',
    '{"titel":"x"}',
    422,
    { code: 'validation_failed' },
    { 'content-type': 'application/merge-patch+json' },
  ],
  ['no boundary', 'x', 400, { code: 'bad_request' }, { 'content-type': 'multipart/form-data' }],
  ['rubbish for a form', 'rubbish', 400, { code: 'bad_request' }, forms],
  ['an empty form', `--${BOUNDARY}--\r\n`, 422, named('file', 'required'), forms],
  ['no file', form(type), 422, named('file', 'required')],
  ['text instead of a file', form({ ...type, file: 'text' }), 422, named('file', 'required')],
  ['a file by another name', form(type, { part: 'upload' }), 422, named('upload', 'unknown_field')],
  ['two files', form(type, {}, { name: 'b.pdf' }), 422, named('file', 'repeated')],
  ['an empty file', form(type, { bytes: Buffer.alloc(0) }), 422, { code: 'invalid_file' }],
  ['no type', form({}, {}), 422, named('document_type', 'required')],
  [
    'a mistyped type',
    form({ document_type: 'leese' }, {}),
    422,
    { errors: [{ field: 'document_type', code: 'invalid_enum', suggestion: 'lease' }] },
  ],
  ['an unknown field', form({ ...type, colour: 'red' }, {}), 422, named('colour', 'unknown_field')],
  ['a read-only field', form({ ...type, sha256: 'f00' }, {}), 422, named('sha256', 'read_only')],
  [
    'a list that is no JSON',
    form({ ...type, links: 'x' }, {}),
    422,
    named('links', 'invalid_format'),
  ],
  [
    'a field twice',
    form({ document_type: ['lease', 'coi'] }, {}),
    422,
    named('document_type', 'repeated'),
  ],
  [
    'a link to nothing',
    form({ ...type, links: link('lease', 'le_999999999') }, {}),
    422,
    named('links[0].object_id', 'not_found'),
  ],
  [
    'a link with an id of another type',
    form({ ...type, links: link('lease', 'bld_1') }, {}),
    422,
    named('links[0].object_id', 'wrong_type'),
  ],
  [
    'a party that does not exist',
    form({ ...type, counterparty_party_id: 'pty_999999999' }, {}),
    422,
    named('counterparty_party_id', 'not_found'),
  ],
  [
    'dates in the wrong order',
    form({ ...type, effective_date: '2027-01-01', expires_date: '2026-01-01' }, {}),
    422,
    named('expires_date', 'before_effective'),
  ],
  ['metadata that is no JSON', form({ metadata: 'x' }, {}), 400, { code: 'malformed_json' }],
  ['a metadata file that is no JSON', form({}, {}, json('x')), 400, { code: 'malformed_json' }],
  ['metadata that is a list', form({}, {}, json('[]')), 422, named('metadata', 'invalid_type')],
  ['too many fields', form({ ...type, ...many }, {}), 413, { code: 'payload_too_large' }],
  [
    'a field too long',
    form({ ...type, title: 'x'.repeat(300_000) }, {}),
    422,
    named('title', 'too_long'),
  ],
]

describe('POST /documents refuses and keeps nothing of', () => {
  test.each(refused)('%s', async (_, body, status, expected, headers = {}) => {
    const client = await newOrganization()
    const answer = await client.post('/documents', body, { ...headers })
    expect(answer).toMatchObject({ status, body: expected })
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(await stored(client)).toEqual([])
    expect((await client.get('/documents')).body.data).toEqual([])
  })
})

const refusedVersions: Refused[] = [
  ['JSON', { note: 'x' }, 415, { code: 'unsupported_media_type' }],
  ['no file', form({ note: 'x' }), 422, named('file', 'required')],
  ['fields of the document', form({ title: 'x' }, {}), 422, named('title', 'unknown_field')],
  ['a note too long', form({ note: 'x'.repeat(2_001) }, {}), 422, named('note', 'invalid_type')],
  ['a stale version', form({}, {}), 412, { code: 'version_conflict' }, { 'if-match': '"v7"' }],
  ['an early end', formBytes(PDF).subarray(0, 400).toString(), 400, { code: 'bad_request' }, forms],
]

describe('POST /documents/{id}/versions refuses and keeps nothing of', () => {
  test.each(refusedVersions)('%s', async (_, body, status, expected, headers = {}) => {
    const client = await newOrganization()
    const id = await uploaded(client)
    const before = await stored(client)
    const answer = await client.post(`/documents/${id}/versions`, body, { ...headers })
    expect(answer).toMatchObject({ status, body: expected })
    expect(await stored(client)).toEqual(before)
    expect((await client.get(`/documents/${id}`)).body.version).toBe(1)
  })

  test.each([
    ['doc_999999999', 404],
    ['le_1', 404],
    ['doc_x', 422],
  ])('a document %s', async (id, status) => {
    const client = await newOrganization()
    for (const headers of [{}, { 'idempotency-key': 'k' }]) {
      const answer = await client.post(`/documents/${id}/versions`, form({}, {}), headers)
      expect(answer.status).toBe(status)
    }
    expect(await stored(client)).toEqual([])
  })
})

describe('an upload that is cut off', () => {
  test('stores nothing, wherever it ends', async () => {
    const client = await newOrganization()
    const whole = formBytes(PDF)
    // Only the line break after the closing boundary may be missing.
    const last = whole.length - 3
    const cuts = integer({ min: 1, max: last })
    await assert(
      asyncProperty(cuts, async (length) => {
        const body = whole.subarray(0, length).toString('latin1')
        const answer = await client.post('/documents', body, forms)
        expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request' } })
        expect(await stored(client)).toEqual([])
      }),
      { numRuns: 40, examples: [[1], [last], [last - 1], [last - 16]] },
    )
    const answer = await client.post('/documents', whole.toString('latin1'), forms)
    expect(answer).toMatchObject({ status: 201, body: { sha256: sha256(PDF) } })
  })

  test('stores nothing and stands in the request log when the client goes away', async () => {
    const { app, db } = await grid()
    const client = await newOrganization()
    const id = await uploaded(client)
    const before = await stored(client)
    const whole = formBytes(Buffer.alloc(500_000, 'x'))
    for (const path of ['/documents', `/documents/${id}/versions`])
      await abortedUpload(client, path, whole.subarray(0, 300_000), whole.length)
    await vi.waitFor(async () => {
      expect(await stored(client)).toEqual(before)
      await app.requestLog.flush()
      const rows = await db.query(
        client.org_id,
        'select status, error_code from request_log where org_id = $1 and status <> 201',
        [client.org_id],
      )
      expect(rows).toEqual([
        { status: 400, error_code: 'bad_request' },
        { status: 400, error_code: 'bad_request' },
      ])
    }, 5_000)
    expect((await client.get(`/documents/${id}`)).body.version).toBe(1)
  })
})

describe('a file name', () => {
  test.each([
    ['filename="../../etc/passwd"', 'passwd'],
    ['filename="C:\\\\temp\\\\lease.pdf"', 'lease.pdf'],
    ['filename=".."', 'file'],
    ['filename="Mietvertrag Köln – Süd.pdf"', 'Mietvertrag Köln – Süd.pdf'],
    ["filename*=UTF-8''%e2%82%ac%20rates.pdf", '€ rates.pdf'],
    ['filename="exe\u202efdp.pdf"', 'exefdp.pdf'],
    [`filename="${'a'.repeat(300)}.pdf"`, `${'a'.repeat(251)}.pdf`],
  ])('%s is kept as %s', async (filename, expected) => {
    const client = await newOrganization()
    const { base } = await grid()
    const response = await fetch(`${base}/documents`, {
      method: 'POST',
      headers: { 'x-api-key': client.key, ...forms },
      body: new Uint8Array(formBytes(PDF, filename)),
    })
    const body = (await response.json()) as { id: string; filename: string; sha256: string }
    expect(body).toMatchObject({ filename: expected, sha256: sha256(PDF) })
    const { current_version_id } = (await client.get(`/documents/${body.id}`)).body
    expect(await stored(client)).toEqual([`${body.id}/${current_version_id}`])
    const { headers } = await content(client, body.id)
    expect(headers.get('content-disposition')).toContain(
      `filename*=UTF-8''${encodeURIComponent(expected)}`,
    )
  })
})

test('a file of 30 MB passes through', async () => {
  const client = await newOrganization()
  const { base } = await grid()
  const chunk = Buffer.alloc(64 * 1024, 'Some clause of a lease. ')
  const chunks = 480
  const { head, tail } = formFrame()
  async function* body(): AsyncGenerator<Uint8Array> {
    yield head
    for (let i = 0; i < chunks; i++) yield chunk
    yield tail
  }
  const expected = createHash('sha256')
  for (let i = 0; i < chunks; i++) expected.update(chunk)
  const response = await fetch(`${base}/documents`, {
    method: 'POST',
    headers: { 'x-api-key': client.key, ...forms },
    body: ReadableStream.from(body()),
    duplex: 'half',
  })
  const { id, byte_size, sha256 } = (await response.json()) as Record<string, string>
  expect([byte_size, sha256]).toEqual([chunks * chunk.length, expected.digest('hex')])

  const download = await fetch(`${base}/documents/${id}/content`, {
    headers: { 'x-api-key': client.key },
  })
  const received = createHash('sha256')
  for await (const part of download.body ?? []) received.update(part as Uint8Array)
  expect(received.digest('hex')).toBe(sha256)
})

describe('with a limit of 1 MB', () => {
  const MB = 1024 * 1024
  let port = 0
  let files = ''
  let close = async (): Promise<void> => {}
  let client: TestClient

  beforeAll(async () => {
    const { app, db } = await grid()
    const GRID_DATA_DIR = await mkdtemp(join(tmpdir(), 'grid-test-files-'))
    const small = await buildApp({ ...app.config, GRID_UPLOAD_MAX_MB: 1, GRID_DATA_DIR }, db)
    await small.listen({ port: 0, host: '127.0.0.1' })
    port = (small.server.address() as AddressInfo).port
    files = join(GRID_DATA_DIR, 'files')
    close = async () => await small.close()
    client = await newOrganization()
  })
  afterAll(async () => await close())

  /** Sends a form, with its length or in chunks, and waits for the answer while still sending. */
  async function send(bytes: Buffer, chunked: boolean, agent?: Agent): Promise<[number, string]> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = httpRequest({
        port,
        host: '127.0.0.1',
        path: '/api/v1/documents',
        method: 'POST',
        ...(agent ? { agent } : {}),
        headers: {
          'x-api-key': client.key,
          ...forms,
          ...(chunked ? {} : { 'content-length': String(bytes.length) }),
        },
      })
      request.on('response', resolve).on('error', reject)
      request.end(bytes)
    })
    const text = await answer.toArray()
    const body = JSON.parse(Buffer.concat(text).toString()) as { code: string; status: string }
    return [answer.statusCode as number, body.code ?? body.status]
  }

  test.each([
    ['a file of exactly that', MB, false, [201, 'available']],
    ['one byte more', MB + 1, false, [413, 'payload_too_large']],
    ['one byte more, in chunks', MB + 1, true, [413, 'payload_too_large']],
    ['much more, refused by its length', 6 * MB, false, [413, 'payload_too_large']],
    ['much more, in chunks', 6 * MB, true, [413, 'payload_too_large']],
  ])('%s', async (_, size, chunked, expected) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    expect(await send(formBytes(Buffer.alloc(size, 'x')), chunked, agent)).toEqual(expected)
    // The connection is still good.
    expect(await send(formBytes(PDF), false, agent)).toEqual([201, 'available'])
    agent.destroy()
    expect(await readdir(join(files, 'incoming'))).toEqual([])
    const kept = (await readdir(files, { recursive: true })).filter((name) => /ver_/.test(name))
    const { body } = await client.get('/documents?limit=200')
    expect(kept.length).toBe(body.data.length)
  })
})
