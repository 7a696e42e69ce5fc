/** Which spaces are let today, for how long and at what rent: leases without their tenants. */
import { SQM_PER_SQFT } from '../kit/vocabulary.ts'
import { addDays, addMonths, daysBetween, firstOfMonth, monthEnd } from './calendar.ts'
import { sum } from './figures.ts'
import { areaOf, lastTerm } from './model.ts'
import type { Calendar, LeasePlan, SpacePlan, TermPlan } from './model.ts'
import type { Random } from './random.ts'
import { agreed, anchorGrowth, drawGrowth, rentScale, rentStart, startRate } from './rents.ts'
import { EXPIRATIONS_PCT, SEGMENTS } from './segments.ts'
import type { SegmentTable } from './segments.ts'
import { CLIFF_SITE } from './sites.ts'

/** Shares of the leases that run on after their end. */
const MONTH_TO_MONTH = 0.04
const HOLDOVER = 0.02
/** Rent after the end of the term, in percent of the last rent. */
export const HOLDOVER_PCT = 150
/** Share of the leases that were prolonged. */
const EXTENDED = 0.3
/** Share of the leases that took a neighbouring suite. */
const EXPANDED = 0.035
/** Share of the leases whose rent was lowered for a longer term or after a bad year. */
const MODIFIED = 0.04
/** Share of the leases with an amendment on something else. */
const OTHERWISE_AMENDED = 0.36

const OTHER_AMENDMENTS = [
  'Changes the notice address of the tenant.',
  'Grants ten more parking passes at the rate of the building.',
  'Adds a right to a sign on the monument.',
  'Corrects the description of the premises in Exhibit A.',
  'Consents to a sublease of a part of the premises.',
] as const

const ANCHOR_TERMS = [
  [120, 35],
  [180, 35],
  [240, 30],
] as const

/** Spaces of one segment and one currency, split by whether a lease that has begun holds them. */
export function splitByOccupancy(
  spaces: readonly SpacePlan[],
  random: Random,
): { occupied: SpacePlan[]; vacant: SpacePlan[] } {
  const first = (spaces[0] as SpacePlan).building.site
  const total = sum(spaces.map(({ area }) => area))
  const wanted = total * (1 - SEGMENTS[first.segment].occupancy_pct / 100)
  const unfinished = spaces.filter(({ building }) => building.site.status === 'development')
  const median = spaces.map(({ area }) => area).toSorted((a, b) => a - b)[spaces.length >> 1] ?? 0
  const candidates = spaces.filter(
    (space) => !space.isAnchor && !unfinished.includes(space) && space.area < median * 6,
  )
  const left = wanted - sum(unfinished.map(({ area }) => area))
  const vacant = new Set([...unfinished, ...nearest(candidates, left, random)])
  return {
    occupied: spaces.filter((space) => !vacant.has(space)),
    vacant: spaces.filter((space) => vacant.has(space)),
  }
}

/** A random choice of spaces whose areas come near the wanted sum. */
function nearest(spaces: readonly SpacePlan[], wanted: number, random: Random): SpacePlan[] {
  let best: SpacePlan[] = []
  let bestMiss = Math.max(wanted, 0)
  for (let attempt = 0; attempt < 60; attempt++) {
    const chosen: SpacePlan[] = []
    let left = wanted
    for (const space of random.shuffledBy(spaces, ({ area }) => area)) {
      if (space.area > left * 1.02) continue
      chosen.push(space)
      left -= space.area
    }
    if (Math.abs(left) < bestMiss) {
      best = chosen
      bestMiss = Math.abs(left)
    }
  }
  return best
}

/** The leases that hold the occupied spaces of one segment and one currency today. */
export function runningLeases(
  { occupied, vacant }: { occupied: readonly SpacePlan[]; vacant: readonly SpacePlan[] },
  calendar: Calendar,
  random: Random,
): LeasePlan[] {
  const pairs = pairUp(occupied, random)
  const leases = pairs.map((spaces) => blankLease(spaces, random))
  // Rounding to whole floors can move the sizes a little, so the lease that ends next year is known by its rank.
  const bySize = leases.toSorted((a, b) => areaOf(b) - areaOf(a))
  const cliff = bySize.slice(0, 3).findLast(({ site }) => site.code === CLIFF_SITE)
  if (cliff && areaOf(cliff) > 100_000) cliff.isCliff = true
  const small = random.shuffled(bySize.slice(Math.ceil(bySize.length / 2)).filter(isPlain))
  const open = small.slice(0, Math.round(leases.length * MONTH_TO_MONTH))
  const held = small.slice(open.length).slice(0, Math.round(leases.length * HOLDOVER))
  const dated = leases.filter((lease) => !open.includes(lease) && !held.includes(lease))
  const table = SEGMENTS[(leases[0] as LeasePlan).site.segment]
  // Leases that run on have no years left and count all the same.
  const average = (table.walt_years * sum(leases.map(marketRent))) / sum(dated.map(marketRent))
  const years = remainingYears(dated, average, random)
  for (const lease of dated) {
    setTerms(lease, years.get(lease) ?? 1, calendar)
    amend(lease, calendar)
    beginRent(lease, calendar)
  }
  for (const lease of [...open, ...held]) setRunOn(lease, open.includes(lease), calendar)
  const factor = setRents(leases, table, calendar)
  for (const space of vacant) space.market *= factor
  for (const lease of leases) spreadPremises(lease, calendar)
  return leases
}

const isPlain = (lease: LeasePlan): boolean =>
  lease.premises.length === 1 && lease.premises.every(({ space }) => !space.isAnchor)

/** Mostly one space per lease; now and then two on the same floor. */
function pairUp(spaces: readonly SpacePlan[], random: Random): SpacePlan[][] {
  const rest = new Set(spaces)
  const pairs: SpacePlan[][] = []
  const wanted = Math.round(spaces.length * EXPANDED)
  for (const space of random.shuffled(spaces)) {
    if (pairs.length === wanted) break
    if (!rest.has(space) || space.isAnchor || space.building.site.segment === 'industrial') continue
    const near = [...rest].find(
      (other) => other !== space && !other.isAnchor && other.floors[0] === space.floors[0],
    )
    if (!near) continue
    pairs.push([space, near])
    rest.delete(space)
    rest.delete(near)
  }
  return [...pairs, ...[...rest].map((space) => [space])]
}

export function blankLease(spaces: readonly SpacePlan[], random: Random, label = ''): LeasePlan {
  const { building, key } = spaces[0] as SpacePlan
  return {
    key: '',
    number: '',
    site: building.site,
    building,
    premises: spaces.map((space) => ({ space, area: space.area, from: '', to: null })),
    tenant: { key: '', legal_name: '', industry: 'professional', status: 'active' },
    status: 'active',
    terms: [],
    amendments: [],
    random: random.fork(`${key}${label}`),
  }
}

/** Years that leases have left, so that the rent falls due over the years as it should and the average comes out. */
function remainingYears(
  leases: readonly LeasePlan[],
  average: number,
  random: Random,
): Map<LeasePlan, number> {
  const total = sum(leases.map(marketRent))
  const due = sum(EXPIRATIONS_PCT)
  const missing: number[] = EXPIRATIONS_PCT.map((pct) => (pct / due) * total)
  const years = new Map<LeasePlan, number>()
  // Large leases first: each goes where the most rent is still missing, the largest not into the next years.
  const bySize = leases.toSorted((a, b) => marketRent(b) - marketRent(a))
  const cliff = leases.filter((lease) => lease.isCliff)
  for (const lease of [...cliff, ...bySize.filter((l) => !l.isCliff)]) {
    const first = lease === bySize[0] ? 6 : 0
    const last = longest(lease)
    const choices = missing.map(
      (rent, year) => [year, year < first || year >= last ? 0 : Math.max(rent, 1) ** 2] as const,
    )
    const year = lease.isCliff ? 1 : random.weighted(choices)
    missing[year] = (missing[year] ?? 0) - marketRent(lease)
    const isLast = year === missing.length - 1
    years.set(lease, year + random.next() * (isLast ? 6 : 1))
  }
  for (let round = 0; round < 4; round++) {
    const mean = sum(leases.map((l) => marketRent(l) * (years.get(l) ?? 0))) / total
    for (const lease of leases) {
      const scaled = ((years.get(lease) ?? 0) * average) / mean
      years.set(lease, lease.isCliff ? 14 / 12 : Math.min(Math.max(scaled, 0.05), longest(lease)))
    }
  }
  return years
}

/** Years that a lease has left at most: small tenants do not sign for long. */
function longest({ premises, site }: LeasePlan): number {
  const { median, p90 } = SEGMENTS[site.segment].suite
  const area = sum(premises.map((p) => p.area)) / (site.area_unit === 'sqm' ? SQM_PER_SQFT : 1)
  if (premises.some(({ space }) => space.isAnchor)) return 18
  return area < median ? 6.8 : area < p90 ? 9.8 : 15.5
}

function marketRent({ premises }: LeasePlan): number {
  return sum(premises.map(({ space, area }) => space.market * area))
}

function setTerms(lease: LeasePlan, years: number, calendar: Calendar): void {
  const random = lease.random.fork('terms')
  const months = Math.max(0, Math.round(years * 12 - 0.3))
  const to = monthEnd(calendar.start, lease.isCliff ? 14 : months)
  const terms = lease.premises.some(({ space }) => space.isAnchor)
    ? ANCHOR_TERMS
    : SEGMENTS[lease.site.segment].terms
  const extension = random.chance(EXTENDED) ? random.pick([36, 60, 60, 84]) : 0
  const oldEnd = monthEnd(to, -extension)
  const effective = firstOfMonth(oldEnd, -random.int(4, 10))
  if (extension > 0 && effective < addDays(calendar.start, -20)) {
    const length = random.weighted(terms)
    lease.terms = [newTerm(lease, firstOfMonth(oldEnd, 1 - length), oldEnd)]
    extend(lease, effective, to)
    return
  }
  // A lease that has begun was signed for longer than it has left.
  const possible = terms.filter(([term]) => term >= months + 2)
  const length = possible.length > 0 ? random.weighted(possible) : Math.ceil((months + 2) / 12) * 12
  lease.terms = [newTerm(lease, firstOfMonth(to, 1 - length), to)]
}

/** Most of the leases that have begun are past their free months: of the others, two thirds had fewer of them. */
function beginRent(lease: LeasePlan, { start }: Calendar): void {
  const term = lastTerm(lease)
  if (term.from > start || rentStart(term) <= start || lease.random.fork('free').chance(0.34))
    return
  while (rentStart(term) > start) term.free_months--
}

/** The original term; signed some months before, with free months at its beginning. */
export function newTerm(lease: LeasePlan, from: string, to: string): TermPlan {
  const random = lease.random.fork('new term')
  const { free_months } = SEGMENTS[lease.site.segment]
  const years = daysBetween(from, to) / 365.25
  const executed = addDays(from, -random.int(45, 190))
  return {
    type: 'new',
    known: executed,
    from,
    to,
    executed,
    rate: 0,
    growth: growthOf(lease, random),
    free_months: random.chance(0.75) ? Math.round((years / 5) * free_months * random.next()) : 0,
  }
}

function growthOf(lease: LeasePlan, random: Random): TermPlan['growth'] {
  const space = lease.premises[0]?.space as SpacePlan
  // A space joins the lease on a day on which the rent rises, so there has to be one each year.
  if (lease.premises.length > 1) return { method: 'fixed_pct', value: 3, months: 12 }
  return space.isAnchor ? anchorGrowth(random) : drawGrowth(lease.site, space.market, random)
}

function extend(lease: LeasePlan, effective: string, to: string): void {
  const random = lease.random.fork('extension')
  const executed = addDays(effective, -random.int(3, 35))
  const from = addDays(lastTerm(lease).to as string, 1)
  const free_months = random.chance(0.4) ? random.int(1, 3) : 0
  const growth = growthOf(lease, random)
  lease.terms.push({
    type: 'extension',
    known: effective,
    from,
    to,
    executed,
    rate: 0,
    growth,
    free_months,
  })
  lease.amendments.push({ kind: 'extension', effective, executed, title: '' })
}

/** Amendments that leave the end of the term alone. */
function amend(lease: LeasePlan, { start }: Calendar): void {
  const random = lease.random.fork('amend')
  const first = lease.terms[0] as TermPlan
  const last = lastTerm(lease)
  const draw = random.next()
  const years = Math.floor(daysBetween(first.from, start) / 365.25)
  if (lease.isCliff || years < 2) return
  const modified = addMonths(first.from, 12 * random.int(1, years - 1))
  if (draw < MODIFIED && lease.terms.length === 1 && lease.premises.length === 1) {
    const executed = addDays(modified, -random.int(5, 40))
    lease.terms.push({
      ...last,
      type: 'modification',
      known: modified,
      from: modified,
      executed,
      free_months: 0,
    })
    lease.amendments.push({ kind: 'rent_modification', effective: modified, executed, title: '' })
  } else if (draw > 1 - OTHERWISE_AMENDED) {
    const effective = addDays(first.from, random.int(90, years * 365))
    const title = random.pick(OTHER_AMENDMENTS)
    lease.amendments.push({
      kind: 'other',
      effective,
      executed: addDays(effective, -random.int(0, 20)),
      title,
    })
  }
}

/** A lease past its end: by agreement from month to month, or against the will of the landlord. */
function setRunOn(lease: LeasePlan, isOpen: boolean, calendar: Calendar): void {
  const random = lease.random.fork('run on')
  const ended = monthEnd(calendar.start, isOpen ? -random.int(3, 20) : -random.int(1, 4))
  const length = random.weighted(SEGMENTS[lease.site.segment].terms)
  const first = newTerm(lease, firstOfMonth(ended, 1 - length), ended)
  const from = addDays(ended, 1)
  const growth = { method: 'none', value: 0, months: 12 } as const
  const second: TermPlan = {
    ...first,
    type: 'holdover',
    known: from,
    from,
    to: null,
    executed: '',
    growth,
    free_months: 0,
  }
  lease.terms = [first, second]
  if (isOpen) lease.is_month_to_month = true
  else lease.status = 'holdover'
}

/**
 * Rents in place lie below or above the market as is usual for the segment, and together come to its table.
 * @returns by what the market had to be moved for that.
 */
function setRents(leases: readonly LeasePlan[], table: SegmentTable, calendar: Calendar): number {
  const scale = rentScale((leases[0] as LeasePlan).site)
  const [low, high] = table.rents.map((rent) => rent * scale) as [number, number]
  const gaps = new Map(
    leases.map((l) => [l, l.random.fork('market').between(...table.mark_to_market) / 100]),
  )
  const wanted = (lease: LeasePlan, factor: number): number => {
    const { space } = lease.premises[0] as LeasePlan['premises'][number]
    const rent = space.market / (1 + (gaps.get(lease) ?? 0))
    return space.isAnchor ? rent : Math.min(Math.max(rent * factor, low), high)
  }
  const area = sum(leases.map(areaOf))
  let factor = 1
  for (let round = 0; round < 6; round++) {
    const mean = sum(leases.map((l) => wanted(l, factor) * areaOf(l))) / area
    factor *= (table.in_place * scale) / mean
  }
  for (const lease of leases) {
    const rent = wanted(lease, factor)
    for (const { space } of lease.premises) space.market = rent * (1 + (gaps.get(lease) ?? 0))
    priceTerms(lease, rent, calendar)
  }
  return factor
}

/** Sets the start rent of every term so that the rent today is `rent`. */
export function priceTerms(lease: LeasePlan, rent: number, { start }: Calendar): void {
  const { terms, site } = lease
  const random = lease.random.fork('price')
  terms.forEach((term, i) => {
    const next = terms[i + 1]
    const years = daysBetween(term.from, start) / 365.25
    if (term.type === 'holdover') {
      const last = agreed(rent, site)
      term.rate = lease.is_month_to_month ? last : (last * HOLDOVER_PCT) / 100
    } else if (term.from > start) {
      term.rate = agreed(rent * 1.03 ** -years * random.between(0.98, 1.06), site)
    } else if (!next || next.from > start || next.type === 'holdover') {
      term.rate = startRate(rent, term, site, start)
    } else if (next.type === 'modification') {
      // Given after a hard year: the rent was higher before.
      term.rate = agreed(startRate(rent, next, site, start) * random.between(1.06, 1.15), site)
    } else {
      term.rate = agreed(rent * 0.97 ** years * random.between(0.95, 1.05), site)
    }
  })
}

/** The second space of a lease joined on a day on which the rent rises, as an expansion. */
function spreadPremises(lease: LeasePlan, { start }: Calendar): void {
  const first = lease.terms[0] as TermPlan
  const years = Math.floor(daysBetween(first.from, start) / 365.25)
  for (const [i, premises] of lease.premises.entries()) {
    const joined =
      i > 0 && years > 0
        ? addMonths(first.from, 12 * lease.random.fork('join').int(1, years))
        : first.from
    premises.from = joined
    if (joined === first.from || joined > start) continue
    const executed = addDays(joined, -40)
    lease.amendments.push({ kind: 'expansion', effective: joined, executed, title: '' })
  }
  lease.amendments.sort((a, b) => (a.effective < b.effective ? -1 : 1))
}
