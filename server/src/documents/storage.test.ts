import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { buildApp } from '../app.ts'
import { readConfig } from '../config.ts'
import type { Config } from '../config.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import type { FileKey } from './files.ts'
import { startS3 } from './s3-fixture.ts'
import type { S3Fixture } from './s3-fixture.ts'
import { signed } from './s3-signature.ts'
import { storageOf } from './storage.ts'
import type { Storage } from './storage.ts'
import { sweepOrphans } from './sweep.ts'
import { FORM_TYPE, formBytes, PDF, sha256, uploaded } from './upload-fixture.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const KEY: FileKey = { org_id: 17, document_id: 5001, version_id: 9001 }
const PLACE = 'org_17/doc_5001/ver_9001'
const MB = 1024 * 1024

let data_dir = ''
let s3: S3Fixture
const opened: Storage[] = []

beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'grid-test-storage-'))
  s3 = await startS3({ id: 'AKIDEXAMPLE', secret: 'a secret/with+signs' })
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map(async (storage) => await storage.close()))
  await s3.close()
  await rm(data_dir, { recursive: true })
})

function settings(kind: string): Record<string, string> {
  if (kind === 'disk') return { GRID_DATA_DIR: data_dir }
  return {
    GRID_DATA_DIR: data_dir,
    GRID_S3_ENDPOINT: s3.endpoint,
    GRID_S3_BUCKET: 'documents',
    GRID_S3_REGION: 'eu-central-1',
    GRID_S3_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    GRID_S3_SECRET_ACCESS_KEY: 'a secret/with+signs',
  }
}

function open(kind: string): Storage {
  const storage = storageOf(readConfig(settings(kind)))
  opened.push(storage)
  return storage
}

async function* chunks(bytes: Buffer, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(storage: Storage, key = KEY, range: [number, number] | null = null) {
  const asked = range && { start: range[0], end: range[1] }
  return Buffer.concat((await (await storage.open(key, asked)).toArray()) as Buffer[])
}

/** A service of its own with the given settings; a client of it sends one request. */
async function serve(config: Config): Promise<Service> {
  const { db } = await grid()
  const app = await buildApp(config, db)
  app.log.level = 'silent'
  await app.listen({ port: 0, host: '127.0.0.1' })
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const send: Send = async (key, path, upload, headers = {}) => {
    const response = await fetch(base + path, {
      headers: { 'x-api-key': key, ...headers, ...(upload ? { 'content-type': FORM_TYPE } : {}) },
      ...(upload ? { method: 'POST', body: new Uint8Array(upload) } : {}),
    })
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
  }
  const close = async (): Promise<void> => {
    app.server.closeAllConnections()
    await app.close()
  }
  return { app, send, close }
}

interface Service {
  app: FastifyInstance
  send: Send
  close: () => Promise<void>
}

type Send = (
  key: string,
  path: string,
  upload?: Buffer,
  headers?: Record<string, string>,
) => Promise<{ status: number; bytes: Buffer }>

describe.each(['disk', 's3'])('storage on %s', (kind) => {
  test('keeps a file, gives any part of it, and removes it', async () => {
    const storage = open(kind)
    const file = await storage.spool.take(KEY, chunks(PDF), MB)
    expect(file).toMatchObject({ sha256: sha256(PDF), byte_size: PDF.length })
    expect(file.head).toEqual(PDF.subarray(0, 512))
    await storage.put(KEY, file)
    await storage.spool.drop(KEY)
    expect(await read(storage)).toEqual(PDF)
    expect(await read(storage, KEY, [10, 19])).toEqual(PDF.subarray(10, 20))
    await storage.remove(KEY)
    await storage.remove(KEY)
    await expect(storage.open(KEY, null)).rejects.toThrow()
  })

  test('has no way to another organization', async () => {
    const storage = open(kind)
    await storage.put(KEY, await storage.spool.take(KEY, chunks(PDF), MB))
    await expect(storage.open({ ...KEY, org_id: 1 }, null)).rejects.toThrow()
    await storage.remove({ ...KEY, org_id: 1 })
    expect(await read(storage)).toEqual(PDF)
  })

  test('serves documents', async () => {
    const { key } = await newOrganization()
    const { send, close } = await serve(readConfig({ ...settings(kind), GRID_LOG: 'error' }))
    const created = await send(key, '/api/v1/documents', formBytes(PDF))
    expect(created.status).toBe(201)
    const { content_url: path } = JSON.parse(created.bytes.toString()) as { content_url: string }
    expect((await send(key, path)).bytes).toEqual(PDF)
    const part = await send(key, path, undefined, { range: 'bytes=5-9' })
    expect(part).toEqual({ status: 206, bytes: PDF.subarray(5, 10) })
    expect(await readdir(join(data_dir, 'files', 'incoming'))).toEqual([])
    await close()
  })
})

describe('the spool', () => {
  test('writes each chunk before it asks for the next', async () => {
    const { spool } = open('disk')
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const path = join(data_dir, 'files', 'incoming', 'org_17.doc_5001.ver_9001')
    async function* source(): AsyncGenerator<Buffer> {
      for (let sent = 0; sent < 50; sent++) {
        expect((await stat(path)).size).toBe(sent * chunk.length)
        yield chunk
      }
    }
    const file = await spool.take(KEY, source(), 100 * MB)
    expect(file).toMatchObject({ path, byte_size: 50 * chunk.length })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test.each([
    ['a file too large', chunks(PDF), 100, 'payload_too_large'],
    ['a source that breaks', breaking(), MB, undefined],
  ])('keeps nothing of %s', async (_, source, max, code) => {
    const { spool } = open('disk')
    await expect(spool.take(KEY, source, max)).rejects.toMatchObject(code ? { code } : {})
    expect(await readdir(join(data_dir, 'files', 'incoming'))).toEqual([])
  })

  test('does not write over a file that is being received', async () => {
    const { spool } = open('disk')
    await spool.take(KEY, chunks(PDF), MB)
    await expect(spool.take(KEY, chunks(PDF), MB)).rejects.toThrow('EEXIST')
    expect((await spool.leftovers(Date.now() + DAY_MS)).length).toBe(1)
  })

  async function* breaking(): AsyncGenerator<Buffer> {
    yield PDF
    throw new Error('broken off')
  }
})

describe('S3', () => {
  test('is asked again when it is overloaded or hangs up', async () => {
    const storage = open('s3')
    const file = await storage.spool.take(KEY, chunks(PDF), MB)
    s3.failures.push(503, 0)
    await storage.put(KEY, file)
    expect(s3.requests).toEqual(Array(3).fill(`PUT /documents/${PLACE}`))
    s3.failures.push(500)
    expect(await read(storage)).toEqual(PDF)
  })

  test('that stays away makes the request 503 and keeps nothing', async () => {
    const client = await newOrganization()
    const { send, close } = await serve(readConfig({ ...settings('s3'), GRID_LOG: 'error' }))
    s3.failures.push(503, 503, 503)
    const answer = await send(client.key, '/api/v1/documents', formBytes(PDF))
    expect(answer.status).toBe(503)
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ code: 'unavailable' })
    expect((await client.get('/documents')).body.data).toEqual([])
    expect([s3.objects.size, await readdir(join(data_dir, 'files', 'incoming'))]).toEqual([0, []])
    await close()
  })

  test('refuses another secret', async () => {
    const config = readConfig({ ...settings('s3'), GRID_S3_SECRET_ACCESS_KEY: 'wrong' })
    const storage = storageOf(config)
    opened.push(storage)
    const file = await storage.spool.take(KEY, chunks(PDF), MB)
    await expect(storage.put(KEY, file)).rejects.toMatchObject({
      code: 'unavailable',
      cause: { message: expect.stringContaining('SignatureDoesNotMatch') },
    })
    expect(s3.objects.size).toBe(0)
  })

  test('must be configured whole', () => {
    const config = readConfig({ GRID_S3_ENDPOINT: 'http://127.0.0.1:1', GRID_S3_BUCKET: 'b' })
    expect(() => storageOf(config)).toThrow(
      'GRID_S3_ENDPOINT also needs GRID_S3_ACCESS_KEY_ID, GRID_S3_SECRET_ACCESS_KEY',
    )
  })

  // The two examples of the S3 documentation that have no query.
  test.each([
    [
      'GET',
      'https://examplebucket.s3.amazonaws.com/test.txt',
      { range: 'bytes=0-9' },
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'PUT',
      'https://examplebucket.s3.amazonaws.com/test%24file.text',
      { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
  ])('%s is signed as AWS signs it', (method, url, headers, sha256, expected) => {
    const credentials = {
      region: 'us-east-1',
      access_key_id: 'AKIAIOSFODNN7EXAMPLE',
      secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    }
    const at = new Date('2013-05-24T00:00:00Z')
    const { authorization } = signed(credentials, method, new URL(url), headers, sha256, at)
    expect(authorization).toContain(`Signature=${expected}`)
  })
})

describe('the sweep', () => {
  /** What a crash leaves: a file in the spool, a day old, and one at its place. */
  async function leftBehind(root: string, key: FileKey, age_ms = DAY_MS + 60_000): Promise<string> {
    const { org_id, document_id, version_id } = key
    const segments = [`org_${org_id}`, `doc_${document_id}`, `ver_${version_id}`]
    const spooled = join(root, 'incoming', segments.join('.'))
    const place = join(root, ...segments)
    await mkdir(dirname(spooled), { recursive: true })
    await mkdir(dirname(place), { recursive: true })
    await writeFile(spooled, PDF)
    await writeFile(place, PDF)
    const then = new Date(Date.now() - age_ms)
    await utimes(spooled, then, then)
    return place
  }

  async function keyOfVersion(client: TestClient, id: string): Promise<FileKey> {
    const { current_version_id } = (await client.get(`/documents/${id}`)).body
    const digits = (text: string): number => Number(text.slice(4))
    return {
      org_id: client.org_id,
      document_id: digits(id),
      version_id: digits(current_version_id),
    }
  }

  test('removes files without a row after a day and leaves all others', async () => {
    const { db } = await grid()
    const client = await newOrganization()
    const known = await keyOfVersion(client, await uploaded(client))
    const deleted = await keyOfVersion(client, await uploaded(client))
    await client.delete(`/documents/doc_${deleted.document_id}`)
    const storage = open('disk')
    const root = join(data_dir, 'files')
    const gone = [
      await leftBehind(root, { ...known, version_id: 1 }),
      await leftBehind(root, { ...known, document_id: 1 }),
      await leftBehind(root, { ...known, org_id: 999_999_999 }),
    ]
    const kept = [await leftBehind(root, known), await leftBehind(root, deleted)]
    const fresh = await leftBehind(root, { ...known, version_id: 2 }, 60_000)
    await writeFile(join(root, 'incoming', 'notes.txt'), 'not ours')

    expect(await sweepOrphans(storage, db)).toBe(3)
    for (const path of gone) await expect(stat(path)).rejects.toThrow('ENOENT')
    for (const path of [...kept, fresh]) expect((await stat(path)).size).toBe(PDF.length)
    const left = await readdir(join(root, 'incoming'))
    expect(left.sort()).toEqual(
      ['notes.txt', fresh.slice(root.length + 1).replaceAll('/', '.')].sort(),
    )
    expect(await sweepOrphans(storage, db)).toBe(0)
  })

  test('keeps its mark when the database or the storage does not answer', async () => {
    const { db } = await grid()
    const storage = open('s3')
    const root = join(data_dir, 'files')
    await leftBehind(root, KEY)
    const lost = { fly: async () => await Promise.reject(new Error('the database is gone')) }
    await expect(sweepOrphans(storage, lost)).rejects.toThrow('the database is gone')
    s3.failures.push(503, 503, 503)
    await expect(sweepOrphans(storage, db)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await readdir(join(root, 'incoming'))).toHaveLength(1)
    expect(await sweepOrphans(storage, db)).toBe(1)
    expect(s3.requests.at(-1)).toBe(`DELETE /documents/${PLACE}`)
  })

  test('keeps the file of a write whose answer was lost', async () => {
    const { app, db } = await grid()
    const client = await newOrganization()
    const second = await serve({ ...app.config, GRID_DATA_DIR: data_dir })
    const fly = db.fly.bind(db)
    const spy = vi.spyOn(db, 'fly').mockImplementation(async (org_id, statements) => {
      const results = await fly(org_id, statements)
      if (statements.some(({ sql }) => sql.includes('insert into document ')))
        throw new Error('database connection lost')
      return results
    })
    const answer = await second.send(client.key, '/api/v1/documents', formBytes(PDF))
    spy.mockRestore()
    expect(answer.status).toBeGreaterThanOrEqual(500)
    // It was committed all the same: file, row and mark are all there.
    const incoming = join(data_dir, 'files', 'incoming')
    const [mark = ''] = await readdir(incoming)
    const old = new Date(Date.now() - 2 * DAY_MS)
    await utimes(join(incoming, mark), old, old)
    expect(await sweepOrphans(second.app.storage, db)).toBe(0)
    expect(await readdir(incoming)).toEqual([])
    const [row] = (await client.get('/documents')).body.data
    expect((await second.send(client.key, row.content_url)).bytes).toEqual(PDF)
    await second.close()
  })
})
