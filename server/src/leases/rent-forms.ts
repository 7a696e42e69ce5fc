/** One rent in three forms: per month, per year, and per area unit and year. Exact decimals, no floating point. */
import { inEach } from '../kit/checks.ts'
import { divideRounded, formatDecimal, parseDecimal } from '../kit/decimal.ts'
import type { Issue } from '../kit/errors.ts'
import type { Row } from '../kit/resource.ts'

/** Part of the rent that forms may differ by, as one in so many: 0.5 %, for areas and rates that were rounded. */
const TOLERANCE = 200n

const MONTHS = 12n
const AREA_DIGITS = 6
const RATE_DIGITS = 4
/** A rate times an area is this many times an amount in cents. */
const RATE_TIMES_AREA = 10n ** BigInt(AREA_DIGITS + RATE_DIGITS - 2)

/** What of a lease says how much area is let for how much. */
interface Letting {
  rent_schedule: Row[] | null
  premises: Row[] | null
  rentable_area: number | null
}

/** The forms of a step in cents, and of the rate in hundredths of a cent; null where it says nothing. */
interface Forms {
  monthly: bigint | null
  annual: bigint | null
  rate: bigint | null
  /** Millionths of an area unit; null when it is not known or not the same over the whole step. */
  area: bigint | null
}

/** The steps of a lease with the forms that follow from those given. */
export function filledSchedule(lease: Letting): Row[] | null {
  return (
    lease.rent_schedule && lease.rent_schedule.map((step) => filledStep(step, formsOf(step, lease)))
  )
}

function filledStep(step: Row, { monthly, annual, rate, area }: Forms): Row {
  const year = annual ?? (monthly !== null ? monthly * MONTHS : byArea(rate, area))
  if (year === null) return step
  const perArea = area ? divideRounded(year * RATE_TIMES_AREA, area) : null
  return {
    ...step,
    amount_monthly: formatDecimal(monthly ?? divideRounded(year, MONTHS), 2),
    amount_annual: formatDecimal(year, 2),
    per_area_annual:
      rate === null && perArea === null
        ? null
        : formatDecimal((rate ?? perArea) as bigint, RATE_DIGITS),
  }
}

function byArea(rate: bigint | null, area: bigint | null): bigint | null {
  return rate === null || area === null ? null : divideRounded(rate * area, RATE_TIMES_AREA)
}

/** Forms of one step that cannot all be right. */
export function checkForms(lease: Letting): Issue[] {
  return inEach(lease.rent_schedule, 'rent_schedule', (step, at) => {
    const { monthly, annual, rate, area } = formsOf(step, lease)
    const issues: Issue[] = []
    // A month rounded to the cent is a year up to twelve cents off.
    if (monthly !== null && annual !== null && differ(monthly * MONTHS, annual, MONTHS)) {
      const message = `is not a twelfth of amount_annual (${String(step['amount_annual'])})`
      issues.push({ field: `${at}amount_monthly`, code: 'contradiction', message })
    }
    const year = annual ?? (monthly === null ? null : monthly * MONTHS)
    const byRate = byArea(rate, area)
    if (year !== null && byRate !== null && differ(byRate, year, MONTHS)) {
      const message = `times the area of the step is ${formatDecimal(byRate, 2)} per year, not ${formatDecimal(year, 2)}`
      issues.push({ field: `${at}per_area_annual`, code: 'contradiction', message })
    }
    return issues
  })
}

function differ(a: bigint, b: bigint, cents: bigint): boolean {
  const off = a > b ? a - b : b - a
  return off > cents && off * TOLERANCE > (b < 0n ? -b : b)
}

function formsOf(step: Row, lease: Letting): Forms {
  return {
    monthly: parseDecimal(step['amount_monthly'], 2),
    annual: parseDecimal(step['amount_annual'], 2),
    rate: parseDecimal(step['per_area_annual'], RATE_DIGITS),
    area: parseDecimal(areaOf(step, lease), AREA_DIGITS) || null,
  }
}

/** The area that a step is for: of its spaces, else of all premises, else of the lease. */
function areaOf(step: Row, lease: Letting): number | null {
  const spaces = (step['space_ids'] as string[] | null) ?? []
  const premises = lease.premises ?? []
  const items =
    spaces.length > 0 ? premises.filter((p) => spaces.includes(String(p['space_id']))) : premises
  const held = items.filter((item) => overlaps(item, step))
  if (spaces.length === 0 && items.length <= 1 && held[0]?.['rentable_area'] == null)
    return lease.rentable_area
  // Space that is taken on or given back during the step has no one area.
  const isOne = held.length > 0 && held.every((item) => covers(item, step))
  const areas = held.map((item) => item['rentable_area'] as number | null)
  if (!isOne || areas.some((area) => area === null)) return null
  return areas.reduce<number>((sum, area) => sum + (area ?? 0), 0)
}

function overlaps({ from_date, to_date }: Row, { start_date, end_date }: Row): boolean {
  return (
    String(from_date ?? '') <= String(end_date ?? '~') &&
    String(start_date ?? '') <= String(to_date ?? '~')
  )
}

function covers({ from_date, to_date }: Row, { start_date, end_date }: Row): boolean {
  const isOpen = end_date === null || end_date === undefined
  return (
    String(from_date ?? '') <= String(start_date ?? '') &&
    (isOpen || String(to_date ?? '~') >= String(end_date))
  )
}
