/** What must hold over several fields of a lease, and what follows from them. Pure: the day is given. */
import { inEach, knownCurrency, notAbove, notBefore } from '../kit/checks.ts'
import type { Values } from '../kit/checks.ts'
import { parseDecimal, sumMoney } from '../kit/decimal.ts'
import type { Issue } from '../kit/errors.ts'
import type { Lifecycle, RowOf } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import type { ItemOf } from '../kit/vocabulary.ts'
import { LEASE_STATUSES } from './fields.ts'
import type { leaseFields } from './fields.ts'
import type { premisesFields, termFields } from './parts.ts'
import { findGaps, findOverlaps } from './periods.ts'
import type { Period } from './periods.ts'
import { checkForms } from './rent-forms.ts'
import type {
  concessionFields,
  depositFields,
  percentageRentFields,
  rentStepFields,
} from './rent-parts.ts'

export type LeaseRow = RowOf<typeof leaseFields>
type RentStep = ItemOf<typeof rentStepFields>
type Premises = ItemOf<typeof premisesFields>

/**
 * domain.md section 2. The scheduled moves (executed to active on commencement, active to holdover or expired) are in
 * the table like the others; `expired` to `active` needs an amendment.
 */
export const leaseLifecycle: Lifecycle = {
  field: 'status',
  initial: 'draft',
  transitions: {
    draft: ['in_review', 'void'],
    in_review: ['draft', 'out_for_signature', 'void'],
    out_for_signature: ['executed', 'draft', 'void'],
    executed: ['active', 'terminated', 'void'],
    active: ['holdover', 'expired', 'terminated', 'superseded'],
    holdover: ['expired', 'terminated'],
    expired: ['active'],
    terminated: [],
    superseded: [],
    void: [],
  },
  final: ['void'],
}

export function checkLease(
  row: LeaseRow,
  before: LeaseRow | null,
  today: string | null = null,
): Issue[] {
  return [
    ...checkStatus(row, before),
    ...checkDay(row, before, today),
    ...checkTermKnown(row, before),
    ...checkDates(row),
    ...checkPremises(list<Premises>(row.premises)),
    ...checkTerms(list<ItemOf<typeof termFields>>(row.terms)),
    ...checkRentSchedule(list<RentStep>(row.rent_schedule)),
    ...(sameValue(row.rent_schedule, before?.rent_schedule) ? [] : checkForms(row)),
    ...checkParts(row),
    ...checkDeposits(list<ItemOf<typeof depositFields>>(row.security_deposits)),
    ...checkSalesAndConcessions(row),
    ...knownCurrency(row.currency),
  ]
}

/** States that a lease can only come to: another one takes its place, or it is given up. */
const NOT_AT_FIRST: readonly unknown[] = ['superseded', 'void']

function checkStatus(row: LeaseRow, before: LeaseRow | null): Issue[] {
  if (before === null && NOT_AT_FIRST.includes(row.status)) {
    const allowed = LEASE_STATUSES.filter((status) => !NOT_AT_FIRST.includes(status))
    const message = `a lease cannot be created as ${row.status}`
    return [{ field: 'status', code: 'invalid_transition', message, allowed }]
  }
  if (row.status === before?.status) return []
  if (row.status === 'terminated') return checkTermination(row)
  if (before?.status === 'expired' && row.status === 'active' && !row.amendments?.length) {
    const message = 'an expired lease becomes active again only by an amendment'
    return [{ field: 'amendments', code: 'amendment_required', message }]
  }
  return []
}

function checkTermination(row: LeaseRow): Issue[] {
  const message = 'is required for a lease that is terminated'
  return (['terminated_date', 'status_reason'] as const)
    .filter((field) => !row[field])
    .map((field) => ({ field, code: 'required', message }))
}

/** A lease that comes to its status today must have begun to be active, and have run out to be expired or held over. */
function checkDay(row: LeaseRow, before: LeaseRow | null, today: string | null): Issue[] {
  if (today === null || row.status === before?.status) return []
  const { status, commencement_date: first, expiration_date: last } = row
  if (status === 'active' && first && first > today) {
    const message = `must not be after today (${today}) for a lease that is active`
    return [{ field: 'commencement_date', code: 'after_today', message }]
  }
  if ((status === 'expired' || status === 'holdover') && last && last >= today) {
    const message = `must be before today (${today}) for a lease that is ${status}`
    return [{ field: 'expiration_date', code: 'not_before_today', message }]
  }
  return []
}

/** Required on create; a lease that was loaded without them can still be edited, but they cannot be taken away. */
function checkTermKnown(row: LeaseRow, before: LeaseRow | null): Issue[] {
  if (row.is_month_to_month) return []
  const message = 'is required unless the lease is month to month'
  return (['commencement_date', 'expiration_date'] as const)
    .filter((field) => !row[field])
    .filter((field) => before === null || before[field] || before.is_month_to_month)
    .map((field) => ({ field, code: 'required', message }))
}

function checkDates(row: LeaseRow): Issue[] {
  return [
    ...notBefore(row, 'commencement_date', 'expiration_date', 'before_commencement'),
    ...notBefore(row, 'move_in_date', 'move_out_date', 'before_move_in'),
    ...notBefore(row, 'possession_date', 'expiration_date', 'before_possession'),
    ...notBefore(row, 'rent_commencement_date', 'expiration_date', 'before_rent_commencement'),
  ]
}

function checkPremises(premises: readonly Premises[]): Issue[] {
  const bySpace = groupPeriods(premises, 'premises', (item) => [
    item.space_id ?? item.building_id ?? null,
    item.from_date,
    item.to_date,
  ])
  return [
    ...inEach(premises, 'premises', (item, at) =>
      notBefore(item, 'from_date', 'to_date', 'end_before_start', at),
    ),
    ...[...bySpace.values()].flatMap((periods) => findOverlaps(periods, 'from_date')),
  ]
}

/** Proposed and superseded terms may lie across the agreed ones. */
function checkTerms(terms: readonly ItemOf<typeof termFields>[]): Issue[] {
  const agreed = groupPeriods(terms, 'terms', (item) => [
    item.status === 'proposed' || item.status === 'superseded' ? null : 'agreed',
    item.commencement_date,
    item.expiration_date,
  ])
  return [
    ...inEach(terms, 'terms', (item, at) =>
      notBefore(item, 'commencement_date', 'expiration_date', 'before_commencement', at),
    ),
    ...[...agreed.values()].flatMap((periods) => findOverlaps(periods, 'commencement_date')),
  ]
}

/** Kinds that are due without a break; the others (free months, sales rent, one-off items) may come and go. */
const CONTIGUOUS: readonly unknown[] = ['base', 'parking', 'storage']

/** Steps of one kind for one set of spaces: no overlap, and no gap but one that free or abated rent fills. */
function checkRentSchedule(steps: readonly RentStep[]): Issue[] {
  const spaces = (step: RentStep) => (step.space_ids ?? []).toSorted().join()
  const byKind = groupPeriods(steps, 'rent_schedule', (step) => [
    step.kind ? `${step.kind} ${spaces(step)}` : null,
    step.start_date,
    step.end_date,
  ])
  const issues = inEach(steps, 'rent_schedule', (step, at) =>
    notBefore(step, 'start_date', 'end_date', 'end_before_start', at),
  )
  for (const [key, periods] of byKind) {
    const [kind, set = ''] = key.split(' ')
    issues.push(...findOverlaps(periods))
    if (!CONTIGUOUS.includes(kind)) continue
    const relief = ['free', 'abated'].flatMap((k) => [
      ...(byKind.get(`${k} ${set}`) ?? []),
      ...(set ? (byKind.get(`${k} `) ?? []) : []),
    ])
    issues.push(...findGaps(periods, relief))
  }
  return issues
}

/** Dated items by key; items without a key or a start, or that end before they start, are left out. */
function groupPeriods<I>(
  items: readonly I[],
  name: string,
  read: (
    item: I,
  ) => [key: string | null, start: string | null | undefined, end: string | null | undefined],
): Map<string, Period[]> {
  const groups = new Map<string, Period[]>()
  items.forEach((item, index) => {
    const [key, start, end = null] = read(item)
    if (key === null || !start || (end !== null && end < start)) return
    const group = groups.get(key) ?? []
    groups.set(key, group)
    group.push({ start, end, at: `${name}[${index}].` })
  })
  return groups
}

function checkParts(row: LeaseRow): Issue[] {
  return [
    ...inEach(list(row.parties), 'parties', (item, at) =>
      notBefore(item, 'from_date', 'to_date', 'end_before_start', at),
    ),
    ...inEach(list(row.escalations), 'escalations', (item, at) =>
      notAbove(item, 'floor_pct', 'cap_pct', 'floor_above_cap', at),
    ),
    ...inEach(list(row.recoveries), 'recoveries', (item, at) =>
      notAbove(item, 'floor_pct', 'cap_pct', 'floor_above_cap', at),
    ),
    ...inEach(list(row.charges), 'charges', (item, at) =>
      notBefore(item, 'start_date', 'end_date', 'end_before_start', at),
    ),
    ...inEach(list(row.options), 'options', checkOption),
  ]
}

function checkOption(option: Values, at: string): Issue[] {
  return [
    ...notBefore(option, 'notice_start_date', 'notice_end_date', 'end_before_start', at),
    ...notBefore(option, 'notice_end_date', 'effective_date', 'before_notice', at),
    ...notAbove(option, 'min_area', 'max_area', 'min_above_max', at),
  ]
}

function checkDeposits(deposits: readonly ItemOf<typeof depositFields>[]): Issue[] {
  return inEach(deposits, 'security_deposits', (deposit, at) => {
    const amount = parseDecimal(deposit.amount, 2)
    if (amount === null) return []
    if (amount < 0n) {
      return [{ field: `${at}amount`, code: 'negative', message: 'must not be negative' }]
    }
    return inEach(list(deposit.burn_down), `${at}burn_down`, (step, stepAt) => {
      const required = parseDecimal(step['amount'], 2)
      if (required === null || required <= amount) return []
      const message = `must not be more than the deposit (${deposit.amount})`
      return [{ field: `${stepAt}amount`, code: 'exceeds_deposit', message }]
    })
  })
}

function checkSalesAndConcessions(row: LeaseRow): Issue[] {
  const sales = (row.percentage_rent ?? {}) as ItemOf<typeof percentageRentFields>
  const given = (row.concessions ?? {}) as ItemOf<typeof concessionFields>
  return [
    ...inEach(list(sales.tenant_sales), 'percentage_rent.tenant_sales', (item, at) =>
      notBefore(item, 'period_start_date', 'period_end_date', 'end_before_start', at),
    ),
    ...inEach(list(given.free_rent), 'concessions.free_rent', (item, at) =>
      notBefore(item, 'start_date', 'end_date', 'end_before_start', at),
    ),
  ]
}

export function deriveLease(row: LeaseRow): Partial<LeaseRow> {
  const premises = list<Premises>(row.premises)
  const spaces = premises.flatMap((item) => (item.space_id ? [item.space_id] : []))
  const deposits = list<ItemOf<typeof depositFields>>(row.security_deposits)
  return {
    space_ids: [...new Set(spaces)],
    term_months: fullMonths(row.commencement_date, row.expiration_date),
    security_deposit_amount: sumMoney(deposits.map((deposit) => deposit.amount)),
  }
}

/** Full months of an inclusive term: 2022-09-01 to 2029-08-31 are 84. */
export function fullMonths(first: string | null, last: string | null): number | null {
  if (!first || !last || last < first) return null
  const from = new Date(first)
  const end = new Date(Date.parse(last) + 86_400_000)
  const months =
    (end.getUTCFullYear() - from.getUTCFullYear()) * 12 + end.getUTCMonth() - from.getUTCMonth()
  return end.getUTCDate() < from.getUTCDate() ? months - 1 : months
}

/** The items of a list field with the type that their schema gives them. */
function list<I = Values>(items: readonly Record<string, unknown>[] | null | undefined): I[] {
  return (items ?? []) as I[]
}
