import {
  assert,
  asyncProperty,
  integer,
  oneof,
  property,
  string,
  stringMatching,
  tuple,
} from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { grid, newOrganization } from '../../test/grid.ts'
import { contentAnswer, parseRange } from './content.ts'
import { content, form, PDF, sha256, uploaded } from './upload-fixture.ts'

const size = PDF.length
const etag = `"${sha256(PDF)}"`
const last = size - 1

type Case = [
  name: string,
  query: string,
  headers: Record<string, string>,
  status: number,
  expected: { bytes?: Buffer; headers?: Record<string, string | null> },
]

const cases: Case[] = [
  [
    'the whole file',
    '',
    {},
    200,
    {
      bytes: PDF,
      headers: {
        etag,
        'content-type': 'application/pdf',
        'content-length': String(size),
        'accept-ranges': 'bytes',
        'content-disposition': `attachment; filename="lease.pdf"; filename*=UTF-8''lease.pdf`,
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, no-cache',
      },
    },
  ],
  [
    'inline',
    '?disposition=inline',
    {},
    200,
    {
      headers: {
        'content-disposition': `inline; filename="lease.pdf"; filename*=UTF-8''lease.pdf`,
      },
    },
  ],
  [
    'a range',
    '',
    { range: 'bytes=10-19' },
    206,
    {
      bytes: PDF.subarray(10, 20),
      headers: { 'content-range': `bytes 10-19/${size}`, 'content-length': '10', etag },
    },
  ],
  ['a range to the end', '', { range: 'bytes=3000-' }, 206, { bytes: PDF.subarray(3_000) }],
  ['the last bytes', '', { range: 'bytes=-7' }, 206, { bytes: PDF.subarray(-7) }],
  [
    'a range beyond the end',
    '',
    { range: 'bytes=5-999999' },
    206,
    { headers: { 'content-range': `bytes 5-${last}/${size}` } },
  ],
  [
    'a range behind the end',
    '',
    { range: `bytes=${size}-` },
    416,
    { headers: { 'content-range': `bytes */${size}`, 'content-disposition': null } },
  ],
  ['a range backwards', '', { range: 'bytes=9-3' }, 416, {}],
  ['a range of words', '', { range: 'bytes=a-b' }, 416, {}],
  ['an empty range', '', { range: 'bytes=-' }, 416, {}],
  ['no last bytes', '', { range: 'bytes=-0' }, 416, {}],
  ['two ranges', '', { range: 'bytes=0-1,5-6' }, 200, { bytes: PDF }],
  ['another unit', '', { range: 'pages=1-2' }, 200, { bytes: PDF }],
  [
    'a range of the same file',
    '',
    { range: 'bytes=0-4', 'if-range': etag },
    206,
    { bytes: PDF.subarray(0, 5) },
  ],
  [
    'a range of another file',
    '',
    { range: 'bytes=0-4', 'if-range': '"other"' },
    200,
    { bytes: PDF },
  ],
  [
    'a range by date',
    '',
    { range: 'bytes=0-4', 'if-range': 'Tue, 12 May 2026 08:00:00 GMT' },
    200,
    { bytes: PDF },
  ],
  [
    'the file the client has',
    '',
    { 'if-none-match': etag },
    304,
    { bytes: Buffer.alloc(0), headers: { etag, 'content-type': null } },
  ],
  ['one of the files it has', '', { 'if-none-match': `"x", W/${etag}` }, 304, {}],
  ['any file', '', { 'if-none-match': '*' }, 304, {}],
  ['a file it has not', '', { 'if-none-match': '"x"' }, 200, { bytes: PDF }],
  ['a range of the file it has', '', { 'if-none-match': etag, range: 'bytes=0-4' }, 304, {}],
  ['the first version', '?version=1', {}, 200, { bytes: PDF }],
  ['a version that is not there', '?version=2', {}, 404, {}],
  ['version 0', '?version=0', {}, 422, {}],
  ['a version in words', '?version=one', {}, 422, {}],
  ['an unknown parameter', '?verison=1', {}, 422, {}],
  ['an unknown disposition', '?disposition=open', {}, 422, {}],
]

describe('GET /documents/{id}/content', () => {
  test.each(cases)('%s', async (_, query, asked, status, { bytes, headers = {} }) => {
    const client = await newOrganization()
    const id = await uploaded(client)
    const answer = await content(client, id, query, asked)
    expect(answer.status).toBe(status)
    if (bytes) expect(answer.bytes).toEqual(bytes)
    for (const [name, value] of Object.entries(headers))
      expect(answer.headers.get(name), name).toBe(value)
  })

  test('HEAD tells the size and sends nothing', async () => {
    const client = await newOrganization()
    const id = await uploaded(client)
    const answer = await content(client, id, '', { range: 'bytes=0-4' }, 'HEAD')
    expect(answer.status).toBe(200)
    expect(answer.bytes.length).toBe(0)
    expect(answer.headers.get('content-length')).toBe(String(size))
    expect(answer.headers.get('etag')).toBe(etag)
    expect((await content(client, id, '', { 'if-none-match': etag }, 'HEAD')).status).toBe(304)
    expect((await content(client, 'doc_999999999', '', {}, 'HEAD')).status).toBe(404)
  })

  test.each([
    ['page.html', 'text/html', 'attachment', 'text/html'],
    ['scan.svg', 'image/svg+xml', 'attachment', 'image/svg+xml'],
    ['notes.txt', 'text/plain', 'inline', 'text/plain; charset=utf-8'],
    ['photo.jpg', 'image/jpeg', 'inline', 'image/jpeg'],
  ])('%s of type %s is shown as %s', async (name, type, kind, shown) => {
    const client = await newOrganization()
    const id = await uploaded(client, { name, type, bytes: Buffer.from('<b>text</b>') })
    const { headers } = await content(client, id, '?disposition=inline')
    expect(headers.get('content-disposition')).toMatch(new RegExp(`^${kind};`))
    expect(headers.get('content-type')).toBe(shown)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('any range is a slice of the file', async () => {
    const client = await newOrganization()
    const id = await uploaded(client)
    const place = integer({ min: 0, max: size + 50 })
    await assert(
      asyncProperty(place, place, async (start, end) => {
        const answer = await content(client, id, '', { range: `bytes=${start}-${end}` })
        const good = start <= end && start < size
        expect(answer.status).toBe(good ? 206 : 416)
        if (good) expect(answer.bytes).toEqual(PDF.subarray(start, end + 1))
      }),
      { numRuns: 60 },
    )
  })

  test('an older version keeps its own name, type and bytes', async () => {
    const client = await newOrganization()
    const id = await uploaded(client)
    const png = Buffer.from('\x89PNG\r\n\x1a\n picture', 'latin1')
    const file = { bytes: png, name: 'plan.png', type: 'application/octet-stream' }
    expect((await client.post(`/documents/${id}/versions`, form({}, file))).status).toBe(201)
    const [now, then] = [await content(client, id), await content(client, id, '?version=1')]
    expect([now.bytes, now.headers.get('content-type')]).toEqual([png, 'image/png'])
    expect([then.bytes, then.headers.get('content-type')]).toEqual([PDF, 'application/pdf'])
    expect(then.headers.get('content-disposition')).toContain('lease.pdf')
  })
})

test('a download that is broken off stands in the request log', async () => {
  const { app, base, db } = await grid()
  const client = await newOrganization()
  const id = await uploaded(client, { bytes: Buffer.alloc(16 * 1024 * 1024, 'x') })
  const leaving = new AbortController()
  const response = await fetch(`${base}/documents/${id}/content`, {
    headers: { 'x-api-key': client.key },
    signal: leaving.signal,
  })
  await response.body?.getReader().read()
  leaving.abort()
  await vi.waitFor(async () => {
    await app.requestLog.flush()
    const rows = await db.query(
      client.org_id,
      `select method, status from request_log where org_id = $1 and path like '%/content'`,
      [client.org_id],
    )
    expect(rows).toEqual([{ method: 'GET', status: 200 }])
  }, 5_000)
})

describe('parseRange', () => {
  test('gives bytes within the file or refuses, whatever the header', () => {
    const digits = stringMatching(/^\d{0,30}$/)
    const header = oneof(
      tuple(digits, digits).map(([a, b]) => `bytes=${a}-${b}`),
      string().map((text) => `bytes=${text}`),
      string(),
    )
    assert(
      property(header, integer({ min: 0, max: 1_000 }), (text, size) => {
        const range = parseRange(text, size)
        if (range === null || range === 'unsatisfiable') return
        expect(range.start).toBeGreaterThanOrEqual(0)
        expect(range.end).toBeGreaterThanOrEqual(range.start)
        expect(range.end).toBeLessThan(size)
      }),
    )
  })
})

test('a file name cannot add headers or end its quotes', () => {
  const file = {
    sha256: 'f00',
    byte_size: 1,
    content_type: 'image/png',
    filename: `a"b\\c%é'().png`,
  }
  const { headers } = contentAnswer(file, { method: 'GET', inline: false, headers: {} })
  expect(headers['content-disposition']).toBe(
    `attachment; filename="a_b_c__'().png"; filename*=UTF-8''a%22b%5Cc%25%C3%A9%27%28%29.png`,
  )
})
