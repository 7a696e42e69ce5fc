/** What a lease lets: its spaces must lie where it says, and no other tenant may have them on the same days. */
import { digitsOf } from '../kit/needs.ts'
import type { Need, NeedKind, Needs } from '../kit/needs.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { placeKinds, placeNeeds } from '../places.ts'
import type { NamedPart } from '../places.ts'

/** In these states a lease binds its spaces. */
export const IN_FORCE: readonly unknown[] = ['executed', 'active', 'holdover']

/** Contracts that give a space to one tenant alone; subleases and licences lie beside or below another lease. */
const EXCLUSIVE: readonly unknown[] = ['direct', 'storage', 'temporary']

const words = (values: readonly unknown[]): string => values.map((v) => `'${String(v)}'`).join(', ')

/**
 * SQL: the last day of a lease. One that runs on without a fixed end can be ended, so it stands in the way until today
 * only: the space may be let from a later day on.
 */
function lastDay(open: string, expiration: string): string {
  return `case when ${open} then greatest(${expiration}, current_date) else coalesce(${expiration}, 'infinity'::date) end`
}

const own = (name: string): string => `(r.args ->> '${name}')::date`

/**
 * Leases lie in the property of their spaces, so that property's are the ones to look at. Their searchable text names the
 * spaces; only the few that it gives are taken apart.
 */
const free: NeedKind = {
  name: 'space free',
  locks: 'space',
  sql: `(select l.id from lease l
        cross join lateral json_to_recordset(l.body::json -> 'premises') as p(space_id text, from_date date, to_date date)
        where l.org_id = $1::bigint and l.property_id = (r.args ->> 'property')::bigint
          and l.status in (${words(IN_FORCE)}) and l.lease_type in (${words(EXCLUSIVE)})
          and l.deleted_at is null and l.archived_at is null
          and l.id <> (r.args ->> 'lease')::bigint
          and l.tenant_party_id is distinct from (r.args ->> 'tenant')::bigint
          and strpos(l.search, 'spc_' || r.id) > 0 and p.space_id = 'spc_' || r.id
          and coalesce(p.from_date, l.commencement_date, '-infinity'::date)
            <= least(${own('to')}, ${lastDay(`(r.args ->> 'open')::boolean`, own('end'))})
          and coalesce(${own('from')}, '-infinity'::date)
            <= least(p.to_date, ${lastDay(`l.status = 'holdover' or coalesce(l.is_month_to_month, false)`, 'l.expiration_date')})
        order by l.id limit 1)`,
  issue: ({ id, field }, other) => {
    const by = other > 0 ? publicId('le', other) : 'another lease of this load'
    return {
      field,
      code: 'space_already_let',
      message: `${publicId('spc', id)} is let by ${by} on some of these days`,
      ...(other > 0 ? { other_id: by } : {}),
    }
  },
  clash: ({ args: a }, { args: b }) =>
    a['tenant'] !== b['tenant'] && firstDay(a) <= finalDay(b) && firstDay(b) <= finalDay(a),
}

function firstDay({ from }: Row): string {
  return String(from ?? '')
}

/** The last day of what is let, as the SQL reckons it; after all dates when there is none. */
function finalDay({ to, end, open }: Row): string {
  const today = new Date().toISOString().slice(0, 10)
  const last = open ? [String(end ?? ''), today].sort().at(-1) : (end ?? '~')
  return [String(to ?? '~'), String(last)].sort()[0] as string
}

export const leaseNeeds: Needs = {
  kinds: [...placeKinds, free],
  of: (row) => [...placeNeeds(row, partsOf(row)), ...lets(row)],
}

function partsOf(row: Row): NamedPart[] {
  const premises = (row['premises'] ?? []) as Row[]
  const steps = (row['rent_schedule'] ?? []) as { space_ids?: string[] | null }[]
  const lease = row['building_id']
  return [
    ['building', lease, 'building_id'],
    ...premises.flatMap(({ building_id, space_id }, i): NamedPart[] => [
      ['building', building_id, `premises[${i}].building_id`],
      ['space', space_id, `premises[${i}].space_id`, building_id ?? lease],
    ]),
    ...steps.flatMap(({ space_ids }, i) =>
      (space_ids ?? []).map((id, j): NamedPart => {
        return ['space', id, `rent_schedule[${i}].space_ids[${j}]`]
      }),
    ),
  ]
}

/** The spaces of a lease in force, with the days on which it has them. A renewal finds the same tenant in its space. */
function lets(row: Row): Need[] {
  const { status, lease_type, property_id, tenant_party_id } = row
  if (!IN_FORCE.includes(status) || !EXCLUSIVE.includes(lease_type)) return []
  const shared = {
    lease: typeof row['id'] === 'string' ? digitsOf(row['id']) : 0,
    property: typeof property_id === 'string' ? digitsOf(property_id) : 0,
    tenant: typeof tenant_party_id === 'string' ? digitsOf(tenant_party_id) : 0,
    // What was no hindrance for a lease that lay ahead may be one on the day it begins.
    status,
    open: status === 'holdover' || row['is_month_to_month'] === true,
    end: row['expiration_date'] ?? null,
  }
  const premises = (row['premises'] ?? []) as Row[]
  return premises.flatMap(({ space_id, from_date, to_date }, i) => {
    if (typeof space_id !== 'string') return []
    const from = from_date ?? row['commencement_date'] ?? null
    const args = { ...shared, from, to: to_date ?? null }
    return [{ need: free.name, id: digitsOf(space_id), field: `premises[${i}].space_id`, args }]
  })
}
