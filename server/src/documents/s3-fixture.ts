/**
 * A small S3 service for tests: PUT, GET with a range, HEAD and DELETE of objects addressed by path. It works out the
 * signature of every request by itself, from what arrived and the rules of AWS Signature Version 4, and compares the
 * body with the checksum that was signed.
 */
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface S3Fixture {
  endpoint: string
  objects: Map<string, Buffer>
  /** Method and path of every request, in order. */
  requests: string[]
  /** Answered, one after the other, before requests are looked at again; 0 hangs up. */
  failures: number[]
  close: () => Promise<void>
}

export async function startS3(credentials: { id: string; secret: string }): Promise<S3Fixture> {
  const fixture = {
    objects: new Map<string, Buffer>(),
    requests: [] as string[],
    failures: [] as number[],
  }
  const server = createServer((request, response) => {
    void answer(fixture, credentials, request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    ...fixture,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function answer(
  { objects, requests, failures }: Pick<S3Fixture, 'objects' | 'requests' | 'failures'>,
  credentials: { id: string; secret: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = Buffer.concat((await request.toArray()) as Buffer[])
  const path = request.url as string
  requests.push(`${request.method} ${path}`)
  const failure = failures.shift()
  if (failure === 0) return void request.socket.destroy()
  if (failure) return void response.writeHead(failure).end('<Code>SlowDown</Code>')
  const complaint = complaintAbout(request, body, credentials)
  if (complaint) return void response.writeHead(403).end(`<Code>${complaint}</Code>`)
  if (request.method === 'PUT') {
    objects.set(path, body)
    return void response.writeHead(200).end()
  }
  if (request.method === 'DELETE') {
    objects.delete(path)
    return void response.writeHead(204).end()
  }
  const object = objects.get(path)
  if (!object) return void response.writeHead(404).end('<Code>NoSuchKey</Code>')
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  const part = start ? object.subarray(Number(start), Number(end) + 1) : object
  response.writeHead(start ? 206 : 200, { 'content-length': part.length })
  response.end(request.method === 'HEAD' ? undefined : part)
}

/** What S3 would refuse the request for; null when it is in order. */
function complaintAbout(
  { headers, method, url = '' }: IncomingMessage,
  body: Buffer,
  { id, secret }: { id: string; secret: string },
): string | null {
  const authorization =
    /^AWS4-HMAC-SHA256 Credential=(.+?)\/(\d{8}\/[a-z0-9-]+\/s3\/aws4_request), SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    )
  if (!authorization) return 'AccessDenied'
  const [, key, scope = '', signedHeaders = '', signature] = authorization
  if (key !== id) return 'InvalidAccessKeyId'
  const time = String(headers['x-amz-date'])
  const [date = '', region = ''] = scope.split('/')
  const at = Date.parse(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!time.startsWith(date) || !(Math.abs(Date.now() - at) < 15 * 60_000))
    return 'RequestTimeTooSkewed'
  const names = signedHeaders.split(';')
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))]
  if (!needed.every((name) => names.includes(name))) return 'AccessDenied'
  const sha256 = String(headers['x-amz-content-sha256'])
  if (createHash('sha256').update(body).digest('hex') !== sha256) return 'XAmzContentSHA256Mismatch'
  const [path = '', query = ''] = url.split('?')
  const lines = names.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('')
  const canonical = `${method}\n${path}\n${query}\n${lines}\n${signedHeaders}\n${sha256}`
  const digest = createHash('sha256').update(canonical).digest('hex')
  const mac = (key: string | Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest()
  const signing = mac(mac(mac(mac(`AWS4${secret}`, date), region), 's3'), 'aws4_request')
  const expected = mac(signing, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${digest}`).toString('hex')
  return signature === expected ? null : 'SignatureDoesNotMatch'
}
