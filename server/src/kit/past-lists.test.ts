import { expect, it } from 'vitest'
import { grid, newOrganization } from '../../test/grid.ts'
import { newParty } from '../identity/merge-fixture.ts'
import { listAt } from './past-lists.ts'
import { parseListQuery } from './query.ts'
import type { Resource } from './resource.ts'

it('a list at another time goes on behind what one page may look at, also when it found nothing there', async () => {
  const client = await newOrganization()
  const { store } = (await grid()).app
  for (const ticker of ['A', 'B', 'B', 'B', 'B', 'A', 'B'])
    await newParty(client, ticker, { ticker })
  const party = store.registry.get('party') as Resource
  const caller = { org_id: client.org_id, time_zone: 'UTC' }
  const asked = { known_at: new Date().toISOString(), ticker: 'A', limit: '1' }
  const pages: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const given = { ...asked, ...(cursor && { cursor }) }
    const query = parseListQuery(party, store.registry, given, store.secret, caller)
    const page = await listAt(store, client.org_id, party, query, 1)
    pages.push([page.data.map(({ ticker }) => ticker), page.has_more])
    cursor = page.next_cursor
  }
  expect(pages).toEqual([
    [['A'], true],
    [[], true],
    [['A'], true],
    [[], false],
  ])
})
