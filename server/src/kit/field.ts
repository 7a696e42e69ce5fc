/**
 * Fields: the vocabulary in which every resource is declared once.
 *
 * A field carries its JSON Schema (validation, OpenAPI, SDK types), the SQL type of its projection column (filters and
 * sorts) and how a client may write it. Lists and objects have no column: they live in the row's rendered body and in
 * its facts.
 */

/** A JSON Schema 2020-12 document, as plain data. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** SQL type of a field's projection column. */
export type ColumnType =
  | 'text'
  | 'bigint'
  | 'integer'
  | 'numeric'
  | 'boolean'
  | 'date'
  | 'timestamptz'
  | 'text[]'

/** What a value is, beyond its JSON type: decides normalisation, comparison and the meaning shown to clients. */
export type FieldKind =
  | 'text'
  | 'integer'
  | 'number'
  | 'percent'
  | 'money'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'choice'
  | 'reference'
  | 'texts'
  | 'list'
  | 'object'

export interface Field<T = unknown> {
  readonly kind: FieldKind
  /** JSON Schema of a non-null value, with description and example. */
  readonly schema: JsonSchema
  /** Projection column type; null when the value lives in the body only. */
  readonly column: ColumnType | null
  readonly required: boolean
  readonly readOnly: boolean
  /** Accepted and acted upon, but never stored in clear, rendered, filtered, or written to facts, events and logs. */
  readonly writeOnly: boolean
  /** Part of the text that `q=` searches. */
  readonly search: boolean
  /** Value a create uses when the client leaves the field out. */
  readonly initial: unknown
  /** For references: the name of the resource the id belongs to. */
  readonly target: string | null
  /** For money: digits after the decimal point. */
  readonly digits: number
  /** For lists and objects: the fields of an item. */
  readonly items: Fields | null
  /** Type carrier only; never set. */
  readonly _type?: T
}

export type Fields = { readonly [name: string]: Field }

/** Options every field takes. `example` is required: the OpenAPI document shows it. */
export interface FieldOptions<T> {
  example: T
  required?: boolean
  readOnly?: boolean
  writeOnly?: boolean
  search?: boolean
  initial?: T
}

function field<T>(
  kind: FieldKind,
  column: ColumnType | null,
  schema: JsonSchema,
  options: FieldOptions<unknown>,
  extra: Partial<Field> = {},
): Field<T> {
  return {
    kind,
    column: options.writeOnly ? null : column,
    schema: {
      ...schema,
      ...(options.writeOnly ? { writeOnly: true } : {}),
      examples: [options.example],
    },
    required: options.required ?? false,
    readOnly: options.readOnly ?? false,
    writeOnly: options.writeOnly ?? false,
    search: options.search ?? false,
    initial: options.initial ?? null,
    target: null,
    digits: 0,
    items: null,
    ...extra,
  } as Field<T>
}

/** A line of text, at most `max` characters (default 200). */
export function text(
  description: string,
  options: FieldOptions<string> & { max?: number; pattern?: string },
): Field<string> {
  const schema = {
    type: 'string',
    minLength: 1,
    maxLength: options.max ?? 200,
    ...(options.pattern ? { pattern: options.pattern } : {}),
    description,
  }
  return field('text', 'text', schema, options)
}

/** Free text over several lines, up to 20,000 characters; not filterable. */
export function longText(description: string, options: FieldOptions<string>): Field<string> {
  return field('text', null, { type: 'string', maxLength: 20_000, description }, options)
}

/** A whole number within 32 bits. */
export function integer(
  description: string,
  options: FieldOptions<number> & { min?: number; max?: number },
): Field<number> {
  const minimum = options.min ?? -2_147_483_648
  const maximum = options.max ?? 2_147_483_647
  return field('integer', 'integer', { type: 'integer', minimum, maximum, description }, options)
}

/** Beyond this a number is a mistake, and sums of such numbers lose digits. */
const NUMBER_MAX = 1_000_000_000_000

/** A decimal number: areas (in the object's `area_unit`), coordinates, ratios. */
export function number(
  description: string,
  options: FieldOptions<number> & { min?: number; max?: number; decimals?: number },
): Field<number> {
  const minimum = options.min ?? -NUMBER_MAX
  const maximum = options.max ?? NUMBER_MAX
  const { decimals } = options
  const fine = decimals === undefined ? {} : { 'x-decimals': decimals }
  const schema = { type: 'number', minimum, maximum, ...fine, description }
  return field('number', 'numeric', schema, options)
}

/** A thousand times the largest building there is. */
const AREA_MAX = 1_000_000_000

/** A floor area or land area, never negative, in the object's `area_unit`, to a hundredth of it as surveys certify. */
export function area(description: string, options: FieldOptions<number>): Field<number> {
  const about = `${description} In the object's area unit, with at most two decimals.`
  return number(about, { min: 0, max: AREA_MAX, decimals: 2, ...options })
}

/** A percentage on the 0-100 scale (3 means 3 %). The name ends in `_pct`. */
export function percent(
  description: string,
  options: FieldOptions<number> & { min?: number; max?: number },
): Field<number> {
  const schema = {
    type: 'number',
    minimum: options.min ?? -1_000,
    maximum: options.max ?? 1_000,
    description: `${description} Percent on the 0-100 scale.`,
  }
  return field('percent', 'numeric', schema, options)
}

/**
 * Money as a decimal string in the object's `currency`, e.g. "1250000.00". JSON numbers are accepted on input;
 * answers are always strings. `digits` is 2 for amounts and 4 for rates per area.
 */
export function money(
  description: string,
  options: FieldOptions<string> & { digits?: 2 | 4 },
): Field<string> {
  const digits = options.digits ?? 2
  const schema = {
    type: ['string', 'number'],
    pattern: `^-?[0-9]{1,15}(\\.[0-9]{1,${digits}})?$`,
    minimum: -999_999_999_999_999,
    maximum: 999_999_999_999_999,
    description: `${description} Decimal string in the object's currency.`,
  }
  return field('money', 'numeric', schema, options, { digits })
}

/** True or false. */
export function flag(description: string, options: FieldOptions<boolean>): Field<boolean> {
  return field('boolean', 'boolean', { type: 'boolean', description }, options)
}

/** A civil date `YYYY-MM-DD`, inclusive, without a time zone. The name ends in `_date`. */
export function date(description: string, options: FieldOptions<string>): Field<string> {
  return field('date', 'date', { type: 'string', format: 'date', description }, options)
}

/** An instant, RFC 3339 in UTC. The name ends in `_at`. */
export function datetime(description: string, options: FieldOptions<string>): Field<string> {
  return field(
    'datetime',
    'timestamptz',
    { type: 'string', format: 'date-time', description },
    options,
  )
}

/** One of a closed list of lower snake_case words. The list only ever grows. */
export function choice<const V extends string>(
  values: readonly V[],
  description: string,
  options: FieldOptions<V>,
): Field<V> {
  return field('choice', 'text', { type: 'string', enum: [...values], description }, options)
}

/** The id of another object of the same organization. The name ends in `_id`. */
export function reference(
  target: string,
  prefix: string,
  description: string,
  options: Omit<FieldOptions<string>, 'initial' | 'search'>,
): Field<string> {
  const schema = { type: 'string', pattern: `^${prefix}_[0-9]{1,18}$`, description }
  return field('reference', 'bigint', schema, options, { target })
}

/** Ids of several objects of one type, without order. */
export function references(
  target: string,
  prefix: string,
  description: string,
  options: Omit<FieldOptions<string[]>, 'initial'>,
): Field<string[]> {
  const items = { type: 'string', pattern: `^${prefix}_[0-9]{1,18}$` }
  const minItems = options.required ? 1 : 0
  const schema = { type: 'array', items, minItems, maxItems: 500, uniqueItems: true, description }
  return field('list', null, schema, options, { target })
}

/** A set of short words or labels; filter with `field[contains]=word`. */
export function texts(
  description: string,
  options: FieldOptions<string[]> & { values?: readonly string[] },
): Field<string[]> {
  const items = options.values
    ? { type: 'string', enum: [...options.values] }
    : { type: 'string', minLength: 1, maxLength: 200 }
  const schema = { type: 'array', items, maxItems: 200, uniqueItems: true, description }
  return field('texts', 'text[]', schema, options)
}

/** An ordered list of structured items, each with its own fields (rent steps, options, addresses, ...). */
export function list(
  items: Fields,
  description: string,
  options: FieldOptions<Record<string, unknown>[]>,
): Field<Record<string, unknown>[]> {
  const schema = { type: 'array', items: objectSchema(items), maxItems: 1_000, description }
  return field('list', null, schema, options, { items })
}

/** One structured value with its own fields. */
export function object(
  items: Fields,
  description: string,
  options: FieldOptions<Record<string, unknown>>,
): Field<Record<string, unknown>> {
  return field('object', null, { ...objectSchema(items), description }, options, { items })
}

/** A free-form JSON object, kept as it is; for settings that the platform does not interpret. */
export function freeForm(
  description: string,
  options: FieldOptions<Record<string, unknown>>,
): Field<Record<string, unknown>> {
  return field('object', null, { type: 'object', description }, options)
}

/** The schema of a closed object made of fields: writable ones only, each nullable unless required. */
export function objectSchema(fields: Fields): JsonSchema {
  const properties: Record<string, JsonSchema> = {}
  const required: string[] = []
  for (const [name, item] of Object.entries(fields)) {
    properties[name] = item.required ? item.schema : nullable(item.schema)
    if (item.required) required.push(name)
  }
  return { type: 'object', additionalProperties: false, properties, required }
}

/** The same schema with null allowed: in answers null means unknown, in a merge patch it clears the value. */
export function nullable(schema: JsonSchema): JsonSchema {
  const type = schema['type']
  const types = Array.isArray(type) ? [...type, 'null'] : [type, 'null']
  const values = schema['enum']
  return { ...schema, type: types, ...(Array.isArray(values) ? { enum: [...values, null] } : {}) }
}

/** An ordered list of whole numbers, such as days before a date. */
export function integers(
  description: string,
  options: FieldOptions<number[]> & { min?: number; max?: number },
): Field<number[]> {
  const items = {
    type: 'integer',
    minimum: options.min ?? 0,
    maximum: options.max ?? 2_147_483_647,
  }
  return field('list', null, { type: 'array', items, maxItems: 200, description }, options)
}
