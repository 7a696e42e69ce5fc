/** Identity: how long a merge and its undoing take, with leases that follow, among many other objects. */
import { settled } from './seed.ts'
import type { Server } from './server.ts'

/** Pairs merged and taken back; half of the losers have leases. */
const PAIRS = 100
const LEASES_OF_LOSER = 5

/** Other parties and leases in the organization. */
const OTHERS = 1_000

const AT_ONCE = 8

export interface IdentityResult {
  pairs: number
  leases_that_follow: number
  /** A plain change of a party in the same run, to compare with. */
  patch_p50_ms: number
  merge_p50_ms: number
  merge_p95_ms: number
  unmerge_p50_ms: number
  unmerge_p95_ms: number
}

export async function benchIdentity(server: Server): Promise<IdentityResult> {
  const { id: property_id } = await post(server, '/properties', {
    name: 'Harbor Point',
    property_type: 'office',
    status: 'owned',
    address: { line1: '1 Harbor Street', city: 'Boston', postal_code: '02110', country: 'US' },
    latitude: 42.36,
    longitude: -71.05,
    time_zone: 'America/New_York',
    currency: 'USD',
    area_unit: 'sqft',
  })
  const leaseOf = (tenant_party_id: string): object => ({
    property_id,
    tenant_party_id,
    lease_type: 'direct',
    recovery_type: 'nnn',
    commencement_date: '2026-01-01',
    expiration_date: '2030-12-31',
    rentable_area: 5_000,
  })
  const ids: string[] = []
  await each(OTHERS, async (n) => {
    const { id } = await post(server, '/parties', { kind: 'company', legal_name: `Company ${n}` })
    if (n < 2 * PAIRS) ids[n] = id
    const count = n >= 2 * PAIRS ? 1 : n % 4 === 1 ? LEASES_OF_LOSER : 0
    for (let i = 0; i < count; i++) await post(server, '/leases', leaseOf(id))
  })
  await settled(server)
  const merges: string[] = []
  const patch_ms: number[] = []
  const merge_ms: number[] = []
  for (let n = 0; n < PAIRS; n++) {
    const before = performance.now()
    await send(server, 'PATCH', `/parties/${ids[2 * n]}`, { ticker: `T${n}` })
    patch_ms.push(performance.now() - before)
    const start = performance.now()
    const { id } = await post(server, '/grid/v2/merges', {
      winner: ids[2 * n],
      loser: ids[2 * n + 1],
    })
    merge_ms.push(performance.now() - start)
    merges.push(id)
  }
  const unmerge_ms: number[] = []
  for (const id of merges) {
    const start = performance.now()
    await send(server, 'DELETE', `/grid/v2/merges/${id}`)
    unmerge_ms.push(performance.now() - start)
  }
  const result = {
    pairs: PAIRS,
    leases_that_follow: (PAIRS / 2) * LEASES_OF_LOSER,
    patch_p50_ms: quantile(patch_ms, 0.5),
    merge_p50_ms: quantile(merge_ms, 0.5),
    merge_p95_ms: quantile(merge_ms, 0.95),
    unmerge_p50_ms: quantile(unmerge_ms, 0.5),
    unmerge_p95_ms: quantile(unmerge_ms, 0.95),
  }
  process.stdout.write(
    `merge p50 ${result.merge_p50_ms} ms, p95 ${result.merge_p95_ms} ms; unmerge p50 ${result.unmerge_p50_ms} ms, p95 ${result.unmerge_p95_ms} ms; a patch ${result.patch_p50_ms} ms\n`,
  )
  return result
}

async function each(count: number, run: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) await run(next++)
    }),
  )
}

async function post(server: Server, path: string, body: object): Promise<{ id: string }> {
  return (await (await send(server, 'POST', path, body)).json()) as { id: string }
}

async function send(
  { base, key }: Server,
  method: string,
  path: string,
  body?: object,
): Promise<Response> {
  const response = await fetch(base + path, {
    method,
    headers: { 'x-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response
}

function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b)
  return Math.round(10 * (values[Math.floor(values.length * share)] as number)) / 10
}
