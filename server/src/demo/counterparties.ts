/** Everyone but the tenants: owner, funds, managers, brokers, vendors, lenders, insurers, guarantors. */
import { addMonths, instantOf } from './calendar.ts'
import type { Calendar, Draft } from './model.ts'
import { displayName, hostOf, phoneOf } from './names.ts'
import type { Names } from './names.ts'
import { addressIn, personBody } from './parties.ts'
import { MARKETS } from './places.ts'
import type { Random } from './random.ts'
import { OLDEST_MONTHS } from './sites.ts'

/** Keys of parties that other objects refer to. */
export const OWNER = 'pty:owner'
export const JOINT_PARTNER = 'pty:partner'
export const FUNDS = [
  'Meridian Core Fund I',
  'Meridian Income Fund II',
  'Meridian Growth Fund III',
] as const
export const MANAGERS = ['pty:manager-east', 'pty:manager-central', 'pty:manager-west'] as const
export const ASSET_MANAGERS = ['pty:asset-office', 'pty:asset-other'] as const
export const BROKERS = ['pty:broker-1', 'pty:broker-2', 'pty:broker-3', 'pty:broker-4'] as const
export const GUARANTORS = 24

/** Vendors by the trade they are called for: the key, the name, and the categories of work orders. */
export const VENDORS = [
  ['pty:v-hvac', 'Coldharbor Mechanical Inc.', 'hvac'],
  ['pty:v-hvac-2', 'Blue Mesa Chiller Service LLC', 'hvac'],
  ['pty:v-plumbing', 'Tern & Tap Plumbing LLC', 'plumbing'],
  ['pty:v-electrical', 'Brightline Crossing Electric Inc.', 'electrical'],
  ['pty:v-lighting', 'Lumen & Ladder LLC', 'lighting'],
  ['pty:v-elevator', 'Ninth Floor Elevator Company', 'elevator'],
  ['pty:v-cleaning', 'Evenlight Building Services Inc.', 'cleaning'],
  ['pty:v-cleaning-2', 'Marble & Mop Janitorial LLC', 'cleaning'],
  ['pty:v-security', 'Watchgate Protective Services Inc.', 'access_security'],
  ['pty:v-locks', 'Third Key Locksmiths LLC', 'keys_locks'],
  ['pty:v-fire', 'Redbell Fire Protection Inc.', 'fire_life_safety'],
  ['pty:v-pest', 'Quiet Meadow Pest Control LLC', 'pest'],
  ['pty:v-parking', 'Levelpark Services LLC', 'parking'],
  ['pty:v-landscape', 'Fernhill Grounds LLC', 'landscaping'],
  ['pty:v-roof', 'Drystone Roofing Inc.', 'roof_leak'],
  ['pty:v-doors', 'Swingwell Doors & Glass LLC', 'doors_windows'],
  ['pty:v-signs', 'Painted Post Signs LLC', 'signage'],
  ['pty:v-telecom', 'Copperloop Cabling Inc.', 'it_telecom'],
  ['pty:v-movers', 'Twelve Steps Movers LLC', 'move_event'],
  ['pty:v-general', 'Plumb & True Contractors Inc.', 'other'],
] as const

const OTHERS: readonly (readonly [
  key: string,
  name: string,
  roles: readonly string[],
  kind?: string,
])[] = [
  [OWNER, 'Meridian Real Assets LP', ['owner', 'landlord'], 'fund'],
  [JOINT_PARTNER, 'Granite Lake Pension Trust', ['owner'], 'trust'],
  [MANAGERS[0], 'Harborlane Property Services LLC', ['property_manager']],
  [MANAGERS[1], 'Middlewest Building Management Inc.', ['property_manager']],
  [MANAGERS[2], 'Sierra Vale Property Services LLC', ['property_manager']],
  [ASSET_MANAGERS[0], 'Meridian Office Advisors LLC', ['asset_manager']],
  [ASSET_MANAGERS[1], 'Meridian Industrial & Retail Advisors LLC', ['asset_manager']],
  [BROKERS[0], 'Northpost Leasing Advisors Inc.', ['broker']],
  [BROKERS[1], 'Castle & Quay Brokerage LLC', ['broker']],
  [BROKERS[2], 'Tenantside Partners LLC', ['broker']],
  [BROKERS[3], 'Fieldstone Commercial Inc.', ['broker']],
  ['pty:lender-1', 'Evergreen Harbor Bank NA', ['lender']],
  ['pty:lender-2', 'Fourth Prairie Life Insurance Company', ['lender', 'insurer']],
  ['pty:insurer-1', 'Compass Rock Mutual Insurance Company', ['insurer']],
  ['pty:insurer-2', 'Lantern Hill Casualty Company', ['insurer']],
  ['pty:counsel', 'Aldous Wexford & Yarrow LLP', ['attorney']],
  ['pty:appraiser', 'Plain Measure Valuation LLC', ['vendor']],
]

export function counterpartyDrafts(
  calendar: Calendar,
  names: Names,
  random: Random,
): { parties: Draft[]; contacts: Draft[] } {
  const valid_from = instantOf(addMonths(calendar.start, -OLDEST_MONTHS))
  const parties: Draft[] = []
  const contacts: Draft[] = []
  const add = (
    key: string,
    name: string,
    roles: readonly string[],
    more: Record<string, unknown>,
  ): void => {
    const own = random.fork(key)
    const body = { ...companyBody(name, roles, own), ...more }
    parties.push({ key, body, valid_from })
    const title = roles.includes('vendor') ? 'Dispatcher' : 'Managing Director'
    const role = roles.includes('vendor') ? 'facilities_operations' : 'c_suite'
    const about = { title, role, is_primary: true, is_decision_maker: role === 'c_suite' }
    contacts.push({
      key: `con:${key.slice('pty:'.length)}`,
      body: personBody(key, name, about, names, own),
      valid_from,
    })
  }
  for (const [key, name, roles, kind = 'company'] of OTHERS) add(key, name, roles, { kind })
  for (const [key, name, trade] of VENDORS) {
    add(key, name, ['vendor'], {
      vendor: vendorFields(trade, calendar, random.fork(`${key} trade`)),
    })
  }
  parties.push(...guarantorDrafts(valid_from, names, random.fork('guarantors')))
  return { parties, contacts }
}

function companyBody(
  legal_name: string,
  roles: readonly string[],
  random: Random,
): Record<string, unknown> {
  const host = hostOf(legal_name)
  return {
    kind: 'company',
    legal_name,
    display_name: displayName(legal_name),
    roles: [...roles],
    website: `https://www.${host}`,
    emails: [`office@${host}`],
    phones: [phoneOf(random)],
    addresses: [{ type: 'legal', ...addressIn(MARKETS.chicago, random) }],
    status: 'active',
  }
}

/** Two of the licenses run out soon, one has run out. */
function vendorFields(trade: string, { start }: Calendar, random: Random): Record<string, unknown> {
  const months =
    trade === 'roof_leak' ? -1 : trade === 'pest' || trade === 'elevator' ? 1 : random.int(4, 30)
  return {
    trades: [trade],
    license_number: `${trade.slice(0, 2).toUpperCase()}-${random.int(100_000, 999_999)}`,
    license_expires_date: addMonths(start, months),
    payment_terms_days: random.pick([15, 30, 30, 45]),
    w9_on_file: random.chance(0.95),
  }
}

/** Owners of small shops who answer for their rent in person. */
function guarantorDrafts(valid_from: number, names: Names, random: Random): Draft[] {
  return Array.from({ length: GUARANTORS }, (_, i) => {
    const { first_name, last_name } = names.person()
    const body = {
      kind: 'person',
      legal_name: `${first_name} ${last_name}`,
      display_name: `${first_name} ${last_name}`,
      roles: ['guarantor'],
      phones: [phoneOf(random)],
      status: 'active',
    }
    return { key: `pty:g${i + 1}`, body, valid_from }
  })
}
