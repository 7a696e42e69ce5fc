/** An adapter proposed from the first rows of a file: the type of the objects, their key, and what fills which field. */
import type { Registry } from '../../../kit/query.ts'
import type { Resource, Row } from '../../../kit/resource.ts'
import { writableFields } from '../../../kit/resource.ts'
import type { Columns } from '../../sample.ts'
import { documentOf, entryOf, expressionOf, keyExpression } from './document.ts'
import type { Constant } from './document.ts'
import { keyOf } from './key.ts'
import { assigned, matchesOf } from './matches.ts'
import type { Match } from './matches.ts'
import { profileOf } from './shapes.ts'
import type { Profile, Shape } from './shapes.ts'
import { targetsOf, TYPES } from './targets.ts'
import type { TidyColumns } from './tidy.ts'
import { wordsOf } from './words.ts'

/** What the caller knows already; the rest is guessed. */
export interface Wanted {
  name?: string | undefined
  source_name?: string | undefined
  type?: string | undefined
  file_name: string
}

/** A field, the column that could fill it, and why. */
export interface Suggestion {
  field: string
  column: string
  entry: unknown
  confidence: number
  reason: string
}

/** Proposes an adapter for a file. Null when no column fills a field. */
export async function propose(
  columns: TidyColumns,
  registry: Registry,
  wanted: Wanted,
): Promise<Row | null> {
  const profile = profileOf(columns.columns, columns.rows)
  const guesses = wanted.type
    ? [guessOf(wanted.type, profile, registry)]
    : await ranked(profile, registry, wanted)
  const [best, second] = guesses as [Guess, Guess | undefined]
  const { type } = best
  const resource = registry.get(type) as Resource
  const keys = keyOf(type, profile.shapes, columns.rows)
  if (!keys) return null
  const [key, other_keys] = keys
  const matches = withKey(best.matches, type, key.shapes, registry)
  const constants = constantsOf(type, resource, matches, profile, wanted.file_name)
  const stem = wanted.file_name.replace(/\.[a-z0-9]+$/i, '')
  const source_name = wanted.source_name ?? stem
  const name = wanted.name ?? (slug(stem) || `${type}-adapter`)
  const document = documentOf({
    name,
    description: `Proposed from ${wanted.file_name}.`,
    source_name,
    source: columns.source,
    profile,
    type,
    stream: resource.path,
    key,
    matches,
    constants,
  })
  const [stream] = document['streams'] as [{ map: Row }]
  if (Object.keys(stream.map).length === 0) return null
  const used = new Set([...key.shapes, ...matches.map(({ shape }) => shape)])
  return {
    document,
    type: {
      value: type,
      confidence: wanted.type ? 1 : confidenceOf(best, second),
      reason: wanted.type ? 'as asked for' : reasonOf(best),
      alternatives: guesses
        .slice(1, 4)
        .map((guess) => ({ value: guess.type, fields: guess.matches.length })),
    },
    key: {
      expression: keyExpression(key),
      columns: key.shapes.map((shape) => shape.name),
      group: key.group,
      confidence: key.confidence,
      reason: key.reason,
      alternatives: other_keys.map((one) => ({
        expression: keyExpression(one),
        group: one.group,
        confidence: one.confidence,
      })),
    },
    mapping: [...matches.map(suggestionOf), ...constants.map(fixed)],
    unmapped: unmappedOf(type, profile, used, registry, best),
    missing: missingOf(resource, matches, constants),
    columns: profile.shapes.map(columnView),
  }
}

/** Fields that columns beside those of an adapter could fill. */
export function suggestFor(
  columns: Columns,
  registry: Registry,
  type: string,
  taken: { columns: ReadonlySet<string>; fields: ReadonlySet<string> },
): { columns: Row[]; suggestions: Map<string, Suggestion> } {
  const profile = profileOf(columns.columns, columns.rows)
  const targets = targetsOf(type, registry).filter(
    ({ path, field }) =>
      field !== null && !taken.fields.has(path) && !taken.fields.has(path.split('.')[0] ?? ''),
  )
  const free = profile.shapes.filter(({ name }) => !taken.columns.has(name.toLowerCase()))
  const matches = assigned(matchesOf(type, targets, free, profile.signs))
  return {
    columns: profile.shapes.map(columnView),
    suggestions: new Map(matches.map((match) => [match.shape.name, suggestionOf(match)])),
  }
}

interface Guess {
  type: string
  matches: Match[]
  possible: Match[]
  score: number
}

/** Fields that objects of every type have say little about the type. */
const COMMON =
  /^address\.|^(name|code|status|currency|area_unit|latitude|longitude|title|description|property_id|building_id)$/

function guessOf(type: string, { shapes, signs }: Profile, registry: Registry): Guess {
  const possible = matchesOf(type, targetsOf(type, registry), shapes, signs)
  const matches = assigned(possible)
  const score = matches.reduce(
    (sum, { target, confidence }) => sum + confidence * (COMMON.test(target.path) ? 0.3 : 1),
    0,
  )
  return { type, matches, possible, score }
}

/** Words by which a name of a file tells what its rows are. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  lease: ['lease', 'rent', 'roll', 'tenancy'],
  building: ['building'],
  property: ['property', 'propertie', 'site'],
  space: ['unit', 'stacking'],
  party: ['party', 'tenant', 'vendor', 'customer', 'owner'],
  contact: ['contact', 'people'],
  floor: ['floor'],
  work_order: ['work', 'order', 'ticket', 'maintenance'],
}

/** The types by how well they fit. Requests are answered between two of them: a wide file takes a while. */
async function ranked(
  profile: Profile,
  registry: Registry,
  { file_name }: Wanted,
): Promise<Guess[]> {
  const told = new Set(wordsOf(file_name))
  const guesses: Guess[] = []
  for (const type of TYPES) {
    const guess = guessOf(type, profile, registry)
    const named = (TOLD[type] ?? []).some((word) => told.has(word))
    guesses.push({ ...guess, score: guess.score + (named ? 1 : 0) })
    await new Promise((resolve) => setImmediate(resolve))
  }
  return guesses.toSorted((a, b) => b.score - a.score)
}

function confidenceOf(best: Guess, second: Guess | undefined): number {
  const share = best.score / (best.score + (second?.score ?? 0) || 1)
  return Math.round(Math.min(0.99, share) * 100) / 100
}

function reasonOf({ type, matches }: Guess): string {
  const own = matches
    .filter(({ target }) => !COMMON.test(target.path))
    .map(({ target }) => target.path)
  return `${matches.length} columns fill fields of a ${type.replaceAll('_', ' ')}, among them ${own.slice(0, 5).join(', ') || 'none of its own'}`
}

/** Where the number or code of an object goes that no other column fills. */
const CODES: Readonly<Record<string, string>> = {
  building: 'code',
  property: 'code',
  lease: 'lease_number',
  space: 'suite',
  floor: 'label',
}

/** The key fills the code of the object, unless another column does or it fills a field already. */
function withKey(
  matches: Match[],
  type: string,
  key: readonly Shape[],
  registry: Registry,
): Match[] {
  const [shape, second] = key
  const path = CODES[type]
  if (!shape || second || path === undefined) return matches
  if (matches.some((match) => match.target.path === path || match.shape === shape)) return matches
  const target = targetsOf(type, registry).find((one) => one.path === path)
  if (!target) return matches
  const reason = 'it is the key, and nothing else fills this field'
  return [...matches, { target, shape, confidence: 0.6, reason }]
}

function constantsOf(
  type: string,
  resource: Resource,
  matches: readonly Match[],
  { shapes }: Profile,
  file_name: string,
): Constant[] {
  const fields = writableFields(resource)
  const filled = new Set(matches.map(({ target }) => target.path))
  const found: Constant[] = []
  const add = (field: string, value: unknown, confidence: number, reason: string): void => {
    if (Object.hasOwn(fields, field) && !filled.has(field))
      found.push({ field, value, confidence, reason })
  }
  if (type === 'lease') {
    add('lease_type', 'direct', 0.6, 'most leases are; no column says so')
    add('status', 'active', 0.5, 'lists of leases show those in force; no column says so')
  }
  if (type === 'party') {
    add('kind', 'company', 0.5, 'no column says what the party is in law')
    const role = /vendor|supplier/i.test(file_name)
      ? 'vendor'
      : /tenant/i.test(file_name)
        ? 'tenant'
        : null
    if (role) add('roles', [role], 0.6, `the name of the file says ${role}`)
  }
  const areas = matches.filter(({ target }) => /(^|_)area$/.test(target.path))
  const unit = ['sqft', 'sqm'].find((one) => shapes.some(({ units }) => units.includes(one)))
  if (areas.length > 0 && unit) add('area_unit', unit, 0.9, `names of columns say ${unit}`)
  const money = currencyOf(shapes)
  if (money) add('currency', money, 0.8, `names or values of columns say ${money}`)
  return found
}

const CURRENCIES: readonly (readonly [string, RegExp])[] = [
  ['USD', /\$/],
  ['EUR', /€/],
  ['GBP', /£/],
]

function currencyOf(shapes: readonly Shape[]): string | null {
  for (const [code, sign] of CURRENCIES) {
    if (shapes.some(({ units }) => units.includes(code))) return code
    const signed = shapes.some(
      ({ type, values }) => type === 'money' && values.some((value) => sign.test(String(value))),
    )
    if (signed) return code
  }
  return null
}

function suggestionOf(match: Match): Suggestion {
  const { target, shape, confidence, reason } = match
  const entry =
    target.field && target.field.kind !== 'reference' ? entryOf(match) : expressionOf(shape.name)
  return { field: target.path, column: shape.name, entry, confidence, reason }
}

function fixed({ field, value, confidence, reason }: Constant): Row {
  return { field, column: null, entry: { value }, confidence, reason }
}

function unmappedOf(
  type: string,
  { shapes }: Profile,
  used: ReadonlySet<Shape>,
  registry: Registry,
  { possible }: Guess,
): Row[] {
  const resource = registry.get(type) as Resource
  return shapes
    .filter((shape) => !used.has(shape))
    .map((shape) => {
      const near = possible.filter((match) => match.shape === shape).slice(0, 3)
      const reason =
        shape.type === 'empty'
          ? 'no row has a value'
          : near.length > 0
            ? `${near[0]?.target.path} is filled by a likelier column, or it is too unlike`
            : `no field of a ${resource.title.toLowerCase()} is called like it and takes its values`
      const suggestions = near.map(suggestionOf)
      return { column: shape.name, type: shape.type, reason, suggestions }
    })
}

/** Fields that a new object should have and the proposal does not fill. */
function missingOf(
  resource: Resource,
  matches: readonly Match[],
  constants: readonly Constant[],
): string[] {
  const filled = new Set([
    ...matches.map(({ target }) => target.path.split('.')[0] as string),
    ...constants.map(({ field }) => field),
  ])
  return Object.entries(writableFields(resource))
    .filter(([name, field]) => field.required && field.initial === null && !filled.has(name))
    .map(([name]) => name)
}

function columnView(shape: Shape): Row {
  const { name, type, share, rows, filled, distinct, unique, dates, units } = shape
  const samples = [...new Set(shape.values.map(String))]
    .slice(0, 5)
    .map((text) => text.slice(0, 200))
  const blank_pct = rows === 0 ? 0 : Math.round((1 - filled / rows) * 1000) / 10
  const date = dates[0] ?? null
  return {
    name,
    type,
    fits_pct: Math.round(share * 1000) / 10,
    blank_pct,
    distinct,
    unique,
    date,
    units,
    samples,
  }
}

function slug(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 80)
    .replace(/-+$/, '')
}
