/** Buildings, floors and spaces that an object names must lie in the building or else the property that it names. */
import { digitsOf } from './kit/needs.ts'
import type { Need, NeedKind } from './kit/needs.ts'
import type { Row } from './kit/resource.ts'

type Part = 'building' | 'floor' | 'space'
type Whole = 'property' | 'building'

/** The property of the building that a part `t` lies in. */
const OF_BUILDING =
  '(select b.property_id from building b where b.org_id = t.org_id and b.id = t.building_id limit 1)'

/** SQL of what a part `t` lies in. */
const LIES_IN: [Part, Whole, string][] = [
  ['building', 'property', 't.property_id'],
  ['floor', 'property', OF_BUILDING],
  ['space', 'property', OF_BUILDING],
  ['floor', 'building', 't.building_id'],
  ['space', 'building', 't.building_id'],
]

/** What does not exist, or lies nowhere, is no matter of place: not met is only what is known to lie elsewhere. */
export const placeKinds: readonly NeedKind[] = LIES_IN.map(([part, whole, lies]) => ({
  name: `${part} in ${whole}`,
  sql: `(select 0::bigint from ${part} t where t.org_id = $1::bigint and t.id = r.id
        and ${lies} <> (r.args ->> 'in')::bigint limit 1)`,
  issue: ({ field, args }) => ({
    field,
    code: `not_in_${whole}`,
    message: `must be a ${part} in the ${whole} ${String(args['name'])}`,
  }),
}))

/** A part that a row names: its type, its id, the path of its field, and the building that the row says it lies in. */
export type NamedPart = [type: Part, id: unknown, field: string, building?: unknown]

/** What must hold of the parts that a row names. */
export function placeNeeds(row: Row, parts: readonly NamedPart[]): Need[] {
  return parts.flatMap(([part, id, field, building]) => {
    const whole: Whole = typeof building === 'string' ? 'building' : 'property'
    const name = whole === 'building' ? building : row['property_id']
    if (typeof id !== 'string' || typeof name !== 'string') return []
    const args = { in: digitsOf(name), name }
    return [{ need: `${part} in ${whole}`, id: digitsOf(id), field, args }]
  })
}
