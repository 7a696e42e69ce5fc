/** Every template, proved by a small report in the columns of its system: title above, totals below, vacant units between. */
import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../../../test/grid.ts'
import type { TestClient } from '../../../../test/grid.ts'
import { runJob } from '../../../../test/jobs.ts'
import { samples } from '../../../../test/samples.ts'
import type { Field } from '../../../kit/field.ts'
import { deployOperations } from '../../../schema/schema-fixture.ts'
import { readAdapter } from '../../adapter.ts'
import type { ExtFields } from '../../adapter.ts'
import { registry } from '../../../resources.ts'
import { AGINGS, CHARGES, report, ROLLS } from './report-fixture.ts'
import type { Cells } from './report-fixture.ts'
import { TEMPLATES } from './templates.ts'
import type { OwnField } from './templates.ts'

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
      const field = registry.get('lease')?.fields['ti_allowance'] as Field
      const added = Object.fromEntries(own_fields.map(({ name }) => [name, { key: name, field }]))
      const ext: ExtFields = new Map([['lease', added]])
      expect(readAdapter(JSON.stringify(full), registry, ext).streams[0]?.map).toEqual(map)
    }
  })
})

describe('what tenants owe', () => {
  it('lands on the leases of the rent roll, in fields of the organization', async () => {
    const client = await newOrganization()
    const { body } = await client.get('/sdis/adapters/templates/tpl_yardi-ar-aging')
    const { document, own_fields } = body
    const operations = own_fields.map(({ type, name, value_type, label }: OwnField) => {
      const named = { object_type: type, api_name: name, label }
      return { op: 'add_attribute', ...named, type: value_type, currency: 'USD' }
    })
    await deployOperations(client, operations)
    await runJob(
      client,
      await template(client, 'tpl_yardi-rent-roll'),
      report('yardi', ROLLS['yardi'] as Cells[]),
    )
    const map = Object.fromEntries(
      own_fields.map(({ name, entry }: OwnField) => [`ext.${name}`, entry]),
    )
    const [stream] = document.streams
    const full = { ...document, streams: [{ ...stream, map: { ...stream.map, ...map } }] }
    const job = await runJob(
      client,
      JSON.stringify(full),
      report('yardi', AGINGS['yardi'] as Cells[]),
    )
    expect(job).toMatchObject({ state: 'completed', counts: { created: 0 } })
    const { body: leases } = await client.get('/leases?lease_number=t0001001')
    expect(leases.data[0].ext).toMatchObject({
      ar_total: { amount: '3600.00', currency: 'USD' },
      ar_over_90: { amount: '0.00', currency: 'USD' },
    })
  })
})
