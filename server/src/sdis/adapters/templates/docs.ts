/** Documentation of the endpoints of templates. */
import type { JsonSchema } from '../../../kit/field.ts'
import type { Parameter } from '../../../kit/parameters.ts'
import { listSchema } from '../../../kit/schemas.ts'
import { route } from '../docs.ts'
import { constant, documentSchema, text } from '../schemas.ts'
import { TEMPLATE_KINDS } from './templates.ts'

const ownField: JsonSchema = {
  type: 'object',
  description: 'A field that your organization adds before an entry can fill it.',
  properties: {
    type: text('Type that it belongs to.', 'lease'),
    name: text('Its name; the map calls it ext.<name>.', 'ar_total'),
    value_type: text('Type of its values.', 'money'),
    label: text('What people call it.', 'Receivables in all'),
    entry: {
      description: 'What stands beside it in the map.',
      examples: [{ from: 'row["Total Unpaid Charges"]', type: 'money' }],
    },
  },
}

const properties: Record<string, JsonSchema> = {
  id: text('Id of the template.', 'tpl_yardi-rent-roll'),
  object: constant('adapter_template'),
  system: text('The system that exports the report.', 'Yardi Voyager'),
  kind: { type: 'string', enum: [...TEMPLATE_KINDS], description: 'What the report tells.' },
  title: text('Its title.', 'Rent roll of Yardi Voyager'),
  description: text('What it loads and what to look at.', 'Leases with tenant, unit and term.'),
}

const summarySchema: JsonSchema = {
  title: 'AdapterTemplateSummary',
  type: 'object',
  description: 'A template, without its document.',
  properties,
  required: Object.keys(properties),
}

const templateSchema: JsonSchema = {
  title: 'AdapterTemplate',
  type: 'object',
  description: 'A document to start from.',
  properties: {
    ...properties,
    own_fields: {
      type: 'array',
      items: ownField,
      description: 'Fields that the model does not have; empty for most templates.',
    },
    document: documentSchema,
  },
  required: [...Object.keys(properties), 'own_fields', 'document'],
}

const templateId: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the template.',
  schema: { type: 'string', pattern: '^tpl_[a-z0-9-]+$', examples: ['tpl_yardi-rent-roll'] },
}

export const listTemplates = route(
  'read:jobs',
  'listAdapterTemplates',
  'List adapter templates',
  'Templates for the reports that property-management systems export: rent rolls, aged receivables, charge schedules. All in one answer.',
  { 200: listSchema(summarySchema, 'AdapterTemplateList') },
  { problems: [422] },
)

export const getTemplate = route(
  'read:jobs',
  'getAdapterTemplate',
  'Get an adapter template',
  'With its document, which can be kept as it is or changed to the columns of your report.',
  { 200: templateSchema },
  { parameters: [templateId], problems: [404, 422] },
)
