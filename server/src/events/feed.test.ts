import { expect, test } from 'vitest'
import { eventFaults } from '../../test/event-schemas.ts'
import { eventsOf, payloadsOf } from '../../test/feed.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import { adapterOf, load } from '../sdis/load-fixture.ts'
import { eventId, findEvent, matchesType, patternSql } from './feed.ts'
import { thinEvent } from './payload.ts'

test('an event tells who changed what, with the object as it was', async () => {
  const { db } = await grid()
  const client = await newOrganization()
  const made = await client.post('/properties', samples.property())
  await client.patch(`/properties/${made.body.id}`, { name: 'Harbor Square' })
  const events = await eventsOf(client.org_id, ['property.*'])
  expect(events.map(({ type, seq }) => [type, seq])).toEqual([
    ['property.created', 2],
    ['property.updated', 3],
  ])
  const [, updated] = await payloadsOf(client.org_id, events)
  expect(updated).toEqual({
    id: eventId(events[1]!),
    object: 'event',
    type: 'property.updated',
    schema_version: '2026-05-12',
    created_at: updated.data.object.updated_at,
    organization_id: client.organization_id,
    environment: 'production',
    seq: 3,
    resource_seq: 2,
    actor: { type: 'api_key', id: expect.stringMatching(/^key_/), name: 'Test key' },
    request_id: expect.stringMatching(/^req_/),
    data: {
      object: expect.objectContaining({ id: made.body.id, name: 'Harbor Square' }),
      previous: { name: 'Harbor Point' },
      changed: ['name'],
    },
  })
  const found = await findEvent(db, client.org_id, updated.id)
  expect(found).toEqual(events[1])
  expect(JSON.parse(thinEvent(found!, 'https://grid.example/api/v1')).data).toEqual({
    object: {
      id: made.body.id,
      object: 'property',
      url: `https://grid.example/api/v1/properties/${made.body.id}`,
    },
    changed: ['name'],
  })
})

test('an object that is too large is left to be read where it is', async () => {
  const client = await newOrganization()
  const amendments = Array.from({ length: 60 }, () => ({ summary: 'ü'.repeat(1_000) }))
  const { property_id, tenant_party_id } = await leaseParents(client)
  const body = { ...samples.lease(property_id, tenant_party_id), amendments }
  const made = await client.post('/leases', body)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const [event] = await payloadsOf(client.org_id, await eventsOf(client.org_id, ['lease.*']))
  const { id } = made.body
  expect(event).toMatchObject({ type: 'lease.created', truncated: true })
  expect(event.data.object).toEqual({ id, object: 'lease', url: `/api/v1/leases/${id}` })
  expect(event.data.changed).toContain('amendments')
  expect(eventFaults(event)).toEqual([])
})

test('what a source ended, and what was deleted since, is shown as it was then', async () => {
  const client = await newOrganization()
  const adapter = adapterOf({}, { mode: 'full_snapshot', guards: { max_retract_pct: 100 } })
  await load(client, adapter, 'Code,Name,Area\nA,Alpha,1\nB,Beta,2\n', '2026-01-01')
  await load(client, adapter, 'Code,Name,Area\nB,Beta,3\n', '2026-02-01')
  const { body: list } = await client.get('/buildings?include=archived&sort=code')
  const [alpha, beta] = list.data
  await client.delete(`/buildings/${beta.id}`)
  const events = await eventsOf(client.org_id, ['building.*'])
  const payloads = await payloadsOf(client.org_id, events)
  const shown = payloads.map(({ type, data: { object } }) => [
    type,
    object.code,
    object.rentable_area,
  ])
  expect(shown).toEqual([
    ['building.created', 'A', 1],
    ['building.created', 'B', 2],
    ['building.updated', 'B', 3],
    ['building.updated', 'A', 1],
    ['building.deleted', 'B', 3],
  ])
  expect(payloads[3].data.object).toEqual(alpha)
  expect(payloads[2].data.object).toEqual(beta)
  expect(payloads.flatMap(eventFaults)).toEqual([])
})

test.each([
  [null, 'lease.created', true],
  [['*'], 'lease.created', true],
  [['lease.*'], 'lease.created', true],
  [['lease.*'], 'leases.created', false],
  [['lease.created'], 'lease.created', true],
  [['lease.created'], 'lease.created_', false],
  [['work_order.*'], 'workXorder.created', false],
  [[], 'lease.created', false],
])('patterns %j and the type %s fit: %j', async (patterns, type, fits) => {
  expect(matchesType(patterns, type)).toBe(fits)
  if (patterns === null) return
  const { db } = await grid()
  const [row] = await db.query<{ fits: boolean }>(1, 'select $1 like any($2::text[]) as fits', [
    type,
    patternSql(patterns),
  ])
  expect(row?.fits).toBe(fits)
})
