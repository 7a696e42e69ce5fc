import { describe, expect, it } from 'vitest'
import { eventFaults } from '../../test/event-schemas.ts'
import { placeAll } from '../../test/feed.ts'
import { clientWith, grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { portfolio } from '../../test/samples.ts'
import { ANY, auditActions } from '../audit/actions.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { catalogue } from './catalogue.ts'
import { knownPlace, placeOf } from './places.ts'

/** An organization with some events, and what the feed shows of them. */
async function withEvents(): Promise<{ client: TestClient; ids: Record<string, string> }> {
  const client = await newOrganization()
  const ids = { ...(await portfolio(client)) }
  await client.patch(`/work_orders/${ids['work_order']}`, { team: 'HVAC' })
  await client.delete(`/documents/${ids['document']}`)
  await placeAll(client.org_id)
  return { client, ids }
}

const typesOf = ({ body }: Answer): string[] => body.data.map(({ type }: { type: string }) => type)

describe('GET /events', () => {
  it('shows what happened in order, without gaps, each as its type says', async () => {
    const { client } = await withEvents()
    const answer = await client.get('/events?limit=200')
    expect(answer.status).toBe(200)
    expect(typesOf(answer).slice(-5)).toEqual([
      'document.created',
      'work_order.created',
      'work_order.updated',
      'work_order.assigned',
      'document.deleted',
    ])
    const { data } = answer.body
    expect(data.map(({ seq }: { seq: number }) => seq)).toEqual(
      data.map((_: unknown, i: number) => i + 1),
    )
    expect(data.flatMap(eventFaults)).toEqual([])
  })

  it('goes on where a page ended, and shows what has come since, for ever', async () => {
    const { client, ids } = await withEvents()
    const seen: number[] = []
    let cursor = ''
    for (;;) {
      const { body } = await client.get(`/events?limit=3${cursor}`)
      seen.push(...body.data.map(({ seq }: { seq: number }) => seq))
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
      if (!body.has_more) break
    }
    expect(seen).toEqual(seen.map((_, i) => i + 1))
    expect((await client.get(`/events?limit=3${cursor}`)).body.data).toEqual([])
    await client.patch(`/parties/${ids['party']}`, { dba_name: 'Acme' })
    await placeAll(client.org_id)
    expect(typesOf(await client.get(`/events?limit=3${cursor}`))).toEqual(['party.updated'])
  })

  it('shows only what was asked for, and remembers how far it has looked', async () => {
    const { client, ids } = await withEvents()
    const some = async (query: string): Promise<string[]> =>
      typesOf(await client.get(`/events?${query}`))
    expect(await some('types=work_order.*')).toEqual([
      'work_order.created',
      'work_order.updated',
      'work_order.assigned',
    ])
    expect(await some('types=work_order.assigned,party.created')).toEqual([
      'party.created',
      'work_order.assigned',
    ])
    expect(await some(`object_id=${ids['document']}`)).toEqual([
      'document.created',
      'document.deleted',
    ])
    const { body: all } = await client.get('/events')
    const middle = all.data[4].created_at
    const before = await some(`until=${middle}`)
    const after = await some(`since=${middle}`)
    expect([...before, ...after]).toEqual(typesOf({ body: all } as Answer))
    expect(after.length).toBeGreaterThan(0)
    const { body } = await client.get('/events?types=lease.amended')
    expect(body).toMatchObject({ data: [], has_more: false, next_cursor: expect.any(String) })
  })

  it('goes on behind events that are no longer kept', async () => {
    const { client } = await withEvents()
    const { body: all } = await client.get('/events')
    const direct = await owner()
    await direct.query(
      'delete from event where org_id = $1 and tx_id < (select max(tx_id) from tx where org_id = $1)',
      [client.org_id],
    )
    await direct.end()
    const { body } = await client.get('/events?limit=1')
    expect(body.data).toEqual(all.data.slice(-1))
  })

  it.each([
    ['types=lease.begun', 'types', 'unknown_value'],
    ['types=leases.*', 'types', 'unknown_value'],
    ['types=', 'types', 'unknown_value'],
    ['object_id=lease', 'object_id', 'invalid_id'],
    ['since=yesterday', 'since', 'invalid_format'],
    ['until=2026-05-12', 'until', 'invalid_format'],
    ['limit=0', 'limit', 'out_of_range'],
    ['limit=201', 'limit', 'out_of_range'],
    ['type=lease.created', 'type', 'unknown_field'],
  ])('refuses ?%s', async (query, field, code) => {
    const client = await newOrganization()
    const { status, body } = await client.get(`/events?${query}`)
    expect(status).toBe(422)
    expect(body.errors).toMatchObject([{ field, code }])
  })

  it('refuses a cursor of another list, and another organization', async () => {
    const { client } = await withEvents()
    const { body } = await client.get('/events?types=lease.*')
    const cursor = encodeURIComponent(body.next_cursor)
    const answer = await client.get(`/events?cursor=${cursor}`)
    expect(answer).toMatchObject({ status: 422, body: { code: 'cursor_mismatch' } })
    const other = await newOrganization()
    const foreign = await other.get(`/events?types=lease.*&cursor=${cursor}`)
    expect(foreign).toMatchObject({ status: 422, body: { code: 'cursor_mismatch' } })
  })

  it('needs a key, and its scope', async () => {
    const { org_id } = await newOrganization()
    expect((await clientWith('', 0).get('/events')).status).toBe(401)
    const scopes = ALL_SCOPES.filter((scope) => scope !== 'read:events')
    const client = await newClient(org_id, scopes)
    for (const path of ['/events', '/events/types', '/events/evt_1'])
      expect(await client.get(path)).toMatchObject({
        status: 403,
        body: { required_scope: 'read:events' },
      })
  })
})

describe('GET /events/{id}', () => {
  it('is the event as the feed shows it', async () => {
    const { client } = await withEvents()
    const { data } = (await client.get('/events')).body
    for (const event of [data[0], data.at(-1)])
      expect((await client.get(`/events/${event.id}`)).body).toEqual(event)
  })

  it.each([
    ['evt_999999999999', 404],
    ['evt_x', 422],
    ['le_1', 404],
  ])('%s answers %i', async (id, status) => {
    const client = await newOrganization()
    expect((await client.get(`/events/${id}`)).status).toBe(status)
  })

  it('of another organization does not exist', async () => {
    const { client } = await withEvents()
    const { data } = (await client.get('/events')).body
    const other = await newOrganization()
    expect((await other.get(`/events/${data[0].id}`)).status).toBe(404)
  })
})

describe('GET /events/types', () => {
  it('lists every type with an example that keeps to its schema', async () => {
    const client = await newOrganization()
    const { status, body } = await client.get('/events/types')
    expect(status).toBe(200)
    expect(typesOf({ body } as Answer)).toEqual(catalogue.map(({ type }) => type))
    for (const { type, title, description, example } of body.data) {
      expect(type).toMatch(/^[a-z_]+\.[a-z_]+$/)
      expect(title && description, type).toBeTruthy()
      expect(eventFaults(example), type).toEqual([])
    }
    const types = catalogue.map(({ type }) => type)
    expect(new Set(types).size).toBe(types.length)
  })

  it('has a prefix and a path for each type of object that it or the audit log tells of', () => {
    const told = [...catalogue, ...auditActions()].map(({ object_type }) => String(object_type))
    const types = [...new Set(told)].filter((type) => type !== ANY)
    expect(types.filter((type) => !knownPlace(type))).toEqual([])
    const prefixes = types.map((type) => placeOf(type).prefix)
    expect(new Set(prefixes).size).toBe(types.length)
  })

  it('lists some', async () => {
    const client = await newOrganization()
    const answer = await client.get('/events/types?types=job.*,webhook.test')
    expect(typesOf(answer)).toEqual([
      'job.created',
      'job.started',
      'job.approved',
      'job.undone',
      'job.completed',
      'job.completed_with_errors',
      'job.failed',
      'job.awaiting_review',
      'job.cancelled',
      'webhook.test',
    ])
    expect((await client.get('/events/types?types=job.done')).status).toBe(422)
  })

  it('stands in the OpenAPI document as the requests that webhooks get', async () => {
    const { app } = await grid()
    const { webhooks } = JSON.parse(app.openapi())
    expect(Object.keys(webhooks)).toEqual(catalogue.map(({ type }) => type))
    expect(webhooks['lease.executed'].post).toMatchObject({ operationId: 'onLeaseExecuted' })
  })
})
