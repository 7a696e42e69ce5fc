import { describe, expect, it } from 'vitest'
import type { Row } from '../kit/resource.ts'
import { issuesOf } from './rules-fixture.ts'

const moves: [string, Row, Row | null, string[]][] = [
  ['loaded as active', { status: 'active' }, null, []],
  [
    'loaded as terminated without date and reason',
    { status: 'terminated' },
    null,
    ['terminated_date required', 'status_reason required'],
  ],
  ['loaded as void', { status: 'void' }, null, ['status invalid_transition']],
  ['loaded as superseded', { status: 'superseded' }, null, ['status invalid_transition']],
  [
    'terminated without date and reason',
    { status: 'terminated' },
    { status: 'active' },
    ['terminated_date required', 'status_reason required'],
  ],
  [
    'terminated with date and reason',
    { status: 'terminated', terminated_date: '2028-12-31', status_reason: 'Option used.' },
    { status: 'active' },
    [],
  ],
  ['edited while terminated', { status: 'terminated' }, { status: 'terminated' }, []],
  [
    'active again without an amendment',
    { status: 'active' },
    { status: 'expired' },
    ['amendments amendment_required'],
  ],
  [
    'active again by an amendment',
    { status: 'active', amendments: [{ kind: 'extension' }] },
    { status: 'expired' },
    [],
  ],
  ['a date taken away', { expiration_date: null }, {}, ['expiration_date required']],
  ['a date that was never known', { expiration_date: null }, { expiration_date: null }, []],
  [
    'no longer month to month',
    { expiration_date: null },
    { expiration_date: null, is_month_to_month: true },
    ['expiration_date required'],
  ],
]

describe('a change of a lease', () => {
  it.each(moves)('%s', (_, values, before, expected) => {
    expect(issuesOf(values, before)).toEqual(expected)
  })
})

/** On 2026-07-01: what a status asks of the dates of the lease that comes to it. */
const days: [string, Row, Row | null, string[]][] = [
  ['active from today on', { status: 'active', commencement_date: '2026-07-01' }, null, []],
  [
    'active before it begins',
    { status: 'active', commencement_date: '2026-07-02' },
    null,
    ['commencement_date after_today'],
  ],
  [
    'made active before it begins',
    { status: 'active', commencement_date: '2026-07-02' },
    { status: 'executed' },
    ['commencement_date after_today'],
  ],
  [
    'active long ago, put off now',
    { status: 'active', commencement_date: '2026-07-02' },
    { status: 'active' },
    [],
  ],
  [
    'active from month to month since no one knows when',
    { status: 'active', commencement_date: null, is_month_to_month: true },
    null,
    [],
  ],
  ['expired yesterday', { status: 'expired', expiration_date: '2026-06-30' }, null, []],
  [
    'expired today',
    { status: 'expired', expiration_date: '2026-07-01' },
    null,
    ['expiration_date not_before_today'],
  ],
  [
    'held over before it ends',
    { status: 'holdover' },
    { status: 'active' },
    ['expiration_date not_before_today'],
  ],
  ['signed for a term to come', { status: 'executed', commencement_date: '2027-01-01' }, null, []],
  ['a draft of a past term', { expiration_date: '2023-01-01' }, null, []],
]

describe('a lease that comes to a status', () => {
  it.each(days)('%s', (_, values, before, expected) => {
    expect(issuesOf(values, before, '2026-07-01')).toEqual(expected)
  })
})
