import { storable } from './text.ts'

const DAY_SECONDS = 86_400
/** 9999-12-31, the last day a workbook knows; larger numbers are no dates, whatever their format. */
const LAST_SERIAL = 2_958_465
/** Number formats that programs know without a definition and that show a date or a time. */
const DATE_FORMATS: readonly (readonly [number, number])[] = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
]

/** True when a number with this format is shown as date or time. A definition wins over the id. */
export function isDateFormat(id: number, code: string | undefined): boolean {
  if (code === undefined) return DATE_FORMATS.some(([first, last]) => id >= first && id <= last)
  if (/^\s*(general|standard)\s*$/i.test(code)) return false
  // Quoted and escaped text, colours and currencies in brackets, widths and fills are no digits.
  const digits = code.replaceAll(/"[^"]*"|\[[^\]]*\]|[\\_*]./g, '')
  return /[ymdh]/i.test(digits)
}

/**
 * The date a serial number stands for: `2020-02-12`, with `T08:30:00` where there is a time.
 * A part of day 0 in the 1900 system is a time without a date: `08:30:00`. Undefined if none.
 */
export function serialToIso(serial: number, date1904: boolean): string | undefined {
  let day = Math.floor(serial)
  let seconds = Math.round((serial - day) * DAY_SECONDS)
  if (seconds === DAY_SECONDS) {
    day += 1
    seconds = 0
  }
  if (day < 0 || day > LAST_SERIAL) return undefined
  if (day === 0 && !date1904) return timeOf(seconds)
  const date = dayToIso(day, date1904)
  return seconds === 0 ? date : `${date}T${timeOf(seconds)}`
}

function dayToIso(day: number, date1904: boolean): string {
  if (date1904) return isoDay(Date.UTC(1904, 0, 1 + day))
  // Day 60 is 1900-02-29, which Excel has from Lotus 1-2-3 and which never was: the day before.
  return isoDay(Date.UTC(1899, 11, day < 60 ? 31 + day : 30 + day))
}

function isoDay(time_ms: number): string {
  const cached = days.get(time_ms)
  if (cached !== undefined) return cached
  const text = new Date(time_ms).toISOString().slice(0, 10)
  // Files repeat few dates, and the cache makes a date as cheap as a number.
  if (days.size > 20_000) days.clear()
  days.set(time_ms, text)
  return text
}

const days = new Map<number, string>()

function timeOf(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

/** A cell that holds an ISO 8601 text as date (`t="d"`): the same two forms as from a number. */
export function isoCell(text: string): string {
  const match = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?Z?)?$/.exec(text)
  if (!match) return text
  return match[2] && match[2] !== '00:00:00' ? `${match[1]}T${match[2]}` : (match[1] ?? text)
}

/** Undoes the escapes by which workbooks write characters that XML cannot: `_x000D_`. */
export function unescapeText(text: string): string {
  if (!text.includes('_x')) return text
  return storable(
    text.replaceAll(/_x([0-9a-f]{4})_/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ),
  )
}

/** `AB12` is in column 27, counted from 0; -1 if the reference names no column. */
export function columnOf(reference: string): number {
  let column = 0
  for (let at = 0; at < reference.length; at++) {
    const letter = (reference.charCodeAt(at) | 32) - 96
    if (letter < 1 || letter > 26) break
    column = column * 26 + letter
  }
  return column - 1
}

/** Column 27 is `AB`. */
export function columnLetters(column: number): string {
  const rest = Math.floor(column / 26) - 1
  return (rest < 0 ? '' : columnLetters(rest)) + String.fromCharCode(65 + (column % 26))
}
