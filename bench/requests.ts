/** Reads and writes through the whole request path, beside the same SQL in the database alone. */
import { createSecretKey } from 'node:crypto'
import { listStatement } from '../server/src/kit/store.ts'
import { parseListQuery } from '../server/src/kit/query.ts'
import { lease } from '../server/src/leases/resource.ts'
import { registry } from '../server/src/resources.ts'
import type { Script } from './clients.ts'
import type { Plan } from './load.ts'
import { rounds } from './rounds.ts'
import type { RequestResult } from './rounds.ts'
import { openDb, owner, seedLeases, settled } from './seed.ts'
import type { Server } from './server.ts'
import { benchCreate, benchPatch } from './writes.ts'

const LEASES = 10_000

interface Portfolio {
  org_id: number
  property_id: string
  tenant_id: string
  /** Ids of the leases, ascending. */
  ids: number[]
}

/** A property, a tenant and the leases that requests are made of. */
export async function seedPortfolio(server: Server, leases = LEASES): Promise<Portfolio> {
  const post = async (
    path: string,
    body: unknown,
  ): Promise<{ id: string; organization_id: string }> => {
    const answer = await fetch(server.base + path, {
      method: 'POST',
      headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as { id: string; organization_id: string }
  }
  const address = {
    line1: '1 Harbor Street',
    city: 'Boston',
    region: 'US-MA',
    postal_code: '02110',
    country: 'US',
  }
  const property = await post('/properties', {
    name: 'Harbor Point',
    property_type: 'office',
    status: 'owned',
    address,
    latitude: 42.36,
    longitude: -71.05,
    time_zone: 'America/New_York',
    currency: 'USD',
    area_unit: 'sqft',
  })
  const tenant = await post('/parties', { kind: 'company', legal_name: 'Acme Legal LLP' })
  const org_id = Number(property.organization_id.slice(4))
  const db = await openDb(server.socket_dir)
  const ids = await seedLeases(db, org_id, leases, property.id, tenant.id)
  await db.close()
  await owner(server, ['vacuum analyze lease'])
  await settled(server)
  return { org_id, property_id: property.id, tenant_id: tenant.id, ids }
}

export async function benchRequests(server: Server): Promise<RequestResult[]> {
  const { org_id, property_id, tenant_id, ids } = await seedPortfolio(server)
  const results: RequestResult[] = []
  const first = ids[0] as number
  const lastStart = ids.at(-200) as number
  results.push(
    await scenario(
      server,
      'get one lease',
      { method: 'GET', paths: ids.slice(0, 2_000).map((id) => `/api/v1/leases/le_${id}`) },
      {
        variables: { id: [first, ids.at(-1) as number] },
        statements: [
          `select t.version, t.contested, t.deleted_at is not null, t.body from lease t where t.org_id = ${org_id}::bigint and t.id = :id::bigint`,
        ],
      },
      org_id,
    ),
  )
  results.push(
    await scenario(
      server,
      'page of 100 leases',
      { method: 'GET', paths: await cursorPaths(server, 'limit=100') },
      {
        variables: { after: [first, lastStart] },
        statements: [sqlOf('limit=100', org_id).replace('where ', 'where t.id > :after and ')],
      },
      org_id,
    ),
  )
  const filtered = 'limit=100&status=active&sort=-expiration_date'
  results.push(
    await scenario(
      server,
      'page of 100, filter and sort',
      { method: 'GET', paths: [`/api/v1/leases?${filtered}`] },
      {
        variables: {},
        statements: [sqlOf(filtered, org_id)],
      },
      org_id,
    ),
  )
  results.push(await benchCreate(server, org_id, property_id, tenant_id))
  results.push(await benchPatch(server, org_id, ids))
  return results
}

/** Pages from different places of the collection. */
async function cursorPaths(server: Server, query: string): Promise<string[]> {
  const paths = [`/api/v1/leases?${query}`]
  let cursor: string | null = null
  for (let i = 0; i < 60; i++) {
    const answer: Response = await fetch(
      `${server.base}/leases?${query}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
      { headers: { 'x-api-key': server.key } },
    )
    cursor = ((await answer.json()) as { next_cursor: string | null }).next_cursor
    if (!cursor) break
    paths.push(`/api/v1/leases?${query}&cursor=${encodeURIComponent(cursor)}`)
  }
  return paths
}

/** The list's own statement with its values written in. */
function sqlOf(query: string, org_id: number): string {
  const parsed = parseListQuery(
    lease,
    registry,
    Object.fromEntries(new URLSearchParams(query)),
    createSecretKey(Buffer.alloc(32)),
    { org_id, time_zone: 'UTC' },
  )
  const { sql, params } = listStatement(lease, org_id, parsed)
  return sql.replaceAll(/\$(\d+)/g, (_, n: string) => `'${String(params[Number(n) - 1])}'`)
}

async function scenario(
  server: Server,
  name: string,
  plan: Pick<Plan, 'method' | 'paths'>,
  script: Script,
  org_id: number,
): Promise<RequestResult> {
  const flight: Script = {
    ...script,
    statements: ['begin', `select app.set_org(${org_id})`, ...script.statements, 'commit'],
  }
  return await rounds(server, name, { ...plan, body: null, idempotent: false }, flight, script)
}
