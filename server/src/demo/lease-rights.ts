/** Rights, deadlines and amendments of a lease. */
import type { Row } from '../kit/resource.ts'
import { addDays, addMonths, daysBetween, yearOf } from './calendar.ts'
import { amount, rate, toStep } from './figures.ts'
import { recoveryType } from './lease-money.ts'
import { areaOn, presentOf } from './lease-states.ts'
import type { LeaseState } from './lease-states.ts'
import { ref } from './model.ts'
import type { AmendmentPlan, TermPlan } from './model.ts'
import { amendmentKey } from './document-keys.ts'
import { rentScale } from './rents.ts'

/** Shares of leases with a right; three in ten terms are too short to be ended early. */
const RENEWAL = 0.62
const TERMINATION = 0.17
const GROWTH = 0.18
const PURCHASE = 0.01

export function optionsOf(state: LeaseState): Row[] {
  const { lease, isOpen } = state
  const own = lease.random.fork('options')
  const [renewal, termination, growth, purchase] = [own.next(), own.next(), own.next(), own.next()]
  const isAnchor = lease.premises.some(({ space }) => space.isAnchor)
  const options: Row[] = []
  const extended = state.terms.find(({ type }) => type === 'extension')
  if (extended) options.push(usedOption(state, extended))
  if (!isOpen && (renewal < RENEWAL || isAnchor || lease.isCliff))
    options.push(renewalOption(state))
  if (!isOpen && !isAnchor && !lease.isCliff && termination < TERMINATION)
    options.push(...terminationOption(state))
  if (growth < GROWTH) options.push(growthOption(state))
  if (purchase < PURCHASE && lease.site.segment === 'industrial') {
    options.push({
      option_type: 'purchase',
      holder: 'tenant',
      status: 'available',
      rent_basis: 'fair_market',
    })
  }
  return options
}

function isLarge(state: LeaseState): boolean {
  return (
    areaOn(state.lease, state.day) > 20_000 * (state.lease.site.area_unit === 'sqm' ? 0.093 : 1)
  )
}

function renewalOption(state: LeaseState): Row {
  const { lease, expiration } = state
  const own = lease.random.fork('renewal')
  const end = expiration as string
  const [open, close] = isLarge(state)
    ? [18, 12]
    : own.pick([
        [12, 6],
        [12, 9],
        [15, 9],
      ] as const)
  const notice_end_date = addMonths(end, -close)
  const isAnchor = lease.premises.some(({ space }) => space.isAnchor)
  const length = isAnchor || lease.isCliff ? 60 : own.pick([36, 60, 60, 60])
  return {
    option_type: 'renewal',
    holder: 'tenant',
    status: renewalStatus(state, notice_end_date),
    notice_start_date: addMonths(end, -open),
    notice_end_date,
    effective_date: addDays(end, 1),
    term_months: length,
    number_of_options: isAnchor ? 4 : own.pick([1, 1, 2]),
    ...own.pick([
      { rent_basis: 'fair_market', rent_value: null },
      { rent_basis: 'pct_of_market', rent_value: 95 },
      { rent_basis: 'fair_market', rent_value: null },
    ]),
    conditions: 'No default beyond cure periods at the time of notice.',
  }
}

/** Whether the tenant used the window: most of those that are past were missed or given up. */
export function renewalStatus(
  { lease, ended, calendar }: LeaseState,
  notice_end_date: string,
): string {
  if (ended !== null || lease.status === 'holdover') return 'lapsed'
  if (notice_end_date >= calendar.start) return 'available'
  if (lease.isFollowed) return 'waived'
  return lease.random.fork('window').weighted([
    ['lapsed', 50],
    ['noticed', 35],
    ['waived', 15],
  ] as const)
}

function usedOption({ terms }: LeaseState, extension: TermPlan): Row {
  const first = terms[0] as TermPlan
  return {
    option_type: 'renewal',
    holder: 'tenant',
    status: 'exercised',
    notice_start_date: addMonths(first.to as string, -12),
    notice_end_date: addMonths(first.to as string, -6),
    effective_date: extension.from,
    term_months: Math.round(daysBetween(extension.from, extension.to as string) / 30.44),
    number_of_options: 1,
    rent_basis: 'fair_market',
  }
}

/** The right to end the lease after three fifths of its term, against a fee. */
function terminationOption(state: LeaseState): Row[] {
  const { terms, lease, calendar } = state
  const first = terms[0] as TermPlan
  const months = Math.round(daysBetween(first.from, first.to ?? calendar.start) / 30.44)
  if (months < 60) return []
  const effective_date = addMonths(first.from, Math.round((months * 0.6) / 12) * 12)
  const notice_end_date = addMonths(effective_date, -9)
  return [
    {
      option_type: 'termination',
      holder: 'tenant',
      status: notice_end_date < presentOf(state) ? 'lapsed' : 'available',
      notice_start_date: addMonths(effective_date, -15),
      notice_end_date,
      effective_date,
      number_of_options: 1,
      fee_amount: amount(toStep(first.rate * areaOn(lease, first.from) * 0.55, 500)),
      conditions: 'Payment of the fee with the notice.',
    },
  ]
}

function growthOption({ lease, ended }: LeaseState): Row {
  const own = lease.random.fork('growth')
  const option_type = own.weighted([
    ['expansion', 30],
    ['rofo', 40],
    ['rofr', 30],
  ] as const)
  const unit = lease.site.area_unit === 'sqm' ? 0.093 : 1
  const min_area = toStep(2_000 * unit, 10)
  return {
    option_type,
    holder: 'tenant',
    status: ended === null ? 'available' : 'lapsed',
    rent_basis: 'fair_market',
    ti_per_area: rate(toStep(own.between(15, 45), 5) * rentScale(lease.site)),
    min_area,
    max_area: Math.max(min_area, toStep(areaOn(lease, '9999-12-31') * 0.8, 100)),
    conditions: 'Adjacent space on the same or the next floor.',
  }
}

/** The days that must not be missed, made from the other parts of the lease. */
export function criticalDatesOf(
  state: LeaseState,
  parts: { options: readonly Row[]; deposits: readonly Row[]; schedule: readonly Row[] },
): Row[] {
  const { expiration, ended, calendar } = state
  const rows: Row[] = []
  const add = (date_type: string, date: unknown, responsible: string, more: Row = {}): void => {
    if (typeof date !== 'string') return
    const status = dateStatus(date, presentOf(state), more['missed'] === true)
    const { missed: _, ...rest } = more
    rows.push({ date_type, date, responsible, status, is_hard: false, ...rest })
  }
  add('expiration', expiration, 'landlord', { is_hard: true, reminders_days: [365, 180, 90] })
  if (ended !== null) return rows
  for (const option of parts.options) {
    if (option['status'] === 'exercised') continue
    const missed = option['status'] === 'lapsed'
    add('option_notice_open', option['notice_start_date'], 'tenant')
    const reminders_days = [90, 30, 7]
    add('option_notice_deadline', option['notice_end_date'], 'tenant', {
      is_hard: true,
      missed,
      reminders_days,
    })
  }
  const next = parts.schedule.find(
    (s) => s['kind'] === 'base' && String(s['start_date']) > calendar.start,
  )
  add('rent_step', next?.['start_date'], 'landlord', { notice_days: 30 })
  const free = parts.schedule.find(
    (s) => s['kind'] === 'free' && String(s['end_date']) > calendar.start,
  )
  add('free_rent_end', free?.['end_date'], 'landlord')
  for (const deposit of parts.deposits)
    add('lc_expiry', deposit['lc_expiry_date'], 'tenant', { is_hard: true, notice_days: 60 })
  if (recoveryType(state) === 'nnn') {
    const year = yearOf(calendar.start) + (calendar.start.slice(5) > '04-30' ? 1 : 0)
    add('cam_reconciliation', `${year}-04-30`, 'landlord')
  }
  return rows
}

function dateStatus(date: string, present: string, missed: boolean): string {
  if (date < present) return missed ? 'missed' : 'done'
  return daysBetween(present, date) <= 90 ? 'due_soon' : 'upcoming'
}

const TITLES = ['First', 'Second', 'Third', 'Fourth', 'Fifth'] as const

export function amendmentsOf(state: LeaseState): Row[] {
  const { lease, day } = state
  return lease.amendments
    .filter(({ effective }) => effective <= day)
    .map((amendment, i) => {
      const { summary, changes } = contentOf(state, amendment)
      const paper = amendmentKey(lease, i)
      return {
        number: String(i + 1),
        title: `${TITLES[i] ?? 'Further'} amendment to lease`,
        effective_date: amendment.effective,
        executed_date: amendment.executed,
        kind: amendment.kind,
        summary,
        document_id: paper ? ref(paper) : null,
        changes,
      }
    })
}

function contentOf(
  state: LeaseState,
  amendment: AmendmentPlan,
): { summary: string; changes: Row[] } {
  const { lease } = state
  const unit = lease.site.area_unit === 'sqm' ? 'square metre' : 'square foot'
  const at = state.terms.findIndex(
    ({ known, type }) => type !== 'new' && known === amendment.effective,
  )
  const term = state.terms[at]
  const before = lease.terms[at - 1]
  if (amendment.kind === 'extension' && term && before) {
    const changes = [{ field: 'expiration_date', old: before.to, new: term.to }]
    const summary = `Extends the term to ${term.to} at ${rate(term.rate).slice(0, -2)} ${lease.site.currency} per ${unit} and year.`
    return { summary, changes }
  }
  if (amendment.kind === 'rent_modification' && term && before) {
    const summary = `Sets the rent to ${rate(term.rate).slice(0, -2)} ${lease.site.currency} per ${unit} and year from ${term.from} on.`
    return { summary, changes: [{ field: 'rent_schedule', old: null, new: rate(term.rate) }] }
  }
  if (amendment.kind === 'expansion') {
    const joined = lease.premises.find(({ from }) => from === amendment.effective)
    const old = areaOn(lease, addDays(amendment.effective, -1))
    const changes = [
      { field: 'rentable_area', old: String(old), new: String(old + (joined?.area ?? 0)) },
    ]
    return { summary: `Adds suite ${joined?.space.suite ?? ''} to the premises.`, changes }
  }
  return { summary: amendment.title, changes: [] }
}
