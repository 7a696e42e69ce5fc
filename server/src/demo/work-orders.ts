/** Eighteen months of work orders: what was reported when and where, how it went, and one chiller that keeps failing. */
import { SLA_POLICY } from '../work-orders/rules.ts'
import type { Row } from '../kit/resource.ts'
import { addMonths, instantOf } from './calendar.ts'
import { VENDORS } from './counterparties.ts'
import { amount, round, sum } from './figures.ts'
import { isRunning, lastTerm, ref } from './model.ts'
import type { BuildingPlan, Calendar, Draft, LeasePlan, SpacePlan } from './model.ts'
import type { Random } from './random.ts'
import { SEGMENTS } from './segments.ts'
import { CLIFF_SITE } from './sites.ts'
import { SQM_PER_SQFT } from './spaces.ts'
import {
  ALWAYS_URGENT,
  KINDS,
  PLANNED_PRIORITIES,
  REPORT_PRIORITIES,
} from './work-order-kinds.ts'
import type { Kind } from './work-order-kinds.ts'

const MONTHS = 18
/** Work orders per year and 1,000 sqft of an office tower. */
const RATE = 1.27
const SLA_MET = 0.91
const CANCELLED = 0.03
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Older ones are told in two steps, reported and closed: what they were in between is not asked for any more. */
const FULLY_TOLD = 130 * DAY

/** Days after the report, and the chance that the work is not done by then. */
const OPEN_CHANCES = [
  [2, 0.7],
  [7, 0.32],
  [30, 0.09],
  [90, 0.012],
  [9_999, 0.0008],
] as const

const IN_HOUSE = ['Luis Ortega', 'Priya Raman', 'Marcus Bell', 'Ewa Nowak', 'Dale Hutchins', 'Tomas Vega'] as const

/** A space and who holds it since when, to say whose request it was. */
interface Holding {
  space: SpacePlan
  lease: LeasePlan
  since: number
}

interface Place {
  building: BuildingPlan
  holdings: readonly Holding[]
}

/** A work order before it is written down. */
interface Report {
  at: number
  place: Place
  kind: Kind
  isPlanned: boolean
}

type Priority = keyof typeof SLA_POLICY.times

/** @returns in order of the reports; the one that the chiller's repeats point back to comes first of them. */
export function* workOrderDrafts(
  buildings: readonly BuildingPlan[],
  leases: readonly LeasePlan[],
  calendar: Calendar,
  random: Random,
): Generator<Draft> {
  const now = instantOf(calendar.start)
  const places = placesOf(buildings, leases)
  const sick = chillerReports(places, calendar, random.fork('chiller'))
  const reports = drawReports(places, calendar, random.fork('reports'))
  const own = random.fork('work')
  let serial = 24_000
  let root: string | null = null
  for (const report of [...reports, ...sick].toSorted((a, b) => a.at - b.at)) {
    const key = `wo:${++serial}`
    const isChiller = report.kind === CHILLER
    yield workOrder(report, key, isChiller ? root : null, now, own)
    if (isChiller) root ??= key
  }
}

function placesOf(buildings: readonly BuildingPlan[], leases: readonly LeasePlan[]): Place[] {
  const held = Map.groupBy(leases.filter(isRunning), ({ building }) => building)
  return buildings
    .filter(({ site }) => site.status !== 'development')
    .map((building) => ({
      building,
      holdings: (held.get(building) ?? []).flatMap((lease) =>
        lease.premises.map(({ space, from }) => ({ space, lease, since: instantOf(from) })),
      ),
    }))
}

function drawReports(places: readonly Place[], calendar: Calendar, random: Random): Report[] {
  const from = instantOf(addMonths(calendar.start, -MONTHS))
  const weights = places.map((place) => [place, workOf(place.building)] as const)
  const count = Math.round((sum(weights.map(([, work]) => work)) * RATE * MONTHS) / 12)
  const pick = picker(weights)
  const kind = picker(KINDS.map((k) => [k, k.share] as const))
  const months = monthPickers(calendar)
  return Array.from({ length: count }, () => {
    const what = kind(random)
    const place = pick(random)
    const isPlanned = random.chance(what.planned)
    const month = (months.get(what.months) ?? months.get(undefined))?.(random) ?? 0
    return { at: timeOf(from, month, place, isPlanned, random), place, kind: what, isPlanned }
  })
}

/** Thousands of square feet, weighed by how much work the use makes. */
function workOf({ site, area }: BuildingPlan): number {
  const sqft = site.area_unit === 'sqm' ? area / SQM_PER_SQFT : area
  return (sqft / 1_000) * SEGMENTS[site.segment].work
}

/** Draws by weight from a list that is drawn from often. */
function picker<T>(choices: readonly (readonly [value: T, weight: number])[]): (random: Random) => T {
  const ends: number[] = []
  let total = 0
  for (const [, weight] of choices) ends.push((total += weight))
  return (random) => {
    const at = random.next() * total
    const index = ends.findIndex((end) => at < end)
    return (choices[index < 0 ? choices.length - 1 : index] as readonly [T, number])[0]
  }
}

type Months = Kind['months']

/** For each seasonal pattern, draws one of the months that are told. */
function monthPickers({ start }: Calendar): Map<Months, (random: Random) => number> {
  const patterns = [...new Set(KINDS.map(({ months }) => months))]
  return new Map(
    patterns.map((pattern) => {
      const weights = Array.from({ length: MONTHS }, (_, i) => {
        const month = Number(addMonths(start, i - MONTHS).slice(5, 7)) - 1
        return [i, pattern?.[month] ?? 1] as const
      })
      return [pattern, picker(weights)]
    }),
  )
}

/** Most reports come in during the day of the place, few at night and at the weekend. */
function timeOf(from: number, month: number, place: Place, isPlanned: boolean, random: Random): number {
  const day = Math.floor(from / DAY) + Math.floor((month + random.next()) * 30.4)
  const weekday = (day + 4) % 7
  const isWeekend = weekday === 0 || weekday === 6
  const shifted = isWeekend && !random.chance(0.3) ? day + (weekday === 0 ? 1 : 2) : day
  const isDaytime = isPlanned || random.chance(0.85)
  const hour = isDaytime ? random.between(7, 18) : random.between(0, 24)
  const local = shifted * DAY + hour * HOUR
  return Math.round((local - place.building.site.market.utc_offset * HOUR) / MINUTE) * MINUTE
}

const CHILLER: Kind = {
  category: 'hvac',
  share: 0,
  planned: 0,
  reports: [['chiller', 'Chiller CH-2 tripped on high head pressure']],
  upkeep: [],
  cost: [1_800, 9_400],
}

/** The first failure in May of the year before, and nine more, ever closer together. */
const CHILLER_DAYS = [430, 402, 371, 190, 150, 118, 84, 55, 31, 11] as const

function chillerReports(places: readonly Place[], { start }: Calendar, random: Random): Report[] {
  const place = places.find(({ building }) => building.site.code === CLIFF_SITE)
  if (!place) return []
  return CHILLER_DAYS.map((days) => {
    const at = instantOf(start) - days * DAY + Math.round(random.between(13, 22) * 60) * MINUTE
    return { at, place, kind: CHILLER, isPlanned: false }
  })
}

function workOrder(report: Report, key: string, parent: string | null, now: number, random: Random): Draft {
  const { at, place, kind, isPlanned } = report
  const { site } = place.building
  const isChiller = kind === CHILLER
  const holding = isPlanned || isChiller || random.chance(0.22) ? null : holderAt(place, at, random)
  const [subcategory, title] = isPlanned ? [null, random.pick(kind.upkeep)] : random.pick(kind.reports)
  const priority = priorityOf(report, subcategory, random)
  const where = holding ? `${title}, suite ${holding.space.suite}` : isChiller ? title : `${title}, ${place.building.name}`
  const vendor = vendorOf(kind, isChiller, random)
  const opened: Row = {
    number: `WO-${key.slice('wo:'.length)}`,
    title: where,
    property_id: ref(`prop:${site.code}`),
    building_id: ref(place.building.key),
    type: typeOf(report, priority, holding !== null, random),
    category: kind.category,
    priority,
    source: isPlanned ? 'schedule' : isChiller ? 'sensor' : holding ? random.pick(SOURCES) : 'inspection',
    reported_at: iso(at),
    is_emergency: priority === 'emergency',
    currency: site.currency,
    ...(subcategory ? { subcategory } : {}),
    ...(parent ? { parent_work_order_id: ref(parent) } : {}),
    ...(isChiller ? { tags: ['equipment:CH-2'] } : {}),
    ...(holding ? tenantFields(holding) : {}),
  }
  const later = courseOf(report, opened, vendor, holding !== null, now, random)
  return { key, body: opened, valid_from: at, later }
}

const SOURCES = ['tenant_portal', 'tenant_portal', 'tenant_portal', 'email', 'phone', 'qr_code'] as const

function tenantFields({ space, lease }: Holding): Row {
  return {
    floor_id: ref(space.floors[0]?.key ?? ''),
    space_id: ref(space.key),
    lease_id: ref(lease.key),
    tenant_party_id: ref(lease.tenant.key),
    requested_by: { party_id: ref(lease.tenant.key) },
  }
}

/** Someone who held space in the building then; large tenants ask more often. */
function holderAt({ holdings }: Place, at: number, random: Random): Holding | null {
  const possible = holdings.filter(({ since, lease }) => {
    const { to } = lastTerm(lease)
    return since <= at && (to === null || instantOf(to) >= at || lease.status === 'holdover')
  })
  if (possible.length === 0) return null
  const [a, b] = [random.pick(possible), random.pick(possible)]
  return a.space.area > b.space.area ? a : b
}

function priorityOf({ isPlanned, kind }: Report, subcategory: string | null, random: Random): Priority {
  if (kind === CHILLER) return 'urgent'
  if (isPlanned) return random.weighted(PLANNED_PRIORITIES)
  if (ALWAYS_URGENT.includes(subcategory)) return subcategory === 'lockout' ? 'urgent' : 'emergency'
  return random.weighted(REPORT_PRIORITIES)
}

function typeOf({ isPlanned, kind }: Report, priority: Priority, isTenant: boolean, random: Random): string {
  if (isPlanned) {
    return random.weighted([
      ['preventive', 82],
      ['inspection', kind.category === 'fire_life_safety' ? 4 : 10],
      ['compliance', kind.category === 'fire_life_safety' ? 20 : 6],
    ])
  }
  if (priority === 'emergency') return 'emergency'
  return isTenant ? 'tenant_request' : 'corrective'
}

function vendorOf({ category }: Kind, isChiller: boolean, random: Random): string | null {
  if (isChiller) return 'pty:v-hvac-2'
  const possible = VENDORS.filter(([, , trade]) => trade === category)
  return possible.length > 0 && random.chance(0.45) ? random.pick(possible)[0] : null
}

/** What happened after the report: who took it, when it was done or where it stands, what it cost. */
function courseOf(
  report: Report,
  opened: Row,
  vendor: string | null,
  isTenant: boolean,
  now: number,
  random: Random,
): NonNullable<Draft['later']> {
  const { at, kind, isPlanned } = report
  const { response, resolution } = SLA_POLICY.times[opened['priority'] as Priority]
  const assignee = vendor ? { vendor_party_id: ref(vendor) } : { assigned_to: random.pick(IN_HOUSE), team: 'Building engineering' }
  // Work is mostly done early in the time allowed, and now and then long after it.
  const isMet = random.chance(SLA_MET)
  const share = isMet ? random.next() ** 1.7 * 0.95 + 0.02 : random.between(1.04, 2.4)
  const length = isPlanned ? random.between(0.5, 9) * DAY : Math.max(resolution * share, 3 * MINUTE)
  const done = minute(at + length)
  const answered = Math.max(response * random.between(0.05, isMet ? 0.95 : 1.3), MINUTE)
  const acknowledged = minute(Math.min(at + answered, done - MINUTE))
  const begun = minute(acknowledged + (done - acknowledged) * random.between(0.2, 0.7))
  const taken: Row = { acknowledged_at: iso(acknowledged), assigned_at: iso(acknowledged), ...assignee }
  const age = (now - at) / DAY
  const stays = OPEN_CHANCES.find(([days]) => age < days)?.[1] ?? 0
  if (random.chance(stays) || done >= now) {
    return openCourse(taken, { acknowledged, begun, now }, random)
  }
  if (random.chance(CANCELLED) && kind !== CHILLER) {
    const values = { status: 'cancelled', status_reason: 'Reported twice.' }
    return [{ valid_from: acknowledged, values }]
  }
  const costs = costsOf(kind, vendor !== null, isTenant, report, random)
  const rating = isTenant && random.chance(0.28) ? { rating: random.weighted(RATINGS) } : {}
  const closed = minute(done + random.between(0.1, 3.5) * DAY)
  const finished: Row = { ...taken, started_at: iso(begun), completed_at: iso(done), ...costs }
  const completion = { valid_from: done, values: { status: 'completed', ...finished } }
  if (closed >= now) return [completion]
  const closing = { status: 'closed', closed_at: iso(closed), ...rating }
  if (now - at > FULLY_TOLD) return [{ valid_from: closed, values: { ...finished, ...closing } }]
  return [completion, { valid_from: closed, values: closing }]
}

const RATINGS = [
  [5, 46],
  [4, 32],
  [3, 13],
  [2, 6],
  [1, 3],
] as const

/** Not done yet: waiting, under way, on hold for a part, or waiting for someone to agree to the cost. */
function openCourse(
  taken: Row,
  times: { acknowledged: number; begun: number; now: number },
  random: Random,
): NonNullable<Draft['later']> {
  const { acknowledged, begun, now } = times
  if (acknowledged >= now || random.chance(0.18)) return []
  const status = random.weighted([
    ['acknowledged', 14],
    ['assigned', 22],
    ['scheduled', 16],
    ['in_progress', 28],
    ['on_hold', 13],
    ['pending_approval', 7],
  ] as const)
  const begins = status === 'in_progress' || status === 'on_hold' || status === 'pending_approval'
  const first = { acknowledged: 'acknowledged', scheduled: 'scheduled' }[status as string] ?? 'assigned'
  const planned = status === 'scheduled' ? { scheduled_start_at: iso(now + 20 * HOUR), scheduled_end_at: iso(now + 23 * HOUR) } : {}
  const course = [{ valid_from: acknowledged, values: { status: first, ...taken, ...planned } as Row }]
  if (!begins || begun >= now || begun <= acknowledged) return course
  const reasons = { on_hold: 'Waiting for a part.', pending_approval: 'The estimate is above the limit.' }
  const status_reason = reasons[status as keyof typeof reasons] ?? null
  const estimate = status === 'pending_approval' ? { estimated_cost: amount(random.int(12, 90) * 100) } : {}
  const values = status === 'in_progress' ? { status, started_at: iso(begun) } : { status, status_reason, ...estimate }
  return [...course, { valid_from: begun, values }]
}

/** Bills for vendors' work and larger repairs; 12 % of the work is charged to the tenant. */
function costsOf(kind: Kind, hasVendor: boolean, isTenant: boolean, { isPlanned }: Report, random: Random): Row {
  const isBillable = kind.category === 'billable_service' || (isTenant && random.chance(0.225))
  const hasCost = hasVendor || isBillable || random.chance(0.12)
  if (!hasCost) return {}
  const [low, high] = kind.cost
  const total = low * (high / low) ** random.next() * (isPlanned ? 0.8 : 1)
  const hours = round(Math.max(0.5, Math.round((total * 0.6) / 95 / 0.5) * 0.5), 1)
  const material = round(Math.max(0, total - hours * 95), 0)
  const labor = {
    kind: hasVendor ? 'vendor' : 'labor',
    description: hasVendor ? 'Technician on site' : 'Building engineer, regular time',
    quantity: hours,
    unit_price: '95.0000',
  }
  const parts = { kind: 'material', description: 'Parts', quantity: 1, unit_price: `${material}.0000` }
  return {
    line_items: material > 0 ? [labor, parts] : [labor],
    is_billable_to_tenant: isBillable,
    ...(isBillable ? { markup_pct: 15 } : {}),
    ...(hasVendor ? { invoice_number: `INV-${random.int(10_000, 99_999)}` } : {}),
  }
}

function minute(at: number): number {
  return Math.round(at / MINUTE) * MINUTE
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
