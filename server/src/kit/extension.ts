/**
 * Fields that an organization added to a type. Facts, rows and events hold their values under the id of the field, in
 * stored form; names and the form that clients see are put on when they are read. A rename therefore moves nothing.
 */
import { formatDecimal, parseDecimal } from './decimal.ts'
import { publicId } from './ids.ts'
import type { Row } from './resource.ts'

export const EXTENSION_TYPES = [
  'percent',
  'select',
  'boolean',
  'text',
  'long_text',
  'integer',
  'decimal',
  'money',
  'date',
  'datetime',
  'multi_select',
  'url',
  'email',
  'phone',
  'relation',
  'document',
  'address',
  'area',
  'length',
  'formula',
] as const
export type ExtensionType = (typeof EXTENSION_TYPES)[number]

export interface ExtensionOption {
  /** Never given twice within a field; what facts hold. */
  id: number
  name: string
  label: string
  state: 'active' | 'deprecated'
}

/** What a type can be told; each type has some of them. */
export interface ExtensionSettings {
  min?: number
  max?: number
  /** Digits after the decimal point. */
  scale?: number
  max_length?: number
  /** The one currency of the field; without it each value names its own. */
  currency?: string
  unit?: string
  /** Type that a relation leads to, and the prefix of its ids. */
  target?: string
  target_prefix?: string
  /** Of a formula. */
  expression?: string
  /** Field whose values this one takes over, while that is under way. */
  converts?: number
  /** In stored form: what a create uses when the field is left out. */
  default?: unknown
}

export interface Extension {
  id: number
  object_type: string
  name: string
  label: string
  description: string | null
  type: ExtensionType
  settings: ExtensionSettings
  options: readonly ExtensionOption[]
  /** Earlier names, understood until the given time (RFC 3339). */
  aliases: readonly { name: string; until: string }[]
  required: boolean
  filterable: boolean
  /** Every value is in the index. */
  indexed: boolean
  state: 'deployed' | 'deprecated' | 'removed'
}

/** Units by what they measure, each in metres or square metres. The foot is 0.3048 m exactly. */
export const UNITS: Readonly<Record<'area' | 'length', Readonly<Record<string, number>>>> = {
  area: { sqm: 1, sqft: 0.3048 ** 2 },
  length: { m: 1, cm: 0.01, km: 1_000, ft: 0.3048, mi: 1_609.344 },
}

export const ADDRESS_PARTS = ['line1', 'line2', 'city', 'region', 'postal_code', 'country'] as const

const KEY = /^x[1-9][0-9]{0,15}$/

/** Name under which facts and rows hold the values of a field. */
export function extensionKey(id: number): string {
  return `x${id}`
}

/** Does the attribute of a fact belong to a field of the organization's own? No declared field has such a name. */
export function isExtensionKey(name: string): boolean {
  return name.charCodeAt(0) === 0x78 && KEY.test(name)
}

/** The fields that are shown and can be written. */
export function deployed(extensions: readonly Extension[]): Extension[] {
  return extensions.filter(({ state }) => state === 'deployed')
}

/** The deployed field of that name, or of that name until lately. */
export function extensionNamed(
  extensions: readonly Extension[],
  name: string,
  now = Date.now(),
): Extension | undefined {
  const live = deployed(extensions)
  return (
    live.find((extension) => extension.name === name) ??
    live.find(({ aliases }) =>
      aliases.some((alias) => alias.name === name && Date.parse(alias.until) > now),
    )
  )
}

/** `ext.old_name` as `ext.new_name`, while the old one is understood; other paths as they are. */
export function presentName(
  { extensions }: { extensions: readonly Extension[] },
  path: string,
): string {
  if (!path.startsWith('ext.')) return path
  const found = extensionNamed(extensions, path.slice(4))
  return found ? `ext.${found.name}` : path
}

/** The name under which facts hold an attribute: the key of `ext.green_share`, null where no deployed field has the name. */
export function factKey(extensions: readonly Extension[], name: string): string | null {
  if (!name.startsWith('ext.')) return name
  const found = extensionNamed(extensions, name.slice(4))
  return found ? extensionKey(found.id) : null
}

/** `ext.green_share` for the key of a fact, whatever has become of its field; other names as they are. */
export function claimName(extensions: readonly Extension[], name: string): string {
  if (!isExtensionKey(name)) return name
  const found = extensions.find(({ id }) => extensionKey(id) === name)
  return `ext.${found?.name ?? name}`
}

/** The fields that lead to objects; to those with a prefix, unless that is null. */
export function leadingTo(extensions: readonly Extension[], prefix: string | null): Extension[] {
  return extensions.filter(
    ({ type, settings }) =>
      (type === 'relation' || type === 'document') &&
      (prefix === null || settings.target_prefix === prefix),
  )
}

/** A value in stored form as clients see it; null for what does not fit the field any more. */
export function shownValue(extension: Extension, value: unknown): unknown {
  if (value === null || value === undefined) return null
  const { type, settings, options } = extension
  const optionName = (id: unknown): string | null => options.find((o) => o.id === id)?.name ?? null
  switch (type) {
    case 'select':
      return optionName(value)
    case 'multi_select':
      return (value as unknown[]).map(optionName).filter((name) => name !== null)
    case 'money': {
      const [amount, currency] = typeof value === 'string' ? [value] : (value as string[])
      return { amount, currency: currency ?? settings.currency }
    }
    case 'area':
    case 'length':
      return { value, unit: settings.unit }
    case 'relation':
    case 'document':
      return publicId(settings.target_prefix ?? 'obj', value as number)
    case 'percent':
    case 'boolean':
    case 'text':
    case 'long_text':
    case 'integer':
    case 'decimal':
    case 'date':
    case 'datetime':
    case 'url':
    case 'email':
    case 'phone':
    case 'address':
    case 'formula':
      return value
  }
}

/** Views of claims, with names and values as clients see them. Whatever holds a `value` is taken for one. */
export function shownClaim(extensions: readonly Extension[], key: string, view: Row): Row {
  const extension = extensions.find(({ id }) => extensionKey(id) === key)
  if (!extension) return view
  const shown = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(shown)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([name, inner]) => [
        name,
        name === 'value' ? shownValue(extension, inner) : shown(inner),
      ]),
    )
  }
  return shown(view) as Row
}

/** A view of claims on the field that it names, as clients see it. */
export function shownView(extensions: readonly Extension[], view: Row): Row {
  const { field } = view
  if (extensions.length === 0 || typeof field !== 'string') return view
  return { ...shownClaim(extensions, field, view), field: claimName(extensions, field) }
}

/** Money in its stored form: exact, as text; with its currency where the field leaves that to each value. */
export function storedMoney(
  { settings }: Extension,
  amount: unknown,
  currency: string,
): string | [string, string] | null {
  const units = parseDecimal(amount, 2)
  if (units === null) return null
  const text = formatDecimal(units, 2)
  return settings.currency === undefined ? [text, currency] : text
}

/** A measure in another unit of the same kind, to six decimals. */
export function converted(
  value: number,
  kind: 'area' | 'length',
  from: string,
  to: string,
): number {
  const factor = (UNITS[kind][from] ?? 1) / (UNITS[kind][to] ?? 1)
  return from === to ? value : Number((value * factor).toFixed(6))
}
