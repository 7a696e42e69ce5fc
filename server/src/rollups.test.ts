import { beforeAll, describe, expect, test } from 'vitest'
import { grid, newClient, newOrganization } from '../test/grid.ts'
import { samples } from '../test/samples.ts'
import { rollups } from './features.ts'
import { civilDate } from './kit/query.ts'
import type { Row } from './kit/resource.ts'
import { fullMonths } from './leases/rules.ts'
import {
  day,
  EIGHT_YEARS,
  FOUR_YEARS,
  make,
  portfolio,
  rollupOf,
  today,
} from './rollups-fixture.ts'
import type { Portfolio } from './rollups-fixture.ts'

describe('rollups of a portfolio', () => {
  let p: Portfolio

  beforeAll(async () => {
    p = await portfolio()
  })

  test('of properties', async () => {
    // occupied 15,000 + 4,000 (371.61216 sqm) + 2,000 + 20,000 + 1,000 + 500; leased adds 3,000 that are not let now.
    // rent 360,000 + 37,161.22 + 12,000 + 300,000 (150 % of 200,000) + 0; the sublease and the EUR lease add nothing.
    // WALT (360,000 x 4 + 37,161.22 x 8) / 709,161.22
    expect(await rollupOf(p.client, `/properties/${p.harbor}`)).toEqual({
      building_count: 2,
      rentable_area: 150_000,
      occupied_area: 42_500,
      leased_area: 45_500,
      occupancy_pct: 28.33,
      leased_pct: 30.33,
      walt_years: 2.45,
      annual_base_rent: '709161.22',
      open_work_orders: 2,
    })
    expect(await rollupOf(p.client, `/properties/${p.mitte}`)).toEqual({
      building_count: 1,
      rentable_area: 1_000,
      occupied_area: 1_000,
      leased_area: 1_000,
      occupancy_pct: 100,
      leased_pct: 100,
      walt_years: 8,
      annual_base_rent: '100000.00',
      open_work_orders: 0,
    })
  })

  test('of buildings', async () => {
    const { body } = await p.client.get('/buildings?include=rollups&sort=id')
    expect(body.data.map((row: Row) => row['rollups'])).toEqual([
      {
        occupied_area: 39_000,
        leased_area: 42_000,
        occupancy_pct: 39,
        vacant_area: 61_000,
        next_expiration_date: day(FOUR_YEARS),
      },
      {
        occupied_area: 3_500,
        leased_area: 3_500,
        occupancy_pct: 7,
        vacant_area: 46_500,
        next_expiration_date: day(365),
      },
      {
        occupied_area: 1_000,
        leased_area: 1_000,
        occupancy_pct: 100,
        vacant_area: 0,
        next_expiration_date: day(EIGHT_YEARS),
      },
    ])
  })

  test('of floors', async () => {
    const tenant = (name: string, area: number, expiration_date: string): Row => ({
      name: name.replaceAll('_', ' '),
      area,
      expiration_date,
      lease_id: p.lease[name],
      tenant_party_id: p.party[name],
    })
    const { body } = await p.client.get(
      `/buildings/${p.building.a}/floors?include=rollups&sort=level_number`,
    )
    expect(body.data.map((row: Row) => row['rollups'])).toEqual([
      {
        occupied_area: 15_000,
        vacant_area: 5_000,
        space_count: 4,
        tenants: [tenant('multi_space', 15_000, day(FOUR_YEARS))],
      },
      {
        // a3 lies on 30,000 and 10,000: three quarters of it are here.
        occupied_area: 19_000,
        vacant_area: 11_000,
        space_count: 2,
        tenants: [tenant('holdover', 15_000, day(-30)), tenant('metric', 4_000, day(EIGHT_YEARS))],
      },
      {
        occupied_area: 5_000,
        vacant_area: 5_000,
        space_count: 1,
        tenants: [tenant('holdover', 5_000, day(-30))],
      },
      { occupied_area: 0, vacant_area: 1_000, space_count: 1, tenants: [] },
    ])
  })

  test('of spaces', async () => {
    const { body } = await p.client.get('/spaces?include=rollups&sort=id')
    const state = (status: string, in_place?: string, next?: string, last?: string): Row => ({
      status,
      in_place_lease_id: in_place ? p.lease[in_place] : null,
      committed_lease_id: next ? p.lease[next] : null,
      last_lease_id: last ? p.lease[last] : null,
    })
    expect(body.data.map((row: Row) => row['rollups'])).toEqual([
      state('occupied', 'multi_space', 'successor'),
      state('sublet', 'multi_space'),
      state('occupied', 'holdover'),
      state('not_leasable'),
      state('occupied', 'metric'),
      state('committed', undefined, 'committed'),
      state('vacant', undefined, undefined, 'expired'),
    ])
  })

  test('of leases', async () => {
    const expected: Record<string, [string, string | null, string | null, string | null]> = {
      multi_space: ['current', '360000.00', '30000.00', '24.0000'],
      metric: ['current', '37161.22', '3096.77', '100.0000'],
      month_to_month: ['current', '12000.00', '1000.00', '6.0000'],
      holdover: ['current', '300000.00', '25000.01', '15.0000'],
      committed: ['future', null, null, null],
      successor: ['future', null, null, null],
      expired: ['past', null, null, null],
      draft: ['current', null, null, null],
      sublease: ['current', '10000.00', '833.33', '5.0000'],
      other_currency: ['current', '50000.00', '4166.67', '50.0000'],
      free: ['current', '0.00', '0.00', '0.0000'],
      whole_building: ['current', '100000.00', '8333.33', '100.0000'],
      terminated: ['past', null, null, null],
    }
    const { body } = await p.client.get('/leases?include=rollups&limit=100')
    const rows = new Map<string, Row>(body.data.map((row: Row) => [row['id'], row['rollups']]))
    const found = Object.entries(p.lease).map(([name, id]) => {
      const row = rows.get(id)
      const values = ['timing', 'annual_base_rent', 'monthly_base_rent', 'base_rent_per_area']
      return [name, values.map((value) => row?.[value])]
    })
    expect(Object.fromEntries(found)).toEqual(expected)

    // market: (30 x 10,000 + 24 x 5,000) / 15,000 = 28 against 24; 10 per sqft are 107.639 per sqm against 100.
    const rest = (name: string): Row | undefined => rows.get(p.lease[name] as string)
    expect(rest('multi_space')).toMatchObject({
      next_escalation_date: day(100),
      next_critical_date: day(30),
      mark_to_market_pct: 16.67,
    })
    expect(rest('metric')).toMatchObject({
      next_escalation_date: day(50),
      next_critical_date: null,
      mark_to_market_pct: 7.64,
    })
    // The first step of a lease that is still to begin is no escalation, nor is what lies behind the term.
    expect(rest('committed')).toMatchObject({
      next_escalation_date: null,
      remaining_months: fullMonths(today, day(FOUR_YEARS)),
    })
    expect(rest('holdover')).toMatchObject({ next_escalation_date: null, remaining_months: 0 })
    expect(rest('month_to_month')).toMatchObject({ remaining_months: null })
    expect(rest('terminated')).toMatchObject({ remaining_months: 0 })
    expect(rest('free')).toMatchObject({ mark_to_market_pct: null })
  })

  test('of parties, in the currency and unit of the organization', async () => {
    const expected: [string, number, number, string | null, number][] = [
      ['multi_space', 1, 15_000, '360000.00', 50.76],
      ['holdover', 1, 20_000, '300000.00', 42.3],
      ['metric', 1, 4_000, '37161.22', 5.24],
      ['sublease', 1, 2_000, '10000.00', 0],
      ['whole_building', 1, 10_763.91, null, 0],
      ['committed', 0, 0, '0.00', 0],
      ['nobody', 0, 0, '0.00', 0],
    ]
    const { body } = await p.client.get('/parties?include=rollups&limit=100')
    for (const [name, active_lease_count, leased_area, annual_base_rent, share] of expected) {
      const row = body.data.find((found: Row) => found['id'] === p.party[name])
      expect(row.rollups, name).toEqual({
        active_lease_count,
        leased_area,
        area_unit: 'sqft',
        annual_base_rent,
        currency: 'USD',
        share_of_rent_pct: share,
      })
    }
  })

  test('stand in grid/v2 and beside chosen fields too', async () => {
    const path = `/properties/${p.mitte}?include=rollups`
    const plain = await rollupOf(p.client, `/properties/${p.mitte}`)
    expect((await p.client.get(`/grid/v2${path}`)).body.rollups).toEqual(plain)
    const chosen = await p.client.get(`${path}&fields=name`)
    expect(chosen.body).toEqual({ name: 'Harbor Point', rollups: plain })
  })

  test('are of today, whatever the version says', async () => {
    const path = `/properties/${p.mitte}`
    const etag = (await p.client.get(path)).headers.get('etag') as string
    const answer = (query: string) => p.client.get(path + query, { 'if-none-match': etag })
    expect((await answer('')).status).toBe(304)
    expect((await answer('?include=rollups')).status).toBe(200)
    for (const time of ['as_of=2026-01-01', 'known_at=2026-01-01T00:00:00Z']) {
      const timed = await p.client.get(`${path}?include=rollups&${time}`)
      expect(timed).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'include', code: 'unsupported_with_time' }] },
      })
    }
  })

  test('never count what belongs to another organization', async () => {
    const other = await portfolio()
    const { db } = await grid()
    const before = await rollupOf(p.client, `/properties/${p.harbor}`)
    await make(other.client, '/work_orders', samples.work_order(other.harbor))
    expect(await rollupOf(p.client, `/properties/${p.harbor}`)).toEqual(before)
    const ids: Record<string, string[]> = {
      party: Object.values(other.party),
      property: [other.harbor],
      building: Object.values(other.building),
      floor: Object.values(other.floor),
      space: Object.values(other.space),
      lease: Object.values(other.lease),
    }
    for (const [name, foreign] of Object.entries(ids)) {
      const digits = foreign.map((id) => Number(id.replace(/^.*_/, '')))
      expect([...((await rollups.get(name)?.(db, p.client.org_id, digits)) ?? [])], name).toEqual(
        [],
      )
    }
  })
})

describe('rollups at the edges', () => {
  test('of objects without leases', async () => {
    const client = await newOrganization()
    const property_id = await make(client, '/properties', samples.property())
    expect(await rollupOf(client, `/properties/${property_id}`)).toEqual({
      building_count: 0,
      rentable_area: 0,
      occupied_area: 0,
      leased_area: 0,
      occupancy_pct: null,
      leased_pct: null,
      walt_years: null,
      annual_base_rent: '0.00',
      open_work_orders: 0,
    })
    const building_id = await make(client, '/buildings', samples.building(property_id))
    const floor = { building_id, label: '1', level_number: 1 }
    const floor_id = await make(client, '/floors', floor)
    expect(await rollupOf(client, `/floors/${floor_id}`)).toEqual({
      occupied_area: 0,
      vacant_area: null,
      space_count: 0,
      tenants: [],
    })
    const empty = await client.get('/leases?include=rollups')
    expect(empty).toMatchObject({ status: 200, body: { data: [] } })
  })

  test('today is the day at the property: it has begun in Kiritimati, not yet in Pago Pago', async () => {
    const { org_id, organization_id, patch } = await newOrganization()
    await patch(`/organizations/${organization_id}`, { time_zone: 'Pacific/Kiritimati' })
    const client = await newClient(org_id)
    const commencement_date = civilDate(Date.now(), 'Pacific/Kiritimati')
    const tenant = await make(client, '/parties', samples.party())
    const timings: unknown[] = []
    for (const time_zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
      const property = await make(client, '/properties', { ...samples.property(), time_zone })
      const body = { ...samples.lease(property, tenant), status: 'active', commencement_date }
      const lease = await make(client, '/leases', body)
      const { timing } = await rollupOf(client, `/leases/${lease}`)
      const { occupied_area, leased_area } = await rollupOf(client, `/properties/${property}`)
      timings.push([timing, occupied_area, leased_area])
    }
    expect(timings).toEqual([
      ['current', 5_000, 5_000],
      ['future', 0, 5_000],
    ])
  })

  test('space taken on or given back during the term, and a lease that names no building', async () => {
    const client = await newOrganization()
    const property = await make(client, '/properties', samples.property())
    const building = await make(client, '/buildings', {
      ...samples.building(property),
      rentable_area: 8_000,
    })
    const tenant = await make(client, '/parties', samples.party())
    const floor = await make(client, '/floors', {
      building_id: building,
      label: '1',
      level_number: 1,
    })
    const spaces: string[] = []
    for (const suite of ['kept', 'given back', 'taken on']) {
      const body = {
        building_id: building,
        floor_ids: [floor],
        suite,
        space_type: 'office',
        rentable_area: 1_000,
      }
      spaces.push(await make(client, '/spaces', body))
    }
    const term = { status: 'active', commencement_date: day(-400), expiration_date: day(400) }
    const lease = await make(client, '/leases', {
      ...samples.lease(property, tenant),
      ...term,
      rentable_area: 1_000,
      premises: [
        { space_id: spaces[0] },
        { space_id: spaces[1], rentable_area: 900, to_date: day(-1) },
        { space_id: spaces[2], rentable_area: 700, from_date: day(1) },
      ],
      rent_schedule: [
        { kind: 'base', start_date: day(-400), space_ids: [spaces[0]], per_area_annual: '10' },
        { kind: 'base', start_date: day(1), space_ids: [spaces[2]], per_area_annual: '20' },
        { kind: 'abated', start_date: day(-400), end_date: day(300), amount_annual: '1' },
      ],
    })
    const whole = { ...samples.lease(property, tenant), ...term, rentable_area: 2_000 }
    await make(client, '/leases', whole)
    expect(await rollupOf(client, `/buildings/${building}`)).toMatchObject({
      occupied_area: 3_000,
      leased_area: 3_700,
      vacant_area: 5_000,
      occupancy_pct: 37.5,
    })
    const states = await Promise.all(spaces.map((id) => rollupOf(client, `/spaces/${id}`)))
    expect(states).toEqual([
      {
        status: 'occupied',
        in_place_lease_id: lease,
        committed_lease_id: null,
        last_lease_id: null,
      },
      { status: 'vacant', in_place_lease_id: null, committed_lease_id: null, last_lease_id: lease },
      {
        status: 'committed',
        in_place_lease_id: null,
        committed_lease_id: lease,
        last_lease_id: null,
      },
    ])
    expect(await rollupOf(client, `/leases/${lease}`)).toMatchObject({
      annual_base_rent: '10000.00',
    })
  })

  test('escalations that recur count from their first date', async () => {
    const client = await newOrganization()
    const property = await make(client, '/properties', { ...samples.property(), time_zone: 'UTC' })
    const tenant = await make(client, '/parties', samples.party())
    const now = civilDate(Date.now(), 'UTC')
    const year = Number(now.slice(0, 4))
    const quarters = ['03-31', '06-30', '09-30', '12-31']
    const dates = [year, year + 1].flatMap((y) => quarters.map((end) => `${y}-${end}`))
    const first_date = `${year - 2}-12-31`
    const lease = await make(client, '/leases', {
      ...samples.lease(property, tenant),
      status: 'active',
      commencement_date: '2020-01-01',
      expiration_date: '2090-12-31',
      escalations: [
        { method: 'fixed_pct', value: 1, frequency_months: 3, first_date },
        { method: 'none', frequency_months: 1, first_date },
        { method: 'fixed_pct', value: 1, first_date },
      ],
    })
    const expected = dates.find((date) => date > now)
    const { next_escalation_date } = await rollupOf(client, `/leases/${lease}`)
    expect(next_escalation_date).toBe(expected)
  })
})
