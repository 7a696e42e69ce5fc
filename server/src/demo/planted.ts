/** Faults that are in the data on purpose, for jobs, facts and the assistant to find. Nothing in the data marks them. */
import type { Row } from '../kit/resource.ts'
import { addDays, addMonths, instantOf, monthEnd } from './calendar.ts'
import { round } from './figures.ts'
import { areaOf, isRunning, lastTerm } from './model.ts'
import type { Calendar, Draft, LeasePlan, TenantPlan, TermPlan } from './model.ts'
import { displayName } from './names.ts'
import { bornOn } from './past-and-future.ts'
import type { Random } from './random.ts'
import { stepsOf } from './rents.ts'

const DUPLICATES = 6
const WRONG_AREAS = 4
const RENT_GAPS = 3
const CONFLICTS = 2

export interface Planted {
  /** Parties that exist a second time under another spelling. */
  duplicates: { of: string; key: string; legal_name: string }[]
  /** Leases whose area differs from that of their space. */
  wrong_areas: string[]
  /** Leases with a month without rent. */
  rent_gaps: string[]
  /** Leases whose document says another day than the record. */
  conflicts: { lease: string; expiration_date: string; valid_from: number }[]
}

/** Chooses and spoils; what can be wrong in the plan is changed there. */
export function plant(
  leases: readonly LeasePlan[],
  tenants: readonly TenantPlan[],
  calendar: Calendar,
  random: Random,
): Planted {
  const simple = leases.filter(
    (lease) =>
      isRunning(lease) && !lease.isCliff && !lease.is_month_to_month && lease.status === 'active',
  )
  const plain = random.shuffled(
    simple.filter(({ terms, amendments, site }) => {
      return terms.length === 1 && amendments.length === 0 && site.currency === 'USD'
    }),
  )
  // Wrong from the first day of its record on: a change would not have been let through.
  const isOld = (lease: LeasePlan): boolean =>
    bornOn(lease, calendar) >= (lease.terms[0] as TermPlan).from
  const gaps = plain.filter((l) => isOld(l) && hasNextStep(l, calendar)).slice(0, RENT_GAPS)
  const rest = plain.filter((lease) => !gaps.includes(lease))
  // Small enough not to be seen in the occupancy of a property.
  const areas = rest.filter((lease) => areaOf(lease) < 12_000).slice(0, WRONG_AREAS)
  const conflicts = rest.filter((lease) => !areas.includes(lease)).slice(0, CONFLICTS)
  for (const lease of gaps) lease.flaw = 'rent_gap'
  for (const [i, lease] of areas.entries()) {
    lease.flaw = 'area'
    for (const premises of lease.premises) {
      premises.area = round(premises.area * ([1.034, 0.962, 1.018, 0.987][i] ?? 1.02), 0)
    }
  }
  return {
    duplicates: chooseDuplicates(leases, tenants, random.fork('duplicates')),
    wrong_areas: areas.map(({ key }) => key),
    rent_gaps: gaps.map(({ key }) => key),
    conflicts: conflicts.map((lease, i) => {
      const end = lastTerm(lease).to as string
      // One document was read a year off, the other ends at mid-month.
      const expiration_date = i === 0 ? monthEnd(end, 12) : addDays(end, -15)
      const valid_from = instantOf(addMonths(calendar.start, -3 - i))
      return { lease: lease.key, expiration_date, valid_from }
    }),
  }
}

/** With a rise to come, and unchanged over the whole time that is told: a change would be checked and refused. */
function hasNextStep(lease: LeasePlan, { start, base }: Calendar): boolean {
  const term = lastTerm(lease)
  if (term.from > base) return false
  const steps = stepsOf(term, 'contract', start)
  return term.growth.method === 'fixed_pct' && steps.filter(({ from }) => from > start).length > 1
}

/** Half of the doubles hold an ended lease of their own, so that they hide a part of a tenant's history. */
function chooseDuplicates(
  leases: readonly LeasePlan[],
  tenants: readonly TenantPlan[],
  random: Random,
): Planted['duplicates'] {
  const held = new Set(leases.filter(isRunning).map(({ tenant }) => tenant))
  const chosen = random.shuffled(tenants.filter((t) => held.has(t) && spellings(t).length > 0))
  const ended = random.shuffled(leases.filter(({ status }) => status === 'expired'))
  return chosen.slice(0, DUPLICATES).map((tenant, i) => {
    const legal_name = random.pick(spellings(tenant))
    const key = `${tenant.key}-again`
    const double: TenantPlan = { ...tenant, key, legal_name, status: 'active' }
    const lease = ended[i]
    if (i < DUPLICATES / 2 && lease) lease.tenant = double
    return { of: tenant.key, key, legal_name }
  })
}

/** Other ways in which people write the name. */
function spellings({ legal_name }: TenantPlan): string[] {
  const variants = [
    legal_name.replace(' & ', ' and '),
    legal_name.replace(/ Inc\.$/, ', Incorporated'),
    legal_name.replace(/ LLC$/, ', L.L.C.'),
    legal_name.replace(/ Corp\.$/, ' Corporation'),
    legal_name.replace(/ PC$/, ', P.C.'),
    legal_name.replace(/, (?=\w+ &)/, ' '),
  ]
  return variants.filter((variant) => variant !== legal_name)
}

/** The doubles as parties: the same company, typed in by someone else with less to hand. */
export function misspelt(parties: readonly Draft[], planted: Planted): Draft[] {
  const byKey = new Map(parties.map((draft) => [draft.key, draft]))
  return planted.duplicates.flatMap(({ of, key, legal_name }) => {
    const original = byKey.get(of)
    if (!original) return []
    const { industry_code, industry_label, kind, phones, addresses } = original.body
    const body: Row = {
      kind,
      legal_name,
      display_name: displayName(legal_name),
      roles: ['tenant'],
      industry_code,
      industry_label,
      phones,
      addresses,
      status: 'active',
    }
    return [{ key, body, valid_from: original.valid_from }]
  })
}
