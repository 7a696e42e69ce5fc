/** A new user's way with a real file, by API calls alone: from a sample to an adapter that is live, and a job by its name. */
import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from 'vitest'
import { newOrganization } from '../../../test/grid.ts'
import type { Answer } from '../../../test/grid.ts'
import { finished } from '../../../test/jobs.ts'
import { dryRun } from './adapter-fixture.ts'

const FILE = new URL(
  '../../../../examples/seattle-energy/data/seattle-energy-2016.csv',
  import.meta.url,
).pathname

it('3,376 buildings of Seattle, their energy figures as facts', async () => {
  const client = await newOrganization()
  const send = async (path: string, fields: Record<string, string> = {}): Promise<Answer> => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('file', await openAsBlob(FILE), basename(FILE))
    return await client.post(path, form)
  }

  const known = { source: 'Seattle benchmarking', name: 'seattle-energy' }
  const { body: proposal } = await send('/sdis/adapters/infer', known)
  const { document } = proposal
  const { body: adapter } = await client.post('/sdis/adapters', { document })
  const path = `/sdis/adapters/${adapter.id}`
  const preview = await send(`${path}/preview`)
  expect(preview.body.counts).toEqual({ rows: 100, records: 100, errors: 0, warnings: 0 })
  expect(preview.body.rows[0]).toMatchObject({
    row: 2,
    raw: { PropertyName: 'Mayflower park hotel', PropertyGFATotal: '88,434' },
    mapped: [{ key: '1', values: { name: 'Mayflower park hotel', gross_area: 88_434 } }],
    issues: [],
  })
  expect(await client.post(`${path}/versions/1/test`, {})).toMatchObject({ status: 200 })
  const diff = await dryRun(client, adapter.id, { version: '1', file: await openAsBlob(FILE) })
  expect((await client.get('/buildings?limit=1')).body.data).toEqual([])
  const promotion = { version: 1, ...diff }
  expect(await client.post(`${path}/promote`, promotion)).toMatchObject({ status: 200 })
  const sent = await send('/sdis/jobs', { adapter: 'seattle-energy', as_of: '2016-12-31' })
  const job = await finished(client, sent.body.id)
  expect(job).toMatchObject({
    state: 'completed',
    adapter_id: adapter.id,
    adapter_version: 1,
    counts: { rows_read: 3_376, rows_valid: 3_376, quarantined: 0, warnings: 0, created: 3_376 },
  })

  const { body: buildings } = await client.get('/buildings?code=1&include=total_count')
  expect(buildings.data).toMatchObject([
    {
      name: 'Mayflower park hotel',
      primary_use: 'hospitality',
      year_built: 1927,
      floors_above_ground: 12,
      gross_area: 88_434,
      area_unit: 'sqft',
      energy_star_score: 60,
      site_eui: 81.69999695,
      source_eui: 182.5,
      ghg_intensity: 2.83,
      site_energy_use: 7_226_362.5,
      electricity_use: 1_156_514.25,
      natural_gas_use: 12_764.53,
      address: { line1: '405 Olive way', city: 'Seattle', region: 'US-WA', postal_code: '98101' },
    },
  ])
  const [{ id }] = buildings.data
  const { body: facts } = await client.get(`/grid/v2/objects/${id}/facts?field=site_eui`)
  expect(facts.data[0]).toMatchObject({
    field: 'site_eui',
    value: 81.69999695,
    source: { name: 'Seattle benchmarking', row: 2 },
  })
}, 120_000)
