/** The portfolio in figures, as SQL over what is stored: for `grid seed` to print and for tests to compare. */
import type { OrgDb } from '../kit/types.ts'

/** One kind of property, or all of them in one currency. Areas in the unit of the currency, rents per year. */
export interface SummaryRow {
  currency: string
  /** Property type; offices by subtype. */
  segment: string
  properties: number
  buildings: number
  floors: number
  spaces: number
  rentable_area: number
  occupancy_pct: number | null
  leased_pct: number | null
  active_leases: number
  annual_base_rent: number
  rent_per_area: number | null
  walt_by_rent: number | null
  walt_by_area: number | null
}

/**
 * Occupied is what running leases (active, holdover) hold; leased adds those that are signed for space without a running
 * lease. Base rent is the step that holds on the day. Years left count from the day to the expiration; leases without
 * one, or past it, have none left.
 */
const SQL = `
with base as (
  select l.id, l.property_id, l.status, l.rentable_area, r.annual, r.is_due,
    greatest(0, coalesce(l.expiration_date, $2::date) - $2::date) / 365.25 as years
  from lease l
  cross join lateral (
    select coalesce(sum((s->>'amount_annual')::numeric), 0) as annual, count(*) > 0 as is_due
    from json_array_elements(l.body::json->'rent_schedule') s
    where s->>'kind' = 'base' and (s->>'start_date')::date <= $2::date
      and coalesce((s->>'end_date')::date, 'infinity') >= $2::date
  ) r
  where l.org_id = $1 and l.deleted_at is null and l.status in ('active', 'holdover')
), held as (
  select distinct p->>'space_id' as space_id
  from lease l cross join lateral json_array_elements(l.body::json->'premises') p
  where l.org_id = $1 and l.deleted_at is null and l.status in ('active', 'holdover')
), committed as (
  select l.property_id, sum((p->>'rentable_area')::numeric) as area
  from lease l cross join lateral json_array_elements(l.body::json->'premises') p
  where l.org_id = $1 and l.deleted_at is null and l.status = 'executed'
    and not exists (select from held h where h.space_id = p->>'space_id')
  group by l.property_id
), stock as (
  select b.property_id, count(*) as buildings, sum(b.rentable_area) as area,
    sum((select count(*) from floor f where f.org_id = $1 and f.building_id = b.id and f.deleted_at is null)) as floors,
    sum((select count(*) from space s where s.org_id = $1 and s.building_id = b.id and s.deleted_at is null)) as spaces
  from building b where b.org_id = $1 and b.deleted_at is null
  group by b.property_id
), rents as (
  select property_id, count(*) as leases, sum(rentable_area) as area, sum(annual) as annual,
    sum(rentable_area) filter (where is_due) as due_area, sum(annual * years) as rent_years,
    sum(rentable_area * years) as area_years
  from base group by property_id
)
select p.currency, case when grouping(p.segment) = 1 then 'all' else p.segment end as segment,
  count(*)::integer as properties, sum(k.buildings)::integer as buildings, sum(k.floors)::integer as floors,
  sum(k.spaces)::integer as spaces, sum(k.area)::float8 as rentable_area,
  round(100 * coalesce(sum(r.area), 0) / nullif(sum(k.area), 0), 1)::float8 as occupancy_pct,
  round(100 * (coalesce(sum(r.area), 0) + coalesce(sum(c.area), 0)) / nullif(sum(k.area), 0), 1)::float8 as leased_pct,
  coalesce(sum(r.leases), 0)::integer as active_leases, coalesce(sum(r.annual), 0)::float8 as annual_base_rent,
  round(sum(r.annual) / nullif(sum(r.due_area), 0), 2)::float8 as rent_per_area,
  round(sum(r.rent_years) / nullif(sum(r.annual), 0), 2)::float8 as walt_by_rent,
  round(sum(r.area_years) / nullif(sum(r.area), 0), 2)::float8 as walt_by_area
from (
  select id, currency, case when property_type = 'office' then coalesce(property_subtype, 'office') else property_type end as segment
  from property where org_id = $1 and deleted_at is null
) p
left join stock k on k.property_id = p.id
left join rents r on r.property_id = p.id
left join committed c on c.property_id = p.id
group by p.currency, rollup (p.segment)
order by p.currency desc, grouping(p.segment), sum(k.area) desc`

export interface LeaseCount {
  status: string
  leases: number
}

/** @param today `YYYY-MM-DD`. */
export async function summarise(db: OrgDb, org_id: number, today: string): Promise<SummaryRow[]> {
  return await db.query<SummaryRow>(org_id, SQL, [org_id, today])
}

export async function leaseCounts(db: OrgDb, org_id: number): Promise<LeaseCount[]> {
  return await db.query<LeaseCount>(
    org_id,
    `select status, count(*)::integer as leases from lease where org_id = $1 and deleted_at is null
     group by status order by count(*) desc`,
    [org_id],
  )
}

const COLUMNS: readonly (readonly [heading: string, width: number, (row: SummaryRow) => string])[] =
  [
    ['', 18, (row) => row.segment],
    ['', 4, (row) => row.currency],
    ['props', 6, (row) => whole(row.properties)],
    ['bldgs', 6, (row) => whole(row.buildings)],
    ['floors', 7, (row) => whole(row.floors)],
    ['spaces', 7, (row) => whole(row.spaces)],
    ['area', 11, (row) => whole(row.rentable_area)],
    ['occupied', 9, (row) => pct(row.occupancy_pct)],
    ['leased', 8, (row) => pct(row.leased_pct)],
    ['leases', 8, (row) => whole(row.active_leases)],
    ['base rent', 15, (row) => whole(Math.round(row.annual_base_rent))],
    ['per area', 9, (row) => row.rent_per_area?.toFixed(2) ?? '-'],
    ['WALT', 6, (row) => row.walt_by_rent?.toFixed(2) ?? '-'],
    ['by area', 8, (row) => row.walt_by_area?.toFixed(2) ?? '-'],
  ]

/** The figures as a table of plain text. */
export function summaryTable(rows: readonly SummaryRow[]): string {
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) =>
        i < 2 ? cell.padEnd(COLUMNS[i]?.[1] ?? 0) : cell.padStart(COLUMNS[i]?.[1] ?? 0),
      )
      .join('')
      .trimEnd()
  return [
    line(COLUMNS.map(([heading]) => heading)),
    ...rows.map((row) => line(COLUMNS.map(([, , text]) => text(row)))),
  ].join('\n')
}

function whole(value: number): string {
  return value.toLocaleString('en-US')
}

function pct(value: number | null): string {
  return value === null ? '-' : `${value.toFixed(1)} %`
}
