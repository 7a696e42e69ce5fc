/** The energy of a city's buildings, as published: every figure of the file is a fact, with its unit. */
import { readFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { runJob } from '../../test/jobs.ts'

const FOLDER = new URL('../../../examples/seattle-energy/', import.meta.url).pathname
const FILE = `${FOLDER}data/seattle-energy-2016.csv`

const FIGURES = {
  site_energy_use: 'SiteEnergyUse(kBtu)',
  electricity_use: 'Electricity(kWh)',
  natural_gas_use: 'NaturalGas(therms)',
  steam_use: 'SteamUse(kBtu)',
  ghg_emissions: 'TotalGHGEmissions',
  ghg_intensity: 'GHGEmissionsIntensity',
  energy_star_score: 'ENERGYSTARScore',
  gross_area: 'PropertyGFATotal',
}

test(
  'the buildings of Seattle have the energy that the city says',
  { timeout: 60_000 },
  async () => {
    const client = await newOrganization()
    const adapter = await readFile(`${FOLDER}buildings.yaml`, 'utf8')
    const job = await runJob(client, adapter, FILE)
    expect(job).toMatchObject({
      as_of: '2016-12-31',
      counts: { rows_total: 3_376, created: 3_376, quarantined: 0 },
    })

    const rows = parse(await readFile(FILE), { columns: true, bom: true }) as Record<
      string,
      string
    >[]
    const expected = new Map(rows.map((row) => [row['OSEBuildingID'], row]))
    const fields = ['code', 'site_eui', 'primary_use', ...Object.keys(FIGURES)].join(',')
    let path = `/buildings?limit=200&fields=${fields}`
    let seen = 0
    while (path) {
      const { body } = await client.get(path)
      for (const building of body.data) {
        const row = expected.get(building.code) ?? {}
        for (const [field, column] of Object.entries(FIGURES)) {
          const cell = row[column]?.replaceAll(',', '')
          expect([building.code, field, building[field]]).toEqual([
            building.code,
            field,
            cell && cell !== 'NULL' ? Number(cell) : null,
          ])
        }
        seen++
      }
      path = body.next_cursor
        ? `/buildings?limit=200&fields=${fields}&cursor=${encodeURIComponent(body.next_cursor)}`
        : ''
    }
    expect(seen).toBe(3_376)

    const [hotel] = (await client.get('/buildings?code=1')).body.data
    expect(hotel).toMatchObject({
      name: 'Mayflower park hotel',
      primary_use: 'hospitality',
      site_eui: 81.7,
      floors_above_ground: 12,
      address: { city: 'Seattle', region: 'US-WA', postal_code: '98101' },
    })
    const again = await runJob(client, adapter, FILE)
    expect(again.counts).toMatchObject({ facts: 0, changed: 0 })
  },
)
