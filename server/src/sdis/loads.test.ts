import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { finished, sendJob } from '../../test/jobs.ts'
import { samples } from '../../test/samples.ts'
import { adapterOf, buildings, errorsOf, fileOf, load, written } from './load-fixture.ts'

const HEAD = 'Code,Name,Area\n'
const SNAPSHOT = { mode: 'full_snapshot', guards: { max_retract_pct: 100 } }

async function idOf(client: TestClient, code: string): Promise<string> {
  const { body } = await client.get(`/buildings?code=${code}&include=archived`)
  return body.data[0].id
}

describe('a load', () => {
  it('writes what is new, then what changed, then nothing', async () => {
    const client = await newOrganization()
    const adapter = adapterOf()
    const first = await load(client, adapter, `${HEAD}A,Alpha,100\nB,Beta,200\n`, '2025-01-01')
    expect(first.counts).toMatchObject({ created: 2, changed: 0, unchanged: 0, facts: 6 })
    const second = await load(client, adapter, `${HEAD}A,Alpha,150\nB,Beta,200\n`, '2025-02-01')
    expect(second.counts).toMatchObject({ created: 0, changed: 1, unchanged: 1, facts: 1 })
    expect(second.changed_fields).toEqual({ rentable_area: 1 })
    const was = await written(client.org_id)
    const third = await load(client, adapter, `${HEAD}A,Alpha,150\nB,Beta,200\n`, '2025-02-01')
    expect(third.counts).toMatchObject({ created: 0, changed: 0, unchanged: 2, facts: 0 })
    const later = await load(client, adapter, `${HEAD}B,Beta,200\nA,Alpha,150\n`, '2025-03-01')
    expect(later.counts).toMatchObject({ unchanged: 2, facts: 0 })
    expect(await written(client.org_id)).toEqual(was)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('takes a blank cell for not stated, also inside a structured value', async () => {
    const client = await newOrganization()
    const map = {
      name: 'row.Name',
      code: 'row.Code',
      address: { object: { line1: 'row.Street', city: 'row.City', country: { value: 'US' } } },
    }
    const adapter = adapterOf({ map })
    const head = 'Code,Name,Street,City\n'
    await load(
      client,
      adapter,
      `${head}A,Alpha,1 Main,Boston\nB,Beta,2 Main,Boston\n`,
      '2025-01-01',
    )
    const report = await load(client, adapter, `${head}A,,,Boston\nB,,,Salem\n`, '2025-02-01')
    expect(report.counts).toMatchObject({ changed: 1, unchanged: 1, facts: 1 })
    expect(report.changed_fields).toEqual({ address: 1 })
    expect(await buildings(client, 'name,address')).toMatchObject({
      A: { name: 'Alpha', address: { line1: '1 Main', city: 'Boston' } },
      B: { name: 'Beta', address: { line1: '2 Main', city: 'Salem', country: 'US' } },
    })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('leaves out rows that cannot be used, and says why', async () => {
    const client = await newOrganization()
    const csv = `${HEAD}A,Alpha,100\n,No key,1\nB,Beta,many\nA,Again,5\nC,${'c'.repeat(300)},x\nD,Delta,5\n`
    const job = await load(client, adapterOf(), csv)
    expect(job).toMatchObject({
      state: 'completed_with_errors',
      counts: { rows_read: 6, rows_valid: 2, quarantined: 4, created: 2 },
    })
    expect(await errorsOf(client, job)).toEqual([
      [3, 'key', 'missing_key'],
      [4, 'rentable_area', 'not_a_number'],
      [5, 'key', 'duplicate_key'],
      [6, 'name', 'too_long'],
      [6, 'rentable_area', 'not_a_number'],
    ])
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['A', 'D'])
    // A row that was left out is tried again, the others are not looked at.
    const again = await load(client, adapterOf(), csv)
    expect(again.counts).toMatchObject({ quarantined: 4, unchanged: 2, created: 0, facts: 0 })
  })

  it('loads the rest of a row when the adapter says so, and warns again until the cell is mended', async () => {
    const client = await newOrganization()
    const area = { from: 'row.Area', on_error: 'quarantine_cell' }
    const adapter = adapterOf({ map: { name: 'row.Name', code: 'row.Code', rentable_area: area } })
    for (const expected of [{ created: 1 }, { unchanged: 1 }]) {
      const job = await load(client, adapter, `${HEAD}A,Alpha,many\n`)
      expect(job).toMatchObject({ state: 'completed', counts: { ...expected, warnings: 1 } })
      expect(await errorsOf(client, job)).toEqual([[2, 'rentable_area', 'not_a_number']])
    }
    await load(client, adapter, `${HEAD}A,Alpha,5\n`)
    expect(await buildings(client, 'rentable_area')).toEqual({ A: { rentable_area: 5 } })
  })

  it('of some records only lets the others be; of all of them ends what is missing', async () => {
    const client = await newOrganization()
    const all = `${HEAD}A,Alpha,1\nB,Beta,2\nC,Gamma,3\n`
    await load(client, adapterOf({}, SNAPSHOT), all, '2025-01-01')
    const upsert = await load(client, adapterOf(), `${HEAD}A,Alpha,5\n`, '2025-02-01')
    expect(upsert.counts).toMatchObject({ changed: 1, ended: 0 })
    const snapshot = await load(client, adapterOf({}, SNAPSHOT), `${HEAD}A,Alpha,5\n`, '2025-03-01')
    expect(snapshot.counts).toMatchObject({ unchanged: 1, ended: 2 })
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['A'])
    expect(Object.keys(await buildings(client, 'name', '&as_of=2025-02-15'))).toHaveLength(3)
    const again = await load(client, adapterOf({}, SNAPSHOT), `${HEAD}A,Alpha,5\n`, '2025-03-01')
    expect(again.counts).toMatchObject({ unchanged: 1, ended: 0, facts: 0 })
    const back = await load(client, adapterOf({}, SNAPSHOT), all, '2025-04-01')
    expect(back.counts).toMatchObject({ created: 0, changed: 3, ended: 0 })
    expect(await buildings(client, 'name,archived_at')).toMatchObject({ B: { archived_at: null } })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('does not end a row it could not read', async () => {
    const client = await newOrganization()
    await load(client, adapterOf({}, SNAPSHOT), `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
    const job = await load(
      client,
      adapterOf({}, SNAPSHOT),
      `${HEAD}A,Alpha,1\nB,Beta,x\n`,
      '2025-02-01',
    )
    expect(job.counts).toMatchObject({ unchanged: 1, quarantined: 1, ended: 0 })
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['A', 'B'])
  })
})

describe('beside the API', () => {
  it('the later statement wins, and the other is kept as a conflict', async () => {
    const client = await newOrganization()
    await load(client, adapterOf(), `${HEAD}A,Alpha,100\nB,Beta,200\n`, '2025-01-01')
    const [a, b] = [await idOf(client, 'A'), await idOf(client, 'B')]
    await client.patch(`/buildings/${a}`, { rentable_area: 111 })
    await load(client, adapterOf(), `${HEAD}A,Alpha,120\nB,Beta,220\n`, '2025-02-01')
    // What a person wrote today is later than what the file says of February.
    expect(await buildings(client, 'rentable_area')).toEqual({
      A: { rentable_area: 111 },
      B: { rentable_area: 220 },
    })
    const { body } = await client.get(`/grid/v2/objects/${a}/conflicts`)
    expect(JSON.stringify(body)).toMatch(/120/)
    expect((await client.get(`/grid/v2/objects/${b}/conflicts`)).body.data).toEqual([])
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('a source of a better rank wins whenever it speaks', async () => {
    const client = await newOrganization()
    const ranked = adapterOf({}, { source: { name: 'System of record', rank: 10 } })
    await load(client, ranked, `${HEAD}A,Alpha,100\n`, '2025-01-01')
    const id = await idOf(client, 'A')
    const patched = await client.patch(`/buildings/${id}`, { rentable_area: 111, year_built: 1990 })
    expect(patched.body).toMatchObject({ rentable_area: 100, year_built: 1990 })
    await load(client, ranked, `${HEAD}A,Alpha,120\n`, '2025-02-01')
    expect(await buildings(client, 'rentable_area')).toEqual({ A: { rentable_area: 120 } })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('what was deleted stays deleted', async () => {
    const client = await newOrganization()
    await load(client, adapterOf({}, SNAPSHOT), `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
    await client.delete(`/buildings/${await idOf(client, 'B')}`)
    const job = await load(
      client,
      adapterOf({}, SNAPSHOT),
      `${HEAD}A,Alpha,1\nB,Beta,9\n`,
      '2025-02-01',
    )
    expect(job.counts).toMatchObject({ created: 0, changed: 0, unchanged: 2, facts: 0 })
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['A'])
    const gone = await load(client, adapterOf({}, SNAPSHOT), `${HEAD}A,Alpha,1\n`, '2025-03-01')
    expect(gone.counts).toMatchObject({ unchanged: 1, ended: 0, facts: 0 })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('a chunk whose objects are changed meanwhile loses neither write', async () => {
    const client = await newOrganization()
    const rows = (area: number): string =>
      HEAD + Array.from({ length: 800 }, (_, i) => `K${i},N${i},${area + i}\n`).join('')
    await load(client, adapterOf(), rows(1), '2025-01-01')
    const ids = await Promise.all(['K0', 'K1', 'K2', 'K600'].map((code) => idOf(client, code)))
    const { body } = await sendJob(client, adapterOf(), fileOf(rows(5_000)), '2025-02-01')
    const state = { open: true }
    const writing = (async () => {
      let count = 0
      while (state.open || count === 0) {
        const patches = ids.map((id) =>
          client.patch(`/buildings/${id}`, { year_built: 1900 + (count % 100) }),
        )
        for (const { status } of await Promise.all(patches)) expect(status).toBe(200)
        count++
      }
      return count
    })()
    const job = await finished(client, body.id)
    state.open = false
    const count = await writing
    expect(job).toMatchObject({ state: 'completed', counts: { changed: 800 } })
    expect(await buildings(client, 'rentable_area,year_built', '&code=K600')).toEqual({
      K600: { rentable_area: 5_600, year_built: 1900 + ((count - 1) % 100) },
    })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

describe('external ids', () => {
  const map = {
    name: 'row.Name',
    code: 'row.Code',
    external_ids: { list: { system: { value: 'erp' }, id: 'row.Area' } },
  }

  it('that another object has are refused, row by row', async () => {
    const client = await newOrganization()
    const { body: property } = await client.post('/properties', samples.property())
    const external_ids = [{ system: 'erp', id: '7' }]
    await client.post('/buildings', { ...samples.building(property.id), external_ids })
    const csv = `${HEAD}A,Alpha,7\nB,Beta,8\nC,Gamma,8\nD,Delta,9\n`
    const job = await load(client, adapterOf({ map }), csv)
    expect(job.counts).toMatchObject({ created: 2, quarantined: 2, rows_valid: 2 })
    expect(await errorsOf(client, job)).toEqual([
      [2, 'external_ids', 'duplicate_external_id'],
      [4, 'external_ids', 'duplicate_external_id'],
    ])
    const found = await client.get('/buildings?external_id=erp:9')
    expect(found.body.data).toMatchObject([{ code: 'D' }])
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('move from one object to another in two loads', async () => {
    const client = await newOrganization()
    await load(client, adapterOf({ map }), `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
    await load(client, adapterOf({ map }), `${HEAD}A,Alpha,3\n`, '2025-02-01')
    const job = await load(client, adapterOf({ map }), `${HEAD}B,Beta,1\n`, '2025-03-01')
    expect(job.counts).toMatchObject({ changed: 1, quarantined: 0 })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

describe('related objects', () => {
  const sites = adapterOf({
    name: 'sites',
    type: 'property',
    map: { name: 'row.Name', code: 'row.Code' },
  })
  const csv = `Code,Name,Area,Site\nA,Alpha,1,S1\nB,Beta,2,S9\nC,Gamma,3,\n`
  const resolving = (missing: string, stub: object = {}): string =>
    adapterOf({
      resolve: {
        property_id: { type: 'property', stream: 'sites', value: 'row.Site', missing, ...stub },
      },
    })

  it('are found by the key they have in the source', async () => {
    const client = await newOrganization()
    await load(client, sites, 'Code,Name\nS1,North\nS9,South\n')
    const job = await load(client, resolving('error'), csv)
    expect(job.counts).toMatchObject({ created: 3, quarantined: 0, warnings: 0 })
    const { body } = await client.get('/buildings?expand=property&fields=code,property.code')
    const found = body.data.map((row: Record<string, { code: string } | null>) => [
      row['code'],
      row['property']?.code,
    ])
    expect(found).toEqual([
      ['A', 'S1'],
      ['B', 'S9'],
      ['C', undefined],
    ])
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('that are missing keep the row out', async () => {
    const client = await newOrganization()
    await load(client, sites, 'Code,Name\nS1,North\n')
    const job = await load(client, resolving('error'), csv)
    expect(job.counts).toMatchObject({ created: 2, quarantined: 1, rows_valid: 2, warnings: 0 })
    expect(await errorsOf(client, job)).toEqual([[3, 'property_id', 'unresolved_reference']])
    const { body } = await client.get(`/sdis/jobs/${job.id}/errors`)
    expect(body.data[0].raw).toMatchObject({ Code: 'B', Site: 'S9' })
  })

  it('that are missing are left blank, and found once they are there', async () => {
    const client = await newOrganization()
    await load(client, sites, 'Code,Name\nS1,North\n', '2025-01-01')
    const job = await load(client, resolving('blank'), csv, '2025-01-01')
    expect(job).toMatchObject({
      state: 'completed',
      counts: { created: 3, warnings: 1, quarantined: 0 },
    })
    await load(client, sites, 'Code,Name\nS9,South\n', '2025-01-01')
    const again = await load(client, resolving('blank'), csv, '2025-01-01')
    expect(again.counts).toMatchObject({ changed: 1, unchanged: 2, warnings: 0 })
    expect(again.changed_fields).toEqual({ property_id: 1 })
    const last = await load(client, resolving('blank'), csv, '2025-01-01')
    expect(last.counts).toMatchObject({ changed: 0, unchanged: 3, facts: 0 })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('that are missing are made, once each, and taken over by their own stream later', async () => {
    const client = await newOrganization()
    const stub = {
      stub: { name: `'Site ' + row.Site`, code: 'row.Site', status: { value: 'owned' } },
    }
    const many = Array.from({ length: 1_200 }, (_, i) => `K${i},N${i},1,S${i % 3}\n`).join('')
    const job = await load(
      client,
      resolving('create_stub', stub),
      `Code,Name,Area,Site\n${many}`,
      '2025-01-01',
    )
    expect(job.counts).toMatchObject({ created: 1_200, stubs: 3, quarantined: 0, warnings: 0 })
    const { body } = await client.get('/properties?sort=code&fields=code,name,status')
    expect(body.data).toMatchObject([
      { code: 'S0', name: 'Site S0', status: 'owned' },
      { code: 'S1', name: 'Site S1', status: 'owned' },
      { code: 'S2', name: 'Site S2', status: 'owned' },
    ])
    const owned = await load(client, sites, 'Code,Name\nS1,North\n', '2025-02-01')
    expect(owned.counts).toMatchObject({ created: 0, changed: 1 })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('that were deleted are not referred to any more', async () => {
    const client = await newOrganization()
    await load(client, sites, 'Code,Name\nS1,North\nS9,South\n', '2025-01-01')
    const { body } = await client.get('/properties?code=S9')
    await client.delete(`/properties/${body.data[0].id}`)
    for (const missing of ['blank', 'create_stub']) {
      const job = await load(client, resolving(missing), csv, '2025-01-01')
      expect(job.counts).toMatchObject({ warnings: 1, stubs: 0 })
      expect(await errorsOf(client, job)).toEqual([[3, 'property_id', 'unresolved_reference']])
    }
  })

  it('of one row may be missing in different ways', async () => {
    const client = await newOrganization()
    await load(client, sites, 'Code,Name\nS1,North\n')
    const adapter = adapterOf({
      name: 'leases',
      type: 'lease',
      map: { lease_number: 'row.Code' },
      resolve: {
        property_id: { type: 'property', stream: 'sites', value: 'row.Site', missing: 'blank' },
        building_id: {
          type: 'building',
          stream: 'buildings',
          value: 'row.Building',
          missing: 'error',
        },
      },
    })
    const job = await load(client, adapter, 'Code,Site,Building\nL1,S2,\nL2,S1,B1\n')
    expect(await errorsOf(client, job)).toEqual([
      [2, 'property_id', 'unresolved_reference'],
      [3, 'building_id', 'unresolved_reference'],
    ])
    expect(job.counts).toMatchObject({ created: 1, quarantined: 1, warnings: 1 })
  })
})
