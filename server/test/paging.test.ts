/** Walks through lists lose nothing and show nothing twice, whatever is written meanwhile. */
import { array, assert, asyncProperty, constantFrom, nat, option, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Row } from '../src/kit/resource.ts'
import { lease } from '../src/leases/resource.ts'
import { insertMany } from './bulk.ts'
import { checkOrganization } from './consistency.ts'
import { newClient, newOrganization } from './grid.ts'
import type { TestClient } from './grid.ts'
import { leaseParents, samples } from './samples.ts'

/** Follows next_cursor to the end; `between` runs together with the request for each page. */
async function walk(
  client: TestClient,
  query: string,
  between: (page: number) => Promise<unknown>,
): Promise<Row[]> {
  const rows: Row[] = []
  let cursor = ''
  for (let page = 0; ; page++) {
    const path = `/leases?${query}${cursor && `&cursor=${cursor}`}`
    const [answer] = await Promise.all([client.get(path), between(page)])
    expect(answer.status, JSON.stringify(answer.body).slice(0, 300)).toBe(200)
    rows.push(...(answer.body.data as Row[]))
    if (!answer.body.has_more) return rows
    cursor = answer.body.next_cursor as string
  }
}

const DATES = ['2027-12-31', '2028-06-30', '2028-06-30', '2030-01-01'] as const

/** One write of another client, while a page is read; `at` chooses the lease it is about. */
const action = record({ kind: constantFrom('create', 'patch', 'move', 'delete'), at: nat(1000) })

const scene = record({
  dates: array(option(constantFrom(...DATES), { nil: null }), { minLength: 20, maxLength: 60 }),
  query: constantFrom(
    '',
    'sort=expiration_date',
    'sort=-expiration_date',
    'sort=-expiration_date,rentable_area',
    'sort=expiration_date&expiration_date[is_null]=false',
    'sort=-id&status=draft',
    'expiration_date[lte]=2028-06-30&sort=-expiration_date',
    'sort=rentable_area,-expiration_date&tags[contains]=kept',
  ),
  actions: array(array(action, { maxLength: 3 }), { minLength: 4, maxLength: 12 }),
})

function leaseOf(
  parents: { property_id: string; tenant_party_id: string },
  date: string | null,
): Row {
  const body = samples.lease(parents.property_id, parents.tenant_party_id)
  return { ...body, expiration_date: date, is_month_to_month: date === null, tags: ['kept'] }
}

/** Does the query's filter let a lease with this date through? */
function passes(query: string, date: string | null): boolean {
  if (query.includes('[is_null]')) return date !== null
  return !query.includes('[lte]') || (date !== null && date <= '2028-06-30')
}

describe('a walk of seven at a time', () => {
  it('meets every lease that was there throughout exactly once', { timeout: 60_000 }, async () => {
    const reader = await newOrganization()
    const parents = await leaseParents(reader)
    const writer = await newClient(reader.org_id)
    const run = asyncProperty(scene, async ({ dates, query, actions }) => {
      const ids = await insertMany(
        reader.org_id,
        lease,
        dates.map((date) => leaseOf(parents, date)),
      )
      const touched = new Set<string>()
      const write = async ({ kind, at }: { kind: string; at: number }): Promise<unknown> => {
        const id = ids[at % ids.length] as string
        if (kind === 'create')
          return await writer.post('/leases', leaseOf(parents, DATES[at % 4] as string))
        if (kind === 'patch') return await writer.patch(`/leases/${id}`, { name: `Lease ${at}` })
        touched.add(id)
        if (kind === 'delete') return await writer.delete(`/leases/${id}`)
        return await writer.patch(`/leases/${id}`, {
          expiration_date: '2029-09-09',
          is_month_to_month: false,
        })
      }
      const seen = await walk(
        reader,
        `limit=7&${query}`,
        async (page) => await Promise.all((actions[page] ?? []).map(write)),
      )
      const shown = seen.map((row) => row['id'] as string)
      const due = ids.filter((id, i) => !touched.has(id) && passes(query, dates[i] ?? null))
      expect(due.filter((id) => !shown.includes(id))).toEqual([])
      const twice = shown.filter((id, i) => shown.indexOf(id) !== i && !touched.has(id))
      expect(twice).toEqual([])
      // The next run starts with an empty list again.
      const left = await walk(reader, 'limit=200&fields=id', async () => {})
      await Promise.all(left.map(async ({ id }) => await writer.delete(`/leases/${String(id)}`)))
    })
    await assert(run, { numRuns: 12 })
    expect(await checkOrganization(reader.org_id)).toEqual([])
  })
})

describe('ten thousand leases', () => {
  it('are each met once while others write', { timeout: 60_000 }, async () => {
    const reader = await newOrganization()
    const parents = await leaseParents(reader)
    const bodies = Array.from({ length: 10_000 }, (_, i) =>
      leaseOf(parents, i % 10 === 0 ? null : `20${26 + (i % 7)}-0${1 + (i % 9)}-15`),
    )
    const ids = await insertMany(reader.org_id, lease, bodies)
    const writer = await newClient(reader.org_id)
    const count = await reader.get('/leases?limit=1&include=total_count')
    expect(count.body.total_count).toBe(10_000)
    const gone = new Set<string>()
    const seen = await walk(reader, 'limit=200&sort=-expiration_date', async (page) => {
      const [changed, deleted] = [ids[page * 190], ids[9_999 - page * 190]] as [string, string]
      gone.add(deleted)
      await Promise.all([
        writer.post('/leases', bodies[page]),
        writer.patch(`/leases/${changed}`, { name: `Page ${page}` }),
        writer.delete(`/leases/${deleted}`),
      ])
    })
    const shown = new Set(seen.map((row) => row['id']))
    expect(shown.size).toBe(seen.length)
    expect(ids.filter((id) => !gone.has(id) && !shown.has(id))).toEqual([])
    const dates = seen.map((row) => (row['expiration_date'] as string | null) ?? '')
    expect(dates).toEqual(dates.toSorted().toReversed())
  })
})
