/** Valid bodies for creating one of each resource, parents first. */
import type { TestClient } from './grid.ts'

export const samples = {
  party: () => ({ kind: 'company', legal_name: 'Acme Legal LLP' }),
  property: () => ({
    name: 'Harbor Point',
    property_type: 'office',
    status: 'owned',
    address: {
      line1: '1 Harbor Street',
      city: 'Boston',
      region: 'US-MA',
      postal_code: '02110',
      country: 'US',
    },
    latitude: 42.36,
    longitude: -71.05,
    time_zone: 'America/New_York',
    currency: 'USD',
    area_unit: 'sqft',
  }),
  building: (property_id: string) => ({
    property_id,
    name: 'Tower A',
    code: 'HP-A',
    address: {
      line1: '1 Harbor Street',
      city: 'Boston',
      region: 'US-MA',
      postal_code: '02110',
      country: 'US',
    },
    rentable_area: 250000,
  }),
  lease: (property_id: string, tenant_party_id: string) => ({
    property_id,
    tenant_party_id,
    lease_type: 'direct',
    recovery_type: 'nnn',
    commencement_date: '2026-01-01',
    expiration_date: '2030-12-31',
    rentable_area: 5000,
  }),
  work_order: (property_id: string) => ({
    title: 'Too hot in suite 1200',
    property_id,
    type: 'corrective',
    category: 'hvac',
    priority: 'normal',
  }),
}

/** A property and a tenant to hang a lease on. */
export async function leaseParents(
  client: TestClient,
): Promise<{ property_id: string; tenant_party_id: string }> {
  const [property, tenant] = await Promise.all([
    client.post('/properties', samples.property()),
    client.post('/parties', samples.party()),
  ])
  return { property_id: property.body.id, tenant_party_id: tenant.body.id }
}
