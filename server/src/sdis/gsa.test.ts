/** Two monthly releases of a real inventory, as published: what they hold, what changed, in whatever order they come. */
import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { runJob } from '../../test/jobs.ts'
import { written } from './load-fixture.ts'

const FOLDER = new URL('../../../examples/gsa-iolp/', import.meta.url).pathname
const MAY = { month: '2025-05', day: '2025-05-23' }
const JUNE = { month: '2025-06', day: '2025-06-20' }

type Kind = 'buildings' | 'leases'

async function release(
  client: TestClient,
  kind: Kind,
  { month, day }: typeof MAY,
): Promise<Answer['body']> {
  const adapter = await readFile(`${FOLDER}${kind}.yaml`, 'utf8')
  return await runJob(client, adapter, `${FOLDER}data/iolp-${kind}-${month}.xlsx`, day)
}

async function count(client: TestClient, path: string): Promise<number> {
  const { body } = await client.get(
    `${path}${path.includes('?') ? '&' : '?'}limit=1&include=total_count`,
  )
  return body.total_count as number
}

/** Every record of a collection as it was on a day, by its key in the source; ids and times left out. */
async function asOf(
  client: TestClient,
  kind: Kind,
  key: string,
  day: string,
): Promise<Map<string, unknown>> {
  const result = new Map<string, unknown>()
  const fields =
    kind === 'leases'
      ? 'lease_number,name,status,commencement_date,expiration_date,rentable_area,premises,building_id'
      : 'code,name,address,rentable_area,year_built,tags,external_ids'
  let path = `/${kind}?limit=200&as_of=${day}&fields=${fields}`
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body } = await client.get(
      cursor ? `${path}&cursor=${encodeURIComponent(cursor)}` : path,
    )
    for (const row of body.data) result.set(row[key], withoutIds(row))
    cursor = body.next_cursor
  }
  return result
}

function withoutIds(row: unknown): unknown {
  return JSON.parse(JSON.stringify(row).replaceAll(/"bld_\d+"/g, '"bld"'))
}

describe('the inventory, May then June', () => {
  let client: TestClient
  let before: string
  const reports: Record<string, Answer['body']> = {}

  beforeAll(async () => {
    client = await newOrganization()
    reports['buildings May'] = await release(client, 'buildings', MAY)
    reports['leases May'] = await release(client, 'leases', MAY)
    before = new Date().toISOString()
    reports['buildings June'] = await release(client, 'buildings', JUNE)
    reports['leases June'] = await release(client, 'leases', JUNE)
  })

  test('May holds 8,638 buildings and 7,473 leases, no row lost', async () => {
    expect(reports['buildings May'].counts).toMatchObject({
      rows_read: 8_638,
      created: 8_638,
      quarantined: 0,
    })
    expect(reports['leases May'].counts).toMatchObject({
      rows_read: 7_523,
      created: 7_473,
      quarantined: 0,
      warnings: 0,
    })
    const { body } = await client.get('/leases?lease_number=LTX17098')
    expect(body.data).toHaveLength(1)
    expect(body.data[0].premises).toHaveLength(9)
    expect(body.data[0].rentable_area).toBe(24_484)
  })

  test('June creates 33 leases and ends 45; the report names what changed', async () => {
    const { counts, changed_fields } = reports['leases June']
    expect(counts).toMatchObject({
      rows_read: 7_512,
      created: 33,
      changed: 163,
      ended: 45,
      unchanged: 7_265,
    })
    expect(changed_fields).toMatchObject({ expiration_date: 118, rentable_area: 46 })
    expect(await count(client, '/leases')).toBe(7_461)
    const { body } = await client.get('/leases?limit=1&include=archived,total_count')
    expect(body.total_count).toBe(7_506)
  })

  test('known before June, everything reads as May left it, count for count', async () => {
    const known = `known_at=${before}`
    expect(await count(client, `/leases?${known}`)).toBe(7_473)
    expect(await count(client, `/buildings?${known}`)).toBe(8_638)
    const soon = 'expiration_date[lte]=2025-12-31'
    const then = await count(client, `/leases?${known}&${soon}`)
    expect(then).toBe(await count(client, `/leases?as_of=${MAY.day}&${soon}`))
    expect(then).not.toBe(await count(client, `/leases?${soon}`))
  })

  test('June again writes nothing', async () => {
    const was = await written(client.org_id)
    const report = await release(client, 'leases', JUNE)
    expect(report.counts).toMatchObject({
      created: 0,
      changed: 0,
      ended: 0,
      unchanged: 7_461,
      facts: 0,
    })
    expect(await written(client.org_id)).toEqual(was)
  })

  test('row, facts, audit and event of every object agree', async () => {
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  describe('May after June', () => {
    let other: TestClient

    beforeAll(async () => {
      other = await newOrganization()
      for (const month of [JUNE, MAY]) {
        await release(other, 'buildings', month)
        await release(other, 'leases', month)
      }
    })

    test.each(['2025-05-22', MAY.day, '2025-06-10', JUNE.day, '2025-07-01'])(
      'reads the same as of %s',
      async (day) => {
        for (const [kind, key] of [
          ['leases', 'lease_number'],
          ['buildings', 'code'],
        ] as const) {
          expect(await asOf(other, kind, key, day)).toEqual(await asOf(client, kind, key, day))
        }
      },
    )

    test('has rows, facts, audit and events that agree', async () => {
      expect(await count(other, '/leases')).toBe(7_461)
      expect(await checkOrganization(other.org_id)).toEqual([])
    })
  })
})
