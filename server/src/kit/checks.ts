import type { Issue } from './errors.ts'

/**
 * Building blocks of a resource's `check`. Every comparison is made only when both values are known: imported data has
 * holes, and a hole is not an error.
 */
export type Values = Readonly<Record<string, unknown>>

/** `later` must not lie before `earlier`; both are dates or both instants. `at` is the path in front of the names. */
export function notBefore<V extends object>(
  values: V,
  earlier: keyof V & string,
  later: keyof V & string,
  code: string,
  at = '',
): Issue[] {
  const [a, b] = [values[earlier], values[later]]
  if (typeof a !== 'string' || typeof b !== 'string') return []
  if (!(Date.parse(b) < Date.parse(a))) return []
  return [{ field: at + later, code, message: `must be on or after ${earlier} (${a})` }]
}

/** The number `smaller` must not be above `larger`. */
export function notAbove<V extends object>(
  values: V,
  smaller: keyof V & string,
  larger: keyof V & string,
  code: string,
  at = '',
): Issue[] {
  const [a, b] = [values[smaller], values[larger]]
  if (typeof a !== 'number' || typeof b !== 'number' || a <= b) return []
  return [{ field: at + smaller, code, message: `must not be above ${larger} (${b})` }]
}

/** Applies a rule to each item of a list field; `at` is the item's path with its dot: `options[2].`. */
export function inEach<I>(
  items: readonly I[] | null | undefined,
  name: string,
  rule: (item: I, at: string, index: number) => Issue[],
): Issue[] {
  return (items ?? []).flatMap((item, index) => rule(item, `${name}[${index}].`, index))
}

/** An object cannot be its own parent. */
export function notItself<R extends { id: string }>(row: R, field: keyof R & string): Issue[] {
  if (typeof row[field] !== 'string' || row[field] !== row.id) return []
  return [{ field, code: 'own_parent', message: 'must not be the object itself' }]
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

/** An ISO 4217 code that is or was in use. */
export function knownCurrency(code: string | null | undefined, field = 'currency'): Issue[] {
  if (!code || CURRENCIES.has(code)) return []
  return [{ field, code: 'unknown_currency', message: `'${code}' is not an ISO 4217 currency` }]
}

const ZONES: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])

/** An IANA time zone, older names such as US/Eastern included. */
export function knownTimeZone(zone: string | null | undefined, field = 'time_zone'): Issue[] {
  if (!zone || ZONES.has(zone) || isZoneAlias(zone)) return []
  return [{ field, code: 'unknown_time_zone', message: `'${zone}' is not an IANA time zone` }]
}

function isZoneAlias(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
