/** Valid bodies for creating one of each resource, parents first. */
import type { Resource, Row } from '../src/kit/resource.ts'
import { create } from '../src/kit/write.ts'
import { bareStore, SYSTEM } from '../src/organizations/service.ts'
import { resources } from '../src/resources.ts'
import { grid } from './grid.ts'
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
  contact: (party_id: string) => ({ party_id, first_name: 'Dana', last_name: 'Okafor' }),
  floor: (building_id: string) => ({ building_id, label: '12', level_number: 12 }),
  space: (building_id: string, floor_id: string) => ({
    building_id,
    floor_ids: [floor_id],
    suite: '1200',
    space_type: 'office',
    rentable_area: 8600,
  }),
  document: () => ({ title: 'Office lease, suite 1200', document_type: 'lease' }),
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

/** Ids of one object of each type, by resource name. */
export type Ids = Readonly<Record<string, string>>

/** A valid body for each resource, given the ids of what it refers to. */
const bodies: Record<string, (ids: Ids) => Row> = {
  party: () => samples.party(),
  contact: (ids) => samples.contact(ids['party'] as string),
  property: () => samples.property(),
  building: (ids) => samples.building(ids['property'] as string),
  floor: (ids) => samples.floor(ids['building'] as string),
  space: (ids) => samples.space(ids['building'] as string, ids['floor'] as string),
  lease: (ids) => samples.lease(ids['property'] as string, ids['party'] as string),
  document: () => samples.document(),
  work_order: (ids) => samples.work_order(ids['property'] as string),
}

/** A body that creates the resource. */
export function sampleOf(resource: Resource, ids: Ids): Row {
  return (bodies[resource.name] as (ids: Ids) => Row)(ids)
}

/** One object of every type in the client's organization, itself included. */
export async function portfolio(client: TestClient): Promise<Ids> {
  const ids: Record<string, string> = { organization: client.organization_id }
  for (const resource of resources) {
    if (resource.name === 'organization') continue
    ids[resource.name] = await insert(client.org_id, resource, sampleOf(resource, ids))
  }
  return ids
}

/** Creates an object without HTTP, whatever its endpoints ask for. @returns its id. */
export async function insert(org_id: number, resource: Resource, input: Row): Promise<string> {
  const { db } = await grid()
  const defaults = { currency: 'USD', area_unit: 'sqft', time_zone: 'America/New_York' }
  const { body } = await create(bareStore(db), resource, { org_id, actor: SYSTEM, defaults }, input)
  return (JSON.parse(body) as { id: string }).id
}
