/** What merging refuses, and lists of merges. */
import { describe, expect, it } from 'vitest'
import { newClient, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { leaseParents } from '../../test/samples.ts'
import { merged, newParty } from './merge-fixture.ts'

describe('POST /grid/v2/merges refuses', () => {
  const cases: [string, (client: TestClient) => Promise<[object, number, object]>][] = [
    [
      'an object that does not exist',
      async (client) => [
        { winner: await newParty(client, 'A'), loser: 'pty_999999' },
        422,
        { errors: [{ field: 'loser', code: 'not_found' }] },
      ],
    ],
    [
      'an object of another organization',
      async (client) => [
        {
          winner: await newParty(await newOrganization(), 'A'),
          loser: await newParty(client, 'B'),
        },
        422,
        { errors: [{ field: 'winner', code: 'not_found' }] },
      ],
    ],
    [
      'objects of two types',
      async (client) => {
        const { property_id, tenant_party_id } = await leaseParents(client)
        const errors = [{ field: 'loser', code: 'type_mismatch' }]
        return [{ winner: property_id, loser: tenant_party_id }, 422, { errors }]
      },
    ],
    [
      'what cannot be merged',
      async (client) => [
        { winner: client.organization_id, loser: 'org_2' },
        422,
        { errors: [{ field: 'winner', code: 'invalid_id' }] },
      ],
    ],
    [
      'one object twice',
      async (client) => {
        const winner = await newParty(client, 'A')
        return [{ winner, loser: winner }, 422, { errors: [{ code: 'same_object' }] }]
      },
    ],
    [
      'two that are one already',
      async (client) => {
        const [winner, loser] = [await newParty(client, 'A'), await newParty(client, 'B')]
        await merged(client, winner, loser)
        return [{ winner, loser }, 409, { code: 'conflict' }]
      },
    ],
    [
      'a loser that stands at another object',
      async (client) => {
        const [a, b] = [await newParty(client, 'A'), await newParty(client, 'B')]
        await merged(client, a, b)
        return [{ winner: await newParty(client, 'C'), loser: b }, 409, { code: 'conflict' }]
      },
    ],
    [
      'a pair that is to stay two',
      async (client) => {
        const [a, b] = [await newParty(client, 'A'), await newParty(client, 'B')]
        const pair = await client.post('/grid/v2/do-not-link', { objects: [b, a] })
        const do_not_link_id = pair.body.id
        return [{ winner: a, loser: b, force: true }, 409, { code: 'do_not_link', do_not_link_id }]
      },
    ],
    [
      'a cluster with a member that is to stay apart',
      async (client) => {
        const [a, b] = [await newParty(client, 'A'), await newParty(client, 'B')]
        const c = await newParty(client, 'C')
        await client.post('/grid/v2/do-not-link', { objects: [b, c] })
        await merged(client, a, b)
        return [{ winner: c, loser: a }, 409, { code: 'do_not_link' }]
      },
    ],
  ]
  it.each(cases)('%s', async (_, prepare) => {
    const client = await newOrganization()
    const [body, status, problem] = await prepare(client)
    expect(await client.post('/grid/v2/merges', body)).toMatchObject({ status, body: problem })
  })

  it('a key that may only read', async () => {
    const client = await newOrganization()
    const reader = await newClient(client.org_id, ['read:facts'])
    const answer = await reader.post('/grid/v2/merges', { winner: 'pty_1', loser: 'pty_2' })
    expect(answer).toMatchObject({ status: 403, body: { required_scope: 'write:facts' } })
  })
})

describe('lists', () => {
  it('of merges page, filter and stay within the organization', async () => {
    const client = await newOrganization()
    const a = await newParty(client, 'A')
    const ids: string[] = []
    for (const name of ['B', 'C', 'D'])
      ids.push(await merged(client, a, await newParty(client, name)))
    await client.delete(`/grid/v2/merges/${ids[1]}`)
    const page = await client.get('/grid/v2/merges?limit=2')
    expect(page.body.data.map((m: { id: string }) => m.id)).toEqual([ids[2], ids[1]])
    const rest = await client.get(`/grid/v2/merges?limit=2&cursor=${page.body.next_cursor}`)
    expect(rest.body.data.map((m: { id: string }) => m.id)).toEqual([ids[0]])
    const undone = await client.get(`/grid/v2/merges?state=unmerged&object_id=${a}`)
    expect(undone.body.data.map((m: { id: string }) => m.id)).toEqual([ids[1]])
    const other = await newOrganization()
    expect((await other.get('/grid/v2/merges')).body.data).toEqual([])
    expect((await other.get(`/grid/v2/merges/${ids[0]}`)).status).toBe(404)
    expect((await other.delete(`/grid/v2/merges/${ids[0]}`)).status).toBe(404)
    expect((await client.get(`/parties/${a}`)).status).toBe(200)
  })
})
