/** The schema as rows of a query: one per field of a type. */
import { schemaDocument } from '../grid/schema.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'

interface TypeView {
  name: string
  attributes: Row[]
}

const cache = new WeakMap<object, string>()

/** JSON of every field of every type, as the organization has them. */
export async function schemaRows({ registry }: Store, _org_id: number): Promise<string> {
  let rows = cache.get(registry)
  if (rows === undefined) {
    const { types } = JSON.parse(schemaDocument([...registry.values()]).text) as {
      types: TypeView[]
    }
    rows = JSON.stringify(
      types.flatMap(({ name, attributes }) =>
        attributes.map((attribute) => ({ ...attribute, type: name })),
      ),
    )
    cache.set(registry, rows)
  }
  return await Promise.resolve(rows)
}
