import type { Row } from '../kit/resource.ts'
import type { Rollup } from '../kit/store.ts'

/**
 * What the clock says about a work order.
 *
 * - `sla_response_breached`: it was taken up after `sla.response_due_at`, or is still untouched by then. It is taken up
 *   with the first of the times acknowledged, assigned, started or completed, or a move to a state of work (rules.ts).
 * - `sla_resolution_breached`: it was done after `sla.resolution_due_at`, or is not done by then.
 * - `age_hours`: (end - report) / 3600 s, holds included.
 * The clock stands still while the work is on hold, and stops when it is cancelled. Both flags are null without an SLA.
 */
export const workOrderRollup: Rollup = async (db, org_id, ids) => {
  const now = new Date().toISOString()
  const rows = await db.query<{ id: string; rollups: Row }>(org_id, SQL, [org_id, ids, now])
  return new Map(rows.map(({ id, rollups }) => [Number(id), rollups]))
}

const SQL = `select w.id, json_build_object(
    'sla_response_breached', coalesce(t.taken_up_at, t.done_at, t.clock_at) > t.response_due_at,
    'sla_resolution_breached', coalesce(t.done_at, t.clock_at) > t.resolution_due_at,
    'age_hours', round(greatest(0, extract(epoch from coalesce(t.done_at, $3::timestamptz) - coalesce(w.reported_at, w.created_at))) / 3600, 2)
  ) as rollups
  from work_order w
  cross join lateral json_to_record(w.body::json) as b(sla json, status_history json)
  cross join lateral (
    select (b.sla ->> 'response_due_at')::timestamptz as response_due_at,
      (b.sla ->> 'resolution_due_at')::timestamptz as resolution_due_at,
      case when w.status in ('on_hold', 'cancelled') then coalesce(w.status_changed_at, $3::timestamptz)
        else $3::timestamptz end as clock_at,
      coalesce(w.completed_at, w.closed_at,
        case when w.status in ('completed', 'closed', 'cancelled') then w.status_changed_at end) as done_at,
      least(w.acknowledged_at, w.assigned_at, w.started_at, w.completed_at, (
        select min(h.at) from json_to_recordset(b.status_history) as h("from" text, "to" text, at timestamptz)
        where h."from" is not null and h."to" not in ('new', 'on_hold', 'cancelled'))) as taken_up_at
  ) t
  where w.org_id = $1::bigint and w.id = any($2::bigint[])`
