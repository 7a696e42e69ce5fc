import { knownCurrency, knownTimeZone, notBefore } from '../kit/checks.ts'
import {
  area,
  choice,
  date,
  integer,
  list,
  money,
  number,
  object,
  percent,
  reference,
  text,
  texts,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import type { Issue } from '../kit/errors.ts'
import { defineResource } from '../kit/resource.ts'
import type { RowOf } from '../kit/resource.ts'
import {
  addressExample,
  addressFields,
  areaUnit,
  currency,
  PROPERTY_TYPES,
} from '../kit/vocabulary.ts'
import type { ItemOf } from '../kit/vocabulary.ts'

const PROPERTY_SUBTYPES = [
  'cbd_office',
  'suburban_office',
  'flex',
  'bulk_distribution',
  'last_mile',
  'light_manufacturing',
  'heavy_manufacturing',
  'cold_storage',
  'truck_terminal',
  'outdoor_storage',
  'neighborhood_center',
  'community_center',
  'power_center',
  'lifestyle_center',
  'outlet_center',
  'strip',
  'mall',
  'high_street',
  'freestanding',
  'garden',
  'low_rise',
  'mid_rise',
  'high_rise',
  'government',
  'other',
] as const

const ownershipFields = {
  party_id: reference('party', 'pty', 'The party that holds the share.', {
    example: 'pty_2001',
    required: true,
  }),
  share_pct: percent('The share of the property that the party holds.', {
    example: 60,
    min: 0,
    max: 100,
  }),
  role: choice(
    ['gp', 'lp', 'jv'],
    'As what the party holds it: general partner, limited partner or joint-venture partner.',
    { example: 'gp' },
  ),
} satisfies Fields

const fields = {
  name: text('The name that the property is known by.', {
    example: 'Harbor Point Center',
    required: true,
    search: true,
  }),
  code: text('The short code of the property in accounting.', {
    example: 'HPC',
    max: 50,
    search: true,
  }),
  property_type: choice(PROPERTY_TYPES, 'The main use of the property.', {
    example: 'office',
    required: true,
  }),
  property_subtype: choice(PROPERTY_SUBTYPES, 'A finer kind within the type of the property.', {
    example: 'cbd_office',
  }),
  status: choice(
    [
      'prospect',
      'under_contract',
      'owned',
      'managed_only',
      'development',
      'redevelopment',
      'held_for_sale',
      'sold',
    ],
    'Where the property stands between first look, ownership and sale.',
    { example: 'owned', required: true },
  ),
  address: object(addressFields, 'The postal address of the property.', {
    example: addressExample,
    required: true,
    search: true,
  }),
  latitude: number('The latitude of the property in degrees north (WGS 84).', {
    example: 41.8868,
    min: -90,
    max: 90,
    required: true,
  }),
  longitude: number('The longitude of the property in degrees east (WGS 84).', {
    example: -87.6233,
    min: -180,
    max: 180,
    required: true,
  }),
  time_zone: text('The IANA time zone of the place; dates of the property are days in it.', {
    example: 'America/Chicago',
    max: 64,
    required: true,
  }),
  market: text('The real-estate market, usually the metropolitan area.', {
    example: 'Chicago',
    search: true,
  }),
  submarket: text('The part of the market, as brokers draw it.', {
    example: 'East Loop',
    search: true,
  }),
  region_group: text('Your own grouping of markets for reports.', { example: 'Midwest' }),
  owner_party_id: reference('party', 'pty', 'The party that owns the property.', {
    example: 'pty_2001',
  }),
  legal_entity_name: text('The company that holds the title, often one per property.', {
    example: 'Harbor Point Holdings LLC',
    search: true,
  }),
  fund_name: text('The fund or account that the property belongs to.', {
    example: 'Meridian Core Fund II',
    search: true,
  }),
  ownership: list(ownershipFields, 'Who holds which share; the shares add up to at most 100.', {
    example: [{ party_id: 'pty_2001', share_pct: 60, role: 'gp' }],
  }),
  ownership_type: choice(
    ['fee_simple', 'leasehold', 'ground_lease', 'condominium'],
    'The kind of title in which the property is held.',
    { example: 'fee_simple' },
  ),
  property_manager_party_id: reference(
    'party',
    'pty',
    'The party that runs the property from day to day.',
    { example: 'pty_2002' },
  ),
  asset_manager_party_id: reference(
    'party',
    'pty',
    'The party that answers to the owner for the result of the property.',
    { example: 'pty_2003' },
  ),
  leasing_broker_party_id: reference(
    'party',
    'pty',
    'The broker that finds tenants for the property.',
    { example: 'pty_2004' },
  ),
  acquisition_date: date('The day on which the property was bought.', { example: '2018-09-14' }),
  acquisition_price: money('The price paid for the property, without costs.', {
    example: '148500000.00',
  }),
  disposition_date: date('The day on which the property was sold.', { example: '2029-03-31' }),
  disposition_price: money('The price received for the property, before costs.', {
    example: '171000000.00',
  }),
  parcel_numbers: texts('The numbers of the land parcels in the tax register.', {
    example: ['17-10-203-027-0000'],
  }),
  land_area: number('The size of the land, in the unit of land_area_unit.', {
    example: 1.8,
    min: 0,
  }),
  land_area_unit: choice(
    ['acre', 'hectare', 'sqft', 'sqm'],
    'The unit in which the size of the land is given.',
    { example: 'acre' },
  ),
  zoning: text('The zoning class of the land, in the words of the municipality.', {
    example: 'DX-12',
  }),
  flood_zone: text('The flood zone of the land on the official flood map.', {
    example: 'X',
    max: 50,
  }),
  currency: currency('The ISO 4217 currency of the property; its leases start with it.', {
    required: true,
  }),
  area_unit: areaUnit('The unit of the areas; buildings, spaces and leases start with it.', {
    required: true,
  }),
} satisfies Fields

const readOnly = true

const rollups = {
  building_count: integer('How many buildings the property has.', { example: 2, readOnly }),
  rentable_area: area('The rentable area of all buildings.', { example: 410_000, readOnly }),
  occupied_area: area('The area of leases that have begun and hold the space today.', {
    example: 352_600,
    readOnly,
  }),
  leased_area: area('The occupied area and what is signed but has not begun.', {
    example: 361_000,
    readOnly,
  }),
  occupancy_pct: percent('Occupied area over rentable area.', { example: 86, readOnly }),
  leased_pct: percent('Leased area over rentable area.', { example: 88.05, readOnly }),
  walt_years: number('The years the leases have left on average, weighted by base rent.', {
    example: 5.6,
    readOnly,
  }),
  annual_base_rent: money(
    'The base rent per year of all leases running today; rents in other currencies add nothing.',
    { example: '18420000.00', readOnly },
  ),
  open_work_orders: integer('How many work orders are neither done nor cancelled.', {
    example: 12,
    readOnly,
  }),
} satisfies Fields

type PropertyRow = RowOf<typeof fields>

function checkProperty(row: PropertyRow): Issue[] {
  return [
    ...knownCurrency(row.currency),
    ...knownTimeZone(row.time_zone),
    ...notBefore(row, 'acquisition_date', 'disposition_date', 'before_acquisition'),
    ...checkShares(row),
  ]
}

function checkShares(row: PropertyRow): Issue[] {
  const shares = (row.ownership ?? []) as ItemOf<typeof ownershipFields>[]
  const millionths = shares.reduce((sum, s) => sum + Math.round((s.share_pct ?? 0) * 1e6), 0)
  if (millionths <= 100e6) return []
  const message = `the shares add up to ${millionths / 1e6}, more than 100`
  return [{ field: 'ownership', code: 'shares_above_100', message }]
}

export const property = defineResource({
  name: 'property',
  path: 'properties',
  prefix: 'prop',
  title: 'Property',
  description: 'An asset as it is owned and reported; it has one or more buildings.',
  fields,
  rollups,
  check: checkProperty,
})
