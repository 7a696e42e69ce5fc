/** Every template, proved by a small report in the columns of its system: title above, totals below, vacant units between. */
import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../../../test/grid.ts'
import type { TestClient } from '../../../../test/grid.ts'
import { runJob } from '../../../../test/jobs.ts'
import { samples } from '../../../../test/samples.ts'
import { fileOf } from '../../load-fixture.ts'
import { buildWorkbook } from '../../readers/workbook-fixture.ts'
import { readAdapter } from '../../adapter.ts'
import { registry } from '../../../resources.ts'
import { TEMPLATES } from './templates.ts'

type Cells = (string | number | null)[]

const YARDI_ROLL: Cells[] = [
  ['Rent Roll'],
  ['As of 05/31/2026'],
  ['Property', 'Unit(s)', 'Lease', 'Area', 'Lease From', 'Lease To', 'Monthly Rent', 'Annual Rent'],
  ['HPC', '100', 'Acme Stores LLC (t0001001)', 1200, '01/01/2024', '12/31/2028', 3600, 43200],
  [null, '110', 'Bolt Cafe (t0001002)', 800, '03/15/2023', '03/14/2027', 2400, 28800],
  [null, '120', 'VACANT', 500, null, null, 0, 0],
  ['Total HPC', null, null, 2500, null, null, 6000, 72000],
]

const MRI_ROLL: Cells[] = [
  ['Tenancy Schedule'],
  [
    'Building ID',
    'Suite ID',
    'Lease ID',
    'Occupant Name',
    'Rent Start',
    'Expiration',
    'GLA Sqft',
    'Monthly Base Rent',
  ],
  ['HPC', '100', 'L100', 'Acme Stores', '1/1/2024', '12/31/2028', 1200, 3600],
  [null, '110', 'L110', 'Bolt Cafe', '3/15/2023', '3/14/2027', 800, 2400],
  [null, '120', null, 'Vacant', null, null, 500, null],
  ['Total Building', null, null, null, null, null, 2500, 6000],
]

const REALPAGE_ROLL: Cells[] = [
  ['Rent Roll Detail'],
  ['Property', 'HPC'],
  [
    'Unit',
    'Floorplan',
    'SQFT',
    'Unit/Lease Status',
    'Resident ID',
    'Name',
    'Move-In',
    'Lease Start',
    'Lease End',
    'Lease Rent',
  ],
  [
    '100',
    'A1',
    1200,
    'Occupied',
    'R1',
    'Acme Stores',
    '01/05/2024',
    '01/01/2024',
    '12/31/2028',
    3600,
  ],
  [
    '110',
    'A2',
    800,
    'Occupied-NTV',
    'R2',
    'Bolt Cafe',
    '03/15/2023',
    '03/15/2023',
    '03/14/2027',
    2400,
  ],
  ['120', 'A2', 500, 'Vacant', null, null, null, null, null, null],
  ['Totals', null, 2500, null, null, null, null, null, null, 6000],
]

const APPFOLIO_ROLL: Cells[] = [
  [
    'Property',
    'Unit',
    'BD/BA',
    'Tenant',
    'Status',
    'Sqft',
    'Market Rent',
    'Rent',
    'Deposit',
    'Lease From',
    'Lease To',
    'Move-in',
    'Move-out',
  ],
  [
    'HPC',
    '100',
    '--/--',
    'Acme Stores',
    'Current',
    '1,200',
    '3,700.00',
    '3,600.00',
    '0.00',
    '01/01/2024',
    '12/31/2028',
    '01/05/2024',
    null,
  ],
  [
    'HPC',
    '110',
    '--/--',
    'Bolt Cafe',
    'Notice-Unrented',
    '800',
    '2,500.00',
    '2,400.00',
    '0.00',
    '03/15/2023',
    '03/14/2027',
    '03/15/2023',
    null,
  ],
  [
    'HPC',
    '120',
    '--/--',
    null,
    'Vacant-Unrented',
    '500',
    '1,500.00',
    null,
    null,
    null,
    null,
    null,
    null,
  ],
  [
    'Total',
    null,
    null,
    null,
    null,
    '2,500',
    '7,700.00',
    '6,000.00',
    '0.00',
    null,
    null,
    null,
    null,
  ],
]

const ROLLS: Record<string, Cells[]> = {
  yardi: YARDI_ROLL,
  mri: MRI_ROLL,
  realpage: REALPAGE_ROLL,
  appfolio: APPFOLIO_ROLL,
}

const AGINGS: Record<string, Cells[]> = {
  yardi: [
    ['Aging Summary'],
    [
      'Property',
      'Unit',
      'Lease',
      'Total Unpaid Charges',
      '0-30 days',
      '31-60 days',
      '61-90 days',
      'Over 90 days',
    ],
    ['HPC', '100', 'Acme Stores LLC (t0001001)', 3600, 3600, 0, 0, 0],
    ['Grand Total', null, null, 3600, 3600, 0, 0, 0],
  ],
  mri: [
    [
      'Building ID',
      'Suite ID',
      'Lease ID',
      'Occupant Name',
      'Total',
      'Current',
      '30 Days',
      '60 Days',
      '90 Days',
    ],
    ['HPC', '100', 'L100', 'Acme Stores', 3600, 3600, 0, 0, 0],
    ['Total Building', null, null, null, 3600, 3600, 0, 0, 0],
  ],
  realpage: [
    ['Property', 'HPC'],
    ['Unit', 'Resident ID', 'Name', 'Total', 'Current', '31-60', '61-90', '90+'],
    ['100', 'R1', 'Acme Stores', 3600, 3600, 0, 0, 0],
    ['Totals', null, null, 3600, 3600, 0, 0, 0],
  ],
  appfolio: [
    ['Property', 'Unit', 'Payer Name', 'Amount Receivable', '0-30', '31-60', '61-90', '91+'],
    ['HPC', '100', 'Acme Stores', '3,600.00', '3,600.00', '0.00', '0.00', '0.00'],
    ['Total', null, null, '3,600.00', '3,600.00', '0.00', '0.00', '0.00'],
  ],
}

const CHARGES: Record<string, Cells[]> = {
  yardi: [
    ['Lease Charges'],
    [
      'Property',
      'Unit',
      'Lease',
      'Charge Code',
      'Description',
      'From Date',
      'To Date',
      'Amount',
      'Frequency',
    ],
    [
      'HPC',
      '100',
      'Acme Stores LLC (t0001001)',
      'rent',
      'Base rent',
      '01/01/2024',
      '12/31/2024',
      3600,
      'Monthly',
    ],
    [null, null, null, 'cam', 'CAM estimate', '01/01/2024', null, 412.5, 'Monthly'],
    [null, null, null, 'xyz', 'Something else', '01/01/2024', null, 10, 'Quarterly'],
    ['Total HPC', null, null, null, null, null, null, 4022.5, null],
  ],
  mri: [
    [
      'Building ID',
      'Suite ID',
      'Lease ID',
      'Occupant Name',
      'Income Category',
      'Description',
      'Effective Date',
      'End Date',
      'Amount',
      'Frequency',
    ],
    ['HPC', '100', 'L100', 'Acme Stores', 'RNT', 'Base rent', '1/1/2024', '12/31/2024', 3600, 'M'],
    [null, null, null, null, 'CAM', 'CAM estimate', '1/1/2024', null, 412.5, 'M'],
    [null, null, null, null, 'XYZ', 'Something else', '1/1/2024', null, 10, 'Q'],
    ['Total Building', null, null, null, null, null, null, null, 4022.5, null],
  ],
  realpage: [
    ['Property', 'HPC'],
    [
      'Unit',
      'Resident ID',
      'Name',
      'Trans Code',
      'Description',
      'Begin Date',
      'End Date',
      'Amount',
      'Frequency',
    ],
    ['100', 'R1', 'Acme Stores', 'RENT', 'Base rent', '01/01/2024', '12/31/2024', 3600, 'Monthly'],
    [null, null, null, 'CAM', 'CAM estimate', '01/01/2024', null, 412.5, 'Monthly'],
    [null, null, null, 'XYZ', 'Something else', '01/01/2024', null, 10, 'Quarterly'],
  ],
  appfolio: [
    [
      'Property',
      'Unit',
      'Tenant',
      'Charge',
      'Description',
      'Start Date',
      'End Date',
      'Amount',
      'Frequency',
    ],
    [
      'HPC',
      '100',
      'Acme Stores',
      'Rent',
      'Base rent',
      '01/01/2024',
      '12/31/2024',
      '3,600.00',
      'Monthly',
    ],
    ['HPC', '100', 'Acme Stores', 'CAM', 'CAM estimate', '01/01/2024', null, '412.50', 'Monthly'],
    [
      'HPC',
      '100',
      'Acme Stores',
      'XYZ',
      'Something else',
      '01/01/2024',
      null,
      '10.00',
      'Quarterly',
    ],
  ],
}

/** A report as the system exports it. */
function report(system: string, rows: Cells[]): { name: string; bytes: Uint8Array<ArrayBuffer> } {
  if (system !== 'appfolio')
    return {
      name: 'report.xlsx',
      bytes: new Uint8Array(buildWorkbook({ sheets: [{ name: 'Report1', rows }] })),
    }
  const line = (cells: Cells): string => cells.map((cell) => `"${cell ?? ''}"`).join(',')
  return fileOf(rows.map(line).join('\r\n'))
}

const SYSTEMS = Object.keys(ROLLS)

async function template(client: TestClient, id: string): Promise<string> {
  const { status, body } = await client.get(`/sdis/adapters/templates/${id}`)
  expect(status).toBe(200)
  return JSON.stringify(body.document)
}

describe.each(SYSTEMS)('the templates of %s', (system) => {
  it('load a rent roll, then what is owed and what is charged on the same leases', async () => {
    const client = await newOrganization()
    const { body: property } = await client.post('/properties', {
      ...samples.property(),
      code: 'HPC',
    })
    const run = async (kind: string, rows: Cells[]): Promise<Record<string, number>> => {
      const adapter = await template(client, `tpl_${system}-${kind}`)
      const job = await runJob(client, adapter, report(system, rows), '2026-05-31')
      const { body: errors } = await client.get(`/sdis/jobs/${job.id}/errors`)
      expect(errors.data).toEqual([])
      expect(job.state).toBe('completed')
      return job.counts
    }

    expect(await run('rent-roll', ROLLS[system] as Cells[])).toMatchObject({
      created: 2,
      quarantined: 0,
    })
    const { body: leases } = await client.get('/leases?sort=rentable_area&expand=tenant')
    expect(leases.data).toMatchObject([
      { status: 'active', rentable_area: 800, property_id: property.id },
      {
        status: 'active',
        property_id: property.id,
        commencement_date: '2024-01-01',
        expiration_date: '2028-12-31',
        rentable_area: 1200,
        area_unit: 'sqft',
        premises: [{ label: '100' }],
        rent_schedule: [{ kind: 'base', amount_monthly: '3600.00' }],
      },
    ])
    const { body: tenants } = await client.get('/parties?sort=legal_name')
    const names = tenants.data.map(({ legal_name }: { legal_name: string }) => legal_name)
    expect(names).toEqual([expect.stringMatching(/^Acme Stores/), 'Bolt Cafe'])

    expect(await run('ar-aging', AGINGS[system] as Cells[])).toMatchObject({ created: 0 })
    expect(await run('charge-schedule', CHARGES[system] as Cells[])).toMatchObject({ created: 0 })
    const { body: charged } = await client.get(`/leases/${leases.data[1].id}`)
    expect(charged.charges).toMatchObject([
      { category: 'base_rent', amount: '3600.00', frequency: 'monthly', end_date: '2024-12-31' },
      { category: 'cam', amount: '412.50', frequency: 'monthly', start_date: '2024-01-01' },
      { category: 'other', amount: '10.00', frequency: 'quarterly' },
    ])
  })
})

describe('GET /sdis/adapters/templates', () => {
  it('lists them all, and each can be kept as it is', async () => {
    const client = await newOrganization()
    const { body } = await client.get('/sdis/adapters/templates')
    expect(body.data).toHaveLength(12)
    for (const { id } of body.data) {
      const { body: one } = await client.get(`/sdis/adapters/templates/${id}`)
      expect(await client.post('/sdis/adapters', { document: one.document })).toMatchObject({
        status: 201,
      })
    }
  })

  it.each([
    ['tpl_nothing', 404],
    ['yardi', 422],
  ])('%s answers %i', async (id, status) => {
    const client = await newOrganization()
    expect((await client.get(`/sdis/adapters/templates/${id}`)).status).toBe(status)
  })
})

describe('what templates say of fields of your own', () => {
  it('are entries that pass once the fields are there', () => {
    for (const { document, own_fields } of TEMPLATES) {
      if (own_fields.length === 0) continue
      const [stream] = document['streams'] as [{ map: object }]
      const entries = own_fields.map(({ name, entry }) => [`ext.${name}`, entry])
      const map = { ...stream.map, ...Object.fromEntries(entries) }
      const full = { ...document, streams: [{ ...stream, map }] }
      const money = registry.get('lease')?.fields['ti_allowance']
      const added = Object.fromEntries(own_fields.map(({ name }) => [name, money]))
      const ext = new Map([['lease', added]]) as never
      expect(readAdapter(JSON.stringify(full), registry, ext).streams[0]?.map).toEqual(map)
    }
  })
})
