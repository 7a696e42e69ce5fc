/** What the schema of an adapter document cannot say: types and fields must exist, expressions must read. */
import type { Issue } from '../kit/errors.ts'
import type { Field, FieldKind, Fields, JsonSchema } from '../kit/field.ts'
import type { Registry } from '../kit/query.ts'
import { writableFields } from '../kit/resource.ts'
import { closest, validate } from '../kit/validate.ts'
import type { Adapter, Entry, Resolve, Stream, ValueType } from './adapter.ts'
import { parseExpression } from './expression.ts'

/** How cells may be read to fill a field of a kind; the first is what is meant when the entry says nothing. */
export const TYPES: Readonly<Record<FieldKind, readonly ValueType[]>> = {
  text: ['text', 'date', 'datetime'],
  integer: ['integer'],
  number: ['number', 'integer', 'percent'],
  percent: ['percent', 'number', 'integer'],
  money: ['money'],
  boolean: ['boolean'],
  date: ['date'],
  datetime: ['datetime'],
  choice: ['text'],
  texts: ['text'],
  // What refers to objects is resolved by key; structures are put together from entries.
  reference: [],
  list: [],
  object: [],
}

type Entries = Record<string, Entry | string>

export function adapterIssues(adapter: Adapter, registry: Registry): Issue[] {
  const issues = adapter.streams.flatMap((stream, i) =>
    streamIssues(stream, `adapter.streams[${i}]`, registry),
  )
  const { timezone, date, decimal, thousands } = adapter.locale
  if (timezone && !zoneExists(timezone))
    issues.push(issue('adapter.locale.timezone', 'unknown_value', 'is not a time zone'))
  if (decimal === thousands)
    issues.push(issue('adapter.locale.thousands', 'ambiguous', 'is the decimal sign as well'))
  return [...issues, ...patternIssues(date, 'adapter.locale.date')]
}

/** Ids that the document names itself, to be looked up in the organization that loads it. */
export function fixedReferences(
  stream: Stream,
  registry: Registry,
): { field: string; target: string; id: string }[] {
  const fields = fieldsOf(stream.type, registry) ?? {}
  return Object.entries(stream.map).flatMap(([name, entry]) => {
    const field = own(fields, name)
    if (typeof entry === 'string' || field?.kind !== 'reference') return []
    const at = `adapter.streams[0].map.${name}.value`
    return [{ field: at, target: field.target as string, id: String(entry.value) }]
  })
}

function issue(field: string, code: string, message: string, more: Partial<Issue> = {}): Issue {
  return { field, code, message, ...more }
}

/** A word that is not among the known ones, with the one that was probably meant. */
function unknown(
  field: string,
  code: string,
  message: string,
  word: string,
  known: string[],
): Issue {
  const suggestion = closest(word, known)
  return issue(field, code, message, suggestion ? { suggestion } : {})
}

function own(fields: Fields, name: string): Field | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

function fieldsOf(type: string, registry: Registry): Fields | undefined {
  const resource = registry.get(type)
  return resource && type !== 'organization' ? writableFields(resource) : undefined
}

function typeIssue(at: string, type: string, registry: Registry): Issue {
  const allowed = [...registry.keys()].filter((name) => name !== 'organization')
  return { ...unknown(at, 'unknown_value', `no such type '${type}'`, type, allowed), allowed }
}

function streamIssues(stream: Stream, at: string, registry: Registry): Issue[] {
  const { type, key } = stream as Partial<Stream>
  // The schema has found fault with what is missing here.
  if (type === undefined) return []
  const fields = fieldsOf(type, registry)
  if (!fields) return [typeIssue(`${at}.type`, type, registry)]
  return [
    ...(key === undefined ? [] : expressionIssues(key, `${at}.key`)),
    ...entriesIssues(stream.map, `${at}.map`, fields),
    ...Object.entries(stream.resolve).flatMap(([path, rule]) =>
      resolveIssues(stream, path, rule, `${at}.resolve.${path}`, registry),
    ),
  ]
}

function resolveIssues(
  stream: Stream,
  path: string,
  rule: Resolve,
  at: string,
  registry: Registry,
): Issue[] {
  const targets = fieldsOf(rule.type, registry)
  if (!targets) return [typeIssue(`${at}.type`, rule.type, registry)]
  const fields = fieldsOf(stream.type, registry) as Fields
  const [head = '', inner, ...deeper] = path.split('.')
  const outer = own(fields, head)
  const field = inner === undefined ? outer : own(outer?.items ?? {}, inner)
  const issues = expressionIssues(rule.value, `${at}.value`)
  if (field?.kind !== 'reference' || field.target !== rule.type || deeper.length > 0)
    issues.push(issue(at, 'unknown_field', `is not a reference to a ${rule.type}`))
  const entry = Object.hasOwn(stream.map, head) ? stream.map[head] : undefined
  if (inner !== undefined && (typeof entry !== 'object' || !(entry.list ?? entry.object)))
    issues.push(issue(at, 'not_mapped', `${head} must be mapped, with its entries`))
  if (inner === undefined && entry !== undefined)
    issues.push(issue(at, 'ambiguous', 'is mapped as well'))
  const { external_ids: _, ...stub } = targets
  if (rule.stub) issues.push(...entriesIssues(rule.stub, `${at}.stub`, stub))
  if (rule.missing === 'create_stub' && rule.stream === stream.name)
    issues.push(issue(at, 'ambiguous', 'objects of the stream itself are not made in advance'))
  return issues
}

function entriesIssues(entries: Entries, at: string, fields: Fields): Issue[] {
  return Object.entries(entries).flatMap(([name, entry]) => {
    const field = own(fields, name)
    if (!field) {
      const message = `no such field '${name}'`
      return [unknown(`${at}.${name}`, 'unknown_field', message, name, Object.keys(fields))]
    }
    const given = typeof entry === 'string' ? { from: entry } : entry
    return entryIssues(given, typeof entry === 'string', `${at}.${name}`, field)
  })
}

function entryIssues(entry: Entry, short: boolean, at: string, field: Field): Issue[] {
  const given = (['from', 'value', 'object', 'list'] as const).filter(
    (key) => entry[key] !== undefined,
  )
  if (given.length !== 1)
    return [issue(at, 'ambiguous', 'give exactly one of from, value, object, list')]
  if (entry.value !== undefined) return fixedIssues(entry.value, `${at}.value`, field)
  if (entry.from !== undefined) return cellIssues(entry, entry.from, short, at, field)
  const inner = (entry.object ?? entry.list) as Entries
  if (!field.items || field.kind !== (entry.list ? 'list' : 'object'))
    return [issue(at, 'invalid_type', `is not ${entry.list ? 'a list' : 'an object'} of entries`)]
  return entriesIssues(inner, at, field.items)
}

function fixedIssues(value: unknown, at: string, field: Field): Issue[] {
  return validate(field.schema, value).map((found) => ({
    ...found,
    field: found.field ? `${at}.${found.field}` : at,
  }))
}

function cellIssues(entry: Entry, from: string, short: boolean, at: string, field: Field): Issue[] {
  const types = TYPES[field.kind]
  const issues = expressionIssues(from, short ? at : `${at}.from`)
  if (types.length === 0) {
    const way = field.kind === 'reference' ? 'resolve' : field.kind
    issues.push(issue(at, 'invalid_type', `cannot be read from a cell; use ${way}`))
    return issues
  }
  if (entry.type && !types.includes(entry.type))
    issues.push(issue(`${at}.type`, 'invalid_type', 'does not fit the field', { allowed: types }))
  if (entry.scale && !['percent', 'number'].includes(entry.type ?? (types[0] as string)))
    issues.push(issue(`${at}.scale`, 'invalid_type', 'is for percentages'))
  if (entry.date) issues.push(...patternIssues(entry.date, `${at}.date`))
  const one = field.kind === 'texts' ? (field.schema['items'] as JsonSchema) : field.schema
  // Words that mean numbers, dates and flags are read like cells when the file is loaded.
  const checked = types[0] === 'text' ? Object.entries(entry.options ?? {}) : []
  for (const [word, meant] of checked)
    issues.push(...validate(one, meant).map((i) => ({ ...i, field: `${at}.options.${word}` })))
  return issues
}

function expressionIssues(source: string, at: string): Issue[] {
  try {
    parseExpression(source)
    return []
  } catch (error) {
    return [issue(at, 'invalid_expression', (error as Error).message)]
  }
}

/** A pattern names year, month and day once each, with anything but letters and digits between them. */
function patternIssues(patterns: readonly string[], at: string): Issue[] {
  return patterns.flatMap((pattern, i) => {
    const parts = (pattern.match(/yyyy|MM?|dd?/g) ?? []).map((part) => part[0])
    const between = pattern.replaceAll(/yyyy|MM?|dd?/g, '')
    const once = parts.length === 3 && new Set(parts).size === 3
    const whole = once && !/[\p{L}\p{N}]/u.test(between)
    if (pattern === 'excel-serial' || whole) return []
    const message = `'${pattern}' is no pattern; write one such as MM/dd/yyyy, or excel-serial`
    return [issue(`${at}[${i}]`, 'invalid_format', message)]
  })
}

function zoneExists(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}
