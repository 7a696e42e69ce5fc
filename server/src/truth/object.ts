import { invalid } from '../kit/errors.ts'
import { idDigits } from '../kit/ids.ts'
import type { Registry } from '../kit/query.ts'
import type { Resource } from '../kit/resource.ts'

/** The type an id belongs to, by its prefix. @param field that holds the id. @throws 422 for what is no id of a resource. */
export function objectOf(
  registry: Registry,
  text: string,
  field = 'id',
): { resource: Resource; id: number } {
  for (const resource of registry.values()) {
    const id = idDigits(resource.prefix, text)
    if (id !== null) return { resource, id }
  }
  const allowed = [...registry.values()].map((resource) => `${resource.prefix}_…`)
  const message = `'${text}' is not the id of an object`
  throw invalid([{ field, code: 'invalid_id', message, allowed }])
}
