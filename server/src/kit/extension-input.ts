/** What clients write to fields of the organization's own: checked, named in every failure, brought into stored form. */
import { mergePatch } from './apply.ts'
import { instant, isDate } from './dates.ts'
import type { Issue } from './errors.ts'
import {
  ADDRESS_PARTS,
  converted,
  deployed,
  extensionKey,
  extensionNamed,
  shownValue,
  storedMoney,
  UNITS,
} from './extension.ts'
import type { Extension } from './extension.ts'
import { idDigits } from './ids.ts'
import type { Row } from './resource.ts'
import { closest } from './validate.ts'

/** A value in stored form, or what is wrong with it. */
export type Accepted = { value: unknown } | { issue: Omit<Issue, 'field'> }

/** Beyond this, sums of decimals lose digits. */
export const NUMBER_MAX = 1_000_000_000_000_000

const MULTI_MAX = 100

/**
 * The part of a body that stands under `ext`, as changes by key: null clears.
 * @param before the stored values that a merge patch applies to; null for a new object.
 */
export function acceptExtensions(
  extensions: readonly Extension[],
  input: Row | null | undefined,
  before: Row | null,
): { changes: Row; issues: Issue[] } {
  const changes: Row = {}
  const issues: Issue[] = []
  for (const [name, given] of Object.entries(input ?? {})) {
    const field = `ext.${name}`
    const extension = extensionNamed(extensions, name)
    if (!extension) {
      issues.push({ field, ...unknownField(extensions, name) })
      continue
    }
    const key = extensionKey(extension.id)
    if (key in changes) {
      issues.push({ field, code: 'duplicate', message: `is ${extension.name}, which is given too` })
      continue
    }
    const whole = mergePatch(shownValue(extension, before?.[key]), given)
    const accepted = acceptValue(extension, whole)
    if ('issue' in accepted) issues.push({ field, ...accepted.issue })
    else changes[key] = accepted.value
  }
  for (const extension of deployed(extensions)) addUnsaid(extension, before, changes, issues)
  return { changes, issues }
}

/** Defaults of a new object; required fields that it lacks, or that a patch clears. */
function addUnsaid(extension: Extension, before: Row | null, changes: Row, issues: Issue[]): void {
  const key = extensionKey(extension.id)
  const initial = extension.settings.default
  if (before === null && !(key in changes) && initial !== undefined) changes[key] = initial
  if (!extension.required) return
  const lacks = before === null ? (changes[key] ?? null) === null : changes[key] === null
  const field = `ext.${extension.name}`
  if (!lacks || issues.some((issue) => issue.field === field)) return
  const message = before === null ? 'is required' : 'is required and cannot be cleared'
  issues.push({ field, code: 'required', message })
}

function unknownField(extensions: readonly Extension[], name: string): Omit<Issue, 'field'> {
  const names = deployed(extensions).map((extension) => extension.name)
  const suggestion = closest(name, names)
  const message = `unknown field 'ext.${name}'`
  return { code: 'unknown_field', message, ...(suggestion ? { suggestion } : {}) }
}

const wrong = (code: string, message: string, allowed?: readonly string[]): Accepted => ({
  issue: { code, message, ...(allowed ? { allowed } : {}) },
})

/** One value in stored form. Null clears and is always accepted here. */
export function acceptValue(extension: Extension, value: unknown): Accepted {
  if (value === null || value === undefined) return { value: null }
  switch (extension.type) {
    case 'percent':
    case 'integer':
    case 'decimal':
      return acceptNumber(extension, value)
    case 'boolean':
      return typeof value === 'boolean' ? { value } : wrong('invalid_type', 'must be true or false')
    case 'text':
    case 'long_text':
    case 'url':
    case 'email':
    case 'phone':
      return acceptText(extension, value)
    case 'date':
      if (typeof value === 'string' && isDate(value)) return { value }
      return wrong('invalid_format', `must be a date such as 2026-12-31, got '${told(value)}'`)
    case 'datetime': {
      const time = typeof value === 'string' ? instant(value) : null
      if (time !== null) return { value: time }
      return wrong(
        'invalid_format',
        `must be a time such as 2026-12-31T08:00:00Z, got '${told(value)}'`,
      )
    }
    case 'select':
      return acceptOption(extension, value)
    case 'multi_select':
      return acceptOptions(extension, value)
    case 'money':
      return acceptMoney(extension, value)
    case 'area':
    case 'length':
      return acceptMeasure(extension, extension.type, value)
    case 'relation':
    case 'document':
      return acceptReference(extension, value)
    case 'address':
      return acceptAddress(value)
    case 'formula':
      return wrong('read_only', 'is computed from other fields and cannot be written')
  }
}

function told(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** Percent fields lie between 0 and 100 unless they say otherwise. */
export function boundsOf({ type, settings }: Pick<Extension, 'type' | 'settings'>): {
  min: number
  max: number
  scale: number
} {
  const percent = type === 'percent'
  const scale = settings.scale ?? (type === 'integer' ? 0 : percent ? 4 : 6)
  const min = settings.min ?? (percent ? 0 : -NUMBER_MAX)
  return { min, max: settings.max ?? (percent ? 100 : NUMBER_MAX), scale }
}

function acceptNumber(extension: Extension, value: unknown): Accepted {
  if (typeof value !== 'number' || !Number.isFinite(value))
    return wrong('invalid_type', 'must be number')
  const { min, max, scale } = boundsOf(extension)
  if (value < min || value > max) return outOfRange(min, max, value)
  if (Number(value.toFixed(scale)) !== value) {
    return scale === 0
      ? wrong('invalid_type', `must be a whole number, got ${value}`)
      : wrong('too_many_decimals', `must have at most ${scale} decimals, got ${value}`)
  }
  return { value }
}

function outOfRange(min: number, max: number, value: number): Accepted {
  const below = min === -NUMBER_MAX ? '' : `>= ${min}`
  const above = max === NUMBER_MAX ? '' : `<= ${max}`
  const range = [below, above].filter(Boolean).join(' and ') || 'a number of at most 15 digits'
  return wrong('out_of_range', `must be ${range}, got ${value}`)
}

/** Longest value of a text field that does not say otherwise, in characters. */
export const TEXT_MAX: Readonly<Record<string, number>> = {
  text: 200,
  long_text: 20_000,
  url: 2_000,
  email: 254,
  phone: 40,
}

function acceptText({ type, settings }: Extension, value: unknown): Accepted {
  if (typeof value !== 'string') return wrong('invalid_type', 'must be string')
  const max = settings.max_length ?? TEXT_MAX[type] ?? 200
  if (value.length > max) return wrong('max_length', `must NOT have more than ${max} characters`)
  const text = type === 'text' || type === 'long_text' ? value : value.trim()
  if (text.length === 0) return wrong('min_length', 'must NOT have fewer than 1 characters')
  if (type === 'url') return acceptUrl(text)
  if (type === 'email') return acceptEmail(text)
  return type === 'phone' ? acceptPhone(text) : { value: text }
}

function acceptUrl(text: string): Accepted {
  if (/^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)) return { value: text }
  return wrong(
    'invalid_format',
    `must be an address such as https://example.com, got '${told(text)}'`,
  )
}

function acceptEmail(text: string): Accepted {
  if (!/^[^\s@]{1,64}@[^\s@]+\.[^\s@]+$/.test(text))
    return wrong('invalid_format', `must be an email address, got '${told(text)}'`)
  const at = text.lastIndexOf('@')
  return { value: text.slice(0, at) + text.slice(at).toLowerCase() }
}

function acceptPhone(text: string): Accepted {
  const digits = text.replaceAll(/[ ().\-/]/g, '')
  if (/^\+?[0-9]{5,15}$/.test(digits)) return { value: digits }
  return wrong(
    'invalid_format',
    `must be a phone number such as +49 30 1234567, got '${told(text)}'`,
  )
}

function acceptOption({ options }: Extension, value: unknown): Accepted {
  const active = options.filter(({ state }) => state === 'active')
  const found = active.find(({ name }) => name === value)
  if (found) return { value: found.id }
  const allowed = active.map(({ name }) => name)
  const suggestion = closest(told(value), allowed)
  const issue = { code: 'invalid_enum', message: `unknown value '${told(value)}'`, allowed }
  return { issue: { ...issue, ...(suggestion ? { suggestion } : {}) } }
}

function acceptOptions(extension: Extension, value: unknown): Accepted {
  if (!Array.isArray(value)) return wrong('invalid_type', 'must be array')
  if (value.length > MULTI_MAX) return wrong('max_items', `must have at most ${MULTI_MAX} items`)
  const ids = new Set<unknown>()
  for (const item of value) {
    const accepted = acceptOption(extension, item)
    if ('issue' in accepted) return accepted
    ids.add(accepted.value)
  }
  return { value: [...ids] }
}

function acceptMoney(extension: Extension, value: unknown): Accepted {
  const { settings } = extension
  const { amount, currency = settings.currency } = (
    typeof value === 'object' ? value : { amount: value }
  ) as { amount?: unknown; currency?: unknown }
  if (typeof amount !== 'string' && typeof amount !== 'number')
    return wrong('invalid_type', 'must be {amount, currency}')
  if (!/^-?[0-9]{1,15}(\.[0-9]{1,2})?$/.test(String(amount)))
    return wrong('invalid_format', `must be an amount such as 12500.00, got '${told(amount)}'`)
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency))
    return wrong('invalid_format', 'must name a currency such as EUR')
  if (settings.currency && currency !== settings.currency)
    return wrong('invalid_enum', `must be in ${settings.currency}, got ${currency}`, [
      settings.currency,
    ])
  const { min = -NUMBER_MAX, max = NUMBER_MAX } = settings
  if (Number(amount) < min || Number(amount) > max) return outOfRange(min, max, Number(amount))
  return { value: storedMoney(extension, amount, currency) }
}

function acceptMeasure(extension: Extension, kind: 'area' | 'length', value: unknown): Accepted {
  const own = extension.settings.unit as string
  const { value: amount, unit = own } = (typeof value === 'object' ? value : { value }) as {
    value?: unknown
    unit?: unknown
  }
  const units = Object.keys(UNITS[kind])
  if (typeof amount !== 'number' || !Number.isFinite(amount))
    return wrong('invalid_type', 'must be {value, unit}')
  if (typeof unit !== 'string' || !units.includes(unit))
    return wrong('invalid_enum', `unknown unit '${told(unit)}'`, units)
  const stored = converted(amount, kind, unit, own)
  const { min = 0, max = NUMBER_MAX } = extension.settings
  return stored < min || stored > max ? outOfRange(min, max, stored) : { value: stored }
}

function acceptReference({ settings }: Extension, value: unknown): Accepted {
  const prefix = settings.target_prefix ?? ''
  const digits = typeof value === 'string' ? idDigits(prefix, value) : null
  if (digits !== null) return { value: digits }
  return wrong('invalid_id', `must look like ${prefix}_1042, got '${told(value)}'`)
}

function acceptAddress(value: unknown): Accepted {
  if (typeof value !== 'object' || Array.isArray(value))
    return wrong('invalid_type', 'must be object')
  const given = value as Row
  const parts: readonly string[] = ADDRESS_PARTS
  const other = Object.keys(given).find((name) => !parts.includes(name))
  if (other !== undefined) return wrong('unknown_field', `has no part '${told(other)}'`, parts)
  for (const part of Object.values(given))
    if (part !== null && (typeof part !== 'string' || part.length > 200))
      return wrong('invalid_type', 'must have parts of at most 200 characters')
  const country = given['country'] ?? null
  if (country !== null && !/^[A-Z]{2}$/.test(country as string))
    return wrong('invalid_format', `must name a country such as DE, got '${told(country)}'`)
  return { value: Object.fromEntries(parts.map((part) => [part, given[part] ?? null])) }
}
