/** The words of the documents that have a file: leases, amendments, certificates, appraisals. */
import { addDays, addMonths } from './calendar.ts'
import { rate, sum } from './figures.ts'
import { areaOn } from './lease-states.ts'
import { lastTerm } from './model.ts'
import type { LeasePlan, TermPlan } from './model.ts'
import { rentStart, stepsOf } from './rents.ts'
import { entityOf } from './sites.ts'
import type { Site } from './sites.ts'

const MONTHS =
  'January February March April May June July August September October November December'.split(' ')

/** A date as contracts write it: March 31, 2029. */
export function inWords(date: string): string {
  const month = MONTHS[Number(date.slice(5, 7)) - 1] ?? ''
  return `${month} ${Number(date.slice(8))}, ${date.slice(0, 4)}`
}

export function expirationClause(expiration: string): string {
  return `The Term shall expire on ${inWords(expiration)}, unless sooner terminated.`
}

function unitOf({ site }: LeasePlan): string {
  return site.area_unit === 'sqm' ? 'square metres' : 'rentable square feet'
}

function count(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 })
}

function suitesOf({ premises, building }: LeasePlan): string {
  return `Suite ${premises.map(({ space }) => space.suite).join(' and ')}, ${building.name}`
}

/** @param expiration what the paper says, which can differ from the record. */
export function leasePages(lease: LeasePlan, expiration: string | null, today: string): string[][] {
  const first = lease.terms[0] as TermPlan
  const { site, tenant } = lease
  const end = expiration ?? first.to ?? lastTerm(lease).to
  const area = areaOn(lease, first.from)
  const rent = stepsOf(first, 'contract', today).map(
    ({ from, to, rate: perArea }) =>
      `${inWords(from)} to ${to ? inWords(to) : 'the end of the Term'}: ` +
      `${site.currency} ${rate(perArea).slice(0, -2)} per ${unitOf(lease).replace(/s$/, '')} per year`,
  )
  const head = [
    'LEASE AGREEMENT',
    '',
    `Lease number: ${lease.number}`,
    `Landlord: ${entityOf(site)}`,
    `Tenant: ${tenant.legal_name}`,
    `Property: ${site.name}, ${site.market.city}, ${site.market.region.slice(3)}`,
    '',
    `1. Premises. Landlord leases to Tenant ${suitesOf(lease)},`,
    `containing approximately ${count(area)} ${unitOf(lease)}.`,
    '',
    `2. Term. The Term shall commence on ${inWords(first.from)}.`,
    end ? expirationClause(end) : 'The Term runs from month to month.',
    '',
    `3. Rent commencement. Base Rent is due from ${inWords(rentStart(first))} on.`,
  ]
  const money = [
    '4. Base Rent. Tenant shall pay Base Rent in equal monthly installments, in advance,',
    'on the first day of each month, as follows:',
    '',
    ...rent.slice(0, 16),
    '',
    '5. Holding over. Rent after the Term is 150 percent of the last Base Rent.',
    '6. Assignment. Not without the consent of Landlord, which shall not be unreasonably withheld.',
    '',
    `Signed on ${inWords(first.executed || first.from)}`,
    '',
    '_____________________________            _____________________________',
    'Landlord                                                 Tenant',
  ]
  return [head, money]
}

export function amendmentPages(lease: LeasePlan, number: number): string[][] {
  const amendment = lease.amendments[number - 1]
  const term = lease.terms.find(({ known }) => known === amendment?.effective) ?? lastTerm(lease)
  const perArea = `${lease.site.currency} ${rate(term.rate).slice(0, -2)}`
  return [
    [
      `AMENDMENT NO. ${number} TO LEASE`,
      '',
      `Lease number: ${lease.number}`,
      `Tenant: ${lease.tenant.legal_name}`,
      `Premises: ${suitesOf(lease)}`,
      `Effective date: ${inWords(amendment?.effective ?? term.from)}`,
      '',
      `1. The Term is extended through ${term.to ? inWords(term.to) : 'further notice'}.`,
      `2. Base Rent from ${inWords(rentStart(term))} on is ${perArea} per`,
      `   ${unitOf(lease).replace(/s$/, '')} per year.`,
      '3. All other terms of the Lease remain in force.',
      '',
      `Signed on ${inWords(amendment?.executed ?? term.executed)}`,
    ],
  ]
}

export function certificatePages(lease: LeasePlan, expires: string): string[][] {
  return [
    [
      'CERTIFICATE OF LIABILITY INSURANCE',
      '',
      'Insurer: Compass Rock Mutual Insurance Company',
      `Insured: ${lease.tenant.legal_name}`,
      `Location: ${suitesOf(lease)}`,
      `Policy number: CRM-${lease.number.replaceAll(/[^0-9]/g, '')}`,
      `Policy period: ${inWords(addDays(addMonths(expires, -12), 1))} to ${inWords(expires)}`,
      '',
      'Commercial general liability, each occurrence: USD 2,000,000',
      'General aggregate: USD 4,000,000',
      `Additional insured: ${entityOf(lease.site)}`,
      'Waiver of subrogation: yes',
    ],
  ]
}

export function estoppelPages(lease: LeasePlan, today: string): string[][] {
  const term = lastTerm(lease)
  const current = stepsOf(term, 'contract', today).findLast(({ from }) => from <= today)
  return [
    [
      'TENANT ESTOPPEL CERTIFICATE',
      '',
      `To: Evergreen Harbor Bank NA`,
      `Tenant: ${lease.tenant.legal_name}`,
      `Premises: ${suitesOf(lease)}, ${count(sum(lease.premises.map((p) => p.area)))} ${unitOf(lease)}`,
      '',
      '1. The Lease is in full force and has been amended as stated in Schedule A only.',
      `2. The Term ends on ${term.to ? inWords(term.to) : 'notice'}.`,
      `3. Base Rent is ${lease.site.currency} ${rate(current?.rate ?? term.rate).slice(0, -2)} per year and area unit,`,
      '   paid through the current month. No rent has been paid in advance.',
      '4. Tenant knows of no default of Landlord and has no claim against Landlord.',
      '',
      `Dated ${inWords(addDays(today, -45))}`,
    ],
  ]
}

export function appraisalPages(site: Site, year: number, signed: string): string[][] {
  const area = sum(site.buildings.map((building) => building.area))
  const unit = site.area_unit === 'sqm' ? 'square metres' : 'rentable square feet'
  return [
    [
      `APPRAISAL ${year}`,
      '',
      `Property: ${site.name}, ${site.market.city}`,
      `Owner: ${entityOf(site)}`,
      `Area: ${count(area)} ${unit} in ${site.buildings.length === 1 ? 'one building' : `${site.buildings.length} buildings`}`,
      `Date of value: ${inWords(`${year}-12-31`)}`,
      '',
      '1. The property was inspected inside and outside.',
      '2. The value rests on income, compared with recent sales in the market.',
      '3. The leases in place were taken from the rent roll of the owner.',
      '',
      `Signed on ${inWords(signed)}`,
      'Plain Measure Valuation LLC',
    ],
  ]
}
