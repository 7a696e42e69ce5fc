/** Bodies of parties and contacts: tenants with their credit, and everyone else the landlord deals with. */
import { addDays, addMonths, earlier, instantOf } from './calendar.ts'
import { ref } from './model.ts'
import type { Calendar, Draft, LeasePlan, TenantPlan } from './model.ts'
import { displayName, hostOf, INDUSTRIES, phoneOf, STREETS } from './names.ts'
import type { Names } from './names.ts'
import { MARKETS } from './places.ts'
import type { Random } from './random.ts'

const INVESTMENT_GRADE = ['AA-', 'A+', 'A', 'A-', 'BBB+', 'BBB', 'BBB', 'BBB-'] as const
const SPECULATIVE = ['BB+', 'BB', 'BB', 'BB-', 'B+', 'B'] as const

/** Chance of an investment-grade rating, and of any other one, from the largest tenants to the smallest. */
const CREDIT = [
  [0.08, 0.85, 0.12],
  [0.33, 0.35, 0.35],
  [1, 0.08, 0.26],
] as const

/** Tenants whose rating falls step by step. */
const DETERIORATING = 3
const FALL = ['BBB-', 'BB', 'B-'] as const

/** Tenants in order of their rent, largest first, as parties with one or two contacts each. */
export function tenantDrafts(
  tenants: readonly TenantPlan[],
  leases: readonly LeasePlan[],
  calendar: Calendar,
  names: Names,
  random: Random,
): { parties: Draft[]; contacts: Draft[] } {
  const byTenant = Map.groupBy(leases, ({ tenant }) => tenant)
  const sinceOf = (tenant: TenantPlan): string => {
    const known = (byTenant.get(tenant) ?? []).map(({ terms: [term] }) => term?.known as string)
    const first = known.reduce(earlier, calendar.start)
    return addDays(first, -30)
  }
  // Large enough to matter, and there for as long as is told.
  const old = tenants
    .slice(14)
    .filter((t) => t.industry !== 'government' && addDays(sinceOf(t), 30) < calendar.base)
  const falling = new Set(old.slice(0, DETERIORATING))
  const active = tenants.filter(({ status }) => status === 'active').length
  const parties: Draft[] = []
  const contacts: Draft[] = []
  for (const [rank, tenant] of tenants.entries()) {
    const own = random.fork(tenant.key)
    const held = byTenant.get(tenant) ?? []
    const valid_from = instantOf(sinceOf(tenant))
    const draft = tenantDraft(tenant, held[0], rank / active, calendar, own)
    if (falling.has(tenant)) fall(draft, calendar)
    parties.push({ ...draft, valid_from })
    contacts.push(...contactsOf(tenant, valid_from, names, own.fork('contacts')))
  }
  return { parties, contacts }
}

function tenantDraft(
  tenant: TenantPlan,
  lease: LeasePlan | undefined,
  rank: number,
  calendar: Calendar,
  random: Random,
): Draft {
  const { code, label } = INDUSTRIES[tenant.industry]
  const isPublicBody = tenant.industry === 'government'
  const host = hostOf(tenant.legal_name)
  const body = {
    kind: isPublicBody ? 'government' : 'company',
    legal_name: tenant.legal_name,
    display_name: displayName(tenant.legal_name),
    roles: ['tenant'],
    industry_code: code,
    industry_label: label,
    ...creditOf(rank, isPublicBody, calendar, random.fork('credit')),
    website: `https://www.${host}`,
    emails: [`office@${host}`],
    phones: [phoneOf(random)],
    addresses: [{ type: 'notice', ...addressIn(lease?.site.market, random) }],
    status: tenant.status,
    external_ids: [{ system: 'erp', id: `t${tenant.key.slice('pty:t'.length).padStart(7, '0')}` }],
  }
  return { key: tenant.key, body, valid_from: 0 }
}

function creditOf(
  rank: number,
  isPublicBody: boolean,
  { start }: Calendar,
  random: Random,
): Record<string, unknown> {
  const [, high, low] = CREDIT.find(([upTo]) => rank < upTo) ?? CREDIT[2]
  const rated = {
    credit_rating_agency: 'sp',
    credit_rated_on_date: addDays(start, -random.int(40, 400)),
  }
  const draw = random.next()
  if (isPublicBody)
    return { credit_rating: 'AA', is_investment_grade: true, is_public: false, ...rated }
  if (draw < high) {
    const credit_rating = random.pick(INVESTMENT_GRADE)
    return { credit_rating, is_investment_grade: true, is_public: random.chance(0.6), ...rated }
  }
  if (draw < high + low) {
    const credit_rating = random.pick(SPECULATIVE)
    const internal = random.chance(0.7) ? { ...rated, credit_rating_agency: 'internal' } : rated
    return { credit_rating, is_investment_grade: false, is_public: false, ...internal }
  }
  return { credit_rating: 'NR', is_investment_grade: false, is_public: false }
}

/** Two downgrades within the time that is told. */
function fall(draft: Draft, { start }: Calendar): void {
  const days = [-19, -11, -2].map((months) => addMonths(start, months))
  const [first, ...worse] = FALL.map((credit_rating, i) => ({
    credit_rating,
    is_investment_grade: i === 0,
    credit_rating_agency: 'sp',
    credit_rated_on_date: days[i],
  }))
  Object.assign(draft.body, first)
  Object.assign(draft, {
    later: worse.map((values) => ({
      valid_from: instantOf(values.credit_rated_on_date as string),
      values,
    })),
  })
}

type Place = { city: string; region: string; postal: string; country: string }

export function addressIn(market: Place | undefined, random: Random): Record<string, unknown> {
  const { city, region, postal, country } = market ?? random.pick(Object.values(MARKETS))
  return {
    line1: `${random.int(2, 89) * 10} ${random.pick(STREETS)}`,
    city,
    region,
    postal_code: postal,
    country,
  }
}

const PRIMARY = [
  ['Director of Real Estate', 'leasing'],
  ['Chief Operating Officer', 'c_suite'],
  ['Office Manager', 'facilities_operations'],
] as const

function contactsOf(tenant: TenantPlan, valid_from: number, names: Names, random: Random): Draft[] {
  const [title, role] = random.pick(PRIMARY)
  const first = {
    title,
    role,
    is_primary: true,
    is_decision_maker: role !== 'facilities_operations',
  }
  const second = {
    title: 'Accounts Payable',
    role: 'accounts_payable',
    is_primary: false,
    is_decision_maker: false,
  }
  const roles = random.chance(0.45) ? [first, second] : [first]
  return roles.map((about, i) => ({
    key: `con:${tenant.key.slice('pty:'.length)}-${i + 1}`,
    body: personBody(tenant.key, tenant.legal_name, about, names, random),
    valid_from,
  }))
}

/** A person at a party, with an address at its host name. */
export function personBody(
  party: string,
  legal_name: string,
  about: Record<string, unknown>,
  names: Names,
  random: Random,
): Record<string, unknown> {
  const { first_name, last_name } = names.person()
  return {
    party_id: ref(party),
    first_name,
    last_name,
    ...about,
    email: `${first_name}.${last_name}@${hostOf(legal_name)}`.toLowerCase(),
    phone: phoneOf(random),
    phone_type: random.chance(0.5) ? 'mobile' : 'office',
    preferred_channel: random.chance(0.7) ? 'email' : 'phone',
  }
}
