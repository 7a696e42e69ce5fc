import { describe, expect, it } from 'vitest'
import { allFields } from '../kit/resource.ts'
import type { Row } from '../kit/resource.ts'
import { workOrder } from './resource.ts'
import { workOrderLifecycle } from './rules.ts'

function rowOf(values: Row): Row {
  const blank = Object.keys(allFields(workOrder)).map((name) => [name, null] as const)
  return {
    ...Object.fromEntries(blank),
    id: 'wo_1',
    type: 'tenant_request',
    priority: 'urgent',
    status: 'new',
    created_at: day('08:00'),
    reported_at: day('08:00'),
    ...values,
  }
}

const day = (time: string): string => `2026-07-14T${time}:00.000Z`

/** A history from steps such as `assigned 09:30`; the first one has no predecessor. */
function history(...steps: string[]): Row[] {
  const words = steps.map((step) => step.split(' ') as [string, string])
  return words.map(([to, time], index) => ({
    from: words[index - 1]?.[0] ?? null,
    to,
    at: day(time),
    by: null,
    reason: null,
  }))
}

describe('moves of a work order', () => {
  const { transitions } = workOrderLifecycle
  it.each([
    ['new', 'completed', true],
    ['new', 'pending_approval', false],
    ['acknowledged', 'new', false],
    ['assigned', 'pending_approval', true],
    ['scheduled', 'pending_approval', false],
    ['scheduled', 'assigned', false],
    ['in_progress', 'pending_approval', true],
    ['pending_approval', 'in_progress', true],
    ['pending_approval', 'completed', false],
    ['on_hold', 'scheduled', true],
    ['on_hold', 'completed', false],
    ['completed', 'in_progress', true],
    ['completed', 'cancelled', false],
    ['closed', 'in_progress', false],
    ['cancelled', 'new', false],
  ])('%s to %s: %s', (from, to, allowed) => {
    expect(transitions[from]?.includes(to)).toBe(allowed)
  })

  it('let every open state be put on hold and cancelled', () => {
    const open = ['new', 'acknowledged', 'assigned', 'scheduled', 'in_progress', 'pending_approval']
    for (const state of open) {
      expect(transitions[state]).toEqual(expect.arrayContaining(['on_hold', 'cancelled']))
      expect(transitions['on_hold']).toContain(state)
    }
  })
})

const checks: [string, Row, string[]][] = [
  ['nothing known', {}, []],
  [
    'times that run backwards',
    {
      scheduled_start_at: day('10:00'),
      scheduled_end_at: day('09:59'),
      started_at: day('10:00'),
      completed_at: day('09:00'),
      closed_at: day('08:30'),
    },
    [
      'scheduled_end_at end_before_start',
      'completed_at before_start',
      'closed_at before_completion',
    ],
  ],
  [
    'times written in different zones',
    { started_at: '2026-07-14T10:00:00+02:00', completed_at: day('08:30') },
    [],
  ],
  ['its own parent', { parent_work_order_id: 'wo_1' }, ['parent_work_order_id own_parent']],
  [
    'a negative quantity',
    { line_items: [{ quantity: 1 }, { quantity: -1 }] },
    ['line_items[1].quantity negative'],
  ],
]

describe('check of a work order', () => {
  it.each(checks)('%s', (_, values, expected) => {
    const issues = workOrder.check(rowOf(values), null)
    expect(issues.map((issue) => `${issue.field} ${issue.code}`)).toEqual(expected)
  })
})

const times = (response: string, resolution: string): Row => ({
  policy: 'standard',
  response_due_at: response,
  resolution_due_at: resolution,
})

const slas: [string, Row, Row | null][] = [
  [
    'emergency',
    { priority: 'emergency' },
    times('2026-07-14T08:15:00.000Z', '2026-07-14T12:00:00.000Z'),
  ],
  ['urgent', {}, times('2026-07-14T09:00:00.000Z', '2026-07-15T08:00:00.000Z')],
  ['normal', { priority: 'normal' }, times('2026-07-14T12:00:00.000Z', '2026-07-17T08:00:00.000Z')],
  ['low', { priority: 'low' }, times('2026-07-15T08:00:00.000Z', '2026-07-21T08:00:00.000Z')],
  [
    'counted from its creation when the report has no time',
    { reported_at: null, created_at: day('08:30') },
    times('2026-07-14T09:30:00.000Z', '2026-07-15T08:30:00.000Z'),
  ],
  ['planned work', { type: 'preventive' }, null],
  ['unknown priority', { priority: null }, null],
  [
    'on hold now: the clock has not moved on',
    { status_history: history('new 08:00', 'on_hold 08:30') },
    times('2026-07-14T09:00:00.000Z', '2026-07-15T08:00:00.000Z'),
  ],
  [
    'half an hour on hold before the response',
    {
      status_history: history('new 08:00', 'on_hold 08:10', 'new 08:40', 'acknowledged 09:10'),
    },
    times('2026-07-14T09:30:00.000Z', '2026-07-15T08:30:00.000Z'),
  ],
  [
    'on hold twice after the response: only the resolution moves',
    {
      status_history: history(
        'new 08:00',
        'in_progress 08:20',
        'on_hold 09:00',
        'in_progress 10:00',
        'on_hold 11:00',
        'in_progress 11:30',
      ),
    },
    times('2026-07-14T09:00:00.000Z', '2026-07-15T09:30:00.000Z'),
  ],
]

describe('times to keep', () => {
  it.each(slas)('%s', (_, values, expected) => {
    expect(workOrder.derive(rowOf(values))['sla']).toEqual(expected)
  })
})

const derivations: [string, Row, Row][] = [
  [
    'nothing happened yet',
    {},
    {
      status_changed_at: day('08:00'),
      reopened_count: 0,
      sla_paused_minutes: 0,
      actual_cost: null,
    },
  ],
  [
    'each step stamps its time',
    {
      status: 'closed',
      status_history: history(
        'new 08:00',
        'acknowledged 08:10',
        'assigned 08:20',
        'in_progress 08:30',
        'completed 09:00',
        'closed 09:30',
      ),
    },
    {
      status_changed_at: day('09:30'),
      acknowledged_at: day('08:10'),
      assigned_at: day('08:20'),
      started_at: day('08:30'),
      completed_at: day('09:00'),
      closed_at: day('09:30'),
    },
  ],
  [
    'a time that was given stays, and being loaded in a state is no step',
    {
      status: 'closed',
      completed_at: day('07:00'),
      status_history: history('completed 09:00', 'closed 09:30'),
    },
    { completed_at: undefined, closed_at: day('09:30') },
  ],
  [
    'taken up again: no longer done',
    {
      status: 'in_progress',
      completed_at: day('09:00'),
      status_history: history('new 08:00', 'completed 09:00', 'in_progress 10:00'),
    },
    { completed_at: null, started_at: day('10:00'), reopened_count: 1 },
  ],
  [
    'done again',
    {
      status: 'completed',
      started_at: day('08:10'),
      status_history: history(
        'new 08:00',
        'completed 09:00',
        'in_progress 10:00',
        'completed 11:00',
      ),
    },
    { completed_at: day('11:00'), started_at: undefined, reopened_count: 1 },
  ],
  [
    'minutes on hold',
    { status_history: history('new 08:00', 'on_hold 08:10', 'new 08:40') },
    { sla_paused_minutes: 30, status_changed_at: day('08:40') },
  ],
  [
    'costs, given and worked out',
    {
      line_items: [
        { amount: '0.10', quantity: 5, unit_price: '9.0000' },
        { quantity: 2.5, unit_price: '95.0000' },
        { quantity: 3, unit_price: '0.0350' },
        { description: 'no cost known' },
      ],
    },
    { actual_cost: '237.71' },
  ],
]

describe('what follows from a work order', () => {
  it.each(derivations)('%s', (_, values, expected) => {
    const derived = workOrder.derive(rowOf(values))
    for (const [name, value] of Object.entries(expected)) expect(derived[name], name).toEqual(value)
  })

  it('sets only computed fields as long as nothing moved', () => {
    expect(workOrder.derived.toSorted()).toEqual([
      'actual_cost',
      'reopened_count',
      'sla',
      'sla_paused_minutes',
      'status_changed_at',
    ])
  })
})
