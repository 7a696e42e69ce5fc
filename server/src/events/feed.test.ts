import { expect, test } from 'vitest'
import { grid, newOrganization } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { placeTransactions } from '../queue/work.ts'
import { eventId, eventsAfter, findEvent, matchesType, patternSql } from './feed.ts'
import { renderEvents, thinEvent } from './payload.ts'

test('an event tells who changed what, with the object as it was', async () => {
  const { app, db } = await grid()
  const client = await newOrganization()
  const made = await client.post('/properties', samples.property())
  await client.patch(`/properties/${made.body.id}`, { name: 'Harbor Square' })
  await placeTransactions(db)
  const events = await eventsAfter(db, client.org_id, 0, 10, ['property.*'])
  expect(events.map(({ type, seq }) => [type, seq])).toEqual([
    ['property.created', 2],
    ['property.updated', 3],
  ])
  const [, updated] = (await renderEvents(app.store, client.org_id, events)).map((text) =>
    JSON.parse(text),
  )
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
