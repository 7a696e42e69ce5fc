import { notAbove } from '../kit/checks.ts'
import { area, choice, date, flag, integer, list, number, reference, text } from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import { defineResource } from '../kit/resource.ts'
import { areaUnit } from '../kit/vocabulary.ts'

const fields = {
  building_id: reference('building', 'bld', 'The building that the floor is part of.', {
    example: 'bld_1101',
    required: true,
  }),
  label: text('The name of the floor as people say it, such as 12, M or B1.', {
    example: '12',
    max: 50,
    required: true,
    search: true,
  }),
  level_number: integer('The place of the floor counted upwards; the ground floor is 0 or 1.', {
    example: 12,
    min: -100,
    max: 500,
    required: true,
  }),
  floor_type: choice(
    ['standard', 'ground', 'basement', 'mezzanine', 'roof', 'parking', 'mechanical'],
    'What kind of floor it is; parking and mechanical floors are rarely let.',
    { example: 'standard' },
  ),
  area_unit: areaUnit('The unit of the areas of the floor, as a rule that of the property.'),
  gross_area: area('The whole constructed area of the floor.', { example: 18_900 }),
  rentable_area: area('The area of the floor that rent can be charged on.', { example: 17_100 }),
  usable_area: area('The area of the floor that tenants alone can use.', { example: 14_850 }),
  common_area: area('The area of lobbies, corridors and rooms that all tenants share.', {
    example: 2250,
  }),
  slab_to_slab_height: number(
    'The height from slab to slab; feet where areas are in sqft, metres where in sqm.',
    { example: 13.5, min: 0 },
  ),
  floor_plan_document_id: reference('document', 'doc', 'The drawing of the floor.', {
    example: 'doc_5001',
  }),
  is_leasable: flag('Whether space on the floor can be let at all.', { example: true }),
} satisfies Fields

const readOnly = true

const tenantFields = {
  name: text('The display name of the tenant.', { example: 'Harrow & Pine' }),
  area: area('The area that the tenant leases on the floor.', { example: 8600 }),
  expiration_date: date('The last day of the term of the lease.', { example: '2029-08-31' }),
  lease_id: reference('lease', 'le', 'The lease under which the tenant holds the area.', {
    example: 'le_4001',
  }),
  tenant_party_id: reference('party', 'pty', 'The party record of the tenant.', {
    example: 'pty_2001',
  }),
} satisfies Fields

const rollups = {
  occupied_area: area('The area of the floor that running leases hold today.', {
    example: 12_900,
    readOnly,
  }),
  vacant_area: area('The rentable area of the floor that no running lease holds today.', {
    example: 4200,
    readOnly,
  }),
  space_count: integer('How many spaces the floor is divided into.', { example: 4, readOnly }),
  tenants: list(tenantFields, 'The tenants on the floor today: one row of a stacking plan.', {
    example: [
      {
        name: 'Harrow & Pine',
        area: 8600,
        expiration_date: '2029-08-31',
        lease_id: 'le_4001',
        tenant_party_id: 'pty_2001',
      },
    ],
    readOnly,
  }),
} satisfies Fields

export const floor = defineResource({
  name: 'floor',
  path: 'floors',
  prefix: 'flr',
  scope: 'buildings',
  title: 'Floor',
  description: 'A floor of a building. Listed from the top down, as on a stacking plan.',
  fields,
  rollups,
  sort: '-level_number',
  check: (row) => notAbove(row, 'usable_area', 'rentable_area', 'exceeds_rentable'),
})
