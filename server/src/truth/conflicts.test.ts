import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { portfolio } from '../../test/samples.ts'
import { all } from './truth-fixture.ts'

/** An organization in which documents contradict a lease in two fields and a party in one. */
async function contradicted(): Promise<{ client: TestClient; lease: string; party: string }> {
  const client = await newOrganization()
  const ids = await portfolio(client)
  const [lease, party] = [ids['lease'] as string, ids['party'] as string]
  const say = async (object: string, attributes: object, source: string): Promise<void> => {
    const body = { object, op: 'assert', attributes, source, reason: 'Test' }
    expect(await client.post('/grid/v2/facts', body)).toMatchObject({ status: 201 })
  }
  await say(lease, { rentable_area: 4_000, expiration_date: '2031-12-31' }, 'src_3')
  await say(lease, { lease_type: 'direct' }, 'src_3')
  await say(party, { legal_name: 'Acme LLC' }, 'src_3')
  return { client, lease, party }
}

describe('GET /grid/v2/conflicts', () => {
  it('lists each once, by type, object and field, however small the pages', async () => {
    const { client, lease, party } = await contradicted()
    const whole = await all(client, '/grid/v2/conflicts')
    const places = whole.map(({ object_id, field }) => `${String(object_id)} ${String(field)}`)
    const expected = [`${lease} expiration_date`, `${lease} rentable_area`, `${party} legal_name`]
    expect(places.toSorted()).toEqual(expected.toSorted())
    const single: unknown[] = []
    for (let cursor = ''; ;) {
      const { body } = await client.get(`/grid/v2/conflicts?limit=1${cursor}`)
      single.push(...body.data)
      expect(body.data.length).toBeLessThan(2)
      if (!body.has_more) break
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
    }
    expect(single).toEqual(whole)
    const { body } = await client.get(`/grid/v2/objects/${party}/conflicts`)
    expect(body.data).toMatchObject([{ field: 'legal_name', rule: 'source_rank' }])
    const some = await all(client, '/grid/v2/conflicts?type=lease&attribute=rentable_area')
    expect(some).toMatchObject([{ field: 'rentable_area', winner: { value: 5_000 } }])
    expect(await all(await newOrganization(), '/grid/v2/conflicts')).toEqual([])
  })

  it.each([
    ['type=leases', 'type', 'invalid_enum'],
    ['type=lease&attribute=areas', 'attribute', 'unknown_value'],
    ['attribute=areas', 'attribute', 'unknown_value'],
    ['limit=0', 'limit', 'out_of_range'],
    ['object=le_1', 'object', 'unknown_field'],
  ])('refuses ?%s', async (query, field, code) => {
    const client = await newOrganization()
    const answer = await client.get(`/grid/v2/conflicts?${query}`)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } })
  })
})
