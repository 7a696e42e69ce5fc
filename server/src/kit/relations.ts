/** How resources lead to each other: fields that hold ids of others, and the names these take when they are shown beside. */
import type { Registry } from './query.ts'
import { allFields } from './resource.ts'
import type { Resource } from './resource.ts'

type Relations = ReadonlyMap<string, { column: string; target: Resource }>

const cache = new WeakMap<Registry, WeakMap<Resource, Relations>>()

/** Fields that lead to another object, by the name they take when expanded: `tenant_party_id` is `tenant`. */
export function relationsOf(resource: Resource, registry: Registry): Relations {
  const own = cache.get(registry) ?? new WeakMap<Resource, Relations>()
  cache.set(registry, own)
  const before = own.get(resource)
  if (before) return before
  const made = relations(resource, registry)
  own.set(resource, made)
  return made
}

function relations(resource: Resource, registry: Registry): Relations {
  const map = new Map<string, { column: string; target: Resource }>()
  for (const [name, field] of Object.entries(resource.fields)) {
    const target = field.target ? registry.get(field.target) : undefined
    if (target && field.kind === 'reference') map.set(relationName(name), { column: name, target })
  }
  return map
}

/** `tenant_party_id` -> `tenant`, `property_id` -> `property`, `floor_ids` -> `floors`. */
function relationName(field: string): string {
  if (field.endsWith('_ids')) return `${field.slice(0, -4)}s`
  return field.replace(/^(.+?)(_party|_document)?_id$/, '$1')
}

/** What can be expanded: single references and lists of ids. */
export function expandable(
  resource: Resource,
  registry: Registry,
): Map<string, { field: string; target: string }> {
  const map = new Map<string, { field: string; target: string }>()
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.target && registry.has(field.target))
      map.set(relationName(name), { field: name, target: field.target })
  }
  return map
}

/** Fields of expanded objects, `property.name` and `property.owner.legal_name`. */
export function expandedFields(
  resource: Resource,
  registry: Registry,
  expand: readonly string[],
): string[] {
  const heads = Map.groupBy(expand, (path) => path.split('.')[0] as string)
  return [...heads].flatMap(([head, paths]) => {
    const relation = expandable(resource, registry).get(head)
    const target = relation ? registry.get(relation.target) : undefined
    if (!target) return []
    const deeper = paths.flatMap((path) => path.split('.').slice(1).join('.') || [])
    const own = [...Object.keys(allFields(target)), ...deeper.map((path) => path.split('.')[0])]
    const names = [...own, ...expandedFields(target, registry, deeper)]
    return names.map((name) => `${head}.${name}`)
  })
}
