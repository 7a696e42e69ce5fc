/** Dates and instants as they travel, and only those that PostgreSQL can hold. */

/** A civil date that exists, from the year 1 on. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

const INSTANT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})$/i

/** An RFC 3339 time in UTC with milliseconds; null for what is none, or lies outside the years 1 to 9999. */
export function instant(text: string): string | null {
  if (!INSTANT.test(text)) return null
  const time = Date.parse(text.toUpperCase())
  if (Number.isNaN(time)) return null
  const iso = new Date(time).toISOString()
  return isDate(iso.slice(0, 10)) ? iso : null
}

/** The civil day some days later, or earlier for a negative number. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

/** The same day some months later, or the last of the month where it has no such day, as PostgreSQL adds intervals. */
export function addMonths(date: string, months: number): string {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const last = new Date(Date.UTC(year, month + months, 0)).getUTCDate()
  return new Date(Date.UTC(year, month - 1 + months, Math.min(day, last)))
    .toISOString()
    .slice(0, 10)
}
