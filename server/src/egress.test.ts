import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { connect as dial } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { allowing, isOperatorAddress, isPublicAddress } from './addresses.ts'
import { Egress, EgressError } from './egress.ts'
import type { EgressOptions, EgressRequest } from './egress.ts'

const PUBLIC = [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700::1111',
  '2001:4860:4860::8888',
  '2a00:1450:4001::1',
  '::ffff:1.1.1.1',
]

const PRIVATE = [
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  'fe80::1',
  'fe80::1%eth0',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '3fff::1',
  '4000::1',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '::127.0.0.1',
  'localhost',
  '',
]

describe('addresses', () => {
  test.each(PUBLIC)('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test.each(PRIVATE)('%j is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  test.each([
    ['127.0.0.1', true],
    ['10.1.2.3', true],
    ['::1', true],
    ['169.254.169.254', false],
    ['::ffff:169.254.169.254', false],
    ['fd00:ec2::254', false],
    ['localhost', false],
  ])('%s may be configured by an operator: %s', (address, allowed) => {
    expect(isOperatorAddress(address)).toBe(allowed)
  })
})

test.each([
  ['10.1.2.3', true],
  ['::ffff:10.1.2.3', true],
  ['10.2.0.0', false],
  ['127.0.0.1', false],
  ['fd12::1', true],
  ['fd13::1', false],
  ['169.254.169.254', false],
  ['::ffff:169.254.169.254', false],
  ['fd00:ec2::254', false],
  ['1.1.1.1', true],
  ['localhost', false],
])('with some networks allowed, %s may be reached: %s', (address, allowed) => {
  const networks = ['10.1.0.0/16', 'fd12::/16', '169.254.0.0/16', 'fd00:ec2::/32']
  expect(allowing(networks)(address)).toBe(allowed)
})

const open: { close: () => Promise<unknown> }[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map(async (thing) => await thing.close()))
})

function egress(options: EgressOptions = {}): Egress {
  const made = new Egress(options)
  open.push(made)
  return made
}

/** A server on loopback. @returns its port. */
async function serve(listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push({
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
  return (server.address() as AddressInfo).port
}

async function failure(
  client: Egress,
  url: string,
  asked: Partial<EgressRequest> = {},
): Promise<EgressError> {
  const error: unknown = await client.request(url, { method: 'GET', ...asked }).then(
    () => null,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(EgressError)
  return error as EgressError
}

describe('egress refuses', () => {
  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://169.254.169.254/latest/meta-data',
    'https://10.0.0.1/',
    'http://[fe80::1]/',
    'http://0/',
  ])('%s without connecting', async (url) => {
    let tried = 0
    const client = egress({ connect: () => () => tried++ })
    expect((await failure(client, url)).kind).toBe('blocked')
    expect(tried).toBe(0)
  })

  test.each([
    ['a name for loopback', ['127.0.0.1']],
    ['a name for loopback in both families', ['127.0.0.1', '::1']],
    ['a name for the metadata service', ['169.254.169.254']],
    ['a name without addresses', []],
  ])('%s', async (_, addresses) => {
    const client = egress({
      resolve: async () =>
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    })
    expect((await failure(client, 'http://inside.example:1/')).kind).toBe('blocked')
  })

  test('a connection that ends at a private address after all', async () => {
    const port = await serve((_, response) => response.end('secret'))
    const client = egress({
      resolve: async () => [{ address: '1.1.1.1', family: 4 }],
      // A resolver that changed its mind between the check and the connection.
      connect: () => (_, done) => {
        const socket = dial(port, '127.0.0.1', () => done(null, socket))
      },
    })
    expect((await failure(client, 'http://rebound.example/')).kind).toBe('blocked')
  })

  test.each([
    ['ftp://files.example/', 'invalid'],
    ['file:///etc/passwd', 'invalid'],
    ['no address', 'invalid'],
    ['http://user:secret@service.example/', 'invalid'],
    [`http://service.example/${'a'.repeat(2_100)}`, 'invalid'],
  ])('%s', async (url, kind) => {
    expect((await failure(egress(), url)).kind).toBe(kind)
  })

  test.each(['http://169.254.169.254/', 'http://[fd00:ec2::254]/'])(
    '%s even when private addresses are allowed',
    async (url) => {
      expect((await failure(egress(), url, { allow_private: true })).kind).toBe('blocked')
    },
  )
})

describe('egress', () => {
  test('keeps the public addresses of a name and drops the others', async () => {
    const seen: unknown[] = []
    const client = egress({
      resolve: async () => [
        { address: '10.0.0.1', family: 4 },
        { address: '1.1.1.1', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
      connect: (lookup) => (target, done) =>
        lookup(target.hostname, { all: true }, (_, found) => {
          seen.push(found)
          done(new Error('not connecting'), null)
        }),
    })
    await failure(client, 'https://service.example/')
    expect(seen).toEqual([
      [
        { address: '1.1.1.1', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
    ])
  })

  test('reaches private addresses an operator configured', async () => {
    const port = await serve((request, response) => {
      response.writeHead(201, { 'x-method': request.method }).end('stored')
    })
    const url = `http://127.0.0.1:${port}/a?b=c`
    const answer = await egress().request(url, { method: 'PUT', body: 'x', allow_private: true })
    expect([answer.status, answer.headers['x-method'], await answer.body.text()]).toEqual([
      201,
      'PUT',
      'stored',
    ])
  })

  test('reaches the networks that the operator lets tenants reach, and no other', async () => {
    const port = await serve((_, response) => response.end('inside'))
    const client = egress({ allow_networks: ['127.0.0.1/32'] })
    const answer = await client.request(`http://127.0.0.1:${port}/`, { method: 'GET' })
    expect(await answer.body.text()).toBe('inside')
    expect((await failure(client, `http://127.0.0.2:${port}/`)).kind).toBe('blocked')
  })

  test('tells how long it took to open a connection to the request that it was opened for', async () => {
    const port = await serve((_, response) => response.end('ok'))
    const client = egress({
      allow_networks: ['127.0.0.1/32'],
      resolve: async () => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    const openings: unknown[] = []
    for (let i = 0; i < 2; i++) {
      const asked = { method: 'GET', opened: (how: unknown) => openings.push(how) } as const
      await (await client.request(`http://service.example:${port}/`, asked)).body.text()
      // The connection is free for others right behind the answer.
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(openings).toEqual([
      { dns_ms: expect.any(Number), connect_ms: expect.any(Number), tls_ms: null },
    ])
    const [{ dns_ms, connect_ms }] = openings as [{ dns_ms: number; connect_ms: number }]
    expect(dns_ms).toBeGreaterThanOrEqual(29)
    expect(connect_ms).toBeLessThan(dns_ms)
  })

  test('does not follow redirects', async () => {
    const port = await serve((_, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    })
    const url = `http://127.0.0.1:${port}/`
    const answer = await egress().request(url, { method: 'GET', allow_private: true })
    expect(answer.status).toBe(302)
    await answer.body.dump()
  })

  test('says what went wrong in one word', async () => {
    const silent = await serve(() => {})
    const rude = await serve((request) => request.socket.destroy())
    const client = egress({
      headers_ms: 100,
      connect_ms: 100,
      resolve: async (name) => {
        if (name !== 'plain.example') throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    const kind = async (url: string, asked: Partial<EgressRequest> = {}): Promise<string> =>
      (await failure(client, url, { allow_private: true, ...asked })).kind
    expect(await kind(`http://127.0.0.1:${silent}/`)).toBe('timeout')
    expect(await kind(`http://127.0.0.1:${rude}/`)).toBe('reset')
    expect(await kind('http://127.0.0.1:1/')).toBe('connect')
    expect(await kind('http://nowhere.example/')).toBe('dns')
    expect(await kind(`https://plain.example:${silent}/`)).toBe('tls')
    expect(await kind(`http://127.0.0.1:${silent}/`, { signal: AbortSignal.timeout(20) })).toBe(
      'timeout',
    )
  })
})
