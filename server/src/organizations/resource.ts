import { knownCurrency, knownTimeZone, notItself } from '../kit/checks.ts'
import { choice, freeForm, integer, reference, text } from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import type { Issue } from '../kit/errors.ts'
import { defineResource } from '../kit/resource.ts'
import type { RowOf } from '../kit/resource.ts'
import { areaUnit, currency } from '../kit/vocabulary.ts'

const fields = {
  name: text('The name of the organization that owns the keys and the data.', {
    example: 'Meridian Real Assets',
    required: true,
    search: true,
  }),
  slug: text('A short name for links and file names: lower-case letters, digits and hyphens.', {
    example: 'meridian',
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    max: 63,
    required: true,
    search: true,
  }),
  kind: choice(
    ['owner', 'operator', 'investor', 'occupier', 'broker', 'vendor'],
    'What the organization does with real estate; it decides which screens open first.',
    { example: 'owner' },
  ),
  plan: choice(
    ['community', 'professional', 'enterprise'],
    'The plan of the organization, which sets its limits and the endpoints it may use.',
    { example: 'enterprise', readOnly: true, initial: 'community' },
  ),
  environment: choice(
    ['production', 'sandbox'],
    'Whether this is the live organization or its sandbox for trying things out.',
    { example: 'production', readOnly: true, initial: 'production' },
  ),
  default_currency: currency('The ISO 4217 currency that new properties start with.', {
    required: true,
  }),
  default_area_unit: areaUnit('The unit of area that new properties start with.', {
    required: true,
  }),
  time_zone: text('The IANA time zone in which the organization counts days and deadlines.', {
    example: 'America/Chicago',
    max: 64,
    required: true,
  }),
  locale: text('The BCP 47 language tag for reports and messages.', {
    example: 'en-US',
    max: 35,
    required: true,
  }),
  fiscal_year_start_month: integer(
    'The month in which the fiscal year begins, 1 to 12; used for budgets and base years.',
    { example: 1, min: 1, max: 12 },
  ),
  parent_organization_id: reference(
    'organization',
    'org',
    'The organization that this one belongs to, such as the live one of a sandbox.',
    { example: 'org_1', readOnly: true },
  ),
  data_region: text('Where the data of the organization is kept, in the words of the operator.', {
    example: 'us-east',
    max: 100,
  }),
  retention_days: integer('How many days request logs and delivery records are kept.', {
    example: 365,
    min: 1,
    max: 36_500,
  }),
  settings: freeForm('Settings of your own, kept as they are and not interpreted.', {
    example: { week_starts_on: 'monday' },
  }),
} satisfies Fields

function checkOrganization(row: RowOf<typeof fields>): Issue[] {
  return [
    ...knownCurrency(row.default_currency, 'default_currency'),
    ...knownTimeZone(row.time_zone),
    ...knownLocale(row.locale),
    ...notItself(row, 'parent_organization_id'),
  ]
}

function knownLocale(locale: string | null): Issue[] {
  if (!locale) return []
  try {
    Intl.getCanonicalLocales(locale)
    return []
  } catch {
    const message = `'${locale}' is not a BCP 47 language tag`
    return [{ field: 'locale', code: 'unknown_locale', message }]
  }
}

export const organization = defineResource({
  name: 'organization',
  path: 'organizations',
  prefix: 'org',
  title: 'Organization',
  description: 'The owner of keys and data. A sandbox is an organization too, below its live one.',
  fields,
  check: checkOrganization,
})
