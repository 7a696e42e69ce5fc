import { knownCurrency, notAbove } from '../kit/checks.ts'
import {
  area,
  choice,
  date,
  flag,
  money,
  number,
  reference,
  references,
  text,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import type { Issue } from '../kit/errors.ts'
import { defineResource } from '../kit/resource.ts'
import type { Row, RowOf } from '../kit/resource.ts'
import { placeKinds, placeNeeds } from '../places.ts'
import type { NamedPart } from '../places.ts'
import {
  areaUnit,
  currency,
  loadFactor,
  measurementStandard,
  RECOVERY_TYPES,
} from '../kit/vocabulary.ts'

const SPACE_TYPES = [
  'office',
  'retail',
  'industrial',
  'warehouse',
  'flex',
  'lab',
  'manufacturing',
  'medical_office',
  'restaurant',
  'storage',
  'parking',
  'telecom',
  'rooftop',
  'amenity',
  'residential',
  'education',
  'other',
] as const

const fields = {
  building_id: reference('building', 'bld', 'The building that the space is in.', {
    example: 'bld_1101',
    required: true,
  }),
  floor_ids: references('floor', 'flr', 'The floors that the space lies on, one or more.', {
    example: ['flr_1212'],
    required: true,
  }),
  suite: text('The suite or unit number, as on the door.', {
    example: '1200',
    max: 100,
    required: true,
    search: true,
  }),
  space_type: choice(SPACE_TYPES, 'What the space is built for.', {
    example: 'office',
    required: true,
  }),
  area_unit: areaUnit('The unit of the areas and rents, as a rule that of the property.'),
  rentable_area: area('The area that rent is charged on, with a share of common areas.', {
    example: 8600,
    required: true,
  }),
  usable_area: area('The area inside the space that the tenant alone can use.', { example: 7480 }),
  load_factor: number('Rentable area over usable area; 1.15 adds 15 % for common areas.', {
    example: 1.1497,
    readOnly: true,
  }),
  measurement_standard: measurementStandard('The standard by which the areas were measured.'),
  available_date: date('The first day on which a new tenant can have the space.', {
    example: '2026-10-01',
  }),
  availability_type: choice(
    ['immediate', 'specified', 'arranged', 'month_to_month', 'not_available'],
    'How the space can be had: at once, from the available date, or by arrangement.',
    { example: 'specified' },
  ),
  condition: choice(
    [
      'shell',
      'raw',
      'white_box',
      'second_generation',
      'spec_suite',
      'turnkey',
      'under_construction',
    ],
    'The state in which the space is handed over, from bare shell to ready to move in.',
    { example: 'second_generation' },
  ),
  currency: currency('The ISO 4217 currency of the rents, as a rule that of the property.'),
  asking_rent_per_area: money('The rent asked, per area unit and year.', {
    example: '42.5000',
    digits: 4,
  }),
  asking_rent_basis: choice(
    RECOVERY_TYPES,
    'Which operating costs the asking rent leaves to the tenant: nnn all, full_service none.',
    { example: 'full_service' },
  ),
  market_rent_per_area: money('The rent the market would pay today, per area unit and year.', {
    example: '41.0000',
    digits: 4,
  }),
  min_divisible_area: area('The smallest part of the space that can be let on its own.', {
    example: 2500,
  }),
  max_contiguous_area: area('The largest area that can be had together with its neighbours.', {
    example: 17_100,
  }),
  is_listed: flag('Whether the space is offered on the market now.', { example: true }),
} satisfies Fields

const readOnly = true

const rollups = {
  status: choice(
    ['vacant', 'committed', 'occupied', 'month_to_month', 'sublet', 'not_leasable'],
    'How the space is taken today; committed means leased, but the term has not begun.',
    { example: 'occupied', readOnly },
  ),
  in_place_lease_id: reference('lease', 'le', 'The lease that holds the space today.', {
    example: 'le_4001',
    readOnly,
  }),
  committed_lease_id: reference('lease', 'le', 'The signed lease that begins next.', {
    example: 'le_4002',
    readOnly,
  }),
  last_lease_id: reference('lease', 'le', 'The lease that held the space last and has ended.', {
    example: 'le_3990',
    readOnly,
  }),
} satisfies Fields

type SpaceRow = RowOf<typeof fields>

function checkSpace(row: SpaceRow): Issue[] {
  return [
    ...notAbove(row, 'usable_area', 'rentable_area', 'exceeds_rentable'),
    ...notAbove(row, 'min_divisible_area', 'rentable_area', 'exceeds_rentable'),
    ...knownCurrency(row.currency),
  ]
}

function floorsOf({ floor_ids, building_id }: Row): NamedPart[] {
  const ids = (floor_ids ?? []) as string[]
  return ids.map((id, i) => ['floor', id, `floor_ids[${i}]`, building_id])
}

export const space = defineResource({
  name: 'space',
  path: 'spaces',
  prefix: 'spc',
  scope: 'buildings',
  title: 'Space',
  description: 'A part of a building that can be let: a suite, shop, bay, lab or roof.',
  fields,
  rollups,
  check: checkSpace,
  derive: (row) => ({ load_factor: loadFactor(row) }),
  needs: { kinds: placeKinds, of: (row) => placeNeeds(row, floorsOf(row)) },
})
