/** The query string of reads: limit, cursor, sort, filters, fields, expand, include, q, as_of, known_at. */
import type { KeyObject } from 'node:crypto'
import { addDays, instant, isDate } from './dates.ts'
import { invalid } from './errors.ts'
import type { Issue } from './errors.ts'
import { deployed, extensionNamed, presentName } from './extension.ts'
import { parseCondition } from './filter.ts'
import type { Condition, SortKey } from './filter.ts'
import { sortColumns } from './list-columns.ts'
import { decodeCursor, queryHash } from './page.ts'
import type { CursorValues } from './page.ts'
import { expandable, expandedFields, relationsOf } from './relations.ts'
import { allFields } from './resource.ts'
import type { Resource } from './resource.ts'
import type { Caller } from './types.ts'
import { closest } from './validate.ts'

export type Registry = ReadonlyMap<string, Resource>

export const LIMIT_DEFAULT = 50
export const LIMIT_MAX = 200
const SORT_KEYS_MAX = 3
const EXPAND_MAX = 10
const EXPAND_DEPTH_MAX = 2

export const INCLUDES = [
  'total_count',
  'facts',
  'provenance',
  'rollups',
  'deleted',
  'archived',
] as const
export type Include = (typeof INCLUDES)[number]

/** What part of the fields an answer shows: `fields=`, `expand=`, `include=`. */
export interface Shape {
  fields: readonly string[] | null
  expand: readonly string[]
  include: ReadonlySet<Include>
}

/** The two times of a read; null is now. */
export interface Times {
  /** Valid time: end of the day `as_of` in the organization's time zone, epoch milliseconds. */
  as_of: number | null
  /** Recorded time: only what was written by then counts. */
  known_at: number | null
}

export interface ListQuery extends Shape, Times {
  conditions: readonly Condition[]
  external: { system: string; id: string } | null
  q: string | null
  sort: readonly SortKey[]
  limit: number
  after: CursorValues | null
  hash: string
}

export type Query = Readonly<Record<string, unknown>>

/** What the query of a list can hold besides filters. */
export const LIST_PARAMETERS: readonly string[] = [
  'limit',
  'cursor',
  'sort',
  'fields',
  'expand',
  'include',
  'q',
  'as_of',
  'known_at',
  'external_id',
]

/** Path parameters of the parent (`building_id` under `/buildings/{id}/floors`) count as filters. */
export function parseListQuery(
  resource: Resource,
  registry: Registry,
  query: Query,
  secret: KeyObject,
  { org_id, time_zone }: Pick<Caller, 'org_id' | 'time_zone'>,
): ListQuery {
  const issues: Issue[] = []
  const text = textOf(query, issues)
  const shape = parseShape(resource, registry, text, issues)
  const times = parseTimes(text, time_zone, issues)
  const relations = relationsOf(resource, registry)
  const conditions: Condition[] = []
  for (const [key, value] of text) {
    if (LIST_PARAMETERS.includes(key)) continue
    const condition = parseCondition(resource, relations, key, value, issues)
    if (condition) conditions.push(condition)
  }
  refuseTimedRollups(shape, times, issues)
  const sort = parseSort(resource, text.get('sort'), issues)
  const limit = parseLimit(text.get('limit'), issues)
  const external = parseExternal(text.get('external_id'), issues)
  const q = text.get('q')?.trim().toLowerCase() || null
  if (q && q.length > 200)
    issues.push({ field: 'q', code: 'too_long', message: 'at most 200 characters' })
  if (issues.length > 0) throw invalid(issues)
  const bound = [...text].filter(
    ([key]) => !['cursor', 'limit', 'fields', 'expand', 'include'].includes(key),
  )
  const hash = queryHash(org_id, [
    resource.name,
    ...bound.map(([key, value]) => `${key}=${value}`).sort(),
  ])
  const cursor = text.get('cursor')
  const after = cursor ? decodeCursor(secret, hash, cursor, Date.now()) : null
  return { ...shape, ...times, conditions, external, q, sort, limit, after, hash }
}

/** The part of the query that a read of one object understands. */
export function parseGetQuery(
  resource: Resource,
  registry: Registry,
  query: Query,
  timeZone: string,
): Shape & Times {
  const issues: Issue[] = []
  const text = textOf(query, issues)
  refuseOthers(text, ['fields', 'expand', 'include', 'as_of', 'known_at'], issues)
  const shape = parseShape(resource, registry, text, issues)
  const times = parseTimes(text, timeZone, issues)
  refuseTimedRollups(shape, times, issues)
  if (issues.length > 0) throw invalid(issues)
  return { ...shape, ...times }
}

/** The query of a read that can be moved in time and takes nothing else. */
export function parseTimesQuery(query: Query, timeZone: string): Times {
  const issues: Issue[] = []
  const text = textOf(query, issues)
  refuseOthers(text, ['as_of', 'known_at'], issues)
  const times = parseTimes(text, timeZone, issues)
  if (issues.length > 0) throw invalid(issues)
  return times
}

function refuseOthers(text: Map<string, string>, known: readonly string[], issues: Issue[]): void {
  for (const key of text.keys()) {
    if (known.includes(key)) continue
    const suggestion = closest(key, known)
    issues.push({
      field: key,
      code: 'unknown_parameter',
      message: `unknown parameter '${key}'`,
      ...(suggestion ? { suggestion } : {}),
    })
  }
}

/** Rollups are computed from objects as they are now: beside a row of another time they would mislead. */
function refuseTimedRollups({ include }: Shape, times: Times, issues: Issue[]): void {
  if (!include.has('rollups') || (times.as_of === null && times.known_at === null)) return
  issues.push({
    field: 'include',
    code: 'unsupported_with_time',
    message: 'rollups are of today: leave out as_of and known_at, or rollups',
  })
}

function textOf(query: Query, issues: Issue[]): Map<string, string> {
  const map = new Map<string, string>()
  for (const [key, value] of Object.entries(query)) {
    if (typeof value !== 'string')
      issues.push({
        field: key,
        code: 'repeated',
        message: 'may be given once; separate several values by commas',
      })
    else if (value.includes('\0'))
      issues.push({ field: key, code: 'invalid_character', message: 'must not contain NUL' })
    else map.set(key, value)
  }
  return map
}

function parseShape(
  resource: Resource,
  registry: Registry,
  text: Map<string, string>,
  issues: Issue[],
): Shape {
  const include = words(text.get('include')).filter((word) =>
    known(word, INCLUDES, 'include', issues),
  )
  const expand = words(text.get('expand'))
  if (expand.length > EXPAND_MAX)
    issues.push({ field: 'expand', code: 'too_many', message: `at most ${EXPAND_MAX}` })
  for (const path of expand) checkExpand(resource, registry, path, issues)
  const asked = text.has('fields') ? words(text.get('fields')) : null
  // What is refused above, such as a path a thousand levels deep, is not followed.
  const followed = asked && issues.length === 0 ? expand : []
  const names = asked
    ? [...Object.keys(allFields(resource)), ...expandedFields(resource, registry, followed)]
    : []
  const fields = asked?.map((path) => presentName(resource, path)) ?? null
  for (const path of fields ?? []) {
    const [head = '', own = ''] = path.split('.')
    if (head === 'ext' && path.includes('.')) {
      if (extensionNamed(resource.extensions, own)) continue
      const names = deployed(resource.extensions).map((extension) => `ext.${extension.name}`)
      known(path, names, 'fields', issues)
    } else known(path, names, 'fields', issues)
  }
  return { fields, expand, include: new Set(include as Include[]) }
}

function checkExpand(resource: Resource, registry: Registry, path: string, issues: Issue[]): void {
  const steps = path.split('.')
  if (steps.length > EXPAND_DEPTH_MAX) {
    issues.push({
      field: 'expand',
      code: 'too_deep',
      message: `at most ${EXPAND_DEPTH_MAX} levels, got '${path}'`,
    })
    return
  }
  let at: Resource | undefined = resource
  for (const step of steps) {
    const names = expandable(at, registry)
    if (!known(step, [...names.keys()], 'expand', issues)) return
    at = registry.get(names.get(step)?.target ?? '')
    if (!at) return
  }
}

function known(word: string, allowed: readonly string[], field: string, issues: Issue[]): boolean {
  if (allowed.includes(word)) return true
  const suggestion = closest(word, allowed)
  issues.push({
    field,
    code: 'unknown_value',
    message: `unknown value '${word}'`,
    allowed,
    ...(suggestion ? { suggestion } : {}),
  })
  return false
}

function parseSort(resource: Resource, text: string | undefined, issues: Issue[]): SortKey[] {
  const columns = sortColumns(resource)
  const keys: SortKey[] = []
  const asked = words(text ?? resource.sort)
  if (asked.length > SORT_KEYS_MAX)
    issues.push({ field: 'sort', code: 'too_many', message: `at most ${SORT_KEYS_MAX} keys` })
  for (const word of asked) {
    const name = presentName(resource, word.replace(/^-/, ''))
    const column = columns.get(name)
    if (!column) {
      known(name, [...columns.keys()], 'sort', issues)
      continue
    }
    if (!keys.some((key) => key.column === name)) {
      const { type, own } = column
      const descending = word.startsWith('-')
      keys.push({ column: name, type, descending, ...(own ? { own } : {}) })
    }
  }
  if (!keys.some((key) => key.column === 'id'))
    keys.push({ column: 'id', type: 'bigint', descending: false })
  return keys
}

function parseLimit(text: string | undefined, issues: Issue[]): number {
  if (text === undefined) return LIMIT_DEFAULT
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit
  issues.push({
    field: 'limit',
    code: 'out_of_range',
    message: `must be a whole number from 1 to ${LIMIT_MAX}, got '${text}'`,
  })
  return LIMIT_DEFAULT
}

function parseExternal(text: string | undefined, issues: Issue[]): ListQuery['external'] {
  if (text === undefined) return null
  const colon = text.indexOf(':')
  if (colon > 0 && colon < text.length - 1)
    return { system: text.slice(0, colon), id: text.slice(colon + 1) }
  issues.push({
    field: 'external_id',
    code: 'invalid_value',
    message: `must look like system:id, got '${text}'`,
  })
  return null
}

function parseTimes(text: Map<string, string>, timeZone: string, issues: Issue[]): Times {
  const asOf = text.get('as_of')
  const knownAt = text.get('known_at')
  const times: Times = { as_of: null, known_at: null }
  if (asOf !== undefined) {
    if (isDate(asOf)) times.as_of = endOfDay(asOf, timeZone)
    else
      issues.push({
        field: 'as_of',
        code: 'invalid_format',
        message: `must be a date such as 2026-03-31, got '${asOf}'`,
      })
  }
  if (knownAt !== undefined) {
    const time = instant(knownAt)
    if (time !== null) times.known_at = Date.parse(time)
    else
      issues.push({
        field: 'known_at',
        code: 'invalid_format',
        message: `must be a time with zone such as 2026-04-15T00:00:00Z, got '${knownAt}'`,
      })
  }
  return times
}

/** The last millisecond of a civil day in a time zone. */
export function endOfDay(date: string, timeZone: string): number {
  return startOfDay(addDays(date, 1), timeZone) - 1
}

/** Midnight of a civil day in a time zone, epoch milliseconds. */
export function startOfDay(date: string, timeZone: string): number {
  const utc = Date.parse(`${date}T00:00:00Z`)
  // The zone's offset is looked up twice: the first guess may lie on the other side of a clock change.
  const guess = utc - offset(utc, timeZone)
  return utc - offset(guess, timeZone)
}

/** The civil day of an instant in a time zone. */
export function civilDate(at: number, timeZone: string): string {
  return new Date(at + offset(at, timeZone)).toISOString().slice(0, 10)
}

/** Clocks change where a minute begins. */
const MINUTE_MS = 60_000

interface Zone {
  format: Intl.DateTimeFormat
  /** The minute asked for last, since the epoch, and the offset in it. */
  minute: number
  offset: number
}

const zones = new Map<string, Zone>()

/** How far the clocks of a time zone are ahead of UTC, in milliseconds. */
function offset(at: number, timeZone: string): number {
  let zone = zones.get(timeZone)
  if (!zone) {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    zone = { format, minute: Number.NaN, offset: 0 }
    zones.set(timeZone, zone)
  }
  const minute = Math.floor(at / MINUTE_MS)
  if (minute !== zone.minute) {
    zone.offset = offsetOf(zone.format, at)
    zone.minute = minute
  }
  return zone.offset
}

function offsetOf(format: Intl.DateTimeFormat, at: number): number {
  const name = format.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
  const match = /GMT([+-])(\d{2}):(\d{2})/.exec(name)
  if (!match) return 0
  const minutes = Number(match[2]) * 60 + Number(match[3])
  return (match[1] === '-' ? -1 : 1) * minutes * 60_000
}

function words(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
}
