/** Adapters proposed from samples: real files of public record, files of other habits, files of nonsense. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newOrganization } from '../../../../test/grid.ts'
import type { Answer, TestClient } from '../../../../test/grid.ts'
import { registry } from '../../../resources.ts'
import { readAdapter } from '../../adapter.ts'
import type { Columns } from '../../sample.ts'
import { propose } from './proposal.ts'

const EXAMPLES = new URL('../../../../../examples/', import.meta.url).pathname
const SEATTLE = `${EXAMPLES}seattle-energy/data/seattle-energy-2016.csv`

interface Mapped {
  field: string
  column: string | null
  confidence: number
}

let client: TestClient
let folder: string
beforeAll(async () => {
  client = await newOrganization()
  folder = await mkdtemp(join(tmpdir(), 'infer-'))
})
afterAll(async () => await rm(folder, { recursive: true }))

/** What is proposed for a file, or for a text. */
async function inferred(file: string, fields: Record<string, string> = {}): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  if (file.includes('\n')) form.set('file', new Blob([file]), fields['file'] ?? 'table.csv')
  else form.set('file', await openAsBlob(file), basename(file))
  return await client.post('/sdis/adapters/infer', form)
}

/** Which column fills which field. */
function columnsOf({ body }: Answer): Record<string, string | null> {
  const mapping = body.mapping as Mapped[]
  return Object.fromEntries(mapping.map(({ field, column }) => [field, column]))
}

describe('the proposal for a real file', () => {
  it('of buildings with energy figures reads each by its name and unit', async () => {
    const answer = await inferred(SEATTLE)
    expect(answer.status).toBe(200)
    const { body } = answer
    expect(body).toMatchObject({
      object: 'adapter_proposal',
      type: { value: 'building' },
      key: { expression: 'row.OSEBuildingID', group: false },
      check: { rows: 100, records: 100, errors: 0 },
      document: {
        source: { kind: 'csv' },
        locale: { decimal: '.', thousands: ',', nulls: ['', 'NULL'] },
        mode: 'upsert',
      },
    })
    expect(columnsOf(answer)).toMatchObject({
      name: 'PropertyName',
      code: 'OSEBuildingID',
      'address.line1': 'Address',
      'address.city': 'City',
      'address.region': 'State',
      'address.postal_code': 'ZipCode',
      year_built: 'YearBuilt',
      floors_above_ground: 'NumberofFloors',
      gross_area: 'PropertyGFATotal',
      energy_star_score: 'ENERGYSTARScore',
      site_eui: 'SiteEUI(kBtu/sf)',
      source_eui: 'SourceEUI(kBtu/sf)',
      site_energy_use: 'SiteEnergyUse(kBtu)',
      electricity_use: 'Electricity(kWh)',
      natural_gas_use: 'NaturalGas(therms)',
      ghg_emissions: 'TotalGHGEmissions',
      ghg_intensity: 'GHGEmissionsIntensity',
      area_unit: null,
    })
    for (const { confidence, reason } of body.mapping) {
      expect(confidence).toBeGreaterThanOrEqual(0.5)
      expect(confidence).toBeLessThanOrEqual(1)
      expect(reason).not.toBe('')
    }
    const left = body.unmapped.map(({ column }: { column: string }) => column)
    expect(left).toEqual(expect.arrayContaining(['Comments', 'Outlier', 'SiteEUIWN(kBtu/sf)']))
    expect(body.missing).toEqual(['property_id', 'rentable_area'])
  })

  it('of an inventory of buildings knows zeros for areas and NA for blanks', async () => {
    const answer = await inferred(`${EXAMPLES}gsa-iolp/data/iolp-buildings-2025-05.xlsx`)
    expect(answer.body).toMatchObject({
      type: { value: 'building' },
      key: { expression: 'row["Location Code"]' },
      document: { source: { kind: 'xlsx' }, locale: { nulls: ['', 'NA'] } },
    })
    expect(answer.body.document.streams[0].map).toMatchObject({
      rentable_area: { from: 'row["Building Rentable Square Feet"]', nulls: ['0'] },
      address: { object: { region: "'US-' + row.State", country: { value: 'US' } } },
      area_unit: { value: 'sqft' },
    })
  })

  it('of leases puts the rows of a lease together and finds its building', async () => {
    const answer = await inferred(`${EXAMPLES}gsa-iolp/data/iolp-leases-2025-05.xlsx`, {
      source: 'GSA IOLP',
      name: 'gsa-leases',
    })
    expect(answer.body).toMatchObject({
      type: { value: 'lease' },
      key: { expression: 'row["Lease Number"]', group: true },
      document: { adapter: 'gsa-leases', source: { name: 'GSA IOLP' } },
    })
    expect(answer.body.document.streams[0].resolve).toMatchObject({
      building_id: {
        by: ['code', 'name'],
        value: ['row["Location Code"]', 'row["Location Code"]'],
      },
    })
    expect(columnsOf(answer)).toMatchObject({
      lease_number: 'Lease Number',
      commencement_date: 'Lease Effective Date',
      expiration_date: 'Lease Expiration Date',
    })
  })
})

/** Files of one habit each, and what of the proposal shows that it was understood. */
const HABITS: [string, string, Record<string, unknown>][] = [
  [
    'a German list of leases',
    'Vertrag Nr;Mieter;Fläche m2;Mietbeginn;Mietende;Miete\nV-1;Bäckerei Nord;1.250,50;01.02.2024;31.01.2029;12.400,00\nV-2;Optik Süd;80,25;15.03.2023;14.03.2028;1.900,50\nV-3;Post;410,00;01.01.2020;31.12.2030;5.120,00\n',
    {
      locale: { decimal: ',', thousands: '.', date: ['dd.MM.yyyy'] },
      streams: [
        {
          type: 'lease',
          key: 'row["Vertrag Nr"]',
          map: {
            area_unit: { value: 'sqm' },
            rentable_area: { from: 'row["Fläche m2"]' },
            commencement_date: { from: 'row.Mietbeginn' },
            rent_schedule: { list: { amount_monthly: { from: 'row.Miete' } } },
          },
          resolve: { tenant_party_id: { value: 'row.Mieter', missing: 'create_stub' } },
        },
      ],
    },
  ],
  [
    'a rent roll without a lease number',
    'Property,Unit,Lessee,Sq Ft,Lease From,Lease To,Monthly Rent,Status\nP1,101,Acme,"1,200",01/15/2024,01/14/2029,"$3,600.00",Current\nP1,102,Bolt,900,03/01/2023,02/28/2026,"$2,250.00",Current\nP2,101,Core,"2,400",12/31/2022,12/30/2027,"$6,000.00",Past\n',
    {
      locale: { date: ['MM/dd/yyyy'] },
      streams: [
        {
          type: 'lease',
          key: "row.Property + '|' + row.Unit",
          map: {
            currency: { value: 'USD' },
            status: { options: { Current: 'active', Past: 'expired' } },
            premises: { list: { label: 'row.Unit' } },
          },
          resolve: { tenant_party_id: { value: 'row.Lessee' } },
        },
      ],
    },
  ],
  [
    'a report with totals, each property once above its units',
    'Property,Unit,Lessee,Sq Ft,Lease From,Lease To,Monthly Rent\nHarbor,101,Acme,1200,01/15/2024,01/14/2029,3600\n,102,Bolt,900,03/01/2023,02/28/2026,2250\nTotal Harbor,,,2100,,,5850\nPier,101,Core,2400,12/31/2022,12/30/2027,6000\n,102,Dent,800,12/31/2022,12/30/2027,1800\nGrand Total,,,5300,,,13650\n',
    {
      source: {
        fill_down: ['Property'],
        skip_rows_where:
          "lower(row.Property).startsWith('total') || lower(row.Property).startsWith('grand total')",
      },
      streams: [{ type: 'lease', key: "row.Property + '|' + row.Unit" }],
    },
  ],
  [
    'a list of vendors',
    'Vendor No\tVendor Name\tEmail Address\tPhone\n1\tHill Electric\ta@hill.example\t555-0101\n2\tMoss Roofing\tb@moss.example\t555-0102\n',
    {
      streams: [
        {
          type: 'party',
          key: 'row["Vendor No"]',
          map: { kind: { value: 'company' }, legal_name: 'row["Vendor Name"]' },
        },
      ],
    },
  ],
  [
    'a list of suites',
    'Bldg,Suite #,RSF,USF,Use Type,Asking Rent PSF\nB1,100,1200,1000,Office,31.5\nB1,200,2400,2100,Retail,40\nB2,100,900,800,Storage,12\n',
    {
      streams: [
        {
          type: 'space',
          key: `row.Bldg + '|' + row["Suite #"]`,
          map: { rentable_area: { from: 'row.RSF' }, usable_area: { from: 'row.USF' } },
          resolve: { building_id: { by: ['code', 'name'], missing: 'pending' } },
        },
      ],
    },
  ],
]

describe('the proposal for', () => {
  it.each(HABITS)('%s', async (_, text, document) => {
    const answer = await inferred(text)
    expect(answer.status).toBe(200)
    expect(answer.body.document).toMatchObject(document)
    expect(answer.body.check).toMatchObject({ errors: 0 })
    const kept = { ...answer.body.document, adapter: `habit-${text.length}` }
    expect(await client.post('/sdis/adapters', { document: kept })).toMatchObject({ status: 201 })
  })

  it('text in Windows-1252 states its encoding', async () => {
    const file = join(folder, 'alt.csv')
    await writeFile(file, Buffer.from('Code,Name\nA,Caf\u00e9\nB,Bar\n', 'latin1'))
    const answer = await inferred(file, { type: 'building' })
    expect(answer.body.document.source).toMatchObject({ encoding: 'windows-1252' })
  })

  it('a type that is given keeps to it', async () => {
    const answer = await inferred('Code,Name\nA,Alpha\nB,Beta\n', { type: 'property' })
    expect(answer.body).toMatchObject({ type: { value: 'property', confidence: 1 } })
  })
})

describe('a sample is refused', () => {
  it.each<[string, unknown, number, object]>([
    ['without a text', {}, 422, { errors: [{ field: 'inline' }] }],
    [
      'with a type of nothing',
      { inline: 'A\n1\n', type: 'invoice' },
      422,
      { errors: [{ field: 'type' }] },
    ],
    [
      'with fields of its own',
      { inline: 'A\n1\n', as_of: 'x' },
      422,
      { errors: [{ field: 'as_of' }] },
    ],
    ['without rows', { inline: 'Code,Name\n' }, 422, { code: 'invalid_file' }],
    [
      'that is no table',
      { inline: '<!doctype html><table></table>' },
      422,
      { code: 'invalid_file', file_error: { code: 'not_a_csv' } },
    ],
  ])('%s', async (_, body, status, problem) => {
    const answer = await client.post('/sdis/adapters/infer', body)
    expect(answer).toMatchObject({ status, body: problem })
  })

  it.each<[string, Record<string, string>, string]>([
    ['an unknown part', { color: 'red' }, 'color'],
    ['a name that is none', { name: 'My Adapter' }, 'name'],
  ])('with %s in its form', async (_, fields, field) => {
    const answer = await inferred('A\n1\n', fields)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field }] } })
  })
})

const cell = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom('', 'N/A', '01/02/2024', '1,234.50', '5%', '$3', 'true', null, 0, '\u0000', '"'),
)

const tables = fc
  .array(
    fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom(
        'Lease No',
        'row',
        'in',
        'a"b',
        "it's",
        'x\\y',
        'Tenant',
        'Sq Ft',
        'Unit',
        '#',
      ),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .chain((names) =>
    fc.record({
      names: fc.constant([...new Set(names)]),
      rows: fc.array(fc.array(cell, { minLength: 8, maxLength: 8 }), {
        minLength: 1,
        maxLength: 6,
      }),
    }),
  )

describe('whatever a file holds', () => {
  it('the document proposed is one that can be kept', async () => {
    await fc.assert(
      fc.asyncProperty(tables, async ({ names, rows }) => {
        const columns: Columns = {
          source: { kind: 'csv' },
          header_row: 1,
          rows: rows.length,
          complete: true,
          columns: names.map((name, i) => {
            const values = rows.map((row) => row[i] ?? null)
            const filled = values.filter((value) => value !== null && String(value).trim() !== '')
            return { name, values: filled, blank: values.length - filled.length }
          }),
        }
        const usable = columns.columns.some(({ name, values }) => name !== '' && values.length > 0)
        fc.pre(usable)
        const proposal = await propose(columns, registry, { file_name: 'any.csv' })
        fc.pre(proposal !== null)
        const document = JSON.stringify(proposal['document'])
        expect(readAdapter(document, registry).streams).toHaveLength(1)
      }),
      { numRuns: 60 },
    )
  })
})
