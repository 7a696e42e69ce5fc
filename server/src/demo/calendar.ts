/** Civil dates as `YYYY-MM-DD`, and the instants that they begin at. */

const DAY_MS = 86_400_000

export function addDays(date: string, days: number): string {
  return dateOf(Date.parse(date) + days * DAY_MS)
}

/** The same day of another month, or that month's last day when it is shorter. */
export function addMonths(date: string, months: number): string {
  const day = Number(date.slice(8))
  const first = firstOfMonth(date, months)
  const last = Number(monthEnd(first).slice(8))
  return `${first.slice(0, 8)}${String(Math.min(day, last)).padStart(2, '0')}`
}

/** The first day of the month, or of one `months` later. */
export function firstOfMonth(date: string, months = 0): string {
  return dateOf(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)) - 1 + months, 1))
}

/** The last day of the month, or of one `months` later. */
export function monthEnd(date: string, months = 0): string {
  return addDays(firstOfMonth(date, months + 1), -1)
}

/** Whole and begun months from one date to another, as a number; negative when `to` comes first. */
export function monthsBetween(from: string, to: string): number {
  const years = Number(to.slice(0, 4)) - Number(from.slice(0, 4))
  const months = Number(to.slice(5, 7)) - Number(from.slice(5, 7))
  return years * 12 + months + (Number(to.slice(8)) - Number(from.slice(8))) / 30.44
}

export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS)
}

export function yearOf(date: string): number {
  return Number(date.slice(0, 4))
}

/** The instant a date begins at, in UTC, in milliseconds. */
export function instantOf(date: string): number {
  return Date.parse(date)
}

export function dateOf(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10)
}

export function later(a: string, b: string): string {
  return a > b ? a : b
}

export function earlier(a: string, b: string): string {
  return a < b ? a : b
}
