/** What a lease says about money besides rent: recoveries, charges, deposits, concessions, sales rent. */
import type { Row } from '../kit/resource.ts'
import { addDays, addMonths, daysBetween, later, monthEnd, yearOf } from './calendar.ts'
import { BROKERS, GUARANTORS, OWNER } from './counterparties.ts'
import { amount, rate, round, sum, toStep } from './figures.ts'
import { areaOn } from './lease-states.ts'
import type { LeaseState } from './lease-states.ts'
import { ref } from './model.ts'
import type { LeasePlan, TermPlan } from './model.ts'
import { displayName } from './names.ts'
import { entityOf } from './sites.ts'
import { CPI_CAP, CPI_FLOOR, rateOn, rentScale, rentStart } from './rents.ts'
import { SEGMENTS } from './segments.ts'

const GL_ACCOUNTS = { cam: '4510-000', tax: '4520-000', insurance: '4530-000' } as const

export function recoveryType({ lease }: LeaseState): string {
  if (lease.site.currency === 'EUR') return 'nnn'
  const type = lease.random.fork('recovery').weighted(SEGMENTS[lease.site.segment].recovery)
  // Only who has a building for himself pays for all of it.
  const isWhole = lease.premises[0]?.space.area === lease.building.area
  return type === 'absolute_net' && !isWhole ? 'nnn' : type
}

/** Operating costs of the property per area unit and year. */
function costsOf({ site }: LeasePlan): { cam: number; tax: number; insurance: number } {
  const { cam, tax, insurance } = SEGMENTS[site.segment].costs
  // Costs differ from place to place with the rents; a square metre has eleven square feet, but no US taxes.
  const level = 0.75 + 0.25 * (site.rent / (SEGMENTS[site.segment].in_place * rentScale(site)))
  const factor = level * (site.currency === 'EUR' ? 3.4 : 1)
  return { cam: cam * factor, tax: tax * factor, insurance: insurance * factor }
}

export function recoveriesOf(state: LeaseState, share: number): Row[] {
  const { lease, commencement, calendar } = state
  const type = recoveryType(state)
  const own = lease.random.fork('recoveries')
  const base_year = yearOf(commencement)
  const last_reconciled_year =
    yearOf(calendar.start) - 1 > base_year ? yearOf(calendar.start) - 2 : null
  const costs = costsOf(lease)
  const area = areaOn(lease, state.day)
  const pro_rata_share_pct = share
  if (type === 'full_service') return []
  if (type === 'base_year' || type === 'modified_gross') {
    const gross_up_pct = lease.site.segment === 'retail' ? null : 95
    const stop = type === 'modified_gross' && own.chance(0.4)
    const above = stop
      ? { method: 'expense_stop', expense_stop_per_area: rate(toStep(costs.cam + costs.tax, 0.25)) }
      : { method: 'base_year', base_year }
    return ['cam', 'real_estate_tax'].map((category) => {
      return { category, ...above, pro_rata_share_pct, gross_up_pct, last_reconciled_year }
    })
  }
  const capped = own.chance(lease.site.segment === 'industrial' ? 0.2 : 0.45)
  const cap = capped
    ? { cap_pct: own.pick([4, 5, 5, 6]), cap_type: own.pick(['cumulative', 'non_cumulative']) }
    : {}
  const admin = own.chance(0.5) ? { admin_fee_pct: own.pick([5, 10, 15]) } : {}
  const estimate = (cost: number): string => amount((cost * area) / 12)
  const common = { method: 'pro_rata', pro_rata_share_pct, last_reconciled_year }
  return [
    { category: 'cam', ...common, ...cap, ...admin, estimate_monthly: estimate(costs.cam) },
    { category: 'real_estate_tax', ...common, estimate_monthly: estimate(costs.tax) },
    { category: 'insurance', ...common, estimate_monthly: estimate(costs.insurance) },
  ]
}

/** What is billed each month besides rent: the estimates of triple-net leases, for the running year. */
export function chargesOf(state: LeaseState): Row[] {
  const { lease, calendar, commencement, status } = state
  if (!['active', 'holdover'].includes(status) || recoveryType(state) !== 'nnn') return []
  const costs = costsOf(lease)
  const area = areaOn(lease, state.day)
  const year = yearOf(calendar.start)
  const taxed =
    lease.site.currency === 'EUR' ? { is_taxable: true, tax_rate_pct: 19 } : { is_taxable: false }
  return (['cam', 'tax', 'insurance'] as const).map((category) => ({
    charge_code: { cam: 'CAM', tax: 'RET', insurance: 'INS' }[category],
    description: {
      cam: 'CAM estimate',
      tax: 'Real estate tax estimate',
      insurance: 'Insurance estimate',
    }[category],
    category,
    amount: amount((costs[category] * area) / 12),
    frequency: 'monthly',
    start_date: later(`${year}-01-01`, commencement),
    end_date: `${year}-12-31`,
    gl_account: GL_ACCOUNTS[category],
    ...taxed,
  }))
}

export function escalationsOf({ lease, terms, calendar }: LeaseState): Row[] {
  return terms.flatMap((term): Row[] => {
    const { growth } = term
    if (term.type === 'holdover') return []
    const rule = {
      method: growth.method,
      frequency_months: growth.method === 'none' ? null : growth.months,
      first_date: growth.method === 'none' ? null : addMonths(term.from, growth.months),
    }
    if (growth.method !== 'cpi')
      return [{ ...rule, value: growth.method === 'none' ? null : growth.value }]
    const base_index_date = addMonths(term.from, -2)
    return [
      {
        ...rule,
        index_name:
          lease.site.currency === 'EUR' ? 'Verbraucherpreisindex' : 'CPI-U, U.S. city average',
        base_index_value: round(
          256 * 1.031 ** (daysBetween('2020-01-01', base_index_date) / 365.25),
          1,
        ),
        base_index_date: base_index_date > calendar.start ? null : base_index_date,
        floor_pct: CPI_FLOOR,
        cap_pct: CPI_CAP,
        pass_through_pct: 100,
        is_upward_only: true,
      },
    ]
  })
}

/** Small tenants leave cash, large ones a letter of credit that is reduced over the years. */
export function depositsOf(state: LeaseState): Row[] {
  const { lease, calendar } = state
  const own = lease.random.fork('deposit')
  const first = state.terms[0] as TermPlan
  const monthly = (first.rate * areaOn(lease, first.from)) / 12
  const held_by = entityOf(lease.site)
  if (!own.chance(0.7)) return []
  if (monthly < 45_000) {
    const months = own.pick([1, 1, 2])
    const refunded = state.ended !== null
    const total = amount(toStep(monthly * months, 50))
    return [
      {
        type: 'cash',
        amount: total,
        held_by,
        interest_bearing: false,
        refunded_amount: refunded ? total : '0.00',
      },
    ]
  }
  const total = toStep(monthly * own.pick([3, 4, 6]), 1_000)
  const burn_down = [36, 60].map((months, i) => ({
    date: addMonths(first.from, months),
    amount: amount(toStep(total * [0.66, 0.33][i]!, 1_000)),
  }))
  // Letters of credit renew themselves each year; the demo has one that does not and runs out soon.
  const yearEnd = monthEnd(`${yearOf(calendar.start)}-12-01`)
  return [
    {
      type: 'letter_of_credit',
      amount: amount(total),
      held_by,
      lc_issuer: own.pick([
        'Evergreen Harbor Bank NA',
        'Fairwater Trust Bank',
        'Bank of Linden Valley',
      ]),
      lc_expiry_date: own.chance(0.85)
        ? addMonths(yearEnd, own.pick([0, 6, 12]))
        : addDays(calendar.start, 75),
      evergreen: own.chance(0.8),
      burn_down: own.chance(0.5) ? burn_down : null,
    },
  ]
}

export interface Concessions {
  concessions: Row | null
  ti_allowance: string | null
  commission_total: string | null
  free_rent_months: number
}

export function concessionsOf({ lease, terms, calendar, status }: LeaseState): Concessions {
  const free_rent_months = sum(terms.map((term) => term.free_months))
  const first = terms[0] as TermPlan
  const own = lease.random.fork('concessions')
  const area = areaOn(lease, first.from)
  const years = first.to ? daysBetween(first.from, first.to) / 365.25 : 3
  const perArea =
    toStep(SEGMENTS[lease.site.segment].ti_per_year * years * own.between(0.5, 1.2), 1) *
    rentScale(lease.site)
  const ti = perArea * area
  const isPaid = first.from < calendar.start && status !== 'draft'
  const rent = first.rate * area * Math.min(years, 10)
  const sides = own.chance(0.65) ? (['landlord', 'tenant'] as const) : (['landlord'] as const)
  const commissions = sides.map((side) => ({
    party_id: ref(side === 'landlord' ? BROKERS[0] : own.pick(BROKERS.slice(1))),
    side,
    basis: 'pct_of_rent',
    amount: amount(toStep(rent * (side === 'landlord' ? 0.02 : 0.04), 1)),
  }))
  const free_rent = terms
    .filter((term) => term.free_months > 0)
    .map((term) => ({
      start_date: term.from,
      end_date: addDays(rentStart(term), -1),
      abatement_pct: 100,
    }))
  return {
    concessions: {
      free_rent,
      ti_allowance_per_area: perArea > 0 ? rate(perArea) : null,
      ti_paid: isPaid && perArea > 0 ? amount(ti) : null,
      commissions,
    },
    ti_allowance: perArea > 0 ? amount(ti) : null,
    commission_total: amount(sum(commissions.map((c) => Number(c.amount)))),
    free_rent_months,
  }
}

/** Rent on the sales of shops, with what they reported for the last two years. */
export function percentageRentOf(state: LeaseState): Row | null {
  const { lease, calendar, commencement, status } = state
  const { segment } = lease.site
  const own = lease.random.fork('sales')
  const isShop =
    segment === 'retail' && ['retail', 'food', 'grocery'].includes(lease.tenant.industry)
  if (!isShop || !own.chance(0.6)) return null
  const rate_pct = lease.tenant.industry === 'grocery' ? 1.5 : own.pick([5, 6, 6, 7])
  const annual =
    (rateOn(state.terms, later(calendar.start, commencement)) ?? lease.terms[0]!.rate) *
    areaOn(lease, state.day)
  const breakpoint = annual / (rate_pct / 100)
  const year = yearOf(calendar.start)
  const years =
    status === 'active' ? [year - 2, year - 1].filter((y) => `${y}-01-01` >= commencement) : []
  const level = own.between(0.78, 1.18)
  return {
    rate_pct,
    breakpoint_type: 'natural',
    breakpoint_amount: amount(toStep(breakpoint, 1_000)),
    sales_report_frequency: own.pick(['annual', 'quarterly']),
    tenant_sales: years.map((y, i) => ({
      period_start_date: `${y}-01-01`,
      period_end_date: `${y}-12-31`,
      gross_sales: amount(toStep(breakpoint * level * (1 + i * own.between(-0.06, 0.08)), 100)),
    })),
  }
}

export function insuranceOf({ lease }: LeaseState): Row[] {
  const isLarge = areaOn(lease, '9999-12-31') > 20_000
  const general = {
    coverage_type: 'general_liability',
    min_amount: isLarge ? '3000000.00' : '2000000.00',
    additional_insured: true,
    waiver_of_subrogation: true,
  }
  const umbrella = { coverage_type: 'umbrella', min_amount: '5000000.00', additional_insured: true }
  return isLarge ? [general, umbrella] : [general]
}

/** Guarantors of small shops, brokers, and counsel that gets copies of notices. */
export function partiesOf({ lease, commencement }: LeaseState): Row[] {
  const own = lease.random.fork('parties')
  const from_date = commencement
  const isShop =
    ['food', 'retail'].includes(lease.tenant.industry) && areaOn(lease, commencement) < 6_000
  const guaranty = {
    type: own.pick(['full', 'limited', 'good_guy']),
    cap_amount: null,
    burn_off_date: addMonths(from_date, 36),
  }
  const guarantor = {
    party_id: ref(`pty:g${own.int(1, GUARANTORS)}`),
    role: 'guarantor',
    from_date,
    guaranty,
  }
  return [
    ...(isShop && lease.site.currency === 'USD' && own.chance(0.4) ? [guarantor] : []),
    { party_id: ref(OWNER), role: 'landlord', from_date },
    ...(areaOn(lease, commencement) > 30_000
      ? [{ party_id: ref('pty:counsel'), role: 'notice_copy', from_date }]
      : []),
  ]
}

export function permittedUse({ lease }: LeaseState): string {
  const name = displayName(lease.tenant.legal_name)
  switch (lease.site.segment) {
    case 'industrial':
      return 'Warehousing, distribution and light assembly, with offices that belong to it.'
    case 'retail':
      return lease.tenant.industry === 'food'
        ? `Restaurant under the name ${name}, with service on the terrace in season.`
        : `Retail sale and services under the name ${name}, and for no other purpose.`
    case 'medical':
      return 'Medical offices, diagnostics and laboratories as the zoning permits.'
    case 'cbd_office':
    case 'suburban_office':
    case 'mixed':
      return 'General and administrative offices, and no other use.'
  }
}
