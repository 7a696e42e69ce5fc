/** What happens to a work order by itself: the times promised to the tenant pass. */
import type { Due } from '../kit/resource.ts'
import { isTakenUp } from './rules.ts'
import type { WorkOrderRow } from './rules.ts'

/** States in which the clock stands still, or has stopped. */
const STILL: readonly unknown[] = ['on_hold', 'completed', 'closed', 'cancelled']

export function workOrderAgenda(row: WorkOrderRow): Due[] {
  if (!row.sla || STILL.includes(row.status)) return []
  const { response_due_at, resolution_due_at } = row.sla as Record<string, string | null>
  return [
    ...(isTakenUp(row) ? [] : breach('response', response_due_at)),
    ...(row.completed_at ? [] : breach('resolution', resolution_due_at)),
  ]
}

function breach(of: 'response' | 'resolution', at: string | null | undefined): Due[] {
  if (!at) return []
  return [
    { mark: `sla ${of} ${at}`, at, type: 'work_order.sla_breached', about: { of, due_at: at } },
  ]
}
