/** Bodies of properties, buildings and floors. */
import type { Row } from '../kit/resource.ts'
import { addMonths, instantOf, yearOf } from './calendar.ts'
import { ASSET_MANAGERS, BROKERS, FUNDS, JOINT_PARTNER, MANAGERS, OWNER } from './counterparties.ts'
import { amount, round, toStep } from './figures.ts'
import { ref } from './model.ts'
import type { BuildingPlan, Calendar, Draft, FloorPlan } from './model.ts'
import { STREETS } from './names.ts'
import type { Random } from './random.ts'
import { SEGMENTS } from './segments.ts'
import type { Segment } from './segments.ts'
import { acquiredOn, entityOf } from './sites.ts'
import type { Site } from './sites.ts'

/** Values per area unit by which purchase prices are set, in the currency of the site. */
const PRICES: Record<Segment, number> = {
  cbd_office: 410,
  suburban_office: 165,
  industrial: 135,
  retail: 215,
  medical: 440,
  mixed: 265,
}

const PROPERTY_TYPES: Record<Segment, string> = {
  cbd_office: 'office',
  suburban_office: 'office',
  industrial: 'industrial',
  retail: 'retail',
  medical: 'medical_office',
  mixed: 'mixed_use',
}

function propertyType({ segment, subtype }: Site): string {
  return subtype === 'life_science' ? 'life_science' : PROPERTY_TYPES[segment]
}

function addressOf({ market }: Site, random: Random): Row {
  return {
    line1: `${random.int(3, 98) * 10} ${random.pick(STREETS)}`,
    city: market.city,
    region: market.region,
    postal_code: market.postal,
    country: market.country,
  }
}

export function propertyDraft(site: Site, calendar: Calendar, random: Random): Draft {
  const { market } = site
  const area = site.buildings.reduce((total, building) => total + building.area, 0)
  const scale = site.currency === 'EUR' ? 13 : 1
  const price = area * PRICES[site.segment] * scale * random.between(0.8, 1.15)
  const isJoint = random.chance(0.2)
  const body: Row = {
    name: site.name,
    code: site.code,
    property_type: propertyType(site),
    property_subtype:
      site.subtype === 'medical_office' || site.subtype === 'life_science' ? null : site.subtype,
    status: site.status === 'held_for_sale' ? 'owned' : site.status,
    address: addressOf(site, random.fork('address')),
    latitude: round(market.latitude + random.between(-0.02, 0.02), 6),
    longitude: round(market.longitude + random.between(-0.02, 0.02), 6),
    time_zone: market.time_zone,
    market: market.name,
    submarket: site.submarket,
    region_group: market.region_group,
    owner_party_id: ref(OWNER),
    legal_entity_name: entityOf(site),
    fund_name: random.pick(FUNDS),
    ownership: [
      { party_id: ref(OWNER), share_pct: isJoint ? 60 : 100, role: 'gp' },
      ...(isJoint ? [{ party_id: ref(JOINT_PARTNER), share_pct: 40, role: 'jv' }] : []),
    ],
    ownership_type: random.chance(0.9) ? 'fee_simple' : 'leasehold',
    property_manager_party_id: ref(managerOf(market.region_group)),
    asset_manager_party_id: ref(ASSET_MANAGERS[site.segment.includes('office') ? 0 : 1]),
    leasing_broker_party_id: ref(random.pick(BROKERS.slice(0, 2))),
    acquisition_date: acquiredOn(site, calendar),
    acquisition_price: amount(toStep(price, 50_000)),
    parcel_numbers: [
      `${random.int(10, 99)}-${random.int(10, 99)}-${random.int(100, 999)}-${random.int(100, 999)}-0000`,
    ],
    land_area: round(landArea(site, area), 2),
    land_area_unit: site.area_unit === 'sqm' ? 'hectare' : 'acre',
    zoning: zoningOf(site),
    flood_zone:
      site.currency === 'EUR'
        ? null
        : random.weighted([
            ['X', 88],
            ['AE', 12],
          ]),
    currency: site.currency,
    area_unit: site.area_unit,
    tags: [random.pick(['core', 'core', 'core-plus', 'value-add'])],
    external_ids: [{ system: 'erp', id: `p${site.code.toLowerCase()}` }],
  }
  const sale = {
    valid_from: instantOf(addMonths(calendar.start, -4)),
    values: { status: 'held_for_sale' },
  }
  const later = site.status === 'held_for_sale' ? [sale] : []
  return {
    key: `prop:${site.code}`,
    body,
    valid_from: instantOf(acquiredOn(site, calendar)),
    later,
  }
}

function managerOf(region: string): (typeof MANAGERS)[number] {
  if (region === 'West' || region === 'Southwest') return MANAGERS[2]
  return region === 'Midwest' ? MANAGERS[1] : MANAGERS[0]
}

/** Towers cover most of their land, warehouses and centers a third of it. */
function landArea({ segment, buildings, area_unit }: Site, area: number): number {
  const floors = Math.max(...buildings.map((building) => building.floors))
  const coverage = segment === 'cbd_office' ? 0.8 : 0.32
  const perUnit = area_unit === 'sqm' ? 10_000 : 43_560
  return area / floors / coverage / perUnit
}

function zoningOf({ segment }: Site): string {
  const zones: Record<Segment, string> = {
    cbd_office: 'DX-12',
    suburban_office: 'O-2',
    industrial: 'M-1',
    retail: 'C-2',
    medical: 'MXD-H',
    mixed: 'MXD-5',
  }
  return zones[segment]
}

const STANDARDS: Record<Segment, string> = {
  cbd_office: 'boma_office_2017_b',
  suburban_office: 'boma_1996',
  industrial: 'boma_industrial',
  retail: 'boma_retail',
  medical: 'boma_office_2017_a',
  mixed: 'boma_office_2010_a',
}

export function standardOf({ segment, currency }: Site): string {
  return currency === 'EUR' ? 'din_277' : STANDARDS[segment]
}

/** Site energy in kBtu per square foot and year; each property differs from it. */
const ENERGY: Record<Segment, number> = {
  cbd_office: 62,
  suburban_office: 58,
  industrial: 38,
  retail: 54,
  medical: 88,
  mixed: 56,
}

export function buildingDraft(building: BuildingPlan, calendar: Calendar, random: Random): Draft {
  const { site, area } = building
  const { segment } = site
  const isTower = segment === 'cbd_office'
  const hasFloors = building.floors.filter((floor) => floor.area > 0).length > 1
  const { load_factor } = SEGMENTS[segment]
  const parking = {
    cbd_office: 0.7,
    suburban_office: 4,
    industrial: 0.8,
    retail: 4.6,
    medical: 4.2,
    mixed: 2.4,
  }
  const sqft = site.area_unit === 'sqm' ? area / 0.09290304 : area
  const above = building.floors.filter(
    ({ level, type }) => level > 0 && type !== 'roof' && type !== 'mechanical',
  )
  const site_eui = round(ENERGY[segment] * random.between(0.72, 1.3), 1)
  const body: Row = {
    property_id: ref(`prop:${site.code}`),
    name: building.name,
    code: building.code,
    address: addressOf(site, random.fork('address')),
    area_unit: site.area_unit,
    building_class: site.building_class,
    primary_use: propertyType(site),
    secondary_uses: isTower || segment === 'mixed' ? ['retail'] : [],
    year_built: site.year_built,
    year_renovated:
      site.year_built < 2008 ? random.int(Math.max(2009, site.year_built + 15), 2022) : null,
    floors_above_ground: above.length,
    floors_below_ground: building.floors.filter(({ level }) => level < 0).length,
    gross_area: toStep(area * 1.09, 10),
    rentable_area: area,
    usable_area: round(area / load_factor, 0),
    measurement_standard: standardOf(site),
    parking_spaces: Math.round((sqft / 1_000) * parking[segment] * random.between(0.9, 1.1)),
    elevators_passenger: hasFloors ? Math.max(2, Math.round(above.length / 3)) : 0,
    elevators_freight: hasFloors ? 1 : 0,
    construction_type: isTower
      ? 'Steel frame with curtain wall'
      : segment === 'industrial'
        ? 'Tilt-up concrete'
        : 'Masonry and steel',
    hvac_type: isTower
      ? 'Central chillers, variable air volume'
      : segment === 'industrial'
        ? 'Gas unit heaters'
        : 'Rooftop units',
    sprinklered: site.year_built > 1950,
    ada_compliant: site.currency === 'EUR' ? null : true,
    certifications: certificatesOf(site, calendar, random.fork('certificates')),
    energy_star_score:
      site.currency === 'EUR' || segment === 'industrial'
        ? null
        : Math.min(98, Math.max(12, Math.round(122 - site_eui))),
    site_eui: site.status === 'development' ? null : site_eui,
    ...(segment === 'industrial' ? industrialFields(area, site, random.fork('industrial')) : {}),
    external_ids: [{ system: 'erp', id: `b${building.code.toLowerCase()}` }],
  }
  return { key: building.key, body, valid_from: instantOf(acquiredOn(site, calendar)) }
}

function industrialFields(area: number, site: Site, random: Random): Row {
  return {
    clear_height: site.year_built > 2010 ? random.pick([36, 40]) : random.pick([24, 28, 30]),
    column_spacing: site.year_built > 2010 ? '52 x 56 ft' : '40 x 44 ft',
    dock_doors: Math.round(area / 9_000),
    drive_in_doors: random.int(2, 6),
    trailer_stalls: Math.round(area / 6_500),
    power_amps: random.pick([2_000, 3_000, 4_000]),
  }
}

function certificatesOf(site: Site, { start }: Calendar, random: Random): Row[] {
  const isOffice = site.segment === 'cbd_office' || site.segment === 'medical'
  if (!isOffice || !random.chance(0.7)) return []
  const awarded = addMonths(start, -random.int(6, 40))
  if (site.currency === 'EUR')
    return [{ scheme: 'breeam', level: 'Very Good', awarded_date: awarded }]
  const leed = {
    scheme: 'leed',
    level: random.pick(['Gold', 'Gold', 'Silver', 'Platinum']),
    awarded_date: awarded,
    expires_date: addMonths(awarded, 60),
  }
  const star = {
    scheme: 'energy_star',
    level: String(yearOf(start) - 1),
    awarded_date: addMonths(start, -9),
  }
  return random.chance(0.6) ? [leed, star] : [leed]
}

export function floorDraft(floor: FloorPlan, calendar: Calendar): Draft {
  const { building, area, type } = floor
  const { site } = building
  const typical = Math.max(...building.floors.map((other) => other.area))
  const rentable = area > 0 ? area : null
  const usable = rentable === null ? null : round(rentable / SEGMENTS[site.segment].load_factor, 0)
  const body: Row = {
    building_id: ref(building.key),
    label: floor.label,
    level_number: floor.level,
    floor_type: type,
    area_unit: site.area_unit,
    gross_area: type === 'roof' ? null : toStep((area > 0 ? area : typical) * 1.09, 10),
    rentable_area: rentable ?? 0,
    usable_area: usable ?? 0,
    common_area: rentable === null || usable === null ? null : round(rentable - usable, 0),
    slab_to_slab_height: site.area_unit === 'sqm' ? 3.6 : site.segment === 'industrial' ? 34 : 13,
    is_leasable: area > 0,
  }
  const valid_from = instantOf(acquiredOn(floor.building.site, calendar))
  return { key: floor.key, body, valid_from }
}
