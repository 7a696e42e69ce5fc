import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { eventsOf, payloadsOf } from '../../test/feed.ts'
import { newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { runJob } from '../../test/jobs.ts'
import { leaseParents, portfolio, samples } from '../../test/samples.ts'
import type { Row } from '../kit/resource.ts'
import { adapterOf, fileOf } from '../sdis/load-fixture.ts'

const AMENDMENT = { number: '1', title: 'First amendment', kind: 'extension' }

/** Types of the events that a patch leads to. */
async function told(client: TestClient, path: string, patch: Row): Promise<string[]> {
  const before = (await eventsOf(client.org_id)).length
  const { status, body } = await client.patch(path, patch)
  expect(status, JSON.stringify(body)).toBe(200)
  return (await eventsOf(client.org_id)).slice(before).map(({ type }) => type)
}

async function newLease(client: TestClient, status: string): Promise<string> {
  const { property_id, tenant_party_id } = await leaseParents(client)
  const dates = { commencement_date: '2016-01-01', expiration_date: '2025-12-31' }
  const body = { ...samples.lease(property_id, tenant_party_id), ...dates, status: 'draft' }
  const path = `/leases/${(await client.post('/leases', body)).body.id}`
  const way = ['in_review', 'out_for_signature', 'executed', 'active', 'holdover']
  for (const step of way.slice(0, way.indexOf(status) + 1))
    expect(await client.patch(path, { status: step })).toMatchObject({ status: 200 })
  return path
}

describe('a change is told as what it means', () => {
  it.each([
    ['draft', { name: 'Suite 1200' }, []],
    ['draft', { status: 'in_review' }, ['status_changed']],
    ['out_for_signature', { status: 'executed' }, ['status_changed', 'executed']],
    ['executed', { status: 'active' }, ['status_changed', 'commenced']],
    ['active', { status: 'expired' }, ['status_changed', 'expired']],
    ['active', { status: 'holdover' }, ['status_changed', 'holdover_started']],
    ['holdover', { status: 'expired' }, ['status_changed', 'expired']],
    [
      'active',
      { status: 'terminated', terminated_date: '2026-06-30', status_reason: 'Option used' },
      ['status_changed', 'terminated'],
    ],
    ['active', { amendments: [AMENDMENT] }, ['amended']],
  ])('of a lease that is %s: %j', async (status, patch, verbs) => {
    const client = await newOrganization()
    const path = await newLease(client, status)
    const types = await told(client, path, patch)
    expect(types).toEqual(['updated', ...verbs].map((verb) => `lease.${verb}`))
  })

  it.each([
    [{ team: 'HVAC' }, ['assigned']],
    [{ team: 'HVAC', status: 'assigned' }, ['status_changed', 'assigned']],
    [{ status: 'closed' }, ['status_changed', 'completed']],
    [{ title: 'Too cold' }, []],
  ])('of a new work order: %j', async (patch, verbs) => {
    const client = await newOrganization()
    const { work_order } = await portfolio(client)
    const types = await told(client, `/work_orders/${work_order}`, patch)
    expect(types).toEqual(['updated', ...verbs].map((verb) => `work_order.${verb}`))
  })

  it('once only: a completed work order that is closed was completed before', async () => {
    const client = await newOrganization()
    const { work_order } = await portfolio(client)
    const path = `/work_orders/${work_order}`
    expect(await told(client, path, { status: 'completed' })).toContain('work_order.completed')
    expect(await told(client, path, { status: 'closed' })).not.toContain('work_order.completed')
  })

  it('of a document whose file has come', async () => {
    const client = await newOrganization()
    const { document } = await portfolio(client)
    const file = new FormData()
    file.append('file', new Blob(['text'], { type: 'text/plain' }), 'a.txt')
    await client.post(`/documents/${document}/versions`, file)
    const types = (await eventsOf(client.org_id, ['document.*'])).map(({ type }) => type)
    expect(types).toEqual([
      'document.created',
      'document.updated',
      'document.status_changed',
      'document.available',
    ])
  })
})

it('a load tells what its rows mean, each with the object as it was then', async () => {
  const client = await newOrganization()
  const map = {
    lease_number: 'row.Number',
    lease_type: '"direct"',
    recovery_type: '"nnn"',
    rentable_area: 'row.Area',
    commencement_date: '"2024-01-01"',
    expiration_date: '"2030-12-31"',
    status: 'row.Status',
  }
  const stream = { name: 'leases', type: 'lease', key: 'row.Number', map }
  const load = async (as_of: string, ...rows: string[]): Promise<unknown> =>
    await runJob(client, adapterOf(stream), fileOf(`Number,Area,Status\n${rows.join('\n')}`), as_of)
  await load('2026-01-01', 'A,100,executed', 'B,200,active', 'C,300,active')
  await load('2026-02-01', 'A,100,active', 'B,200,expired', 'C,310,active')
  expect(await checkOrganization(client.org_id)).toEqual([])
  const events = await eventsOf(client.org_id, ['lease.*'])
  // Between the loads the first job ended, and the second was accepted and began.
  expect(events.every(({ body }) => body === null)).toBe(true)
  const payloads = await payloadsOf(client.org_id, events)
  const shown = payloads.map(({ type, seq, resource_seq, data: { object, previous = {} } }) => [
    type.slice(6),
    seq - events[0]!.seq,
    resource_seq,
    object.lease_number,
    object.status,
    object.rentable_area,
    previous.status,
  ])
  expect(shown).toEqual([
    ['created', 0, 1, 'A', 'executed', 100, undefined],
    ['created', 1, 1, 'B', 'active', 200, undefined],
    ['created', 2, 1, 'C', 'active', 300, undefined],
    ['updated', 6, 2, 'A', 'active', 100, 'executed'],
    ['updated', 7, 2, 'B', 'expired', 200, 'active'],
    ['updated', 8, 2, 'C', 'active', 310, undefined],
    ['status_changed', 9, 2, 'A', 'active', 100, 'executed'],
    ['commenced', 10, 2, 'A', 'active', 100, 'executed'],
    ['status_changed', 11, 2, 'B', 'expired', 200, 'active'],
    ['expired', 12, 2, 'B', 'expired', 200, 'active'],
  ])
  for (const { data, seq } of payloads.slice(3)) {
    const { body } = await client.get(`/leases/${data.object.id}`)
    expect(data.object, String(seq)).toEqual(body)
  }
})

it('the change feed shows each change once', async () => {
  const client = await newOrganization()
  const path = await newLease(client, 'executed')
  const { body: lease } = await client.get(path)
  await eventsOf(client.org_id)
  const { body } = await client.get('/changes?types=lease')
  expect(body.data.map(({ op }: { op: string }) => op)).toEqual([
    'created',
    ...Array.from({ length: lease.version - 1 }, () => 'updated'),
  ])
})
