/** Schemas of the bodies that create and change objects. */
import { NOT_EXTENSIBLE } from './extended.ts'
import { nullable } from './field.ts'
import type { Field, JsonSchema } from './field.ts'
import { allFields, writableFields } from './resource.ts'
import type { Resource } from './resource.ts'

/** Schema of a create body: closed, required fields required. */
export function createSchema(resource: Resource): JsonSchema {
  return bodySchema(resource, (field) => field.required)
}

/** Schema of a merge patch: closed, nothing required, null clears. */
export function patchSchema(resource: Resource): JsonSchema {
  return bodySchema(resource, () => false)
}

function bodySchema(resource: Resource, required: (field: Field) => boolean): JsonSchema {
  const writable = Object.entries(writableFields(resource))
  const readOnly = Object.keys(allFields(resource)).filter(
    (name) =>
      allFields(resource)[name]?.readOnly && (name !== 'ext' || NOT_EXTENSIBLE.has(resource.name)),
  )
  return {
    type: 'object',
    additionalProperties: false,
    'x-read-only': readOnly,
    properties: {
      ...Object.fromEntries(
        writable.map(([name, field]) => [
          name,
          required(field) ? field.schema : nullable(partial(field)),
        ]),
      ),
      ...(NOT_EXTENSIBLE.has(resource.name) ? {} : { ext: EXT_INPUT }),
    },
    required: writable.filter(([, field]) => required(field)).map(([name]) => name),
  }
}

/** Which fields there are depends on the organization: the handler checks them. */
const EXT_INPUT: JsonSchema = {
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'Fields your organization added to the schema, by name; null clears.',
  examples: [{}],
}

/** Objects inside a merge patch may be partial; the merged whole is checked again. */
function partial(field: Field): JsonSchema {
  if (field.kind !== 'object' || !field.items) return field.schema
  const { required: _, ...open } = field.schema
  const properties = Object.fromEntries(
    Object.entries(field.items).map(([name, item]) => [name, nullable(item.schema)]),
  )
  return { ...open, properties }
}
