import {
  choice,
  date,
  datetime,
  flag,
  integer,
  list,
  longText,
  money,
  number,
  object,
  percent,
  reference,
  references,
  text,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import { currency, statusHistory } from '../kit/vocabulary.ts'

export const WORK_ORDER_STATUSES = [
  'new',
  'acknowledged',
  'assigned',
  'scheduled',
  'in_progress',
  'on_hold',
  'pending_approval',
  'completed',
  'closed',
  'cancelled',
] as const

const CATEGORIES = [
  'hvac',
  'plumbing',
  'electrical',
  'lighting',
  'elevator',
  'cleaning',
  'access_security',
  'keys_locks',
  'fire_life_safety',
  'pest',
  'parking',
  'landscaping',
  'roof_leak',
  'doors_windows',
  'signage',
  'it_telecom',
  'move_event',
  'billable_service',
  'other',
] as const

const readOnly = true

const requesterFields = {
  party_id: reference('party', 'pty', 'The party that asked for the work.', {
    example: 'pty_2001',
  }),
  contact_id: reference('contact', 'con', 'The person who asked for the work.', {
    example: 'con_2101',
  }),
} satisfies Fields

const slaFields = {
  policy: text('The name of the table that the times were taken from.', { example: 'standard' }),
  response_due_at: datetime('The moment by which someone must have taken up the work, in UTC.', {
    example: '2026-07-14T15:05:00.000Z',
  }),
  resolution_due_at: datetime('The moment by which the work must be done, in UTC.', {
    example: '2026-07-15T14:05:00.000Z',
  }),
} satisfies Fields

export const lineItemFields = {
  kind: choice(['labor', 'material', 'vendor', 'fee'], 'What the cost is for.', {
    example: 'labor',
    required: true,
  }),
  description: text('What was done or used.', { example: 'Technician, regular time' }),
  quantity: number('How many units, such as hours or pieces.', { example: 2.5 }),
  unit_price: money('The price of one unit.', { example: '95.0000', digits: 4 }),
  amount: money('The cost; left out, it is quantity times unit price.', { example: '237.50' }),
  gl_account: text('The general-ledger account that it is booked to.', {
    example: '6210-000',
    max: 50,
  }),
} satisfies Fields

const commentFields = {
  body: longText('The text of the comment.', {
    example: 'Replaced the thermostat battery.',
    required: true,
  }),
  visibility: choice(['internal', 'tenant', 'vendor'], 'Who may read the comment.', {
    example: 'tenant',
  }),
  author: text('Who wrote the comment.', { example: 'Luis Ortega' }),
  written_at: datetime('The moment the comment was written, in UTC.', {
    example: '2026-07-14T15:40:00.000Z',
  }),
} satisfies Fields

const checklistFields = {
  label: text('What has to be done or looked at.', {
    example: 'Check the filter',
    required: true,
  }),
  is_done: flag('Whether this has been done.', { example: true }),
  note: text('What was found at this step.', { example: 'Filter replaced', max: 2_000 }),
} satisfies Fields

const subject = {
  number: text('The number that people call the work order by.', {
    example: 'WO-24117',
    max: 50,
    search: true,
  }),
  title: text('What has to be done, in a few words.', {
    example: 'Too hot in suite 1200',
    required: true,
    search: true,
  }),
  description: longText('What is wrong or wanted, as it was reported.', {
    example: 'The east side has been above 80 °F since the morning.',
  }),
  property_id: reference('property', 'prop', 'The property in which the work is to be done.', {
    example: 'prop_1001',
    required: true,
  }),
  building_id: reference(
    'building',
    'bld',
    'The building in which the work is to be done, one of the property.',
    {
      example: 'bld_1101',
    },
  ),
  floor_id: reference(
    'floor',
    'flr',
    'The floor on which the work is to be done, in the building or else the property.',
    {
      example: 'flr_1212',
    },
  ),
  space_id: reference(
    'space',
    'spc',
    'The space in which the work is to be done, in the building or else the property.',
    {
      example: 'spc_1301',
    },
  ),
  lease_id: reference('lease', 'le', 'The lease of the tenant that is concerned.', {
    example: 'le_4001',
  }),
  tenant_party_id: reference('party', 'pty', 'The tenant that is concerned.', {
    example: 'pty_2001',
  }),
  equipment_id: text('The id of the machine that the work is on.', {
    example: 'eqp_6001',
    pattern: '^eqp_[0-9]{1,18}$',
  }),
  parent_work_order_id: reference(
    'work_order',
    'wo',
    'The work order that this one continues or is part of.',
    { example: 'wo_7000' },
  ),
  type: choice(
    [
      'corrective',
      'preventive',
      'inspection',
      'emergency',
      'tenant_request',
      'turnover',
      'project',
      'utility',
      'compliance',
    ],
    'Why the work is done: a repair, planned upkeep, a request of a tenant, ...',
    { example: 'tenant_request', required: true },
  ),
  category: choice(CATEGORIES, 'The trade or kind of problem.', {
    example: 'hvac',
    required: true,
  }),
  subcategory: text('A finer kind within the category, such as too_hot, too_cold or noise.', {
    example: 'too_hot',
    max: 100,
  }),
  priority: choice(
    ['emergency', 'urgent', 'normal', 'low'],
    'How urgent the work is; it sets the times for response and resolution.',
    { example: 'urgent', required: true },
  ),
  source: choice(
    [
      'tenant_portal',
      'qr_code',
      'email',
      'phone',
      'api',
      'sensor',
      'agent',
      'inspection',
      'schedule',
    ],
    'The way in which the work was reported.',
    { example: 'tenant_portal' },
  ),
  requested_by: object(requesterFields, 'Who asked for the work.', {
    example: { party_id: 'pty_2001', contact_id: 'con_2101' },
  }),
} satisfies Fields

const progress = {
  status: choice(
    WORK_ORDER_STATUSES,
    'How far the work is. Once it is closed or cancelled only comments, rating, feedback, tags and external_ids change.',
    {
      example: 'in_progress',
      initial: 'new',
    },
  ),
  status_reason: longText('Why the work order has its status, such as what it waits for.', {
    example: 'Waiting for a part.',
  }),
  status_changed_at: datetime('The moment of the last change of status, in UTC.', {
    example: '2026-07-14T15:10:00.000Z',
    readOnly,
  }),
  status_history: statusHistory(WORK_ORDER_STATUSES),
  reported_at: datetime('The moment the work was reported, in UTC; the times count from it.', {
    example: '2026-07-14T14:05:00.000Z',
  }),
  acknowledged_at: datetime('The moment someone confirmed the report, in UTC.', {
    example: '2026-07-14T14:20:00.000Z',
  }),
  assigned_at: datetime('The moment the work was given to someone, in UTC.', {
    example: '2026-07-14T14:30:00.000Z',
  }),
  started_at: datetime('The moment the work began, in UTC.', {
    example: '2026-07-14T15:10:00.000Z',
  }),
  completed_at: datetime('The moment the work was done, in UTC.', {
    example: '2026-07-14T16:45:00.000Z',
  }),
  closed_at: datetime('The moment the work order was checked and closed, in UTC.', {
    example: '2026-07-16T09:00:00.000Z',
  }),
  assigned_to: text('The person who does the work.', { example: 'Luis Ortega', search: true }),
  vendor_party_id: reference('party', 'pty', 'The vendor that does the work.', {
    example: 'pty_2010',
  }),
  team: text('The team that does the work.', { example: 'Engineering, day shift' }),
  scheduled_start_at: datetime('The moment the work is to begin, in UTC.', {
    example: '2026-07-14T15:00:00.000Z',
  }),
  scheduled_end_at: datetime('The moment the work is to end, in UTC.', {
    example: '2026-07-14T17:00:00.000Z',
  }),
  due_at: datetime('The moment by which the work was promised, in UTC.', {
    example: '2026-07-15T14:05:00.000Z',
  }),
  deferred_until_date: date('The day until which the work is put off.', {
    example: '2026-08-01',
  }),
  sla: object(slaFields, 'The times to keep; null for planned work, which has a due date only.', {
    example: {
      policy: 'standard',
      response_due_at: '2026-07-14T15:05:00.000Z',
      resolution_due_at: '2026-07-15T14:05:00.000Z',
    },
    readOnly,
  }),
  sla_paused_minutes: integer('The minutes on hold so far, added to the time for resolution.', {
    example: 0,
    min: 0,
    readOnly,
  }),
  reopened_count: integer('How many times the work was taken up again after it was done.', {
    example: 0,
    min: 0,
    readOnly,
  }),
} satisfies Fields

const access = {
  entry_allowed: choice(
    ['yes', 'no', 'call_first'],
    'Whether the space may be entered when no one is there.',
    { example: 'call_first' },
  ),
  entry_notes: longText('What to know for getting in.', { example: 'Ask at reception.' }),
  access_contact_id: reference('contact', 'con', 'The person to call for getting in.', {
    example: 'con_2101',
  }),
} satisfies Fields

const cost = {
  currency: currency('The ISO 4217 currency of the costs, as a rule that of the property.'),
  estimated_cost: money('What the work is expected to cost.', { example: '250.00' }),
  not_to_exceed_amount: money('What the vendor may spend without asking again.', {
    example: '500.00',
  }),
  approved_cost: money('What was approved for the work.', { example: '250.00' }),
  actual_cost: money('What the work cost: the sum of the line items.', {
    example: '237.50',
    readOnly,
  }),
  line_items: list(lineItemFields, 'The costs of the work, one by one.', {
    example: [
      {
        kind: 'labor',
        description: 'Technician, regular time',
        quantity: 2.5,
        unit_price: '95.0000',
        amount: '237.50',
      },
    ],
  }),
  is_billable_to_tenant: flag('Whether the tenant pays for the work.', { example: false }),
  markup_pct: percent('What is added to the cost on the bill to the tenant.', {
    example: 15,
    min: 0,
  }),
  charge_id: text('The id of the charge by which the tenant was billed.', {
    example: 'chg_8001',
    pattern: '^chg_[0-9]{1,18}$',
  }),
  invoice_number: text('The number of the invoice of the vendor.', {
    example: 'INV-30918',
    search: true,
  }),
  is_warranty: flag('Whether a warranty covers the work.', { example: false }),
  is_insurance_claim: flag('Whether the cost is claimed from an insurer.', { example: false }),
  is_emergency: flag('Whether people or the building are in danger.', { example: false }),
} satisfies Fields

const record = {
  document_ids: references('document', 'doc', 'Photos and papers of the work.', {
    example: ['doc_5003'],
  }),
  comments: list(commentFields, 'What was said about the work, oldest first.', {
    example: [{ body: 'Replaced the thermostat battery.', visibility: 'tenant' }],
  }),
  checklist: list(checklistFields, 'The steps to go through.', {
    example: [{ label: 'Check the filter', is_done: true }],
  }),
  rating: integer('How satisfied the tenant was, from 1 to 5.', { example: 5, min: 1, max: 5 }),
  feedback: longText('What the tenant said about the work.', { example: 'Quick and friendly.' }),
} satisfies Fields

export const workOrderFields = { ...subject, ...progress, ...access, ...cost, ...record }

export const workOrderRollups = {
  sla_response_breached: flag('Whether the work was, or is by now, taken up too late.', {
    example: false,
    readOnly,
  }),
  sla_resolution_breached: flag('Whether the work was, or is by now, done too late.', {
    example: false,
    readOnly,
  }),
  age_hours: number('The hours from the report to the end of the work, or until now.', {
    example: 2.67,
    readOnly,
  }),
} satisfies Fields
