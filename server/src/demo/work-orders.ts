/** Eighteen months of work orders: what was reported when and where, how it went, and one chiller that keeps failing. */
import { SQM_PER_SQFT } from '../kit/vocabulary.ts'
import type { Row } from '../kit/resource.ts'
import { addMonths, instantOf } from './calendar.ts'
import { VENDORS } from './counterparties.ts'
import { sum } from './figures.ts'
import { leasable } from './floors.ts'
import { isRunning, lastTerm, ref } from './model.ts'
import type { BuildingPlan, Calendar, Draft, LeasePlan, SpacePlan } from './model.ts'
import type { Random } from './random.ts'
import { SEGMENTS } from './segments.ts'
import { CLIFF_SITE } from './sites.ts'
import { courseOf, DAY, HOUR, iso, MINUTE } from './work-order-course.ts'
import type { Priority } from './work-order-course.ts'
import { ALWAYS_URGENT, KINDS, PLANNED_PRIORITIES, REPORT_PRIORITIES } from './work-order-kinds.ts'
import type { Kind } from './work-order-kinds.ts'

const MONTHS = 18
/** Work orders per year and 1,000 sqft of an office tower. */
const RATE = 1.27
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
  const to = instantOf(calendar.start)
  const weights = places.map((place) => [place, workOf(place.building)] as const)
  const count = Math.round((sum(weights.map(([, work]) => work)) * RATE * MONTHS) / 12)
  const pick = picker(weights)
  const kind = picker(KINDS.map((k) => [k, k.share] as const))
  const months = monthPickers(calendar)
  return Array.from({ length: count }, () => {
    const what = kind(random)
    let place = pick(random)
    while (!has(place.building, what)) place = pick(random)
    const isPlanned = random.chance(what.planned)
    const month = (months.get(what.months) ?? months.get(undefined))?.(random) ?? 0
    const at = timeOf(
      { from, to, share: (month + random.next()) / MONTHS },
      place,
      isPlanned,
      random,
    )
    return { at, place, kind: what, isPlanned }
  })
}

/** Only buildings of several floors have elevators. */
function has(building: BuildingPlan, { category }: Kind): boolean {
  return category !== 'elevator' || leasable(building).length > 2
}

/** Thousands of square feet, weighed by how much work the use makes. */
function workOf({ site, area }: BuildingPlan): number {
  const sqft = site.area_unit === 'sqm' ? area / SQM_PER_SQFT : area
  return (sqft / 1_000) * SEGMENTS[site.segment].work
}

/** Draws by weight from a list that is drawn from often. */
function picker<T>(
  choices: readonly (readonly [value: T, weight: number])[],
): (random: Random) => T {
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
function timeOf(
  time: { from: number; to: number; share: number },
  place: Place,
  isPlanned: boolean,
  random: Random,
): number {
  const { from, to, share } = time
  const day = Math.floor((from + (to - from) * share) / DAY)
  const weekday = (day + 4) % 7
  const isWeekend = weekday === 0 || weekday === 6
  const shifted = isWeekend && !random.chance(0.3) ? day + (weekday === 0 ? 1 : 2) : day
  const isDaytime = isPlanned || random.chance(0.85)
  const hour = isDaytime ? random.between(7, 18) : random.between(0, 24)
  const local = shifted * DAY + hour * HOUR
  const at = Math.round((local - place.building.site.market.utc_offset * HOUR) / MINUTE) * MINUTE
  // What would be reported after the last day was reported a week before.
  return at < to ? at : at - 7 * DAY
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

function workOrder(
  report: Report,
  key: string,
  parent: string | null,
  now: number,
  random: Random,
): Draft {
  const { at, place, kind, isPlanned } = report
  const { site } = place.building
  const isChiller = kind === CHILLER
  const holding = isPlanned || isChiller || random.chance(0.22) ? null : holderAt(place, at, random)
  const [subcategory, title] = isPlanned
    ? [null, random.pick(kind.upkeep)]
    : random.pick(kind.reports)
  const priority = priorityOf(report, subcategory, random)
  const where = holding
    ? `${title}, suite ${holding.space.suite}`
    : isChiller
      ? title
      : `${title}, ${place.building.name}`
  const vendor = vendorOf(kind, isChiller, random)
  const opened: Row = {
    number: `WO-${key.slice('wo:'.length)}`,
    title: where,
    property_id: ref(`prop:${site.code}`),
    building_id: ref(place.building.key),
    type: typeOf(report, priority, holding !== null, random),
    category: kind.category,
    priority,
    source: isPlanned
      ? 'schedule'
      : isChiller
        ? 'sensor'
        : holding
          ? random.pick(SOURCES)
          : 'inspection',
    reported_at: iso(at),
    is_emergency: priority === 'emergency',
    currency: site.currency,
    ...(subcategory ? { subcategory } : {}),
    ...(parent ? { parent_work_order_id: ref(parent) } : {}),
    ...(isChiller ? { tags: ['equipment:CH-2'] } : {}),
    ...(holding ? tenantFields(holding) : {}),
  }
  const isTenant = holding !== null
  const reported = { at, kind, isPlanned, priority, vendor, isTenant, isLasting: isChiller }
  const later = courseOf(reported, now, random)
  return { key, body: opened, valid_from: at, later }
}

const SOURCES = [
  'tenant_portal',
  'tenant_portal',
  'tenant_portal',
  'email',
  'phone',
  'qr_code',
] as const

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

function priorityOf(
  { isPlanned, kind }: Report,
  subcategory: string | null,
  random: Random,
): Priority {
  if (kind === CHILLER) return 'urgent'
  if (isPlanned) return random.weighted(PLANNED_PRIORITIES)
  if (ALWAYS_URGENT.includes(subcategory)) return subcategory === 'lockout' ? 'urgent' : 'emergency'
  return random.weighted(REPORT_PRIORITIES)
}

function typeOf(
  { isPlanned, kind }: Report,
  priority: Priority,
  isTenant: boolean,
  random: Random,
): string {
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
