/** The schema as rows of a query: one per field of a type, those of the organization's own too. */
import { schemaDocument } from '../grid/schema.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'

interface TypeView {
  name: string
  attributes: Row[]
  ext: Row[]
}

const cache = new WeakMap<object, string>()

/** JSON of every field of every type, as the organization has them. */
export function schemaRows({ registry }: Pick<Store, 'registry'>): string {
  let rows = cache.get(registry)
  if (rows === undefined) {
    const { types } = JSON.parse(schemaDocument([...registry.values()]).text) as {
      types: TypeView[]
    }
    rows = JSON.stringify(
      types.flatMap(({ name, attributes, ext }) => [
        ...attributes.map((attribute) => ({ ...attribute, type: name })),
        ...ext.map((attribute) => ({
          ...attribute,
          type: name,
          read_only: attribute['kind'] === 'formula',
          derived: attribute['kind'] === 'formula',
          relation: null,
        })),
      ]),
    )
    cache.set(registry, rows)
  }
  return rows
}
