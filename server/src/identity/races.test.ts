/** Merges among other writes: nothing is lost, nothing is left behind, and all tables tell one story. */
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import { adapterOf, load } from '../sdis/load-fixture.ts'
import { newParty, tend } from './merge-fixture.ts'
import { followAll } from './references.ts'
import { tendOrganization } from './work.ts'

describe('a merge among other writes', { timeout: 60_000 }, () => {
  it('loses none of them', async () => {
    const client = await newOrganization()
    const { property_id } = await leaseParents(client)
    for (let round = 0; round < 3; round++) {
      const [a, b] = [await newParty(client, 'A'), await newParty(client, 'B')]
      const [merge, first, second, third, fourth] = await Promise.all([
        client.post('/grid/v2/merges', { winner: a, loser: b }),
        client.patch(`/parties/${a}`, { ticker: 'A' }),
        client.patch(`/parties/${b}`, { dba_name: 'B' }),
        client.post('/leases', samples.lease(property_id, b)),
        client.post('/contacts', samples.contact(b)),
      ])
      expect([merge, first, second, third, fourth].map(({ status }) => status)).toEqual([
        201, 200, 200, 201, 201,
      ])
      await tend(client)
      expect((await client.get(`/parties/${a}`)).body).toMatchObject({ ticker: 'A', dba_name: 'B' })
      for (const path of [`/leases?tenant_party_id=${a}`, `/contacts?party_id=${a}`])
        expect((await client.get(path)).body.data, path).toHaveLength(1)
      const undone = await Promise.all([
        client.delete(`/grid/v2/merges/${merge.body.id}`),
        client.patch(`/parties/${a}`, { ticker: 'AA' }),
        client.patch(`/leases/${third.body.id}`, { permitted_use: 'Office' }),
      ])
      expect(undone.map(({ status }) => status)).toEqual([204, 200, 200])
      await tend(client)
      const lease = await client.get(`/leases/${third.body.id}`)
      expect(lease.body.permitted_use).toBe('Office')
    }
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('is done once of two that cross', async () => {
    const client = await newOrganization()
    for (let round = 0; round < 3; round++) {
      const [a, b, c] = [
        await newParty(client, 'A'),
        await newParty(client, 'B'),
        await newParty(client, 'C'),
      ]
      const answers = await Promise.all([
        client.post('/grid/v2/merges', { winner: a, loser: b }),
        client.post('/grid/v2/merges', { winner: b, loser: a }),
        client.post('/grid/v2/merges', { winner: c, loser: a }),
      ])
      for (const { status } of answers) expect([201, 409, 422]).toContain(status)
      const heads = await Promise.all(
        [a, b].map(async (id) => (await client.get(`/parties/${id}`)).body.id),
      )
      for (const id of heads) expect([a, b, c]).toContain(id)
    }
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('leaves a load whole that is under way', async () => {
    const client = await newOrganization()
    const { property_id } = await leaseParents(client)
    const rows = (area: number): string =>
      `Code,Name,Area\n${Array.from({ length: 300 }, (_, i) => `B${i},Building ${i},${area}`).join('\n')}\n`
    await load(client, adapterOf(), rows(100), '2026-01-01')
    const { body } = await client.get('/buildings?limit=200&sort=code')
    const ids: string[] = body.data.map(({ id }: { id: string }) => id)
    const twins = await Promise.all(
      ids.slice(0, 10).map(async (_, i) => {
        const made = await client.post('/buildings', {
          ...samples.building(property_id),
          code: `X${i}`,
        })
        return made.body.id as string
      }),
    )
    const [job, ...merges] = await Promise.all([
      load(client, adapterOf(), rows(200), '2026-02-01'),
      ...twins.map((winner, i) => client.post('/grid/v2/merges', { winner, loser: ids[i] })),
    ])
    expect(merges.map(({ status }) => status)).toEqual(twins.map(() => 201))
    expect(job).toMatchObject({ state: 'completed', counts: { created: 0, quarantined: 0 } })
    // What was merged before its turn came shows the younger value of its twin.
    expect(job.counts.changed + job.counts.unchanged).toBe(300)
    await tend(client)
    for (const [i, id] of ids.slice(0, 10).entries()) {
      const { body: facts } = await client.get(`/grid/v2/objects/${id}/facts?field=rentable_area`)
      expect(facts.data.map(({ value }: { value: number }) => value).sort()).toEqual([
        100, 200, 250000,
      ])
      expect((await client.get(`/buildings/${id}`)).body.id).toBe(twins[i])
    }
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('is followed by references however often the following is begun and broken off', async () => {
    const client = await newOrganization()
    const { property_id } = await leaseParents(client)
    const [a, b] = [await newParty(client, 'A'), await newParty(client, 'B')]
    const parties = [{ party_id: b, role: 'guarantor' }]
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const made = await client.post('/leases', { ...samples.lease(property_id, b), parties })
        return made.body.id as string
      }),
    )
    await client.post('/grid/v2/merges', { winner: a, loser: b })
    const { app, db } = await grid()
    const stopped = new AbortController()
    stopped.abort()
    await followAll(app.store, client.org_id, stopped.signal)
    const open = new AbortController().signal
    await Promise.all([
      tendOrganization(db, client.org_id, open),
      followAll(app.store, client.org_id, open),
    ])
    await tend(client)
    for (const id of ids)
      expect((await client.get(`/leases/${id}`)).body).toMatchObject({
        tenant_party_id: a,
        parties: [{ party_id: a }],
      })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})
