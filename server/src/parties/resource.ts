import { notItself } from '../kit/checks.ts'
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
  text,
  texts,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import type { Issue } from '../kit/errors.ts'
import { defineResource } from '../kit/resource.ts'
import type { RowOf } from '../kit/resource.ts'
import { addressExample, addressFields, areaUnit, currency, EMAIL } from '../kit/vocabulary.ts'

const PARTY_ROLES = [
  'tenant',
  'landlord',
  'owner',
  'guarantor',
  'vendor',
  'property_manager',
  'asset_manager',
  'broker',
  'lender',
  'insurer',
  'subtenant',
  'occupant',
  'attorney',
] as const

const partyAddressFields = {
  type: choice(
    ['legal', 'notice', 'billing', 'premises'],
    'What the address is for; legal notices go to the notice address only.',
    { example: 'notice', required: true },
  ),
  ...addressFields,
} satisfies Fields

const vendorFields = {
  trades: texts('The trades that the vendor works in.', { example: ['hvac', 'plumbing'] }),
  license_number: text('The number of the trade license.', { example: 'HV-204117' }),
  license_expires_date: date('The last day on which the trade license is valid.', {
    example: '2027-06-30',
  }),
  payment_terms_days: integer('Days from the invoice to the payment that were agreed.', {
    example: 30,
    min: 0,
    max: 365,
  }),
  w9_on_file: flag('Whether the signed tax form W-9 of the vendor is on file.', { example: true }),
} satisfies Fields

const partyFields = {
  kind: choice(
    ['company', 'person', 'fund', 'government', 'trust'],
    'What the party is in law: a company, a person, a fund, a public body or a trust.',
    { example: 'company', required: true },
  ),
  legal_name: text('The registered name, as it stands in leases and contracts.', {
    example: 'Harrow & Pine Legal LLP',
    required: true,
    search: true,
  }),
  display_name: text('The name shown in lists and on stacking plans.', {
    example: 'Harrow & Pine',
    search: true,
  }),
  dba_name: text('The trade name on the sign, where it differs from the legal name.', {
    example: 'Harrow Pine Law',
    search: true,
  }),
  roles: texts('The parts the party plays in the portfolio, such as tenant or vendor.', {
    example: ['tenant'],
    values: PARTY_ROLES,
  }),
  parent_party_id: reference(
    'party',
    'pty',
    'The party that controls this one; used to add up exposure over a corporate group.',
    { example: 'pty_2001' },
  ),
  global_party_id: reference(
    'party',
    'pty',
    'The brand or group record under which all local companies of one tenant are rolled up.',
    { example: 'pty_2000' },
  ),
  industry_code: text('The NAICS 2022 code of the industry, two to six digits.', {
    example: '541110',
    pattern: '^[0-9]{2,6}$',
    max: 6,
  }),
  industry_label: text('The name of the industry that the NAICS code stands for.', {
    example: 'Offices of Lawyers',
    search: true,
  }),
  credit_rating: text('The credit rating in the letters of the agency; NR when not rated.', {
    example: 'BBB+',
    max: 20,
  }),
  credit_rating_agency: choice(
    ['sp', 'moodys', 'fitch', 'dbrs', 'kroll', 'dun_bradstreet', 'internal', 'other'],
    'The agency that gave the credit rating; internal for your own assessment.',
    { example: 'sp' },
  ),
  credit_rated_on_date: date('The day on which the credit rating was given.', {
    example: '2025-11-14',
  }),
  is_investment_grade: flag('Whether the credit rating is BBB- (or Baa3) and better.', {
    example: true,
  }),
  is_public: flag('Whether the shares of the party are traded on an exchange.', { example: false }),
  ticker: text('The exchange symbol of a listed party.', { example: 'HPLG', max: 20 }),
  lei: text('The Legal Entity Identifier (ISO 17442): 18 characters and 2 check digits.', {
    example: '7LTWFZYICNSX8D621K86',
    pattern: '^[A-Z0-9]{18}[0-9]{2}$',
    max: 20,
  }),
  registration_number: text('The number in the company register of the home country.', {
    example: 'IL-LLP-0048213',
  }),
  tax_id: text('The tax number. It is never returned: only its last four characters are kept.', {
    example: '36-4019274',
    max: 30,
    writeOnly: true,
  }),
  tax_id_last4: text('The last four characters of the tax number, enough to recognise it.', {
    example: '9274',
    max: 4,
    readOnly: true,
  }),
  website: text('The address of the web site, beginning with http:// or https://.', {
    example: 'https://www.harrowpine.example',
    pattern: '^https?://',
    max: 2_000,
  }),
  emails: texts('General e-mail addresses of the party; people have theirs on the contact.', {
    example: ['office@harrowpine.example'],
  }),
  phones: texts('General telephone numbers of the party, with the country code.', {
    example: ['+1 312 555 0142'],
  }),
  addresses: list(partyAddressFields, 'The postal addresses of the party, each with its use.', {
    example: [{ type: 'notice', ...addressExample }],
  }),
  status: choice(
    ['active', 'inactive', 'prospect', 'former'],
    'Whether you do business with the party now, may do so, or did so once.',
    { example: 'active', initial: 'active' },
  ),
  vendor: object(vendorFields, 'What has to be known of a party that works as a vendor.', {
    example: {
      trades: ['hvac'],
      license_number: 'HV-204117',
      license_expires_date: '2027-06-30',
      payment_terms_days: 30,
      w9_on_file: true,
    },
  }),
} satisfies Fields

const partyRollups = {
  active_lease_count: integer('How many leases with the party as tenant are running today.', {
    example: 2,
    readOnly: true,
  }),
  leased_area: area('The area that the party leases today over all properties.', {
    example: 18_400,
    readOnly: true,
  }),
  area_unit: areaUnit('The unit of that area: the one of the organization.', { readOnly: true }),
  annual_base_rent: money(
    'The base rent of the running leases of the party, per year; rents in other currencies add nothing.',
    { example: '818400.00', readOnly: true },
  ),
  currency: currency('The currency of that rent: the one of the organization.', {
    readOnly: true,
  }),
  share_of_rent_pct: percent(
    'The share of the party in the base rent of the whole portfolio in that currency.',
    { example: 0.49, readOnly: true },
  ),
} satisfies Fields

type PartyRow = RowOf<typeof partyFields>

function checkParty(row: PartyRow): Issue[] {
  return [
    ...checkLei(row.lei),
    ...(row.emails ?? []).flatMap((email, index) => checkEmail(email, `emails[${index}]`)),
    ...notItself(row, 'parent_party_id'),
  ]
}

/** ISO 17442 carries ISO 7064 mod 97-10 check digits: letters count 10 to 35, the whole number leaves 1. */
function checkLei(lei: string | null): Issue[] {
  if (!lei || !/^[A-Z0-9]{20}$/.test(lei)) return []
  const digits = lei.replaceAll(/[A-Z]/g, (letter) => String(parseInt(letter, 36)))
  if (BigInt(digits) % 97n === 1n) return []
  const message = 'the last two digits do not match the rest of the LEI'
  return [{ field: 'lei', code: 'invalid_check_digits', message }]
}

const EMAIL_PATTERN = new RegExp(EMAIL)

function checkEmail(email: string, field: string): Issue[] {
  if (EMAIL_PATTERN.test(email)) return []
  return [{ field, code: 'invalid_email', message: `'${email}' is not an e-mail address` }]
}

/**
 * Rows that were stored have no `tax_id`, so an absent one leaves the last four alone and an explicit null clears them.
 * Returned only on change: the last four are a claim of the source that sent the number.
 */
function deriveParty(row: PartyRow): Partial<PartyRow> {
  if (row.tax_id === undefined) return {}
  const characters = row.tax_id?.replaceAll(/[^A-Za-z0-9]/g, '') ?? ''
  const last4 = characters.slice(-4) || null
  return last4 === row.tax_id_last4 ? {} : { tax_id_last4: last4 }
}

export const party = defineResource({
  name: 'party',
  path: 'parties',
  prefix: 'pty',
  title: 'Party',
  description: 'A company or person you deal with: tenant, owner, guarantor, vendor, broker, ...',
  fields: partyFields,
  rollups: partyRollups,
  check: checkParty,
  derive: deriveParty,
})

const contactFields = {
  party_id: reference('party', 'pty', 'The party that the person can be reached at.', {
    example: 'pty_2001',
    required: true,
  }),
  first_name: text('The given name of the person.', { example: 'Dana', search: true }),
  last_name: text('The family name of the person.', { example: 'Okafor', search: true }),
  title: text('The position of the person at the party.', { example: 'Director of Real Estate' }),
  email: text('The e-mail address of the person.', {
    example: 'dana.okafor@harrowpine.example',
    pattern: EMAIL,
    max: 254,
    search: true,
  }),
  phone: text('The telephone number of the person, with the country code.', {
    example: '+1 312 555 0142',
    max: 50,
    search: true,
  }),
  phone_type: choice(
    ['mobile', 'office', 'home', 'fax', 'other'],
    'What kind of connection the telephone number is.',
    { example: 'mobile' },
  ),
  role: choice(
    [
      'c_suite',
      'leasing',
      'facilities_operations',
      'admin',
      'construction',
      'sustainability',
      'accounts_payable',
      'legal_notice',
      'emergency',
      'security',
    ],
    'What to turn to the person for, such as invoices, legal notices or emergencies.',
    { example: 'legal_notice' },
  ),
  is_primary: flag('Whether this is the first person to turn to at the party.', { example: true }),
  is_decision_maker: flag('Whether the person decides about space and leases.', { example: true }),
  notes: longText('Anything else worth knowing about the person.', {
    example: 'Prefers calls before noon.',
  }),
  preferred_channel: choice(
    ['email', 'phone', 'sms', 'portal', 'mail'],
    'How the person likes to be reached.',
    { example: 'email' },
  ),
} satisfies Fields

export const contact = defineResource({
  name: 'contact',
  path: 'contacts',
  prefix: 'con',
  scope: 'parties',
  title: 'Contact',
  description: 'A person to turn to at a party, with a role.',
  fields: contactFields,
})
