/** The structured parts of a lease that say who, where, how long and with which rights. */
import {
  area,
  choice,
  date,
  flag,
  integer,
  integers,
  list,
  longText,
  money,
  number,
  object,
  reference,
  text,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'

export const TERM_TYPES = [
  'new',
  'renewal',
  'extension',
  'expansion',
  'contraction',
  'relocation',
  'modification',
  'assignment',
  'holdover',
] as const

export const premisesFields = {
  building_id: reference('building', 'bld', 'The building; alone when the whole of it is let.', {
    example: 'bld_1101',
  }),
  space_id: reference('space', 'spc', 'The space; left out when whole buildings are let.', {
    example: 'spc_1301',
  }),
  label: text('What the part let is called, where it is neither a space nor a whole building.', {
    example: 'Kennel 2',
  }),
  rentable_area: area('The area let there under this lease.', { example: 8600 }),
  from_date: date('The first day on which the space belongs to the lease.', {
    example: '2022-09-01',
  }),
  to_date: date('The last day on which it does; left out until the lease ends.', {
    example: '2029-08-31',
  }),
} satisfies Fields

const guarantyFields = {
  type: choice(
    ['full', 'limited', 'good_guy'],
    'How far the guaranty goes; a good-guy guaranty ends when the space is given back.',
    { example: 'limited' },
  ),
  cap_amount: money('The most that the guarantor has to pay.', { example: '500000.00' }),
  burn_off_date: date('The day on which the guaranty ends.', { example: '2026-08-31' }),
} satisfies Fields

export const leasePartyFields = {
  party_id: reference('party', 'pty', 'The party that takes part in the lease.', {
    example: 'pty_2001',
    required: true,
  }),
  role: choice(
    [
      'tenant',
      'co_tenant',
      'guarantor',
      'landlord',
      'subtenant',
      'assignee',
      'broker_landlord',
      'broker_tenant',
      'notice_copy',
    ],
    'The part that the party plays in the lease.',
    { example: 'guarantor', required: true },
  ),
  from_date: date('The first day on which the party plays it.', { example: '2022-09-01' }),
  to_date: date('The last day on which the party plays it.', { example: '2029-08-31' }),
  guaranty: object(guarantyFields, 'The guaranty, when the party is a guarantor.', {
    example: { type: 'limited', cap_amount: '500000.00', burn_off_date: '2026-08-31' },
  }),
} satisfies Fields

export const termFields = {
  term_type: choice(TERM_TYPES, 'How this stretch of the lease came about.', {
    example: 'renewal',
    required: true,
  }),
  status: choice(
    ['proposed', 'executed', 'superseded'],
    'Whether the term is only proposed, signed, or replaced by a later agreement.',
    { example: 'executed' },
  ),
  commencement_date: date('The first day of this term.', { example: '2029-09-01' }),
  expiration_date: date('The last day of this term.', { example: '2034-08-31' }),
  execution_date: date('The day on which the agreement on this term was signed.', {
    example: '2028-11-20',
  }),
  rentable_area: area('The area let during this term.', { example: 8600 }),
  annual_base_rent: money('The base rent per year at the start of this term.', {
    example: '387000.00',
  }),
  base_rent_per_area: money('The base rent at its start, per area unit and year.', {
    example: '45.0000',
    digits: 4,
  }),
  document_id: reference('document', 'doc', 'The document that the term was agreed in.', {
    example: 'doc_5002',
  }),
  note: longText('Anything else worth knowing about the term.', {
    example: 'First renewal of five years at 95 % of market.',
  }),
} satisfies Fields

export const optionFields = {
  option_type: choice(
    [
      'renewal',
      'extension',
      'expansion',
      'contraction',
      'termination',
      'purchase',
      'rofo',
      'rofr',
      'rofn',
      'relocation',
      'must_take',
      'co_tenancy',
      'exclusive',
      'go_dark',
      'kick_out',
      'sublease',
      'parking',
      'signage',
      'storage',
      'audit',
    ],
    'What the option is a right to; rofo, rofr and rofn are first rights of offer, refusal, notice.',
    { example: 'renewal', required: true },
  ),
  holder: choice(['tenant', 'landlord', 'mutual'], 'Who may make use of the option.', {
    example: 'tenant',
  }),
  status: choice(
    ['available', 'noticed', 'exercised', 'waived', 'lapsed'],
    'Whether the option is still open, and if not, what became of it.',
    { example: 'available' },
  ),
  notice_start_date: date('The first day on which notice can be given.', {
    example: '2028-03-01',
  }),
  notice_end_date: date('The last day on which notice can be given.', { example: '2028-08-31' }),
  effective_date: date('The day on which the option takes effect once it is used.', {
    example: '2029-09-01',
  }),
  term_months: integer('The months by which the option prolongs the term.', {
    example: 60,
    min: 0,
    max: 1_200,
  }),
  number_of_options: integer('How many times in a row the option can be used.', {
    example: 2,
    min: 0,
    max: 100,
  }),
  rent_basis: choice(
    ['fixed', 'pct_of_market', 'fair_market', 'cpi'],
    'How the rent is set when the option is used.',
    { example: 'pct_of_market' },
  ),
  rent_value: number(
    'The figure to that basis: the yearly rent per area unit, or the percentage of market rent.',
    { example: 95 },
  ),
  fee_amount: money('The payment due for using the option, such as a termination fee.', {
    example: '215000.00',
  }),
  ti_per_area: money('The tenant improvement allowance that comes with it, per area unit.', {
    example: '15.0000',
    digits: 4,
  }),
  min_area: area('The smallest area that the option can be used for.', { example: 2500 }),
  max_area: area('The largest area that the option can be used for.', { example: 8600 }),
  conditions: longText('What must hold for the option to be used.', {
    example: 'No default at the time of notice.',
  }),
} satisfies Fields

export const criticalDateFields = {
  date_type: choice(
    [
      'expiration',
      'option_notice_open',
      'option_notice_deadline',
      'rent_step',
      'rent_review',
      'coi_expiry',
      'lc_expiry',
      'estoppel',
      'ti_deadline',
      'free_rent_end',
      'percentage_rent_report',
      'cam_reconciliation',
      'insurance',
      'custom',
    ],
    'What happens or falls due on the date.',
    { example: 'option_notice_deadline', required: true },
  ),
  date: date('The day on which it happens or falls due.', {
    example: '2028-08-31',
    required: true,
  }),
  notice_days: integer('The days of notice that have to be kept before it.', {
    example: 30,
    min: 0,
    max: 3_650,
  }),
  responsible: choice(['tenant', 'landlord'], 'Which side has to act by the date.', {
    example: 'tenant',
  }),
  is_hard: flag('Whether missing the day loses a right, rather than causing mere work.', {
    example: true,
  }),
  status: choice(
    ['upcoming', 'due_soon', 'done', 'missed', 'waived'],
    'Whether the matter still lies ahead or how it was settled.',
    { example: 'upcoming' },
  ),
  source_document_id: reference('document', 'doc', 'The document that the date comes from.', {
    example: 'doc_5001',
  }),
  source_page: integer('The page of that document, counted from 1.', { example: 7, min: 1 }),
  reminders_days: integers('How many days ahead to send reminders.', {
    example: [180, 90, 30],
    max: 3_650,
  }),
} satisfies Fields

const changeFields = {
  field: text('The field of the lease that changes.', {
    example: 'expiration_date',
    required: true,
  }),
  old: text('The value before the amendment.', { example: '2029-08-31', max: 2_000 }),
  new: text('The value after the amendment.', { example: '2034-08-31', max: 2_000 }),
} satisfies Fields

export const amendmentFields = {
  number: text('The number of the amendment, as it is called.', { example: '1', max: 50 }),
  title: text('The heading of the amendment.', { example: 'First amendment to lease' }),
  effective_date: date('The day from which the amendment holds.', { example: '2028-12-01' }),
  executed_date: date('The day on which the last party signed it.', { example: '2028-11-20' }),
  kind: choice(
    [
      'extension',
      'expansion',
      'contraction',
      'rent_modification',
      'assignment',
      'sublease',
      'termination',
      'estoppel',
      'other',
    ],
    'What the amendment is mainly about.',
    { example: 'extension' },
  ),
  summary: longText('What the amendment changes, in a few sentences.', {
    example: 'Extends the term by five years at $45.00 per square foot.',
  }),
  document_id: reference('document', 'doc', 'The signed amendment.', { example: 'doc_5002' }),
  changes: list(changeFields, 'The values that the amendment changes, one by one.', {
    example: [{ field: 'expiration_date', old: '2029-08-31', new: '2034-08-31' }],
  }),
} satisfies Fields
