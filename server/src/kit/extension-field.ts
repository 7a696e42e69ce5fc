/** Fields of the organization's own in the vocabulary of declared ones, for what is made for those. */
import { ownSchema } from './extended.ts'
import type { Schemas } from './extended.ts'
import { deployed, extensionKey } from './extension.ts'
import type { Extension, ExtensionType } from './extension.ts'
import { valueSchema } from './extension-schema.ts'
import type { Field, FieldKind, JsonSchema } from './field.ts'

const KINDS: Record<ExtensionType, FieldKind> = {
  percent: 'percent',
  select: 'choice',
  boolean: 'boolean',
  text: 'text',
  long_text: 'text',
  integer: 'integer',
  decimal: 'number',
  money: 'money',
  date: 'date',
  datetime: 'datetime',
  multi_select: 'texts',
  url: 'text',
  email: 'text',
  phone: 'text',
  relation: 'reference',
  document: 'reference',
  address: 'object',
  area: 'number',
  length: 'number',
  formula: 'text',
}

const fields = new WeakMap<Extension, Field>()

/** The field as documents of filters describe it. */
export function extensionField(extension: Extension): Field {
  let field = fields.get(extension)
  if (!field) fields.set(extension, (field = fieldOf(extension, valueSchema(extension))))
  return field
}

function fieldOf({ type, required }: Extension, schema: JsonSchema): Field {
  return {
    kind: KINDS[type],
    schema,
    column: null,
    required,
    readOnly: type === 'formula',
    writeOnly: false,
    search: false,
    initial: null,
    target: null,
    digits: type === 'money' ? 2 : 0,
    items: null,
  }
}

/** A field that the rows of a file can fill. */
export interface LoadableField {
  /** The name under which facts hold its values. */
  key: string
  field: Field
  /** What facts hold in place of words: ids of options, by their names and labels. */
  stored?: Readonly<Record<string, unknown>>
}

/**
 * Fields of the organization's own that adapters can fill as `ext.<name>`, by type and name. Relations, addresses, money of
 * several currencies and lists of options are left to the API.
 */
export async function extFields(
  schemas: Schemas,
  org_id: number,
): Promise<ReadonlyMap<string, Readonly<Record<string, LoadableField>>>> {
  const { registry } = await ownSchema(schemas, org_id)
  return new Map(
    [...registry].map(([type, { extensions }]) => [
      type,
      Object.fromEntries(
        deployed(extensions).flatMap((extension) => {
          const loadable = loadableField(extension)
          return loadable ? [[extension.name, loadable]] : []
        }),
      ),
    ]),
  )
}

/** Texts that files must give in their stored form. */
const PATTERNS: Partial<Record<ExtensionType, string>> = {
  url: '^https?://[^\\s]+$',
  email: '^[^\\s@]{1,64}@[^\\s@]+\\.[^\\s@]+$',
  phone: '^\\+?[0-9]{5,15}$',
}

function loadableField(extension: Extension): LoadableField | null {
  const { id, type, settings, options } = extension
  const key = extensionKey(id)
  const field = (schema: JsonSchema): Field => ({ ...fieldOf(extension, schema), required: false })
  const schema = valueSchema(extension)
  const examples = schema['examples']
  switch (type) {
    case 'multi_select':
    case 'relation':
    case 'document':
    case 'address':
    case 'formula':
      return null
    case 'money':
      if (!settings.currency) return null
      return { key, field: field({ type: ['string', 'number'], examples: ['12500.00'] }) }
    case 'area':
    case 'length':
      return {
        key,
        field: field({ type: 'number', minimum: settings.min ?? 0, examples: [120.5] }),
      }
    case 'select': {
      const active = options.filter(({ state }) => state === 'active')
      const words = active.flatMap((option) => [
        [option.label, option.id],
        [option.name, option.id],
      ])
      const stored = Object.fromEntries(words) as Record<string, number>
      return { key, field: field({ type: 'string', enum: Object.keys(stored), examples }), stored }
    }
    case 'url':
    case 'email':
    case 'phone':
      return { key, field: field({ ...schema, pattern: PATTERNS[type] }) }
    case 'percent':
    case 'boolean':
    case 'text':
    case 'long_text':
    case 'integer':
    case 'decimal':
    case 'date':
    case 'datetime':
      return { key, field: field(schema) }
  }
}
