/** The structured parts of a lease that say what is paid: rent, growth, recoveries, deposits and concessions. */
import {
  choice,
  date,
  flag,
  integer,
  list,
  money,
  number,
  percent,
  reference,
  references,
  text,
  texts,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import { FREQUENCIES } from '../kit/vocabulary.ts'

const share = { min: 0, max: 100 }

export const rentStepFields = {
  start_date: date('The first day of the step.', { example: '2025-09-01', required: true }),
  end_date: date('The last day of the step; left out when it runs until the next one.', {
    example: '2026-08-31',
  }),
  kind: choice(
    ['base', 'free', 'abated', 'percentage', 'parking', 'storage', 'other'],
    'What the step is: base rent, a time without or with less rent, or another kind of rent.',
    { example: 'base', required: true },
  ),
  amount_monthly: money('The rent per month during the step: a twelfth of amount_annual.', {
    example: '30458.33',
  }),
  amount_annual: money(
    'The rent per year during the step. Of the three forms those left out are worked out from those given, by the area of the spaces of the step, else of the lease; forms that contradict each other by more than a cent a month and 0.5 % are refused.',
    { example: '365500.00' },
  ),
  per_area_annual: money(
    'The rent during the step, per area unit and year: amount_annual divided by the area.',
    {
      example: '42.5000',
      digits: 4,
    },
  ),
  space_ids: references('space', 'spc', 'The spaces that the step is for; left out for all.', {
    example: ['spc_1301'],
  }),
  source: choice(
    ['contract', 'escalation', 'amendment'],
    'Whether the step stands in the lease, follows from an escalation, or from an amendment.',
    { example: 'contract' },
  ),
} satisfies Fields

export const escalationFields = {
  method: choice(
    [
      'fixed_pct',
      'fixed_amount',
      'per_area_step',
      'cpi',
      'index',
      'fair_market_value',
      'open_market_review',
      'none',
    ],
    'How the rent rises: by a fixed step, with an index, or by a review of the market.',
    { example: 'fixed_pct', required: true },
  ),
  value: number(
    'The size of one rise: percent, amount per year, or amount per area unit and year.',
    { example: 3 },
  ),
  index_name: text('The price index that the rent follows.', { example: 'CPI-U Chicago' }),
  base_index_value: number('The value of the index from which rises are counted.', {
    example: 256.9,
    min: 0,
  }),
  base_index_date: date('The day to which that value of the index belongs.', {
    example: '2022-09-01',
  }),
  frequency_months: integer('The months between two rises.', { example: 12, min: 1, max: 1_200 }),
  first_date: date('The day of the first rise.', { example: '2023-09-01' }),
  floor_pct: percent('The least that one rise can be.', { example: 2 }),
  cap_pct: percent('The most that one rise can be.', { example: 5 }),
  pass_through_pct: percent('The share of the change of the index that reaches the rent.', {
    example: 100,
    ...share,
  }),
  is_upward_only: flag('Whether the rent can only rise, never fall.', { example: true }),
} satisfies Fields

export const chargeFields = {
  charge_code: text('The code of the charge in accounting.', { example: 'CAM', max: 50 }),
  description: text('The wording of the charge on the bill.', { example: 'CAM estimate' }),
  category: choice(
    [
      'base_rent',
      'cam',
      'tax',
      'insurance',
      'utilities',
      'parking',
      'storage',
      'signage',
      'marketing',
      'late_fee',
      'other',
    ],
    'What the charge is for; cam is common area maintenance.',
    { example: 'cam', required: true },
  ),
  amount: money('The amount of one billing, before tax.', { example: '4120.00' }),
  frequency: choice(['one_time', ...FREQUENCIES], 'How often it is billed.', {
    example: 'monthly',
  }),
  start_date: date('The first day that is billed.', { example: '2025-01-01' }),
  end_date: date('The last day that is billed.', { example: '2025-12-31' }),
  is_taxable: flag('Whether tax comes on top.', { example: false }),
  tax_rate_pct: percent('The rate of that tax.', { example: 8.25, ...share }),
  gl_account: text('The general-ledger account that it is booked to.', {
    example: '4510-000',
    max: 50,
  }),
} satisfies Fields

export const recoveryFields = {
  category: choice(
    [
      'cam',
      'real_estate_tax',
      'insurance',
      'utilities',
      'cleaning',
      'security',
      'management_fee',
      'landscaping',
      'repairs',
      'marketing',
      'electric',
      'other',
    ],
    'The operating costs that are recovered; cam is common area maintenance.',
    { example: 'real_estate_tax', required: true },
  ),
  method: choice(
    ['pro_rata', 'base_year', 'expense_stop', 'fixed', 'fixed_with_growth', 'direct_meter', 'none'],
    'How the part of the tenant is worked out.',
    { example: 'base_year' },
  ),
  base_year: integer('The year above whose costs the tenant pays its share.', {
    example: 2022,
    min: 1900,
    max: 2200,
  }),
  expense_stop_per_area: money('The costs that the landlord bears, per area unit and year.', {
    example: '9.2500',
    digits: 4,
  }),
  pro_rata_share_pct: percent('The share of the tenant in these costs.', {
    example: 2.1,
    ...share,
  }),
  cap_pct: percent('The most that the costs may rise from year to year.', { example: 5 }),
  cap_type: choice(
    ['cumulative', 'non_cumulative', 'compounding'],
    'Whether room left below the cap carries over to later years.',
    { example: 'cumulative' },
  ),
  floor_pct: percent('The least that the costs rise from year to year.', { example: 0 }),
  gross_up_pct: percent('The occupancy to which varying costs are grossed up.', {
    example: 95,
    ...share,
  }),
  admin_fee_pct: percent('The fee for administration on top of the costs.', { example: 10 }),
  exclusions: texts('Costs that are not recovered.', { example: ['capital expenditure'] }),
  estimate_monthly: money('The part payment per month until the costs are settled.', {
    example: '1850.00',
  }),
  last_reconciled_year: integer('The last year that was settled.', {
    example: 2024,
    min: 1900,
    max: 2200,
  }),
} satisfies Fields

const burnDownFields = {
  date: date('The day from which less is required.', { example: '2025-09-01', required: true }),
  amount: money('The amount still required from then on.', {
    example: '60916.66',
    required: true,
  }),
} satisfies Fields

export const depositFields = {
  type: choice(
    ['cash', 'letter_of_credit', 'surety', 'parent_guaranty'],
    'The form in which security was given.',
    { example: 'letter_of_credit', required: true },
  ),
  amount: money('The amount of the security.', { example: '91375.00' }),
  held_by: text('Who holds the security.', { example: 'Harbor Point Holdings LLC' }),
  lc_issuer: text('The bank that issued the letter of credit.', { example: 'Lakeshore Bank' }),
  lc_expiry_date: date('The last day of the letter of credit.', { example: '2026-12-31' }),
  evergreen: flag('Whether the letter of credit renews itself.', { example: true }),
  interest_bearing: flag('Whether the security earns interest for the tenant.', {
    example: false,
  }),
  burn_down: list(burnDownFields, 'The steps in which the security is reduced.', {
    example: [{ date: '2025-09-01', amount: '60916.66' }],
  }),
  refunded_amount: money('What was paid back to the tenant so far.', { example: '0.00' }),
} satisfies Fields

export const salesTierFields = {
  from_amount: money('The yearly sales at which the tier begins.', { example: '4000000.00' }),
  to_amount: money('The yearly sales at which the tier ends.', { example: '6000000.00' }),
  rate_pct: percent('The share of the sales in the tier that is due as rent.', {
    example: 5,
    ...share,
  }),
} satisfies Fields

export const tenantSalesFields = {
  period_start_date: date('The first day of the reported period.', {
    example: '2025-01-01',
    required: true,
  }),
  period_end_date: date('The last day of the reported period.', {
    example: '2025-12-31',
    required: true,
  }),
  gross_sales: money('The sales of the tenant in the period, before deductions.', {
    example: '4350000.00',
  }),
} satisfies Fields

export const percentageRentFields = {
  rate_pct: percent('The share of sales above the breakpoint that is due as rent.', {
    example: 6,
    ...share,
  }),
  breakpoint_type: choice(
    ['natural', 'artificial'],
    'Natural: base rent divided by the rate; artificial: a sum agreed in the lease.',
    { example: 'natural' },
  ),
  breakpoint_amount: money('The yearly sales above which percentage rent is due.', {
    example: '4000000.00',
  }),
  sales_report_frequency: choice(FREQUENCIES, 'How often the tenant reports its sales.', {
    example: 'annual',
  }),
  tiers: list(salesTierFields, 'Rates that differ with the level of sales.', {
    example: [{ from_amount: '4000000.00', to_amount: '6000000.00', rate_pct: 5 }],
  }),
  tenant_sales: list(tenantSalesFields, 'The sales that the tenant reported.', {
    example: [
      {
        period_start_date: '2025-01-01',
        period_end_date: '2025-12-31',
        gross_sales: '4350000.00',
      },
    ],
  }),
} satisfies Fields

export const freeRentFields = {
  start_date: date('The first day without full rent.', { example: '2022-09-01' }),
  end_date: date('The last day without full rent.', { example: '2022-12-31' }),
  abatement_pct: percent('The share of the rent that is waived; 100 for free rent.', {
    example: 100,
    ...share,
  }),
} satisfies Fields

const commissionFields = {
  party_id: reference('party', 'pty', 'The broker that is paid.', { example: 'pty_2004' }),
  side: choice(['landlord', 'tenant'], 'Which side the broker acted for.', { example: 'tenant' }),
  basis: choice(['pct_of_rent', 'per_area', 'fixed'], 'How the commission was worked out.', {
    example: 'pct_of_rent',
  }),
  amount: money('The amount of the commission.', { example: '76755.00' }),
} satisfies Fields

export const concessionFields = {
  free_rent: list(freeRentFields, 'Times for which rent is waived in whole or in part.', {
    example: [{ start_date: '2022-09-01', end_date: '2022-12-31', abatement_pct: 100 }],
  }),
  ti_allowance_per_area: money('What the landlord pays for tenant improvements, per area unit.', {
    example: '60.0000',
    digits: 4,
  }),
  ti_paid: money('The part of the allowance that was paid out so far.', { example: '516000.00' }),
  landlord_work: money('The cost of building work that the landlord does itself.', {
    example: '84000.00',
  }),
  moving_allowance: money('What the landlord pays towards the move.', { example: '17200.00' }),
  commissions: list(commissionFields, 'What brokers are paid for the lease.', {
    example: [{ party_id: 'pty_2004', side: 'tenant', basis: 'pct_of_rent', amount: '76755.00' }],
  }),
} satisfies Fields

export const insuranceRequirementFields = {
  coverage_type: choice(
    ['general_liability', 'umbrella', 'property', 'workers_comp', 'auto', 'professional'],
    'The kind of insurance that the lease asks of the tenant.',
    { example: 'general_liability', required: true },
  ),
  min_amount: money('The least amount that must be insured.', { example: '2000000.00' }),
  additional_insured: flag('Whether the landlord must be named as insured too.', {
    example: true,
  }),
  waiver_of_subrogation: flag('Whether the insurer must waive recourse to the landlord.', {
    example: true,
  }),
} satisfies Fields
