import { inEach, notAbove, notBefore } from '../kit/checks.ts'
import {
  area,
  choice,
  date,
  flag,
  integer,
  list,
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
  loadFactor,
  measurementStandard,
  PROPERTY_TYPES,
  SQM_PER_SQFT,
} from '../kit/vocabulary.ts'

const certificationFields = {
  scheme: choice(
    ['leed', 'energy_star', 'breeam', 'well', 'fitwel', 'boma_360'],
    'The scheme under which the certificate was given.',
    { example: 'leed', required: true },
  ),
  level: text('The level that was reached within the scheme.', { example: 'Gold', max: 100 }),
  awarded_date: date('The day on which the certificate was given.', { example: '2023-05-10' }),
  expires_date: date('The last day on which the certificate is valid.', { example: '2028-05-09' }),
} satisfies Fields

const fields = {
  property_id: reference('property', 'prop', 'The property that the building belongs to.', {
    example: 'prop_1001',
    required: true,
  }),
  name: text('The name that the building is known by.', {
    example: 'Harbor Point Tower',
    required: true,
    search: true,
  }),
  code: text('The short code of the building in accounting and on drawings.', {
    example: 'HPC-T1',
    max: 50,
    required: true,
    search: true,
  }),
  address: object(addressFields, 'The postal address of the building.', {
    example: addressExample,
    required: true,
    search: true,
  }),
  area_unit: areaUnit('The unit of the areas of the building, as a rule that of the property.'),
  building_class: choice(
    ['trophy', 'a', 'b', 'c'],
    'The quality class in its market, from trophy down to C.',
    { example: 'a' },
  ),
  primary_use: choice(PROPERTY_TYPES, 'What most of the building is used for.', {
    example: 'office',
  }),
  secondary_uses: texts('Further uses, such as shops on the ground floor.', {
    example: ['retail'],
    values: PROPERTY_TYPES,
  }),
  year_built: integer('The year in which the building was finished.', {
    example: 1987,
    min: 1000,
    max: 2200,
  }),
  year_renovated: integer('The year of the last major renovation.', {
    example: 2016,
    min: 1000,
    max: 2200,
  }),
  floors_above_ground: integer('The number of floors from the ground floor up.', {
    example: 24,
    min: 0,
    max: 500,
  }),
  floors_below_ground: integer('The number of floors below the ground floor.', {
    example: 2,
    min: 0,
    max: 100,
  }),
  gross_area: area('The whole constructed area, outer walls included.', { example: 455_000 }),
  rentable_area: area('The area that rent is charged on, with a share of common areas.', {
    example: 410_000,
    required: true,
  }),
  usable_area: area('The area that tenants alone can use.', { example: 356_500 }),
  load_factor: number('Rentable area over usable area; 1.15 adds 15 % for common areas.', {
    example: 1.1501,
    readOnly: true,
  }),
  measurement_standard: measurementStandard('The standard by which the areas were measured.'),
  remeasured_date: date('The day of the last measurement; it can change pro-rata shares.', {
    example: '2021-04-01',
  }),
  parking_spaces: integer('The number of parking spaces that belong to the building.', {
    example: 380,
    min: 0,
  }),
  parking_ratio: number('Parking spaces per 1,000 square feet of rentable area.', {
    example: 0.93,
    readOnly: true,
  }),
  elevators_passenger: integer('The number of elevators for people.', { example: 8, min: 0 }),
  elevators_freight: integer('The number of elevators for goods.', { example: 1, min: 0 }),
  clear_height: number(
    'The free height below the structure; feet where areas are in sqft, metres where in sqm.',
    { example: 32, min: 0 },
  ),
  column_spacing: text('The distance between columns, as width by depth with its unit.', {
    example: '50 x 52 ft',
    max: 50,
  }),
  dock_doors: integer('The number of doors at truck-bed height.', { example: 24, min: 0 }),
  drive_in_doors: integer('The number of doors that vehicles can drive through.', {
    example: 2,
    min: 0,
  }),
  trailer_stalls: integer('The number of places to park trailers.', { example: 60, min: 0 }),
  power_amps: number('The electric service of the building in amperes.', { example: 4000, min: 0 }),
  construction_type: text('How the building is constructed, such as steel frame or tilt-up.', {
    example: 'Steel frame with curtain wall',
  }),
  hvac_type: text('How the building is heated, cooled and aired.', {
    example: 'Central chillers, variable air volume',
  }),
  sprinklered: flag('Whether sprinklers protect the building from fire.', { example: true }),
  ada_compliant: flag('Whether the building meets the accessibility law (in the US the ADA).', {
    example: true,
  }),
  certifications: list(certificationFields, 'Certificates for energy, environment and health.', {
    example: [
      { scheme: 'leed', level: 'Gold', awarded_date: '2023-05-10', expires_date: '2028-05-09' },
    ],
  }),
  energy_star_score: number('The ENERGY STAR score, 1 to 100; 50 is the median of its kind.', {
    example: 78,
    min: 0,
    max: 100,
  }),
  site_energy_use: number('The energy used at the building in a year, in kBtu.', {
    example: 7_226_362.5,
    min: 0,
  }),
  electricity_use: number(
    'The electricity taken from the grid in a year, in kWh; negative where more was given back.',
    { example: 1_156_514.25 },
  ),
  natural_gas_use: number('The natural gas used in a year, in therms.', {
    example: 12_764.53,
    min: 0,
  }),
  steam_use: number('The district steam used in a year, in kBtu.', { example: 2_003_882, min: 0 }),
  ghg_emissions: number(
    'The net greenhouse gas emissions in a year, in metric tons of CO2 equivalent.',
    { example: 249.98 },
  ),
  site_eui: number('The energy used at the building in a year, in kBtu per square foot.', {
    example: 52.9,
    min: 0,
  }),
  source_eui: number('The primary energy behind that use in a year, in kBtu per square foot.', {
    example: 116.4,
    min: 0,
  }),
  ghg_intensity: number(
    'The net greenhouse gas emissions in a year, in kilograms of CO2 equivalent per square foot.',
    { example: 4.2 },
  ),
} satisfies Fields

const readOnly = true

const rollups = {
  occupied_area: area('The area of leases that have begun and hold the space today.', {
    example: 352_600,
    readOnly,
  }),
  leased_area: area('The occupied area and what is signed but has not begun.', {
    example: 361_000,
    readOnly,
  }),
  occupancy_pct: percent('Occupied area over rentable area.', { example: 86, readOnly }),
  vacant_area: area('The rentable area that no running lease holds today.', {
    example: 57_400,
    readOnly,
  }),
  next_expiration_date: date('The first day on which a running lease of the building ends.', {
    example: '2026-11-30',
    readOnly,
  }),
} satisfies Fields

type BuildingRow = RowOf<typeof fields>

function checkBuilding(row: BuildingRow): Issue[] {
  return [
    ...notAbove(row, 'usable_area', 'rentable_area', 'exceeds_rentable'),
    ...notAbove(row, 'year_built', 'year_renovated', 'after_renovation'),
    ...inEach(row.certifications, 'certifications', (certificate, at) =>
      notBefore(certificate, 'awarded_date', 'expires_date', 'before_award', at),
    ),
  ]
}

function deriveBuilding(row: BuildingRow): Partial<BuildingRow> {
  return { load_factor: loadFactor(row), parking_ratio: parkingRatio(row) }
}

function parkingRatio(row: BuildingRow): number | null {
  if (typeof row.parking_spaces !== 'number' || !row.rentable_area || !row.area_unit) return null
  const sqft = row.rentable_area / (row.area_unit === 'sqm' ? SQM_PER_SQFT : 1)
  return Math.round((row.parking_spaces / sqft) * 1e5) / 100
}

export const building = defineResource({
  name: 'building',
  path: 'buildings',
  prefix: 'bld',
  title: 'Building',
  description: 'A building of a property, with its floors and spaces.',
  fields,
  rollups,
  check: checkBuilding,
  derive: deriveBuilding,
})
