/** Leases that do not run today: earlier ones of the same spaces, signed ones that begin later, and drafts. */
import { addDays, addMonths, dateOf, firstOfMonth, instantOf, later, monthEnd } from './calendar.ts'
import { sum } from './figures.ts'
import { areaOf, lastTerm } from './model.ts'
import type { Calendar, LeasePlan, LeaseStatus, SpacePlan } from './model.ts'
import type { Random } from './random.ts'
import { SEGMENTS } from './segments.ts'
import { acquiredOn } from './sites.ts'
import { blankLease, newTerm, priceTerms } from './tenancies.ts'

/** For each running lease, how many of these there are. */
const ENDED = 0.44
const TERMINATED = 0.02
const FOLLOWED = 0.016
const PIPELINE = [
  ['draft', 0.023],
  ['in_review', 0.013],
  ['out_for_signature', 0.013],
  ['void', 0.008],
] as const

/** Share of the whole area that is signed, but whose term has not begun. */
const COMMITTED = 0.021

/** Leases that held the spaces before; one in twenty was ended before its time. */
export function endedLeases(
  running: readonly LeasePlan[],
  vacant: readonly SpacePlan[],
  calendar: Calendar,
  random: Random,
): LeasePlan[] {
  const finished = vacant.filter(({ building }) => building.site.status !== 'development')
  const ends = [
    ...finished.map((space) => ({ space, before: addDays(calendar.start, -20), gap: 30 })),
    ...running
      .filter((lease) => !lease.isCliff && lease.site.currency === 'USD')
      .map(({ premises: [first], terms: [term] }) => ({
        space: first?.space as SpacePlan,
        before: term?.from as string,
        gap: 9,
      })),
  ]
  const recent = ends.filter(({ before }) => before > addMonths(calendar.start, -12 * 12))
  const count = Math.round(running.length * ENDED)
  return random
    .shuffled(recent)
    .slice(0, count)
    .map(({ space, before, gap }, i) => {
      const lease = endedLease(space, before, gap, calendar, random)
      if (i < Math.round(running.length * TERMINATED)) terminate(lease, calendar)
      return lease
    })
}

/** @param gap months that the space stood empty afterwards, at most. */
function endedLease(
  space: SpacePlan,
  before: string,
  gap: number,
  calendar: Calendar,
  random: Random,
): LeasePlan {
  const lease = blankLease([space], random, '/earlier')
  const own = lease.random.fork('earlier')
  const to = monthEnd(before, -own.int(1, gap))
  const length = own.weighted(SEGMENTS[lease.site.segment].terms)
  lease.status = 'expired'
  lease.terms = [newTerm(lease, firstOfMonth(to, 1 - length), to)]
  setPremises(lease)
  priceTerms(lease, space.market * 0.9, calendar)
  return lease
}

/** Ended by agreement some months before its time, so that the term on paper reaches further than the tenancy. */
function terminate(lease: LeasePlan, { start }: Calendar): void {
  const own = lease.random.fork('terminate')
  const term = lastTerm(lease)
  const end = term.to as string
  lease.status = 'terminated'
  lease.terminated = end < start ? end : monthEnd(start, -1)
  term.to = monthEnd(end, own.int(6, 22))
  setPremises(lease)
}

/** The premises end with the lease, or with what ended it. */
function setPremises(lease: LeasePlan): void {
  const from = lease.terms[0]?.from as string
  for (const premises of lease.premises) {
    premises.from = from
    premises.to = lease.terminated ?? null
  }
}

/** Signed leases of spaces that are vacant, and of spaces whose tenant leaves within the year. */
export function signedLeases(
  running: readonly LeasePlan[],
  vacant: readonly SpacePlan[],
  calendar: Calendar,
  random: Random,
): LeasePlan[] {
  const total = sum(running.map(areaOf)) + sum(vacant.map(({ area }) => area))
  const signed: LeasePlan[] = []
  let left = total * COMMITTED
  // The first of them is in the building under construction.
  const unfinished = vacant.filter(({ building }) => building.site.status === 'development')
  const order = [
    ...unfinished.slice(0, 1),
    ...random.shuffled(vacant.filter((s) => !unfinished.includes(s))),
  ]
  for (const space of order) {
    if (space.area > left * 1.1) continue
    left -= space.area
    signed.push(signedLease(space, addDays(calendar.start, 25), calendar, random))
  }
  const leaving = random.shuffled(running.filter((lease) => isLeaving(lease, calendar)))
  for (const lease of leaving.slice(0, Math.max(1, Math.round(running.length * FOLLOWED)))) {
    const space = lease.premises[0]?.space as SpacePlan
    lease.isFollowed = true
    signed.push(signedLease(space, lastTerm(lease).to as string, calendar, random))
  }
  return signed
}

function isLeaving(lease: LeasePlan, { start }: Calendar): boolean {
  const { to } = lastTerm(lease)
  if (to === null || lease.isCliff || lease.status !== 'active' || lease.premises.length > 1)
    return false
  return to > addMonths(start, 2) && to < addMonths(start, 11)
}

function signedLease(
  space: SpacePlan,
  after: string,
  calendar: Calendar,
  random: Random,
): LeasePlan {
  const lease = blankLease([space], random, '/next')
  lease.status = 'executed'
  futureTerm(lease, after, calendar)
  const term = lastTerm(lease)
  const signedBy = addDays(calendar.start, -lease.random.fork('signed').int(6, 120))
  if (term.executed > signedBy) term.executed = signedBy
  term.known = term.executed
  return lease
}

function futureTerm(lease: LeasePlan, after: string, calendar: Calendar): void {
  const own = lease.random.fork('future')
  const from = firstOfMonth(after, own.int(1, 3))
  const length = own.weighted(SEGMENTS[lease.site.segment].terms)
  lease.terms = [newTerm(lease, from, addDays(addMonths(from, length), -1))]
  setPremises(lease)
  const [first] = lease.premises as [LeasePlan['premises'][number]]
  priceTerms(lease, first.space.market, calendar)
}

/** Leases under negotiation for spaces that are still to be had, and some that came to nothing. */
export function draftLeases(
  count: number,
  free: readonly SpacePlan[],
  calendar: Calendar,
  random: Random,
): LeasePlan[] {
  const statuses = PIPELINE.flatMap(([status, share]) =>
    Array.from({ length: Math.max(1, Math.round(count * share)) }, () => status),
  )
  const spaces = random.shuffled(free)
  return statuses.flatMap((status, i) => {
    const space = spaces[i % Math.max(spaces.length, 1)]
    return space ? [draftLease(space, `/${status} ${i}`, status, calendar, random)] : []
  })
}

function draftLease(
  space: SpacePlan,
  label: string,
  status: LeaseStatus,
  calendar: Calendar,
  random: Random,
): LeasePlan {
  const lease = blankLease([space], random, label)
  lease.status = status
  futureTerm(lease, addDays(calendar.start, 45), calendar)
  const term = lastTerm(lease)
  // First written down some weeks ago.
  const days = lease.random.fork('drafted').int(12, status === 'void' ? 160 : 75)
  term.known = addDays(calendar.start, -days)
  term.executed = ''
  return lease
}

/** The day on which the lease first comes into being as a record: with its signing, or with the purchase of its site. */
export function bornOn({ site, terms: [first] }: LeasePlan, calendar: Calendar): string {
  return later(first?.known as string, acquiredOn(site, calendar))
}

/** A day some way between two others. */
export function dayBetween(from: string, to: string, share: number): string {
  return dateOf(instantOf(from) + (instantOf(to) - instantOf(from)) * share)
}
