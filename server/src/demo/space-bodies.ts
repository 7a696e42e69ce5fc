/** Bodies of spaces: what is let, what is offered, and at what rent. */
import type { Row } from '../kit/resource.ts'
import { addDays, addMonths, firstOfMonth, instantOf } from './calendar.ts'
import { rate, round, toStep } from './figures.ts'
import { isRunning, lastTerm, ref } from './model.ts'
import type { Calendar, Draft, LeasePlan, SpacePlan } from './model.ts'
import { standardOf } from './properties.ts'
import type { Random } from './random.ts'
import { rentScale } from './rents.ts'
import { SEGMENTS } from './segments.ts'
import { acquiredOn } from './sites.ts'

/** @param leases every lease of the space, past, running and signed. */
export function spaceDraft(
  space: SpacePlan,
  leases: readonly LeasePlan[],
  calendar: Calendar,
  random: Random,
): Draft {
  const { building, floors, area, market } = space
  const { site } = building
  const { load_factor, recovery } = SEGMENTS[site.segment]
  const usable = area / (load_factor * random.between(0.985, 1.015))
  const body: Row = {
    building_id: ref(building.key),
    floor_ids: floors.map(({ key }) => ref(key)),
    suite: space.suite,
    space_type: space.type,
    area_unit: site.area_unit,
    currency: site.currency,
    rentable_area: area,
    usable_area: Math.min(area, round(usable, 0)),
    measurement_standard: standardOf(site),
    market_rent_per_area: rate(market),
    asking_rent_basis: site.currency === 'EUR' ? 'nnn' : recovery[0]?.[0],
    ...offerOf(space, leases, calendar, random.fork('offer')),
  }
  const valid_from = instantOf(acquiredOn(space.building.site, calendar))
  return { key: space.key, body, valid_from }
}

const NOT_OFFERED = { availability_type: 'not_available', is_listed: false }

/** Whether and from when the space is to be had. */
function offerOf(
  space: SpacePlan,
  leases: readonly LeasePlan[],
  { start }: Calendar,
  random: Random,
): Row {
  const running = leases.find(isRunning)
  if (leases.some(({ status }) => status === 'executed')) return NOT_OFFERED
  if (running?.is_month_to_month)
    return { ...askingOf(space, random), availability_type: 'month_to_month' }
  const { site } = space.building
  if (running) {
    const { to } = lastTerm(running)
    const endsSoon = to !== null && to < addMonths(start, 7) && running.status === 'active'
    if (!endsSoon || !random.chance(0.4)) return NOT_OFFERED
    const available_date = firstOfMonth(to, 2)
    return { ...askingOf(space, random), availability_type: 'specified', available_date }
  }
  if (site.status === 'development') {
    const available_date = firstOfMonth(start, 8)
    const condition = 'under_construction'
    return { ...askingOf(space, random), availability_type: 'specified', available_date, condition }
  }
  const ends = leases.flatMap(({ terms }) => terms.map(({ to }) => to ?? start))
  const last = ends.reduce((a, b) => (a > b ? a : b), addMonths(start, -30))
  const available_date = last < start ? addDays(last, 30) : firstOfMonth(start)
  return { ...askingOf(space, random), availability_type: 'immediate', available_date }
}

function askingOf({ area, market, building, type }: SpacePlan, random: Random): Row {
  const step = SEGMENTS[building.site.segment].rent_step * rentScale(building.site)
  const isOffice = type === 'office'
  return {
    is_listed: true,
    asking_rent_per_area: rate(Math.max(step, toStep(market * random.between(1, 1.08), step))),
    condition: isOffice
      ? random.pick(['second_generation', 'second_generation', 'spec_suite', 'white_box'])
      : random.pick(['second_generation', 'white_box', 'shell']),
    min_divisible_area: area > 6_000 ? toStep(area / 2, 10) : area,
    max_contiguous_area: area,
  }
}
