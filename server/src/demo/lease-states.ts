/** What a lease was on a day: its status, the terms agreed by then, its premises and its end. */
import { addDays, earlier, later } from './calendar.ts'
import { sum } from './figures.ts'
import type { Calendar, LeasePlan, LeaseStatus, TermPlan } from './model.ts'
import { bornOn, dayBetween } from './past-and-future.ts'

/** A lease as it stood on a day. */
export interface LeaseState {
  lease: LeasePlan
  calendar: Calendar
  day: string
  status: LeaseStatus
  /** Terms agreed by then, cut short where a later one takes over. */
  terms: TermPlan[]
  commencement: string
  /** Null from month to month. */
  expiration: string | null
  /** The last day of a lease that has ended by then. */
  ended: string | null
  isOpen: boolean
}

export function stateOn(lease: LeasePlan, day: string, calendar: Calendar): LeaseState {
  const known = lease.terms.filter((term, i) => i === 0 || term.known <= day)
  const terms = known.map((term, i) => {
    const next = known[i + 1]
    const isCut = next && (term.to === null || next.from <= term.to)
    return isCut ? { ...term, to: addDays(next.from, -1) } : term
  })
  const last = terms.at(-1) as TermPlan
  const isOpen = lease.is_month_to_month === true && last.type === 'holdover'
  const dated = terms.findLast(({ type }) => type !== 'holdover') as TermPlan
  const status = statusOn(lease, day, calendar)
  const expiration = isOpen ? null : dated.to
  const ended =
    status === 'terminated' ? (lease.terminated ?? null) : status === 'expired' ? expiration : null
  const commencement = (terms[0] as TermPlan).from
  return { lease, calendar, day, status, terms, commencement, expiration, ended, isOpen }
}

/** Days on which the record of a lease changed, the day it came into being first. */
export function changeDays(lease: LeasePlan, calendar: Calendar): string[] {
  const born = bornOn(lease, calendar)
  const days = [
    lease.terms[0]?.from,
    ...lease.terms.slice(1).map(({ known }) => known),
    ...lease.amendments.map(({ effective }) => effective),
    ...lease.terms.flatMap(({ to }) => (to === null ? [] : [addDays(to, 1)])),
    ...(lease.terminated ? [addDays(lease.terminated, 1)] : []),
    ...PROGRESS.map(([, share]) => dayBetween(born, calendar.start, share)),
  ]
  const told = days.filter((day) => day !== undefined && day > born && day <= calendar.start)
  return [born, ...new Set(told as string[])].toSorted()
}

/** How far a lease under negotiation was after which part of the time. */
const PROGRESS = [
  ['in_review', 0.3],
  ['out_for_signature', 0.7],
  ['void', 0.9],
] as const

/** What comes before what while a lease is negotiated; a void one was a draft until it was given up. */
const STAGES: readonly LeaseStatus[] = ['draft', 'in_review', 'out_for_signature']

function statusOn(lease: LeasePlan, day: string, calendar: Calendar): LeaseStatus {
  const { status } = lease
  if (status === 'executed') return status
  if (status === 'void' || STAGES.includes(status)) {
    const born = bornOn(lease, calendar)
    const reached = PROGRESS.filter(
      ([stage, share]) =>
        day >= dayBetween(born, calendar.start, share) &&
        (stage === status || (stage !== 'void' && STAGES.indexOf(stage) < STAGES.indexOf(status))),
    )
    return reached.at(-1)?.[0] ?? 'draft'
  }
  if (day < (lease.terms[0] as TermPlan).from) return 'executed'
  if (lease.terminated) return day > lease.terminated ? 'terminated' : 'active'
  if (lease.is_month_to_month || status === 'active') return 'active'
  const end = lease.terms.findLast(({ type }) => type !== 'holdover')?.to as string
  return day > end ? status : 'active'
}

/** The rentable area that the lease holds from a day on. */
export function areaOn(lease: LeasePlan, day: string): number {
  const first = lease.terms[0]?.from as string
  return sum(lease.premises.filter(({ from }) => from <= later(day, first)).map(({ area }) => area))
}

/** The day that decides what of a state lies ahead: that of the end for a lease that has ended. */
export function presentOf({ ended, calendar }: LeaseState): string {
  return ended === null ? calendar.start : earlier(ended, calendar.start)
}
