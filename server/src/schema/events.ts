/** Events of the schema, and what else the audit log says of it. */
import type { EventDeclaration } from '../kit/record.ts'
import { fieldSchema, planSchema } from './field-docs.ts'

const ofField = { object_type: 'schema_field', object: fieldSchema }

export const schemaEvents: readonly EventDeclaration[] = [
  {
    type: 'schema.field_deployed',
    title: 'Field deployed',
    description: 'Objects of a type have a new field, or have one again, from now on.',
    ...ofField,
  },
  {
    type: 'schema.field_deprecated',
    title: 'Field deprecated',
    description: 'A field and its values are shown no more; facts are kept.',
    ...ofField,
  },
  {
    type: 'schema.changed',
    title: 'Schema changed',
    description:
      'A plan was deployed or rolled back; about has the new version and what it did to which field.',
    object_type: 'schema_plan',
    object: planSchema,
  },
]
