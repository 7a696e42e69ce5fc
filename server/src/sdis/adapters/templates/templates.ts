/** Templates: adapter documents for the reports that property-management systems export, to start from. */
import type { Row } from '../../../kit/resource.ts'
import { AGINGS, CHARGE_SCHEDULES, RENT_ROLLS } from './layouts.ts'
import type { Aging, Charges, Layout, RentRoll } from './layouts.ts'

export const TEMPLATE_KINDS = ['rent_roll', 'ar_aging', 'charge_schedule'] as const

/** A field that the organization has to add before an entry of the template can fill it. */
export interface OwnField {
  type: string
  name: string
  value_type: string
  label: string
  entry: unknown
}

export interface Template {
  id: string
  system: string
  kind: (typeof TEMPLATE_KINDS)[number]
  title: string
  description: string
  own_fields: OwnField[]
  document: Row
}

/** Dates as these systems write them; workbooks mostly hold real ones. */
const DATES = ['MM/dd/yyyy', 'M/d/yyyy', 'excel-serial']

const cell = { on_error: 'quarantine_cell' }

/** What all documents have in common; parts that are empty are left out. */
function documentOf(layout: Layout, kind: string, more: Row, stream: Row, mode: string): Row {
  const { system, source, format, find, fill_down, cells, skip } = layout
  return {
    adapter: `${source.toLowerCase()}-${kind.replaceAll('_', '-')}`,
    description: `${TITLES[kind] ?? kind} of ${system}.`,
    source: {
      name: source,
      kind: format,
      header: { find: [...find], max_scan: 40 },
      ...(fill_down ? { fill_down: [...fill_down] } : {}),
      ...(cells ? { cells } : {}),
      skip_rows_where: skip,
    },
    locale: { date: DATES, nulls: ['', '-', 'N/A', 'n/a'] },
    mode,
    ...more,
    streams: [{ name: 'leases', type: 'lease', key: layout.key, ...stream }],
  }
}

const TITLES: Readonly<Record<string, string>> = {
  rent_roll: 'Rent roll',
  ar_aging: 'Aged receivables',
  charge_schedule: 'Charge schedule',
}

/** A lease refers to its property by code or name, and to its tenant, who is made where no list of tenants came. */
function resolveOf({ property, tenant }: Layout): Row {
  return {
    property_id: {
      type: 'property',
      by: ['code', 'name'],
      value: [property, property],
      missing: 'pending',
    },
    tenant_party_id: {
      type: 'party',
      stream: 'tenants',
      value: tenant,
      missing: 'create_stub',
      stub: { kind: { value: 'company' }, legal_name: tenant, roles: { value: ['tenant'] } },
    },
  }
}

function rentRoll(layout: RentRoll): Row {
  const { start, end, area, monthly_rent, unit, more, totals } = layout
  const total = {
    id: 'rent-total',
    aggregate: `sum(number(${monthly_rent}))`,
    compare: `number(totals["${totals}"])`,
    tolerance_pct: 0.5,
    level: 'warn',
  }
  const stream = {
    map: {
      lease_type: { value: 'direct' },
      ...more,
      commencement_date: { from: start, ...cell },
      expiration_date: { from: end, ...cell },
      rentable_area: { from: area, nulls: ['0'], ...cell },
      area_unit: { value: 'sqft' },
      premises: { list: { label: unit } },
      rent_schedule: {
        list: {
          kind: { value: 'base' },
          start_date: start,
          end_date: end,
          amount_monthly: { from: monthly_rent, ...cell },
        },
      },
    },
    resolve: resolveOf(layout),
    checks: [
      {
        id: 'term',
        expr: 'commencement_date == null || expiration_date == null || expiration_date >= commencement_date',
        level: 'warn',
      },
      ...(totals ? [total] : []),
    ],
  }
  const guards = { max_retract_pct: 10, max_error_pct: 5, min_rows: 1 }
  return documentOf(layout, 'rent_roll', { guards }, stream, 'full_snapshot')
}

function aging(layout: Aging): Row {
  const stream = { map: { lease_number: layout.lease_number }, resolve: resolveOf(layout) }
  return documentOf(layout, 'ar_aging', {}, stream, 'upsert')
}

const BUCKETS: Readonly<Record<string, string>> = {
  total: 'Receivables in all',
  days_0_30: 'Receivables up to 30 days',
  days_31_60: 'Receivables of 31 to 60 days',
  days_61_90: 'Receivables of 61 to 90 days',
  over_90: 'Receivables over 90 days',
}

/** What is owed has no field of its own in the model: an organization that wants it adds one. */
function owed({ buckets }: Aging): OwnField[] {
  return Object.entries(buckets).map(([bucket, column]) => ({
    type: 'lease',
    name: `ar_${bucket}`,
    value_type: 'money',
    label: BUCKETS[bucket] ?? bucket,
    entry: { from: `row[${JSON.stringify(column)}]`, type: 'money', ...cell },
  }))
}

/** What the usual codes of charges are for. */
const CATEGORIES = {
  rent: 'base_rent',
  rnt: 'base_rent',
  base: 'base_rent',
  'base rent': 'base_rent',
  cam: 'cam',
  'cam estimate': 'cam',
  opex: 'cam',
  tax: 'tax',
  ret: 'tax',
  'real estate tax': 'tax',
  ins: 'insurance',
  insurance: 'insurance',
  util: 'utilities',
  utilities: 'utilities',
  electric: 'utilities',
  water: 'utilities',
  parking: 'parking',
  park: 'parking',
  storage: 'storage',
  stor: 'storage',
  sign: 'signage',
  signage: 'signage',
  mkt: 'marketing',
  marketing: 'marketing',
  late: 'late_fee',
  'late fee': 'late_fee',
}

const FREQUENCIES = {
  M: 'monthly',
  Monthly: 'monthly',
  Q: 'quarterly',
  Quarterly: 'quarterly',
  A: 'annual',
  Annual: 'annual',
  Annually: 'annual',
  Yearly: 'annual',
  'One-time': 'one_time',
  O: 'one_time',
}

function chargeSchedule(layout: Charges): Row {
  const { code, description, amount, start, end, frequency } = layout
  const stream = {
    group: true,
    map: {
      charges: {
        list: {
          charge_code: code,
          description,
          category: `lookup('categories', lower(${code}), 'other')`,
          amount: { from: amount },
          frequency: { from: frequency, options: FREQUENCIES, else: 'blank' },
          start_date: { from: start, ...cell },
          end_date: { from: end, ...cell },
        },
      },
    },
    resolve: resolveOf(layout),
  }
  const lookups = { categories: CATEGORIES }
  return documentOf(layout, 'charge_schedule', { lookups }, stream, 'upsert')
}

const ABOUT: Readonly<Record<string, string>> = {
  rent_roll:
    'Leases with tenant, unit, term, area and rent, one row per unit. Totals and vacant units are left out. The rent of the roll is taken for the whole term; a charge schedule tells its steps.',
  ar_aging:
    'What tenants owe, by age, on the leases of the rent roll of the same system. Add the fields of own_fields to leases first, then their entries to the map as ext.<name>.',
  charge_schedule:
    'What is billed regularly, several rows per lease, on the leases of the rent roll of the same system. Codes of charges are told by the table categories: add yours.',
}

function template(
  kind: Template['kind'],
  layout: Layout,
  document: Row,
  own_fields: OwnField[] = [],
): Template {
  const { system, source } = layout
  return {
    id: `tpl_${source.toLowerCase()}-${kind.replaceAll('_', '-')}`,
    system,
    kind,
    title: `${TITLES[kind]} of ${system}`,
    description: ABOUT[kind] ?? '',
    own_fields,
    document,
  }
}

export const TEMPLATES: readonly Template[] = [
  ...RENT_ROLLS.map((layout) => template('rent_roll', layout, rentRoll(layout))),
  ...AGINGS.map((layout) => template('ar_aging', layout, aging(layout), owed(layout))),
  ...CHARGE_SCHEDULES.map((layout) => template('charge_schedule', layout, chargeSchedule(layout))),
]
