import { describe, expect, it } from 'vitest'
import type { Row } from '../kit/resource.ts'
import { lease } from './resource.ts'
import { issuesOf, rowOf } from './rules-fixture.ts'
import { fullMonths } from './rules.ts'

const base = (start_date: string, end_date: string | null = null, more: Row = {}): Row => ({
  kind: 'base',
  start_date,
  end_date,
  ...more,
})

const cases: [string, Row, string[]][] = [
  ['a plain term', {}, []],
  [
    'no dates',
    { commencement_date: null, expiration_date: null },
    ['commencement_date required', 'expiration_date required'],
  ],
  [
    'no dates, month to month',
    { commencement_date: null, expiration_date: null, is_month_to_month: true },
    [],
  ],
  [
    'an expiration before the commencement',
    { expiration_date: '2022-08-31' },
    ['expiration_date before_commencement'],
  ],
  ['a term of one day', { expiration_date: '2022-09-01' }, []],
  [
    'dates after the end',
    { possession_date: '2029-09-01', rent_commencement_date: '2029-09-01' },
    ['expiration_date before_possession', 'expiration_date before_rent_commencement'],
  ],
  ['signing after the commencement', { execution_date: '2022-10-15' }, []],
  [
    'moving out before moving in',
    { move_in_date: '2023-01-02', move_out_date: '2023-01-01' },
    ['move_out_date before_move_in'],
  ],
  ['an unknown currency', { currency: 'XQQ' }, ['currency unknown_currency']],

  ['rent without gaps', rents(base('2022-09-01', '2023-08-31'), base('2023-09-01')), []],
  ['rent in any order', rents(base('2023-09-01'), base('2022-09-01', '2023-08-31')), []],
  ['open steps one after the other', rents(base('2022-09-01'), base('2023-09-01')), []],
  [
    'two open steps on one day',
    rents(base('2022-09-01'), base('2022-09-01')),
    ['rent_schedule[1].start_date overlap'],
  ],
  [
    'a step that ends before it starts',
    rents(base('2022-09-01', '2022-08-31')),
    ['rent_schedule[0].end_date end_before_start'],
  ],
  [
    'a gap of a day',
    rents(base('2022-09-01', '2023-08-31'), base('2023-09-02')),
    ['rent_schedule[1].start_date gap'],
  ],
  [
    'an overlap of a day',
    rents(base('2022-09-01', '2023-09-01'), base('2023-09-01')),
    ['rent_schedule[1].start_date overlap'],
  ],
  [
    'a step within another, no gap after it',
    rents(
      base('2022-01-01', '2022-12-31'),
      base('2022-03-01', '2022-03-31'),
      base('2023-01-01', '2023-12-31'),
    ),
    ['rent_schedule[1].start_date overlap'],
  ],
  [
    'a gap filled by free rent',
    rents(
      base('2022-09-01', '2023-08-31'),
      { kind: 'free', start_date: '2023-09-01', end_date: '2023-10-31' },
      base('2023-11-01'),
    ),
    [],
  ],
  [
    'a gap that free rent fills in part',
    rents(
      base('2022-09-01', '2023-08-31'),
      { kind: 'free', start_date: '2023-09-01', end_date: '2023-09-30' },
      base('2023-11-01'),
    ),
    ['rent_schedule[2].start_date gap'],
  ],
  [
    'free months apart from each other',
    rents(
      { kind: 'free', start_date: '2022-09-01', end_date: '2022-09-30' },
      { kind: 'free', start_date: '2023-09-01', end_date: '2023-09-30' },
    ),
    [],
  ],
  [
    'free rent beside base rent',
    rents(base('2022-09-01', '2023-08-31'), {
      kind: 'free',
      start_date: '2022-09-01',
      end_date: '2022-12-31',
    }),
    [],
  ],
  [
    'the same days for different spaces',
    rents(
      base('2022-09-01', '2023-08-31', { space_ids: ['spc_1'] }),
      base('2022-09-01', '2023-08-31', { space_ids: ['spc_2'] }),
    ),
    [],
  ],
  [
    'the same spaces in another order',
    rents(
      base('2022-09-01', '2023-08-31', { space_ids: ['spc_1', 'spc_2'] }),
      base('2023-08-01', null, { space_ids: ['spc_2', 'spc_1'] }),
    ),
    ['rent_schedule[1].start_date overlap'],
  ],
  ['a step without a start', rents({ kind: 'base', start_date: null }, base('2022-09-01')), []],

  [
    'premises that end before they begin',
    { premises: [{ space_id: 'spc_1', from_date: '2024-01-01', to_date: '2023-12-31' }] },
    ['premises[0].to_date end_before_start'],
  ],
  [
    'the same space twice at a time',
    {
      premises: [
        { space_id: 'spc_1', from_date: '2022-09-01', to_date: '2024-12-31' },
        { space_id: 'spc_1', from_date: '2024-12-31', to_date: null },
      ],
    },
    ['premises[1].from_date overlap'],
  ],
  [
    'a space given back and taken again',
    {
      premises: [
        { space_id: 'spc_1', from_date: '2022-09-01', to_date: '2023-12-31' },
        { space_id: 'spc_1', from_date: '2025-01-01', to_date: null },
      ],
    },
    [],
  ],
  [
    'two whole buildings',
    {
      premises: [
        { building_id: 'bld_1', from_date: '2022-09-01' },
        { building_id: 'bld_2', from_date: '2022-09-01' },
      ],
    },
    [],
  ],
  [
    'terms that overlap',
    {
      terms: [
        { commencement_date: '2022-09-01', expiration_date: '2029-08-31' },
        { commencement_date: '2029-08-31', expiration_date: '2034-08-31' },
      ],
    },
    ['terms[1].commencement_date overlap'],
  ],
  [
    'terms that are replaced or proposed',
    {
      terms: [
        { commencement_date: '2022-09-01', expiration_date: '2029-08-31', status: 'superseded' },
        { commencement_date: '2022-09-01', expiration_date: '2027-08-31', status: 'executed' },
        { commencement_date: '2027-01-01', expiration_date: '2030-12-31', status: 'proposed' },
      ],
    },
    [],
  ],
  [
    'a floor above the cap',
    {
      escalations: [
        { floor_pct: 2, cap_pct: null },
        { floor_pct: 5, cap_pct: 3 },
      ],
      recoveries: [{ floor_pct: 4, cap_pct: 3 }],
    },
    ['escalations[1].floor_pct floor_above_cap', 'recoveries[0].floor_pct floor_above_cap'],
  ],
  [
    'an option whose window is upside down',
    {
      options: [
        {
          notice_start_date: '2028-09-01',
          notice_end_date: '2028-08-31',
          effective_date: '2028-01-01',
          min_area: 10,
          max_area: 9,
        },
      ],
    },
    [
      'options[0].notice_end_date end_before_start',
      'options[0].effective_date before_notice',
      'options[0].min_area min_above_max',
    ],
  ],
  [
    'deposits that do not add up',
    {
      security_deposits: [
        { amount: '-1.00' },
        {
          amount: '100.00',
          burn_down: [
            { date: '2024-01-01', amount: '100.00' },
            { date: '2025-01-01', amount: '100.01' },
          ],
        },
      ],
    },
    [
      'security_deposits[0].amount negative',
      'security_deposits[1].burn_down[1].amount exceeds_deposit',
    ],
  ],
  [
    'dated parts that end before they begin',
    {
      parties: [{ from_date: '2024-01-02', to_date: '2024-01-01' }],
      charges: [{ start_date: '2024-01-02', end_date: '2024-01-01' }],
      percentage_rent: {
        tenant_sales: [{ period_start_date: '2024-01-02', period_end_date: '2024-01-01' }],
      },
      concessions: { free_rent: [{ start_date: '2024-01-02', end_date: '2024-01-01' }] },
    },
    [
      'parties[0].to_date end_before_start',
      'charges[0].end_date end_before_start',
      'percentage_rent.tenant_sales[0].period_end_date end_before_start',
      'concessions.free_rent[0].end_date end_before_start',
    ],
  ],
]

function rents(...rent_schedule: Row[]): Row {
  return { rent_schedule }
}

describe('check of a lease', () => {
  it.each(cases)('%s', (_, values, expected) => {
    expect(issuesOf(values)).toEqual(expected)
  })

  it('says where the gap begins', () => {
    const row = rowOf(rents(base('2022-09-01', '2023-08-31'), base('2023-10-01')))
    expect(lease.check(row, null)).toEqual([
      {
        field: 'rent_schedule[1].start_date',
        code: 'gap',
        message: 'leaves a gap: no step holds from 2023-09-01',
        suggestion: '2023-09-01',
      },
    ])
  })
})

describe('what follows from a lease', () => {
  it('adds up deposits exactly and names each space once', () => {
    const row = rowOf({
      security_deposits: [{ amount: '0.10' }, { amount: '0.20' }, { amount: null }],
      premises: [
        { space_id: 'spc_2' },
        { space_id: 'spc_1' },
        { space_id: 'spc_2' },
        { building_id: 'bld_1' },
      ],
    })
    expect(lease.derive(row)).toEqual({
      space_ids: ['spc_2', 'spc_1'],
      term_months: 84,
      security_deposit_amount: '0.30',
    })
  })

  it('leaves unknown what is unknown', () => {
    expect(lease.derive(rowOf({ commencement_date: null }))).toEqual({
      space_ids: [],
      term_months: null,
      security_deposit_amount: null,
    })
  })

  it.each([
    ['2022-09-01', '2029-08-31', 84],
    ['2022-09-15', '2022-10-14', 1],
    ['2022-09-15', '2022-10-13', 0],
    ['2024-01-31', '2024-02-29', 1],
    ['2024-02-29', '2025-02-28', 12],
    ['2024-01-02', '2024-01-01', null],
  ])('counts the full months from %s to %s', (first, last, months) => {
    expect(fullMonths(first, last)).toBe(months)
  })
})
