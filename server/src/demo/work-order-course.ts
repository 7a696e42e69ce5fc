/** What becomes of a work order: who takes it, when it is done or where it stands, what it costs. */
import { SLA_POLICY } from '../work-orders/rules.ts'
import type { Row } from '../kit/resource.ts'
import { amount, round } from './figures.ts'
import { ref } from './model.ts'
import type { Draft } from './model.ts'
import type { Random } from './random.ts'
import type { Kind } from './work-order-kinds.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

const SLA_MET = 0.91
const CANCELLED = 0.03
/** Older ones are told in two steps, reported and closed; what lay between stands in their history alone. */
const FULLY_TOLD = 45 * DAY

/** Days after the report, and the chance that the work is not done by then. */
const OPEN_CHANCES = [
  [2, 0.7],
  [7, 0.32],
  [30, 0.09],
  [90, 0.012],
  [9_999, 0.0008],
] as const

const IN_HOUSE = [
  'Luis Ortega',
  'Priya Raman',
  'Marcus Bell',
  'Ewa Nowak',
  'Dale Hutchins',
  'Tomas Vega',
] as const

/** What changed at a time. */
type Stage = { valid_from: number; values: Row }

/** What has waited longer than this waits for someone else. */
const LONG_OPEN = 115 * DAY

export type Priority = keyof typeof SLA_POLICY.times

/** A work order as it was reported. */
export interface Reported {
  at: number
  kind: Kind
  isPlanned: boolean
  priority: Priority
  /** Key of the vendor who is called; null for the building's own people. */
  vendor: string | null
  /** A tenant asked for it. */
  isTenant: boolean
  /** It is never called off. */
  isLasting: boolean
}

/** What happened after the report: who took it, when it was done or where it stands, what it cost. */
export function courseOf(
  report: Reported,
  now: number,
  random: Random,
): NonNullable<Draft['later']> {
  const { at, isPlanned, priority, vendor, isTenant } = report
  const { response, resolution } = SLA_POLICY.times[priority]
  const assignee = vendor
    ? { vendor_party_id: ref(vendor) }
    : { assigned_to: random.pick(IN_HOUSE), team: 'Building engineering' }
  // Work is mostly done early in the time allowed, and now and then long after it.
  const isMet = random.chance(SLA_MET)
  const share = isMet ? random.next() ** 1.7 * 0.95 + 0.02 : random.between(1.04, 2.4)
  const length = isPlanned ? random.between(0.5, 9) * DAY : Math.max(resolution * share, 3 * MINUTE)
  const done = minute(at + length)
  const answered = Math.max(response * random.between(0.05, isMet ? 0.95 : 1.3), MINUTE)
  const acknowledged = minute(Math.min(at + answered, done - MINUTE))
  const begun = minute(acknowledged + (done - acknowledged) * random.between(0.2, 0.7))
  const taken: Row = {
    acknowledged_at: iso(acknowledged),
    assigned_at: iso(acknowledged),
    ...assignee,
  }
  const age = (now - at) / DAY
  const stays = OPEN_CHANCES.find(([days]) => age < days)?.[1] ?? 0
  if (random.chance(stays) || done >= now) {
    return openCourse(taken, { acknowledged, begun, now }, random)
  }
  if (random.chance(CANCELLED) && !report.isLasting) {
    const values = { status: 'cancelled', status_reason: 'Reported twice.' }
    return [{ valid_from: acknowledged, values }]
  }
  const costs = costsOf(report, random)
  const rating = isTenant && random.chance(0.28) ? { rating: random.weighted(RATINGS) } : {}
  const closed = minute(done + random.between(0.1, 3.5) * DAY)
  const finished: Row = { ...taken, started_at: iso(begun), completed_at: iso(done), ...costs }
  const answering = { valid_from: acknowledged, values: { status: 'assigned', ...taken } }
  const beginning = { valid_from: begun, values: { status: 'in_progress', started_at: iso(begun) } }
  const completion = { valid_from: done, values: { status: 'completed', ...finished } }
  const closing = {
    valid_from: closed,
    values: { status: 'closed', closed_at: iso(closed), ...rating },
  }
  const steps: Stage[] = [answering, beginning, completion, ...(closed < now ? [closing] : [])]
  const inOrder = steps.every((step, i) => step.valid_from > (steps[i - 1]?.valid_from ?? at))
  if (now - at <= FULLY_TOLD && inOrder) return steps
  return [inOneStep(at, steps)]
}

/** The last of the steps with all that the ones before it brought, told in its history. */
function inOneStep(at: number, steps: readonly Stage[]): Stage {
  const last = steps.at(-1) as Stage
  const values: Row = Object.assign({}, ...steps.map((step) => step.values))
  const path = [{ valid_from: at, values: { status: 'new' } }, ...steps.slice(0, -1)]
  const moves = path.map((step, i) => ({
    from: path[i - 1]?.values['status'] ?? null,
    to: step.values['status'],
    at: iso(step.valid_from),
    by: BY,
    reason: null,
  }))
  return { valid_from: last.valid_from, values: { ...values, status_history: moves } }
}

/** Who moved what was moved in the past. */
const BY = { type: 'system', id: null }

const RATINGS = [
  [5, 46],
  [4, 32],
  [3, 13],
  [2, 6],
  [1, 3],
] as const

/** Not done yet: waiting, under way, on hold for a part, or waiting for someone to agree to the cost. */
function openCourse(
  taken: Row,
  times: { acknowledged: number; begun: number; now: number },
  random: Random,
): NonNullable<Draft['later']> {
  const { acknowledged, begun, now } = times
  const isStuck = now - acknowledged > LONG_OPEN
  if (acknowledged >= now || (random.chance(0.18) && !isStuck)) return []
  const drawn = random.weighted([
    ['acknowledged', 14],
    ['assigned', 22],
    ['scheduled', 16],
    ['in_progress', 28],
    ['on_hold', 13],
    ['pending_approval', 7],
  ] as const)
  const status = isStuck ? 'on_hold' : drawn
  const begins = status === 'in_progress' || status === 'on_hold' || status === 'pending_approval'
  const first =
    { acknowledged: 'acknowledged', scheduled: 'scheduled' }[status as string] ?? 'assigned'
  const planned =
    status === 'scheduled'
      ? { scheduled_start_at: iso(now + 20 * HOUR), scheduled_end_at: iso(now + 23 * HOUR) }
      : {}
  const { acknowledged_at } = taken
  const known = first === 'acknowledged' ? { acknowledged_at } : { ...taken, ...planned }
  const course = [{ valid_from: acknowledged, values: { status: first, ...known } as Row }]
  if (!begins || begun >= now || begun <= acknowledged) return course
  const reasons = {
    on_hold: isStuck ? 'Waiting for approval of the insurer.' : 'Waiting for a part.',
    pending_approval: 'The estimate is above the limit.',
  }
  const status_reason = reasons[status as keyof typeof reasons] ?? null
  const estimate =
    status === 'pending_approval' ? { estimated_cost: amount(random.int(12, 90) * 100) } : {}
  const values =
    status === 'in_progress'
      ? { status, started_at: iso(begun) }
      : { status, status_reason, ...estimate }
  return [...course, { valid_from: begun, values }]
}

/** Bills for vendors' work and larger repairs; 12 % of the work is charged to the tenant. */
function costsOf({ kind, vendor, isTenant, isPlanned }: Reported, random: Random): Row {
  const hasVendor = vendor !== null
  const isBillable = kind.category === 'billable_service' || (isTenant && random.chance(0.225))
  const hasCost = hasVendor || isBillable || random.chance(0.12)
  if (!hasCost) return {}
  const [low, high] = kind.cost
  const total = low * (high / low) ** random.next() * (isPlanned ? 0.8 : 1)
  const hours = round(Math.max(0.5, Math.round((total * 0.6) / 95 / 0.5) * 0.5), 1)
  const material = round(Math.max(0, total - hours * 95), 0)
  const labor = {
    kind: hasVendor ? 'vendor' : 'labor',
    description: hasVendor ? 'Technician on site' : 'Building engineer, regular time',
    quantity: hours,
    unit_price: '95.0000',
    amount: amount(hours * 95),
  }
  const parts = {
    kind: 'material',
    description: 'Parts',
    quantity: 1,
    unit_price: `${material}.0000`,
    amount: amount(material),
  }
  return {
    line_items: material > 0 ? [labor, parts] : [labor],
    is_billable_to_tenant: isBillable,
    ...(isBillable ? { markup_pct: 15 } : {}),
    ...(hasVendor ? { invoice_number: `INV-${random.int(10_000, 99_999)}` } : {}),
  }
}

function minute(at: number): number {
  return Math.round(at / MINUTE) * MINUTE
}

/** An instant as it stands in a body. */
export function iso(at: number): string {
  return new Date(at).toISOString()
}
