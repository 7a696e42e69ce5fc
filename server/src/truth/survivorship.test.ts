import { assert, asyncProperty, constantFrom, record, shuffledSubarray } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { STRATEGIES } from '../kit/survivorship.ts'
import { bareStore } from '../organizations/service.ts'
import { stepChange } from './change.ts'
import { carryThrough, all, endsOf, twins } from './truth-fixture.ts'
import type { Row } from './truth-fixture.ts'

const LEASES = 500
const numbers = Array.from({ length: LEASES }, (_, i) => `L-${i}`)

/** What each source says: accounting always something else, later in two of three cases. */
const managed: Row[] = numbers.map((number, i) => ({ number, ends: `2030-${month(i)}-01` }))
const accounted: Row[] = numbers.map((number, i) => ({
  number,
  ends: i % 3 === 0 ? `2029-${month(i)}-01` : `2031-${month(i)}-01`,
}))

function month(i: number): string {
  return String(1 + (i % 12)).padStart(2, '0')
}

const byNumber = (rows: readonly Row[]): Record<string, string> =>
  Object.fromEntries(rows.map(({ number, ends }) => [number, ends]))

const versions = async (client: TestClient): Promise<Map<string, number>> => {
  const rows = await all(client, '/leases?fields=lease_number,version')
  return new Map(rows.map((row) => [String(row['lease_number']), Number(row['version'])]))
}

describe('two sources that disagree on 500 lease expirations', () => {
  it('are one truth: by rank, by rule exactly as previewed, and by pins', async () => {
    const { client, accounting, management, account } = await twins(managed)
    const job = await account(accounted, '2025-02-01')
    expect(job).toMatchObject({ state: 'completed', counts: { changed: LEASES, created: 0 } })
    expect(await endsOf(client)).toEqual(byNumber(accounted))

    const conflicts = await all(client, '/grid/v2/conflicts?type=lease&attribute=expiration_date')
    expect(conflicts).toHaveLength(LEASES)
    expect(new Set(conflicts.map((row) => row['object_id'])).size).toBe(LEASES)
    for (const conflict of conflicts)
      expect(conflict).toMatchObject({
        field: 'expiration_date',
        rule: 'source_rank',
        rule_id: null,
        strategy: 'source_priority',
        winner: { source: { id: `src_${accounting}` } },
        others: [{ source: { id: `src_${management}` } }],
      })

    // The later end of both: management has it in every third case.
    const rule = { type: 'lease', attribute: 'expiration_date', strategy: 'max' }
    const { body: preview } = await client.post('/grid/v2/survivorship/preview', { rule })
    const expected = numbers.filter((_, i) => i % 3 === 0)
    expect(preview).toMatchObject({
      objects: expected.length,
      values: expected.length,
      attributes: [{ type: 'lease', attribute: 'expiration_date', values: expected.length }],
    })
    expect(preview.samples).toHaveLength(20)
    expect(preview.samples[0]).toMatchObject({
      before: { value: '2029-01-01', source: 'Accounting' },
      after: { value: '2030-01-01', source: 'Management' },
    })

    const before = await versions(client)
    const made = await client.post('/grid/v2/survivorship', { ...rule, preview_hash: preview.hash })
    expect(made).toMatchObject({ status: 201, body: { strategy: 'max' } })
    await carryThrough(client)
    const { body: change } = await client.get(
      `/grid/v2/survivorship/changes/${made.body.change_id}`,
    )
    expect(change).toMatchObject({
      state: 'completed',
      predicted_objects: expected.length,
      changed_objects: expected.length,
    })
    const after = await versions(client)
    const moved = numbers.filter((number) => after.get(number) !== before.get(number))
    expect(moved).toEqual(expected)
    const larger = numbers.map((number, i) => [
      number,
      [managed, accounted].map((rows) => rows[i]?.ends ?? '').toSorted()[1],
    ])
    expect(await endsOf(client)).toEqual(Object.fromEntries(larger))

    // A load weighs by the rule too; what is pinned stays.
    const [lease] = await all(client, '/leases?lease_number=L-1')
    const path = `/grid/v2/objects/${String(lease?.['id'])}`
    const pinned = await client.post(`${path}/pins`, {
      attribute: 'expiration_date',
      value: '2027-07-31',
      reason: 'Surrender agreed',
    })
    expect(pinned).toMatchObject({ status: 201, body: { state: 'holds', value: '2027-07-31' } })
    const third = accounted.map((row) => ({ ...row, ends: row.ends.replace(/^20../, '2040') }))
    expect(await account(third, '2025-03-01')).toMatchObject({ state: 'completed' })
    expect(await endsOf(client)).toEqual({ ...byNumber(third), 'L-1': '2027-07-31' })
    const { body: one } = await client.get(`${path}/conflicts`)
    expect(one.data[0]).toMatchObject({
      field: 'expiration_date',
      rule: 'pinned',
      rule_id: made.body.id,
      winner: { value: '2027-07-31', reason: 'Surrender agreed' },
    })
    expect(one.data[0].others).toHaveLength(2)

    expect(await client.delete(`${path}/pins/expiration_date`)).toMatchObject({ status: 204 })
    expect((await endsOf(client))['L-1']).toBe('2040-02-01')
    expect(await faults(client)).toEqual([])
  }, 60_000)
})

const faults = ({ org_id }: TestClient): Promise<string[]> => checkOrganization(org_id)

describe('a rule', () => {
  const leases: Row[] = [
    { number: 'A', ends: '2030-01-31', area: 100 },
    { number: 'B', ends: '2030-01-31', area: 300 },
  ]
  const others: Row[] = [
    { number: 'A', ends: '2031-01-31', area: 200 },
    { number: 'B', ends: '2029-01-31', area: 200 },
  ]

  it.each<[{ strategy: string; sources?: string[] }, Record<string, string>]>([
    [{ strategy: 'max' }, { A: '2031-01-31', B: '2030-01-31' }],
    [{ strategy: 'min' }, { A: '2030-01-31', B: '2029-01-31' }],
    [{ strategy: 'most_recent' }, { A: '2031-01-31', B: '2029-01-31' }],
    [{ strategy: 'source_priority' }, { A: '2030-01-31', B: '2030-01-31' }],
    [{ strategy: 'highest_confidence' }, { A: '2030-01-31', B: '2030-01-31' }],
    [
      { strategy: 'source_priority', sources: ['accounting'] },
      { A: '2031-01-31', B: '2029-01-31' },
    ],
  ])('%j chooses %j', async ({ strategy, sources = [] }, ends) => {
    const { client, accounting, account } = await twins(leases, { accounting: 60 })
    await account(others, '2025-02-01')
    const rule = {
      type: 'lease',
      attribute: 'expiration_date',
      strategy,
      ...(sources.length > 0 ? { sources: [`src_${accounting}`] } : {}),
    }
    expect(await client.post('/grid/v2/survivorship', rule)).toMatchObject({ status: 201 })
    await carryThrough(client)
    expect(await endsOf(client)).toEqual(ends)
  })

  it('of the attribute goes before that of the type, and that before the one for all', async () => {
    const { client, account } = await twins(leases, { accounting: 60 })
    await account(others, '2025-02-01')
    const areas = async (): Promise<unknown[]> => {
      await carryThrough(client)
      const rows = await all(client, '/leases?fields=rentable_area&sort=lease_number')
      return rows.map((row) => row['rentable_area'])
    }
    expect(await areas()).toEqual([100, 300])
    const make = async (rule: object): Promise<string> =>
      (await client.post('/grid/v2/survivorship', rule)).body.id
    await make({ strategy: 'min' })
    expect(await areas()).toEqual([100, 200])
    const ofType = await make({ type: 'lease', strategy: 'max' })
    expect(await areas()).toEqual([200, 300])
    const own = await make({ type: 'lease', attribute: 'rentable_area', strategy: 'most_recent' })
    expect(await areas()).toEqual([200, 200])
    expect(await client.delete(`/grid/v2/survivorship/${own}`)).toMatchObject({ status: 200 })
    expect(await areas()).toEqual([200, 300])
    const patched = await client.patch(`/grid/v2/survivorship/${ofType}`, { strategy: 'min' })
    expect(patched).toMatchObject({ status: 200, body: { strategy: 'min', version: 2 } })
    expect(await areas()).toEqual([100, 200])
    expect(await faults(client)).toEqual([])
  })

  it('is weighed by writes through the API as well', async () => {
    const { client, account } = await twins(leases)
    await account(others, '2025-02-01')
    const rule = { type: 'lease', attribute: 'expiration_date', strategy: 'max' }
    await client.post('/grid/v2/survivorship', rule)
    await carryThrough(client)
    const [lease] = await all(client, '/leases?lease_number=A')
    const path = `/leases/${String(lease?.['id'])}`
    const lower = await client.patch(path, { expiration_date: '2025-12-31' })
    expect(lower).toMatchObject({ status: 200, body: { expiration_date: '2031-01-31' } })
    const higher = await client.patch(path, { expiration_date: '2035-12-31' })
    expect(higher).toMatchObject({ status: 200, body: { expiration_date: '2035-12-31' } })
  })

  it('is refused when something else would change than was previewed', async () => {
    const { client, account } = await twins(leases)
    await account(others, '2025-02-01')
    const rule = { type: 'lease', attribute: 'expiration_date', strategy: 'max' }
    const { body: preview } = await client.post('/grid/v2/survivorship/preview', { rule })
    expect(preview.objects).toBe(1)
    await account([{ number: 'A', ends: '2028-01-31' }], '2025-03-01')
    const made = await client.post('/grid/v2/survivorship', { ...rule, preview_hash: preview.hash })
    expect(made).toMatchObject({ status: 409, body: { code: 'conflict', objects: 2 } })
    expect((await client.get('/grid/v2/survivorship')).body.data).toEqual([])
  })

  it.each([
    ['an attribute without a type', { attribute: 'name', strategy: 'max' }, 'type', 'required'],
    [
      'an attribute that does not exist',
      { type: 'lease', attribute: 'expiry_date', strategy: 'max' },
      'attribute',
      'unknown_value',
    ],
    [
      'a derived attribute',
      { type: 'lease', attribute: 'term_months', strategy: 'max' },
      'attribute',
      'unknown_value',
    ],
    ['a type that does not exist', { type: 'leases', strategy: 'max' }, 'type', 'invalid_enum'],
    ['no strategy of ours', { strategy: 'best' }, 'strategy', 'invalid_enum'],
    [
      'a source that does not exist',
      { strategy: 'max', sources: ['src_99'] },
      'sources[0]',
      'not_found',
    ],
    [
      'people alone for what is required',
      { type: 'lease', attribute: 'lease_type', strategy: 'manual_only' },
      'strategy',
      'not_allowed',
    ],
  ])('is refused for %s', async (_, rule, field, code) => {
    const client = await newOrganization()
    const answer = await client.post('/grid/v2/survivorship', rule)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } })
  })

  it('stands alone for its place, and keeps to its version', async () => {
    const client = await newOrganization()
    const rule = { type: 'lease', strategy: 'max' }
    const key = { 'idempotency-key': 'same' }
    const made = await client.post('/grid/v2/survivorship', rule, key)
    expect(await client.post('/grid/v2/survivorship', rule)).toMatchObject({
      status: 409,
      body: { code: 'conflict', rule_id: made.body.id },
    })
    const again = await client.post('/grid/v2/survivorship', rule, key)
    expect(again).toMatchObject({ status: 201, body: { id: made.body.id } })
    const path = `/grid/v2/survivorship/${made.body.id}`
    const moved = await client.patch(path, { strategy: 'min' }, { 'if-match': '"v7"' })
    expect(moved).toMatchObject({ status: 412, body: { code: 'version_conflict' } })
    const stranger = await newOrganization()
    expect(await stranger.get(path)).toMatchObject({ status: 404 })
    expect(await stranger.patch(path, { strategy: 'min' })).toMatchObject({ status: 404 })
    expect(await stranger.delete(path)).toMatchObject({ status: 404 })
  })
})

describe('a change of rules', () => {
  const RULE = { type: 'lease', attribute: 'expiration_date', strategy: 'max' }
  const mine = managed.slice(0, 60)
  const theirs = accounted.slice(0, 60)

  const changeOf = async (client: TestClient, id: string): Promise<object> =>
    (await client.get(`/grid/v2/survivorship/changes/${id}`)).body

  it('whose worker is killed in the middle goes on, and rewrites each row once', async () => {
    const { client, account } = await twins(mine)
    await account(theirs, '2025-02-01')
    const { db } = await grid()
    const { body: preview } = await client.post('/grid/v2/survivorship/preview', { rule: RULE })
    const { body: rule } = await client.post('/grid/v2/survivorship', RULE)
    const before = await versions(client)
    const direct = await owner()
    await direct.query('begin')
    await direct.query('select from lease where org_id = $1 order by id desc limit 1 for update', [
      client.org_id,
    ])
    const { rows: me } = await direct.query<{ pid: number }>('select pg_backend_pid() as pid')
    const step = until(async () => await stepChange(bareStore(db), client.org_id)).catch(
      (error: Error) => error.message,
    )
    const killer = await owner()
    await until(async () => {
      const { rowCount } = await killer.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
        [me[0]?.pid],
      )
      return rowCount === 1
    })
    expect(await step).toMatch(/terminat/)
    await direct.query('rollback')
    await direct.end()
    await killer.end()
    expect(await changeOf(client, rule.change_id)).toMatchObject({ checked_objects: 0 })
    expect(await versions(client)).toEqual(before)
    await carryThrough(client)
    expect(await changeOf(client, rule.change_id)).toMatchObject({
      state: 'completed',
      checked_objects: 60,
      changed_objects: preview.objects,
    })
    expect(await faults(client)).toEqual([])
  })

  it('that comes in the middle of a load is heeded by both', async () => {
    const { client, account } = await twins(mine)
    const load = account(theirs, '2025-02-01')
    const made = await client.post('/grid/v2/survivorship', RULE)
    expect(made.status).toBe(201)
    await load
    await carryThrough(client)
    const ends = mine.map(({ number, ends: end }, i) => [
      number,
      [end, theirs[i]?.ends ?? ''].toSorted()[1],
    ])
    expect(await endsOf(client)).toEqual(Object.fromEntries(ends))
    expect(await faults(client)).toEqual([])
  })

  it('does what its preview says, whatever the rules before and after', async () => {
    const { client, account, management, accounting } = await twins(mine)
    await account(theirs, '2025-02-01')
    const made = await client.post('/grid/v2/survivorship', RULE)
    const rule_id = made.body.id
    const rules = record({
      strategy: constantFrom(...STRATEGIES.filter((name) => name !== 'manual_only')),
      sources: shuffledSubarray([`src_${management}`, `src_${accounting}`]),
      attribute: constantFrom(null, 'expiration_date', 'rentable_area'),
      min_confidence_pct: constantFrom(null, 50),
    })
    await carryThrough(client)
    await assert(
      asyncProperty(rules, async (rule) => {
        const { body } = await client.post('/grid/v2/survivorship/preview', { rule_id, rule })
        const patch = { ...rule, preview_hash: body.hash }
        const changed = await client.patch(`/grid/v2/survivorship/${rule_id}`, patch)
        expect(changed.status).toBe(200)
        await carryThrough(client)
        expect(await changeOf(client, changed.body.change_id)).toMatchObject({
          predicted_objects: body.objects,
          changed_objects: body.objects,
        })
      }),
      { numRuns: 8 },
    )
    expect(await faults(client)).toEqual([])
  })

  it('that stands before a threshold for all reaches objects of one source too', async () => {
    const { client, management } = await twins([{ number: 'A', ends: '2030-01-31' }])
    const { body: leases } = await client.get('/leases')
    const object = leases.data[0].id
    const fact = { attribute: 'free_rent_months', value: 3, source: `src_${management}` }
    const more = { object, op: 'assert', confidence_pct: 50, reason: 'Test' }
    await client.post('/grid/v2/facts', { ...fact, ...more })
    const months = async (): Promise<unknown> =>
      (await client.get(`/leases/${object}`)).body.free_rent_months
    const made = async (rule: object): Promise<string> => {
      const { body } = await client.post('/grid/v2/survivorship', rule)
      await carryThrough(client)
      return body.id
    }
    await made({ strategy: 'source_priority', min_confidence_pct: 60 })
    expect(await months()).toBeNull()
    const own = { type: 'lease', attribute: 'free_rent_months', strategy: 'most_recent' }
    const { body: preview } = await client.post('/grid/v2/survivorship/preview', { rule: own })
    expect(preview).toMatchObject({ objects: 1, values: 1 })
    const id = await made(own)
    expect(await months()).toBe(3)
    await client.delete(`/grid/v2/survivorship/${id}`)
    await carryThrough(client)
    expect(await months()).toBeNull()
  })

  it('is worked on by one at a time, however many try', async () => {
    const { client, account } = await twins(mine)
    await account(theirs, '2025-02-01')
    const { db } = await grid()
    const { body: preview } = await client.post('/grid/v2/survivorship/preview', { rule: RULE })
    const { body: rule } = await client.post('/grid/v2/survivorship', RULE)
    await Promise.all([1, 2, 3].map(async () => await stepChange(bareStore(db), client.org_id)))
    await carryThrough(client)
    expect(await changeOf(client, rule.change_id)).toMatchObject({
      changed_objects: preview.objects,
    })
    const { body } = await client.get('/grid/v2/survivorship/changes')
    expect(body.data).toHaveLength(1)
  })
})

/** Tries until it works out; what others do in between takes moments. */
async function until(attempt: () => Promise<boolean>): Promise<void> {
  while (!(await attempt())) await new Promise((resolve) => setTimeout(resolve, 5))
}
