import { beforeAll, describe, expect, test } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { insert, samples } from '../../test/samples.ts'
import type { Row } from '../kit/resource.ts'
import { adapterOf, errorsOf, load } from '../sdis/load-fixture.ts'
import { building } from '../buildings/resource.ts'
import { floor } from '../floors/resource.ts'
import { party } from '../parties/resource.ts'
import { property } from '../properties/resource.ts'
import { space } from '../spaces/resource.ts'

/** Two properties, each with two buildings of a floor and two spaces, and two tenants. */
interface Places {
  [name: string]: string
}

async function places(client: TestClient): Promise<Places> {
  const ids: Places = {}
  const { org_id } = client
  for (const p of ['P', 'Q']) {
    const prop = (ids[p] = await insert(org_id, property, samples.property()))
    for (const b of [`${p}a`, `${p}b`]) {
      const bld = (ids[b] = await insert(org_id, building, samples.building(prop)))
      const flr = (ids[`${b}-floor`] = await insert(org_id, floor, samples.floor(bld)))
      for (const s of ['1', '2'])
        ids[`${b}-${s}`] = await insert(org_id, space, samples.space(bld, flr))
    }
  }
  for (const tenant of ['ann', 'bob']) ids[tenant] = await insert(org_id, party, samples.party())
  return ids
}

/** The fields that an answer finds fault with. */
const faults = ({ body }: Answer): string[] =>
  (body.errors ?? []).map((e: Row) => `${String(e['field'])} ${String(e['code'])}`)

describe('parts of other places', () => {
  let client: TestClient
  let at: Places

  beforeAll(async () => {
    client = await newOrganization()
    at = await places(client)
  })

  const id = (name: string): string => at[name] as string
  const lease = (values: Row): Row => ({ ...samples.lease(id('P'), id('ann')), ...values })
  const order = (values: Row): Row => ({ ...samples.work_order(id('P')), ...values })

  const bodies: [string, string, () => Row, string[]][] = [
    ['a building of it', 'leases', () => lease({ building_id: id('Pa') }), []],
    [
      'a building of another property',
      'leases',
      () => lease({ building_id: id('Qa') }),
      ['building_id not_in_property'],
    ],
    [
      'premises of another property',
      'leases',
      () => lease({ premises: [{ building_id: id('Qa') }, { space_id: id('Qa-1') }] }),
      ['premises[0].building_id not_in_property', 'premises[1].space_id not_in_property'],
    ],
    [
      'a space of another building than its own item says',
      'leases',
      () => lease({ premises: [{ building_id: id('Pa'), space_id: id('Pb-1') }] }),
      ['premises[0].space_id not_in_building'],
    ],
    [
      'a space of another building than the lease says',
      'leases',
      () => lease({ building_id: id('Pa'), premises: [{ space_id: id('Pb-1') }] }),
      ['premises[0].space_id not_in_building'],
    ],
    [
      'rent for a space of another property',
      'leases',
      () =>
        lease({
          rent_schedule: [
            { kind: 'base', start_date: '2026-01-01', space_ids: [id('Pa-1'), id('Qa-1')] },
          ],
        }),
      ['rent_schedule[0].space_ids[1] not_in_property'],
    ],
    [
      'a party that does not exist',
      'leases',
      () => lease({ parties: [{ party_id: 'pty_1', role: 'guarantor' }] }),
      ['parties[0].party_id not_found'],
    ],
    [
      'its floor and space',
      'work_orders',
      () => order({ building_id: id('Pa'), floor_id: id('Pa-floor'), space_id: id('Pa-1') }),
      [],
    ],
    [
      'building, floor and space of another property',
      'work_orders',
      () => order({ building_id: id('Qa'), floor_id: id('Qa-floor'), space_id: id('Qa-1') }),
      ['building_id not_in_property'],
    ],
    [
      'floor and space of another property, without a building',
      'work_orders',
      () => order({ floor_id: id('Qa-floor'), space_id: id('Qa-1') }),
      ['floor_id not_in_property', 'space_id not_in_property'],
    ],
    [
      'floor and space of another building',
      'work_orders',
      () => order({ building_id: id('Pa'), floor_id: id('Pb-floor'), space_id: id('Pb-1') }),
      ['floor_id not_in_building', 'space_id not_in_building'],
    ],
    [
      'a floor of another building',
      'spaces',
      () => samples.space(id('Pa'), id('Pb-floor')),
      ['floor_ids[0] not_in_building'],
    ],
  ]

  test.each(bodies)('%s, created in %s', async (_, path, body, expected) => {
    const answer = await client.post(`/${path}`, body())
    expect([answer.status, faults(answer)]).toEqual([expected.length > 0 ? 422 : 201, expected])
  })

  test('are refused in a change too, and nothing is changed', async () => {
    const created = await client.post('/leases', lease({ building_id: id('Pa') }))
    const path = `/leases/${created.body.id}`
    const moved = await client.patch(path, { property_id: id('Q') })
    expect([moved.status, faults(moved)]).toEqual([422, ['building_id not_in_property']])
    const space = await client.patch(path, { premises: [{ space_id: id('Qa-1') }] })
    expect(faults(space)).toEqual(['premises[0].space_id not_in_building'])
    const both = { property_id: id('Q'), building_id: id('Qa') }
    expect(await client.patch(path, both)).toMatchObject({ status: 200, body: both })
    expect((await client.get(path)).body.version).toBe(2)
  })

  test('that a lease had before are no hindrance to other changes', async () => {
    const created = await client.post('/leases', lease({ building_id: id('Pb') }))
    const moved = await client.patch(`/buildings/${id('Pb')}`, { property_id: id('Q') })
    expect(moved.status).toBe(200)
    const path = `/leases/${created.body.id}`
    expect((await client.patch(path, { name: 'Suite 12' })).status).toBe(200)
    await client.patch(`/buildings/${id('Pb')}`, { property_id: id('P') })
  })
})

describe('a space', () => {
  let client: TestClient
  let at: Places

  beforeAll(async () => {
    client = await newOrganization()
    at = await places(client)
  })

  const TERM = { commencement_date: '2022-01-01', expiration_date: '2030-12-31' }

  function body(tenant: string, values: Row, dates: Row = {}): Row {
    const base = samples.lease(at['P'] as string, at[tenant] as string)
    const premises = [{ space_id: at['Pa-1'], ...dates }]
    return { ...base, ...TERM, status: 'active', premises, ...values }
  }

  /** What the second lease finds when the first one has the space. */
  const cases: [string, () => Row, () => Row, boolean][] = [
    ['let over the same days', () => body('ann', {}), () => body('bob', {}), false],
    ['let to the same tenant', () => body('ann', {}), () => body('ann', {}), true],
    [
      'in a lease not yet signed',
      () => body('ann', {}),
      () => body('bob', { status: 'draft' }),
      true,
    ],
    ['in a draft already', () => body('ann', { status: 'in_review' }), () => body('bob', {}), true],
    ['sublet', () => body('ann', {}), () => body('bob', { lease_type: 'sublease' }), true],
    [
      'used under a licence',
      () => body('ann', { lease_type: 'license' }),
      () => body('bob', {}),
      true,
    ],
    [
      'let from the day after the last',
      () => body('ann', {}),
      () =>
        body('bob', {
          status: 'executed',
          commencement_date: '2031-01-01',
          expiration_date: '2035-12-31',
        }),
      true,
    ],
    [
      'let from the last day',
      () => body('ann', {}),
      () =>
        body('bob', {
          status: 'executed',
          commencement_date: '2030-12-31',
          expiration_date: '2035-12-31',
        }),
      false,
    ],
    [
      'given back before the other takes it',
      () => body('ann', {}, { to_date: '2023-12-31' }),
      () => body('bob', {}, { from_date: '2024-01-01' }),
      true,
    ],
    [
      'held over, let from a later day',
      () => body('ann', { status: 'holdover', expiration_date: '2023-12-31' }),
      () =>
        body('bob', {
          status: 'executed',
          commencement_date: '2090-01-01',
          expiration_date: '2095-12-31',
        }),
      true,
    ],
    [
      'held over, let from a day gone by',
      () => body('ann', { status: 'holdover', expiration_date: '2023-12-31' }),
      () => body('bob', { commencement_date: '2024-02-01' }),
      false,
    ],
    [
      'of another building',
      () => body('ann', {}),
      () => body('bob', { premises: [{ space_id: at['Pa-2'] }] }),
      true,
    ],
  ]

  test.each(cases)('%s', async (_, first, second, allowed) => {
    const one = await client.post('/leases', first())
    expect(one.status, JSON.stringify(one.body)).toBe(201)
    const two = await client.post('/leases', second())
    expect(two.status, JSON.stringify(two.body)).toBe(allowed ? 201 : 422)
    if (!allowed) {
      const field = 'premises[0].space_id'
      const error = { field, code: 'space_already_let', other_id: one.body.id }
      expect(two.body.errors).toMatchObject([error])
      expect(two.body.detail).toContain(one.body.id)
    } else await client.delete(`/leases/${two.body.id}`)
    await client.delete(`/leases/${one.body.id}`)
  })

  test('is found taken by a change of status, dates or premises', async () => {
    const one = await client.post('/leases', body('ann', {}))
    const free = { premises: [{ space_id: at['Pa-2'] }] }
    const two = await client.post('/leases', body('bob', free))
    const path = `/leases/${two.body.id}`
    expect(faults(await client.patch(path, { premises: [{ space_id: at['Pa-1'] }] }))).toEqual([
      'premises[0].space_id space_already_let',
    ])
    const draft = await client.post('/leases', body('bob', { status: 'out_for_signature' }))
    expect(faults(await client.patch(`/leases/${draft.body.id}`, { status: 'executed' }))).toEqual([
      'premises[0].space_id space_already_let',
    ])
    // A change that lets nothing anew is not asked about.
    expect((await client.patch(`/leases/${one.body.id}`, { name: 'Suite 1' })).status).toBe(200)
    for (const { body } of [one, two, draft]) await client.delete(`/leases/${body.id}`)
  })

  test('goes to one of many who take it at once', async () => {
    const tenants = await Promise.all(
      Array.from({ length: 8 }, () => insert(client.org_id, party, samples.party())),
    )
    const answers = await Promise.all(
      tenants.map((tenant_party_id) => client.post('/leases', body('ann', { tenant_party_id }))),
    )
    const won = answers.filter(({ status }) => status === 201)
    const lost = answers.filter(({ status }) => status === 422)
    expect([won.length, lost.length]).toEqual([1, 7])
  })
})

describe('a load', () => {
  const HEAD = 'No,Property,Building,Space,Tenant,Start,End\n'
  const map = {
    lease_number: 'row.No',
    status: { value: 'active' },
    lease_type: { value: 'direct' },
    recovery_type: { value: 'nnn' },
    rentable_area: { value: 100 },
    commencement_date: 'row.Start',
    expiration_date: 'row.End',
    premises: { list: {} },
  }

  function adapter(missing: string): string {
    const resolve = {
      property_id: { type: 'property', stream: 'properties', value: 'row.Property' },
      building_id: { type: 'building', stream: 'buildings', value: 'row.Building', missing },
      tenant_party_id: { type: 'party', stream: 'parties', value: 'row.Tenant' },
      'premises.space_id': { type: 'space', stream: 'spaces', value: 'row.Space', missing },
    }
    return adapterOf({ name: 'leases', type: 'lease', key: 'row.No', group: true, map, resolve })
  }

  /** An organization with two properties of a building each, and two spaces in the first, all loaded before. */
  async function loaded(): Promise<TestClient> {
    const client = await newOrganization()
    const stream = (name: string, type: string, map: Row, resolve: Row = {}): string =>
      adapterOf({ name, type, key: 'row.Code', map, resolve })
    const name = { name: 'row.Code' }
    const property_id = { type: 'property', stream: 'properties', value: 'row.In' }
    const building_id = { type: 'building', stream: 'buildings', value: 'row.In' }
    const files: [string, string][] = [
      [stream('properties', 'property', name), 'Code\nP\nQ\n'],
      [stream('buildings', 'building', name, { property_id }), 'Code,In\nPa,P\nQa,Q\n'],
      [
        stream('spaces', 'space', { suite: 'row.Code' }, { building_id }),
        'Code,In\nPa-1,Pa\nPa-2,Pa\n',
      ],
      [stream('parties', 'party', { legal_name: 'row.Code' }), 'Code\nann\nbob\n'],
    ]
    for (const [adapter, file] of files) {
      const job = await load(client, adapter, file)
      expect(job.state, JSON.stringify(job)).toBe('completed')
    }
    return client
  }

  test('leaves out the reference, or the row, as the adapter says', async () => {
    const client = await loaded()
    const rows = 'L1,P,Qa,Pa-1,ann,2022-01-01,2030-12-31\n'
    const warned = await load(client, adapter('blank'), HEAD + rows)
    expect(await errorsOf(client, warned)).toEqual([
      [2, 'building_id', 'not_in_property'],
      [2, 'premises.space_id', 'not_in_building'],
    ])
    expect(warned.counts).toMatchObject({ created: 1, warnings: 1, quarantined: 0 })
    const { body } = await client.get('/leases')
    expect(body.data).toMatchObject([
      { lease_number: 'L1', building_id: null, premises: [{ space_id: null }] },
    ])
    const refused = await load(client, adapter('error'), HEAD + rows.replace('L1', 'L2'))
    expect(refused.counts).toMatchObject({ created: 0, quarantined: 1 })
  })

  test('warns of spaces let twice, in the file and beside what is known', async () => {
    const client = await loaded()
    const rows =
      'L1,P,Pa,Pa-1,ann,2022-01-01,2030-12-31\n' +
      'L2,P,Pa,Pa-1,bob,2030-12-31,2033-12-31\n' +
      'L3,P,Pa,Pa-2,ann,2022-01-01,2030-12-31\n'
    const first = await load(client, adapter('error'), HEAD + rows)
    expect(await errorsOf(client, first)).toEqual([[3, 'premises.space_id', 'space_already_let']])
    expect(first.counts).toMatchObject({ created: 3, warnings: 1, quarantined: 0 })
    const next = 'L4,P,Pa,Pa-2,bob,2029-01-01,2033-12-31\n'
    const second = await load(client, adapter('error'), HEAD + next)
    expect(await errorsOf(client, second)).toEqual([[2, 'premises.space_id', 'space_already_let']])
    expect(second.counts).toMatchObject({ created: 1, warnings: 1 })
  })
})
