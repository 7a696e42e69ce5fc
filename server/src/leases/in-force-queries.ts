/**
 * Which leases are in force today, what they hold and what rent they pay: the one definition behind every rollup.
 *
 * Fragments of a `with` clause, used in this order: `contractsSql` (leases), `HOLDINGS` (their premises), `RENTS` (their
 * base rent today). Every statement made of them takes the five parameters of `rollUp`.
 */
import { civilDate } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb } from '../kit/types.ts'

/** One international foot squared: 0.3048 m x 0.3048 m, exactly. */
const SQM_PER_SQFT = '0.09290304'

/** Leases that are signed and not over. */
export const SIGNED = `l.status in ('executed', 'active', 'holdover')`

/** SQL of an area in another unit; a unit that is not known counts as the same. */
export function areaIn(area: string, from: string, to: string): string {
  return `case when ${from} = 'sqm' and ${to} = 'sqft' then ${area} / ${SQM_PER_SQFT}
    when ${from} = 'sqft' and ${to} = 'sqm' then ${area} * ${SQM_PER_SQFT} else ${area} end`
}

/** Lists of a lease that live in its body. */
type Part = 'premises' | 'rent_schedule' | 'escalations' | 'critical_dates'

/**
 * CTE `contract`: the leases that `which` (SQL on `l`) picks, with the `parts` asked for and today's date in the time zone
 * of their property. A lease is in force when it is active or in holdover and its term has begun; it is committed when it
 * is signed, will begin and has not run out. `past_term`: no fixed end lies ahead, so what held last goes on.
 */
export function contractsSql(which: string, parts: readonly Part[] = ['premises']): string {
  const [only] = parts
  // One list is taken from the body without taking the whole apart.
  const source =
    parts.length === 1
      ? `(select (l.body::json ->> '${only}')::json as ${only})`
      : `json_to_record(l.body::json)`
  const columns = parts.map((name) => `${name} json`).join(', ')
  return `day as (
    select * from unnest($3::text[], $4::date[]) as d(zone, today)
  ), contract as (
    select l.id, l.property_id, l.building_id, l.tenant_party_id, l.status, l.lease_type, l.currency, l.area_unit,
      l.commencement_date, l.expiration_date, l.terminated_date, l.rentable_area, l.holdover_rent_pct, t.today,
      coalesce(l.is_month_to_month, false) as is_month_to_month,
      coalesce(l.is_month_to_month, false) or coalesce(l.expiration_date < t.today, false) as past_term,
      f.in_force,
      ${SIGNED} and not f.in_force and coalesce(l.expiration_date >= t.today, true) as committed,
      ${parts.map((name) => `part.${name}`).join(', ')}
    from lease l
    left join property p on p.org_id = l.org_id and p.id = l.property_id
    left join day on day.zone = p.time_zone
    cross join lateral (select coalesce(day.today, $5::date) as today) t
    cross join lateral (
      select l.status in ('active', 'holdover') and coalesce(l.commencement_date <= t.today, true) as in_force
    ) f
    cross join lateral ${source} as part${parts.length === 1 ? '' : `(${columns})`}
    where l.org_id = $1::bigint and l.deleted_at is null and l.archived_at is null and ${which}
  )`
}

/**
 * CTE `holding`: one row per lease and item of its premises that is held today (`held`) or will be under what is signed.
 * - An item that ends with the term goes on while the lease is in force. A lease without items that are or will be held
 *   holds its rentable area as a whole.
 * - `area` is in the lease's unit: the item's, else the lease's when it is the only item, else that of the space.
 * - The building is that of the space, else the one named, else the only one of the property. An item that names a
 *   building and no space holds all of it (`is_whole`).
 * - `counts` is false where areas would be counted twice: a sublease of what a lease holds already, and what is signed
 *   for space that is still let.
 */
export const HOLDINGS = `item as (
    select c.id as lease_id, c.property_id, c.lease_type = 'sublease' as is_sublease, c.area_unit,
      c.rentable_area as lease_area, c.building_id as lease_building_id, i.rentable_area as given_area,
      split_part(i.space_id, '_', 2)::bigint as space_id, split_part(i.building_id, '_', 2)::bigint as building_id,
      i.building_id is not null and i.space_id is null as is_whole,
      greatest(c.commencement_date, i.from_date) as begin_date,
      c.in_force and coalesce(greatest(c.commencement_date, i.from_date) <= c.today, true) as held
    from contract c
    left join lateral json_to_recordset(c.premises)
      as i(building_id text, space_id text, rentable_area numeric, from_date date, to_date date)
      on i.to_date is null or i.to_date >= c.today or i.to_date = c.expiration_date
    where c.in_force or c.committed
  ), sole as (
    select b.property_id, min(b.id) as building_id from building b
    where b.org_id = $1::bigint and b.property_id in (select property_id from item)
      and b.deleted_at is null and b.archived_at is null
    group by b.property_id having count(*) = 1
  ), placed as (
    select i.lease_id, i.property_id, i.is_sublease, i.area_unit, i.space_id, i.is_whole, i.begin_date, i.held,
      coalesce(s.building_id, i.building_id, i.lease_building_id, sole.building_id) as building_id,
      coalesce(i.given_area,
        case when count(*) over (partition by i.lease_id, i.held) = 1 then i.lease_area end,
        ${areaIn('s.rentable_area', 's.area_unit', 'i.area_unit')}) as area
    from item i
    left join space s on s.org_id = $1::bigint and s.id = i.space_id and s.deleted_at is null
    left join sole on sole.property_id = i.property_id
  ), holding as (
    select p.*, (p.held and not p.is_sublease) or not (
        (p.space_id is not null and bool_or(p.held and not p.is_sublease) over (partition by p.space_id))
        or (p.building_id is not null
          and bool_or(p.held and not p.is_sublease and p.is_whole) over (partition by p.building_id))
      ) as counts
    from placed p
  )`

/**
 * CTE `rent`: per lease its area today and, when it is in force, its contract base rent, rounded to the cent, so that
 * totals are the sums of what the leases show.
 * - Of each kind and set of spaces the step that began last holds until its end; past the term it goes on.
 * - A step's yearly rent is its annual amount, else twelve times the monthly one, else the rate times the area.
 * - Base steps make the rent, also while free rent lies across them (headline rent). Only where no base step holds does a
 *   free step count as nothing and an abated one as what it says.
 * - In holdover a step of the term counts with `holdover_rent_pct` (else as it stands).
 */
export const RENTS = `leased as (
    select c.id as lease_id, coalesce(sum(h.area) filter (where h.held), c.rentable_area) as area,
      coalesce(bool_or(h.held and h.counts), false) as counts
    from contract c join holding h on h.lease_id = c.id
    where c.in_force group by c.id, c.rentable_area
  ), step as (
    select distinct on (c.id, i.kind, s.spaces) c.id as lease_id, i.kind, s.spaces, l.area,
      i.end_date is null or i.end_date >= c.today or c.past_term as holds,
      i.amount_annual, i.amount_monthly, i.per_area_annual,
      case when c.status = 'holdover' and i.start_date <= c.expiration_date
        then coalesce(c.holdover_rent_pct, 100) / 100 else 1 end as factor
    from contract c
    join leased l on l.lease_id = c.id
    cross join lateral json_to_recordset(c.rent_schedule) as i(kind text, start_date date, end_date date,
      amount_annual numeric, amount_monthly numeric, per_area_annual numeric, space_ids json)
    cross join lateral (select array_agg(v order by v) as spaces from json_array_elements_text(i.space_ids) v) s
    where i.kind in ('base', 'free', 'abated') and i.start_date <= c.today
    order by c.id, i.kind, s.spaces, i.start_date desc
  ), part_area as (
    select s.lease_id, s.kind, s.spaces, sum(h.area) as area
    from step s join holding h on h.lease_id = s.lease_id
    where h.held and 'spc_' || h.space_id = any(s.spaces) group by s.lease_id, s.kind, s.spaces
  ), priced as (
    select s.lease_id, s.kind,
      s.factor * coalesce(s.amount_annual, s.amount_monthly * 12, s.per_area_annual * a.area) as annual,
      s.factor * coalesce(s.amount_monthly, s.amount_annual / 12, s.per_area_annual * a.area / 12) as monthly
    from step s
    left join part_area d on d.lease_id = s.lease_id and d.kind = s.kind and d.spaces = s.spaces
    cross join lateral (select case when s.spaces is null then s.area else d.area end as area) a
    where s.holds
  ), rent as (
    select l.lease_id, l.area, l.counts,
      round(case when bool_or(p.kind = 'base') then sum(p.annual) filter (where p.kind = 'base')
        when bool_or(p.kind is not null) then coalesce(sum(p.annual) filter (where p.kind = 'abated'), 0) end, 2) as annual,
      round(case when bool_or(p.kind = 'base') then sum(p.monthly) filter (where p.kind = 'base')
        when bool_or(p.kind is not null) then coalesce(sum(p.monthly) filter (where p.kind = 'abated'), 0) end, 2) as monthly
    from leased l left join priced p on p.lease_id = l.lease_id
    group by l.lease_id, l.area, l.counts
  )`

/** Years of 365.25 days from today to the end of a contract `c`; none when its term is over or open. */
export const REMAINING_YEARS = `(case when c.is_month_to_month or c.expiration_date is null then 0
  else greatest(0, c.expiration_date - c.today) end / 365.25)`

interface Zones {
  own: string
  others: string[]
}

/**
 * Runs a rollup: one row `id, rollups` per object, under the parameters `$1` organization, `$2` ids, `$3` time zones and
 * `$4` the civil date in each, `$5` the date in the organization's zone. Dates are worked out here, once per request:
 * PostgreSQL may know fewer zones than the platform accepts.
 */
export async function rollUp(
  db: OrgDb,
  org_id: number,
  ids: readonly number[],
  sql: string,
): Promise<Map<number, Row>> {
  if (ids.length === 0) return new Map()
  const now = Date.now()
  const rows = await db.transaction(org_id, async (tx) => {
    const [zones] = await tx.query<Zones>(
      `select o.time_zone as own, array(
          select distinct p.time_zone from property p where p.org_id = $1::bigint and p.time_zone is not null
        ) as others
      from organization o where o.org_id = $1::bigint and o.id = $1::bigint`,
      [org_id],
    )
    const { own, others } = zones as Zones
    const dates = others.map((zone) => civilDate(now, zone))
    const params = [org_id, ids, others, dates, civilDate(now, own)]
    return tx.query<{ id: string; rollups: Row }>(sql, params)
  })
  return new Map(rows.map(({ id, rollups }) => [Number(id), rollups]))
}
