import type { Rollup } from '../kit/store.ts'
import { contractsSql, HOLDINGS, rollUp } from '../leases/index.ts'

/**
 * How a space is taken today, by the leases whose premises name it or let its building as a whole.
 *
 * - `in_place_lease_id`: the lease that holds it, a direct one before a sublease, then the one that began last.
 * - `committed_lease_id`: of the signed leases that will hold it, the one that begins first.
 * - `last_lease_id`: of the leases that held it and ended (expired, terminated, superseded, or the space was given back),
 *   the one that ended last.
 * - `status`: sublet, month_to_month or occupied when a lease is in place, else committed, else not_leasable (its
 *   availability says so, or all its floors), else vacant.
 */
export const spaceRollup: Rollup = (db, org_id, ids) => rollUp(db, org_id, ids, SQL)

const which = `l.property_id in (
    select b.property_id from building b join space s on s.org_id = b.org_id and s.building_id = b.id
    where b.org_id = $1::bigint and s.id = any($2::bigint[]))
  and l.status in ('executed', 'active', 'holdover', 'expired', 'terminated', 'superseded')`

const SQL = `with ${contractsSql(which)}, ${HOLDINGS},
  wanted as (
    select s.id, s.building_id, s.availability_type, (s.body::json ->> 'floor_ids')::json as floor_ids
    from space s where s.org_id = $1::bigint and s.id = any($2::bigint[])
  ), taken as (
    select w.id as space_id, h.lease_id, h.is_sublease, h.held, h.begin_date
    from wanted w join holding h on h.space_id = w.id
    union all
    select w.id, h.lease_id, h.is_sublease, h.held, h.begin_date
    from wanted w join holding h on h.building_id = w.building_id and h.is_whole
  ), in_place as (
    select distinct on (t.space_id) t.space_id, t.lease_id, c.is_month_to_month,
      bool_or(t.is_sublease) over (partition by t.space_id) as is_sublet
    from taken t join contract c on c.id = t.lease_id
    where t.held order by t.space_id, t.is_sublease, t.begin_date desc nulls last, t.lease_id desc
  ), committed as (
    select distinct on (t.space_id) t.space_id, t.lease_id
    from taken t where not t.held order by t.space_id, t.begin_date nulls last, t.lease_id
  ), given_back as (
    select c.id as lease_id, split_part(i.space_id, '_', 2)::bigint as space_id,
      split_part(i.building_id, '_', 2)::bigint as building_id, least(i.to_date, c.terminated_date, c.expiration_date) as end_date
    from contract c
    cross join lateral json_to_recordset(c.premises) as i(building_id text, space_id text, from_date date, to_date date)
    where (c.status in ('expired', 'terminated', 'superseded')
        or c.in_force and i.to_date < c.today and i.to_date is distinct from c.expiration_date)
      and coalesce(greatest(c.commencement_date, i.from_date)
        <= least(c.today, i.to_date, c.terminated_date, c.expiration_date), true)
  ), last as (
    select distinct on (w.id) w.id as space_id, g.lease_id
    from wanted w join given_back g on g.space_id = w.id or (g.space_id is null and g.building_id = w.building_id)
    order by w.id, g.end_date desc nulls last, g.lease_id desc
  ), closed as (
    select w.id as space_id
    from wanted w
    cross join lateral json_array_elements_text(w.floor_ids) f
    join floor v on v.org_id = $1::bigint and v.id = split_part(f, '_', 2)::bigint
    group by w.id having bool_and(v.is_leasable is false)
  )
  select w.id, json_build_object(
    'status', case when i.is_sublet then 'sublet' when i.is_month_to_month then 'month_to_month'
      when i.lease_id is not null then 'occupied' when c.lease_id is not null then 'committed'
      when w.availability_type = 'not_available' or x.space_id is not null then 'not_leasable' else 'vacant' end,
    'in_place_lease_id', 'le_' || i.lease_id,
    'committed_lease_id', 'le_' || c.lease_id,
    'last_lease_id', 'le_' || l.lease_id) as rollups
  from wanted w
  left join in_place i on i.space_id = w.id
  left join committed c on c.space_id = w.id
  left join last l on l.space_id = w.id
  left join closed x on x.space_id = w.id`
