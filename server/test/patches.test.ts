/** What a merge patch does to each kind of value, and what a status may become. */
import { describe, expect, it } from 'vitest'
import type { Row } from '../src/kit/resource.ts'
import { newOrganization, owner } from './grid.ts'
import type { Answer } from './grid.ts'
import { leaseParents, samples } from './samples.ts'

const client = await newOrganization()
const parents = await leaseParents(client)

async function newLease(more: Row = {}): Promise<string> {
  const body = { ...samples.lease(parents.property_id, parents.tenant_party_id), ...more }
  return (await client.post('/leases', body)).body.id
}

const codes = (answer: Answer): string[] =>
  (answer.body.errors as { field: string; code: string }[]).map((e) => `${e.field} ${e.code}`)

const step = { kind: 'base', start_date: '2026-01-01', end_date: '2030-12-31' }

/** A value, the patches sent one after the other, and what the field then reads. */
const merges: [string, string, unknown, unknown[], unknown][] = [
  ['a scalar', 'name', 'A', ['B'], 'B'],
  ['a scalar cleared', 'name', 'A', [null], null],
  ['a number', 'pro_rata_share_pct', 2.1, [2.25], 2.25],
  ['a flag', 'go_dark_right', true, [false], false],
  ['money in another form', 'ti_allowance', '10', [20.5, '30.1'], '30.10'],
  ['tags replaced whole', 'tags', ['a', 'b'], [['c']], ['c']],
  ['tags cleared', 'tags', ['a'], [null], []],
  ['keys cleared', 'external_ids', [{ system: 's', id: '1' }], [null], []],
  ['a list cleared', 'critical_dates', [], [null], null],
  ['an empty list, which says that there are none', 'critical_dates', null, [[]], []],
]

describe('a merge patch', () => {
  it.each(merges)('changes %s', async (_, field, initial, patches, expected) => {
    const id = await newLease(initial === null ? {} : { [field]: initial })
    for (const value of patches) {
      expect((await client.patch(`/leases/${id}`, { [field]: value })).status).toBe(200)
    }
    const { body } = await client.get(`/leases/${id}`)
    expect(body[field]).toEqual(expected)
    expect(body.version).toBe(1 + patches.length)
  })

  it('reaches into an object and leaves its other parts', async () => {
    const { body } = await client.post('/properties', samples.property())
    const path = `/properties/${body.id}`
    const moved = await client.patch(path, { address: { line2: 'Floor 3', city: null } })
    expect(moved.body.address).toEqual({ ...body.address, line2: 'Floor 3', city: null })
    const refused = [
      [{ address: null }, 'address', 'required'],
      [{ address: { town: 'x' } }, 'address.town', 'unknown_field'],
      [{ address: { country: 'us' } }, 'address.country', 'invalid_format'],
    ] as const
    for (const [patch, field, code] of refused) {
      const answer = await client.patch(path, patch)
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } })
    }
    expect((await client.get(path)).body).toEqual(moved.body)
  })

  it('replaces a list whole, each item complete', async () => {
    const id = await newLease({ rent_schedule: [{ ...step, amount_monthly: 100 }] })
    const later = { ...step, start_date: '2026-07-01', amount_monthly: '200.5' }
    const { body } = await client.patch(`/leases/${id}`, { rent_schedule: [later] })
    expect(body.rent_schedule).toMatchObject([{ ...later, amount_monthly: '200.50' }])
    expect(Object.values(body.rent_schedule[0])).toContain(null)
    const bad = await client.patch(`/leases/${id}`, {
      rent_schedule: [later, { ...later, start_dat: '2026-01-01' }],
    })
    expect(bad.body.errors).toMatchObject([
      {
        field: 'rent_schedule[1].start_dat',
        pointer: '/rent_schedule/1/start_dat',
        suggestion: 'start_date',
      },
    ])
  })

  it('that changes nothing writes nothing', async () => {
    const id = await newLease({ ti_allowance: '12.50', tags: ['a'] })
    const before = (await client.get(`/leases/${id}`)).body
    for (const patch of [
      {},
      { ti_allowance: 12.5 },
      { tags: ['a'], name: null },
      { status: 'draft' },
    ]) {
      const answer = await client.patch(`/leases/${id}`, patch)
      expect(answer).toMatchObject({ status: 200, body: before })
      expect(answer.headers.get('etag')).toBe('"v1"')
    }
  })

  it('may come under its own media type', async () => {
    const id = await newLease()
    const headers = { 'content-type': 'application/merge-patch+json' }
    const answer = await client.patch(`/leases/${id}`, '{"name":"M"}', headers)
    expect(answer).toMatchObject({ status: 200, body: { name: 'M' } })
  })

  it('reports everything that is wrong at once', async () => {
    const id = await newLease()
    const answer = await client.patch(`/leases/${id}`, {
      currency: 'usd',
      expiration_date: '2025-06-31',
      rentable_area: -1,
      lease_type: 'direkt',
      tenant_party_id: 'prop_1',
      version: 7,
      nam: 'x',
    })
    expect(codes(answer).toSorted()).toEqual([
      'currency invalid_format',
      'expiration_date invalid_format',
      'lease_type invalid_enum',
      'nam unknown_field',
      'rentable_area out_of_range',
      'tenant_party_id invalid_format',
      'version read_only',
    ])
    expect(answer.body.detail).toBe('7 fields are invalid.')
  })
})

describe('text', () => {
  it.each([
    ['accents, scripts and emoji', 'Ünïcødé 日本 🏢 \u200d', 201],
    ['quotes, backslashes and SQL', `'); drop table lease; -- "\\ %_`, 201],
    ['line breaks', 'a\nb\tc', 201],
    ['two hundred characters', '🏢'.repeat(200), 201],
    ['two hundred and one', 'x'.repeat(201), 422],
    ['nothing', '', 422],
    ['a NUL', 'a\0b', 422],
    ['half of a surrogate pair', 'a\ud83cb', 422],
  ])('with %s is kept as it is or refused', async (_, name, status) => {
    const body = { kind: 'company', legal_name: name }
    const made = await client.post('/parties', body)
    expect(made.status).toBe(status)
    if (status === 201)
      expect((await client.get(`/parties/${made.body.id}`)).body.legal_name).toBe(name)
    else expect(made.body.errors[0].field).toBe('legal_name')
  })

  it('nested without end is refused', async () => {
    let settings: Row = {}
    for (let i = 0; i < 5_000; i++) settings = { a: settings }
    const answer = await client.patch(`/organizations/${client.organization_id}`, { settings })
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ code: 'too_deep' }] } })
  })
})

describe('a status', () => {
  const move = async (id: string, status: string, more: Row = {}): Promise<Answer> =>
    await client.patch(`/leases/${id}`, { status, ...more })

  it('moves along its lifecycle, and each move is noted', async () => {
    const id = await newLease()
    for (const status of ['in_review', 'out_for_signature', 'executed', 'active']) {
      expect((await move(id, status, { status_reason: `to ${status}` })).status).toBe(200)
    }
    const { status_history } = (await client.get(`/leases/${id}`)).body
    const moves = status_history as { from: string | null; to: string }[]
    expect(moves.map(({ from, to }) => `${from} ${to}`)).toEqual([
      'null draft',
      'draft in_review',
      'in_review out_for_signature',
      'out_for_signature executed',
      'executed active',
    ])
    expect(status_history.at(-1)).toMatchObject({ reason: 'to active', by: { type: 'api_key' } })
  })

  it('that may not follow is refused, naming those that may', async () => {
    const id = await newLease()
    const answer = await move(id, 'active')
    expect(answer).toMatchObject({
      status: 422,
      body: {
        code: 'invalid_transition',
        allowed: ['in_review', 'void'],
        errors: [{ field: 'status', code: 'invalid_transition', allowed: ['in_review', 'void'] }],
      },
    })
    expect((await client.get(`/leases/${id}`)).body.version).toBe(1)
  })

  it('that needs more than a word says what', async () => {
    const id = await newLease({ status: 'active' })
    const answer = await move(id, 'terminated')
    expect(codes(answer)).toEqual(['terminated_date required', 'status_reason required'])
    const done = await move(id, 'terminated', {
      terminated_date: '2028-01-31',
      status_reason: 'Tenant used its option.',
    })
    expect(done).toMatchObject({ status: 200, body: { status: 'terminated' } })
  })
})

describe('an area', () => {
  it.each([
    [8600.25, 201],
    [999_999_999.99, 201],
    [0.29, 201],
    [8600.255, 422],
  ])('of %s', async (rentable_area, status) => {
    const body = samples.lease(parents.property_id, parents.tenant_party_id)
    const answer = await client.post('/leases', { ...body, rentable_area })
    expect(answer.status).toBe(status)
    if (status === 201) expect(answer.body.rentable_area).toBe(rentable_area)
    else expect(codes(answer)).toEqual(['rentable_area too_many_decimals'])
  })
})

describe('a body', () => {
  it('that is a list is named as such', async () => {
    const answer = await client.post('/leases', [])
    expect(answer).toMatchObject({
      status: 422,
      body: { detail: 'body: must be object', errors: [{ field: 'body', pointer: '' }] },
    })
  })

  it('in another type is told the types there are', async () => {
    const type = { 'content-type': 'text/csv' }
    const json = 'Send the body as application/json'
    const made = await client.post('/leases', 'a,b', type)
    expect(made.body).toMatchObject({ status: 415, detail: `${json}, not as text/csv.` })
    const id = await newLease()
    const changed = await client.patch(`/leases/${id}`, 'a,b', type)
    expect(changed.body.detail).toBe(`${json} or application/merge-patch+json, not as text/csv.`)
  })
})

describe('what is over for good', () => {
  const refused = (...fields: string[]): string[] => fields.map((f) => `${f} read_only_state`)

  it('a void lease: only labels and keys of other systems change', async () => {
    const id = await newLease()
    const voided = { status: 'void', status_reason: 'Given up.', name: 'Suite 12' }
    expect((await client.patch(`/leases/${id}`, voided)).status).toBe(200)
    const answer = await client.patch(`/leases/${id}`, { name: 'Suite 13', rentable_area: 1 })
    expect([answer.status, codes(answer)]).toEqual([422, refused('name', 'rentable_area')])
    const labels = { tags: ['old'], external_ids: [{ system: 'erp', id: `void-${id}` }] }
    const kept = await client.patch(`/leases/${id}`, { ...labels, name: 'Suite 12' })
    expect(kept).toMatchObject({ status: 200, body: { tags: ['old'], version: 3 } })
  })

  it.each(['closed', 'cancelled'])('a work order that is %s', async (status) => {
    const { property_id } = parents
    const { body } = await client.post('/work_orders', samples.work_order(property_id))
    const path = `/work_orders/${body.id}`
    expect((await client.patch(path, { status, assigned_to: 'Luis' })).status).toBe(200)
    const answer = await client.patch(path, { assigned_to: 'Ana', title: body.title })
    expect([answer.status, codes(answer)]).toEqual([422, refused('assigned_to')])
    const said = { tags: ['x'], comments: [{ body: 'Still fine.' }], rating: 5 }
    expect((await client.patch(path, said)).body).toMatchObject({ ...said, assigned_to: 'Luis' })
    const back = await client.patch(path, { status: 'new' })
    expect(back).toMatchObject({ status: 422, body: { code: 'invalid_transition' } })
  })
})

describe('a secret that was taken in', () => {
  it('is kept nowhere, but for its last four characters', async () => {
    const secret = '36-4019274'
    const body = { kind: 'company', legal_name: 'Taxed', tax_id: secret }
    const { id, ...row } = (await client.post('/parties', body)).body
    expect(row).toMatchObject({ tax_id_last4: '9274' })
    expect(row).not.toHaveProperty('tax_id')
    const changed = await client.patch(`/parties/${id}`, { tax_id: '99-1112223' })
    expect(changed.body).toMatchObject({ tax_id_last4: '2223', version: 2 })
    expect((await client.patch(`/parties/${id}`, { tax_id: null })).body.tax_id_last4).toBeNull()
    expect(
      (await client.patch(`/parties/${id}`, { display_name: 'T' })).body.tax_id_last4,
    ).toBeNull()
    const direct = await owner()
    for (const table of ['party', 'assertion', 'event', 'audit_entry', 'idempotency']) {
      const { rows } = await direct.query(
        `select 1 from ${table} t where org_id = $1 and (t::text like $2 or t::text like $3)`,
        [client.org_id, `%${secret}%`, '%99-1112223%'],
      )
      expect(rows, table).toEqual([])
    }
    await direct.end()
  })
})
