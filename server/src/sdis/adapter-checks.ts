/** What the schema of an adapter document cannot say: types and fields must exist, expressions must read. */
import type { Issue } from '../kit/errors.ts'
import type { Field, Fields, JsonSchema } from '../kit/field.ts'
import type { Registry } from '../kit/query.ts'
import { writableFields } from '../kit/resource.ts'
import { closest, validate } from '../kit/validate.ts'
import { celOf } from './adapter-cel.ts'
import { currenciesOf } from './adapter-defaults.ts'
import type { Adapter, Check, Entry, ExtFields, Resolve, Stream } from './adapter.ts'
import type { CelReader, Root } from './cel.ts'
import { AGGREGATE, checkNames } from './checks.ts'
import { joinOf } from './expression.ts'
import { API_RANK } from './load.ts'
import { isDatePattern, TYPES } from './values.ts'

type Entries = Record<string, Entry | string>

/** What the parts of a document are checked against. */
interface Known {
  registry: Registry
  ext: ExtFields
  cel: CelReader
  /** Names of the cells above the header. */
  meta: readonly string[]
}

export function adapterIssues(adapter: Adapter, registry: Registry, ext: ExtFields): Issue[] {
  const { lookups, locale, source } = adapter
  const meta = Object.keys(source.cells ?? {})
  const sound = { ...locale, date: locale.date.filter(isDatePattern) }
  const known: Known = { registry, ext, cel: celOf({ locale: sound, lookups }), meta }
  const issues = adapter.streams.flatMap((stream, i) =>
    streamIssues(stream, `adapter.streams[${i}]`, known, source),
  )
  const { timezone, date, decimal, thousands } = locale
  if (timezone && !zoneExists(timezone))
    issues.push(issue('adapter.locale.timezone', 'unknown_value', 'is not a time zone'))
  if (decimal === thousands)
    issues.push(issue('adapter.locale.thousands', 'ambiguous', 'is the decimal sign as well'))
  return [...issues, ...patternIssues(date, 'adapter.locale.date'), ...fileIssues(adapter, known)]
}

/** What the document says of the file: rows that are none, rows that end objects, the day it was true. */
function fileIssues({ source, effective, delete_marker }: Adapter, known: Known): Issue[] {
  const issues: Issue[] = []
  const say = (given: string | null | undefined, at: string, roots: readonly Root[]): void => {
    if (given) issues.push(...expressionIssues(given, at, known, roots))
  }
  say(source.skip_rows_where, 'adapter.source.skip_rows_where', ['row'])
  say(delete_marker, 'adapter.mode.delete_marker', ['row', 'meta'])
  say(effective.from, 'adapter.effective.from', ['meta'])
  if (effective.from && effective.date)
    issues.push(issue('adapter.effective', 'ambiguous', 'give one of date and from'))
  // What was read off a page is never what other sources are measured by.
  if (source.kind === 'pdf' && source.rank <= API_RANK) {
    const message = `tables of a PDF rank below ${API_RANK}`
    issues.push(issue('adapter.source.rank', 'out_of_range', message))
  }
  return issues
}

/** Ids that the document names itself, to be looked up in the organization that loads it. */
export function fixedReferences(
  stream: Stream,
  registry: Registry,
): { field: string; target: string; id: string }[] {
  const fields = fieldsOf(stream.type, { registry, ext: new Map() }) ?? {}
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

function fieldsOf(
  type: string,
  { registry, ext }: Pick<Known, 'registry' | 'ext'>,
): Fields | undefined {
  const resource = registry.get(type)
  if (!resource || type === 'organization') return undefined
  const added = Object.entries(ext.get(type) ?? {}).map(([name, { field }]) => [
    `ext.${name}`,
    field,
  ])
  return { ...writableFields(resource), ...(Object.fromEntries(added) as Fields) }
}

/** Those of the added fields that a stream fills, by the names that its entries have. */
export function usedExt({ type, map }: Stream, ext: ExtFields): Stream['ext'] {
  return Object.fromEntries(
    Object.entries(ext.get(type) ?? {})
      .map(([name, field]) => [`ext.${name}`, field] as const)
      .filter(([name]) => Object.hasOwn(map, name)),
  )
}

function typeIssue(at: string, type: string, registry: Registry): Issue {
  const allowed = [...registry.keys()].filter((name) => name !== 'organization')
  return { ...unknown(at, 'unknown_value', `no such type '${type}'`, type, allowed), allowed }
}

function streamIssues(
  stream: Stream,
  at: string,
  known: Known,
  source: Partial<Adapter['source']>,
): Issue[] {
  const { type, key } = stream as Partial<Stream>
  // The schema has found fault with what is missing here.
  if (type === undefined) return []
  const fields = fieldsOf(type, known)
  if (!fields) return [typeIssue(`${at}.type`, type, known.registry)]
  return [
    ...(key === undefined ? [] : expressionIssues(key, `${at}.key`, known)),
    ...entriesIssues(stream.map, `${at}.map`, fields, known),
    ...(currenciesOf(stream.map).length > 1
      ? [issue(`${at}.map`, 'ambiguous', 'the amounts of an object have one currency')]
      : []),
    ...Object.entries(stream.resolve).flatMap(([path, rule]) =>
      resolveIssues(stream, path, rule, `${at}.resolve.${path}`, known),
    ),
    ...stream.checks.flatMap((check, i) =>
      checkIssues(check, stream, `${at}.checks[${i}]`, known, source),
    ),
  ]
}

function checkIssues(
  check: Check,
  stream: Stream,
  at: string,
  known: Known,
  source: Partial<Adapter['source']>,
): Issue[] {
  const names = checkNames(stream)
  const { expr, aggregate, compare } = check
  if ((expr === undefined) === (aggregate === undefined))
    return [issue(at, 'ambiguous', 'give exactly one of expr and aggregate')]
  if (expr !== undefined) return expressionIssues(expr, `${at}.expr`, known, ['row', 'meta'], names)
  const [, name, inner = ''] = AGGREGATE.exec(aggregate as string) ?? []
  const issues: Issue[] = []
  if (!name || (inner.trim() === '') !== (name === 'count')) {
    const message = 'is none of sum(...), min(...), max(...), avg(...) and count()'
    issues.push(issue(`${at}.aggregate`, 'invalid_expression', message))
  } else if (inner.trim() !== '')
    issues.push(...expressionIssues(inner, `${at}.aggregate`, known, ['row', 'meta'], names))
  if (compare === undefined) issues.push(issue(`${at}.compare`, 'required', 'is required'))
  if (typeof compare === 'string') {
    const roots: Root[] = source.skip_rows_where ? ['meta', 'totals'] : ['meta']
    issues.push(...expressionIssues(compare, `${at}.compare`, known, roots))
  }
  return issues
}

function resolveIssues(
  stream: Stream,
  path: string,
  rule: Resolve,
  at: string,
  known: Known,
): Issue[] {
  const targets = fieldsOf(rule.type, known)
  if (!targets) return [typeIssue(`${at}.type`, rule.type, known.registry)]
  const fields = fieldsOf(stream.type, known) as Fields
  const [head = '', inner, ...deeper] = path.split('.')
  const outer = own(fields, head)
  const field = inner === undefined ? outer : own(outer?.items ?? {}, inner)
  const issues = lookupIssues(rule, at, targets, known)
  if (field?.kind !== 'reference' || field.target !== rule.type || deeper.length > 0)
    issues.push(issue(at, 'unknown_field', `is not a reference to a ${rule.type}`))
  const entry = Object.hasOwn(stream.map, head) ? stream.map[head] : undefined
  if (inner !== undefined && (typeof entry !== 'object' || !(entry.list ?? entry.object)))
    issues.push(issue(at, 'not_mapped', `${head} must be mapped, with its entries`))
  if (inner === undefined && entry !== undefined)
    issues.push(issue(at, 'ambiguous', 'is mapped as well'))
  const { external_ids: _, ...stub } = targets
  if (rule.stub) issues.push(...entriesIssues(rule.stub, `${at}.stub`, stub, known))
  if (rule.missing === 'create_stub' && rule.stream === stream.name)
    issues.push(issue(at, 'ambiguous', 'objects of the stream itself are not made in advance'))
  if (rule.missing === 'create_stub' && !rule.stream)
    issues.push(
      issue(`${at}.stream`, 'required', 'is required: objects that are made belong to it'),
    )
  return issues
}

/** By what the related object is looked up. */
function lookupIssues(rule: Resolve, at: string, targets: Fields, known: Known): Issue[] {
  const { by, stream, value } = rule
  const values = [value].flat()
  const issues = values.flatMap((one, i) =>
    expressionIssues(one, Array.isArray(value) ? `${at}.value[${i}]` : `${at}.value`, known),
  )
  if (!by && !stream) issues.push(issue(at, 'required', 'name a stream, or fields in by'))
  if (values.length !== (by?.length ?? 1))
    issues.push(issue(`${at}.value`, 'ambiguous', 'needs one expression for each field of by'))
  for (const name of by ?? []) {
    const field = own(targets, name)
    const message = `no such field '${name}'`
    if (!field)
      issues.push(unknown(`${at}.by`, 'unknown_field', message, name, Object.keys(targets)))
    else if (!['text', 'choice', 'integer'].includes(field.kind) || !field.column)
      issues.push(issue(`${at}.by`, 'invalid_type', `'${name}' tells no objects apart`))
  }
  return issues
}

function entriesIssues(entries: Entries, at: string, fields: Fields, known: Known): Issue[] {
  return Object.entries(entries).flatMap(([name, entry]) => {
    const field = own(fields, name)
    if (!field) {
      const message = `no such field '${name}'`
      return [unknown(`${at}.${name}`, 'unknown_field', message, name, Object.keys(fields))]
    }
    const given = typeof entry === 'string' ? { from: entry } : entry
    return entryIssues(given, typeof entry === 'string', `${at}.${name}`, field, known)
  })
}

function entryIssues(
  entry: Entry,
  short: boolean,
  at: string,
  field: Field,
  known: Known,
): Issue[] {
  const ways = ['from', 'expr', 'value', 'object', 'list'] as const
  const [way, ...others] = ways.filter((key) => entry[key] !== undefined)
  if (!way || others.length > 0)
    return [issue(at, 'ambiguous', 'give exactly one of from, value, object, list')]
  if (way === 'value') return fixedIssues(entry.value, `${at}.value`, field)
  if (way === 'from' || way === 'expr') {
    const place = short ? at : `${at}.${way}`
    return [
      ...expressionIssues(entry[way] as string, place, known),
      ...cellIssues(entry, at, field),
    ]
  }
  if (!field.items || field.kind !== way)
    return [
      issue(at, 'invalid_type', `is not ${way === 'list' ? 'a list' : 'an object'} of entries`),
    ]
  return entriesIssues(entry[way] as Entries, at, field.items, known)
}

function fixedIssues(value: unknown, at: string, field: Field): Issue[] {
  return validate(field.schema, value).map((found) => ({
    ...found,
    field: found.field ? `${at}.${found.field}` : at,
  }))
}

function cellIssues(entry: Entry, at: string, field: Field): Issue[] {
  const types = TYPES[field.kind]
  const issues: Issue[] = []
  if (types.length === 0) {
    const way = field.kind === 'reference' ? 'resolve' : field.kind
    return [issue(at, 'invalid_type', `cannot be read from a cell; use ${way}`)]
  }
  if (entry.type && !types.includes(entry.type))
    issues.push(issue(`${at}.type`, 'invalid_type', 'does not fit the field', { allowed: types }))
  if (entry.scale && !['percent', 'number'].includes(entry.type ?? (types[0] as string)))
    issues.push(issue(`${at}.scale`, 'invalid_type', 'is for percentages'))
  if (entry.currency && field.kind !== 'money')
    issues.push(issue(`${at}.currency`, 'invalid_type', 'is for amounts'))
  if (entry.on_error === 'null_with_issue' && field.required)
    issues.push(issue(`${at}.on_error`, 'required', 'the field may not be empty'))
  if (entry.date) issues.push(...patternIssues(entry.date, `${at}.date`))
  const one = field.kind === 'texts' ? (field.schema['items'] as JsonSchema) : field.schema
  // Words that mean numbers, dates and flags are read like cells when the file is loaded.
  const checked = types[0] === 'text' ? Object.entries(entry.options ?? {}) : []
  for (const [word, meant] of checked)
    issues.push(...validate(one, meant).map((i) => ({ ...i, field: `${at}.options.${word}` })))
  return issues
}

/** @param names that stand by themselves, beside the roots. */
function expressionIssues(
  source: string,
  at: string,
  { cel, meta }: Known,
  roots: readonly Root[] = ['row', 'meta'],
  names: ReadonlySet<string> = new Set(),
): Issue[] {
  if (roots.includes('row') && joinOf(source)) return []
  try {
    const { reads } = cel.read(source, roots, names)
    const [lost] = reads.meta.filter(([name]) => !meta.includes(name as string))
    if (!lost) return []
    const message = `no cell is named '${lost[0]}' in source.cells`
    return [unknown(at, 'unknown_name', message, lost[0] as string, [...meta])]
  } catch (error) {
    return [issue(at, 'invalid_expression', (error as Error).message)]
  }
}

function patternIssues(patterns: readonly string[], at: string): Issue[] {
  return patterns.flatMap((pattern, i) => {
    if (isDatePattern(pattern)) return []
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
