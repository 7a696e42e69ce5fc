import { describe, expect, it } from 'vitest'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import { carryThrough, endsOf, twins } from './truth-fixture.ts'
import type { Row } from './truth-fixture.ts'

describe('a source', () => {
  const rows = (ends: string): Row[] => [{ number: 'A', ends }]
  const MINE = '2030-01-31'
  const THEIRS = '2031-01-31'

  it.each([
    [{ rank: 60 }, MINE],
    [{ rank: 35 }, THEIRS],
    [{ min_confidence_pct: 100, trust_pct: 50 }, MINE],
  ])('with %j of the better one: %s wins, as previewed', async (source, ends) => {
    const { client, accounting, account } = await twins(rows(MINE))
    await account(rows(THEIRS), '2025-02-01')
    const source_id = `src_${accounting}`
    const { body: preview } = await client.post('/grid/v2/survivorship/preview', {
      source_id,
      source,
    })
    expect(preview.objects).toBe(ends === MINE ? 1 : 0)
    const patch = { ...source, preview_hash: preview.hash }
    const answer = await client.patch(`/grid/v2/sources/${source_id}`, patch)
    expect(answer).toMatchObject({ status: 200, body: { ...source, version: 2 } })
    await carryThrough(client)
    expect(await endsOf(client)).toEqual({ A: ends })
  })

  it('that is the system of record for a type wins whatever the ranks, and keeps its rank through loads', async () => {
    const { client, management, account, manage } = await twins(rows(MINE), { management: 90 })
    await account(rows(THEIRS), '2025-02-01')
    const path = `/grid/v2/sources/src_${management}`
    await client.patch(path, { rank: 80, system_of_record: ['lease'] })
    await carryThrough(client)
    expect(await endsOf(client)).toEqual({ A: MINE })
    await manage(rows('2032-01-31'), '2025-03-01')
    expect((await client.get(path)).body).toMatchObject({ rank: 80, system_of_record: ['lease'] })
    expect(await endsOf(client)).toEqual({ A: '2032-01-31' })
    const { body } = await client.get('/grid/v2/conflicts')
    expect(body.data[0]).toMatchObject({ type: 'lease', rule: 'system_of_record' })
  })

  it('that is not heard of for 90 days loses its rank, until it is heard of again', async () => {
    const { client, accounting, account } = await twins(rows(MINE))
    await account(rows(THEIRS), '2025-02-01')
    const direct = await owner()
    await direct.query(
      `update source set seen_at = now() - interval '91 days' where org_id = $1 and id = $2`,
      [client.org_id, accounting],
    )
    await direct.end()
    await carryThrough(client)
    expect(await endsOf(client)).toEqual({ A: MINE })
    const path = `/grid/v2/sources/src_${accounting}`
    expect((await client.get(path)).body).toMatchObject({ stale: true, freshness_days: 90 })
    const { body } = await client.get('/grid/v2/conflicts')
    expect(body.data[0]).toMatchObject({ rule: 'freshness' })
    await account(rows(THEIRS), '2025-03-01')
    await carryThrough(client)
    expect(await endsOf(client)).toEqual({ A: THEIRS })
    expect((await client.get(path)).body).toMatchObject({ stale: false })
  })

  it('that need not be heard of any more is not stale any more', async () => {
    const { client, accounting, account } = await twins(rows(MINE))
    await account(rows(THEIRS), '2025-02-01')
    const direct = await owner()
    await direct.query(
      `update source set seen_at = now() - interval '91 days' where org_id = $1 and id = $2`,
      [client.org_id, accounting],
    )
    await direct.end()
    await carryThrough(client)
    expect(await endsOf(client)).toEqual({ A: MINE })
    const path = `/grid/v2/sources/src_${accounting}`
    const { body } = await client.patch(path, { freshness_days: null })
    expect(body).toMatchObject({ freshness_days: null, stale: false })
    await carryThrough(client)
    expect(await endsOf(client)).toEqual({ A: THEIRS })
    expect((await client.get(path)).body).toMatchObject({ stale: false })
  })

  it('can be changed by more requests at once than there are connections: each is answered', async () => {
    const client = await newOrganization()
    const { db } = await grid()
    const ranks = Array.from({ length: 3 * db.pool.options.max }, (_, i) => 10 + i)
    const answers = await Promise.all(
      ranks.map((rank) => client.patch('/grid/v2/sources/src_3', { rank })),
    )
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
  })

  it('that every organization has can be weighed too, and only there', async () => {
    const client = await newOrganization()
    const { body } = await client.get('/grid/v2/sources')
    expect(body.data.map(({ kind }: { kind: string }) => kind)).toEqual([
      'api',
      'user',
      'document_extraction',
      'assistant',
      'computed',
      'demo',
    ])
    const patch = { rank: 5 }
    expect(await client.patch('/grid/v2/sources/src_3', patch)).toMatchObject({
      status: 200,
      body: { rank: 5, kind: 'document_extraction', min_confidence_pct: 80 },
    })
    const other = await newOrganization()
    expect((await other.get('/grid/v2/sources/src_3')).body).toMatchObject({ rank: 70 })
    expect((await other.get('/grid/v2/sources/src_999999999')).status).toBe(404)
    const none = await client.patch('/grid/v2/sources/src_3', { system_of_record: ['rooms'] })
    expect(none).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'system_of_record[0]', code: 'unknown_value' }] },
    })
  })
})
