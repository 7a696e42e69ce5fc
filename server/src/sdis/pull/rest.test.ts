import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Egress } from '../../egress.ts'
import type { EgressOptions } from '../../egress.ts'
import { Authorizer } from './authorize.ts'
import { restPages } from './rest.ts'
import { PULL_LIMITS, SourceError } from './types.ts'
import type { Auth, PullLimits, RestSource } from './types.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A source on this host. @returns its address. */
async function source(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function json(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

interface Given {
  source?: Partial<RestSource>
  auth?: Auth
  secret?: string
  limits?: Partial<PullLimits>
  egress?: EgressOptions
  since?: Record<string, string>
  signal?: AbortSignal
}

async function pull(
  base_url: string,
  given: Given = {},
): Promise<{ records: unknown[]; waited_ms: number }> {
  const egress = new Egress({ allow_networks: ['127.0.0.1/32'], headers_ms: 300, ...given.egress })
  closing.push(async () => await egress.close())
  const auth = given.auth ?? { kind: 'none' }
  const count = { pages: 0, bytes: 0, waited_ms: 0 }
  const pages = restPages({
    egress,
    settings: { base_url, headers: {}, auth },
    source: { kind: 'rest', connection: 'test', path: '/items', ...given.source },
    authorizer: new Authorizer(auth, given.secret ?? null, egress),
    limits: { ...PULL_LIMITS, pause_ms: 1, max_tries: 3, ...given.limits },
    signal: given.signal ?? new AbortController().signal,
    count,
    ...(given.since ? { since: given.since } : {}),
  })
  const records: unknown[] = []
  for await (const page of pages) records.push(...page)
  return { records, waited_ms: count.waited_ms }
}

const urlOf = (request: IncomingMessage): URL => new URL(request.url ?? '', 'http://source')
const ALL = Array.from({ length: 25 }, (_, i) => ({ id: i + 1 }))

describe('pages of a REST source', () => {
  it('are one, when it has no paging', async () => {
    const base = await source((request, response) => {
      expect(urlOf(request).href).toBe('http://source/api/items?site=12&since=5')
      json(response, { data: { items: ALL } })
    })
    const given = { path: 'items', query: { site: '12' }, records: 'data.items' }
    const { records } = await pull(`${base}/api/`, { source: given, since: { since: '5' } })
    expect(records).toEqual(ALL)
  })

  it('are counted, until one is short or empty', async () => {
    for (const size of [10, 5, undefined]) {
      const asked: string[] = []
      const base = await source((request, response) => {
        const page = Number(urlOf(request).searchParams.get('page'))
        asked.push(String(page))
        const length = size ?? 10
        json(response, ALL.slice((page - 1) * length, page * length))
      })
      const paging = { kind: 'page' as const, param: 'page', ...(size ? { size } : {}) }
      expect((await pull(base, { source: { paging } })).records).toEqual(ALL)
      expect(asked).toHaveLength(size === 5 ? 6 : size === 10 ? 3 : 4)
    }
  })

  it('are counted by records', async () => {
    const base = await source((request, response) => {
      const from = Number(urlOf(request).searchParams.get('offset'))
      json(response, ALL.slice(from, from + 10))
    })
    const paging = { kind: 'offset' as const, param: 'offset', limit: 10, limit_param: 'n' }
    expect((await pull(base, { source: { paging } })).records).toEqual(ALL)
  })

  it('are named by a cursor of the answer', async () => {
    const base = await source((request, response) => {
      const from = Number(urlOf(request).searchParams.get('after') ?? 0)
      const next = from + 10 < ALL.length ? from + 10 : null
      json(response, { items: ALL.slice(from, from + 10), meta: { next } })
    })
    const paging = { kind: 'cursor' as const, param: 'after', next: 'meta.next' }
    expect((await pull(base, { source: { paging, records: 'items' } })).records).toEqual(ALL)
  })

  it('are named by the Link header', async () => {
    const base = await source((request, response) => {
      const from = Number(urlOf(request).searchParams.get('from') ?? 0)
      const link = from + 10 < ALL.length ? { link: `</items?from=${from + 10}>; rel="next"` } : {}
      json(response, ALL.slice(from, from + 10), link)
    })
    expect((await pull(base, { source: { paging: { kind: 'link' } } })).records).toEqual(ALL)
  })
})

describe('who asks', () => {
  const secret = 's3cret'
  it.each<[string, Auth, (request: IncomingMessage) => unknown, unknown]>([
    [
      'a key in a header',
      { kind: 'key', in: 'header', name: 'X-Key' },
      (r) => r.headers['x-key'],
      secret,
    ],
    [
      'a key in the query',
      { kind: 'key', in: 'query', name: 'key' },
      (r) => urlOf(r).searchParams.get('key'),
      secret,
    ],
    [
      'a password',
      { kind: 'basic', username: 'me' },
      (r) => r.headers.authorization,
      `Basic ${Buffer.from('me:s3cret').toString('base64')}`,
    ],
    ['a token', { kind: 'bearer' }, (r) => r.headers.authorization, 'Bearer s3cret'],
  ])('is proved by %s', async (_, auth, found, wanted) => {
    const base = await source((request, response) => json(response, [found(request)]))
    expect((await pull(base, { auth, secret })).records).toEqual([wanted])
  })

  it('is proved by a token for client credentials, which is renewed when it ends', async () => {
    let tokens = 0
    const base = await source((request, response) => {
      if (request.url === '/token') {
        expect(request.headers.authorization).toBe(
          `Basic ${Buffer.from('me:s3cret').toString('base64')}`,
        )
        return json(response, { access_token: `t${++tokens}`, expires_in: 3600 })
      }
      const page = Number(urlOf(request).searchParams.get('page'))
      // The first token ends behind the first page.
      const right = page === 1 ? 'Bearer t1' : 'Bearer t2'
      if (request.headers.authorization !== right) return void response.writeHead(401).end()
      json(response, page < 4 ? [{ page }] : [])
    })
    const auth = {
      kind: 'oauth2' as const,
      token_url: `${base}/token`,
      client_id: 'me',
      scope: 'all',
    }
    const paging = { kind: 'page' as const, param: 'page' }
    const { records } = await pull(base, { auth, secret, source: { paging } })
    expect([records.length, tokens]).toEqual([3, 2])
  })
})

describe('a token', () => {
  const oauth = (base: string): Auth => {
    return { kind: 'oauth2', token_url: `${base}/token`, client_id: 'me' }
  }

  it('is not read beyond what one may take', async () => {
    let sent = 0
    const base = await source((_request, response) => {
      response.writeHead(200)
      const more = (): void => {
        while (!response.destroyed && sent < 64 * 1024 * 1024) {
          sent += 16 * 1024
          if (!response.write(' '.repeat(16 * 1024))) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    })
    await expect(pull(base, { auth: oauth(base) })).rejects.toMatchObject({
      code: 'source_refused',
      message: 'The token endpoint answers with too much.',
    })
    expect(sent).toBeLessThan(32 * 1024 * 1024)
  })

  it('is not waited for when the pull is given up', async () => {
    const giveUp = new AbortController()
    const base = await source(() => giveUp.abort(new Error('given up')))
    await expect(pull(base, { auth: oauth(base), signal: giveUp.signal })).rejects.toThrow(
      'given up',
    )
  })
})

describe('a source that', () => {
  it('is busy is asked again when it says', async () => {
    let asked = 0
    const base = await source((_, response) => {
      if (++asked < 3) response.writeHead(429, { 'retry-after': '0' }).end()
      else json(response, ALL)
    })
    expect((await pull(base)).records).toEqual(ALL)
  })

  it('fails is asked again, longer and longer', async () => {
    let asked = 0
    const base = await source((_, response) => {
      if (++asked < 3) response.writeHead(503).end()
      else json(response, ALL)
    })
    const { records, waited_ms } = await pull(base, { limits: { pause_ms: 4 } })
    expect([records.length, waited_ms]).toEqual([25, 12])
  })

  const page = { kind: 'page' as const, param: 'page' }
  const cursor = { kind: 'cursor' as const, param: 'c', next: 'next' }
  it.each<[string, RequestListener, Given, string]>([
    [
      'gives the same cursor again',
      (_, r) => json(r, { items: ALL, next: 'x' }),
      { source: { paging: cursor, records: 'items' } },
      'source_loops',
    ],
    [
      'turns its cursor in a circle',
      (q, r) =>
        json(r, {
          items: [{ q: q.url }],
          next: urlOf(q).searchParams.get('c') === 'a' ? 'b' : 'a',
        }),
      { source: { paging: cursor, records: 'items' } },
      'source_loops',
    ],
    ['ignores the page', (_, r) => json(r, ALL), { source: { paging: page } }, 'source_loops'],
    [
      'has no last page',
      (q, r) => json(r, [{ q: q.url }]),
      { source: { paging: page }, limits: { max_pages: 5 } },
      'source_too_many_pages',
    ],
    [
      'answers with a web page',
      (_, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>'),
      {},
      'source_not_json',
    ],
    [
      'breaks off its JSON',
      (_, r) => r.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1},{"i'),
      {},
      'source_not_json',
    ],
    [
      'has no list there',
      (_, r) => json(r, { data: 5 }),
      { source: { records: 'data' } },
      'source_unreadable',
    ],
    ['says nothing', () => {}, { limits: { max_tries: 1 } }, 'source_silent'],
    [
      'gives too much',
      (_, r) => json(r, ALL),
      { limits: { max_page_bytes: 50 } },
      'source_too_large',
    ],
    ['refuses the key', (_, r) => r.writeHead(401).end(), {}, 'source_refused'],
    ['knows no such path', (_, r) => r.writeHead(404).end(), {}, 'source_failed'],
    ['always fails', (_, r) => r.writeHead(500).end(), {}, 'source_failed'],
    ['is always busy', (_, r) => r.writeHead(429, { 'retry-after': '0' }).end(), {}, 'source_busy'],
    [
      'redirects to a private address',
      (_, r) => r.writeHead(302, { location: 'http://10.0.0.1/items' }).end(),
      {},
      'source_redirects',
    ],
    [
      'redirects for ever',
      (_, r) => r.writeHead(302, { location: '/items' }).end(),
      {},
      'source_redirects',
    ],
    [
      'links to another host',
      (_, r) => json(r, ALL, { link: '<http://10.0.0.1/items>; rel="next"' }),
      { source: { paging: { kind: 'link' } } },
      'source_redirects',
    ],
  ])('%s ends the pull', async (_, answer, given, code) => {
    const base = await source(answer)
    await expect(pull(base, given)).rejects.toMatchObject({ code })
    await expect(pull(base, given)).rejects.toBeInstanceOf(SourceError)
  })

  it('is at a private address is not reached, and looks like one that is not there', async () => {
    const given = {
      egress: { allow_networks: [], resolve: async () => [{ address: '10.0.0.1', family: 4 }] },
    }
    const blocked = await pull('http://pms.example', given).catch((error: unknown) => error)
    const absent = await pull('http://127.0.0.1:1', { limits: { max_tries: 1 } }).catch(
      (error: unknown) => error,
    )
    expect(blocked).toMatchObject({ code: 'source_unreachable' })
    expect((blocked as Error).message).toBe((absent as Error).message)
  })
})
