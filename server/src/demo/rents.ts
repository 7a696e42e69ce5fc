/** How rents rise, and the schedule of dated steps that follows. */
import type { Row } from '../kit/resource.ts'
import { addDays, addMonths, earlier, yearOf } from './calendar.ts'
import { amount, rate, round, toStep } from './figures.ts'
import type { Growth, TermPlan } from './model.ts'
import type { Random } from './random.ts'
import { SEGMENTS } from './segments.ts'
import type { Site } from './sites.ts'

/** Rise of consumer prices by year, in percent; years that are not listed count 2.5. */
const PRICES: Readonly<Record<number, number>> = {
  2011: 3.2,
  2012: 2.1,
  2013: 1.5,
  2014: 1.6,
  2015: 0.1,
  2016: 1.3,
  2017: 2.1,
  2018: 2.4,
  2019: 1.8,
  2020: 1.2,
  2021: 4.7,
  2022: 8,
  2023: 4.1,
  2024: 2.9,
}

export const CPI_FLOOR = 2
export const CPI_CAP = 5

/** 70 % rise by a fixed percentage, 15 % with the index, 10 % by steps, 5 % not at all. */
export function drawGrowth(site: Site, market: number, random: Random): Growth {
  const method = random.weighted([
    ['fixed_pct', 70],
    ['cpi', 15],
    ['per_area_step', 10],
    ['none', 5],
  ] as const)
  if (method === 'fixed_pct') {
    return { method, value: random.pick([2.5, 2.75, 3, 3, 3, 3.25, 3.5]), months: 12 }
  }
  if (method === 'per_area_step') {
    const step = SEGMENTS[site.segment].rent_step * rentScale(site)
    return { method, value: round(Math.max(step, toStep(market * 0.025, step)), 2), months: 12 }
  }
  return { method, value: 0, months: 12 }
}

/** Anchor stores rise by 8 to 10 % every five years. */
export function anchorGrowth(random: Random): Growth {
  return { method: 'fixed_pct', value: random.pick([8, 10, 10]), months: 60 }
}

interface Step {
  from: string
  to: string | null
  rate: number
  source: 'contract' | 'escalation' | 'amendment'
}

/**
 * Base rent of one term from its rent commencement on. What follows an index is known up to `today` only: its last step
 * stays open to the end of the term.
 */
export function stepsOf(term: TermPlan, source: Step['source'], today: string): Step[] {
  const { growth } = term
  const steps: Step[] = []
  let current = term.rate
  for (let months = 0; ; months += growth.months) {
    const from = months === 0 ? rentStart(term) : addMonths(term.from, months)
    const isOver = term.to !== null && from > term.to
    const isUnknown = months > 0 && (growth.method === 'cpi' || term.to === null) && from > today
    if (isOver || isUnknown || (months > 0 && growth.method === 'none')) break
    if (months > 0) current = risen(current, growth, yearOf(from) - 1)
    const last = steps.at(-1)
    // Free months that reach past the first rise swallow the first step.
    if (last && last.from >= from) {
      last.rate = current
      continue
    }
    if (last) last.to = addDays(from, -1)
    steps.push({ from, to: term.to, rate: current, source: months === 0 ? source : 'escalation' })
  }
  return steps
}

function risen(current: number, growth: Growth, year: number): number {
  if (growth.method === 'per_area_step') return round(current + growth.value, 4)
  const pct = growth.method === 'cpi' ? indexRise(year) : growth.value
  return round(current * (1 + pct / 100), 4)
}

function indexRise(year: number): number {
  return Math.min(CPI_CAP, Math.max(CPI_FLOOR, PRICES[year] ?? 2.5))
}

/** The first day for which rent is due. */
export function rentStart(term: TermPlan): string {
  return addMonths(term.from, term.free_months)
}

/** Rents in euros are per square metre and so about six times those in dollars per square foot. */
export function rentScale(site: Site): number {
  return site.currency === 'EUR' ? 6 : 1
}

/** A rent in the steps in which rents are agreed. */
export function agreed(wanted: number, site: Site): number {
  const step = SEGMENTS[site.segment].rent_step * rentScale(site)
  return round(Math.max(step, toStep(wanted, step)), 4)
}

/** The start rent that has risen to `wanted` by today. */
export function startRate(
  wanted: number,
  { from, growth }: Pick<TermPlan, 'from' | 'growth'>,
  site: Site,
  today: string,
): number {
  let start = wanted
  for (let months = growth.months; growth.method !== 'none'; months += growth.months) {
    const day = addMonths(from, months)
    if (day > today) break
    if (growth.method === 'per_area_step') start -= growth.value
    else start /= 1 + (growth.method === 'cpi' ? indexRise(yearOf(day) - 1) : growth.value) / 100
  }
  return agreed(start, site)
}

/** Rent per area unit and year on a day; null while none is due. */
export function rateOn(terms: readonly TermPlan[], day: string): number | null {
  const term = terms.findLast(({ from }) => from <= day)
  if (!term) return null
  return stepsOf(term, 'contract', day).findLast(({ from }) => from <= day)?.rate ?? null
}

/** The `rent_schedule` of a lease: free months first, then base rent without a break. */
export function scheduleOf(
  terms: readonly TermPlan[],
  areaAt: (day: string) => number,
  today: string,
): Row[] {
  const rows: Row[] = []
  terms.forEach((term, i) => {
    if (term.free_months > 0) {
      const end = addDays(rentStart(term), -1)
      rows.push({
        start_date: term.from,
        end_date: term.to === null ? end : earlier(end, term.to),
        kind: 'free',
        amount_monthly: '0.00',
        amount_annual: '0.00',
        per_area_annual: '0.0000',
        source: i === 0 ? 'contract' : 'amendment',
      })
    }
    const isAmended = i > 0 && term.type !== 'holdover'
    for (const step of stepsOf(term, isAmended ? 'amendment' : 'contract', today)) {
      const annual = step.rate * areaAt(step.from)
      rows.push({
        start_date: step.from,
        end_date: step.to,
        kind: 'base',
        amount_monthly: amount(annual / 12),
        amount_annual: amount(annual),
        per_area_annual: rate(step.rate),
        source: step.source,
      })
    }
  })
  return rows
}
