import type { Rollup } from '../kit/store.ts'
import { areaIn, contractsSql, HOLDINGS, RENTS, rollUp } from './in-force-queries.ts'

/**
 * Values of a lease that depend on today. Deleted and archived leases have none.
 *
 * - `timing`: by the status when it has ended for good, else by the dates of the term; null when it has none.
 * - `remaining_months`: full months from today to the expiration, both included (fullMonths of rules.ts); 0 when over.
 * - `annual_base_rent`, `monthly_base_rent`: see RENTS; null unless the lease is in force and a step holds.
 * - `base_rent_per_area`: annual base rent / area held today.
 * - `next_escalation_date`: the first day after today on which a base step follows another or an escalation rule falls
 *   due (first_date + n x frequency_months), within the term.
 * - `next_critical_date`: the earliest critical date from today on that is neither done, missed nor waived.
 * - `mark_to_market_pct`: (market - in place) / in place, both per area; market is the average of the market rents of the
 *   spaces held today, weighted by area. Spaces without a market rent or in another currency are left out.
 */
export const leaseRollup: Rollup = (db, org_id, ids) => rollUp(db, org_id, ids, SQL)

/** Full months from a contract's `today` to its expiration; a day is added because the expiration is included. */
const MONTHS = `(extract(year from age(c.expiration_date + 1, c.today)) * 12
    + extract(month from age(c.expiration_date + 1, c.today)))::integer`

const OVER = `c.status in ('expired', 'terminated', 'superseded', 'void')`

/** A rent per area moves the other way than an area when the unit changes. */
const MARKET_RENT = areaIn('s.market_rent_per_area', 'h.area_unit', 's.area_unit')

const PARTS = ['premises', 'rent_schedule', 'escalations', 'critical_dates'] as const

const SQL = `with ${contractsSql('l.id = any($2::bigint[])', PARTS)}, ${HOLDINGS}, ${RENTS},
  change as (
    select c.id as lease_id, i.start_date as on_date
    from contract c
    cross join lateral (
      select r.start_date, min(r.start_date) over () as first_date
      from json_to_recordset(c.rent_schedule) as r(kind text, start_date date) where r.kind = 'base'
    ) i
    where i.start_date > i.first_date
    union all
    select c.id, (e.first_date + make_interval(months => e.passed + n * e.every))::date
    from contract c
    cross join lateral (
      select r.first_date, coalesce(r.frequency_months, 0) as every,
        case when r.frequency_months > 0 and r.first_date <= c.today
          then (extract(year from age(c.today, r.first_date)) * 12 + extract(month from age(c.today, r.first_date)))::integer
            / r.frequency_months * r.frequency_months else 0 end as passed
      from json_to_recordset(c.escalations) as r(method text, frequency_months integer, first_date date)
      where r.method is distinct from 'none' and r.first_date is not null
    ) e
    cross join generate_series(0, 2) n
  ), escalation as (
    select c.id as lease_id, min(x.on_date) as on_date
    from contract c join change x on x.lease_id = c.id
    where (c.in_force or c.committed) and x.on_date > c.today
      and (c.is_month_to_month or coalesce(x.on_date <= c.expiration_date, true))
    group by c.id
  ), critical as (
    select c.id as lease_id, min(i.date) as on_date
    from contract c cross join lateral json_to_recordset(c.critical_dates) as i(date date, status text)
    where i.date >= c.today and coalesce(i.status in ('upcoming', 'due_soon'), true)
    group by c.id
  ), market as (
    select h.lease_id, sum(h.area * ${MARKET_RENT}) / nullif(sum(h.area), 0) as per_area
    from holding h
    join contract c on c.id = h.lease_id
    join space s on s.org_id = $1::bigint and s.id = h.space_id and s.deleted_at is null
    where h.held and s.market_rent_per_area is not null and coalesce(s.currency = c.currency, true)
    group by h.lease_id
  )
  select c.id, json_build_object(
    'timing', case when ${OVER} then case when c.status <> 'void' then 'past' end
      when c.commencement_date > c.today then 'future'
      when c.in_force or c.is_month_to_month then 'current'
      when c.expiration_date < c.today then 'past'
      when c.commencement_date is not null then 'current' end,
    'remaining_months', case when ${OVER} then 0 when not c.is_month_to_month then greatest(0, ${MONTHS}) end,
    'annual_base_rent', r.annual::text,
    'monthly_base_rent', r.monthly::text,
    'base_rent_per_area', round(r.annual / nullif(r.area, 0), 4)::text,
    'next_escalation_date', e.on_date,
    'next_critical_date', k.on_date,
    'mark_to_market_pct', round(100 * (m.per_area / nullif(r.annual / nullif(r.area, 0), 0) - 1), 2)) as rollups
  from contract c
  left join rent r on r.lease_id = c.id
  left join escalation e on e.lease_id = c.id
  left join critical k on k.lease_id = c.id
  left join market m on m.lease_id = c.id`
