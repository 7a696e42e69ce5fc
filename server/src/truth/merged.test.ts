/** What became one object is one for rules, facts, pins, conflicts and erasures, whichever of its ids is named. */
import { describe, expect, it } from 'vitest'
import { sealAll } from '../../test/audit.ts'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { merged, newParty, standing } from '../identity/merge-fixture.ts'
import { all, carryThrough } from './truth-fixture.ts'
import { tendOrganization } from './work.ts'

const DOCUMENTS = 'src_3'

interface Pair {
  client: TestClient
  head: string
  member: string
}

const say = async (client: TestClient, object: string, fact: object): Promise<Answer> =>
  await client.post('/grid/v2/facts', { object, op: 'assert', reason: 'Test', ...fact })

/** Two parties that contradict each other in two fields and in which documents contradict the second; one by now. */
async function pairOf(): Promise<Pair & { merge: string }> {
  const client = await newOrganization()
  const head = await newParty(client, 'Harrow & Pine LLP', { dba_name: 'Harrow' })
  const member = await newParty(client, 'Harrow and Pine', { ticker: 'HPLG' })
  const fact = { attribute: 'ticker', value: 'HP', source: DOCUMENTS }
  expect(await say(client, member, fact)).toMatchObject({ status: 201 })
  return { client, head, member, merge: await merged(client, head, member) }
}

const sound = async ({ org_id }: TestClient): Promise<void> =>
  expect(await checkOrganization(org_id)).toEqual([])

describe('rules', () => {
  it.each([
    ['of what sources said of a member alone', 'ticker', 'source_priority', 'HPLG', 'HP'],
    ['by value, for all types', null, 'source_priority', 'HPLG', 'HP'],
  ])('preview and rewrite the head: %s', async (_, attribute, strategy, before, after) => {
    const { client, head } = await pairOf()
    const rule = { strategy, sources: [DOCUMENTS], ...(attribute && { type: 'party', attribute }) }
    const preview = await client.post('/grid/v2/survivorship/preview', { rule })
    expect(preview).toMatchObject({
      status: 200,
      body: {
        objects: 1,
        values: 1,
        samples: [
          {
            object_id: head,
            attribute: 'ticker',
            before: { value: before },
            after: { value: after },
          },
        ],
      },
    })
    expect(await client.post('/grid/v2/survivorship', rule)).toMatchObject({ status: 201 })
    await carryThrough(client)
    expect((await client.get(`/parties/${head}`)).body.ticker).toBe(after)
    await sound(client)
  })
})

describe('conflicts', () => {
  it('of a head show what was said of its members, in the list of all too', async () => {
    const { client, head, member } = await pairOf()
    const expected = [
      { field: 'legal_name', others: [{ value: 'Harrow and Pine', member_id: member }] },
      { field: 'ticker', others: [{ value: 'HP', member_id: member }] },
    ]
    for (const id of [head, member]) {
      const { body } = await client.get(`/grid/v2/objects/${id}/conflicts`)
      expect(body.data).toMatchObject(expected)
    }
    expect(await all(client, '/grid/v2/conflicts')).toMatchObject(
      expected.map((one) => ({ ...one, object_id: head })),
    )
    const named = await all(client, '/grid/v2/conflicts?type=party&attribute=legal_name')
    expect(named).toMatchObject(expected.slice(0, 1))
  })
})

describe('facts', () => {
  it('stated of the old id are stated of the head, and those of a member can be taken back', async () => {
    const { client, head, member } = await pairOf()
    const stated = await say(client, member, { attribute: 'website', value: 'https://a.example' })
    expect(stated).toMatchObject({ status: 201, body: { object_id: head } })
    expect((await client.get(`/parties/${head}`)).body.website).toBe('https://a.example')
    const retracted = await say(client, head, { op: 'retract', attribute: 'ticker' })
    expect(retracted).toMatchObject({ status: 201, body: { retracted: ['ticker'] } })
    expect((await client.get(`/parties/${head}`)).body.ticker).toBe('HP')
    const list = await client.get(`/grid/v2/facts?object=${member}&attribute=legal_name`)
    expect(list.body.data).toMatchObject([{ object_id: member, status: 'conflicting' }])
    await sound(client)
  })

  it('planned of a member before the merge begin on the head', async () => {
    const client = await newOrganization()
    const head = await newParty(client, 'A')
    const member = await newParty(client, 'B')
    const valid_from = new Date(Date.now() + 3_600_000).toISOString()
    await say(client, member, { attribute: 'ticker', value: 'LATER', valid_from })
    await merged(client, head, member)
    const { db } = await grid()
    await tendOrganization(db, client.org_id, new Date(Date.parse(valid_from) + 1_000))
    expect((await client.get(`/parties/${head}`)).body.ticker).toBe('LATER')
  })
})

describe('pins', () => {
  it('on the old id pin the head; one made on a member can be taken back', async () => {
    const client = await newOrganization()
    const head = await newParty(client, 'A')
    const member = await newParty(client, 'B', { ticker: 'B' })
    const pin = { attribute: 'ticker', value: 'PIN', reason: 'Exchange' }
    await client.post(`/grid/v2/objects/${member}/pins`, pin)
    const id = await merged(client, head, member)
    const path = `/grid/v2/objects/${member}/pins`
    expect((await client.get(path)).body.data).toMatchObject([{ value: 'PIN', state: 'holds' }])
    expect(await client.post(path, { ...pin, value: 'PIN2' })).toMatchObject({ status: 201 })
    const pins = await client.get(`/grid/v2/objects/${head}/pins`)
    expect(pins.body.data).toMatchObject([{ value: 'PIN2', state: 'holds' }])
    expect((await client.get(`/parties/${head}`)).body.ticker).toBe('PIN2')
    expect((await client.delete(`${path}/ticker`)).status).toBe(204)
    expect((await client.get(`/parties/${head}`)).body.ticker).toBe('B')
    await sound(client)
    expect((await client.delete(`/grid/v2/merges/${id}`)).status).toBe(204)
    await sound(client)
  })
})

describe('erasures', () => {
  const erase = async (client: TestClient, body: object): Promise<Answer> => {
    const asked = { reason: 'Asked for', confirm: 'erase for good', ...body }
    return await client.post('/grid/v2/erasures', asked)
  }
  const carriedOut = async (client: TestClient, answer: Answer): Promise<Answer['body']> => {
    expect(answer.status, JSON.stringify(answer.body)).toBe(202)
    const { db } = await grid()
    for (;;) {
      const { body } = await client.get(`/grid/v2/erasures/${answer.body.id}`)
      if (body.state === 'completed') return body
      await tendOrganization(db, client.org_id, new Date())
    }
  }
  const verified = async (client: TestClient): Promise<void> => {
    await sealAll(client)
    expect((await client.get('/audit-logs/verify')).body).toMatchObject({ ok: true, fault: null })
  }

  it('of attributes, by either id, take out what was said of any member', async () => {
    const { client, head, member, merge } = await pairOf()
    await sealAll(client)
    const asked = await erase(client, { object_ids: [member, head], attributes: ['ticker'] })
    const done = await carriedOut(client, asked)
    expect(done).toMatchObject({ object_ids: [head], counts: { facts: 2 } })
    expect((await client.get(`/parties/${head}`)).body.ticker).toBeNull()
    await sound(client)
    await verified(client)
    expect((await client.delete(`/grid/v2/merges/${merge}`)).status).toBe(204)
    expect(await standing(client, `/parties/${member}`)).toMatchObject({
      legal_name: 'Harrow and Pine',
      ticker: null,
    })
    await sound(client)
  })

  it('as a whole need the head deleted, leave nothing of any member, and end the way back', async () => {
    const { client, head, member, merge } = await pairOf()
    expect(await erase(client, { object_ids: [member] })).toMatchObject({
      status: 409,
      body: { object_id: head },
    })
    await client.delete(`/parties/${head}`)
    await sealAll(client)
    await carriedOut(client, await erase(client, { object_ids: [member] }))
    const { body } = await client.get('/parties?include=deleted')
    expect(body.data).toHaveLength(2)
    for (const row of body.data) expect(row).toMatchObject({ legal_name: null, ticker: null })
    for (const id of [head, member])
      expect((await client.get(`/grid/v2/objects/${id}/facts`)).body.data).toMatchObject([
        { field: '_deleted' },
      ])
    const refused = await client.delete(`/grid/v2/merges/${merge}`)
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
    await verified(client)
    // Events of what was erased as a whole have no object to show.
    const faults = await checkOrganization(client.org_id)
    expect(faults.filter((fault) => !/^evt_\d+ party\..*(data\/object|anyOf)/.test(fault))).toEqual(
      [],
    )
  })
})
