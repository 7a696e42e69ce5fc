import { describe, expect, it, test } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import type { Row } from '../kit/resource.ts'
import { rowOf } from './rules-fixture.ts'
import { checkForms, filledSchedule } from './rent-forms.ts'

type Lease = Parameters<typeof checkForms>[0]

const STEP = { kind: 'base', start_date: '2026-01-01', end_date: '2026-12-31' }

/** A lease over 8,600 with one step; the forms are month, year and rate. */
function leaseWith(forms: readonly (string | null)[], more: Row = {}, step: Row = {}): Lease {
  const [amount_monthly, amount_annual, per_area_annual] = forms
  const rent = { ...STEP, amount_monthly, amount_annual, per_area_annual, ...step }
  return rowOf({ rentable_area: 8_600, rent_schedule: [rent], ...more }) as unknown as Lease
}

const none = null
const dated = (space_id: string, rentable_area: number | null, from_date?: string): Row => ({
  space_id,
  rentable_area,
  from_date: from_date ?? null,
})

const filled: [string, Lease, (string | null)[]][] = [
  ['a month', leaseWith(['30458.33', none, none]), ['30458.33', '365499.96', '42.5000']],
  ['a year', leaseWith([none, '365500.00', none]), ['30458.33', '365500.00', '42.5000']],
  ['a rate', leaseWith([none, none, '42.5000']), ['30458.33', '365500.00', '42.5000']],
  ['month and year', leaseWith(['10.00', '120.04', none]), ['10.00', '120.04', '0.0140']],
  ['a month and a rate', leaseWith(['10.00', none, '0.0140']), ['10.00', '120.00', '0.0140']],
  ['all', leaseWith(['10.00', '120.04', '0.0139']), ['10.00', '120.04', '0.0139']],
  ['nothing', leaseWith([none, none, none]), [none, none, none]],
  ['a credit', leaseWith([none, '-100.00', none]), ['-8.33', '-100.00', '-0.0116']],
  [
    'a year without an area',
    leaseWith([none, '12.00', none], { rentable_area: none }),
    ['1.00', '12.00', none],
  ],
  [
    'a rate without an area',
    leaseWith([none, none, '42.5000'], { rentable_area: 0 }),
    [none, none, '42.5000'],
  ],
  [
    'a rate for one of two spaces',
    leaseWith(
      [none, none, '10.0000'],
      { premises: [dated('spc_1', 100), dated('spc_2', 50)] },
      { space_ids: ['spc_2'] },
    ),
    ['41.67', '500.00', '10.0000'],
  ],
  [
    'a rate for all spaces',
    leaseWith([none, none, '10.0000'], { premises: [dated('spc_1', 100), dated('spc_2', 50.5)] }),
    ['125.42', '1505.00', '10.0000'],
  ],
  [
    'a rate for a space taken on within the step',
    leaseWith([none, none, '10.0000'], {
      premises: [dated('spc_1', 100), dated('spc_2', 50, '2026-06-01')],
    }),
    [none, none, '10.0000'],
  ],
  [
    'a rate for a space taken on after the step',
    leaseWith([none, none, '10.0000'], {
      premises: [dated('spc_1', 100), dated('spc_2', 50, '2027-01-01')],
    }),
    ['83.33', '1000.00', '10.0000'],
  ],
]

describe('the forms of a rent', () => {
  it.each(filled)('that follow from %s', (_, lease, expected) => {
    const [step] = filledSchedule(lease) ?? []
    const forms = [step?.['amount_monthly'], step?.['amount_annual'], step?.['per_area_annual']]
    expect(forms).toEqual(expected)
  })
})

const MONTH = 'rent_schedule[0].amount_monthly'
const RATE = 'rent_schedule[0].per_area_annual'

const checks: [string, Lease, string[]][] = [
  ['agree', leaseWith(['30458.33', '365500.00', '42.5000']), []],
  ['are a cent a month apart', leaseWith(['0.33', '4.08', none]), []],
  ['are more than a cent a month apart', leaseWith(['0.33', '4.09', none]), [MONTH]],
  ['are half a percent apart', leaseWith(['1005.00', '12000.00', none]), []],
  ['are more than half a percent apart', leaseWith(['1005.01', '12000.00', none]), [MONTH]],
  ['have a rate per month', leaseWith(['30458.33', '365500.00', '3.5417']), [RATE]],
  ['have a rate that is no part of the month', leaseWith(['30458.33', none, '45.0000']), [RATE]],
  [
    'have a rate of an unknown area',
    leaseWith([none, '1.00', '45.0000'], { rentable_area: none }),
    [],
  ],
]

describe('forms that', () => {
  it.each(checks)('%s', (_, lease, expected) => {
    const issues = checkForms(lease)
    expect(issues.map(({ field }) => field)).toEqual(expected)
    for (const { code } of issues) expect(code).toBe('contradiction')
  })
})

test('a lease is written with all forms, and never with contradicting ones', async () => {
  const client = await newOrganization()
  const { property_id, tenant_party_id } = await leaseParents(client)
  const body = { ...samples.lease(property_id, tenant_party_id), rentable_area: 8_600 }
  const wrong = { ...STEP, amount_monthly: '1.00', amount_annual: '365500.00' }
  const refused = await client.post('/leases', { ...body, rent_schedule: [wrong] })
  expect(refused).toMatchObject({
    status: 422,
    body: { errors: [{ field: MONTH, code: 'contradiction' }] },
  })
  const step = { ...STEP, per_area_annual: 42.5 }
  const made = await client.post('/leases', { ...body, rent_schedule: [step] })
  const forms = { amount_monthly: '30458.33', amount_annual: '365500.00' }
  expect(made).toMatchObject({ status: 201, body: { rent_schedule: [forms] } })
  const path = `/leases/${made.body.id}`
  const again = await client.patch(path, { rent_schedule: [wrong] })
  expect(again).toMatchObject({ status: 422, body: { errors: [{ field: MONTH }] } })
  const raised = await client.patch(path, { rent_schedule: [{ ...STEP, amount_monthly: '31000' }] })
  const [row] = raised.body.rent_schedule
  expect(row).toMatchObject({ amount_annual: '372000.00', per_area_annual: '43.2558' })
  // Another area makes the rates of the past no less agreed.
  const grown = await client.patch(path, { rentable_area: 9_000 })
  expect(grown).toMatchObject({ status: 200, body: { rent_schedule: [row] } })
})
