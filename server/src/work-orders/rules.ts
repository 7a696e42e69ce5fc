/** The lifecycle of a work order, its times, and what follows from both. Pure: nothing depends on the present moment. */
import { inEach, knownCurrency, notBefore, notItself } from '../kit/checks.ts'
import { multiplyMoney, sumMoney } from '../kit/decimal.ts'
import type { Issue } from '../kit/errors.ts'
import type { Lifecycle, RowOf } from '../kit/resource.ts'
import type { ItemOf } from '../kit/vocabulary.ts'
import type { lineItemFields, workOrderFields } from './fields.ts'

export type WorkOrderRow = RowOf<typeof workOrderFields>

/** domain.md section 2. Steps may be skipped forwards; from on_hold the work returns to where it was. */
export const workOrderLifecycle: Lifecycle = {
  field: 'status',
  initial: 'new',
  transitions: {
    new: [
      'acknowledged',
      'assigned',
      'scheduled',
      'in_progress',
      'completed',
      'closed',
      'on_hold',
      'cancelled',
    ],
    acknowledged: [
      'assigned',
      'scheduled',
      'in_progress',
      'completed',
      'closed',
      'on_hold',
      'cancelled',
    ],
    assigned: [
      'scheduled',
      'in_progress',
      'completed',
      'closed',
      'pending_approval',
      'on_hold',
      'cancelled',
    ],
    scheduled: ['in_progress', 'completed', 'closed', 'on_hold', 'cancelled'],
    in_progress: ['completed', 'closed', 'pending_approval', 'on_hold', 'cancelled'],
    on_hold: [
      'new',
      'acknowledged',
      'assigned',
      'scheduled',
      'in_progress',
      'pending_approval',
      'cancelled',
    ],
    pending_approval: ['in_progress', 'on_hold', 'cancelled'],
    completed: ['closed', 'in_progress'],
    closed: [],
    cancelled: [],
  },
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** The times promised to tenants, in plain elapsed time from the report; four levels as Re-Leased advises. */
export const SLA_POLICY = {
  name: 'standard',
  times: {
    emergency: { response: 15 * MINUTE, resolution: 4 * HOUR },
    urgent: { response: 1 * HOUR, resolution: 24 * HOUR },
    normal: { response: 4 * HOUR, resolution: 72 * HOUR },
    low: { response: 24 * HOUR, resolution: 168 * HOUR },
  },
  /** Work that answers a report. Planned work (upkeep, inspections, projects, ...) has a due date of its own. */
  types: ['corrective', 'emergency', 'tenant_request', 'utility'],
} as const

export function checkWorkOrder(row: WorkOrderRow): Issue[] {
  return [
    ...notBefore(row, 'scheduled_start_at', 'scheduled_end_at', 'end_before_start'),
    ...notBefore(row, 'started_at', 'completed_at', 'before_start'),
    ...notBefore(row, 'completed_at', 'closed_at', 'before_completion'),
    ...notItself(row, 'parent_work_order_id'),
    ...knownCurrency(row.currency),
    ...inEach(lineItems(row), 'line_items', (item, at) =>
      (item.quantity ?? 0) < 0
        ? [{ field: `${at}quantity`, code: 'negative', message: 'must not be negative' }]
        : [],
    ),
  ]
}

interface Move {
  from: string | null
  to: string
  at: number
}

function entriesOf(row: WorkOrderRow): Move[] {
  const history = (row.status_history ?? []) as { from?: string | null; to: string; at: string }[]
  return history.map((entry) => ({
    from: entry.from ?? null,
    to: entry.to,
    at: Date.parse(entry.at),
  }))
}

/** The first entry of a work order that was loaded in some state is no move: nothing happened at that moment. */
function movesOf(row: WorkOrderRow): Move[] {
  return entriesOf(row).filter((entry) => entry.from !== null)
}

export function deriveWorkOrder(row: WorkOrderRow): Partial<WorkOrderRow> {
  const entries = entriesOf(row)
  const moves = movesOf(row)
  const stamped = { ...row, ...stamps(row, moves) }
  const last = entries.at(-1)?.at ?? instant(row.created_at)
  return {
    ...stamps(row, moves),
    status_changed_at: last === null ? null : iso(last),
    reopened_count: moves.filter(isReopening).length,
    sla_paused_minutes: Math.floor(pausedTime(moves, Infinity) / MINUTE),
    sla: slaOf(stamped, moves),
    actual_cost: sumMoney(
      lineItems(row).map((item) => item.amount ?? multiplyMoney(item.quantity, item.unit_price)),
    ),
  }
}

const isReopening = (move: Move): boolean => move.from === 'completed' && move.to === 'in_progress'

/** Which move sets which time, unless the client gave it. */
const STAMPS = {
  acknowledged_at: ['acknowledged'],
  assigned_at: ['assigned'],
  started_at: ['in_progress'],
  completed_at: ['completed', 'closed'],
  closed_at: ['closed'],
} as const

type Stamps = Partial<Record<keyof typeof STAMPS, string | null>>

/** The times that moves imply. Only what changes is returned: the rest stays as the sources claim it. */
function stamps(row: WorkOrderRow, moves: readonly Move[]): Stamps {
  const set: Stamps = {}
  const reopened = moves.findLast(isReopening)?.at ?? -Infinity
  const since = moves.filter((move) => move.at >= reopened)
  const isStale = (instant(row.completed_at) ?? Infinity) <= reopened
  if (isStale) set.completed_at = null
  for (const [field, states] of Object.entries(STAMPS) as [keyof Stamps, readonly string[]][]) {
    const isKnown = row[field] && !(field === 'completed_at' && isStale)
    const candidates = field === 'completed_at' ? since : moves
    const move = candidates.find((candidate) => states.includes(candidate.to))
    if (!isKnown && move) set[field] = iso(move.at)
  }
  return set
}

function slaOf(row: WorkOrderRow, moves: readonly Move[]): WorkOrderRow['sla'] {
  const start = instant(row.reported_at) ?? instant(row.created_at)
  if (start === null || !row.priority || !row.type) return null
  if (!(SLA_POLICY.types as readonly string[]).includes(row.type)) return null
  const times = SLA_POLICY.times[row.priority]
  const response = start + times.response + pausedTime(moves, responseTime(row, moves))
  const resolution = start + times.resolution + pausedTime(moves, Infinity)
  return {
    policy: SLA_POLICY.name,
    response_due_at: iso(response),
    resolution_due_at: iso(resolution),
  }
}

/** When someone first took up the work; Infinity while no one has. A later hold must not move the response time. */
function responseTime(row: WorkOrderRow, moves: readonly Move[]): number {
  const taken = moves.filter((move) => !['new', 'on_hold', 'cancelled'].includes(move.to))
  const times = [row.acknowledged_at, row.assigned_at, row.started_at, row.completed_at]
  return Math.min(...taken.map((move) => move.at), ...times.map((at) => instant(at) ?? Infinity))
}

/** Has someone taken up the work? */
export function isTakenUp(row: WorkOrderRow): boolean {
  return responseTime(row, movesOf(row)) < Infinity
}

/** Milliseconds of the holds that began before `until` and have ended. */
function pausedTime(moves: readonly Move[], until: number): number {
  let paused = 0
  let since: number | null = null
  for (const move of moves) {
    if (move.to === 'on_hold') since = move.at
    else if (since !== null) {
      if (since < until) paused += Math.max(0, move.at - since)
      since = null
    }
  }
  return paused
}

function lineItems(row: WorkOrderRow): ItemOf<typeof lineItemFields>[] {
  return row.line_items ?? []
}

function instant(text: string | null | undefined): number | null {
  return text ? Date.parse(text) : null
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
