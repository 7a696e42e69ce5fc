import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { eventsOf, payloadsOf } from '../../test/feed.ts'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { leaseParents, portfolio, samples } from '../../test/samples.ts'
import { Db } from '../db/db.ts'
import type { Row } from '../kit/resource.ts'
import { bareStore } from '../organizations/service.ts'
import { organizationsDue } from './queries.ts'
import { tendAgenda } from './service.ts'

const problems: string[] = []
const quiet = {
  log: (text: string) => void problems.push(text),
  stopping: new AbortController().signal,
}

/** Does what is due by the given time; the organization is in New York. */
async function tend({ org_id }: TestClient, now: string): Promise<void> {
  const { db } = await grid()
  const organization = { org_id, time_zone: 'America/New_York' }
  await tendAgenda(bareStore(db), organization, { ...quiet, now: new Date(now) })
}

async function newLease(client: TestClient, status: string, values: Row = {}): Promise<string> {
  const { property_id, tenant_party_id } = await leaseParents(client)
  const body = { ...samples.lease(property_id, tenant_party_id), ...values, status: 'draft' }
  const made = await client.post('/leases', body)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const path = `/leases/${made.body.id}`
  const way = ['in_review', 'out_for_signature', 'executed', 'active', 'holdover']
  for (const step of way.slice(0, way.indexOf(status) + 1))
    await client.patch(path, { status: step })
  return path
}

const SYSTEM = { type: 'system', id: null, name: 'Portfolio Grid' }

/** Types of events that the system has told of objects, each with what stands beside the object. */
async function told(client: TestClient): Promise<unknown[]> {
  const events = await eventsOf(client.org_id, ['lease.*', 'work_order.*'])
  const own = events.filter(({ actor_type }) => actor_type === 'system')
  const payloads = await payloadsOf(client.org_id, own)
  for (const { actor } of payloads) expect(actor).toEqual(SYSTEM)
  return payloads.map(({ type, data }) => (data.about ? [type, data.about] : type))
}

describe('a lease', () => {
  it('begins on its commencement date, in the time zone of the organization, once', async () => {
    const client = await newOrganization()
    const path = await newLease(client, 'executed', { commencement_date: '2026-07-01' })
    await tend(client, '2026-07-01T03:59:59Z')
    expect((await client.get(path)).body.status).toBe('executed')
    await tend(client, '2026-07-01T04:00:00Z')
    await tend(client, '2026-07-01T05:00:00Z')
    const { body } = await client.get(path)
    expect(body.status).toBe('active')
    expect(body.status_history.at(-1)).toMatchObject({ to: 'active', by: { type: 'system' } })
    expect(await told(client)).toEqual(['lease.updated', 'lease.status_changed', 'lease.commenced'])
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it.each([
    ['expires the day after its term', 'active', {}, ['expired', 'lease.expired']],
    [
      'expires when the tenant has left',
      'active',
      { move_in_date: '2026-01-01', move_out_date: '2026-07-31' },
      ['expired', 'lease.expired'],
    ],
    [
      'is held over while the tenant stays',
      'active',
      { move_in_date: '2026-01-01' },
      ['holdover', 'lease.holdover_started'],
    ],
    [
      'ends its holdover when the tenant has left',
      'holdover',
      { move_in_date: '2026-01-01', move_out_date: '2026-07-31' },
      ['expired', 'lease.expired'],
    ],
  ])('%s', async (_, status, values, [to, type]) => {
    const client = await newOrganization()
    const path = await newLease(client, status, { expiration_date: '2026-07-31', ...values })
    await tend(client, '2026-08-01T03:59:59Z')
    expect((await client.get(path)).body.status).toBe(status)
    await tend(client, '2026-08-01T04:00:00Z')
    expect((await client.get(path)).body.status).toBe(to)
    const types = (await told(client)).filter((text) => typeof text === 'string')
    expect(types).toEqual(['lease.updated', 'lease.status_changed', type])
  })

  it('that runs from month to month does not end by itself', async () => {
    const client = await newOrganization()
    const values = { expiration_date: '2026-07-31', is_month_to_month: true }
    await newLease(client, 'active', values)
    await tend(client, '2026-08-01T04:00:00Z')
    expect(await told(client)).toEqual([])
  })

  it('is told to be near its end 180, 90 and 30 days ahead, each once', async () => {
    const client = await newOrganization()
    await newLease(client, 'active', { expiration_date: '2026-12-31' })
    const days = ['07-03', '07-04', '10-02', '10-02', '12-01', '12-02']
    for (const day of days) await tend(client, `2026-${day}T12:00:00Z`)
    const date = '2026-12-31'
    expect(await told(client)).toEqual([
      ['lease.expiring', { date, days_left: 180 }],
      ['lease.expiring', { date, days_left: 90 }],
      ['lease.expiring', { date, days_left: 30 }],
    ])
  })

  it('tells when notice can be given for an option that is still open', async () => {
    const client = await newOrganization()
    const option = { option_type: 'renewal', notice_start_date: '2026-07-01', term_months: 60 }
    const options = [option, { ...option, option_type: 'termination', status: 'waived' }]
    await newLease(client, 'active', { options })
    await tend(client, '2026-07-01T12:00:00Z')
    await tend(client, '2026-07-02T12:00:00Z')
    expect(await told(client)).toEqual([
      ['lease.option_window_opened', { option: expect.objectContaining(option) }],
    ])
  })

  it('tells each step of the base rent behind the first, and each rise by a rule, on its day', async () => {
    const client = await newOrganization()
    const step = (start_date: string, kind = 'base'): Row => ({
      start_date,
      kind,
      amount_monthly: '1000.00',
    })
    const rule = { method: 'fixed_pct', value: 3, first_date: '2026-08-31', frequency_months: 6 }
    await newLease(client, 'active', {
      commencement_date: '2026-06-01',
      expiration_date: '2027-06-30',
      rent_schedule: [step('2026-06-01'), step('2026-07-01'), step('2026-07-01', 'parking')],
      escalations: [rule, { method: 'none' }],
    })
    await tend(client, '2026-06-02T12:00:00Z')
    expect(await told(client)).toEqual([])
    for (const day of ['2026-07-01', '2026-07-02', '2026-08-31'])
      await tend(client, `${day}T12:00:00Z`)
    const [next, first] = await told(client)
    expect(next).toMatchObject(['lease.rent_step_started', { step: { start_date: '2026-07-01' } }])
    const escalation = expect.objectContaining(rule)
    expect(first).toEqual(['lease.escalation_due', { escalation, date: '2026-08-31' }])
    // February has no 31st.
    await tend(client, '2027-02-27T12:00:00Z')
    await tend(client, '2027-02-28T12:00:00Z')
    const last = (await told(client)).at(-1)
    expect(last).toEqual(['lease.escalation_due', { escalation, date: '2027-02-28' }])
  })

  it('tells critical dates on the day and as reminders that were asked for', async () => {
    const client = await newOrganization()
    const item = { date_type: 'estoppel', date: '2026-07-31', reminders_days: [30] }
    const done = { date_type: 'insurance', date: '2026-07-31', status: 'done' }
    await newLease(client, 'active', { critical_dates: [item, done] })
    for (const day of ['07-01', '07-15', '07-31']) await tend(client, `2026-${day}T12:00:00Z`)
    const critical_date = expect.objectContaining(item)
    expect(await told(client)).toEqual([
      ['lease.critical_date_due', { critical_date, days_left: 30 }],
      ['lease.critical_date_due', { critical_date, days_left: 0 }],
    ])
  })

  it('whose dates move is told by the new ones', async () => {
    const client = await newOrganization()
    const path = await newLease(client, 'active', { expiration_date: '2026-12-31' })
    await tend(client, '2026-06-01T12:00:00Z')
    await client.patch(path, { expiration_date: '2027-12-31' })
    await tend(client, '2026-07-04T12:00:00Z')
    expect(await told(client)).toEqual([])
    await tend(client, '2027-07-04T12:00:00Z')
    expect(await told(client)).toEqual([['lease.expiring', { date: '2027-12-31', days_left: 180 }]])
  })

  it.each([
    ['is a draft', async () => {}, 'draft'],
    [
      'was deleted',
      async (client: TestClient, path: string) => await client.delete(path),
      'active',
    ],
  ])('that %s is not told', async (_, act, status) => {
    const client = await newOrganization()
    const path = await newLease(client, status, { expiration_date: '2026-12-31' })
    await tend(client, '2026-06-01T12:00:00Z')
    await act(client, path)
    await tend(client, '2026-07-04T12:00:00Z')
    expect(await told(client)).toEqual([])
  })

  it('of long ago is left alone when it is first seen, but not after a pause of the service', async () => {
    const client = await newOrganization()
    const old = await newLease(client, 'active', { expiration_date: '2026-03-31' })
    await tend(client, '2026-06-01T12:00:00Z')
    expect((await client.get(old)).body.status).toBe('active')
    const known = await newLease(client, 'active', { expiration_date: '2026-06-30' })
    await tend(client, '2026-06-02T12:00:00Z')
    await tend(client, '2026-09-01T12:00:00Z')
    expect((await client.get(known)).body.status).toBe('expired')
    expect((await client.get(old)).body.status).toBe('active')
  })
})

describe('a work order', () => {
  const reported = { reported_at: '2026-07-01T08:00:00Z' }
  const breach = (of: string, due_at: string): unknown => [
    'work_order.sla_breached',
    { of, due_at },
  ]

  it('tells when the promised times have passed', async () => {
    const client = await newOrganization()
    const { work_order } = await portfolio(client)
    await client.patch(`/work_orders/${work_order}`, reported)
    await tend(client, '2026-07-01T11:59:59Z')
    expect((await told(client)).filter(Array.isArray)).toEqual([])
    await tend(client, '2026-07-01T12:00:00Z')
    await tend(client, '2026-07-04T08:00:00Z')
    await tend(client, '2026-07-05T08:00:00Z')
    expect((await told(client)).filter(Array.isArray)).toEqual([
      breach('response', '2026-07-01T12:00:00.000Z'),
      breach('resolution', '2026-07-04T08:00:00.000Z'),
    ])
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it.each([
    ['is taken up keeps the time to respond', { status: 'acknowledged' }, ['resolution']],
    ['is on hold has no clock', { status: 'on_hold' }, []],
    ['is done keeps both', { status: 'completed' }, []],
    ['is planned has none', { type: 'preventive' }, []],
  ])('that %s', async (_, patch, kinds) => {
    const client = await newOrganization()
    const { work_order } = await portfolio(client)
    await client.patch(`/work_orders/${work_order}`, { ...reported, ...patch })
    await tend(client, '2026-07-01T09:00:00Z')
    await tend(client, '2026-07-30T12:00:00Z')
    const breaches = (await told(client)).filter(Array.isArray)
    expect(breaches.map(([, about]) => (about as Row)['of'])).toEqual(kinds)
  })
})

it('several workers at once do each thing once', async () => {
  const client = await newOrganization()
  for (let i = 0; i < 3; i++) {
    await newLease(client, 'executed', { commencement_date: '2026-07-01' })
    await newLease(client, 'active', { expiration_date: '2026-07-31' })
  }
  await Promise.all(Array.from({ length: 4 }, () => tend(client, '2026-07-01T12:00:00Z')))
  await tend(client, '2026-07-01T12:01:00Z')
  const types = (await told(client)).map((one) => (Array.isArray(one) ? one[0] : one))
  const counts = Map.groupBy(types, (type) => type)
  expect(Object.fromEntries([...counts].map(([type, all]) => [type, all.length]))).toEqual({
    'lease.updated': 3,
    'lease.status_changed': 3,
    'lease.commenced': 3,
    'lease.expiring': 3,
  })
  expect(problems).toEqual([])
  expect(await checkOrganization(client.org_id)).toEqual([])
})

it('a worker that is cut off at any point leaves nothing out and tells nothing twice', async () => {
  const client = await newOrganization()
  for (let i = 0; i < 6; i++) {
    await newLease(client, 'executed', { commencement_date: '2026-07-01' })
    await newLease(client, 'active', { expiration_date: '2026-07-31' })
  }
  const { org_id } = client
  const { db } = await grid()
  const direct = await owner()
  const now = new Date('2026-07-01T12:00:00Z')
  for (let cut_ms = 0; cut_ms < 60; cut_ms += 5) {
    const own = new Db(
      { ...db.config, application_name: `cut ${org_id}` },
      { pipelined: 1, pooled: 2 },
    )
    const work = tendAgenda(bareStore(own), { org_id, time_zone: 'UTC' }, { ...quiet, now })
    const ended = work.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, cut_ms))
    await direct.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
      [`cut ${org_id}`],
    )
    await ended
    await own.close()
  }
  await direct.end()
  // A change that another write came before is tried again a minute later.
  await tend(client, '2026-07-01T12:02:00Z')
  const types = (await told(client)).map((one) => (Array.isArray(one) ? one[0] : one))
  const counts = Map.groupBy(types, (type) => type)
  expect(Object.fromEntries([...counts].map(([type, all]) => [type, all.length]))).toEqual({
    'lease.updated': 6,
    'lease.status_changed': 6,
    'lease.commenced': 6,
    'lease.expiring': 6,
  })
  expect(await checkOrganization(org_id)).toEqual([])
})

it('a change that was written before its worker died is not written again', async () => {
  const client = await newOrganization()
  const path = await newLease(client, 'executed', { commencement_date: '2026-07-01' })
  await tend(client, '2026-06-30T12:00:00Z')
  await client.patch(path, { status: 'active' })
  await tend(client, '2026-07-01T12:00:00Z')
  expect((await eventsOf(client.org_id, ['lease.commenced'])).length).toBe(1)
  expect(await told(client)).toEqual([])
})

it('an organization is looked at when something was written or is due, and not otherwise', async () => {
  const client = await newOrganization()
  const { db } = await grid()
  const isDue = async (now: string): Promise<boolean> =>
    (await organizationsDue(db, new Date(now))).some(({ org_id }) => org_id === client.org_id)
  expect(await isDue('2026-06-01T12:00:00Z')).toBe(false)
  await newLease(client, 'active', { expiration_date: '2026-12-31' })
  expect(await isDue('2026-06-01T12:00:00Z')).toBe(true)
  await tend(client, '2026-06-01T12:00:00Z')
  // As half a minute later, when no write of before can still come to light.
  const direct = await owner()
  await direct.query('update agenda_scan set scanned_at = now() where org_id = $1', [client.org_id])
  await direct.end()
  expect(await isDue('2026-06-01T12:00:00Z')).toBe(false)
  expect(await isDue('2026-07-04T12:00:00Z')).toBe(true)
})
