/** A small portfolio whose figures were worked out by hand, with every kind of lease that counts in its own way. */
import { expect } from 'vitest'
import { newOrganization } from '../test/grid.ts'
import type { TestClient } from '../test/grid.ts'
import { insert, samples } from '../test/samples.ts'
import { civilDate } from './kit/query.ts'
import type { Row } from './kit/resource.ts'
import { lease as leaseResource } from './leases/resource.ts'

const DAY_MS = 86_400_000
const NEW_YORK = 'America/New_York'

/** Four and eight years of 365.25 days, so that averages come out even. */
export const FOUR_YEARS = 1461
export const EIGHT_YEARS = 2922

/** Today where the properties are. */
export const today = civilDate(Date.now(), NEW_YORK)

/** The day that lies so many days after today; before it when negative. */
export function day(days: number): string {
  return new Date(Date.parse(today) + days * DAY_MS).toISOString().slice(0, 10)
}

/** Creates an object and gives its id. */
export async function make(client: TestClient, path: string, body: Row): Promise<string> {
  const { status, body: made } = await client.post(path, body)
  expect(made.errors ?? status, JSON.stringify(made)).toBe(201)
  return made.id as string
}

/** The rollups of one object. */
export async function rollupOf(client: TestClient, path: string): Promise<Row> {
  const { status, body } = await client.get(`${path}?include=rollups`)
  expect(status).toBe(200)
  return body.rollups as Row
}

export interface Portfolio {
  client: TestClient
  harbor: string
  mitte: string
  building: Record<'a' | 'b' | 'c', string>
  floor: Record<string, string>
  space: Record<string, string>
  party: Record<string, string>
  lease: Record<string, string>
}

const SPACES: [name: string, floors: string[], rentable_area: number, more?: Row][] = [
  ['a1', ['f1'], 10_000, { market_rent_per_area: '30' }],
  ['a2', ['f1'], 5_000, { market_rent_per_area: '24' }],
  ['a3', ['f2', 'f3'], 20_000],
  ['a4', ['f4'], 1_000],
  ['a5', ['f2'], 4_000, { market_rent_per_area: '10' }],
  ['a6', ['f1'], 3_000],
  ['a7', ['f1'], 1_500],
]

const FLOORS: [name: string, rentable_area: number, more?: Row][] = [
  ['f1', 20_000],
  ['f2', 30_000],
  ['f3', 10_000],
  ['f4', 1_000, { is_leasable: false }],
]

async function buildings(client: TestClient): Promise<Ground> {
  const harbor = await make(client, '/properties', samples.property())
  const mitte = await make(client, '/properties', {
    ...samples.property(),
    time_zone: 'Europe/Berlin',
    currency: 'EUR',
    area_unit: 'sqm',
  })
  const a = await make(client, '/buildings', {
    ...samples.building(harbor),
    rentable_area: 100_000,
  })
  const b = await make(client, '/buildings', { ...samples.building(harbor), rentable_area: 50_000 })
  const c = await make(client, '/buildings', { ...samples.building(mitte), rentable_area: 1_000 })
  const floor: Record<string, string> = {}
  for (const [level_number, [label, rentable_area, more]] of FLOORS.entries()) {
    const body = { building_id: a, label, level_number, rentable_area, ...more }
    floor[label] = await make(client, '/floors', body)
  }
  const space: Record<string, string> = {}
  for (const [suite, floors, rentable_area, more] of SPACES) {
    const floor_ids = floors.map((name) => floor[name])
    const body = { building_id: a, floor_ids, suite, space_type: 'office', rentable_area, ...more }
    space[suite] = await make(client, '/spaces', body)
  }
  return { client, harbor, mitte, building: { a, b, c }, floor, space }
}

type Ground = Omit<Portfolio, 'party' | 'lease'>

/** A step of base rent between two days, counted from today. */
function base(start: number, end: number | null, rent: Row): Row {
  const end_date = end === null ? null : day(end)
  return { kind: 'base', start_date: day(start), end_date, ...rent }
}

/** Leases in force: what differs from a plain active one of four more years. */
function leasesInForce({ building, space }: Ground): Record<string, Row> {
  return {
    multi_space: {
      rentable_area: 15_000,
      premises: [
        { space_id: space['a1'], rentable_area: 10_000, from_date: day(-400) },
        { space_id: space['a2'], rentable_area: 5_000, from_date: day(-400) },
      ],
      rent_schedule: [
        base(-400, 99, { amount_monthly: '30000' }),
        base(100, null, { amount_monthly: '31000' }),
        { kind: 'parking', start_date: day(-400), amount_monthly: '900' },
        { kind: 'free', start_date: day(-5), end_date: day(5) },
      ],
      critical_dates: [
        { date_type: 'custom', date: day(-1), status: 'upcoming' },
        { date_type: 'custom', date: day(20), status: 'done' },
        { date_type: 'option_notice_deadline', date: day(30), status: 'due_soon' },
      ],
    },
    // Stated by a source, to more decimals than clients may give.
    metric: {
      rentable_area: 371.61216,
      area_unit: 'sqm',
      expiration_date: day(EIGHT_YEARS),
      premises: [{ space_id: space['a5'] }],
      rent_schedule: [base(-400, null, { per_area_annual: '100' })],
      escalations: [{ method: 'cpi', frequency_months: 12, first_date: day(50) }],
    },
    month_to_month: {
      rentable_area: 2_000,
      building_id: building.b,
      is_month_to_month: true,
      commencement_date: null,
      expiration_date: null,
      rent_schedule: [base(-800, -400, { amount_monthly: '1000' })],
    },
    holdover: {
      status: 'holdover',
      rentable_area: 20_000,
      expiration_date: day(-30),
      holdover_rent_pct: 150,
      premises: [{ space_id: space['a3'], from_date: day(-400), to_date: day(-30) }],
      rent_schedule: [base(-400, -30, { amount_annual: '200000' })],
    },
  }
}

/** Leases that add less than it seems, or nothing yet, or nothing more. */
function furtherLeases({ mitte, building, space }: Ground): Record<string, Row> {
  return {
    committed: {
      status: 'executed',
      rentable_area: 3_000,
      commencement_date: day(60),
      premises: [{ space_id: space['a6'] }],
      rent_schedule: [base(60, null, { amount_annual: '99999' })],
    },
    successor: {
      status: 'executed',
      rentable_area: 10_000,
      commencement_date: day(FOUR_YEARS + 1),
      expiration_date: day(EIGHT_YEARS),
      premises: [{ space_id: space['a1'] }],
    },
    expired: {
      status: 'expired',
      rentable_area: 1_500,
      expiration_date: day(-100),
      premises: [{ space_id: space['a7'] }],
      rent_schedule: [base(-400, null, { amount_annual: '7777' })],
    },
    draft: { status: 'draft', rentable_area: 1_500, premises: [{ space_id: space['a7'] }] },
    sublease: {
      lease_type: 'sublease',
      rentable_area: 2_000,
      premises: [{ space_id: space['a2'], rentable_area: 2_000 }],
      rent_schedule: [base(-400, null, { amount_annual: '10000' })],
    },
    other_currency: {
      rentable_area: 1_000,
      building_id: building.b,
      currency: 'EUR',
      expiration_date: day(365),
      rent_schedule: [base(-400, null, { amount_annual: '50000' })],
    },
    free: {
      rentable_area: 500,
      building_id: building.b,
      expiration_date: day(730),
      rent_schedule: [
        { kind: 'free', start_date: day(-400), end_date: day(10) },
        base(11, null, { amount_annual: '6000' }),
      ],
    },
    whole_building: {
      property_id: mitte,
      rentable_area: 1_000,
      expiration_date: day(EIGHT_YEARS),
      premises: [{ building_id: building.c }],
      rent_schedule: [base(-400, null, { amount_annual: '100000' })],
    },
    terminated: {
      status: 'terminated',
      terminated_date: day(-3),
      status_reason: 'Ended by agreement.',
      rentable_area: 1,
    },
  }
}

/** Two properties, three buildings, thirteen leases and five work orders in an organization of their own. */
export async function portfolio(): Promise<Portfolio> {
  const client = await newOrganization()
  const ground = await buildings(client)
  const party: Record<string, string> = { nobody: await make(client, '/parties', samples.party()) }
  const lease: Record<string, string> = {}
  for (const [name, body] of Object.entries({
    ...leasesInForce(ground),
    ...furtherLeases(ground),
  })) {
    const legal_name = name.replaceAll('_', ' ')
    const tenant_party_id = await make(client, '/parties', { kind: 'company', legal_name })
    party[name] = tenant_party_id
    const whole = {
      ...samples.lease(ground.harbor, tenant_party_id),
      status: 'active',
      commencement_date: day(-400),
      expiration_date: day(FOUR_YEARS),
      ...body,
    }
    lease[name] =
      name === 'metric'
        ? await insert(client.org_id, leaseResource, whole)
        : await make(client, '/leases', whole)
  }
  for (const status of ['new', 'on_hold', 'completed', 'closed', 'cancelled'])
    await make(client, '/work_orders', { ...samples.work_order(ground.harbor), status })
  return { ...ground, party, lease }
}
