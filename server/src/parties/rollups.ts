import type { Rollup } from '../kit/store.ts'
import { areaIn, contractsSql, HOLDINGS, RENTS, rollUp } from '../leases/index.ts'

/**
 * What a party leases today over the whole portfolio, in the organization's currency and unit of area.
 *
 * - `active_lease_count`, `leased_area`: the leases in force with the party as tenant, and the area they hold.
 * - `annual_base_rent`: sum of their base rents in the organization's currency; null when there are leases, but no rent in
 *   that currency is known.
 * - `share_of_rent_pct`: that rent over the rent of all leases in force in that currency. A sublease of what a lease holds
 *   already adds to neither side: its rent is not paid to the portfolio.
 */
export const partyRollup: Rollup = (db, org_id, ids) => rollUp(db, org_id, ids, SQL)

const SQL = `with ${contractsSql(`l.status in ('active', 'holdover')`, ['premises', 'rent_schedule'])}, ${HOLDINGS}, ${RENTS},
  own as (
    select o.default_currency as currency, o.default_area_unit as area_unit
    from organization o where o.org_id = $1::bigint and o.id = $1::bigint
  ), held as (
    select h.lease_id, sum(${areaIn('h.area', 'h.area_unit', 'own.area_unit')}) as area
    from holding h cross join own where h.held group by h.lease_id
  ), paid as (
    select c.tenant_party_id, held.area, case when coalesce(c.currency, own.currency) = own.currency then r.annual end as annual, r.counts
    from rent r
    join contract c on c.id = r.lease_id
    left join held on held.lease_id = r.lease_id
    cross join own
  ), total as (
    select sum(annual) filter (where counts) as annual from paid
  ), tenant as (
    select tenant_party_id, count(*) as leases, sum(area) as area, sum(annual) as annual,
      sum(annual) filter (where counts) as counted
    from paid where tenant_party_id = any($2::bigint[]) group by tenant_party_id
  )
  select p.id, json_build_object(
    'active_lease_count', coalesce(t.leases, 0),
    'leased_area', round(coalesce(t.area, 0), 2),
    'area_unit', own.area_unit,
    'annual_base_rent', case when t.leases is null then '0.00' else t.annual::text end,
    'currency', own.currency,
    'share_of_rent_pct', round(100 * coalesce(t.counted, 0) / nullif(total.annual, 0), 2)) as rollups
  from party p cross join own cross join total left join tenant t on t.tenant_party_id = p.id
  where p.org_id = $1::bigint and p.id = any($2::bigint[])`
