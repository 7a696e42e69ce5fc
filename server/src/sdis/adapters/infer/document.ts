/** The adapter document of a proposal, in the order in which a person writes one. */
import type { Row } from '../../../kit/resource.ts'
import type { Key } from './key.ts'
import type { Match } from './matches.ts'
import type { Profile, Shape } from './shapes.ts'
import type { TidySource } from './tidy.ts'

/** A value that no column gives, and why it is proposed. */
export interface Constant {
  field: string
  value: unknown
  confidence: number
  reason: string
}

export interface Parts {
  name: string
  description: string
  source_name: string
  source: TidySource
  profile: Profile
  type: string
  stream: string
  key: Key
  matches: readonly Match[]
  constants: readonly Constant[]
}

/** Fields in which a zero means that nothing is known. */
const ZERO_UNKNOWN = /(^|_)(area|built|renovated)$/

/** Words that an expression reads as its own. */
const RESERVED = new Set(
  'in true false null as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** The expression that reads a column. */
export function expressionOf(column: string): string {
  const plain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(column) && !RESERVED.has(column)
  return plain ? `row.${column}` : `row[${JSON.stringify(column)}]`
}

export function keyExpression({ shapes }: Key): string {
  return shapes.map(({ name }) => expressionOf(name)).join(` + '|' + `)
}

/** How one column is read into one field: a bare expression where there is nothing else to say. */
export function entryOf({ target, shape, options, fraction }: Match): unknown {
  const from = expressionOf(shape.name)
  const { field, path } = target
  if (!field || field.kind === 'text') return from
  const nulls = ZERO_UNKNOWN.test(path) && shape.zeros.length > 0 ? { nulls: shape.zeros } : {}
  const words = options ? { options, else: 'blank' } : {}
  const scale = fraction ? { scale: 'fraction' } : {}
  // What cannot be read leaves out the cell, not the row.
  return { from, ...nulls, ...words, ...scale, on_error: 'quarantine_cell' }
}

export function documentOf(parts: Parts): Row {
  const { profile, source, key } = parts
  const dates = [
    ...new Set(parts.matches.flatMap(({ target, shape }) => datesOf(target.path, shape))),
  ]
  return {
    adapter: parts.name,
    description: parts.description,
    source: { name: parts.source_name, ...source },
    locale: {
      decimal: profile.signs.decimal,
      thousands: profile.signs.thousands,
      ...(dates.length > 0 ? { date: dates } : {}),
      nulls: ['', ...profile.nulls],
    },
    mode: 'upsert',
    guards: { min_rows: 1, require_columns: key.shapes.map(({ name }) => name) },
    streams: [streamOf(parts)],
  }
}

/** The pattern of a column, and the shorter one that reads the same days without zeros in front. */
function datesOf(path: string, { dates: [pattern] }: Shape): string[] {
  if (pattern === undefined || !path.endsWith('date')) return []
  return [pattern]
}

function streamOf({ stream, type, key, matches, constants }: Parts): Row {
  const map: Row = {}
  for (const { field, value } of constants) map[field] = { value }
  for (const match of matches) {
    const { path, field } = match.target
    if (!field || field.kind === 'reference') continue
    const [head = '', part] = path.split('.')
    if (part === undefined) map[head] = entryOf(match)
    else {
      const outer = (map[head] ??= { object: {} }) as { object: Row }
      outer.object[part] = entryOf(match)
    }
  }
  if (type === 'lease') Object.assign(map, leaseLists(matches, key))
  addCountry(map, matches)
  const resolve = resolveOf(type, matches, key)
  return {
    name: stream,
    type,
    key: keyExpression(key),
    ...(key.group ? { group: true } : {}),
    map,
    ...(Object.keys(resolve).length > 0 ? { resolve } : {}),
  }
}

const at = (matches: readonly Match[], path: string): Match | undefined =>
  matches.find(({ target }) => target.path === path)

const read = (match: Match | undefined): string | null =>
  match ? expressionOf(match.shape.name) : null

/** Premises and rent of a lease: lists with one item per row. */
function leaseLists(matches: readonly Match[], key: Key): Row {
  const lists: Row = {}
  const label = read(at(matches, 'premises.label'))
  if (label !== null) lists['premises'] = { list: { label } }
  else if (key.group && at(matches, 'building_id'))
    lists['premises'] = { list: { label: read(at(matches, 'building_id')) } }
  const start = read(at(matches, 'commencement_date'))
  const rent = (['monthly', 'annual', 'per_area'] as const)
    .map((form) => [form, read(at(matches, `rent.${form}`))] as const)
    .find(([, from]) => from !== null)
  if (start === null || !rent) return lists
  const [form, from] = rent
  const field = { monthly: 'amount_monthly', annual: 'amount_annual', per_area: 'per_area_annual' }[
    form
  ]
  const end = read(at(matches, 'expiration_date'))
  lists['rent_schedule'] = {
    list: {
      kind: { value: 'base' },
      start_date: start,
      ...(end === null ? {} : { end_date: end }),
      [field]: { from, on_error: 'quarantine_cell' },
    },
  }
  return lists
}

/** States of the USA are told by their country: US-WA. */
function addCountry(map: Row, matches: readonly Match[]): void {
  const region = at(matches, 'address.region')
  const address = map['address'] as { object: Row } | undefined
  if (!region || !address || at(matches, 'address.country') || !areStates(region.shape)) return
  address.object['region'] = `'US-' + ${expressionOf(region.shape.name)}`
  address.object['country'] = { value: 'US' }
}

const STATES = new Set(
  'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY AS GU MP PR VI'.split(
    ' ',
  ),
)

export function areStates({ values }: Shape): boolean {
  return values.length > 0 && values.every((value) => STATES.has(String(value).trim()))
}

/** Fields by which files name a related object. */
const TOLD_BY: Readonly<Record<string, string[]>> = {
  building: ['code', 'name'],
  property: ['code', 'name'],
  lease: ['lease_number'],
}

function resolveOf(type: string, matches: readonly Match[], key: Key): Row {
  const resolve: Row = {}
  for (const { target, shape } of matches) {
    const related = target.field?.kind === 'reference' ? target.field.target : null
    if (related === null) continue
    const value = expressionOf(shape.name)
    if (related === 'party') resolve[target.path] = partyRule(target.path, matches, value)
    else if (Object.hasOwn(TOLD_BY, related)) {
      // Whatever source it came from; filled once it arrives.
      const by = TOLD_BY[related] as string[]
      resolve[target.path] = { type: related, by, value: by.map(() => value), missing: 'pending' }
    }
  }
  const building = resolve['building_id']
  if (type === 'lease' && building && (key.group || at(matches, 'premises.label')))
    resolve['premises.building_id'] = building
  return resolve
}

/** Parties that the file names are made in advance: a list of tenants, as a rule, does not come with a rent roll. */
function partyRule(path: string, matches: readonly Match[], name: string): Row {
  const role = path.replace('_party_id', '')
  const code = role === 'tenant' ? read(at(matches, 'tenant.key')) : null
  const roles = ['tenant', 'landlord', 'owner'].includes(role) ? { roles: { value: [role] } } : {}
  return {
    type: 'party',
    stream: 'parties',
    value: code ?? name,
    missing: 'create_stub',
    stub: { kind: { value: 'company' }, legal_name: name, ...roles },
  }
}
