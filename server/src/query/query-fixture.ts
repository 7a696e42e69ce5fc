/** A small portfolio to ask about: two properties, three leases, amounts in two currencies. */
import { newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { insert, samples } from '../../test/samples.ts'
import type { Row } from '../kit/resource.ts'
import { registry } from '../resources.ts'

export interface Asked {
  client: TestClient
  parties: string[]
  properties: string[]
  leases: string[]
}

async function add({ org_id }: TestClient, name: string, row: Row): Promise<string> {
  return await insert(org_id, registry.get(name) as never, row)
}

export async function askedPortfolio(): Promise<Asked> {
  const client = await newOrganization()
  const parties = [
    await add(client, 'party', {
      ...samples.party(),
      legal_name: 'Acme Legal LLP',
      industry_code: '54',
    }),
    await add(client, 'party', {
      ...samples.party(),
      legal_name: 'Zenith GmbH',
      industry_code: '33',
    }),
  ]
  const address = { ...samples.property().address, city: 'Berlin', region: 'DE-BE', country: 'DE' }
  const properties = [
    await add(client, 'property', samples.property()),
    await add(client, 'property', {
      ...samples.property(),
      name: 'Spreeufer',
      address,
      currency: 'EUR',
    }),
  ]
  const lease = async (property: number, party: number, more: Row): Promise<string> =>
    await add(client, 'lease', {
      ...samples.lease(properties[property] as string, parties[party] as string),
      ...more,
    })
  const leases = [
    await lease(0, 0, {
      rentable_area: 5000,
      ti_allowance: '1000.10',
      currency: 'USD',
      tags: ['core'],
    }),
    await lease(0, 1, {
      rentable_area: 7000.5,
      ti_allowance: '250000.20',
      currency: 'USD',
      expiration_date: '2028-06-30',
    }),
    await lease(1, 1, { rentable_area: 300, currency: 'EUR', expiration_date: '2027-03-31' }),
  ]
  return { client, parties, properties, leases }
}
