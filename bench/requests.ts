/** Reads and writes through the whole request path, beside the same SQL in the database alone. */
import { listStatement } from '../server/src/kit/store.ts'
import { parseListQuery } from '../server/src/kit/query.ts'
import { lease } from '../server/src/leases/resource.ts'
import { registry } from '../server/src/resources.ts'
import { database, load } from './clients.ts'
import type { Script } from './clients.ts'
import type { Plan, Report } from './load.ts'
import { openDb, owner, seedLeases } from './seed.ts'
import type { Server } from './server.ts'
import { benchCreate, benchPatch } from './writes.ts'

export interface RequestResult extends Report {
  scenario: string
  connections: number
  /** The same statements, context included, as the app role. */
  database_per_second: number
  /** The product's share of that. */
  ratio: number
  /** The bare statement as the owner, without row-level security and transaction. */
  bare_per_second: number | null
  bare_ratio: number | null
  memory_mb: number
}

const SECONDS = 5
const ROUNDS = 3
const CONNECTIONS = 32
const LEASES = 10_000

export async function benchRequests(server: Server): Promise<RequestResult[]> {
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
  const ids = await seedLeases(db, org_id, LEASES, property.id, tenant.id)
  await db.close()
  await owner(server, ['vacuum analyze lease'])
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
  results.push(await benchCreate(server, org_id, property.id, tenant.id))
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
    Buffer.alloc(32),
    'UTC',
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

/** Median of rounds in which product and database take turns. */
export async function rounds(
  server: Server,
  name: string,
  plan: Omit<Plan, 'port' | 'key' | 'connections' | 'seconds'>,
  flight: Script,
  bare: Script | null,
): Promise<RequestResult> {
  const { socket_dir, port, key } = server
  const reports: Report[] = []
  const flights: number[] = []
  const bares: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    flights.push(await database(flight, { socket_dir, user: 'grid' }, 16, SECONDS))
    if (bare) bares.push(await database(bare, { socket_dir, user: 'postgres' }, 16, SECONDS))
    reports.push(await load({ ...plan, port, key, connections: CONNECTIONS, seconds: SECONDS }))
  }
  reports.sort((a, b) => a.per_second - b.per_second)
  const report = reports[Math.floor(ROUNDS / 2)] as Report
  const inFlight = median(flights)
  const alone = bare ? median(bares) : null
  const result = {
    scenario: name,
    connections: CONNECTIONS,
    ...report,
    database_per_second: inFlight,
    ratio: share(report.per_second, inFlight),
    bare_per_second: alone,
    bare_ratio: alone === null ? null : share(report.per_second, alone),
    memory_mb: await server.peakMemory(),
  }
  process.stdout.write(
    `${name}: ${report.per_second}/s, database ${inFlight}/s (${result.ratio})${alone ? `, bare ${alone}/s (${result.bare_ratio})` : ''}, p99 ${report.p99_ms} ms, failed ${report.failed}\n`,
  )
  return result
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

function share(part: number, whole: number): number {
  return Math.round((part / whole) * 100) / 100
}
