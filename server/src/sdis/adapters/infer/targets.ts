/** What columns can fill: the fields of a type, the parts of its structured ones, and what stands for related objects. */
import type { Field } from '../../../kit/field.ts'
import type { Registry } from '../../../kit/query.ts'
import { writableFields } from '../../../kit/resource.ts'
import type { Resource } from '../../../kit/resource.ts'
import { namesOf } from './names.ts'
import { unitsOf, wordsOf } from './words.ts'

export interface Target {
  /** `gross_area`, `address.city`; `premises.label` and `rent.monthly` stand for items of lists. */
  path: string
  /** Null for what is no field of its own. */
  field: Field | null
  names: readonly (readonly string[])[]
  /** Units that its description names. */
  units: readonly string[]
}

/** Types that rows of files describe. */
export const TYPES = [
  'building',
  'property',
  'lease',
  'space',
  'party',
  'contact',
  'floor',
  'work_order',
] as const

/** Fields that no column of a file is meant for. */
const NEVER = new Set(['external_ids', 'tags', 'ext', 'parent_party_id', 'global_party_id'])

/** Targets beside the fields of a lease: its premises, its rent, the code of its tenant. */
const OF_LEASE = ['premises.label', 'rent.monthly', 'rent.annual', 'rent.per_area', 'tenant.key']

const MEASURES = new Set(['kbtu', 'kwh', 'therms'])

/** The targets of a type. */
export function targetsOf(type: string, registry: Registry): Target[] {
  const resource = registry.get(type) as Resource
  const fields = Object.entries(writableFields(resource)).filter(([name]) => !NEVER.has(name))
  const found: [string, Field | null][] = fields.flatMap(([name, field]) => {
    if (field.kind === 'object')
      return Object.entries(field.items ?? {})
        .filter(([, part]) => part.kind !== 'list' && part.kind !== 'object')
        .map(([part, of]): [string, Field] => [`${name}.${part}`, of])
    return field.kind === 'list' ? [] : [[name, field]]
  })
  if (type === 'lease') found.push(...OF_LEASE.map((path): [string, null] => [path, null]))
  return found.map(([path, field]) => ({
    path,
    field,
    names: namesOf(type, path, field !== null).map(wordsOf),
    units: unitsOf(String(field?.schema['description'] ?? '')).filter((unit) => MEASURES.has(unit)),
  }))
}
