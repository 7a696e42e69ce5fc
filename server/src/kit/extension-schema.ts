/** The form of fields of the organization's own, for documents: what answers show and what bodies may hold. */
import { ADDRESS_PARTS, deployed, UNITS } from './extension.ts'
import type { Extension } from './extension.ts'
import { boundsOf, NUMBER_MAX, TEXT_MAX } from './extension-input.ts'
import { nullable } from './field.ts'
import type { JsonSchema } from './field.ts'

/** JSON Schema of a value that is not null. */
export function valueSchema(extension: Extension): JsonSchema {
  const { label, description, settings } = extension
  const words = [description ?? `${label}.`, unitText(extension)].filter(Boolean).join(' ')
  return {
    ...typeSchema(extension),
    description: words,
    examples: [exampleOf(extension)],
    ...(settings.default === undefined ? {} : { 'x-grid-has-default': true }),
    'x-grid-field': `fld_${extension.id}`,
    'x-grid-label': label,
  }
}

function unitText({ type, settings }: Extension): string {
  if (type === 'percent') return 'Percent on the 0-100 scale.'
  if (type === 'money' && settings.currency) return `In ${settings.currency}.`
  return settings.unit ? `In ${settings.unit}.` : ''
}

function typeSchema(extension: Extension): JsonSchema {
  const { type, settings, options } = extension
  const names = options.filter(({ state }) => state === 'active').map(({ name }) => name)
  switch (type) {
    case 'percent':
    case 'integer':
    case 'decimal': {
      const { min, max } = boundsOf(extension)
      const low = min === -NUMBER_MAX ? {} : { minimum: min }
      const high = max === NUMBER_MAX ? {} : { maximum: max }
      return { type: type === 'integer' ? 'integer' : 'number', ...low, ...high }
    }
    case 'select':
      return { type: 'string', enum: names }
    case 'multi_select':
      return { type: 'array', items: { type: 'string', enum: names }, uniqueItems: true }
    case 'boolean':
      return { type: 'boolean' }
    case 'text':
    case 'long_text':
    case 'phone':
      return {
        type: 'string',
        minLength: 1,
        maxLength: settings.max_length ?? TEXT_MAX[type] ?? 200,
      }
    case 'url':
      return { type: 'string', format: 'uri', maxLength: settings.max_length ?? TEXT_MAX['url'] }
    case 'email':
      return { type: 'string', format: 'email' }
    case 'date':
      return { type: 'string', format: 'date' }
    case 'datetime':
      return { type: 'string', format: 'date-time' }
    case 'money':
      return closed({
        amount: { type: ['string', 'number'], pattern: '^-?[0-9]{1,15}(\\.[0-9]{1,2})?$' },
        currency: { type: 'string', ...only(settings.currency) },
      })
    case 'area':
    case 'length':
      return closed({
        value: { type: 'number' },
        unit: { type: 'string', enum: Object.keys(UNITS[type]) },
      })
    case 'relation':
    case 'document':
      return { type: 'string', pattern: `^${settings.target_prefix}_[0-9]+$` }
    case 'address':
      return closed(
        Object.fromEntries(ADDRESS_PARTS.map((part) => [part, { type: ['string', 'null'] }])),
      )
    case 'formula':
      return { type: ['number', 'string', 'boolean'], readOnly: true }
  }
}

const only = (value: string | undefined): JsonSchema => (value ? { enum: [value] } : {})

function closed(properties: Record<string, JsonSchema>): JsonSchema {
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    required: Object.keys(properties),
  }
}

const PLAIN_EXAMPLES: Readonly<Record<string, unknown>> = {
  percent: 12.5,
  boolean: true,
  text: 'Corner unit',
  long_text: 'Agreed by telephone.',
  integer: 12,
  decimal: 1.25,
  date: '2026-12-31',
  datetime: '2026-12-31T08:00:00.000Z',
  url: 'https://example.com/plan',
  email: 'dana@example.com',
  phone: '+49301234567',
  address: {
    line1: '1 Harbor Street',
    line2: null,
    city: 'Boston',
    region: 'US-MA',
    postal_code: '02110',
    country: 'US',
  },
  formula: 1,
}

/** A value as a client writes it. */
export function exampleOf({ type, settings, options }: Extension): unknown {
  const option = options.find(({ state }) => state === 'active')?.name
  if (type === 'select') return option ?? null
  if (type === 'multi_select') return option === undefined ? [] : [option]
  if (type === 'money') return { amount: '12500.00', currency: settings.currency ?? 'EUR' }
  if (type === 'area' || type === 'length') return { value: 120.5, unit: settings.unit }
  if (type === 'relation' || type === 'document') return `${settings.target_prefix}_1042`
  return PLAIN_EXAMPLES[type] ?? null
}

/** The object `ext` of an answer: every field there, null where the object has no value. */
export function shownSchema(extensions: readonly Extension[]): JsonSchema {
  const live = deployed(extensions)
  return {
    type: 'object',
    description: 'Fields your organization added to the schema, by name.',
    properties: Object.fromEntries(live.map((e) => [e.name, nullable(valueSchema(e))])),
    required: live.map(({ name }) => name),
    additionalProperties: false,
  }
}

/** The object `ext` of a body. @param create whether required fields must be there. */
export function inputSchema(extensions: readonly Extension[], create: boolean): JsonSchema {
  const live = deployed(extensions).filter(({ type }) => type !== 'formula')
  const needed = live.filter((e) => create && e.required && e.settings.default === undefined)
  return {
    type: ['object', 'null'],
    description: 'Fields your organization added to the schema, by name; null clears.',
    properties: Object.fromEntries(
      live.map((e) => [e.name, e.required ? valueSchema(e) : nullable(valueSchema(e))]),
    ),
    additionalProperties: false,
    ...(needed.length > 0 ? { required: needed.map(({ name }) => name) } : {}),
  }
}
