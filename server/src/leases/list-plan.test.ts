import { createSecretKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from 'pg'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import { createMany } from '../kit/bulk.ts'
import { parseListQuery } from '../kit/query.ts'
import { listStatement } from '../kit/store.ts'
import { bareStore, SYSTEM } from '../organizations/service.ts'
import { registry } from '../resources.ts'
import { lease } from './resource.ts'

/** Many enough that the planner would rather sort a page's candidates if it had no index in their order. */
const LEASES = 1_000

describe('a page of leases by their end', () => {
  let org_id: number
  let direct: Client

  beforeAll(async () => {
    const client = await newOrganization()
    org_id = client.org_id
    const { property_id, tenant_party_id } = await leaseParents(client)
    const { db } = await grid()
    const request = { org_id, actor: SYSTEM, defaults: {} }
    const objects = Array.from({ length: LEASES }, (_, i) => ({
      input: {
        ...samples.lease(property_id, tenant_party_id),
        status: i % 3 === 0 ? 'active' : 'expired',
        expiration_date: new Date(Date.UTC(2026, 0, 1 + i)).toISOString().slice(0, 10),
      },
    }))
    await createMany(bareStore(db), lease, request, objects)
    direct = await owner()
    await direct.query('analyze lease')
  })

  afterAll(async () => await direct.end())

  test.each([
    ['sort=-expiration_date', 'lease_expiration_latest_idx'],
    ['status=active&sort=-expiration_date', 'lease_expiration_latest_idx'],
    ['status=active&sort=expiration_date', 'lease_expiration_date_idx'],
  ])('%s reads %s and sorts nothing', async (text, index) => {
    const query = parseListQuery(
      lease,
      registry,
      Object.fromEntries(new URLSearchParams(text)),
      createSecretKey(Buffer.alloc(32)),
      { org_id, time_zone: 'UTC' },
    )
    const { sql, params } = listStatement(lease, org_id, query)
    const { rows } = await direct.query(`explain ${sql}`, [...params])
    const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
    expect(plan).toContain(index)
    expect(plan).not.toContain('Sort')
  })
})
