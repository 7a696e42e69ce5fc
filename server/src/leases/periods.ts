import { addDays } from '../kit/dates.ts'
import type { Issue } from '../kit/errors.ts'

/** A stretch of days, both ends included. Without an end it lasts until the next one of its row begins. */
export interface Period {
  start: string
  end: string | null
  /** Path of the item that it stands in, with its dot: `rent_schedule[2].`. */
  at: string
}

/** The periods in order of their start; the order in which a client wrote them does not matter. */
export function inOrder(periods: readonly Period[]): Period[] {
  return periods.toSorted((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))
}

/** Periods that begin before an earlier one has ended. `start` is the field that is at fault. */
export function findOverlaps(periods: readonly Period[], start = 'start_date'): Issue[] {
  const issues: Issue[] = []
  let reach: Period | null = null
  for (const period of inOrder(periods)) {
    if (reach && period.start <= (reach.end ?? reach.start)) {
      const other = reach.at.slice(0, -1)
      const until = reach.end ? `ends on ${reach.end}` : `begins on ${reach.start} too`
      const message = `overlaps ${other}, which ${until}`
      issues.push({ field: period.at + start, code: 'overlap', message })
    }
    if (!reach || lastDay(period) >= lastDay(reach)) reach = period
  }
  return issues
}

/** Days between the first and the last period that neither these nor the `covers` hold. */
export function findGaps(
  periods: readonly Period[],
  covers: readonly Period[] = [],
  start = 'start_date',
): Issue[] {
  const issues: Issue[] = []
  let reach: Period | null = null
  for (const period of inOrder(periods)) {
    if (reach?.end && period.start > reach.end) {
      const missing = firstUncovered(addDays(reach.end, 1), covers)
      if (missing !== null && missing < period.start) {
        const message = `leaves a gap: no step holds from ${missing}`
        issues.push({
          field: period.at + start,
          code: 'gap',
          message,
          suggestion: missing,
        })
      }
    }
    if (!reach || lastDay(period) >= lastDay(reach)) reach = period
  }
  return issues
}

/** The first day from `day` on that no cover holds; null when a cover without end holds them all. */
function firstUncovered(day: string, covers: readonly Period[]): string | null {
  let missing = day
  for (const cover of inOrder(covers)) {
    if (cover.start > missing) break
    if (cover.end === null) return null
    if (cover.end >= missing) missing = addDays(cover.end, 1)
  }
  return missing
}

/** An open period stands aside for the next one, so it reaches no further than its own start. */
function lastDay(period: Period): string {
  return period.end ?? period.start
}
