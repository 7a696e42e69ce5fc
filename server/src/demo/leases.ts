/** Bodies of leases: as they are today, and what they were on the days on which they changed. */
import type { Row } from '../kit/resource.ts'
import { addDays, addMonths, earlier, instantOf, later } from './calendar.ts'
import { OWNER } from './counterparties.ts'
import { amount, rate, round } from './figures.ts'
import {
  chargesOf,
  concessionsOf,
  depositsOf,
  escalationsOf,
  insuranceOf,
  partiesOf,
  percentageRentOf,
  permittedUse,
  recoveriesOf,
  recoveryType,
} from './lease-money.ts'
import { amendmentsOf, criticalDatesOf, optionsOf } from './lease-rights.ts'
import { areaOn, changeDays, stateOn } from './lease-states.ts'
import type { LeaseState } from './lease-states.ts'
import { ref } from './model.ts'
import type { Calendar, Draft, LeasePlan, TermPlan } from './model.ts'
import { displayName } from './names.ts'
import { amendmentKey, documentKey, hasDocuments } from './document-keys.ts'
import { rentStart, scheduleOf } from './rents.ts'
import { HOLDOVER_PCT } from './tenancies.ts'

/** The lease on the first day that is told, and each later day's changes. */
export function leaseDraft(lease: LeasePlan, serial: number, calendar: Calendar): Draft {
  const [first, ...days] = changeDays(lease, calendar) as [string, ...string[]]
  const body = leaseBody(stateOn(lease, first, calendar), serial)
  const later: { valid_from: number; values: Row }[] = []
  let before = body
  for (const day of days) {
    const after = leaseBody(stateOn(lease, day, calendar), serial)
    const values = difference(before, after)
    if (Object.keys(values).length > 0) later.push({ valid_from: instantOf(day), values })
    before = after
  }
  return { key: lease.key, body, valid_from: instantOf(first), later }
}

function difference(before: Row, after: Row): Row {
  const names = Object.keys(after).filter(
    (name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]),
  )
  return Object.fromEntries(names.map((name) => [name, after[name]]))
}

function leaseBody(state: LeaseState, serial: number): Row {
  const { lease, day } = state
  const area = round(areaOn(lease, day), 2)
  const share = round((area / lease.building.area) * 100, 4)
  const schedule = rentSchedule(state)
  const options = optionsOf(state)
  const security_deposits = depositsOf(state)
  return {
    ...identityOf(state),
    premises: premisesOf(state),
    ...termFields(state),
    terms: state.terms.map((term, i) => termRow(state, term, i)),
    rentable_area: area,
    pro_rata_share_pct: share,
    pro_rata_denominator: 'building_area',
    recovery_type: recoveryType(state),
    currency: lease.site.currency,
    area_unit: lease.site.area_unit,
    rent_frequency: 'monthly',
    rent_due_day: 1,
    payment_method: lease.random.fork('payment').weighted([
      ['ach', 72],
      ['wire', 16],
      ['check', 12],
    ]),
    rent_schedule: schedule,
    escalations: escalationsOf(state),
    charges: chargesOf(state),
    recoveries: recoveriesOf(state, share),
    percentage_rent: percentageRentOf(state),
    security_deposits,
    ...concessionsOf(state),
    options,
    critical_dates: criticalDatesOf(state, { options, deposits: security_deposits, schedule }),
    amendments: amendmentsOf(state),
    insurance_requirements: insuranceOf(state),
    parties: partiesOf(state),
    permitted_use: permittedUse(state),
    ...clausesOf(state),
    external_ids: [{ system: 'erp', id: `l${String(serial).padStart(6, '0')}` }],
  }
}

function identityOf({ lease, status, isOpen }: LeaseState): Row {
  const [first] = lease.premises as [LeasePlan['premises'][number]]
  const unit = lease.site.segment === 'industrial' ? 'unit' : 'suite'
  const isLicense = isOpen && lease.random.fork('license').chance(0.2)
  return {
    lease_number: lease.number,
    name: `${displayName(lease.tenant.legal_name)}, ${unit} ${first.space.suite}`,
    property_id: ref(`prop:${lease.site.code}`),
    building_id: ref(lease.building.key),
    tenant_party_id: ref(lease.tenant.key),
    landlord_party_id: ref(OWNER),
    lease_type: isLicense ? 'license' : 'direct',
    status,
    ...reasonOf(lease, status),
  }
}

function reasonOf(lease: LeasePlan, status: LeaseState['status']): Row {
  if (status === 'terminated') {
    const reason = [
      'Ended by agreement against a fee.',
      'Ended after a default on rent.',
      'Tenant used its termination right.',
    ]
    return { status_reason: lease.random.fork('reason').pick(reason) }
  }
  if (status === 'void') return { status_reason: 'The prospect took space elsewhere.' }
  return { status_reason: null }
}

function premisesOf({ lease, day, ended, commencement }: LeaseState): Row[] {
  return lease.premises
    .filter(({ from }) => from <= later(day, commencement))
    .map(({ space, area, from }) => ({
      building_id: ref(space.building.key),
      space_id: ref(space.key),
      rentable_area: round(area, 2),
      from_date: from,
      to_date: ended,
    }))
}

function termFields(state: LeaseState): Row {
  const { lease, day, status, commencement, expiration, ended, isOpen, terms } = state
  const own = lease.random.fork('dates')
  const first = terms[0] as TermPlan
  const hasBegun = day >= commencement && !['draft', 'void', 'in_review'].includes(status)
  const possession_date = first.executed ? addDays(commencement, -own.int(0, 30)) : null
  const move_in_date = hasBegun ? addDays(commencement, own.int(0, 20)) : null
  return {
    term_type: terms.at(-1)?.type,
    execution_date: first.executed || null,
    possession_date,
    commencement_date: commencement,
    rent_commencement_date: rentStart(first),
    expiration_date: expiration,
    move_in_date,
    move_out_date: ended === null ? null : addDays(ended, -own.int(0, 4)),
    notice_given_date:
      lease.isFollowed && expiration ? addMonths(expiration, -own.int(11, 14)) : null,
    terminated_date: status === 'terminated' ? ended : null,
    is_month_to_month: isOpen,
    holdover_rent_pct: HOLDOVER_PCT,
    renewal_status: renewalOutlook(state),
  }
}

/** Known for leases that end within eighteen months only. */
function renewalOutlook({ lease, expiration, status, calendar }: LeaseState): string | null {
  if (status !== 'active' || expiration === null) return null
  if (lease.isCliff) return 'negotiating'
  if (lease.isFollowed) return 'not_renewing'
  if (expiration > addMonths(calendar.start, 18)) return null
  return lease.random.fork('outlook').weighted([
    ['renewing', 30],
    ['negotiating', 30],
    ['not_renewing', 15],
    ['unknown', 25],
  ] as const)
}

function termRow({ lease, status, terms }: LeaseState, term: TermPlan, index: number): Row {
  const isProposed = ['draft', 'in_review', 'out_for_signature', 'void'].includes(status)
  const area = round(areaOn(lease, term.from), 2)
  const amendment = lease.amendments.findIndex(({ effective }) => effective === term.known)
  const own = hasDocuments(lease) ? documentKey(lease, 'lease') : null
  const paper = index === 0 ? own : amendmentKey(lease, amendment)
  return {
    term_type: terms[index]?.type,
    status: isProposed ? 'proposed' : 'executed',
    commencement_date: term.from,
    expiration_date: term.to,
    execution_date: term.executed || null,
    rentable_area: area,
    annual_base_rent: amount(term.rate * area),
    base_rent_per_area: rate(term.rate),
    document_id: paper ? ref(paper) : null,
  }
}

function rentSchedule(state: LeaseState): Row[] {
  const { lease, terms, calendar, day: known } = state
  // Space that was taken on later was not reckoned with.
  const areaAt = (day: string): number => areaOn(lease, earlier(day, known))
  const rows = scheduleOf(terms, areaAt, calendar.start)
  if (lease.flaw !== 'rent_gap') return rows
  // Someone typed the next step a month late.
  const at = rows.findIndex(
    (row) => row['kind'] === 'base' && String(row['start_date']) > calendar.start,
  )
  const late = rows[at]
  if (late) rows[at] = { ...late, start_date: addMonths(String(late['start_date']), 1) }
  return rows
}

function clausesOf({ lease, expiration, calendar }: LeaseState): Row {
  const own = lease.random.fork('clauses')
  const estoppelDay = own.int(-20, 40)
  const isAnchor = lease.premises.some(({ space }) => space.isAnchor)
  const isShop = lease.site.segment === 'retail' && !isAnchor
  const [co, radius, estoppel] = [own.next(), own.next(), own.next()]
  const isSoon = expiration !== null && expiration < addMonths(calendar.start, 24)
  return {
    exclusive_use: isAnchor ? 'No other full-line store of the same kind in the center.' : null,
    radius_restriction: isShop && radius < 0.2 ? 'No other store within three miles.' : null,
    co_tenancy:
      isShop && co < 0.25
        ? 'Half rent while the anchor store is closed for more than 120 days.'
        : null,
    go_dark_right: lease.site.segment === 'retail' ? isAnchor : null,
    assignment_consent: own.weighted([
      ['reasonable', 80],
      ['sole_discretion', 14],
      ['not_required', 6],
    ]),
    snda_status: own.weighted([
      ['executed', 50],
      ['not_required', 25],
      ['none', 15],
      ['requested', 6],
      ['in_negotiation', 4],
    ]),
    estoppel_due_date: isSoon && estoppel < 0.1 ? addDays(calendar.start, estoppelDay) : null,
    lease_abstract_status: own.weighted([
      ['certified', 55],
      ['reviewed', 28],
      ['draft', 12],
      ['none', 5],
    ]),
  }
}

/** Gives every lease its number and key: by space, in order of time. */
export function numberLeases(leases: readonly LeasePlan[]): void {
  const bySpace = Map.groupBy(leases, ({ premises }) => premises[0]?.space)
  for (const [space, own] of bySpace) {
    const inOrder = own.toSorted((a, b) => (startOf(a) < startOf(b) ? -1 : 1))
    for (const [i, lease] of inOrder.entries()) {
      const suite = `${lease.building.code}-${space?.suite ?? ''}`
      lease.number = `${suite}-${String(i + 1).padStart(2, '0')}`
      lease.key = `le:${lease.number}`
    }
  }
}

function startOf({ terms: [first] }: LeasePlan): string {
  return first?.from ?? ''
}
