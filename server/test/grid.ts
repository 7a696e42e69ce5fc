/** What tests talk to: the real app on a real port, organizations of their own, and a client per key. */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Client } from 'pg'
import { afterAll, inject } from 'vitest'
import { buildApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { Db } from '../src/db/db.ts'
import { migrate } from '../src/db/migrate.ts'
import { createKey } from '../src/keys/service.ts'
import { publicId } from '../src/kit/ids.ts'
import { ALL_SCOPES } from '../src/kit/scopes.ts'
import type { Scope } from '../src/kit/scopes.ts'
import { bareStore, createOrganization, SYSTEM } from '../src/organizations/service.ts'
import type { Standing } from '../src/organizations/service.ts'

export interface Grid {
  app: FastifyInstance
  db: Db
  base: string
}

let running: Promise<Grid> | null = null
let database = 'postgres'

/**
 * Gives the tests of this file a database of their own, for work that takes what is due of every organization. Call it
 * before anything else.
 */
export async function ownDatabase(): Promise<void> {
  const { host, port, owner: user } = inject('database')
  const name = `own_${randomBytes(6).toString('hex')}`
  const client = await owner()
  await client.query(`create database ${name}`)
  await client.end()
  await migrate({ host, port, user, database: name }, { name: 'grid', password: null })
  const shared = { database, running }
  database = name
  running = null
  // Test files of one worker share this module: the next one is to meet the shared app again.
  afterAll(async () => {
    const own = running
    database = shared.database
    running = shared.running
    if (!own) return
    const { app, db } = await own
    await app.close()
    await db.close()
  })
}

/** The app of this worker, started on first use. Its files are in a folder of the test run. */
export async function grid(): Promise<Grid> {
  running ??= start()
  return await running
}

async function start(): Promise<Grid> {
  const { host, port, app: user } = inject('database')
  const db = new Db(
    { host, port, user, database, options: '-c TimeZone=UTC' },
    { pipelined: 2, pooled: 6 },
  )
  const GRID_DATA_DIR = inject('files')
  const config = readConfig({
    GRID_LOG: 'error',
    GRID_DATA_DIR,
    GRID_LIMIT_ENTERPRISE: '1000000',
    GRID_WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32',
    GRID_SOURCE_ALLOW_CIDRS: '127.0.0.1/32',
  })
  const app = await buildApp(config, db)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/v1`
  return { app, db, base }
}

/** A connection that sees everything, for looking behind the API. Close it after use. */
export async function owner(): Promise<Client> {
  const { host, port, owner: user } = inject('database')
  const client = new Client({ host, port, user, database })
  await client.connect()
  return client
}

export interface Answer {
  status: number
  headers: Headers
  // Tests look into answers of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

export interface TestClient {
  org_id: number
  organization_id: string
  key: string
  get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>
  patch: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>
  delete: (path: string, headers?: Record<string, string>) => Promise<Answer>
}

/** A new organization and a client with a key of it. */
export async function newOrganization(
  options: { scopes?: readonly Scope[]; standing?: Partial<Standing> } = {},
): Promise<TestClient> {
  const { db } = await grid()
  const standing: Standing = {
    plan: 'enterprise',
    environment: 'production',
    parent_organization_id: null,
    ...options.standing,
  }
  const { id } = await createOrganization(
    bareStore(db),
    { actor: SYSTEM, defaults: {} },
    {
      name: 'Test organization',
      slug: 'test',
      default_currency: 'USD',
      default_area_unit: 'sqft',
      time_zone: 'America/New_York',
      locale: 'en-US',
    },
    standing,
  )
  return await newClient(id, options.scopes ?? ALL_SCOPES, standing.environment)
}

/** A client with a new key of an organization that exists. */
export async function newClient(
  org_id: number,
  scopes: readonly Scope[] = ALL_SCOPES,
  environment: Standing['environment'] = 'production',
): Promise<TestClient> {
  const { db } = await grid()
  const { text } = await createKey(db, org_id, { name: 'Test key', scopes, environment })
  return clientWith(text, org_id)
}

/** A client that sends the given text as its key. */
export function clientWith(key: string, org_id: number): TestClient {
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const { base } = await grid()
    const json = body !== undefined && typeof body !== 'string' && !(body instanceof FormData)
    const response = await fetch(path.startsWith('http') ? path : base + path, {
      method,
      headers: {
        'x-api-key': key,
        ...(json ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
    })
    const text = await response.text()
    const parsed =
      /\bjson\b/.test(response.headers.get('content-type') ?? '') && text ? JSON.parse(text) : text
    return { status: response.status, headers: response.headers, body: parsed }
  }
  return {
    org_id,
    organization_id: publicId('org', org_id),
    key,
    get: async (path, headers) => await send('GET', path, undefined, headers),
    post: async (path, body, headers) => await send('POST', path, body, headers),
    patch: async (path, body, headers) => await send('PATCH', path, body, headers),
    delete: async (path, headers) => await send('DELETE', path, undefined, headers),
  }
}
