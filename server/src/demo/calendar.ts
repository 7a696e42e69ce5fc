/** Civil dates as `YYYY-MM-DD`, and the instants that they begin at. */

export { addMonths } from '../kit/dates.ts'

const DAY_MS = 86_400_000

export function addDays(date: string, days: number): string {
  return dateOf(Date.parse(date) + days * DAY_MS)
}

/** The first day of the month, or of one `months` later. */
export function firstOfMonth(date: string, months = 0): string {
  return written(...monthAfter(date, months), 1)
}

/** The last day of the month, or of one `months` later. */
export function monthEnd(date: string, months = 0): string {
  const [year, month] = monthAfter(date, months)
  return written(year, month, lastDay(year, month))
}

function monthAfter(date: string, months: number): [year: number, month: number] {
  const count = yearOf(date) * 12 + Number(date.slice(5, 7)) - 1 + months
  return [Math.floor(count / 12), (count % 12) + 1]
}

function lastDay(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

function written(year: number, month: number, day: number): string {
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
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
