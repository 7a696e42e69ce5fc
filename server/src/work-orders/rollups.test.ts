import { describe, expect, test } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import type { Row } from '../kit/resource.ts'

const HOUR_MS = 3_600_000

/** The instant so many hours before now. */
function ago(hours: number): string {
  return new Date(Date.now() - hours * HOUR_MS).toISOString()
}

/** A normal request has to be taken up within 4 hours and done within 72 (SLA_POLICY). */
const cases: [
  name: string,
  body: Row,
  move: string | null,
  expected: [unknown, unknown, number],
][] = [
  ['new, in time', { reported_at: ago(3) }, null, [false, false, 3]],
  ['new, too long', { reported_at: ago(5) }, null, [true, false, 5]],
  ['open for days', { reported_at: ago(73) }, null, [true, true, 73]],
  [
    'taken up in time',
    { reported_at: ago(50), acknowledged_at: ago(47) },
    null,
    [false, false, 50],
  ],
  ['taken up too late', { reported_at: ago(50), assigned_at: ago(45) }, null, [true, false, 50]],
  ['taken up by a move, in time', { reported_at: ago(2) }, 'scheduled', [false, false, 2]],
  ['taken up by a move, too late', { reported_at: ago(9) }, 'scheduled', [true, false, 9]],
  [
    'done in time',
    {
      status: 'closed',
      reported_at: ago(500),
      started_at: ago(499),
      completed_at: ago(489.5),
      closed_at: ago(100),
    },
    null,
    [false, false, 10.5],
  ],
  [
    'done too late',
    { status: 'completed', reported_at: ago(500), started_at: ago(499), completed_at: ago(400) },
    null,
    [false, true, 100],
  ],
  ['cancelled untouched, in time', { reported_at: ago(3) }, 'cancelled', [false, false, 3]],
  ['on hold, in time', { reported_at: ago(3) }, 'on_hold', [false, false, 3]],
  ['planned work', { type: 'preventive', reported_at: ago(500) }, null, [null, null, 500]],
  ['an emergency', { priority: 'emergency', reported_at: ago(0.5) }, null, [true, false, 0.5]],
]

describe('rollups of work orders', () => {
  test('tell lateness and age by the clock', async () => {
    const client = await newOrganization()
    const property = await client.post('/properties', samples.property())
    const found: Row = {}
    for (const [name, body, status] of cases) {
      const whole = { ...samples.work_order(property.body.id), ...body }
      const made = await client.post('/work_orders', whole)
      expect(made.status, name).toBe(201)
      const path = `/work_orders/${made.body.id}`
      if (status) expect((await client.patch(path, { status })).status, name).toBe(200)
      const { rollups } = (await client.get(`${path}?include=rollups`)).body
      const { sla_response_breached, sla_resolution_breached, age_hours } = rollups
      // The seconds that the test itself takes are a few thousandths of an hour.
      found[name] = [
        sla_response_breached,
        sla_resolution_breached,
        Math.round(age_hours * 10) / 10,
      ]
    }
    expect(found).toEqual(Object.fromEntries(cases.map(([name, , , expected]) => [name, expected])))
  })

  test('stand in lists, and only for the own organization', async () => {
    const [client, other] = await Promise.all([newOrganization(), newOrganization()])
    for (const owner of [client, other]) {
      const property = await owner.post('/properties', samples.property())
      await owner.post('/work_orders', samples.work_order(property.body.id))
    }
    const { body } = await client.get('/work_orders?include=rollups')
    expect(body.data).toHaveLength(1)
    expect(body.data[0].rollups).toMatchObject({ sla_response_breached: false })
  })
})
