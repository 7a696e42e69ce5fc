import { assert, asyncProperty, constantFrom, integer, array, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { leaseParents, portfolio, samples } from '../../test/samples.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { tendOrganization } from './work.ts'

/** A lease whose free months speak for the rent; the sources are the API and that of documents, which ranks lower. */
async function newLease(): Promise<{ client: TestClient; id: string }> {
  const client = await newOrganization()
  const { property_id, tenant_party_id } = await leaseParents(client)
  const lease = samples.lease(property_id, tenant_party_id)
  const { status, body } = await client.post('/leases', lease)
  expect(status).toBe(201)
  return { client, id: body.id }
}

const API = 'src_1'
const DOCUMENTS = 'src_3'

const state = (client: TestClient, object: string, fact: object): Promise<Answer> =>
  client.post('/grid/v2/facts', { object, attribute: 'free_rent_months', reason: 'Test', ...fact })

const area = async (
  { client, id }: { client: TestClient; id: string },
  query: string,
): Promise<unknown> => (await client.get(`/leases/${id}?${query}`)).body.free_rent_months

describe('the table of time semantics, row by row through the API', () => {
  it('holds at every day, and as it was known after each step', async () => {
    const lease = await newLease()
    const { client, id } = lease
    // The lease itself is claimed from today on; the table plays in a later year.
    const year = new Date().getUTCFullYear() + 1
    const say = async (fact: object): Promise<string> => {
      const answer = await state(client, id, { op: 'assert', source: API, ...fact })
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
      const { body } = await client.get(`/grid/v2/facts?object=${id}&limit=200`)
      const times = body.data.map((one: { recorded_at: string }) => one.recorded_at)
      const latest = times.toSorted().at(-1) as string
      await new Promise((resolve) => setTimeout(resolve, 5))
      return new Date(Math.max(Date.parse(latest), Date.now() - 4)).toISOString()
    }
    const day = (date: string): string => `${year}-${date}`
    const on = async (date: string, known?: string): Promise<unknown> =>
      await area(lease, `as_of=${day(date)}${known ? `&known_at=${known}` : ''}`)

    await say({ value: 100, valid_from: day('01-01') })
    const began = await say({ value: 110, valid_from: day('04-01') })
    expect(await on('04-15')).toBe(110)
    expect(await on('03-31')).toBe(100)
    await say({ value: 99, valid_from: day('02-01'), source: DOCUMENTS })
    expect(await on('04-15')).toBe(110)
    expect(await on('03-31')).toBe(100)
    const corrected = await say({ value: 115, valid_from: day('04-01') })
    expect(await on('04-15')).toBe(115)
    const withdrawn = await say({ op: 'retract', valid_from: day('04-01') })
    expect(await on('04-15')).toBe(100)
    await say({ value: 111, valid_from: day('03-01') })
    expect(await on('04-15')).toBe(111)
    await say({ value: 0, valid_from: day('05-01'), valid_to: day('06-01') })
    expect([await on('05-15'), await on('06-15')]).toEqual([0, 111])
    await say({ op: 'end', valid_from: day('08-01') })
    expect([await on('07-31'), await on('09-01')]).toEqual([111, null])
    expect(await on('04-15', began)).toBe(110)
    expect(await on('04-15', corrected)).toBe(115)
    expect(await on('04-15', withdrawn)).toBe(100)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('begins and ends by itself: the current row follows', async () => {
    const lease = await newLease()
    const { client, id } = lease
    const { db } = await grid()
    const hours = (n: number): string => new Date(Date.now() + n * 3_600_000).toISOString()
    await state(client, id, { op: 'assert', value: 100 })
    await state(client, id, { op: 'assert', value: 0, valid_from: hours(1), valid_to: hours(2) })
    expect(await area(lease, '')).toBe(100)
    await tendOrganization(db, client.org_id, new Date(hours(1.1)))
    expect(await area(lease, '')).toBe(0)
    await tendOrganization(db, client.org_id, new Date(hours(2.1)))
    expect(await area(lease, '')).toBe(100)
    const { body } = await client.get(`/leases/${id}`)
    expect(body.version).toBe(5)
  })
})

describe('POST /grid/v2/facts', () => {
  it('writes several values at once, with their reason in history and audit log, and repeats its answer', async () => {
    const { client, id } = await newLease()
    const attributes = { free_rent_months: 500, name: 'Suite 1200' }
    const body = { object: id, op: 'assert', attributes, reason: 'Amendment 3' }
    const key = { 'idempotency-key': 'once' }
    const answer = await client.post('/grid/v2/facts', body, key)
    expect(answer).toMatchObject({ status: 201, body: { object_id: id, op: 'assert', version: 2 } })
    expect(answer.body.facts).toHaveLength(2)
    for (const fact of answer.body.facts)
      expect(fact).toMatchObject({ status: 'current', reason: 'Amendment 3', source: { id: API } })
    const again = await client.post('/grid/v2/facts', body, key)
    expect(again.body).toEqual(answer.body)
    expect((await client.get(`/leases/${id}`)).body).toMatchObject({ ...attributes, version: 2 })
    const { body: facts } = await client.get(`/grid/v2/objects/${id}/facts?field=name`)
    expect(facts.data[0]).toMatchObject({ value: 'Suite 1200', reason: 'Amendment 3' })
    const direct = await owner()
    const { rows } = await direct.query(
      `select details from audit_entry where org_id = $1 and action = 'fact.asserted'`,
      [client.org_id],
    )
    await direct.end()
    expect(rows).toMatchObject([{ details: { reason: 'Amendment 3' } }])
  })

  const fine = { op: 'assert', value: 1 }

  it.each<[string, object, string, string]>([
    ['no attribute', { ...fine, attribute: undefined }, 'attribute', 'required'],
    ['both forms', { ...fine, attributes: { name: 'a' } }, 'attribute', 'conflicting'],
    ['no such attribute', { ...fine, attribute: 'free_rent_month' }, 'value', 'unknown_value'],
    ['a derived attribute', { ...fine, attribute: 'term_months' }, 'value', 'unknown_value'],
    ['no value', { op: 'assert' }, 'value', 'required'],
    ['a value to end', { op: 'end', value: 1 }, 'value', 'not_allowed'],
    ['a value of another kind', { ...fine, value: 'much' }, 'value', 'invalid_type'],
    [
      'nothing for what is required',
      { op: 'end', attribute: 'lease_type' },
      'attribute',
      'required',
    ],
    ['no date', { ...fine, valid_from: 'soon' }, 'valid_from', 'invalid_format'],
    [
      'an end before the start',
      { ...fine, valid_from: '2026-03-01', valid_to: '2026-02-01' },
      'valid_to',
      'out_of_range',
    ],
    ['an end of an end', { op: 'end', valid_to: '2090-01-01' }, 'valid_to', 'not_allowed'],
    ['no source of ours', { ...fine, source: 'src_77' }, 'source', 'not_found'],
    ['a claim that was not made', { op: 'retract' }, 'attribute', 'not_found'],
    ['no reason', { ...fine, reason: '' }, 'reason', 'min_length'],
    ['no operation of ours', { ...fine, op: 'delete' }, 'op', 'invalid_enum'],
    ['an object that has no facts', { ...fine, object: 'wh_1' }, 'object', 'invalid_id'],
    [
      'a rule of the type that would break',
      { op: 'assert', attribute: 'expiration_date', value: '2019-01-01' },
      'expiration_date',
      'before_commencement',
    ],
    [
      'names that should be values',
      { op: 'assert', attribute: undefined, attributes: ['name'] },
      'attributes',
      'invalid_type',
    ],
  ])('refuses %s', async (_, fact, field, code) => {
    const { client, id } = await newLease()
    const answer = await state(client, id, fact)
    expect(answer.status, JSON.stringify(answer.body)).toBe(422)
    expect(answer.body.errors).toMatchObject([{ field, code }])
    expect((await client.get(`/leases/${id}`)).body.version).toBe(1)
  })

  it.each([
    ['401 without a key', 401, 'missing_key'],
    ['403 without the scope', 403, 'insufficient_scope'],
    ['404 for another organization', 404, 'not_found'],
  ])('answers %s', async (_, status, code) => {
    const { client, id } = await newLease()
    const stranger = await newOrganization()
    const other = {
      401: {
        ...client,
        post: async (path: string, body: unknown) =>
          await stranger.post(path, body, { 'x-api-key': '' }),
      },
      403: await newClient(
        client.org_id,
        ALL_SCOPES.filter((scope) => scope !== 'write:facts'),
      ),
      404: stranger,
    }[status] as TestClient
    const answer = await state(other, id, { op: 'assert', value: 1 })
    expect(answer).toMatchObject({ status, body: { code } })
  })

  it('409s an external id that another object has', async () => {
    const { client, id } = await newLease()
    const lease = (await client.get(`/leases/${id}`)).body
    const { property_id, tenant_party_id } = lease
    const external_ids = [{ system: 'yardi', id: 'L1' }]
    await client.post('/leases', { ...samples.lease(property_id, tenant_party_id), external_ids })
    const answer = await state(client, id, {
      op: 'assert',
      attribute: 'external_ids',
      value: external_ids,
    })
    expect(answer).toMatchObject({ status: 409, body: { code: 'duplicate_external_id' } })
  })

  it('refuses a reference to what does not exist', async () => {
    const { client, id } = await newLease()
    const stranger = await leaseParents(await newOrganization())
    const answer = await state(client, id, {
      op: 'assert',
      attribute: 'tenant_party_id',
      value: stranger.tenant_party_id,
    })
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field: 'tenant_party_id' }] } })
  })

  it('keeps the row what its claims say, whatever is claimed in whatever order', async () => {
    const { client, id } = await newLease()
    const step = record({
      op: constantFrom('assert', 'end', 'retract'),
      source: constantFrom(API, DOCUMENTS, 'src_2', 'src_6'),
      value: integer({ min: 1, max: 5 }),
      month: integer({ min: 1, max: 12 }),
      confidence_pct: constantFrom(70, 100),
    })
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        for (const { op, source, value, month, confidence_pct } of steps) {
          const valid_from = `2025-${String(month).padStart(2, '0')}-01`
          const fact = {
            op,
            source,
            valid_from,
            confidence_pct,
            ...(op === 'assert' ? { value } : {}),
          }
          const { status } = await state(client, id, fact)
          // What was never claimed cannot be taken back.
          expect([201, ...(op === 'retract' ? [422] : [])]).toContain(status)
        }
      }),
      { numRuns: 8 },
    )
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

describe('GET /grid/v2/facts', () => {
  it('pages through all facts in order, each once, and by status, source, attribute and job', async () => {
    const { client, id } = await newLease()
    await portfolio(client)
    await state(client, id, { op: 'assert', value: 1 })
    await state(client, id, { op: 'assert', value: 2 })
    await state(client, id, { op: 'assert', value: 3, source: DOCUMENTS, confidence_pct: 90 })
    const found: { transaction: string; field: string; object_id: string }[] = []
    for (let cursor = ''; ;) {
      const { body } = await client.get(`/grid/v2/facts?limit=7${cursor}`)
      found.push(...body.data)
      if (!body.has_more) break
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
    }
    const { body: whole } = await client.get('/grid/v2/facts?limit=200')
    expect(found).toEqual(whole.data)
    const order = found.map(({ transaction }) => Number(transaction.slice(3)))
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    const values = async (query: string): Promise<unknown[]> =>
      (await client.get(`/grid/v2/facts?object=${id}&${query}`)).body.data.map(
        ({ value }: { value: unknown }) => value,
      )
    expect(await values('attribute=free_rent_months')).toEqual([1, 2, 3])
    expect(await values('attribute=free_rent_months&status=superseded')).toEqual([1])
    expect(await values('attribute=free_rent_months&status=current')).toEqual([2])
    expect(await values('status=conflicting')).toEqual([3])
    expect(await values(`source=${DOCUMENTS}`)).toEqual([3])
    expect(await values('job=job_999999')).toEqual([])
  })

  it.each([
    ['job=le_1', 422],
    ['source=src_99', 404],
    ['source=99', 422],
    ['object=x', 422],
    ['status=gone', 422],
    ['limit=0', 422],
    ['cursor=abc', 422],
    ['field=name', 422],
  ])('answers %s with %i', async (query, status) => {
    const client = await newOrganization()
    expect(await client.get(`/grid/v2/facts?${query}`)).toMatchObject({ status })
  })
})

describe('pins', () => {
  const pin = (client: TestClient, id: string, body: object): Promise<Answer> =>
    client.post(`/grid/v2/objects/${id}/pins`, {
      attribute: 'free_rent_months',
      reason: 'Measured',
      ...body,
    })

  it('hold against writes until they are taken back, replace each other, and are listed', async () => {
    const lease = await newLease()
    const { client, id } = lease
    await state(client, id, { op: 'assert', value: 100 })
    expect(await pin(client, id, { value: 120 })).toMatchObject({ status: 201 })
    expect(await pin(client, id, { value: 130 })).toMatchObject({ status: 201 })
    const patched = await client.patch(`/leases/${id}`, { free_rent_months: 140 })
    expect(patched.body.free_rent_months).toBe(130)
    const { body } = await client.get(`/grid/v2/objects/${id}/pins`)
    expect(body.data).toMatchObject([
      {
        attribute: 'free_rent_months',
        value: 130,
        state: 'holds',
        reason: 'Measured',
        expires: null,
      },
    ])
    const path = `/grid/v2/objects/${id}/pins/free_rent_months`
    expect(await client.delete(path)).toMatchObject({ status: 204 })
    expect(await area(lease, '')).toBe(140)
    expect(await client.delete(path)).toMatchObject({ status: 404 })
    expect((await client.get(`/grid/v2/objects/${id}/pins`)).body.data).toEqual([])
    const { body: facts } = await client.get(`/grid/v2/objects/${id}/facts`)
    expect(facts.data.map(({ field }: { field: string }) => field)).not.toContain('_pin')
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('until the source changes end with its next claim', async () => {
    const lease = await newLease()
    const { client, id } = lease
    await state(client, id, { op: 'assert', value: 100 })
    await pin(client, id, { value: 120, expires: 'until_source_changes' })
    await client.patch(`/leases/${id}`, { name: 'Another field' })
    expect(await area(lease, '')).toBe(120)
    await client.patch(`/leases/${id}`, { free_rent_months: 105 })
    expect(await area(lease, '')).toBe(105)
    const { body } = await client.get(`/grid/v2/objects/${id}/pins`)
    expect(body.data).toMatchObject([{ state: 'ended', expires: 'until_source_changes' }])
  })

  it('with a time end at that time, by themselves', async () => {
    const lease = await newLease()
    const { client, id } = lease
    const { db } = await grid()
    await state(client, id, { op: 'assert', value: 100 })
    const expires = new Date(Date.now() + 3_600_000).toISOString()
    expect(await pin(client, id, { value: 120, expires })).toMatchObject({ body: { expires } })
    expect(await area(lease, '')).toBe(120)
    await tendOrganization(db, client.org_id, new Date(Date.parse(expires) + 1_000))
    expect(await area(lease, '')).toBe(100)
  })

  it('hold what a source says now', async () => {
    const lease = await newLease()
    const { client, id } = lease
    await state(client, id, { op: 'assert', value: 100 })
    await state(client, id, { op: 'assert', value: 90, source: DOCUMENTS })
    expect(await pin(client, id, { source_id: DOCUMENTS })).toMatchObject({ body: { value: 90 } })
    await state(client, id, { op: 'assert', value: 80, source: DOCUMENTS })
    expect(await area(lease, '')).toBe(90)
  })

  it.each<[string, object, string, string]>([
    ['nothing', {}, 'value', 'required'],
    ['both', { value: 1, source_id: API }, 'value', 'conflicting'],
    ['a silent source', { source_id: DOCUMENTS }, 'source_id', 'not_found'],
    ['another kind', { value: 'much' }, 'value', 'invalid_type'],
    ['no attribute', { attribute: 'are', value: 1 }, 'value', 'unknown_value'],
    ['a past end', { value: 1, expires: '2020-01-01T00:00:00Z' }, 'expires', 'out_of_range'],
    ['no time', { value: 1, expires: 'soon' }, 'expires', 'invalid_format'],
  ])('refuse %s', async (_, body, field, code) => {
    const { client, id } = await newLease()
    const answer = await pin(client, id, body)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } })
  })
})
