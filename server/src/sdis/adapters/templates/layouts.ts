/** The columns of the reports that property-management systems export, as they name them. */

/** A report of a system: where its columns stand, by what they hold. Each is an expression over the row. */
export interface Layout {
  system: string
  /** The name that claims carry; the reports of one system share it, and with it their leases. */
  source: string
  format: 'xlsx' | 'csv'
  /** Columns by which the header is known, below title and filters. */
  find: readonly string[]
  /** Columns that are given once for the rows below. */
  fill_down?: readonly string[]
  /** Cells above the header. */
  cells?: Readonly<Record<string, { right_of: string }>>
  /** Totals, and units that nobody lets. */
  skip: string
  /** What tells leases apart; the same in every report of the system. */
  key: string
  property: string
  tenant: string
  unit: string
}

const YARDI = {
  system: 'Yardi Voyager',
  source: 'Yardi',
  format: 'xlsx',
  fill_down: ['Property'],
  // The tenant with its code: Acme Stores LLC (t0001234).
  key: `extract(row.Lease, '[(]([^()]+)[)] *$', 1)`,
  property: 'row.Property',
  tenant: `trim(extract(row.Lease, '^([^()]+)', 1))`,
} as const

const MRI = {
  system: 'MRI Commercial Management',
  source: 'MRI',
  format: 'xlsx',
  fill_down: ['Building ID'],
  key: `row["Building ID"] + '|' + row["Lease ID"]`,
  property: 'row["Building ID"]',
  tenant: 'row["Occupant Name"]',
} as const

const REALPAGE = {
  system: 'RealPage OneSite',
  source: 'RealPage',
  format: 'xlsx',
  cells: { property: { right_of: 'Property' } },
  key: 'row["Resident ID"]',
  property: 'meta.property',
  tenant: 'row.Name',
  unit: 'row.Unit',
} as const

const APPFOLIO = {
  system: 'AppFolio Property Manager',
  source: 'AppFolio',
  format: 'csv',
  key: `row.Property + '|' + row.Unit + '|' + row.Tenant`,
  property: 'row.Property',
  tenant: 'row.Tenant',
  unit: 'row.Unit',
} as const

export interface RentRoll extends Layout {
  start: string
  end: string
  area: string
  monthly_rent: string
  more: Readonly<Record<string, unknown>>
  /** The column whose sum the totals row tells. */
  totals?: string
}

/** What systems call the state of a unit, as the state of its lease. */
const OCCUPIED = {
  Occupied: 'active',
  'Occupied-NTV': 'active',
  'Occupied-NTVL': 'active',
  'Pending renewal': 'active',
  Applicant: 'executed',
}

const CURRENT = {
  Current: 'active',
  'Notice-Rented': 'active',
  'Notice-Unrented': 'active',
  Evict: 'active',
  Future: 'executed',
  Past: 'expired',
}

export const RENT_ROLLS: readonly RentRoll[] = [
  {
    ...YARDI,
    find: ['Property', 'Unit(s)', 'Lease', 'Lease From', 'Lease To', 'Monthly Rent'],
    skip: `row.Property.startsWith('Total') || row.Property.startsWith('Grand Total') || row.Lease == 'VACANT'`,
    unit: 'row["Unit(s)"]',
    start: 'row["Lease From"]',
    end: 'row["Lease To"]',
    area: 'row.Area',
    monthly_rent: 'row["Monthly Rent"]',
    more: { lease_number: YARDI.key, status: { value: 'active' } },
    totals: 'Monthly Rent',
  },
  {
    ...MRI,
    find: ['Building ID', 'Suite ID', 'Lease ID', 'Occupant Name', 'Rent Start', 'Expiration'],
    skip: `row["Building ID"].startsWith('Total') || lower(row["Occupant Name"]) == 'vacant'`,
    unit: 'row["Suite ID"]',
    start: 'row["Rent Start"]',
    end: 'row.Expiration',
    area: 'row["GLA Sqft"]',
    monthly_rent: 'row["Monthly Base Rent"]',
    more: { lease_number: 'row["Lease ID"]', status: { value: 'active' } },
  },
  {
    ...REALPAGE,
    find: ['Unit', 'SQFT', 'Unit/Lease Status', 'Resident ID', 'Name', 'Lease Start', 'Lease End'],
    skip: `row.Unit.startsWith('Total') || row["Unit/Lease Status"].startsWith('Vacant')`,
    start: 'row["Lease Start"]',
    end: 'row["Lease End"]',
    area: 'row.SQFT',
    monthly_rent: 'row["Lease Rent"]',
    more: {
      status: { from: 'row["Unit/Lease Status"]', options: OCCUPIED, else: 'blank' },
      move_in_date: { from: 'row["Move-In"]', on_error: 'quarantine_cell' },
    },
  },
  {
    ...APPFOLIO,
    find: ['Property', 'Unit', 'Tenant', 'Status', 'Rent', 'Lease From', 'Lease To'],
    skip: `row.Property.startsWith('Total') || row.Status.startsWith('Vacant')`,
    start: 'row["Lease From"]',
    end: 'row["Lease To"]',
    area: 'row.Sqft',
    monthly_rent: 'row.Rent',
    more: {
      status: { from: 'row.Status', options: CURRENT, else: 'blank' },
      move_in_date: { from: 'row["Move-in"]', on_error: 'quarantine_cell' },
      move_out_date: { from: 'row["Move-out"]', on_error: 'quarantine_cell' },
    },
  },
]

export interface Aging extends Layout {
  /** Columns of what is owed, by the days it has been. */
  buckets: Readonly<Record<string, string>>
  lease_number: string
}

export const AGINGS: readonly Aging[] = [
  {
    ...YARDI,
    find: ['Property', 'Lease', 'Total Unpaid Charges', '0-30 days', '31-60 days'],
    skip: `row.Property.startsWith('Total') || row.Property.startsWith('Grand Total')`,
    unit: 'row.Unit',
    lease_number: YARDI.key,
    buckets: {
      total: 'Total Unpaid Charges',
      days_0_30: '0-30 days',
      days_31_60: '31-60 days',
      days_61_90: '61-90 days',
      over_90: 'Over 90 days',
    },
  },
  {
    ...MRI,
    find: ['Building ID', 'Lease ID', 'Occupant Name', 'Total', 'Current', '30 Days'],
    skip: `row["Building ID"].startsWith('Total')`,
    unit: 'row["Suite ID"]',
    lease_number: 'row["Lease ID"]',
    buckets: {
      total: 'Total',
      days_0_30: 'Current',
      days_31_60: '30 Days',
      days_61_90: '60 Days',
      over_90: '90 Days',
    },
  },
  {
    ...REALPAGE,
    find: ['Unit', 'Resident ID', 'Name', 'Total', 'Current', '31-60'],
    skip: `row.Unit.startsWith('Total')`,
    lease_number: 'row["Resident ID"]',
    buckets: {
      total: 'Total',
      days_0_30: 'Current',
      days_31_60: '31-60',
      days_61_90: '61-90',
      over_90: '90+',
    },
  },
  {
    ...APPFOLIO,
    find: ['Property', 'Unit', 'Payer Name', 'Amount Receivable', '0-30', '31-60'],
    skip: `row.Property.startsWith('Total')`,
    key: `row.Property + '|' + row.Unit + '|' + row["Payer Name"]`,
    tenant: 'row["Payer Name"]',
    lease_number: `row.Property + ' ' + row.Unit`,
    buckets: {
      total: 'Amount Receivable',
      days_0_30: '0-30',
      days_31_60: '31-60',
      days_61_90: '61-90',
      over_90: '91+',
    },
  },
]

export interface Charges extends Layout {
  code: string
  description: string
  amount: string
  start: string
  end: string
  frequency: string
}

export const CHARGE_SCHEDULES: readonly Charges[] = [
  {
    ...YARDI,
    find: ['Property', 'Lease', 'Charge Code', 'From Date', 'To Date', 'Amount'],
    skip: `row.Property.startsWith('Total') || row.Property.startsWith('Grand Total')`,
    // A lease stands once above its charges.
    fill_down: ['Property', 'Lease'],
    unit: 'row.Unit',
    code: 'row["Charge Code"]',
    description: 'row.Description',
    amount: 'row.Amount',
    start: 'row["From Date"]',
    end: 'row["To Date"]',
    frequency: 'row.Frequency',
  },
  {
    ...MRI,
    find: ['Building ID', 'Lease ID', 'Income Category', 'Effective Date', 'End Date', 'Amount'],
    skip: `row["Building ID"].startsWith('Total')`,
    fill_down: ['Building ID', 'Lease ID', 'Occupant Name'],
    unit: 'row["Suite ID"]',
    code: 'row["Income Category"]',
    description: 'row.Description',
    amount: 'row.Amount',
    start: 'row["Effective Date"]',
    end: 'row["End Date"]',
    frequency: 'row.Frequency',
  },
  {
    ...REALPAGE,
    find: ['Unit', 'Resident ID', 'Name', 'Trans Code', 'Begin Date', 'Amount'],
    skip: `row.Unit.startsWith('Total')`,
    fill_down: ['Unit', 'Resident ID', 'Name'],
    code: 'row["Trans Code"]',
    description: 'row.Description',
    amount: 'row.Amount',
    start: 'row["Begin Date"]',
    end: 'row["End Date"]',
    frequency: 'row.Frequency',
  },
  {
    ...APPFOLIO,
    find: ['Property', 'Unit', 'Tenant', 'Charge', 'Amount', 'Start Date'],
    skip: `row.Property.startsWith('Total')`,
    code: 'row.Charge',
    description: 'row.Description',
    amount: 'row.Amount',
    start: 'row["Start Date"]',
    end: 'row["End Date"]',
    frequency: 'row.Frequency',
  },
]
