import type { Rollup } from '../kit/store.ts'
import {
  areaIn,
  contractsSql,
  HOLDINGS,
  REMAINING_YEARS,
  RENTS,
  rollUp,
  SIGNED,
} from '../leases/index.ts'

/**
 * Values of a property over its buildings, leases and work orders; areas in its unit, rents in its currency.
 *
 * - `occupied_area`: area held by leases in force; `leased_area`: that and what is committed (see HOLDINGS).
 * - `occupancy_pct`, `leased_pct`: these over the rentable area of the buildings.
 * - `walt_years`: sum(annual base rent x remaining years) / sum(annual base rent), to expiration; leases in holdover and
 *   from month to month have 0 years left.
 * - `annual_base_rent`: sum over the leases in force; null when there are some, but no rent in the property's currency is
 *   known. Rents in other currencies add nothing, here and to the weights of `walt_years`.
 */
export const propertyRollup: Rollup = (db, org_id, ids) => rollUp(db, org_id, ids, SQL)

const AREA = areaIn('h.area', 'h.area_unit', 'p.area_unit')

const SQL = `with ${contractsSql(`l.property_id = any($2::bigint[]) and ${SIGNED}`, ['premises', 'rent_schedule'])}, ${HOLDINGS}, ${RENTS},
  let as (
    select p.id as property_id, sum(${AREA}) filter (where h.held) as occupied, sum(${AREA}) as leased
    from holding h join property p on p.org_id = $1::bigint and p.id = h.property_id
    where h.counts group by p.id
  ), income as (
    select p.id as property_id, sum(x.annual) as annual,
      sum(x.annual * ${REMAINING_YEARS}) / nullif(sum(x.annual), 0) as walt
    from rent r
    join contract c on c.id = r.lease_id
    join property p on p.org_id = $1::bigint and p.id = c.property_id
    cross join lateral (
      select case when coalesce(c.currency, p.currency) is not distinct from p.currency then r.annual end as annual
    ) x
    where r.counts group by p.id
  ), built as (
    select p.id as property_id, count(*) as buildings, sum(${areaIn('b.rentable_area', 'b.area_unit', 'p.area_unit')}) as area
    from building b join property p on p.org_id = $1::bigint and p.id = b.property_id
    where b.org_id = $1::bigint and b.property_id = any($2::bigint[]) and b.deleted_at is null and b.archived_at is null
    group by p.id
  ), work as (
    select w.property_id, count(*) as open from work_order w
    where w.org_id = $1::bigint and w.property_id = any($2::bigint[])
      and w.status not in ('completed', 'closed', 'cancelled') and w.deleted_at is null and w.archived_at is null
    group by w.property_id
  )
  select p.id, json_build_object(
    'building_count', coalesce(b.buildings, 0),
    'rentable_area', round(coalesce(b.area, 0), 2),
    'occupied_area', round(coalesce(l.occupied, 0), 2),
    'leased_area', round(coalesce(l.leased, 0), 2),
    'occupancy_pct', round(100 * coalesce(l.occupied, 0) / nullif(b.area, 0), 2),
    'leased_pct', round(100 * coalesce(l.leased, 0) / nullif(b.area, 0), 2),
    'walt_years', round(i.walt, 2),
    'annual_base_rent', case when i.property_id is null then '0.00' else i.annual::text end,
    'open_work_orders', coalesce(w.open, 0)) as rollups
  from property p
  left join let l on l.property_id = p.id
  left join income i on i.property_id = p.id
  left join built b on b.property_id = p.id
  left join work w on w.property_id = p.id
  where p.org_id = $1::bigint and p.id = any($2::bigint[])`
