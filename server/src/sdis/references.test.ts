/** Related objects of loaded records: how they are found, and what happens until they are there. */
import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { adapterOf, errorsOf, load } from './load-fixture.ts'

type Part = Record<string, unknown>

describe('related objects', () => {
  const sites = async (client: TestClient, rows: string): Promise<Part> =>
    await load(
      client,
      JSON.stringify({
        adapter: 'sites',
        source: { name: 'Test', kind: 'csv' },
        guards: { max_error_pct: 100 },
        streams: [
          {
            name: 'sites',
            type: 'property',
            key: 'row.Id',
            map: { name: 'row.Name', code: 'row.Code' },
          },
        ],
      }),
      `Id,Code,Name\n${rows}`,
    )
  const by = (rule: Part): string =>
    adapterOf({
      resolve: {
        property_id: { type: 'property', value: 'row.Site', missing: 'pending', ...rule },
      },
    })
  const csv = (site: string): string => `Code,Name,Area,Site\nA,Alpha,1,${site}\n`
  const site = async (client: TestClient): Promise<unknown> => {
    const { body } = await client.get('/buildings?expand=property')
    return body.data[0]?.property?.name ?? null
  }

  it.each<[string, Part, string]>([
    ['a field', { by: 'code' }, 'C-1'],
    ['one of several fields', { by: ['code', 'name'], value: ['row.Area', 'row.Site'] }, 'North'],
    ['the key in a stream', { stream: 'sites' }, '1'],
  ])('are found by %s', async (_, rule, value) => {
    const client = await newOrganization()
    await sites(client, '1,C-1,North\n2,C-2,South\n')
    const job = await load(client, by(rule), csv(value))
    expect(job.state).toBe('completed')
    expect(await site(client)).toBe('North')
  })

  it('that several may be are listed, and left open', async () => {
    const client = await newOrganization()
    await sites(client, '1,C-1,North\n2,C-1,South\n')
    const job = await load(client, by({ by: 'code' }), csv('C-1'))
    expect(await errorsOf(client, job)).toEqual([[2, 'property_id', 'ambiguous_reference']])
    expect(await site(client)).toBeNull()
  })

  it.each<[string, Part, string]>([
    ['by a field', { by: 'code' }, 'C-1'],
    ['by the key in a stream', { stream: 'sites' }, '1'],
  ])('that are not there are filled once they arrive, %s', async (_, rule, value) => {
    const client = await newOrganization()
    const job = await load(client, by(rule), csv(value), '2025-01-01')
    expect(job).toMatchObject({ state: 'completed', counts: { created: 1, warnings: 1 } })
    expect(await errorsOf(client, job)).toEqual([[2, 'property_id', 'unresolved_reference']])
    expect(await site(client)).toBeNull()
    await sites(client, '9,C-9,Elsewhere\n')
    expect(await site(client)).toBeNull()
    const arrived = await sites(client, '1,C-1,North\n')
    expect(arrived).toMatchObject({ state: 'completed' })
    expect(await site(client)).toBe('North')
    const { body } = await client.get('/buildings?as_of=2025-01-01&expand=property')
    expect(body.data[0].property.name).toBe('North')
    const again = await load(client, by(rule), csv(value), '2025-02-01')
    expect(again.counts).toMatchObject({ changed: 0, unchanged: 1, warnings: 0 })
  })
})

describe('one file with several kinds of objects', () => {
  const roll = [
    'Property,Unit,Tenant,Area',
    'Harbor Point,101,Acme,100',
    'Harbor Point,102,,200',
    'Mill Yard,1,Acme,300',
    'Mill Yard,2,Beta,400',
  ].join('\n')
  const from = (adapter: string, stream: Part, source: Part = {}): string =>
    JSON.stringify({
      adapter,
      source: { name: 'Rent roll', kind: 'csv', ...source },
      mode: 'full_snapshot',
      streams: [stream],
    })

  it('is loaded by an adapter for each, the rows of an object together', async () => {
    const client = await newOrganization()
    const adapters = [
      from('sites', {
        name: 'sites',
        type: 'property',
        key: 'row.Property',
        group: true,
        map: { name: 'row.Property' },
      }),
      from(
        'tenants',
        {
          name: 'tenants',
          type: 'party',
          key: 'row.Tenant',
          group: true,
          map: { kind: { value: 'company' }, legal_name: 'row.Tenant' },
        },
        { skip_rows_where: 'row.Tenant == null' },
      ),
      from(
        'leases',
        {
          name: 'leases',
          type: 'lease',
          key: "row.Property + '|' + row.Unit",
          map: { lease_number: "row.Property + '|' + row.Unit", rentable_area: 'row.Area' },
          resolve: {
            property_id: { type: 'property', stream: 'sites', value: 'row.Property' },
            tenant_party_id: { type: 'party', stream: 'tenants', value: 'row.Tenant' },
          },
        },
        { skip_rows_where: 'row.Tenant == null' },
      ),
    ]
    const jobs = []
    for (const adapter of adapters) jobs.push(await load(client, adapter, roll))
    expect(jobs.map(({ state, counts }) => [state, counts.created, counts.quarantined])).toEqual([
      ['completed', 2, 0],
      ['completed', 2, 0],
      ['completed', 3, 0],
    ])
    const { body } = await client.get('/leases?sort=lease_number&expand=tenant,property')
    const found = body.data.map((lease: Record<string, Part>) => [
      lease['property']?.['name'],
      lease['tenant']?.['legal_name'],
    ])
    expect(found).toEqual([
      ['Harbor Point', 'Acme'],
      ['Mill Yard', 'Acme'],
      ['Mill Yard', 'Beta'],
    ])
  })
})
