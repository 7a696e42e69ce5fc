/** Two systems that speak of the same leases, and the background work carried out until nothing is due. */
import { grid, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { leaseParents } from '../../test/samples.ts'
import { fileOf, load } from '../sdis/load-fixture.ts'
import { bareStore } from '../organizations/service.ts'
import { stepChange, tendFreshness } from './change.ts'

type Part = Record<string, unknown>

/** An adapter of leases by number; every file states the end of each. @param source as in the adapter document. */
export async function leaseAdapter(client: TestClient, source: Part): Promise<string> {
  const { property_id, tenant_party_id } = await leaseParents(client)
  return JSON.stringify({
    adapter: 'leases',
    source: { kind: 'csv', ...source },
    guards: { max_error_pct: 100 },
    streams: [
      {
        name: 'leases',
        type: 'lease',
        key: 'row.Number',
        map: {
          lease_number: 'row.Number',
          lease_type: { value: 'direct' },
          recovery_type: { value: 'nnn' },
          property_id: { value: property_id },
          tenant_party_id: { value: tenant_party_id },
          commencement_date: { value: '2020-01-01' },
          expiration_date: 'row.Ends',
          rentable_area: 'row.Area',
        },
      },
    ],
  })
}

export interface Row {
  number: string
  ends: string
  area?: number
}

export function leaseFile(rows: readonly Row[]): ReturnType<typeof fileOf> {
  const lines = rows.map(({ number, ends, area = 100 }) => `${number},${ends},${area}\n`)
  return fileOf(`Number,Ends,Area\n${lines.join('')}`)
}

/** Makes what one source calls by its keys known to another source by the same keys. @returns the id of the other source. */
export async function sameObjects(
  client: TestClient,
  one: string,
  other: string,
  rank = 50,
): Promise<number> {
  const { db } = await grid()
  const [id] = (await db.ids(1)) as [number]
  const direct = await owner()
  await direct.query(
    `insert into source (org_id, id, kind, name, rank, created_at, seen_at, freshness_days)
     values ($1, $2, 'adapter', $3, $4, now(), now(), 90)`,
    [client.org_id, id, other, rank],
  )
  await direct.query(
    `insert into source_record (org_id, source_id, stream, ext_key, object_id, row_hash, first_tx, last_tx)
     select r.org_id, $2, r.stream, r.ext_key, r.object_id, 0, r.first_tx, r.last_tx
     from source_record r join source s on s.org_id = r.org_id and s.id = r.source_id
     where r.org_id = $1 and s.name = $3`,
    [client.org_id, id, one],
  )
  await direct.end()
  return id
}

export interface Twins {
  client: TestClient
  /** Ids of the sources: of property management, which loaded first, and of accounting. */
  management: number
  accounting: number
  /** Loads what each of them says. */
  manage: (rows: readonly Row[], as_of?: string) => Promise<Answer['body']>
  account: (rows: readonly Row[], as_of?: string) => Promise<Answer['body']>
}

/** Two sources that know the same leases. */
export async function twins(
  rows: readonly Row[],
  ranks: { management?: number; accounting?: number } = {},
): Promise<Twins> {
  const client = await newOrganization()
  const own = { name: 'Management', rank: ranks.management ?? 40 }
  const first = await leaseAdapter(client, own)
  const second = first.replace('Management', 'Accounting')
  const manage: Twins['manage'] = (list, as_of) => load(client, first, leaseFile(list), as_of)
  const account: Twins['account'] = (list, as_of) => load(client, second, leaseFile(list), as_of)
  const job = await manage(rows, '2025-01-01')
  if (job.counts.created !== rows.length) throw new Error(JSON.stringify(job))
  const accounting = await sameObjects(client, 'Management', 'Accounting', ranks.accounting ?? 30)
  const { body } = await client.get('/grid/v2/sources')
  const source = body.data.find(({ name }: Part) => name === 'Management')
  const management = Number(String(source.id).slice(4))
  return { client, management, accounting, manage, account }
}

/** Ends of leases by number. */
export async function endsOf(client: TestClient): Promise<Record<string, string>> {
  const ends: Record<string, string> = {}
  for (let cursor = ''; ;) {
    const { body } = await client.get(
      `/leases?limit=200&fields=lease_number,expiration_date${cursor}`,
    )
    for (const row of body.data) ends[row.lease_number] = row.expiration_date
    if (!body.has_more) return ends
    cursor = `&cursor=${body.next_cursor}`
  }
}

/** Every row of a list. */
export async function all(client: TestClient, path: string): Promise<Part[]> {
  const rows: Part[] = []
  for (let cursor = ''; ;) {
    const { status, body } = await client.get(
      `${path}${path.includes('?') ? '&' : '?'}limit=100${cursor}`,
    )
    if (status !== 200) throw new Error(JSON.stringify(body))
    rows.push(...body.data)
    if (!body.has_more) return rows
    cursor = `&cursor=${body.next_cursor}`
  }
}

/** Carries every change of rules of the organization through. */
export async function carryThrough({ org_id }: TestClient): Promise<void> {
  const { db } = await grid()
  const store = bareStore(db)
  await tendFreshness(store, org_id, new Date())
  // Others' transactions that began before a change hold it up for a moment.
  for (;;) {
    const { rows } = await running(org_id)
    if (rows.length === 0) return
    await stepChange(store, org_id)
  }
}

async function running(org_id: number): Promise<{ rows: unknown[] }> {
  const direct = await owner()
  const found = await direct.query(
    `select id from survivorship_change where org_id = $1 and state = 'running'`,
    [org_id],
  )
  await direct.end()
  return found
}
