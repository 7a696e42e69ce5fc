import type { Rollup } from '../kit/store.ts'
import { areaIn, contractsSql, HOLDINGS, rollUp, SIGNED } from '../leases/index.ts'

/**
 * Values of a building over the leases of its property, areas in its unit.
 *
 * - `occupied_area`, `leased_area`: as for a property, by the building that premises lie in (see HOLDINGS).
 * - `occupancy_pct`, `vacant_area`: over the rentable area of the building; vacant area is never below zero.
 * - `next_expiration_date`: the earliest expiration from today on among the leases that hold some of it.
 */
export const buildingRollup: Rollup = (db, org_id, ids) => rollUp(db, org_id, ids, SQL)

const AREA = areaIn('h.area', 'h.area_unit', 'b.area_unit')

const SQL = `with ${contractsSql(`l.property_id in (
    select b.property_id from building b where b.org_id = $1::bigint and b.id = any($2::bigint[])) and ${SIGNED}`)}, ${HOLDINGS},
  let as (
    select b.id as building_id, sum(${AREA}) filter (where h.held and h.counts) as occupied,
      sum(${AREA}) filter (where h.counts) as leased,
      min(c.expiration_date) filter (where h.held and c.expiration_date >= c.today) as next_expiration
    from holding h
    join contract c on c.id = h.lease_id
    join building b on b.org_id = $1::bigint and b.id = h.building_id
    where b.id = any($2::bigint[]) group by b.id
  )
  select b.id, json_build_object(
    'occupied_area', round(coalesce(l.occupied, 0), 2),
    'leased_area', round(coalesce(l.leased, 0), 2),
    'occupancy_pct', round(100 * coalesce(l.occupied, 0) / nullif(b.rentable_area, 0), 2),
    'vacant_area', case when b.rentable_area is not null
      then greatest(0, round(b.rentable_area - coalesce(l.occupied, 0), 2)) end,
    'next_expiration_date', l.next_expiration) as rollups
  from building b left join let l on l.building_id = b.id
  where b.org_id = $1::bigint and b.id = any($2::bigint[])`
