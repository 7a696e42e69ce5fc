/** The fields of a lease; its structured parts are declared in parts.ts and rent-parts.ts. */
import {
  area,
  choice,
  date,
  flag,
  integer,
  list,
  longText,
  money,
  object,
  percent,
  reference,
  references,
  text,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import {
  areaUnit,
  currency,
  FREQUENCIES,
  RECOVERY_TYPES,
  statusHistory,
} from '../kit/vocabulary.ts'
import {
  amendmentFields,
  criticalDateFields,
  leasePartyFields,
  optionFields,
  premisesFields,
  TERM_TYPES,
  termFields,
} from './parts.ts'
import {
  chargeFields,
  concessionFields,
  depositFields,
  escalationFields,
  insuranceRequirementFields,
  percentageRentFields,
  recoveryFields,
  rentStepFields,
} from './rent-parts.ts'

export const LEASE_STATUSES = [
  'draft',
  'in_review',
  'out_for_signature',
  'executed',
  'active',
  'holdover',
  'expired',
  'terminated',
  'superseded',
  'void',
] as const

const readOnly = true

const identity = {
  lease_number: text('The number that the lease is filed under.', {
    example: 'HPC-1200-02',
    max: 100,
    search: true,
  }),
  name: text('A name for the lease, usually tenant and suite.', {
    example: 'Harrow & Pine, suite 1200',
    search: true,
  }),
  property_id: reference('property', 'prop', 'The property that the lease is in.', {
    example: 'prop_1001',
    required: true,
  }),
  building_id: reference(
    'building',
    'bld',
    'The building, where the lease is in one only. It is one of the property, and the spaces lie in it.',
    {
      example: 'bld_1101',
    },
  ),
  space_ids: references('space', 'spc', 'All spaces that the premises name, at any time.', {
    example: ['spc_1301'],
    readOnly,
    search: true,
  }),
  premises: list(
    premisesFields,
    'The spaces or whole buildings that are let, dated, so that they can be added or given back. They lie in the property of the lease. Of the leases that are executed, active or in holdover, one tenant alone has a space on a day, subleases and licences aside.',
    {
      example: [
        {
          building_id: 'bld_1101',
          space_id: 'spc_1301',
          rentable_area: 8600,
          from_date: '2022-09-01',
          to_date: null,
        },
      ],
    },
  ),
  tenant_party_id: reference('party', 'pty', 'The party that leases the space.', {
    example: 'pty_2001',
    required: true,
  }),
  landlord_party_id: reference('party', 'pty', 'The party that lets the space.', {
    example: 'pty_2005',
  }),
  parties: list(leasePartyFields, 'Everyone with a part in the lease, such as guarantors.', {
    example: [{ party_id: 'pty_2006', role: 'guarantor', from_date: '2022-09-01' }],
  }),
  lease_type: choice(
    [
      'direct',
      'sublease',
      'ground',
      'license',
      'storage',
      'parking',
      'rooftop_antenna',
      'temporary',
    ],
    'What kind of contract it is: from the owner directly, a sublease, a licence, ...',
    { example: 'direct', required: true },
  ),
  status: choice(
    LEASE_STATUSES,
    'Where the lease stands between draft and end. It may be created in any status but superseded and void: active once its commencement_date has come, expired and holdover once its expiration_date has passed, terminated with terminated_date and status_reason. A void lease keeps its fields.',
    {
      example: 'active',
      initial: 'draft',
    },
  ),
  status_reason: longText('Why the lease has its status; required when it is terminated.', {
    example: 'Tenant used its termination option.',
  }),
  status_history: statusHistory(LEASE_STATUSES),
  renewal_status: choice(
    ['renewing', 'not_renewing', 'unknown', 'negotiating'],
    'What is known about whether the tenant will stay after the term.',
    { example: 'negotiating' },
  ),
} satisfies Fields

const term = {
  term_type: choice(TERM_TYPES, 'How the present term came about.', { example: 'new' }),
  terms: list(termFields, 'All terms of the lease: the first one, renewals, expansions, ...', {
    example: [
      {
        term_type: 'new',
        status: 'executed',
        commencement_date: '2022-09-01',
        expiration_date: '2029-08-31',
        annual_base_rent: '344000.00',
      },
    ],
  }),
  execution_date: date('The day on which the last party signed.', { example: '2022-06-17' }),
  possession_date: date('The day on which the tenant got the keys.', { example: '2022-07-01' }),
  commencement_date: date('The first day of the term; required unless month to month.', {
    example: '2022-09-01',
  }),
  rent_commencement_date: date('The first day for which rent is due.', { example: '2023-01-01' }),
  expiration_date: date('The last day of the term; required unless month to month.', {
    example: '2029-08-31',
  }),
  move_in_date: date('The day on which the tenant moved in.', { example: '2022-09-05' }),
  move_out_date: date('The day on which the tenant moved out.', { example: '2029-08-30' }),
  notice_given_date: date('The day on which notice to end the lease was given.', {
    example: '2028-08-15',
  }),
  terminated_date: date('The last day of a lease that was ended before its term.', {
    example: '2028-12-31',
  }),
  is_month_to_month: flag('Whether the lease runs from month to month without a fixed end.', {
    example: false,
  }),
  holdover_rent_pct: percent('The rent after the term in relation to the last rent.', {
    example: 150,
    min: 0,
  }),
  term_months: integer('The full months from commencement to expiration.', {
    example: 84,
    readOnly,
  }),
} satisfies Fields

const recovery = {
  rentable_area: area('The area that rent is charged on.', { example: 8600, required: true }),
  pro_rata_share_pct: percent('The share of the tenant in the costs of the building.', {
    example: 2.1,
    min: 0,
    max: 100,
  }),
  pro_rata_denominator: choice(
    ['building_area', 'leased_area', 'fixed'],
    'What the area of the tenant is divided by to get its share.',
    { example: 'building_area' },
  ),
  recovery_type: choice(
    RECOVERY_TYPES,
    'Which operating costs the tenant pays besides rent: nnn all, full_service none.',
    { example: 'full_service', required: true },
  ),
  currency: currency('The ISO 4217 currency of the lease, as a rule that of the property.'),
  area_unit: areaUnit('The unit of the areas of the lease, as a rule that of the property.'),
  rent_frequency: choice(FREQUENCIES, 'How often rent is due.', { example: 'monthly' }),
  rent_due_day: integer('The day of the month on which rent is due.', {
    example: 1,
    min: 1,
    max: 31,
  }),
  payment_method: choice(
    ['ach', 'wire', 'check', 'card', 'cash', 'other'],
    'How the tenant pays as a rule.',
    { example: 'ach' },
  ),
} satisfies Fields

const rent = {
  rent_schedule: list(
    rentStepFields,
    'The rent in dated steps: without overlap and without gap for each kind and set of spaces.',
    {
      example: [
        {
          start_date: '2025-09-01',
          end_date: '2026-08-31',
          kind: 'base',
          amount_monthly: '30458.33',
          amount_annual: '365500.00',
          per_area_annual: '42.5000',
        },
      ],
    },
  ),
  escalations: list(escalationFields, 'The rules by which the rent rises.', {
    example: [{ method: 'fixed_pct', value: 3, frequency_months: 12, first_date: '2023-09-01' }],
  }),
  charges: list(chargeFields, 'What is billed regularly, such as estimates of costs.', {
    example: [{ category: 'cam', amount: '4120.00', frequency: 'monthly' }],
  }),
  recoveries: list(recoveryFields, 'How each kind of operating cost is shared.', {
    example: [{ category: 'real_estate_tax', method: 'base_year', base_year: 2022 }],
  }),
  percentage_rent: object(percentageRentFields, 'Rent on the sales of a shop.', {
    example: { rate_pct: 6, breakpoint_type: 'natural', breakpoint_amount: '4000000.00' },
  }),
  security_deposits: list(depositFields, 'The security that the tenant gave.', {
    example: [{ type: 'letter_of_credit', amount: '91375.00', evergreen: true }],
  }),
  security_deposit_amount: money('All security of the tenant together.', {
    example: '91375.00',
    readOnly,
  }),
  concessions: object(concessionFields, 'What the landlord gave for the lease to be signed.', {
    example: { ti_allowance_per_area: '60.0000', moving_allowance: '17200.00' },
  }),
  ti_allowance: money('What the landlord pays for tenant improvements in all.', {
    example: '516000.00',
  }),
  commission_total: money('What brokers are paid for the lease in all.', {
    example: '115132.00',
  }),
  free_rent_months: integer('The full months of free rent in all.', {
    example: 4,
    min: 0,
    max: 1_200,
  }),
} satisfies Fields

const rights = {
  options: list(optionFields, 'Rights to renew, end, enlarge or buy, with their notice windows.', {
    example: [
      {
        option_type: 'renewal',
        holder: 'tenant',
        status: 'available',
        notice_start_date: '2028-03-01',
        notice_end_date: '2028-08-31',
        term_months: 60,
      },
    ],
  }),
  critical_dates: list(criticalDateFields, 'The days of the lease that must not be missed.', {
    example: [{ date_type: 'option_notice_deadline', date: '2028-08-31', is_hard: true }],
  }),
  amendments: list(amendmentFields, 'The agreements that changed the lease.', {
    example: [{ number: '1', kind: 'extension', effective_date: '2028-12-01' }],
  }),
  insurance_requirements: list(insuranceRequirementFields, 'What the tenant must insure.', {
    example: [{ coverage_type: 'general_liability', min_amount: '2000000.00' }],
  }),
  permitted_use: longText('What the tenant may use the space for.', {
    example: 'General office use.',
  }),
  exclusive_use: longText('What no one else in the property may be let space for.', {
    example: 'No other full-line grocery store.',
  }),
  radius_restriction: longText('How near the tenant may not open another store.', {
    example: 'No other store within three miles.',
  }),
  co_tenancy: longText('Which other tenants must be open for full rent to be due.', {
    example: 'Half rent while the anchor store is closed.',
  }),
  go_dark_right: flag('Whether the tenant may close its business and keep the lease.', {
    example: false,
  }),
  assignment_consent: choice(
    ['not_required', 'reasonable', 'sole_discretion'],
    'Whether and how freely the landlord may refuse an assignment.',
    { example: 'reasonable' },
  ),
  snda_status: choice(
    ['none', 'requested', 'in_negotiation', 'executed', 'not_required'],
    'How far the agreement between tenant and lender is (subordination, non-disturbance).',
    { example: 'executed' },
  ),
  estoppel_due_date: date('The day by which the tenant has to return an estoppel certificate.', {
    example: '2026-05-15',
  }),
  lease_abstract_status: choice(
    ['none', 'draft', 'reviewed', 'certified'],
    'How far the summary of the lease has been checked against the signed document.',
    { example: 'certified' },
  ),
} satisfies Fields

export const leaseFields = { ...identity, ...term, ...recovery, ...rent, ...rights }

export const leaseRollups = {
  timing: choice(['future', 'current', 'past'], 'Where the term lies as seen from today.', {
    example: 'current',
    readOnly,
  }),
  remaining_months: integer('The full months from today to the expiration.', {
    example: 38,
    readOnly,
  }),
  annual_base_rent: money(
    'The contract base rent per year at the step that holds today; free rent does not lessen it.',
    { example: '365500.00', readOnly },
  ),
  monthly_base_rent: money('The base rent per month at the step that holds today.', {
    example: '30458.33',
    readOnly,
  }),
  base_rent_per_area: money('The base rent of today, per area unit and year.', {
    example: '42.5000',
    digits: 4,
    readOnly,
  }),
  next_escalation_date: date('The day on which the base rent changes next.', {
    example: '2026-09-01',
    readOnly,
  }),
  next_critical_date: date('The next of the days that must not be missed.', {
    example: '2028-08-31',
    readOnly,
  }),
  mark_to_market_pct: percent('By how much market rent is above (below: -) the rent of today.', {
    example: -3.53,
    readOnly,
  }),
} satisfies Fields
