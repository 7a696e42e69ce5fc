import type { Rollup } from '../kit/store.ts'
import { areaIn, contractsSql, HOLDINGS, rollUp, SIGNED } from '../leases/index.ts'

/**
 * Values of a floor over the spaces and leases of its building, areas in its unit.
 *
 * - A space over several floors, and a building let as a whole, are shared out among the floors by their rentable area
 *   (in equal parts where one of them has none). A lease that names neither cannot be placed on a floor.
 * - `vacant_area`: rentable less occupied area, never below zero.
 * - `tenants`: one entry per lease that counts (see HOLDINGS), the largest first: a sublease stands behind its head lease.
 */
export const floorRollup: Rollup = (db, org_id, ids) => rollUp(db, org_id, ids, SQL)

const BUILDINGS = `(select f.building_id from floor f where f.org_id = $1::bigint and f.id = any($2::bigint[]))`

const which = `l.property_id in (
    select b.property_id from building b where b.org_id = $1::bigint and b.id in ${BUILDINGS}) and ${SIGNED}`

const SQL = `with ${contractsSql(which)}, ${HOLDINGS},
  level as (
    select f.id, f.building_id, f.rentable_area, f.is_leasable from floor f
    where f.org_id = $1::bigint and f.building_id in ${BUILDINGS} and f.deleted_at is null and f.archived_at is null
  ), part as (
    select s.id as space_id, v.id as floor_id,
      case when bool_and(v.rentable_area > 0) over w then v.rentable_area / sum(v.rentable_area) over w
        else 1.0 / count(*) over w end as share
    from space s
    cross join lateral json_array_elements_text((s.body::json ->> 'floor_ids')::json) f
    join level v on v.id = split_part(f, '_', 2)::bigint
    where s.org_id = $1::bigint and s.building_id in ${BUILDINGS} and s.deleted_at is null and s.archived_at is null
    window w as (partition by s.id)
  ), whole as (
    select v.building_id, v.id as floor_id,
      case when bool_and(v.rentable_area > 0) over w then v.rentable_area / sum(v.rentable_area) over w
        else 1.0 / count(*) over w end as share
    from level v where v.is_leasable is not false window w as (partition by v.building_id)
  ), spot as (
    select p.floor_id, h.lease_id, h.area_unit, h.area * p.share as area
    from holding h join part p on p.space_id = h.space_id where h.held and h.counts
    union all
    select w.floor_id, h.lease_id, h.area_unit, h.area * w.share
    from holding h join whole w on w.building_id = h.building_id where h.held and h.counts and h.is_whole
  ), tenancy as (
    select f.id as floor_id, x.lease_id, sum(${areaIn('x.area', 'x.area_unit', 'f.area_unit')}) as area
    from spot x join floor f on f.org_id = $1::bigint and f.id = x.floor_id
    where f.id = any($2::bigint[]) group by f.id, x.lease_id
  ), occupied as (
    select t.floor_id, sum(t.area) as area, json_agg(json_build_object(
        'name', coalesce(p.display_name, p.legal_name), 'area', round(t.area, 2), 'expiration_date', c.expiration_date,
        'lease_id', 'le_' || c.id, 'tenant_party_id', 'pty_' || c.tenant_party_id) order by t.area desc, c.id) as tenants
    from tenancy t
    join contract c on c.id = t.lease_id
    left join party p on p.org_id = $1::bigint and p.id = c.tenant_party_id
    group by t.floor_id
  )
  select f.id, json_build_object(
    'occupied_area', round(coalesce(o.area, 0), 2),
    'vacant_area', case when f.rentable_area is not null then greatest(0, round(f.rentable_area - coalesce(o.area, 0), 2)) end,
    'space_count', (select count(*) from part p where p.floor_id = f.id),
    'tenants', coalesce(o.tenants, '[]'::json)) as rollups
  from floor f left join occupied o on o.floor_id = f.id
  where f.org_id = $1::bigint and f.id = any($2::bigint[])`
