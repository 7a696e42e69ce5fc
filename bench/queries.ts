/** Questions through `POST /grid/v2/query` on a portfolio of many leases: how long each takes, as its caller sees it. */
import { owner } from './seed.ts'
import type { Server } from './server.ts'

/** Leases of one property, and of one tenant. */
const PER_PROPERTY = 500
const PER_TENANT = 200

/** Requests under way at a time, and for how long each question is asked. */
const CLIENTS = 4
const SECONDS = 5

export interface QueryResult {
  name: string
  leases: number
  p50_ms: number
  p95_ms: number
  p99_ms: number
  limit_p95_ms: number
  requests: number
}

/** What indexed filters may take at the 95th percentile. */
const LIMIT_MS = 50

type Question = (portfolio: Portfolio) => object

interface Portfolio {
  org_id: number
  properties: number
  tenants: number
}

const random = (count: number): number => 1 + Math.floor(Math.random() * count)

/** Ids of the copies begin here, above all that were given out. */
const FIRST = 1_000_000_000

const property = ({ properties }: Portfolio): string => `prop_${FIRST + random(properties)}`
const day = (): string => new Date(Date.UTC(2026, 0, random(3_650))).toISOString().slice(0, 10)

/** Each begins at an index. */
const QUESTIONS: [string, Question][] = [
  ['leases of a property', (p) => ({ from: 'lease', where: { property_id: property(p) } })],
  [
    'leases of a tenant, with its name',
    ({ tenants }) => ({
      from: 'lease',
      select: ['id', 'lease_number', 'tenant.legal_name', 'property.name', 'rentable_area'],
      where: { tenant_party_id: `pty_${FIRST + random(tenants)}`, rentable_area: { gt: 3_000 } },
      limit: 200,
    }),
  ],
  [
    'leases that end next, in order',
    () => ({
      from: 'lease',
      select: ['id', 'expiration_date', 'tenant.legal_name'],
      where: { expiration_date: { gte: day() } },
      order_by: [['expiration_date', 'asc']],
      limit: 100,
    }),
  ],
  [
    'leases that end within a week, by status',
    () => {
      const from = day()
      const to = new Date(Date.parse(from) + 7 * 86_400_000).toISOString().slice(0, 10)
      return {
        from: 'lease',
        select: ['status', { count: '*' }, { sum: 'rentable_area', as: 'area' }],
        where: { expiration_date: { gte: from, lt: to } },
        group_by: ['status'],
      }
    },
  ],
  [
    'one lease by id',
    ({ properties }) => ({
      from: 'lease',
      where: { id: `le_${FIRST + random(properties * PER_PROPERTY)}` },
    }),
  ],
]

export async function benchQueries(server: Server, leases: number): Promise<QueryResult[]> {
  const portfolio = await seed(server, leases)
  const results: QueryResult[] = []
  for (const [name, question] of QUESTIONS) {
    await asked(server, question(portfolio))
    const times = await timesOf(server, () => question(portfolio))
    const at = (share: number): number =>
      Math.round((times[Math.floor(times.length * share)] ?? 0) * 10) / 10
    const result = {
      name,
      leases,
      p50_ms: at(0.5),
      p95_ms: at(0.95),
      p99_ms: at(0.99),
      limit_p95_ms: LIMIT_MS,
      requests: times.length,
    }
    results.push(result)
    process.stdout.write(`query: ${name}: p50 ${result.p50_ms} ms, p95 ${result.p95_ms} ms\n`)
  }
  return results
}

/** Milliseconds of each request, ascending. */
async function timesOf(server: Server, question: () => object): Promise<number[]> {
  const until = performance.now() + SECONDS * 1_000
  const times: number[] = []
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      const started = performance.now()
      await asked(server, question())
      times.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return times.sort((a, b) => a - b)
}

async function asked(server: Server, question: object): Promise<{ data: object[] }> {
  const answer = await fetch(`${server.base}/grid/v2/query`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
    body: JSON.stringify(question),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as { data: object[] }
}

/** One object of each type made through the interface, then copied in the database, each copy with values of its own. */
async function seed(server: Server, leases: number): Promise<Portfolio> {
  const post = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await fetch(server.base + path, {
      method: 'POST',
      headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as Record<string, string>
  }
  const property = await post('/properties', {
    name: 'Harbor Point',
    property_type: 'office',
    status: 'owned',
    address: {
      line1: '1 Harbor Street',
      city: 'Boston',
      region: 'US-MA',
      postal_code: '02110',
      country: 'US',
    },
    latitude: 42.36,
    longitude: -71.05,
    time_zone: 'America/New_York',
    currency: 'USD',
    area_unit: 'sqft',
  })
  const tenant = await post('/parties', { kind: 'company', legal_name: 'Acme Legal LLP' })
  const lease = await post('/leases', {
    property_id: property['id'],
    tenant_party_id: tenant['id'],
    lease_type: 'direct',
    recovery_type: 'nnn',
    commencement_date: '2026-01-01',
    expiration_date: '2030-12-31',
    rentable_area: 5_000,
  })
  const properties = Math.ceil(leases / PER_PROPERTY)
  const tenants = Math.ceil(leases / PER_TENANT)
  await owner(server, [
    copy('property', property['id'], properties, { name: `'Property ' || n` }),
    copy('party', tenant['id'], tenants, { legal_name: `'Tenant ' || n` }),
    copy('lease', lease['id'], leases, {
      lease_number: `'L-' || n`,
      property_id: `${FIRST} + 1 + n % ${properties}`,
      tenant_party_id: `${FIRST} + 1 + n % ${tenants}`,
      expiration_date: `date '2026-01-01' + (n::bigint * 7919 % 3650)::integer`,
      rentable_area: '1500 + n % 9770',
      status: `(array['active', 'expired', 'draft'])[1 + n % 3]`,
    }),
    'vacuum analyze property, party, lease',
  ])
  return { org_id: Number(property['organization_id']?.slice(4)), properties, tenants }
}

/** SQL that copies a row, `n` from 1 on, with other values in some columns. */
function copy(
  table: string,
  id: string | undefined,
  count: number,
  values: Record<string, string>,
): string {
  const changed = { ...values, id: `${FIRST} + n`, search: `''` }
  const set = Object.entries(changed).map(([column, sql]) => `'${column}', ${sql}`)
  return `insert into ${table} select r.* from ${table} t, generate_series(1, ${count}) n,
    jsonb_populate_record(t, jsonb_build_object(${set.join(', ')})) r where t.id = ${String(id).replace(/^.*_/, '')}`
}
