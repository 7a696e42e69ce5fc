/** Leases to read and write: rows in bulk through the write door, as an import writes them. */
import { Client } from 'pg'
import { Db } from '../server/src/db/db.ts'
import { newRow } from '../server/src/kit/apply.ts'
import { writeStatement } from '../server/src/kit/door.ts'
import type { Change, WriteContext } from '../server/src/kit/door.ts'
import type { Row } from '../server/src/kit/resource.ts'
import { changedFacts, changedFields } from '../server/src/kit/row.ts'
import { emptied } from '../server/src/kit/write.ts'
import { lease } from '../server/src/leases/resource.ts'
import { SYSTEM } from '../server/src/organizations/service.ts'

const BATCH = 1_000

export async function openDb(socket_dir: string): Promise<Db> {
  return new Db(
    { host: socket_dir, user: 'grid', database: 'postgres', options: '-c TimeZone=UTC' },
    { pipelined: 1, pooled: 2 },
  )
}

/** A lease like those of a rent roll: a third of its fields filled, five rent steps, two options. */
export function leaseInput(n: number, property_id: string, tenant_party_id: string): Row {
  const year = 2018 + (n % 8)
  const rent = (18 + (n % 40)).toFixed(2)
  return {
    lease_number: `L-${100_000 + n}`,
    name: `Suite ${100 + (n % 2_400)}`,
    property_id,
    tenant_party_id,
    lease_type: 'direct',
    status: n % 5 === 0 ? 'expired' : 'active',
    recovery_type: 'nnn',
    commencement_date: `${year}-0${1 + (n % 9)}-01`,
    expiration_date: `${year + 3 + (n % 8)}-12-31`,
    rentable_area: 1_500 + (n % 977) * 13,
    holdover_rent_pct: 150,
    permitted_use: 'General office use',
    rent_schedule: Array.from({ length: 5 }, (_, i) => ({
      start_date: `${year + i}-0${1 + (n % 9)}-01`,
      kind: 'base',
      per_area_annual: (Number(rent) * 1.03 ** i).toFixed(4),
    })),
    options: [{ option_type: 'renewal', holder: 'tenant', status: 'available', term_months: 60 }],
  }
}

export function leaseChange(input: Row, org_id: number, id: number): Change {
  const request = { org_id, actor: SYSTEM, defaults: { currency: 'USD', area_unit: 'sqft' } }
  const row = newRow(lease, request, id, new Date(), input)
  return {
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: changedFields(row, emptied(row)),
    claims: [
      {
        valid_from: Date.now(),
        valid_to: null,
        attrs: changedFacts(lease, row, null),
        retracts: null,
      },
    ],
    contested: false,
    external: { add: [], remove: [] },
  }
}

/** @returns the ids, ascending. */
export async function seedLeases(
  db: Db,
  org_id: number,
  count: number,
  property_id: string,
  tenant_party_id: string,
): Promise<number[]> {
  const all: number[] = []
  const context: WriteContext = { org_id, actor: SYSTEM, source_id: 6, at: new Date() }
  for (let from = 0; from < count; from += BATCH) {
    const ids = await db.ids(Math.min(BATCH, count - from))
    const changes = ids.map((id, i) =>
      leaseChange(leaseInput(from + i, property_id, tenant_party_id), org_id, id),
    )
    const { sql, params } = writeStatement(lease, changes, context)
    await db.query(org_id, sql, params)
    all.push(...ids)
  }
  return all
}

/** A connection as the owner of the tables, who sees everything. */
export async function ownerClient(server: { socket_dir: string }): Promise<Client> {
  const client = new Client({ host: server.socket_dir, user: 'postgres', database: 'postgres' })
  await client.connect()
  return client
}

/** Statements as the owner. */
export async function owner(
  server: { socket_dir: string },
  statements: readonly string[],
): Promise<void> {
  const client = await ownerClient(server)
  for (const sql of statements) await client.query(sql)
  await client.end()
}

/** Waits until all that was written is sealed, so that a measure does not share the machine with it. */
export async function settled(server: { socket_dir: string }): Promise<void> {
  const client = await ownerClient(server)
  const left = 'select (select count(*) from audit_entry) - (select count(*) from audit_seal) as n'
  while (Number((await client.query<{ n: string }>(left)).rows[0]?.n) > 0)
    await new Promise((resolve) => setTimeout(resolve, 200))
  await client.end()
}
