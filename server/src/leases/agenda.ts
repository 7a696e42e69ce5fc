/** What happens to a lease by itself: it begins, its rent steps up, it nears its end, ends; rights open, dates fall due. */
import { addDays, addMonths } from '../kit/dates.ts'
import type { Due } from '../kit/resource.ts'
import type { ItemOf } from '../kit/vocabulary.ts'
import type { criticalDateFields, optionFields } from './parts.ts'
import type { escalationFields, rentStepFields } from './rent-parts.ts'
import type { LeaseRow } from './rules.ts'

/** Days before the expiration on which it is told to be near. */
const EXPIRING_DAYS = [180, 90, 30]

/** States in which the rights and duties of a lease hold. */
const BINDING: readonly unknown[] = ['executed', 'active', 'holdover']

export function leaseAgenda(row: LeaseRow): Due[] {
  if (!BINDING.includes(row.status)) return []
  return [...termDues(row), ...rentDues(row), ...optionDues(row), ...criticalDues(row)]
}

function termDues(row: LeaseRow): Due[] {
  const { status, commencement_date, expiration_date: end, move_out_date: left } = row
  const dues: Due[] = []
  const moves = (to: LeaseRow['status'], at: string): void => {
    dues.push({ mark: `${status} to ${to} ${at}`, at, patch: { status: to } })
  }
  if (status === 'executed' && commencement_date) moves('active', commencement_date)
  if (status === 'holdover' && left) moves('expired', addDays(left, 1))
  if (status !== 'active' || !end || row.is_month_to_month) return dues
  // The expiration is the last day of the term.
  moves(staysOn(row, end) ? 'holdover' : 'expired', addDays(end, 1))
  for (const days_left of EXPIRING_DAYS)
    dues.push({
      mark: `expiring ${days_left} ${end}`,
      at: addDays(end, -days_left),
      type: 'lease.expiring',
      about: { date: end, days_left },
    })
  return dues
}

/** The tenant is known to have moved in, and not to have left by the end of the term. */
function staysOn({ move_in_date, move_out_date }: LeaseRow, end: string): boolean {
  return move_in_date !== null && (move_out_date === null || move_out_date > end)
}

/** Rises that a rule is looked ahead for: a hundred years of yearly ones. */
const RISES_MAX = 100

function rentDues(row: LeaseRow): Due[] {
  const steps = (row.rent_schedule ?? []) as ItemOf<typeof rentStepFields>[]
  const base = steps.filter(({ kind }) => kind === 'base')
  const first = base.map(({ start_date }) => start_date ?? '').toSorted()[0]
  const stepDues = base.flatMap((step, i): Due[] => {
    const { start_date: at } = step
    if (!at || at === first) return []
    return [{ mark: `rent step ${at} ${i}`, at, type: 'lease.rent_step_started', about: { step } }]
  })
  const rules = (row.escalations ?? []) as ItemOf<typeof escalationFields>[]
  return [...stepDues, ...rules.flatMap((rule) => riseDues(row, rule))]
}

function riseDues(row: LeaseRow, escalation: ItemOf<typeof escalationFields>): Due[] {
  const { method, first_date, frequency_months: every } = escalation
  const { expiration_date: end } = row
  if (!first_date || method === 'none') return []
  const dues: Due[] = []
  for (let n = 0; n < (every && end ? RISES_MAX : 1); n++) {
    const date = addMonths(first_date, n * (every ?? 0))
    if (end && date > end) break
    const about = { escalation, date }
    dues.push({
      mark: `escalation ${method} ${date}`,
      at: date,
      type: 'lease.escalation_due',
      about,
    })
  }
  return dues
}

function optionDues(row: LeaseRow): Due[] {
  const options = (row.options ?? []) as ItemOf<typeof optionFields>[]
  return options.flatMap((option) => {
    const { option_type, status, notice_start_date: at, effective_date } = option
    if (!at || (status && status !== 'available')) return []
    const mark = `option ${option_type} ${at} ${effective_date ?? ''}`
    return [{ mark, at, type: 'lease.option_window_opened', about: { option } }]
  })
}

function criticalDues(row: LeaseRow): Due[] {
  const dates = (row.critical_dates ?? []) as ItemOf<typeof criticalDateFields>[]
  return dates.flatMap((item) => {
    const { date_type, date, status } = item
    if (!date || (status && status !== 'upcoming' && status !== 'due_soon')) return []
    const days = new Set([...((item.reminders_days as number[] | null) ?? []), 0])
    return [...days].map((days_left) => ({
      mark: `critical ${date_type} ${date} ${days_left}`,
      at: addDays(date, -days_left),
      type: 'lease.critical_date_due',
      about: { critical_date: item, days_left },
    }))
  })
}
