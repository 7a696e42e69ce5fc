import { beforeAll, describe, expect, test } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { storageOf } from '../documents/storage.ts'
import { bareStore } from '../organizations/service.ts'
import { DEMO_SEED, demoStart, seedDemo } from './seed.ts'
import type { Seeded } from './seed.ts'
import type { Size } from './sites.ts'
import { leaseCounts, summarise, summaryTable } from './summary.ts'

const START = demoStart('America/New_York')

async function seed(client: TestClient, size: Size): Promise<Seeded> {
  const { app, db } = await grid()
  const storage = storageOf(app.config)
  const options = { size, seed: DEMO_SEED, start: START }
  return await seedDemo(bareStore(db), storage, client.org_id, options)
}

describe('a small portfolio', () => {
  let client: TestClient
  let written: Seeded

  beforeAll(async () => {
    client = await newOrganization()
    written = await seed(client, 's')
  })

  test('is consistent in every table', async () => {
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  test('has an object of every kind, and lists find them all', async () => {
    for (const [name, path] of [
      ['party', 'parties'],
      ['contact', 'contacts'],
      ['property', 'properties'],
      ['building', 'buildings'],
      ['floor', 'floors'],
      ['space', 'spaces'],
      ['lease', 'leases'],
      ['document', 'documents'],
      ['work_order', 'work_orders'],
    ] as const) {
      const { body } = await client.get(`/${path}?limit=1&include=total_count`)
      expect(body.total_count, name).toBe(written[name])
    }
  })

  test('answers for a day in the past', async () => {
    const [lease] = (await client.get('/leases?status=active&commencement_date[gt]=2025-12-01'))
      .body.data
    const before = await client.get(`/leases/${lease.id}?as_of=${lease.execution_date}`)
    expect(before.body.status).toBe('executed')
    const old = (await client.get('/work_orders?status=closed&sort=reported_at&limit=1')).body
      .data[0]
    const then = await client.get(`/work_orders/${old.id}?as_of=${old.reported_at.slice(0, 10)}`)
    expect(then.body.status).toBe('new')
  })

  test('answers for a day years ago with what was held then', async () => {
    const { data } = (await client.get('/leases?status=active&sort=commencement_date&limit=200'))
      .body
    const day = `${Number(START.slice(0, 4)) - 2}-01-15`
    const then = (await client.get(`/leases?as_of=${day}&status=active&limit=200`)).body.data
    expect(then.length).toBeGreaterThan(0)
    const since = new Map<string, string>()
    for (const { id, acquisition_date } of (await client.get('/properties')).body.data)
      since.set(id, acquisition_date)
    const held = data.filter(
      (lease: Record<string, string>) =>
        (lease['commencement_date'] as string) <= day &&
        (since.get(lease['property_id'] as string) as string) <= day,
    )
    expect(held.length).toBeGreaterThan(5)
    const ids = then.map(({ id }: { id: string }) => id)
    expect(ids).toEqual(expect.arrayContaining(held.map(({ id }: { id: string }) => id)))
    const [first] = held
    const property = await client.get(`/properties/${first.property_id}?as_of=${day}`)
    expect(property.status).toBe(200)
  })

  test('shows the claim that lost beside the one that won', async () => {
    const found = await client.get('/documents?text_status=extracted')
    expect(found.body.data).toHaveLength(2)
    for (const document of found.body.data) {
      const lease_id = document.links[0].object_id
      const [reading] = document.extractions
      const { body } = await client.get(`/leases/${lease_id}`)
      expect(body.expiration_date).not.toBe(reading.value)
      const conflicts = await client.get(`/grid/v2/objects/${lease_id}/conflicts`)
      expect(JSON.stringify(conflicts.body)).toContain(reading.value)
      const text = (await client.get(`/documents/${document.id}/content`)).body
      expect(text).toContain(`(${reading.quote.replaceAll(/[\\()]/g, String.raw`\$&`)}) Tj`)
    }
  })

  test('has a file that can be read for nearly every document', async () => {
    const { body } = await client.get('/documents?status=available&include=total_count&limit=20')
    expect(body.total_count).toBeLessThan(written['document'] as number)
    expect(body.total_count).toBeGreaterThan(0.9 * (written['document'] as number))
    for (const { id, byte_size, page_count } of body.data) {
      const file = await client.get(`/documents/${id}/content`)
      expect(file.headers.get('content-type')).toBe('application/pdf')
      expect(Number(file.headers.get('content-length'))).toBe(byte_size)
      expect(file.body).toMatch(/^%PDF-1\.4/)
      expect(page_count).toBeGreaterThan(0)
    }
  })

  test('is not written over property that is there', async () => {
    await expect(seed(client, 's')).rejects.toThrow(/has 9 properties already/)
  })
})

test('size m comes to the figures of the table', async () => {
  const client = await newOrganization()
  const began = performance.now()
  await seed(client, 'm')
  const seconds = (performance.now() - began) / 1_000
  const { db } = await grid()
  const rows = await summarise(db, client.org_id, START)
  const counts = await leaseCounts(db, client.org_id)
  process.stdout.write(`${summaryTable(rows)}\nwritten in ${seconds.toFixed(1)} s\n`)
  const all = rows.find(({ currency, segment }) => currency === 'USD' && segment === 'all')
  const near = (value: number | null | undefined, wanted: number, within: number): void => {
    expect(Math.abs((value ?? 0) - wanted), `${value}, not ${wanted}`).toBeLessThanOrEqual(within)
  }
  expect(all).toMatchObject({ properties: 26, buildings: 34, rentable_area: 6_900_000 })
  near(all?.floors, 260, 10)
  near(all?.spaces, 470, 25)
  near(all?.active_leases, 385, 15)
  near(all?.occupancy_pct, 89, 0.6)
  near(all?.leased_pct, 91, 1)
  near(all?.annual_base_rent, 166e6, 4e6)
  near(all?.rent_per_area, 27, 0.7)
  near(all?.walt_by_rent, 5.2, 0.4)
  near(all?.walt_by_area, 5, 0.5)
  const abroad = rows.find(({ currency, segment }) => currency === 'EUR' && segment === 'all')
  expect(abroad).toMatchObject({ properties: 1, buildings: 2 })
  const running = counts.filter(({ status }) => status === 'active' || status === 'holdover')
  const total = (list: typeof counts): number => list.reduce((sum, { leases }) => sum + leases, 0)
  near(total(running), 390, 15)
  near(total(counts) - total(running), 210, 45)
  expect(total(counts)).toBeGreaterThan(500)
})
