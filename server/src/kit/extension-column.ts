/** How fields of the organization's own are filtered and sorted: in the rows, or through the index of filterable ones. */
import { instant, isDate } from './dates.ts'
import { extensionKey } from './extension.ts'
import type { Extension } from './extension.ts'
import type { ColumnType } from './field.ts'
import { idDigits } from './ids.ts'
import type { Row } from './resource.ts'

/** Column of the index that holds the values of a type; null for types that are not indexed. */
export type IndexColumn = 'v_num' | 'v_text' | 'v_time'

export interface ExtensionColumn {
  extension: Extension
  type: ColumnType
  index: IndexColumn | null
  operators: readonly string[]
  sortable: boolean
  /** SQL of the value in the row with the given alias. */
  sql: (alias: string) => string
  /** What a filter compares with, as PostgreSQL text; null when the text does not fit the field. */
  literal: (text: string) => string | null
  /** What a value must look like, for the error. */
  wanted: string
  allowed?: readonly string[]
  /** The value of a row in memory, as `sql` gives it. */
  read: (row: Row) => unknown
}

const ORDERED = ['eq', 'ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'is_null'] as const
const TEXT = [...ORDERED, 'contains', 'starts_with'] as const
const EQUAL = ['eq', 'ne', 'in', 'nin', 'is_null'] as const

type Form = Pick<ExtensionColumn, 'type' | 'index' | 'operators' | 'literal' | 'wanted'>

const isNumber = (text: string): string | null =>
  /^-?[0-9]{1,18}(\.[0-9]{1,12})?$/.test(text) ? text : null

const numeric = (wanted: string): Form => ({
  type: 'numeric',
  index: 'v_num',
  operators: ORDERED,
  literal: isNumber,
  wanted,
})

const textual: Form = {
  type: 'text',
  index: 'v_text',
  operators: TEXT,
  literal: (text) => (text.length <= 1_000 ? text : null),
  wanted: 'text of at most 1,000 characters',
}

/** Forms that follow from the type alone. */
const FORMS: Partial<Record<Extension['type'], Form>> = {
  percent: numeric('a number'),
  decimal: numeric('a number'),
  integer: numeric('a number'),
  area: numeric('a number'),
  length: numeric('a number'),
  boolean: {
    type: 'boolean',
    index: 'v_text',
    operators: ['eq', 'ne', 'is_null'],
    literal: (text) => (text === 'true' || text === 'false' ? text : null),
    wanted: 'true or false',
  },
  text: textual,
  url: textual,
  email: textual,
  phone: textual,
  date: {
    type: 'date',
    index: 'v_time',
    operators: ORDERED,
    literal: (text) => (isDate(text) ? text : null),
    wanted: 'a date such as 2026-12-31',
  },
  datetime: {
    type: 'timestamptz',
    index: 'v_time',
    operators: ORDERED,
    literal: (text) => (isDate(text) ? `${text}T00:00:00.000Z` : instant(text)),
    wanted: 'a time such as 2026-12-31T08:00:00Z',
  },
}

/** The comparable form of a field, or null where its values have no order and no equality worth asking for. */
function formOf({ type, settings, options }: Extension): Form | null {
  const optionId = (text: string): string | null =>
    options.find(({ name }) => name === text)?.id.toString() ?? null
  const option = { literal: optionId, wanted: 'an option' }
  const prefix = settings.target_prefix ?? ''
  if (type === 'select') return { ...option, type: 'integer', index: 'v_num', operators: EQUAL }
  if (type === 'multi_select')
    return { ...option, type: 'text[]', index: null, operators: ['contains', 'is_null'] }
  if (type === 'relation' || type === 'document')
    return {
      type: 'bigint',
      index: 'v_num',
      operators: EQUAL,
      literal: (text) => idDigits(prefix, text)?.toString() ?? null,
      wanted: `an id such as ${prefix}_1042`,
    }
  if (type === 'money') return settings.currency ? numeric('an amount') : null
  return FORMS[type] ?? null
}

/** How the field is compared; null when it cannot be. */
export function extensionColumn(extension: Extension): ExtensionColumn | null {
  const form = formOf(extension)
  if (!form) return null
  const key = extensionKey(extension.id)
  const names = extension.options.filter((o) => o.state === 'active').map(({ name }) => name)
  return {
    ...form,
    extension,
    sortable: form.type !== 'text[]',
    sql: (alias) => {
      const field = `${alias}.ext`
      if (form.type === 'text[]')
        return `(select array_agg(v) from jsonb_array_elements_text(${field}->'${key}') v)`
      return `(${field}->>'${key}')::${form.type}`
    },
    read: (row) => {
      const value = (row['ext'] as Row | null)?.[key] ?? null
      if (value === null) return null
      return Array.isArray(value) ? value.map(String) : value
    },
    ...(names.length > 0 ? { allowed: names } : {}),
  }
}
