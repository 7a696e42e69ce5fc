/** Documentation of the endpoints of fields, limits and versions. */
import { LIMITS } from '../kit/extension-limits.ts'
import { listSchema } from '../kit/schemas.ts'
import { closed, confirm, empty, fieldId, filter, get, LIMIT_TEXTS, paged, post } from './docs.ts'
import { constant, count, fieldSchema, list, object, text, versionSchema } from './field-docs.ts'

export const listFields = paged(
  get(
    {
      operationId: 'listSchemaFields',
      summary: 'List fields',
      description: 'Fields the organization added, oldest first.',
      response: { 200: listSchema(fieldSchema, 'SchemaFieldList') },
    },
    [],
    [422],
  ),
  [
    filter('object_type', 'Only fields of this type of objects.'),
    filter('state', 'Only fields in this state.', ['deployed', 'deprecated', 'removed']),
  ],
)

export const getField = get(
  {
    operationId: 'getSchemaField',
    summary: 'Get a field',
    description: 'A field the organization added.',
    response: { 200: fieldSchema },
  },
  [fieldId],
  [404, 422],
)

export const deprecateField = post('deploy:schema', {
  operationId: 'deprecateSchemaField',
  summary: 'Deprecate a field',
  description:
    'Hides the field and its values; facts are kept, and it can be restored for 30 days. Its name must be given in confirm.',
  id: fieldId,
  body: closed('SchemaFieldDeprecate', 'What is to be deprecated.', { confirm }),
  response: { 200: fieldSchema },
})

export const restoreField = post('deploy:schema', {
  operationId: 'restoreSchemaField',
  summary: 'Restore a field',
  description: 'Shows a deprecated field and its values again.',
  id: fieldId,
  body: empty('SchemaFieldRestore'),
  response: { 200: fieldSchema },
})

export const renameField = post('deploy:schema', {
  operationId: 'renameSchemaField',
  summary: 'Rename a field',
  description: `A label is free to change. Under a new api_name the field is answered at once; input may use the old one for ${LIMITS.alias_days} days.`,
  id: fieldId,
  body: closed('SchemaFieldRename', 'The new names.', {
    label: { ...text('What people see.', 'Recovery cap'), minLength: 1, maxLength: 100 },
    api_name: { ...text('Name under ext.', 'recovery_cap'), pattern: '^[a-z][a-z0-9_]{0,59}$' },
    description: { ...text('What the values say.', 'Most the tenant pays.'), maxLength: 500 },
  }),
  response: { 200: fieldSchema },
})

export const getLimits = get(
  {
    operationId: 'getSchemaLimits',
    summary: 'Get the limits of the schema',
    description: 'How much an organization may add, and how much of it there is.',
    response: {
      200: {
        title: 'SchemaLimits',
        ...object('Limits and use.', {
          object: constant('schema_limits'),
          limits: object(
            'At most so many.',
            Object.fromEntries(
              Object.entries(LIMITS).map(([name, value]) => [
                name,
                count(LIMIT_TEXTS[name as keyof typeof LIMITS], value),
              ]),
            ),
          ),
          used: list(
            'By type of objects.',
            object('Use of one type.', {
              object_type: text('The type.', 'lease'),
              fields: count('Deployed fields.', 3),
              filterable: count('Filterable ones.', 1),
              formulas: count('Formulas.', 0),
            }),
          ),
        }),
      },
    },
  },
  [],
  [422],
)

export const listChanges = paged(
  get(
    {
      operationId: 'listSchemaChanges',
      summary: 'List versions of the schema',
      description: 'What was deployed and rolled back, latest first.',
      response: { 200: listSchema(versionSchema, 'SchemaVersionList') },
    },
    [],
    [422],
  ),
  [],
)
