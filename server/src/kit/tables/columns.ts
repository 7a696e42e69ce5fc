/** The columns of a list as a table: what its objects nest is laid side by side, `address.city` beside `name`. */
import type { JsonSchema } from '../field.ts'
import type { Row } from '../resource.ts'

/** What the values of a column are; `decimal` is money and other exact text, `json` a list or a free-form object. */
export type ColumnKind =
  | 'text'
  | 'integer'
  | 'number'
  | 'decimal'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'json'

export interface TableColumn {
  /** `address.city` */
  name: string
  /** Where the value stands in the object. */
  path: readonly string[]
  kind: ColumnKind
  /** For decimals: digits after the point; null when they vary. */
  digits: number | null
}

type Properties = Readonly<Record<string, JsonSchema>>

/**
 * Columns in the order of the schema's properties. An object that declares its properties becomes a column for each, at any
 * depth; lists and objects of unknown shape stay one column of JSON text.
 */
export function columnsOf(schema: JsonSchema): TableColumn[] {
  return nested(schema['properties'] as Properties, [])
}

function nested(properties: Properties, around: readonly string[]): TableColumn[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = [...around, name]
    const inner = schema['properties'] as Properties | undefined
    if (inner && Object.keys(inner).length > 0) return nested(inner, path)
    const kind = kindOf(schema)
    return [
      { name: path.join('.'), path, kind, digits: kind === 'decimal' ? digitsOf(schema) : null },
    ]
  })
}

function kindOf(schema: JsonSchema): ColumnKind {
  const types = [schema['type']].flat().filter((type) => type !== 'null')
  // Money is taken as text or number and answered as text.
  if (types.length === 2 && types.includes('string') && types.includes('number')) return 'decimal'
  if (types.length === 0 && typeof schema['const'] === 'string') return 'text'
  if (types.length !== 1) return 'json'
  switch (types[0]) {
    case 'string':
      if (schema['format'] === 'date') return 'date'
      return schema['format'] === 'date-time' ? 'datetime' : 'text'
    case 'integer':
      return 'integer'
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    default:
      return 'json'
  }
}

/** The digits that the pattern of a money field allows: 2 for amounts, 4 for rates. */
function digitsOf({ pattern }: JsonSchema): number | null {
  const digits = /\{1,(\d)\}\)\?\$$/.exec(String(pattern))?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The value of a column in a row; null where it, or an object around it, is absent. */
export function valueAt(row: Row, path: readonly string[]): unknown {
  let value: unknown = row
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return null
    value = (value as Row)[name]
  }
  return value ?? null
}

/** A value as the text of a cell: lists and objects as JSON. */
export function cellText(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
